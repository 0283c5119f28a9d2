"""What the commands of `socialcrawl lab gouriten` do: graphs, replays, data, figures, and a summary in the terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.figures import Bars, Curve, Panel, spread_over
from socialcrawl.lab.experiments.gouriten.experiment_curves import Curves, pairs, shortfalls, summed_up
from socialcrawl.lab.experiments.gouriten.features import correlations, fits, statistics
from socialcrawl.lab.experiments.gouriten.precision import precision
from socialcrawl.lab.experiments.gouriten.replays import CrawlPlan, ReplayOptions, crawls, plan
from socialcrawl.lab.experiments.gouriten.scorings import last_of, scorings
from socialcrawl.lab.experiments.gouriten.setups import ESTIMATORS, EXPERIMENTS, Experiment, SeedDraw, chosen
from socialcrawl.lab.experiments.gouriten.test_graphs import MENTIONS, PAGES, GraphOptions, StoredGraph, worlds
from socialcrawl.lab.experiments.runner import (
    ExperimentRun,
    format_cell,
    half_interval,
    list_values,
    select_rows,
    show_progress,
)
from socialcrawl.lab.measures import mean
from socialcrawl.lab.result_tables import joined, rows
from socialcrawl.text.terminal import write_line
from socialcrawl.text.wording import pluralize

DRAWN = 16  # curves a figure can bear; of more, those of UNDRAWN are left out (they are in the data)
UNDRAWN = tuple(name for name in ESTIMATORS if name.endswith("-avg") or name in ("opic-e", "opic-n"))
RELATIVE_ONLY = ("fig1", "fig2")


@dataclass(frozen=True)
class CrawlOptions:
    """The options of a command that crawls; None: as in the paper."""

    variants: tuple[str, ...]
    sets: int | None
    size: int | None
    least: float | None
    steps: int | None


def compare(name: str, wanted: GraphOptions, asked: CrawlOptions, run: ExperimentRun) -> None:
    """Crawl an experiment on each graph: `name`.parquet (curves), .csv (means at round steps), .png and .svg.

    `name`-pairs.csv says how far each variant is above each other one, set by set, with the interval of that, its p,
    and p corrected for all pairs.

    Raises:
        SettingsError: an option or file cannot be used, or the experiment is about graphs of another kind.
    """
    experiment = _experiment(name, asked)
    run.prepare()
    parts = []
    for world in _worlds(name, wanted, run.out):
        there = _planned(world, experiment, asked, run)
        with _work(asked, run, f"{name}: {world.name}") as work:
            parts.append(crawls(experiment, there, work))
    curves = Curves(joined(parts))
    run.write_parquet(name, curves.rows)
    means = summed_up(curves)
    run.write_csv(name, means)
    run.write_csv(f"{name}-pairs", pairs(curves))
    listed = rows(means)
    _tell(listed, "relative", f"share of {experiment.reference}'s {experiment.objective}")
    across = 3 if name in RELATIVE_ONLY else 2
    title = spread_over(experiment.title, listed[0]["sets"], "set")
    run.draw(name, _panels(name, curves, experiment), across, title)


def steer(wanted: GraphOptions, asked: CrawlOptions, run: ExperimentRun) -> None:
    """Crawl under other scorings: scorings.parquet (curves), .csv (means at the last step), .png and .svg.

    Raises:
        SettingsError: an option or file cannot be used, or a graph's values are no scores of counts.
    """
    experiment = _experiment("scorings", asked)
    run.prepare()
    parts = []
    for world in _worlds("scorings", wanted, run.out):
        there = _planned(world, experiment, asked, run)
        with _work(asked, run, f"scorings: {world.name}") as work:
            parts.append(scorings(experiment, there, work, run.out / "graphs"))
    table = joined(parts)
    run.write_parquet("scorings", table)
    means = last_of(table)
    run.write_csv("scorings", means)
    for row in (listed := rows(means)):
        relative, as_f = (format_cell(row, column, ".3f") for column in ("relative", "as_f"))
        write_line(
            f"{row['graph']:24} {row['scoring']:8} {row['variant']:12} {relative} of the oracle's, {as_f} of f's crawl "
            "by f"
        )
    frames = _steered([row for row in listed if row["variant"] != experiment.reference])
    title = spread_over(experiment.title, listed[0]["sets"], "set")
    run.draw("scorings", frames, 1, title)


def follow(wanted: GraphOptions, asked: CrawlOptions, run: ExperimentRun, window: int) -> None:
    """Figure 3: fig3.parquet (rolling means), fig3.csv (means over parts of the crawl), .png and .svg.

    Raises:
        SettingsError: an option or file cannot be used.
    """
    experiment = _experiment("fig3", asked)
    run.prepare()
    smooth, parts = [], []
    for world in _worlds("fig3", wanted, run.out):
        there = _planned(world, experiment, asked, run)
        with _work(asked, run, f"fig3: {world.name}") as work:
            some, ends = precision(experiment, there, work, window)
        smooth.append(some)
        parts.append(ends)
    curves = Curves(joined(smooth))
    run.write_parquet("fig3", curves.rows)
    means = shortfalls(Curves(joined(parts)))
    run.write_csv("fig3", means)
    _tell(rows(means), "difference", "what the first choice falls short of the oracle's, mean since the column before")
    axis = f"short of the oracle's choice\n(mean of {window:,} steps)"
    panels = [Panel(graph, axis, _lines(curves, graph, "difference"), log=True, level=0.0) for graph in curves.graphs]
    title = spread_over(experiment.title, int(means["sets"][0]), "set")
    run.draw("fig3", panels, 3, title)


def tabulate(name: str, wanted: GraphOptions, run: ExperimentRun) -> None:
    """A table of the paper for each graph: `name`.csv, .png and .svg.

    Raises:
        SettingsError: an option or file cannot be used.
    """
    run.prepare()
    found = _worlds(name, wanted, run.out)
    made, frames = {"table1": (statistics, _shares), "table2": (correlations, _correlated), "table3": (fits, _fitted)}[
        name
    ]
    table = made(found)
    run.write_csv(name, table)
    listed = rows(table)
    for row in listed:
        write_line("  ".join(f"{key} {_plain(value)}" for key, value in row.items()))
    run.draw(name, frames(listed), 3, "")


def _experiment(name: str, asked: CrawlOptions) -> Experiment:
    usual = EXPERIMENTS[name].draw
    draw = SeedDraw(
        asked.sets or usual.sets, asked.size or usual.size, usual.least if asked.least is None else asked.least
    )
    return chosen(name, asked.variants, draw, asked.steps)


def _worlds(name: str, wanted: GraphOptions, out: Path) -> list[StoredGraph]:
    if name == "fig5" and not (wanted.pages or wanted.graphs):
        raise SettingsError("fig5 is about pages: give --pages FILE --keyword WORD, or --graph FOLDER.")
    other = {"fig4": PAGES, "fig5": MENTIONS}.get(name)
    found = worlds(wanted, out / "graphs")
    if wrong := [world.name for world in found if world.kind and world.kind == other]:
        raise SettingsError(f"{wrong[0]} is a graph of {other}: fig4 is about mentions, fig5 about pages.")
    return found


def _planned(world: StoredGraph, experiment: Experiment, asked: CrawlOptions, run: ExperimentRun) -> CrawlPlan:
    """Return what is crawled there; what is less than was asked for is said."""
    there = plan(world, experiment.draw, experiment.steps, ReplayOptions(run.out, 1, run.seed, asked.size is not None))
    seeds = len(there.sets[0])
    sets, each = pluralize(len(there.sets), "set"), pluralize(seeds, "seed")
    write_line(f"{world.name}: {sets} of {each}, {pluralize(there.budget, 'step')}")
    if there.budget < experiment.steps:
        write_line(f"  ({experiment.steps:,} were asked for: no set of seeds reaches more)")
    if seeds < experiment.draw.size:
        rich = f"a tenth of the nodes above {experiment.draw.least:g}"
        write_line(f"  (not {experiment.draw.size:,}: that is more than {rich}; insist with --seeds)")
    return there


@contextmanager
def _work(asked: CrawlOptions, run: ExperimentRun, what: str) -> Iterator[ReplayOptions]:
    with show_progress(what) as watch:
        yield ReplayOptions(run.out / "replays", run.processes, run.seed, asked.size is not None, watch)


def _panels(name: str, curves: Curves, experiment: Experiment) -> list[Panel]:
    panels = []
    share = f"share of {experiment.reference}'s score"
    score = "nodes with a value" if experiment.objective == "count" else "score (sum of values)"
    for graph in curves.graphs:
        drawn = _lines(curves, graph, "relative", experiment.reference)
        panels.append(Panel(graph, share, drawn, log=True, level=1.0))
        if name not in RELATIVE_ONLY:
            panels.append(Panel(graph, score, _lines(curves, graph, "score")))
    return panels


def _lines(curves: Curves, graph: str, column: str, without: str = "") -> list[Curve]:
    variants = [variant for variant in curves.variants(graph) if variant != without]
    if len(variants) > DRAWN:
        variants = [variant for variant in variants if variant not in UNDRAWN]
    steps = curves.steps(graph)
    lines = []
    for variant in variants:
        means = [mean(values) for values in curves.of(graph, variant, column).T]
        each = np.array([one.mean for one in means]), np.array([one.half for one in means])
        lines.append(Curve(variant, steps, *each))
    return lines


def _steered(listed: list[dict[str, Any]]) -> list[Bars]:
    frames = []
    for graph in list_values(listed, "graph"):
        here = select_rows(listed, graph=graph)
        scored = list_values(here, "scoring")
        of = {scoring: select_rows(here, scoring=scoring) for scoring in scored}
        series = [(scoring, [row["relative"] for row in own]) for scoring, own in of.items()]
        errors = [[half_interval(row, "relative") for row in own] for own in of.values()]
        variants = list_values(here, "variant")
        title = f"{graph}, after {pluralize(here[0]['step'], 'step')}"
        frames.append(Bars(title, "share of the oracle's", variants, series, errors))
    return frames


def _shares(listed: list[dict[str, Any]]) -> list[Bars]:
    series = [(what, [row[f"{what}_share"] for row in listed]) for what in ("value", "weight")]
    named = {"value": "nodes with a value", "weight": "links with a weight"}
    groups = [row["graph"] for row in listed]
    return [Bars("share of all", "share", groups, [(named[what], heights) for what, heights in series], log=True)]


def _correlated(listed: list[dict[str, Any]]) -> list[Bars]:
    return _by_type(listed, "feature", "pearson", "Pearson's correlation with the value")


def _fitted(listed: list[dict[str, Any]]) -> list[Bars]:
    return _by_type(listed, "h", "r2", "R2 of the linear model")


def _by_type(listed: list[dict[str, Any]], group: str, height: str, axis: str) -> list[Bars]:
    frames = []
    for graph in list_values(listed, "graph"):
        here = select_rows(listed, graph=graph, over="all")
        groups = list_values(here, group)
        series = [(kind, [row[height] for row in select_rows(here, type=kind)]) for kind in ("in", "out")]
        frames.append(Bars(graph, axis, groups, series))
    return frames


def _tell(listed: list[dict[str, Any]], column: str, what: str) -> None:
    """The means at each step and half of their intervals, a line a variant."""
    write_line(f"{what}, ± half of its 95 % interval over {pluralize(listed[0]['sets'], 'set')}, if there are several")
    for graph in list_values(listed, "graph"):
        here = select_rows(listed, graph=graph)
        steps = list_values(here, "step")
        write_line(f"{graph:<34}" + "".join(f"{step:>15,}" for step in steps))
        for variant in list_values(here, "variant"):
            own = select_rows(here, variant=variant)
            cells = {row["step"]: format_cell(row, column, ".3f") for row in own}
            write_line(f"  {variant:<32}" + "".join(f"{cells[step]:>15}" for step in steps))


def _plain(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
