"""The command that says what a collected dataset holds of a topic: `audit`."""

from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.options import AsJson


def audit(
    campaign: Annotated[Path, typer.Argument(help='Campaign file of a sample (kind = "sample") that has run.')],
    *,
    of: Annotated[
        list[str] | None,
        typer.Option(help="Campaign to audit. Repeatable. Default: every collecting campaign, and all together."),
    ] = None,
    database: Annotated[
        str | None, typer.Option("--db", help="Database of these campaigns. Default: the database of the sample.")
    ] = None,
    held: Annotated[
        list[Path] | None, typer.Option(help="Audit a file of ids, usernames or posts instead. Repeatable.")
    ] = None,
    on_topic: Annotated[
        bool, typer.Option("--on-topic", help="Count accounts of --held that cannot be judged as on topic.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Estimate how complete a dataset is: its share of a topic, its gaps, and whether more budget would pay."""
    from socialcrawl.cli.commands.audit import AuditOptions, audit  # noqa: PLC0415
    from socialcrawl.cli.render.console import make_console  # noqa: PLC0415

    audit(AuditOptions(campaign, of or (), database, held or (), on_topic), make_console(), as_json=as_json)
