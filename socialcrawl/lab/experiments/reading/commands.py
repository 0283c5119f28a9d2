"""`socialcrawl lab reading`: which way of reading accounts finds more for the money."""

from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.choices import offer, offer_estimators
from socialcrawl.lab.experiments.command_options import FirstSeed, Out, Processes

PostsFile = Annotated[
    Path, typer.Option("--posts", help="Posts: Parquet, CSV or JSON lines with author, created_at, text.")
]
Keywords = Annotated[list[str], typer.Option("--keyword", help="Keyword or phrase: one topic. Repeatable.")]
Reads = Annotated[
    list[str] | None,
    typer.Option(
        "--read", help="How accounts are read. Repeatable. Default: all ways.", **offer("timeline|match|search|auto")
    ),
]
Estimators = Annotated[
    list[str] | None,
    typer.Option("--estimator", help="Which accounts come first. Repeatable. Default: adaptive.", **offer_estimators()),
]
Budgets = Annotated[
    list[float] | None,
    typer.Option("--max-money", help="A budget in dollars. Repeatable. Default: 10, 25, 50, 100, 200."),
]
SeedSets = Annotated[int, typer.Option("--seed-sets", min=1, help="Sets of seeds, drawn among authors on the topic.")]
SeedSize = Annotated[int, typer.Option("--seed-size", min=1, help="Number of seeds in each set.")]
Pages = Annotated[
    int | None,
    typer.Option(
        "--pages-per-user", min=1, max=32, help="Pages of a timeline. Default: 1 (timeline), up to 32 (match)."
    ),
]

LastDays = Annotated[
    bool, typer.Option("--last-days", help="Search the last 7 days instead of the full archive: no match.")
]


def compare(
    *,
    posts: PostsFile,
    keyword: Keywords,
    read: Reads = None,
    estimator: Estimators = None,
    max_money: Budgets = None,
    seed_sets: SeedSets = 5,
    seed_size: SeedSize = 30,
    pages_per_user: Pages = None,
    last_days: LastDays = False,
    seed: FirstSeed = 1,
    jobs: Processes = -1,
    out: Out = Path("reading"),
) -> None:
    """Compare ways of reading accounts.

    Which finds more for the money? Runs whole campaigns on a mock of X with your posts, X's prices and X's rate limits.
    """
    from socialcrawl.campaign.sections.access import MATCH, READINGS  # noqa: PLC0415
    from socialcrawl.lab.experiments.reading.runs import ReadingOptions, compare_readings  # noqa: PLC0415
    from socialcrawl.lab.experiments.runner import ExperimentRun  # noqa: PLC0415

    asked = ReadingOptions(
        posts,
        keyword,
        read or [one for one in READINGS if not (last_days and one == MATCH)],
        estimator or ("adaptive",),
        max_money or (10.0, 25.0, 50.0, 100.0, 200.0),
        seed_size,
        pages_per_user,
        not last_days,
    )
    compare_readings(asked, ExperimentRun(out, jobs, seed, seed_sets))
