"""`socialcrawl lab steering`: which estimator steers best, on all your graphs."""

from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.choices import offer_estimators
from socialcrawl.lab.experiments.command_options import FirstSeed, Out, Processes

GraphPaths = Annotated[list[Path] | None, typer.Option("--graph", help="A graph folder or .npz. Repeatable.")]
GraphFolder = Annotated[Path | None, typer.Option("--graphs", help="Folder with graphs: each is compared.")]
Estimators = Annotated[
    list[str] | None,
    typer.Option(
        "--estimator",
        help="Which estimators are compared, also module:Class. Repeatable. all: adaptive, and those of the paper "
        "but nr. Default: adaptive, bfs, nh-n-sum, nh-e-sum, nh-ne-sum, hybrid-sum.",
        **offer_estimators(),
    ),
]
Baseline = Annotated[
    str, typer.Option("--baseline", help="Compare each other estimator with this one.", **offer_estimators())
]
SeedSets = Annotated[int, typer.Option("--seed-sets", min=1, help="Sets of seeds, drawn on each graph.")]
SeedSize = Annotated[
    int | None,
    typer.Option(
        "--seed-size",
        min=1,
        help="Number of seeds in each set. Default: 30, at most a quarter of the nodes with a value.",
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(
        "--steps", min=1, help="Steps of a crawl. Default: the number of nodes with a value, from 200 to 3000."
    ),
]
SwitchAfter = Annotated[
    int, typer.Option("--switch-after", min=0, help="Steps before a hybrid switches to its linear estimator.")
]


def compare(
    *,
    graph: GraphPaths = None,
    graphs: GraphFolder = None,
    estimator: Estimators = None,
    baseline: Baseline = "hybrid-sum",
    seed_sets: SeedSets = 10,
    seed_size: SeedSize = None,
    steps: Steps = None,
    switch_after: SwitchAfter = 1000,
    seed: FirstSeed = 1,
    jobs: Processes = -1,
    out: Out = Path("steering"),
) -> None:
    """Compare estimators on all your graphs.

    Which one steers best? Replays crawls from the same sets of seeds and writes a leaderboard as a page.
    """
    from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415
    from socialcrawl.lab.experiments.steering.runs import (  # noqa: PLC0415
        USUAL,
        SteeringOptions,
        compare_estimators,
        list_graphs,
    )

    found = [*(graph or []), *(list_graphs(graphs) if graphs else [])]
    asked = SteeringOptions(found, estimator or USUAL, baseline, seed_size, steps, switch_after)
    compare_estimators(asked, ExperimentRun(out, jobs, seed, seed_sets))
