"""Replays of an experiment, as curves over sets of seeds: the same sets for all variants."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.experiments.gouriten.experiment_graphs import StoredGraph
from socialcrawl.lab.experiments.gouriten.setups import Experiment, SeedDraw, parse_variant
from socialcrawl.lab.grid import ReplayJob, draw_seed_sets, read_results, replay_all
from socialcrawl.lab.measures import (
    Floats,
    choose_points,
    choose_round_steps,
    compare_groups,
    compute_mean,
    compute_share,
    make_cells,
)
from socialcrawl.lab.result_tables import Table, join_tables, make_table
from socialcrawl.lab.simulation import score_values


class Curves:
    """Rows with the columns graph, variant, set, step and some more, as `crawls` gives them."""

    def __init__(self, rows: Table) -> None:
        names = list(zip(rows["graph"].tolist(), rows["variant"].tolist(), strict=True))
        ranks = {name: rank for rank, name in enumerate(dict.fromkeys(names))}
        places = np.array([ranks[name] for name in names])
        order = np.argsort(places, kind="stable")  # the rows of a variant stand together, also of several graphs
        self.rows: Table = {name: column[order] for name, column in rows.items()}
        ends = np.searchsorted(places[order], np.arange(len(ranks) + 1)).tolist()
        self._at = {name: slice(ends[rank], ends[rank + 1]) for name, rank in ranks.items()}

    @property
    def graphs(self) -> list[str]:
        """The graphs, in the order of the rows."""
        return list(dict.fromkeys(graph for graph, _ in self._at))

    def list_variants(self, graph: str) -> list[str]:
        """Return the variants on a graph, in the order of the rows."""
        return [variant for where, variant in self._at if where == graph]

    def get_column(self, graph: str, variant: str, column: str) -> Floats:
        """Return one column, shape (sets, points)."""
        here = self._at[graph, variant]
        sets = int(self.rows["set"][here][-1]) + 1
        return np.asarray(self.rows[column][here]).reshape(sets, -1)

    def get_steps(self, graph: str) -> NDArray[np.int64]:
        """Return the steps of the points on a graph, shape (points,)."""
        return np.asarray(self.get_column(graph, self.list_variants(graph)[0], "step")[0], np.int64)

    def get_at(self, graph: str, variant: str, column: str, step: int) -> Floats:
        """Return one column at a step that is a point, shape (sets,)."""
        return self.get_column(graph, variant, column)[:, int(np.searchsorted(self.get_steps(graph), step))]


def summarize_curves(curves: Curves) -> Table:
    """Return the means over the sets of seeds at the round steps: a row for each graph, variant and step.

    Columns: graph, variant, step, sets, score and relative, each with its standard error over the sets and the ends of
    its 95 % interval (NAME_error, NAME_low, NAME_high), seconds (the mean of a whole crawl).
    """
    return make_table(
        [
            _make_row(curves, graph, variant, int(step))
            for graph in curves.graphs
            for variant in curves.list_variants(graph)
            for step in choose_round_steps(int(curves.get_steps(graph)[-1]))
        ]
    )


def compare_pairs(curves: Curves) -> Table:
    """Return what each variant is above each later one, compared set by set at the round steps.

    Columns: graph, step, sets, one, other, difference (of the shares of the reference's score), difference_error,
    difference_low and difference_high (its 95 % interval), difference_p, difference_holm (as of
    `compare_groups`, over all pairs of a graph and step).
    """
    listed = []
    for graph in curves.graphs:
        for step in choose_round_steps(int(curves.get_steps(graph)[-1])).tolist():
            shares = {
                variant: curves.get_at(graph, variant, "relative", step) for variant in curves.list_variants(graph)
            }
            sets = len(next(iter(shares.values())))
            for (one, other), found in compare_groups("difference", shares).items():
                listed.append({"graph": graph, "step": step, "sets": sets, "one": one, "other": other, **found})
    return make_table(listed)


def _make_row(curves: Curves, graph: str, variant: str, step: int) -> dict[str, str | int | float]:
    score = curves.get_at(graph, variant, "score", step)
    return {
        "graph": graph,
        "variant": variant,
        "step": step,
        "sets": len(score),
        **make_cells("score", compute_mean(score)),
        **make_cells("relative", compute_mean(curves.get_at(graph, variant, "relative", step))),
        "seconds": float(curves.get_at(graph, variant, "seconds", step).mean()),
    }


def summarize_shortfalls(curves: Curves) -> Table:
    """Return the means over the sets of what `measure_precision` found.

    Columns: graph, variant, step, sets, difference with its standard error and interval, as of `summarize_curves`.
    """
    listed = []
    for graph in curves.graphs:
        for variant in curves.list_variants(graph):
            for step in curves.get_steps(graph).tolist():
                short = curves.get_at(graph, variant, "difference", step)
                names = {"graph": graph, "variant": variant, "step": step, "sets": len(short)}
                listed.append({**names, **make_cells("difference", compute_mean(short))})
    return make_table(listed)


GIVEN_AWAY = 10  # seeds are at most one in this many of the nodes they are drawn from, unless their number is forced


@dataclass(frozen=True)
class ReplayOptions:
    """How the work is done.

    Attributes:
        out: the folder of the replays; those that are there are not replayed again.
        n_jobs: joblib's workers.
        seed: of the sets of seeds, and of what estimators and strategies draw (set i: seed + i).
        insist: on the number of seeds, however few nodes they are drawn from.
        watch: called with (replays done, all) of a graph.
    """

    out: Path
    n_jobs: int | None = 1
    seed: int = 1
    insist: bool = False
    watch: Callable[[int, int], object] | None = None


@dataclass(frozen=True)
class CrawlPlan:
    """What is crawled on one graph: from which sets of seeds, and for how many steps; `first` numbers the first set."""

    world: StoredGraph
    sets: list[list[int]]
    budget: int
    first: int = 0


def plan_crawls(
    world: StoredGraph, draw: SeedDraw, steps: int, work: ReplayOptions, only: int | None = None
) -> CrawlPlan:
    """Return the sets of seeds, and `steps`, or fewer where no set reaches that many nodes.

    `only` is the number of the one set that is wanted; None: all.

    A set has at most one in ten of the nodes it is drawn from, so that what is to be found is not given away; as many
    as `draw` says where `work` insists.

    Raises:
        SettingsError: too few nodes are rich enough, the seeds lead nowhere, or the steps are none.
    """
    if steps < 1:
        raise SettingsError(f"{steps} steps are no crawl; give at least 1.")
    graph = world.open()
    rich = int((graph.beta > draw.least).sum())
    size = draw.size if work.insist else max(1, min(draw.size, rich // GIVEN_AWAY))
    sets, first = draw_seed_sets(graph, draw.sets, size, work.seed, draw.least), only or 0
    if only is not None:
        sets = [sets[only]]
    most = 0
    for seeds in sets:
        most = max(most, count_reachable(graph, seeds, steps))
        if most >= steps:
            return CrawlPlan(world, sets, steps, first)
    if not most:
        raise SettingsError(f"{world.name}: the seeds link to no other node; there is nothing to crawl.")
    return CrawlPlan(world, sets, most, first)


def count_reachable(graph: KnownGraph, seeds: Sequence[int], enough: int) -> int:
    """Return how many nodes can be crawled from `seeds`, themselves left out.

    It stops counting at `enough` or above.
    """
    seen = np.zeros(graph.size, bool)
    seen[list(seeds)] = True
    edge = np.array(seeds, np.int64)
    found = 0
    while len(edge) and found < enough:
        lengths = graph.indptr[edge + 1] - graph.indptr[edge]
        begins = np.repeat(graph.indptr[edge] - np.cumsum(lengths) + lengths, lengths)
        targets = np.asarray(graph.indices[begins + np.arange(len(begins))], np.int64)
        edge = np.unique(targets[~seen[targets]])
        seen[edge] = True
        found += len(edge)
    return found


def replay_crawls(experiment: Experiment, plan: CrawlPlan, work: ReplayOptions, judge: Floats | None = None) -> Table:
    """Return the curves of all variants on one graph: a row for each variant, set of seeds and point of the curve.

    Columns: graph, variant, set, step, score (without the seeds' own), relative (the share of the reference's score
    from the same seeds at the same step; NaN where that is 0), seconds (of the whole crawl, when it was replayed).

    Args:
        experiment: what is compared.
        plan: where, from where and how far.
        work: how.
        judge: float64[n], the values by which the crawls are scored; None: those of the graph.
    """
    variants = list(dict.fromkeys([experiment.reference, *experiment.variants]))
    jobs = {name: _list_jobs(experiment, plan, name, work.seed) for name in variants}
    replay_all([job for some in jobs.values() for job in some], work.out, n_jobs=work.n_jobs, watch=work.watch)
    beta = plan.world.open().beta if judge is None else judge
    at = choose_points(plan.budget)
    curves = {
        name: [_read_curve(work.out, job, beta, experiment.objective) for job in some] for name, some in jobs.items()
    }
    reference = [curve for curve, _ in curves[experiment.reference]]
    parts = []
    for name in variants:
        for number, (curve, seconds) in enumerate(curves[name]):
            relative = compute_share(curve, reference[number])
            same = np.full(len(at), seconds)
            parts.append(make_rows(plan, name, number, at, score=curve, relative=relative, seconds=same))
    return join_tables(parts)


def _list_jobs(experiment: Experiment, plan: CrawlPlan, variant: str, seed: int) -> list[ReplayJob]:
    graph = str(plan.world.folder.absolute())
    return [
        ReplayJob(graph, number, tuple(seeds), parse_variant(experiment, variant, plan.budget, seed + number))
        for number, seeds in enumerate(plan.sets, plan.first)
    ]


def _read_curve(out: Path, job: ReplayJob, beta: Floats, objective: str) -> tuple[Floats, float]:
    """Return the score at the points of the curve, from the steps, so that one replay serves any objective.

    The seconds.
    """
    result = read_results(out, ["steps", "seconds"], [job.key])
    steps = result.column("steps")[0].values.to_numpy()
    curve = np.concatenate([[0.0], np.cumsum(score_values(np.asarray(beta[steps]), objective))])
    return curve[np.minimum(choose_points(job.setup.budget), len(steps))], float(result.column("seconds")[0].as_py())


def make_rows(plan: CrawlPlan, variant: str, number: int, steps: NDArray[np.int64], **columns: Floats) -> Table:
    """Return the rows of one variant from a set of the plan: graph, variant, set, step, and `columns`."""
    size = len(steps)
    return {
        "graph": np.full(size, plan.world.name),
        "variant": np.full(size, variant),
        "set": np.full(size, plan.first + number),
        "step": steps,
        **columns,
    }
