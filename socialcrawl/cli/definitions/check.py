"""The commands that look through what is there: `check` for campaign files, `verify` for what campaigns stored."""

import json
from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.options import AsJson
from socialcrawl.text.terminal import write_json


def check(
    files: Annotated[list[Path] | None, typer.Argument(help="Campaign files or folders of them.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of campaign files instead.")] = False,
) -> None:
    """Check campaign files without a request and say how to fix each wrong key."""
    from socialcrawl.cli.commands import check as looking  # noqa: PLC0415
    from socialcrawl.cli.render.console import make_console  # noqa: PLC0415

    if schema:
        write_json(json.dumps(looking.make_schema(), indent=2, ensure_ascii=False))
        return
    if not files:
        raise typer.BadParameter("name a campaign file or a folder of them; or --schema")
    raise typer.Exit(looking.check(files, make_console()))


def verify(
    place: Annotated[
        str | None,
        typer.Argument(
            metavar="DATABASE|EXPORT",
            help="Database file, postgresql://USER@HOST/NAME, or folder of an export. Default: the newest *.db.",
        ),
    ] = None,
    campaign: Annotated[str | None, typer.Option(help="Name of the campaign. Default: all campaigns.")] = None,
    as_json: AsJson = False,
) -> None:
    """Verify the decisions, outcomes and costs of a database or export. Exit with 1 if something differs."""
    from socialcrawl.cli.commands.verify import prove  # noqa: PLC0415
    from socialcrawl.cli.render.console import make_console  # noqa: PLC0415

    raise typer.Exit(prove(place, campaign, make_console(), as_json=as_json))
