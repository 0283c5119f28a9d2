"""The commands that make a database forget: `forget` and `retain`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.options import AsJson, Files, OneDatabase, Pause

Yes = Annotated[bool, typer.Option("--yes", help="Delete without asking. This cannot be undone.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be deleted and change nothing.")]


def forget(
    files: Files = None,
    *,
    database: OneDatabase = None,
    user: Annotated[list[str] | None, typer.Option(help="Id, @username or address of a page. Repeatable.")] = None,
    post: Annotated[list[str] | None, typer.Option(help="Id of a post. Repeatable.")] = None,
    from_file: Annotated[
        Path | None,
        typer.Option(help="File with lines user:ID, post:ID or @name, or the result of an X compliance job."),
    ] = None,
    compliance: Annotated[str | None, typer.Option(help="Type of the ids in that result: users or posts.")] = None,
    platform: Annotated[
        str | None, typer.Option(help="Platform of the ids and names, if the database has several.")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    pause: Pause = False,
    as_json: AsJson = False,
) -> None:
    """Delete everything stored about accounts or posts, permanently, and do not collect them again."""
    from socialcrawl.cli.commands.forget import ErasureOptions, erase_in  # noqa: PLC0415
    from socialcrawl.cli.commands.forget import forget as erase  # noqa: PLC0415
    from socialcrawl.cli.commands.status import find_campaigns  # noqa: PLC0415
    from socialcrawl.storage.erasure.orders import read_order  # noqa: PLC0415

    work = partial(erase, order=read_order(user or [], post or [], from_file, compliance), platform=platform)
    given = find_campaigns(files or [], database, [])
    raise typer.Exit(erase_in(given, work, ErasureOptions(dry_run, yes, as_json, pause), several=bool(files)))


def retain(
    span: Annotated[str, typer.Argument(help="How long to keep content: 90d, 12w, 2y.")],
    files: Files = None,
    *,
    database: OneDatabase = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    pause: Pause = False,
    as_json: AsJson = False,
) -> None:
    """Delete the content of old posts and profiles. Ids and usernames are kept."""
    from socialcrawl.cli.commands.forget import ErasureOptions, erase_in, parse_days  # noqa: PLC0415
    from socialcrawl.cli.commands.forget import retain as erase  # noqa: PLC0415
    from socialcrawl.cli.commands.status import find_campaigns  # noqa: PLC0415

    work = partial(erase, kept=parse_days(span))
    given = find_campaigns(files or [], database, [])
    raise typer.Exit(erase_in(given, work, ErasureOptions(dry_run, yes, as_json, pause), several=bool(files)))
