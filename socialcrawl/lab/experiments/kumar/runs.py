"""What the commands of `socialcrawl lab kumar` do: graphs, crawls, data, figures, and a summary in the terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.experiments.figures import Curve, Panel, describe_intervals
from socialcrawl.lab.experiments.kumar import dynamic, fixed_graphs
from socialcrawl.lab.experiments.kumar.timegraphs import (
    DAY,
    BurstyGraphParameters,
    TimeGraph,
    build_plain_graph,
    generate_time_graph,
    read_times,
)
from socialcrawl.lab.experiments.runner import (
    CRAWLS,
    ExperimentRun,
    format_mean,
    require_different_names,
)
from socialcrawl.lab.experiments.seed_means import (
    average_for_figure,
    compare_pairs,
    list_variants,
    select_variant,
    summarize_means,
)
from socialcrawl.lab.graphs import read
from socialcrawl.lab.result_tables import Table, join_tables, list_rows
from socialcrawl.text.terminal import write_line
from socialcrawl.text.wording import explain_unknown

GENERATED = "generated"
SHARES = ("crawl", "rank", "discovery")  # measures from 0 to 1
SHOWN = {
    "crawl": "targets crawled",
    "rank": "targets ranked first",
    "discovery": "targets known",
    "lift": "crawled: times likelier a target",
    "lift_known": "known: times likelier a target",
}
FIGURES = {
    "fig1a": ("crawl",),
    "fig1b": ("rank",),
    "fig2a": ("crawl", "discovery"),
    "fig2b": ("lift", "lift_known"),
}
TITLES = {
    "fig1a": "Crawl performance (figure 1-A)",
    "fig1b": "Rank performance (figure 1-B)",
    "fig2a": "Crawl and discovery performance (figure 2-A)",
    "fig2b": "Targets among crawled and known nodes, against all nodes (figure 2-B)",
}


@dataclass(frozen=True)
class TimeGraphOptions:
    """The graphs: files of links with timestamps, known graphs, or else a generated time graph.

    With `per_run` each run has its own generated graph, of consecutive seeds.
    """

    files: tuple[Path, ...]
    graphs: tuple[Path, ...]
    shape: BurstyGraphParameters
    per_run: bool = False

    def __post_init__(self) -> None:
        if self.per_run and (self.files or self.graphs):
            raise SettingsError("--graph-per-run is about generated graphs: leave out --file and --graph.")

    def iterate_timed(self, number: int = 0) -> Iterator[tuple[str, TimeGraph]]:
        """Yield names and time graphs, of run `number`.

        Raises:
            SettingsError: a file cannot be used, or two have the same name.
        """
        names = [path.stem for path in (*self.files, *self.graphs)]
        require_different_names(names, "graphs")
        for path in self.files:
            graph = read_times(path)
            if graph.own:
                rows = graph.links + graph.own
                write_line(f"{path.stem}: {graph.own:,} of {rows:,} links go from a node to itself; they are left out")
            yield path.stem, graph
        if not names:
            yield GENERATED, generate_time_graph(replace(self.shape, seed=self.shape.seed + number))

    def iterate_plain(self, number: int = 0) -> Iterator[tuple[str, KnownGraph]]:
        """Yield names and fixed graphs, of run `number`.

        Raises:
            SettingsError: a file or folder cannot be used, or two have the same name.
        """
        for name, graph in self.iterate_timed(number):
            yield name, build_plain_graph(graph)
        for path in self.graphs:
            yield path.stem, read(path)


def discover(
    name: str, wanted: TimeGraphOptions, expansions: Sequence[str], run: ExperimentRun, *, k: int, steps: int
) -> None:
    """Make figure 1: `name`.parquet (all curves), .csv (means at some points), .png and .svg.

    `name`-pairs.csv says how far each variant is above each other one, seed by seed, with the error of that.

    Args:
        name: of the figure.
        wanted: the graphs.
        expansions: the policies to compare; none: those of the paper.
        run: where results go, and how.
        k: how many nodes of highest in-degree are the targets.
        steps: nodes to crawl.

    Raises:
        SettingsError: an option or file cannot be used.
    """
    expansions = _choose_known("expansion", expansions, fixed_graphs.EXPANSIONS)
    run.prepare(CRAWLS)
    parts = []
    for number, seeds in enumerate(run.choose_seeds(per_run=wanted.per_run)):
        for title, graph in wanted.iterate_plain(number):
            there = fixed_graphs.make_world(title, graph, k, steps)
            least = min(there.indegree[there.targets].tolist(), default=0)
            write_line(
                f"{title}: {graph.size:,} nodes, {graph.links:,} links, {there.steps:,} steps; "
                f"{len(there.targets):,} targets of {least:,} links in or more"
            )
            parts += run.crawl(f"{name}: {title}", fixed_graphs.list_jobs(there, expansions, seeds))
    _write_results(name, run, join_tables(parts), policies=("expansion",), x="step", columns=fixed_graphs.COLUMNS)


def track(
    name: str,
    wanted: TimeGraphOptions,
    expansions: Sequence[str],
    recrawls: Sequence[str],
    run: ExperimentRun,
    *,
    setting: dynamic.TrackingSettings,
) -> None:
    """Make figure 2: `name`.parquet (all curves), .csv (means at some days), .png and .svg.

    `name`-pairs.csv says how far each variant is above each other one, seed by seed, with the error of that.

    Args:
        name: of the figure.
        wanted: the graphs.
        expansions: the policies of expansion to compare; none: those of the paper.
        recrawls: the recrawl policies to compare; none: those of the paper.
        run: where results go, and how.
        setting: how crawls go.

    Raises:
        SettingsError: an option or file cannot be used.
    """
    expansions = _choose_known("expansion", expansions, dynamic.EXPANSIONS)
    recrawls = _choose_known("recrawl policy", recrawls, dynamic.RECRAWLS, dynamic.MORE)
    run.prepare(CRAWLS)
    parts = []
    if wanted.per_run and setting.length is None:  # graphs end at different seconds, and crawls are compared by the day
        setting = replace(setting, length=wanted.shape.days * DAY - setting.begin)
    for number, seeds in enumerate(run.choose_seeds(per_run=wanted.per_run)):
        for title, graph in wanted.iterate_timed(number):
            there = dynamic.make_world(title, graph, setting)
            days = (graph.end - graph.begin) / DAY
            write_line(
                f"{title}: {graph.size:,} nodes, {graph.links:,} links in {days:,.1f} days; {there.looks[-1]:,} fetches"
            )
            parts += run.crawl(f"{name}: {title}", dynamic.list_jobs(there, expansions, recrawls, seeds))
    columns = (*dynamic.COLUMNS, *dynamic.SIZES)
    _write_results(name, run, join_tables(parts), policies=("expansion", "recrawl"), x="day", columns=columns)


def _choose_known(what: str, asked: Sequence[str], known: Sequence[str], more: Sequence[str] = ()) -> Sequence[str]:
    if unknown := [one for one in asked if one not in (*known, *more)]:
        raise SettingsError(explain_unknown(what, unknown[0], (*known, *more)))
    return tuple(dict.fromkeys(asked)) or known


def _write_results(
    name: str, run: ExperimentRun, table: Table, *, policies: Sequence[str], x: str, columns: Sequence[str]
) -> None:
    run.write_parquet(name, table)
    means = summarize_means(table, ("graph", *policies), x, columns)
    run.write_csv(name, means)
    if differences := compare_pairs(table, policies, columns):
        run.write_csv(f"{name}-pairs", differences)
    _print_means(means, policies, x, columns)
    across = len(list_variants(table, ("expansion" if "recrawl" in policies else "graph",)))
    title = describe_intervals(TITLES[name], len(set(table["seed"].tolist())), "seed")
    data = f"{name}.parquet, .csv, -pairs.csv"
    run.draw(name, _make_panels(name, table, policies, x), min(3, across), title, even=True, data=data)


def _make_panels(name: str, table: Table, policies: Sequence[str], x: str) -> list[Panel]:
    """Return a row of frames for each graph and measure: a frame an expansion, a curve a recrawl policy.

    In figure 1 one.
    """
    *frames, curves = policies
    along = "nodes crawled" if x == "step" else "days"
    panels = []
    for (graph,) in list_variants(table, ("graph",)):
        here = select_variant(table, ("graph",), (graph,))
        for column in FIGURES[name]:
            for frame in list_variants(here, frames) if frames else [()]:
                part = select_variant(here, frames, frame)
                lines = [
                    Curve(curve, *average_for_figure(select_variant(part, (curves,), (curve,)), x, column))
                    for (curve,) in list_variants(part, (curves,))
                ]
                title = " · ".join((graph, *frame))
                panels.append(Panel(title, SHOWN[column], lines, along=along, share=column in SHARES))
    return panels


def _print_means(means: Table, policies: Sequence[str], x: str, columns: Sequence[str]) -> None:
    """Print a line for each variant: each measure as the mean over all points, and at the last one."""
    write_line("mean over the crawl ± half of its 95 % interval over the seeds, where there are several (at the end)")
    write_line(" " * 18 + "".join(f"{column:>24}" for column in columns))
    for graph in dict.fromkeys(means["graph"].tolist()):
        write_line(graph)
        for variant in list_variants(select_variant(means, ("graph",), (graph,)), policies):
            own = list_rows(select_variant(means, ("graph", *policies), (graph, *variant)))
            overall = next(row for row in own if np.isnan(row[x]))
            last = [row for row in own if not np.isnan(row[x])][-1]
            cells = (
                _format_cell(overall[c], (overall[f"{c}_high"] - overall[f"{c}_low"]) / 2, last[c]) for c in columns
            )
            write_line(f"  {' + '.join(variant):<16}" + "".join(f"{cell:>24}" for cell in cells))


def _format_cell(mean: float, half: float, last: float) -> str:
    """Return a mean with half of its interval and the last value: three digits or so."""
    digits = 3 if abs(mean) < 2 else 1 if abs(mean) < 1000 else 0
    return f"{format_mean(mean, half, f',.{digits}f')} ({last:,.{digits}f})"
