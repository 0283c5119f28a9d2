"""`socialcrawl lab opic`: the experiments of Abiteboul, Preda and Cobena as commands.

Each command writes a figure (PNG, SVG) and its data into --out, and says what it found. Commands are thin: they read
options, and hand them on.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.lab.experiments.command_options import Out, Processes, add_commands, make_app

opic_app = make_app(
    "opic",
    "Abiteboul, Preda, Cobena: importance while crawling.\n\n"
    "Their experiments on generated webs: convergence on all pages (fig2) and on "
    "important ones (fig3), sizes of windows (fig4), what they store (fig5), their types (fig6), and the cash of "
    "crawled pages (cash); the levers of section 3 (lean, topic); and the importance of a graph's nodes, sites and "
    "owners (importance).",
)

Pages = Annotated[int, typer.Option("--nodes", help="Of a generated web; the paper's: 100000.")]
Crawls = Annotated[int, typer.Option(min=1, help="How far, a crawl being as many fetches as there are pages.")]
Laws = Annotated[
    list[str] | None,
    typer.Option("--law", help="Of the links: power (in-degrees, the paper's), poisson or broder (in and out)."),
]
OneLaw = Annotated[str, typer.Option("--law", help="Of the links: power, poisson or broder.")]
Mean = Annotated[float, typer.Option("--mean", help="Links to a page, where the law is poisson.")]
Webs = Annotated[int, typer.Option("--webs", min=1, help="How many webs, of seeds one after the other.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the first web and all draws on it.")]
Small = Annotated[float, typer.Option(help="The weight of small edges, to the virtual page; a link has 1.")]
Rates = Annotated[
    list[float] | None,
    typer.Option("--rate", min=0, help="Share of pages whose in-degree doubles or halves in a crawl; may be repeated."),
]
Windows = Annotated[
    list[str] | None,
    typer.Option(
        "--window-type",
        help="Instead of the paper's: variable-M (measures), fixed-N, improved-N, interpolation-N (months), each "
        "with +held behind it or not, or none; may be repeated.",
    ),
]
Way = Annotated[str, typer.Option("--selection", help="Of the pages to crawl: greedy, cycle or random.")]
Month = Annotated[float, typer.Option(min=0, help="Units of G that a crawl takes; 0: measured.")]
Begin = Annotated[str, typer.Option("--initial", help="What windows begin with: listing, equal or nothing.")]

Leans = Annotated[
    list[float] | None,
    typer.Option(
        "--lean", help="From -1 (refresh) to 1 (discovery), instead of -1, -.5, 0, .5 and 1; may be repeated."
    ),
]
Extras = Annotated[
    list[float] | None,
    typer.Option(
        "--extra",
        help="Cash that the virtual page adds to a unit of it that a link on topic brings, instead of 0, .25, .5, 1, 2 "
        "and 4; may be repeated.",
    ),
]
Known = Annotated[float, typer.Option("--known-share", help="Share of the pages that a crawl knows at first.")]
Born = Annotated[float, typer.Option(help="Of the growing web: share of its pages that there are at first.")]
Change = Annotated[
    float,
    typer.Option("--change-rate", help="Of the growing web: share of pages whose in-degree changes in a crawl."),
]
OnTopic = Annotated[float, typer.Option("--topical-share", help="Share of the pages that are on topic.")]
Together = Annotated[
    float, typer.Option(help="Of the clustered topic: share of the links from other pages that are moved into it.")
]

GraphPath = Annotated[Path | None, typer.Option(help="A known graph, folder or .npz; without it, a generated web.")]
Weighted = Annotated[bool, typer.Option("--weighted", help="Links count by their weights; without it, 1 each.")]
Matrix = Annotated[
    str, typer.Option(help="Which links give importance: out (links to a page), in (its own), both, or kleinberg.")
]
By = Annotated[str, typer.Option(help="opic, fixpoint (of the matrix as it is) or pagerank.")]
Eps = Annotated[float, typer.Option(help="Of the fixpoint: added to all entries of the matrix.")]
Walk = Annotated[bool, typer.Option("--walk", help="Of the fixpoint: rows of the matrix are divided by their sums.")]
Damping = Annotated[float, typer.Option(help="Of PageRank: the part of a rank that is handed on.")]
Dangling = Annotated[str, typer.Option(help="Of PageRank: where the rank of nodes without links goes: zap, all, drop.")]
First = Annotated[int, typer.Option(help="Of OPIC: nodes known at first, others when linked to; 0: all.")]
History = Annotated[bool, typer.Option("--history", help="Of OPIC: those who join get the last newcomers' importance.")]
Sites = Annotated[Path | None, typer.Option(help="A text file, a name and its site a line: their importance, too.")]
Hosts = Annotated[bool, typer.Option("--hosts", help="The same, the sites being the hosts of addresses or user@host.")]
OwnersOf = Annotated[int, typer.Option(help="Also divide OPIC among this many owners and compare. 0: do not.")]
Buffer = Annotated[int, typer.Option(help="Of owners: nodes in a buffer that make it leave.")]
Top = Annotated[int, typer.Option(min=0, help="How many of the most important are shown; the files have all.")]

HERE = Path("opic")
STILL = {
    "fig2": "The error on all pages while crawling, by selection, beside the off-line algorithm (figure 2).",
    "fig3": "The same for the top ten per cent of pages (figure 3).",
    "cash": "The mean cash of crawled pages, by selection, against 2/n (section 3).",
}
MOVING = {
    "fig4": "The error by sizes of windows and change rates (figure 4).",
    "fig5": "How many measures a page windows store (figure 5).",
    "fig6": "The error by types of windows and change rates (figure 6).",
}


def _make_static_command(name: str) -> Callable[..., None]:
    def command(
        *,
        pages: Pages = 100_000,
        crawls: Crawls = 10,
        law: Laws = None,
        webs: Webs = 1,
        seed: Seed = 1,
        small: Small = 1.0,
        mean: Mean = 8.0,
        out: Out = HERE,
        jobs: Processes = -1,
    ) -> None:
        from socialcrawl.lab.experiments.opic.runs import run_convergence, run_payments  # noqa: PLC0415
        from socialcrawl.lab.experiments.opic.static_web import StaticWebPlan  # noqa: PLC0415
        from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415

        plan = StaticWebPlan(
            tuple(dict.fromkeys(law or ("power",))), pages, crawls, range(seed, seed + webs), small, mean
        )
        run = ExperimentRun(out, jobs, seed, webs)
        if name == "cash":
            run_payments(plan, run)
        else:
            run_convergence(name, plan, run)

    return command


def _make_moving_command(name: str) -> Callable[..., None]:
    def command(
        *,
        window: Windows = None,
        rate: Rates = None,
        pages: Pages = 100_000,
        crawls: Crawls = 10,
        law: OneLaw = "power",
        webs: Webs = 1,
        seed: Seed = 1,
        small: Small = 1.0,
        selection: Way = "greedy",
        month: Month = 0.0,
        begin: Begin = "listing",
        out: Out = HERE,
        jobs: Processes = -1,
    ) -> None:
        from socialcrawl.lab.experiments.opic.moving import ChangingWebPlan  # noqa: PLC0415
        from socialcrawl.lab.experiments.opic.runs import FIGURES, run_adaptation  # noqa: PLC0415
        from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415

        usual = FIGURES[name]
        windows, rates = tuple(dict.fromkeys(window or usual.windows)), tuple(dict.fromkeys(rate or usual.rates))
        there = windows, rates, law, pages, crawls
        plan = ChangingWebPlan(*there, range(seed, seed + webs), small, selection, month, begin)
        run_adaptation(name, plan, ExperimentRun(out, jobs, seed, webs))

    return command


def importance(  # the parts of one question, each an option
    *,
    graph: GraphPath = None,
    weighted: Weighted = False,
    pages: Pages = 20_000,
    law: OneLaw = "power",
    mean: Mean = 8.0,
    seed: Seed = 1,
    matrix: Matrix = "out",
    by: By = "opic",
    crawls: Crawls = 10,
    small: Small = 1.0,
    first: First = 0,
    history: History = False,
    eps: Eps = 0.0,
    walk: Walk = False,
    damping: Damping = 0.85,
    dangling: Dangling = "zap",
    sites: Sites = None,
    hosts: Hosts = False,
    owners: OwnersOf = 0,
    buffer: Buffer = 100,
    top: Top = 10,
    out: Out = HERE,
) -> None:
    """Compute the importance of the nodes of a graph, and of the sites they lie on (sections 1, 3 and 4)."""
    from socialcrawl.lab.experiments.opic.importance_command import GraphSelection, compare_importance  # noqa: PLC0415
    from socialcrawl.lab.experiments.opic.importances import ImportanceOptions  # noqa: PLC0415
    from socialcrawl.lab.experiments.opic.static_web import StaticWebPlan  # noqa: PLC0415
    from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415

    web = StaticWebPlan((law,), pages, 1, (seed,), mean=mean)
    asked = ImportanceOptions(matrix, by, crawls, small, first, history, eps, walk, damping, dangling, owners, buffer)
    compare_importance(GraphSelection(graph, weighted, web, sites, hosts), asked, top, ExperimentRun(out))


def lean(
    *,
    lean: Leans = None,
    pages: Pages = 20_000,
    crawls: Crawls = 4,
    law: OneLaw = "power",
    webs: Webs = 5,
    seed: Seed = 1,
    small: Small = 1.0,
    known: Known = 0.01,
    born: Born = 0.5,
    change: Change = 0.03,
    out: Out = HERE,
    jobs: Processes = -1,
) -> None:
    """Lean a crawl to refresh or discovery: what it reads, and the error of importance (section 3)."""
    from socialcrawl.lab.experiments.opic.lever_runs import run_levers  # noqa: PLC0415
    from socialcrawl.lab.experiments.opic.levers import LEANS, LeverPlan  # noqa: PLC0415
    from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415

    leans = tuple(dict.fromkeys(lean or LEANS))
    plan = LeverPlan(leans, law, pages, crawls, range(seed, seed + webs), small, known, born, change)
    run_levers("lean", plan, ExperimentRun(out, jobs, seed, webs))


def topic(
    *,
    extra: Extras = None,
    pages: Pages = 20_000,
    crawls: Crawls = 4,
    law: OneLaw = "power",
    webs: Webs = 5,
    seed: Seed = 1,
    small: Small = 1.0,
    known: Known = 0.01,
    share: OnTopic = 0.1,
    together: Together = 0.7,
    out: Out = HERE,
    jobs: Processes = -1,
) -> None:
    """Give a topic extra cash: how many fetches are on topic, and the error of importance (section 3)."""
    from socialcrawl.lab.experiments.opic.lever_runs import run_levers  # noqa: PLC0415
    from socialcrawl.lab.experiments.opic.levers import EXTRAS, LeverPlan  # noqa: PLC0415
    from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415

    extras, seeds = tuple(dict.fromkeys(extra or EXTRAS)), range(seed, seed + webs)
    plan = LeverPlan(extras, law, pages, crawls, seeds, small, known, topic=share, together=together)
    run_levers("topic", plan, ExperimentRun(out, jobs, seed, webs))


opic_app.command(help="The importance of the nodes of a graph, and of the sites they lie on (sections 1, 3 and 4).")(
    importance
)
add_commands(opic_app, STILL, _make_static_command)
add_commands(opic_app, MOVING, _make_moving_command)
opic_app.command()(lean)
opic_app.command()(topic)
