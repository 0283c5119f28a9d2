"""`socialcrawl lab sampling`: the experiments of Bar-Yossef, Kanungo and Krauthgamer as commands.

Each command writes a figure (PNG, SVG) and its data (CSV) into --out, and says what it found. Commands are thin: they
read options, and hand them on.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.command_options import Out, PerRun, Processes, add_commands, make_app

sampling_app = make_app(
    "sampling",
    "Bar-Yossef and others: sampling a topic.\n\nTheir experiments on focused sampling: statistics of a topic from "
    "a walk (fig1 to fig5), what frozen lists do to its law (bias), how often its intervals are right (audit), ends of "
    "many walks against the last nodes of one (ends), how fast it mixes (gap). Without a file, in a generated world.",
)

PagesFile = Annotated[
    Path | None, typer.Option("--pages", help="Pages, Parquet: key, text, links (lists of keys), categories (lists).")
]
PostsFile = Annotated[Path | None, typer.Option("--posts", help="Posts: author, created_at, text, mentions.")]
WebFile = Annotated[Path | None, typer.Option("--web", help="A web graph, .npz: offsets and targets, by address.")]
Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topic",
        help="A word, category:NAME, or a topic that a world has by itself; with parts: church=catholic,protestant.",
    ),
]
Wider = Annotated[
    list[str] | None,
    typer.Option("--wider", help="For --method ancestor: named as topics are, what is on the wider topic as well."),
]
Size = Annotated[int, typer.Option("--size", help="Pages of a generated world.")]
Trap = Annotated[float, typer.Option(help="Share of generated pages that are on a host that hardly links elsewhere.")]
WorldSeed = Annotated[int, typer.Option(help="Of the generated world, and of the search.")]
Covers = Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of pages that the search for in-links has.")]
First = Annotated[int, typer.Option("--in-links", help="In-links that it shows; 0: all that it has.")]
Length = Annotated[int, typer.Option(min=1, help="Steps of each walk, free ones apart.")]
BurnIn = Annotated[int, typer.Option(min=0, help="On-topic visits of each walk that do not count.")]
Walkers = Annotated[int, typer.Option(min=1, help="Independent walks of a crawl.")]
Runs = Annotated[int, typer.Option(min=1, help="Crawls of each kind.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the first crawl; the others follow.")]
Avoid = Annotated[str, typer.Option(help="Leave traps by jumping (section 4): off, host, community.")]
Quick = Annotated[bool, typer.Option("--quick", help="Tiny worlds and walks, to see that it works.")]
TrialK = Annotated[int, typer.Option("--trial-k", min=1, help="k of trial and error; the paper does not say.")]
Methods = Annotated[list[str] | None, typer.Option("--method", help="These only.")]
Held = Annotated[
    float, typer.Option("--held-share", min=0.01, max=0.99, help="Share of the topic that the audited dataset holds.")
]

HERE = Path("sampling")
COMMANDS = {
    "fig1": "Distribution of out-degrees, by three methods and in truth.",
    "fig2": "Distribution of domains, by three methods and in truth, with chi-square tests.",
    "fig3": "The share of a sub-topic, by three methods and in truth.",
    "fig4": "Two classifiers, keyword and decision tree: sub-topics, and links that stay on topic.",
    "fig5": "Topics compared: domains, and links that stay on topic; hard focus, keyword classifier.",
    "bias": "The exact law of walks on frozen lists, as printed and symmetric.",
    "audit": "How often the truth lies in the 95 % interval, by method.",
    "ends": "Ends of n walks against the last nodes of one that reads as many pages.",
    "gap": "Spectral gaps of the graphs that walks are on.",
}
WALKS = {"audit": (400, 20, 20, 100), "ends": (100, 0, 80, 20)}  # steps, burn-in, walkers, runs, where they are not:
USUAL = 10_000, 1_000, 1, 3
SIZES = {"bias": 600, "audit": 5_000, "gap": 5_000}  # pages of a generated world, where they are not 20,000


def _make_command(name: str) -> Callable[..., None]:
    def command(
        *,
        pages: PagesFile = None,
        posts: PostsFile = None,
        web: WebFile = None,
        topic: Topics = None,
        wider: Wider = None,
        size: Size = SIZES.get(name, 20_000),
        trap: Trap = 0.01,
        world_seed: WorldSeed = 1,
        covers: Covers = 1.0,
        first: First = 100,
        method: Methods = None,
        length: Length = WALKS.get(name, USUAL)[0],
        burn_in: BurnIn = WALKS.get(name, USUAL)[1],
        walkers: Walkers = WALKS.get(name, USUAL)[2],
        avoid: Avoid = "off",
        trial_k: TrialK = 1,
        held: Held = 0.4,
        runs: Runs = WALKS.get(name, USUAL)[3],
        per_run: PerRun = False,
        seed: Seed = 1,
        jobs: Processes = -1,
        out: Out = HERE,
    ) -> None:
        from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415  (likewise)
        from socialcrawl.lab.experiments.sampling import figure_runs  # noqa: PLC0415  (heavy: numpy, pyarrow)
        from socialcrawl.lab.experiments.sampling import runs as sampling_runs  # noqa: PLC0415  (likewise)
        from socialcrawl.lab.experiments.sampling.run_setup import WalkOptions, WorldOptions, make_setup  # noqa: PLC0415  (likewise)

        wanted = WorldOptions(
            pages, posts, web, tuple(topic or ()), size, trap, world_seed, tuple(wider or ()), per_run
        )
        made = {"length": length, "burn_in": burn_in, "walkers": walkers, "k": trial_k, "runs": runs, "seed": seed}
        how = make_setup(covers=covers, first=first, avoid=avoid, **made)
        asked, run = WalkOptions(tuple(method or ()), how), ExperimentRun(out, jobs)
        _require_worlds(name, per_run=per_run)
        if name == "audit":
            sampling_runs.run_audit(wanted, asked, held, run)
        elif name == "bias":
            sampling_runs.run_bias(wanted, asked, run)
        elif name == "ends":
            sampling_runs.run_ends(wanted, asked, run)
        elif name == "gap":
            sampling_runs.run_gap(wanted, run)
        else:
            figure_runs.make_figure(name, wanted, asked, run)

    return command


def _require_worlds(name: str, *, per_run: bool) -> None:
    """Check that a command for which each run is to have a world can have several.

    Raises:
        SettingsError: it takes all runs together.
    """
    if per_run and name not in WALKS:
        raise SettingsError(f"--graph-per-run is for {' and '.join(WALKS)}: {name} has one world for all of its runs.")


add_commands(sampling_app, COMMANDS, _make_command)


@sampling_app.command("all")
def run_all(*, quick: Quick = False, jobs: Processes = -1, out: Out = HERE) -> None:
    """Do all of the above in generated worlds, as they are by themselves."""
    for name in COMMANDS:
        words = {"size": 600, "runs": 2, "length": 400, "burn_in": 40, "walkers": 4} if quick else {}
        _make_command(name)(**words, jobs=jobs, out=out)
