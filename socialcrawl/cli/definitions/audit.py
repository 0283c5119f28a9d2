"""The command that says what a collected dataset holds of a topic: `audit`."""

from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.options import AsJson


def audit(
    campaign: Annotated[Path, typer.Argument(help='The file of a campaign of kind = "sample", which has run.')],
    *,
    of: Annotated[
        list[str] | None,
        typer.Option(help="A campaign to audit, may be repeated; default: all that collect, and all of them together."),
    ] = None,
    database: Annotated[
        str | None, typer.Option("--db", help="The database of those campaigns; default: that of the sample.")
    ] = None,
    held: Annotated[
        list[Path] | None, typer.Option(help="A file of ids, usernames or posts to audit instead; may be repeated.")
    ] = None,
    on_topic: Annotated[
        bool, typer.Option("--on-topic", help="Take accounts of --held that nobody can judge to be on topic.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what share of a topic a collected dataset holds, where its gaps are, and whether more budget would pay."""
    from socialcrawl.cli.commands.audit import Wanted, audit  # noqa: PLC0415
    from socialcrawl.cli.render.console import plain  # noqa: PLC0415

    audit(Wanted(campaign, of or (), database, held or (), on_topic), plain(), as_json=as_json)
