"""`socialcrawl lab kumar`: the experiments of Kumar, Lang, Marlow and Tomkins as commands.

Each command writes a figure (PNG, SVG) and its data into --out, and says what it found. Commands are thin: they read
options, and hand them on.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.lab.experiments.command_options import FirstSeed, Out, PerRun, Processes, add_commands, make_app

kumar_app = make_app(
    "kumar",
    "Kumar and others: tracking authoritative nodes.\n\n"
    "Their experiments on links with timestamps: discovering authoritative nodes "
    "in a fixed graph (fig1a, fig1b), tracking them while links arrive and expire (fig2a, fig2b). Without a file, on "
    "generated time graphs.",
)

Links = Annotated[
    list[Path] | None,
    typer.Option(
        "--file",
        help="Links with timestamps, Parquet or CSV: columns a, b, ts (or src, dst, ts); "
        "times are seconds since 1970 or ISO.",
    ),
]
GraphPath = Annotated[list[Path] | None, typer.Option("--graph", help="A known graph: folder or .npz.")]
Nodes = Annotated[int, typer.Option(help="Nodes of a generated time graph.")]
Count = Annotated[int, typer.Option("--links", help="Links of a generated time graph, including parallel ones.")]
Span = Annotated[float, typer.Option(help="Days of a generated time graph.")]
Entering = Annotated[float, typer.Option(help="Share of generated nodes that enter after the start.")]
Departing = Annotated[float, typer.Option(help="Share of generated nodes that leave before the end.")]
GraphSeed = Annotated[int, typer.Option(help="Seed of the generated time graph.")]
Seeds = Annotated[
    int, typer.Option("--runs", min=1, help="Crawls per variant, each with its own source and random draws.")
]
Discovering = Annotated[
    list[str] | None, typer.Option(help="Compare only these: gai, ai, sample-u, sample-i, sample-io.")
]
Expansion = Annotated[list[str] | None, typer.Option(help="Compare only these: gai, ai, sample-u.")]
Recrawl = Annotated[
    list[str] | None,
    typer.Option(help="Compare only these: u, or, yr, yru, ldu, ydu, or oru, which is not in the paper."),
]
Steps = Annotated[int, typer.Option(min=1, help="Nodes to crawl; no more than the graph has.")]
K = Annotated[int, typer.Option("--k", min=1, help="Number of targets: the nodes with the highest in-degree.")]
Window = Annotated[float, typer.Option("--link-days", help="w: days after which a link expires.")]
Every = Annotated[float, typer.Option(help="Seconds from one fetch to the next; at most 100,000,000 fetches.")]
P = Annotated[float, typer.Option("--p", help="Probability that a fetch is a recrawl.")]
Begin = Annotated[float, typer.Option(help="Start of the crawls, in days after the first link.")]
Days = Annotated[float | None, typer.Option(help="Length of the crawls in days; by default until the last link.")]
PerTime = Annotated[bool, typer.Option(help="Divide link scores by the time since the previous visit, as yields are.")]
AnySource = Annotated[bool, typer.Option(help="Start from any node of the component, even one that seldom writes.")]

HERE = Path("kumar")
STATIC = {
    "fig1a": "Crawl performance in a fixed graph: share of the k nodes of highest in-degree among those crawled.",
    "fig1b": "Rank performance in a fixed graph: share of them among the k crawled of highest apparent in-degree.",
}
DYNAMIC = {
    "fig2a": "Crawl and discovery performance in a time graph: share of the targets crawled, and known.",
    "fig2b": "How much likelier crawled nodes, and known ones, are targets than any node of the time graph.",
}


def _make_static_command(name: str) -> Callable[..., None]:
    def command(
        *,
        file: Links = None,
        graph: GraphPath = None,
        nodes: Nodes = 343_743,
        links: Count = 2_000_000,
        span: Span = 37.0,
        entering: Entering = 0.3,
        departing: Departing = 0.2,
        graph_seed: GraphSeed = 1,
        per_run: PerRun = False,
        out: Out = HERE,
        expansion: Discovering = None,
        k: K = 2_000,
        steps: Steps = 20_000,
        seeds: Seeds = 3,
        seed: FirstSeed = 1,
        jobs: Processes = -1,
    ) -> None:
        from socialcrawl.lab.experiments.kumar.runs import TimeGraphOptions, discover  # noqa: PLC0415
        from socialcrawl.lab.experiments.kumar.timegraphs import BurstyGraphParameters  # noqa: PLC0415
        from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415

        shape = BurstyGraphParameters(nodes, links, span, entering, departing, graph_seed)
        wanted, run = (
            TimeGraphOptions(tuple(file or ()), tuple(graph or ()), shape, per_run),
            ExperimentRun(out, jobs, seed, seeds),
        )
        discover(name, wanted, tuple(expansion or ()), run, k=k, steps=steps)

    return command


def _make_dynamic_command(name: str) -> Callable[..., None]:
    def command(
        *,
        file: Links = None,
        nodes: Nodes = 100_000,
        links: Count = 340_000,
        span: Span = 24.0,
        entering: Entering = 0.3,
        departing: Departing = 0.2,
        graph_seed: GraphSeed = 1,
        per_run: PerRun = False,
        out: Out = HERE,
        expansion: Expansion = None,
        recrawl: Recrawl = None,
        k: K = 500,
        window: Window = 7.0,
        every: Every = 20.0,
        p: P = 0.5,
        begin: Begin = 0.0,
        days: Days = None,
        per_time: PerTime = False,
        any_source: AnySource = False,
        seeds: Seeds = 3,
        seed: FirstSeed = 1,
        jobs: Processes = -1,
    ) -> None:
        from socialcrawl.lab.experiments.kumar.dynamic import TrackingSettings  # noqa: PLC0415
        from socialcrawl.lab.experiments.kumar.runs import TimeGraphOptions, track  # noqa: PLC0415
        from socialcrawl.lab.experiments.kumar.timegraphs import DAY, BurstyGraphParameters  # noqa: PLC0415
        from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415

        shape = BurstyGraphParameters(nodes, links, span, entering, departing, graph_seed)
        length = None if days is None else days * DAY
        setting = TrackingSettings(
            window * DAY, every, k, p, begin * DAY, length, per_time=per_time, any_source=any_source
        )
        wanted, run = TimeGraphOptions(tuple(file or ()), (), shape, per_run), ExperimentRun(out, jobs, seed, seeds)
        track(name, wanted, tuple(expansion or ()), tuple(recrawl or ()), run, setting=setting)

    return command


add_commands(kumar_app, STATIC, _make_static_command)
add_commands(kumar_app, DYNAMIC, _make_dynamic_command)
