"""`socialcrawl lab liverank`: the experiments of Huynh, Mathieu and Viennot as commands.

Each command writes a figure (PNG, SVG) and its data into --out, and says what it found. Commands are thin: they read
options, and hand them on.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.lab.experiments.command_options import FirstSeed, Out, PerRun, Processes, add_commands, make_app

liverank_app = make_app(
    "liverank",
    "Huynh, Mathieu, Viennot: refreshing old datasets.\n\nTheir experiments: which order of testing finds the "
    "active nodes with the fewest tests. table1, fig2, fig4 to fig8 and dpr are about webs, fig1, fig3 and fig9 to "
    "fig11 about accounts; without a file, on generated worlds.",
)

Dated = Annotated[
    list[Path] | None,
    typer.Option(
        "--file",
        help="Links with timestamps (columns a, b, ts or src, dst, ts), or posts (author, created_at, text, mentions): "
        "what came before --snapshot is the old dataset; may be given again.",
    ),
]
WebPath = Annotated[
    list[Path] | None,
    typer.Option("--web", help="A known web graph, folder or .npz, on which death is planted; may be given again."),
]
Snapshot = Annotated[float, typer.Option(help="Of --file: the share of its time after which the snapshot was taken.")]
Present = Annotated[float, typer.Option(help="Of --file: the share of its time after which it is now.")]
Recent = Annotated[float, typer.Option(help="Of --file: days before now in which who acted is active.")]
Actors = Annotated[bool, typer.Option("--actors", help="Of --file: only who had acted himself is a node.")]
Nodes = Annotated[int, typer.Option(help="Of a generated world.")]
Degree = Annotated[float | None, typer.Option(help="Links a node of a generated world; without it 16, accounts 20.")]
Alive = Annotated[
    float | None,
    typer.Option(
        help="Share of active nodes, but with --file; without it the paper's: .0629, fig7 .3556, accounts .1753."
    ),
]
Spread = Annotated[float, typer.Option(help="Of webs: how far death spreads along links; 0 not at all.")]
BySite = Annotated[float, typer.Option(help="Of webs: how far sites differ in dying (sigma); 0 not at all.")]
Resist = Annotated[float, typer.Option(help="Of webs: the power of in-degree by which pages last longer.")]
Bond = Annotated[float, typer.Option(help="Of generated accounts: how much fame says of activity.")]
WorldSeed = Annotated[int, typer.Option(min=0, help="Of generated worlds and planted death.")]
Z = Annotated[
    int | None, typer.Option("--z", min=1, help="Nodes tested first; without it the paper's share, at least 100.")
]
Batch = Annotated[int, typer.Option(min=1, help="After how many tests BFS and AI look again; DPR after --z.")]
Seeds = Annotated[int, typer.Option("--runs", min=1, help="Crawls of each kind that draws decide.")]

COMMANDS = {
    "table1": "What a request for each page is answered with, and how often.",
    "fig1": "How many accounts are active, and when the others last acted.",
    "fig2": "In-degree and PageRank of active pages, of the others, and of all.",
    "fig3": "In-degree and PageRank of active accounts, of the others, and of all.",
    "fig4": "Static and sample-based LiveRanks on a web.",
    "fig5": "The size and the kind of the training set on a web.",
    "fig6": "Dynamic LiveRanks on a web.",
    "fig7": "Static and sample-based LiveRanks on a web of which more is left.",
    "fig8": "Active sites first, on a web.",
    "fig9": "Static and sample-based LiveRanks on accounts.",
    "fig10": "The size and the kind of the training set on accounts.",
    "fig11": "Dynamic LiveRanks on accounts.",
    "dpr": "Dynamic PageRank, which the paper tried and gave up; slow: take some 20,000 --nodes.",
    "all": "All of these, one after the other.",
}


def _make_command(name: str) -> Callable[..., None]:
    def command(
        *,
        file: Dated = None,
        web: WebPath = None,
        snapshot: Snapshot = 0.5,
        present: Present = 1.0,
        recent: Recent = 182.0,
        actors: Actors = False,
        nodes: Nodes = 200_000,
        degree: Degree = None,
        alive: Alive = None,
        spread: Spread = 1.0,
        by_site: BySite = 1.5,
        resist: Resist = 0.4,
        bond: Bond = 1.0,
        world_seed: WorldSeed = 1,
        per_run: PerRun = False,
        z: Z = None,
        batch: Batch = 100,
        seeds: Seeds = 3,
        seed: FirstSeed = 1,
        out: Out = Path("liverank"),
        jobs: Processes = -1,
    ) -> None:
        from socialcrawl.lab.experiments.liverank.dated import SnapshotCut  # noqa: PLC0415  (likewise)
        from socialcrawl.lab.experiments.liverank.runs import ProbeOptions, run_experiment  # noqa: PLC0415  (what a command needs, it loads)
        from socialcrawl.lab.experiments.liverank.world_options import DatasetOptions  # noqa: PLC0415  (likewise)
        from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415  (likewise)

        cut = SnapshotCut(snapshot, recent, present, actors)
        planted = {"spread": spread, "by_site": by_site, "resist": resist, "seed": world_seed}
        wanted = DatasetOptions(tuple(file or ()), tuple(web or ()), cut, nodes, degree, alive, bond, planted, per_run)
        run_experiment(name, wanted, ProbeOptions(z, batch), ExperimentRun(out, jobs, seed, seeds))

    return command


add_commands(liverank_app, COMMANDS, _make_command)
