"""The commands that make a database forget: `forget` and `retain`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.options import AsJson, Files, OneDatabase, Pause

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask first: it cannot be undone.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would go; nothing is changed.")]


def forget(
    files: Files = None,
    *,
    database: OneDatabase = None,
    user: Annotated[
        list[str] | None, typer.Option(help="An id, a username as @name, a page's address; may be given again.")
    ] = None,
    post: Annotated[list[str] | None, typer.Option(help="The id of a post; may be given again.")] = None,
    from_file: Annotated[
        Path | None, typer.Option(help="Lines user:ID, post:ID or @name; or the result of a compliance job of X.")
    ] = None,
    compliance: Annotated[str | None, typer.Option(help="What the ids of that result are: users or posts.")] = None,
    platform: Annotated[
        str | None, typer.Option(help="The platform of the ids and names, where the database has several.")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    pause: Pause = False,
    as_json: AsJson = False,
) -> None:
    """Delete all that is stored of users and posts, for good, and do not collect them again."""
    from socialcrawl.cli.commands.forget import Manner, erase_in  # noqa: PLC0415
    from socialcrawl.cli.commands.forget import forget as erase  # noqa: PLC0415
    from socialcrawl.cli.commands.status import find_campaigns  # noqa: PLC0415
    from socialcrawl.storage.erasure.orders import read_order  # noqa: PLC0415

    work = partial(erase, order=read_order(user or [], post or [], from_file, compliance), platform=platform)
    given = find_campaigns(files or [], database, [])
    raise typer.Exit(erase_in(given, work, Manner(dry_run, yes, as_json, pause), several=bool(files)))


def retain(
    span: Annotated[str, typer.Argument(help="How long content is kept: 90d, 12w, 2y.")],
    files: Files = None,
    *,
    database: OneDatabase = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    pause: Pause = False,
    as_json: AsJson = False,
) -> None:
    """Delete the content of what was fetched longer ago: posts, and profiles but for id and username."""
    from socialcrawl.cli.commands.forget import Manner, days, erase_in  # noqa: PLC0415
    from socialcrawl.cli.commands.forget import retain as erase  # noqa: PLC0415
    from socialcrawl.cli.commands.status import find_campaigns  # noqa: PLC0415

    work = partial(erase, kept=days(span))
    given = find_campaigns(files or [], database, [])
    raise typer.Exit(erase_in(given, work, Manner(dry_run, yes, as_json, pause), several=bool(files)))
