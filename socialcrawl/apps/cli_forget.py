"""The commands that make a database forget: `forget` and `retain`."""

from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.apps.options import AsJson, OneDatabase, Pause

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask first: it cannot be undone.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would go; nothing is changed.")]


def forget(
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
    """Forget users and posts: all that is stored of them goes, for good, and they are not collected again."""
    from socialcrawl.apps.erasing import Manner  # noqa: PLC0415
    from socialcrawl.apps.erasing import forget as erase  # noqa: PLC0415
    from socialcrawl.apps.query import database as chosen  # noqa: PLC0415
    from socialcrawl.store.erasure.orders import ordered  # noqa: PLC0415

    order = ordered(user or [], post or [], from_file, compliance)
    erase(chosen(database, changed=True), order, platform, Manner(dry_run, yes, as_json, pause))


def retain(
    span: Annotated[str, typer.Argument(help="How long content is kept: 90d, 12w, 2y.")],
    *,
    database: OneDatabase = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    pause: Pause = False,
    as_json: AsJson = False,
) -> None:
    """Forget the content of what was fetched longer ago: posts, and profiles but for id and username."""
    from socialcrawl.apps.erasing import Manner, days  # noqa: PLC0415
    from socialcrawl.apps.erasing import retain as erase  # noqa: PLC0415
    from socialcrawl.apps.query import database as chosen  # noqa: PLC0415

    kept = days(span)
    erase(chosen(database, changed=True), kept, Manner(dry_run, yes, as_json, pause))
