"""Other functions of the counts than f(x) = 1 + ln x ("little impact on the results": Gouriten et al., section 2.3)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.experiments.gouriten.experiment_graphs import StoredGraph, rescore_graph
from socialcrawl.lab.experiments.gouriten.replays import CrawlPlan, ReplayOptions, replay_crawls
from socialcrawl.lab.experiments.gouriten.setups import Experiment
from socialcrawl.lab.graphs import write
from socialcrawl.lab.measures import Floats, compute_mean, compute_share, make_cells
from socialcrawl.lab.result_tables import Table, join_tables, make_table

F = "f"
SCORINGS: Mapping[str, Callable[[NDArray[np.int64]], Floats]] = {
    "raw": lambda x: x.astype(np.float64),
    "log2": lambda x: np.where(x > 0, 1.0 + np.log2(np.maximum(x, 1)), 0.0),
    "binary": lambda x: (x > 0).astype(np.float64),
    "sqrt": np.sqrt,
}
"""Functions of the occurrences x: 0 for 0, and rising, except for `binary`."""


def replay_scorings(experiment: Experiment, usual: CrawlPlan, work: ReplayOptions, folder: Path) -> Table:
    """Return the experiment on one graph under f and under each of SCORINGS, from the same sets of seeds.

    Columns: those of `replay_crawls` and scoring, as_f: the score by f of the crawl that was steered by the other
    scoring, as a share of that of the same variant steered by f. `relative` compares within a scoring.

    Args:
        experiment: what is compared.
        usual: what is crawled under f.
        work: how.
        folder: where the graphs with other values are written.

    Raises:
        SettingsError: the values of the graph are not f of whole numbers.
    """
    beta = np.asarray(usual.world.open().beta)
    plain = replay_crawls(experiment, usual, work)
    found = [_add_column(plain, F, np.asarray(plain["score"]), plain)]
    for name, scoring in SCORINGS.items():
        same = CrawlPlan(_write_rescored(usual.world, name, scoring, folder), usual.sets, usual.budget, usual.first)
        by_f = replay_crawls(experiment, same, work, judge=beta)
        found.append(_add_column(replay_crawls(experiment, same, work), name, np.asarray(by_f["score"]), plain))
    return join_tables(found)


def summarize_last_steps(curves: Table) -> Table:
    """Return the means over the sets at the last step, a row for each graph, scoring and variant.

    Columns: graph, scoring, variant, step, sets, relative and as_f, each with its standard error and the ends of its
    95 % interval (NAME_error, NAME_low, NAME_high).
    """
    listed = []
    for graph in dict.fromkeys(curves["graph"].tolist()):
        last = curves["step"][curves["graph"] == graph].max()
        at_end = (curves["graph"] == graph) & (curves["step"] == last)
        keys = zip(curves["scoring"][at_end].tolist(), curves["variant"][at_end].tolist(), strict=True)
        for scoring, variant in dict.fromkeys(keys):
            here = at_end & (curves["scoring"] == scoring) & (curves["variant"] == variant)
            listed.append(
                {
                    "graph": graph,
                    "scoring": scoring,
                    "variant": variant,
                    "step": int(last),
                    "sets": int(here.sum()),
                    **make_cells("relative", compute_mean(curves["relative"][here])),
                    **make_cells("as_f", compute_mean(curves["as_f"][here])),
                }
            )
    return make_table(listed)


def _add_column(rows: Table, scoring: str, by_f: Floats, plain: Table) -> Table:
    size = len(by_f)
    return {
        **rows,
        "graph": plain["graph"],
        "scoring": np.full(size, scoring),
        "as_f": compute_share(by_f, np.asarray(plain["score"])),
    }


def _write_rescored(
    world: StoredGraph, name: str, scoring: Callable[[NDArray[np.int64]], Floats], folder: Path
) -> StoredGraph:
    """Return the same graph with other values, written again: a replay of it is known by what is in its files."""
    there = replace(world, folder=folder / f"{world.folder.stem}-{name}")
    folder.mkdir(parents=True, exist_ok=True)
    write(rescore_graph(world.open(), scoring), there.folder)
    return there
