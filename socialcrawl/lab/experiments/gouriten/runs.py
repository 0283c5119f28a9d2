"""What the commands of `socialcrawl lab gouriten` do: graphs, replays, data, figures, and a summary in the terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.figures import Bars, Curve, Panel, describe_intervals
from socialcrawl.lab.experiments.gouriten.experiment_graphs import (
    MENTIONS,
    PAGES,
    GraphOptions,
    StoredGraph,
    make_graphs,
)
from socialcrawl.lab.experiments.gouriten.features import compute_correlations, compute_fits, count_statistics
from socialcrawl.lab.experiments.gouriten.optima import (
    OPTIMUM,
    SmallCrawls,
    SmallGraphs,
    crawl_beside_optimum,
    solve_by_crawling,
)
from socialcrawl.lab.experiments.gouriten.precision import measure_precision
from socialcrawl.lab.experiments.gouriten.replays import (
    CrawlPlan,
    Curves,
    ReplayOptions,
    compare_pairs,
    plan_crawls,
    replay_crawls,
    summarize_curves,
    summarize_shortfalls,
)
from socialcrawl.lab.experiments.gouriten.scorings import replay_scorings, summarize_last_steps
from socialcrawl.lab.experiments.gouriten.setups import ESTIMATORS, EXPERIMENTS, Experiment, SeedDraw, choose_experiment
from socialcrawl.lab.experiments.runner import (
    ExperimentRun,
    format_cell,
    half_interval,
    list_values,
    select_rows,
    show_progress,
)
from socialcrawl.lab.measures import compute_mean
from socialcrawl.lab.result_tables import join_tables, list_rows
from socialcrawl.text.terminal import write_line
from socialcrawl.text.wording import pluralize

DRAWN = 16  # curves a figure can bear; of more, those of UNDRAWN are left out (they are in the data)
UNDRAWN = tuple(name for name in ESTIMATORS if name.endswith("-avg") or name in ("opic-e", "opic-n"))
RELATIVE_ONLY = ("fig1", "fig2")
USUAL = ("oracle", "hybrid-sum", "nh-n-sum", "nh-ne-sum", "lnh-sum", "opic", "bfs", "random")  # beside the optimum


@dataclass(frozen=True)
class CrawlOptions:
    """The options of a command that crawls; None: as in the paper."""

    variants: tuple[str, ...]
    sets: int | None
    size: int | None
    least: float | None
    steps: int | None


def compare_variants(name: str, wanted: GraphOptions, asked: CrawlOptions, run: ExperimentRun) -> None:
    """Crawl an experiment on each graph: `name`.parquet (curves), .csv (means at round steps), .png and .svg.

    `name`-pairs.csv says how far each variant is above each other one, set by set, with the interval of that, its p,
    and p corrected for all pairs.

    Raises:
        SettingsError: an option or file cannot be used, or the experiment is about graphs of another kind.
    """
    experiment = _choose_experiment(name, asked)
    run.prepare()
    parts = []
    for there in _plan_all(name, experiment, wanted, asked, run):
        with _make_replay_options(asked, run, f"{name}: {there.world.name}") as work:
            parts.append(replay_crawls(experiment, there, work))
    curves = Curves(join_tables(parts))
    run.write_parquet(name, curves.rows)
    means = summarize_curves(curves)
    run.write_csv(name, means)
    run.write_csv(f"{name}-pairs", compare_pairs(curves))
    listed = list_rows(means)
    _print_means(listed, "relative", f"share of {experiment.reference}'s {experiment.objective}", wanted.unit)
    across = 3 if name in RELATIVE_ONLY else 2
    title = describe_intervals(experiment.title, listed[0]["sets"], wanted.unit)
    run.draw(name, _make_panels(name, curves, experiment), across, title)


def compare_scorings(wanted: GraphOptions, asked: CrawlOptions, run: ExperimentRun) -> None:
    """Crawl under other scorings: scorings.parquet (curves), .csv (means at the last step), .png and .svg.

    Raises:
        SettingsError: an option or file cannot be used, or a graph's values are no scores of counts.
    """
    experiment = _choose_experiment("scorings", asked)
    run.prepare()
    parts = []
    for there in _plan_all("scorings", experiment, wanted, asked, run):
        with _make_replay_options(asked, run, f"scorings: {there.world.name}") as work:
            parts.append(replay_scorings(experiment, there, work, run.out / "graphs"))
    table = join_tables(parts)
    run.write_parquet("scorings", table)
    means = summarize_last_steps(table)
    run.write_csv("scorings", means)
    for row in (listed := list_rows(means)):
        relative, as_f = (format_cell(row, column, ".3f") for column in ("relative", "as_f"))
        write_line(
            f"{row['graph']:24} {row['scoring']:8} {row['variant']:12} {relative} of the oracle's, {as_f} of f's crawl "
            "by f"
        )
    frames = _draw_scorings([row for row in listed if row["variant"] != experiment.reference])
    title = describe_intervals(experiment.title, listed[0]["sets"], wanted.unit)
    run.draw("scorings", frames, 1, title)


def follow_oracle(wanted: GraphOptions, asked: CrawlOptions, run: ExperimentRun, window: int) -> None:
    """Make figure 3: fig3.parquet (rolling means), fig3.csv (means over parts of the crawl), .png and .svg.

    Raises:
        SettingsError: an option or file cannot be used.
    """
    experiment = _choose_experiment("fig3", asked)
    run.prepare()
    smooth, parts = [], []
    for there in _plan_all("fig3", experiment, wanted, asked, run):
        with _make_replay_options(asked, run, f"fig3: {there.world.name}") as work:
            some, ends = measure_precision(experiment, there, work, window)
        smooth.append(some)
        parts.append(ends)
    curves = Curves(join_tables(smooth))
    run.write_parquet("fig3", curves.rows)
    means = summarize_shortfalls(Curves(join_tables(parts)))
    run.write_csv("fig3", means)
    _print_means(
        list_rows(means),
        "difference",
        "what the first choice falls short of the oracle's, mean since the column before",
        wanted.unit,
    )
    axis = f"short of the oracle's choice\n(mean of {window:,} steps)"
    panels = [
        Panel(graph, axis, _make_lines(curves, graph, "difference"), log=True, level=0.0) for graph in curves.graphs
    ]
    title = describe_intervals(experiment.title, int(means["sets"][0]), wanted.unit)
    run.draw("fig3", panels, 3, title)


def compare_with_optimum(graphs: SmallGraphs, crawls: SmallCrawls, run: ExperimentRun) -> None:
    """Compare crawls of small graphs with the best of all: optimum.parquet (curves), .csv (means), .png and .svg.

    Args:
        graphs: where; a graph for each set of seeds, unless one is given.
        crawls: what is crawled there; without variants those of USUAL.
        run: where results go.

    Raises:
        SettingsError: a graph is too large or too hard, or an option cannot be used.
    """
    run.prepare()
    crawls = replace(crawls, variants=crawls.variants or USUAL)
    curves = Curves(crawl_beside_optimum(graphs, crawls))
    run.write_parquet(OPTIMUM, curves.rows)
    means = summarize_curves(curves)
    run.write_csv(OPTIMUM, means)
    unit = "graph" if graphs.graph is None else "set"
    _print_means(list_rows(means), "relative", f"share of the optimal {crawls.objective}", unit)
    title = describe_intervals("Crawls beside the best of all (section 4.3)", crawls.sets, unit)
    frames = [
        Panel("share", "share of the optimum", _make_lines(curves, "small", "relative", OPTIMUM), level=1.0),
        Panel("score", f"score ({crawls.objective})", _make_lines(curves, "small", "score")),
    ]
    run.draw(OPTIMUM, frames, 2, title)


def show_hardness(graphs: SmallGraphs, counted: str, most: int, run: ExperimentRun) -> None:
    """Find the heaviest subtrees of a graph by the best crawls of its reduction: hardness.csv, .png and .svg.

    Raises:
        SettingsError: the graph is too large, or an option cannot be used.
    """
    run.prepare()
    table = solve_by_crawling(graphs.open(0), counted, most)
    run.write_csv("hardness", table)
    write_line(f"the heaviest subtrees of at most L {counted}, each found as the best crawl of a separate graph")
    listed = list_rows(table)
    for row in listed:
        write_line(
            f"L = {row['size']}: weight {row['weight']:.4g}, nodes {row['tree']}; crawl of {row['budget']} steps in "
            f"{row['nodes']} nodes, {row['links']} links"
        )
    groups = [str(row["size"]) for row in listed]
    bars = [
        Bars("heaviest subtree", "weight", groups, [("weight", [row["weight"] for row in listed])]),
        Bars("graph that is crawled", "nodes", groups, [("nodes", [row["nodes"] for row in listed])]),
    ]
    run.draw("hardness", bars, 2, f"Heaviest subtrees of at most L {counted}, found by crawls (Proposition 1)")


def make_table(name: str, wanted: GraphOptions, run: ExperimentRun) -> None:
    """Make a table of the paper for each graph: `name`.csv, .png and .svg.

    Raises:
        SettingsError: an option or file cannot be used.
    """
    run.prepare()
    found = _find_graphs(name, wanted, run.out)
    made, frames = {
        "table1": (count_statistics, _draw_shares),
        "table2": (compute_correlations, _draw_correlations),
        "table3": (compute_fits, _draw_fits),
    }[name]
    table = made(found)
    run.write_csv(name, table)
    listed = list_rows(table)
    for row in listed:
        write_line("  ".join(f"{key} {_format_value(value)}" for key, value in row.items()))
    run.draw(name, frames(listed), 3, "")


def _choose_experiment(name: str, asked: CrawlOptions) -> Experiment:
    usual = EXPERIMENTS[name].draw
    draw = SeedDraw(
        asked.sets or usual.sets, asked.size or usual.size, usual.least if asked.least is None else asked.least
    )
    return choose_experiment(name, asked.variants, draw, asked.steps)


def _find_graphs(name: str, wanted: GraphOptions, out: Path) -> list[StoredGraph]:
    if name == "fig5" and not (wanted.pages or wanted.graphs):
        raise SettingsError("fig5 is about pages: give --pages FILE --keyword WORD, or --graph FOLDER.")
    other = {"fig4": PAGES, "fig5": MENTIONS}.get(name)
    found = make_graphs(wanted, out / "graphs")
    if wrong := [world.name for world in found if world.kind and world.kind == other]:
        raise SettingsError(f"{wrong[0]} is a graph of {other}: fig4 is about mentions, fig5 about pages.")
    return found


def _plan_all(
    name: str, experiment: Experiment, wanted: GraphOptions, asked: CrawlOptions, run: ExperimentRun
) -> list[CrawlPlan]:
    """Return what is crawled on each graph; for the same number of steps where each set has its own graph."""
    if not wanted.per_set:
        return [_plan(world, experiment, asked, run) for world in _find_graphs(name, wanted, run.out)]
    plans = [
        _plan(world, experiment, asked, run, number)
        for number in range(experiment.draw.sets)
        for world in _find_graphs(name, replace(wanted, seed=wanted.seed + number), run.out)
    ]
    least = {plan.world.name: min(one.budget for one in plans if one.world.name == plan.world.name) for plan in plans}
    return [replace(plan, budget=least[plan.world.name]) for plan in plans]


def _plan(
    world: StoredGraph, experiment: Experiment, asked: CrawlOptions, run: ExperimentRun, only: int | None = None
) -> CrawlPlan:
    """Return what is crawled there; what is less than was asked for is said."""
    work = ReplayOptions(run.out, 1, run.seed, asked.size is not None)
    there = plan_crawls(world, experiment.draw, experiment.steps, work, only)
    seeds = len(there.sets[0])
    sets, each = pluralize(len(there.sets), "set"), pluralize(seeds, "seed")
    write_line(f"{world.name}: {sets} of {each}, {pluralize(there.budget, 'step')}")
    if there.budget < experiment.steps:
        write_line(f"  ({experiment.steps:,} were asked for: no set of seeds reaches more)")
    if seeds < experiment.draw.size:
        rich = f"a tenth of the nodes above {experiment.draw.least:g}"
        write_line(f"  (not {experiment.draw.size:,}: that is more than {rich}; insist with --seed-size)")
    return there


@contextmanager
def _make_replay_options(asked: CrawlOptions, run: ExperimentRun, what: str) -> Iterator[ReplayOptions]:
    with show_progress(what) as watch:
        yield ReplayOptions(run.out / "replays", run.processes, run.seed, asked.size is not None, watch)


def _make_panels(name: str, curves: Curves, experiment: Experiment) -> list[Panel]:
    panels = []
    share = f"share of {experiment.reference}'s score"
    score = "nodes with a value" if experiment.objective == "count" else "score (sum of values)"
    for graph in curves.graphs:
        drawn = _make_lines(curves, graph, "relative", experiment.reference)
        panels.append(Panel(graph, share, drawn, log=True, level=1.0))
        if name not in RELATIVE_ONLY:
            panels.append(Panel(graph, score, _make_lines(curves, graph, "score")))
    return panels


def _make_lines(curves: Curves, graph: str, column: str, without: str = "") -> list[Curve]:
    variants = [variant for variant in curves.list_variants(graph) if variant != without]
    if len(variants) > DRAWN:
        variants = [variant for variant in variants if variant not in UNDRAWN]
    steps = curves.get_steps(graph)
    lines = []
    for variant in variants:
        means = [compute_mean(values) for values in curves.get_column(graph, variant, column).T]
        each = np.array([one.mean for one in means]), np.array([one.half for one in means])
        lines.append(Curve(variant, steps, *each))
    return lines


def _draw_scorings(listed: list[dict[str, Any]]) -> list[Bars]:
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


def _draw_shares(listed: list[dict[str, Any]]) -> list[Bars]:
    series = [(what, [row[f"{what}_share"] for row in listed]) for what in ("value", "weight")]
    named = {"value": "nodes with a value", "weight": "links with a weight"}
    groups = [row["graph"] for row in listed]
    return [Bars("share of all", "share", groups, [(named[what], heights) for what, heights in series], log=True)]


def _draw_correlations(listed: list[dict[str, Any]]) -> list[Bars]:
    return _draw_by_type(listed, "feature", "pearson", "Pearson's correlation with the value")


def _draw_fits(listed: list[dict[str, Any]]) -> list[Bars]:
    return _draw_by_type(listed, "h", "r2", "R2 of the linear model")


def _draw_by_type(listed: list[dict[str, Any]], group: str, height: str, axis: str) -> list[Bars]:
    frames = []
    for graph in list_values(listed, "graph"):
        here = select_rows(listed, graph=graph, over="all")
        groups = list_values(here, group)
        series = [(kind, [row[height] for row in select_rows(here, type=kind)]) for kind in ("in", "out")]
        frames.append(Bars(graph, axis, groups, series))
    return frames


def _print_means(listed: list[dict[str, Any]], column: str, what: str, unit: str) -> None:
    """Print the means at each step and half of their intervals, a line for each variant."""
    write_line(f"{what}, ± half of its 95 % interval over {pluralize(listed[0]['sets'], unit)}, if there are several")
    for graph in list_values(listed, "graph"):
        here = select_rows(listed, graph=graph)
        steps = list_values(here, "step")
        write_line(f"{graph:<34}" + "".join(f"{step:>15,}" for step in steps))
        for variant in list_values(here, "variant"):
            own = select_rows(here, variant=variant)
            cells = {row["step"]: format_cell(row, column, ".3f") for row in own}
            write_line(f"  {variant:<32}" + "".join(f"{cells[step]:>15}" for step in steps))


def _format_value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
