"""`socialcrawl lab gouriten`: the experiments of Gouriten, Maniu and Senellart as commands.

Each command writes a figure (PNG, SVG) and its data into --out, and says what it found. Commands are thin: they read
options, and hand them on.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.lab.experiments.command_options import Processes, add_commands, make_app

gouriten_app = make_app(
    "gouriten",
    "Gouriten, Maniu, Senellart: finding relevant nodes.\n\n"
    "Their experiments on any graph: altered greedy (fig1), refresh rates (fig2), "
    "precision along the oracle's crawl (fig3), estimators (fig4, fig5), what links say about values (table1 to "
    "table3), and some beside them. Without a file or folder, on generated graphs of the paper's three topics.",
)

Posts = Annotated[list[Path] | None, typer.Option("--posts", help="A file of posts; with --keyword.")]
Pages = Annotated[list[Path] | None, typer.Option("--pages", help="A file of pages with links; with --keyword.")]
Keyword = Annotated[list[str] | None, typer.Option("--keyword", help="One graph a file and keyword.")]
GraphPath = Annotated[list[Path] | None, typer.Option("--graph", help="A graph folder or .npz.")]
TopicName = Annotated[list[str] | None, typer.Option("--topic", help="A generated graph: happy, jazz or weird.")]
Users = Annotated[int, typer.Option(help="Of a generated graph; the paper's: 17000000.")]
Links = Annotated[int, typer.Option(help="Of a generated graph; the paper's: 93000000.")]
GraphSeed = Annotated[int, typer.Option(help="Of generated graphs.")]
PerSet = Annotated[
    bool,
    typer.Option("--graph-per-set", help="A generated graph for each set of seeds: intervals hold their spread."),
]
Out = Annotated[Path, typer.Option("-o", "--out", help="Where graphs, replays, figures and data go.")]
Variant = Annotated[
    list[str] | None,
    typer.Option(
        help="What is compared, instead of what the paper compares: an estimator, or fields of a replay, as "
        "'hybrid-sum start=bfs'; may be given again."
    ),
]
Sets = Annotated[
    int | None, typer.Option("--seed-sets", min=1, help="Sets of seeds; without it as many as in the paper.")
]
Size = Annotated[
    int | None,
    typer.Option(
        "--seed-size",
        min=1,
        help="Seeds in a set; without it the paper's number, but at most a tenth of the nodes they are drawn from.",
    ),
]
Least = Annotated[
    float | None, typer.Option("--seed-least", min=0, help="Seeds are drawn among nodes of value above this.")
]
Steps = Annotated[int | None, typer.Option(min=1, help="Steps of a crawl; without it the paper's number.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the sets of seeds and all draws.")]
SmallGraph = Annotated[
    Path | None, typer.Option("--graph", help="A small graph, folder or .npz; without it, generated ones.")
]
ValueShare = Annotated[float, typer.Option("--topic-share", help="Share of generated nodes with a value.")]
Window = Annotated[int, typer.Option("--rolling", min=1, help="Steps of the rolling mean.")]

HERE = Path("gouriten")
CRAWLS = {
    "fig1": "Altered greedy against greedy, by the oracle (figure 1).",
    "fig2": "Refresh rates against 1, by the oracle (figure 2).",
    "fig4": "All estimators against the oracle, on graphs of mentions (figure 4).",
    "fig5": "All estimators against the oracle, on graphs of pages (figure 5).",
    "count": "All estimators by the count of nodes with a value, instead of the sum (section 6.2).",
    "short": "All estimators in crawls of 10 to 200 steps (an open question of section 8).",
    "features": "Linear estimators over three and over seven features (section 5.2).",
    "start": "The hybrid with other starts, and with other steps to switch after (section 6.3).",
    "scorings": "Linear and other estimators under other functions of the counts (section 2.3).",
}
TABLES = {
    "table1": "Nodes and links, and how many have a value or weight (table 1).",
    "table2": "Correlation of nodes' values with features of their links (table 2).",
    "table3": "R2 of the linear model, over links in and out (table 3).",
}


def _make_crawl_command(name: str) -> Callable[..., None]:
    def command(
        *,
        posts: Posts = None,
        pages: Pages = None,
        keyword: Keyword = None,
        graph: GraphPath = None,
        topic: TopicName = None,
        users: Users = 170_000,
        links: Links = 930_000,
        graph_seed: GraphSeed = 1,
        per_set: PerSet = False,
        out: Out = HERE,
        variant: Variant = None,
        sets: Sets = None,
        size: Size = None,
        least: Least = None,
        steps: Steps = None,
        seed: Seed = 1,
        jobs: Processes = -1,
    ) -> None:
        from socialcrawl.lab.experiments.gouriten.experiment_graphs import GraphOptions  # noqa: PLC0415
        from socialcrawl.lab.experiments.gouriten.runs import CrawlOptions, compare_scorings, compare_variants  # noqa: PLC0415
        from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415

        wanted = GraphOptions(
            posts or (), pages or (), keyword or (), graph or (), topic or (), users, links, graph_seed, per_set
        )
        asked, run = CrawlOptions(tuple(variant or ()), sets, size, least, steps), ExperimentRun(out, jobs, seed)
        if name == "scorings":
            compare_scorings(wanted, asked, run)
        else:
            compare_variants(name, wanted, asked, run)

    return command


def _make_table_command(name: str) -> Callable[..., None]:
    def command(
        *,
        posts: Posts = None,
        pages: Pages = None,
        keyword: Keyword = None,
        graph: GraphPath = None,
        topic: TopicName = None,
        users: Users = 170_000,
        links: Links = 930_000,
        graph_seed: GraphSeed = 1,
        out: Out = HERE,
    ) -> None:
        from socialcrawl.lab.experiments.gouriten.experiment_graphs import GraphOptions  # noqa: PLC0415
        from socialcrawl.lab.experiments.gouriten.runs import make_table  # noqa: PLC0415
        from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415

        wanted = GraphOptions(
            posts or (), pages or (), keyword or (), graph or (), topic or (), users, links, graph_seed
        )
        make_table(name, wanted, ExperimentRun(out))

    return command


def _run_fig3(
    *,
    posts: Posts = None,
    pages: Pages = None,
    keyword: Keyword = None,
    graph: GraphPath = None,
    topic: TopicName = None,
    users: Users = 170_000,
    links: Links = 930_000,
    graph_seed: GraphSeed = 1,
    per_set: PerSet = False,
    out: Out = HERE,
    variant: Variant = None,
    sets: Sets = None,
    size: Size = None,
    least: Least = None,
    steps: Steps = None,
    seed: Seed = 1,
    jobs: Processes = -1,
    window: Window = 1000,
) -> None:
    """Measure how far estimators' first choices fall short of the oracle's, along its crawl (figure 3)."""
    from socialcrawl.lab.experiments.gouriten.experiment_graphs import GraphOptions  # noqa: PLC0415
    from socialcrawl.lab.experiments.gouriten.runs import CrawlOptions, follow_oracle  # noqa: PLC0415
    from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415

    wanted = GraphOptions(
        posts or (), pages or (), keyword or (), graph or (), topic or (), users, links, graph_seed, per_set
    )
    follow_oracle(
        wanted, CrawlOptions(tuple(variant or ()), sets, size, least, steps), ExperimentRun(out, jobs, seed), window
    )


def _run_optimum(
    *,
    graph: SmallGraph = None,
    users: Annotated[int, typer.Option(help="Of a generated graph.")] = 90,
    links: Annotated[int, typer.Option(help="Of a generated graph.")] = 200,
    share: ValueShare = 0.1,
    graph_seed: GraphSeed = 1,
    variant: Variant = None,
    sets: Annotated[int, typer.Option("--seed-sets", min=1, help="Sets of seeds, each in a generated graph.")] = 30,
    size: Annotated[int, typer.Option("--seed-size", min=1, help="Seeds in a set.")] = 2,
    steps: Annotated[int, typer.Option(min=1, help="Steps of a crawl.")] = 15,
    objective: Annotated[str, typer.Option(help="sum of values, or count of nodes with a value.")] = "sum",
    seed: Seed = 1,
    out: Out = HERE,
) -> None:
    """Compare crawls with the best of all, on small graphs (section 4.3)."""
    from socialcrawl.lab.experiments.gouriten.optima import SmallCrawls, SmallGraphs  # noqa: PLC0415
    from socialcrawl.lab.experiments.gouriten.runs import compare_with_optimum  # noqa: PLC0415
    from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415

    crawls = SmallCrawls(tuple(variant or ()), sets, size, steps, objective, seed)
    compare_with_optimum(SmallGraphs(graph, users, links, share, graph_seed), crawls, ExperimentRun(out))


def _run_hardness(
    *,
    graph: SmallGraph = None,
    users: Annotated[int, typer.Option(help="Of a generated graph.")] = 10,
    links: Annotated[int, typer.Option(help="Of a generated graph.")] = 20,
    share: ValueShare = 0.5,
    graph_seed: GraphSeed = 1,
    counted: Annotated[str, typer.Option(help="What the size of a tree counts: nodes or edges.")] = "edges",
    most: Annotated[int, typer.Option(min=1, help="The largest size.")] = 5,
    out: Out = HERE,
) -> None:
    """Find the heaviest subtrees of a graph by crawls: why the best crawl is hard to find (Proposition 1)."""
    from socialcrawl.lab.experiments.gouriten.optima import SmallGraphs  # noqa: PLC0415
    from socialcrawl.lab.experiments.gouriten.runs import show_hardness  # noqa: PLC0415
    from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415

    show_hardness(SmallGraphs(graph, users, links, share, graph_seed), counted, most, ExperimentRun(out))


add_commands(gouriten_app, {name: CRAWLS[name] for name in ("fig1", "fig2")}, _make_crawl_command)
gouriten_app.command("fig3")(_run_fig3)
add_commands(
    gouriten_app, {name: text for name, text in CRAWLS.items() if name not in ("fig1", "fig2")}, _make_crawl_command
)
add_commands(gouriten_app, TABLES, _make_table_command)
gouriten_app.command("optimum")(_run_optimum)
gouriten_app.command("hardness")(_run_hardness)
