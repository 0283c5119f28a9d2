"""The commands that look through what is there, and those that delete of it.

`check` is for campaign files, `verify` for what campaigns stored; `forget` and `retain` make a database forget.
"""

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.choices import offer
from socialcrawl.cli.options import PLACE, AsJson, Database, Files, OneDatabase, Pause
from socialcrawl.text.terminal import write_json


def check(
    files: Annotated[list[Path] | None, typer.Argument(help="Campaign files or folders of them.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of campaign files instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check campaign files.

    It sends no request, and says how to fix each wrong key.
    """
    from socialcrawl.campaign.settings_schema import make_schema  # noqa: PLC0415
    from socialcrawl.cli.commands import check as looking  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    if schema:
        write_json(json.dumps(make_schema(), indent=2, ensure_ascii=False))
        return
    if not files:
        raise typer.BadParameter("name a campaign file or a folder of them; or --schema")
    raise typer.Exit(looking.check(files, make_console(), as_json=as_json))


def verify(
    place: Annotated[
        str | None,
        typer.Argument(
            metavar=f"{PLACE}|EXPORT",
            help="Campaign file, database file, postgresql://USER@HOST/NAME, or folder of an export. Default: the "
            "newest *.db in this folder.",
        ),
    ] = None,
    database: Database = None,
    campaign: Annotated[str | None, typer.Option(help="Name of the campaign. Default: all campaigns.")] = None,
    as_json: AsJson = False,
) -> None:
    """Verify stored decisions and costs.

    It replays the decisions of a database or export, and exits with 1 if something differs.
    """
    from socialcrawl.cli.commands.verify import prove  # noqa: PLC0415
    from socialcrawl.cli.databases import choose_database  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    where, name, _ = choose_database(place, database, campaign)
    raise typer.Exit(prove(where, name, make_console(), as_json=as_json))


Yes = Annotated[bool, typer.Option("-y", "--yes", help="Delete without asking. This cannot be undone.")]
ShowStored = Annotated[
    bool, typer.Option("--dry-run", help="Show what is stored about them and would be deleted; change nothing.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be deleted; change nothing.")]


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
    compliance: Annotated[
        str | None, typer.Option(help="Type of the ids in that result.", **offer("users|posts"))
    ] = None,
    platform: Annotated[
        str | None, typer.Option(help="Platform of the ids and names, if the database has several.")
    ] = None,
    dry_run: ShowStored = False,
    yes: Yes = False,
    pause: Pause = False,
    as_json: AsJson = False,
) -> None:
    """Delete accounts or posts permanently.

    It deletes everything stored about them, and they are not collected again.
    """
    from socialcrawl.cli.commands.forget import ErasureOptions, erase_in  # noqa: PLC0415
    from socialcrawl.cli.commands.forget import forget as erase  # noqa: PLC0415
    from socialcrawl.cli.commands.status import find_campaigns  # noqa: PLC0415
    from socialcrawl.storage.erasure.orders import read_order  # noqa: PLC0415

    work = partial(erase, order=read_order(user or [], post or [], from_file, compliance), platform=platform)
    given = find_campaigns(files or [], database, [])
    raise typer.Exit(erase_in(given, work, ErasureOptions(dry_run, yes, as_json, pause), several=bool(files)))


def retain(
    span: Annotated[str, typer.Argument(help="How long to keep content after it was fetched: 90d, 12w, 2y.")],
    files: Files = None,
    *,
    database: OneDatabase = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    pause: Pause = False,
    while_running: Annotated[
        bool, typer.Option("--while-running", help="Delete in small transactions while campaigns run.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete content fetched long ago.

    It deletes the content of posts and profiles fetched more than SPAN ago, and keeps ids and usernames.
    """
    from socialcrawl.cli.commands.forget import ErasureOptions, erase_in, parse_days  # noqa: PLC0415
    from socialcrawl.cli.commands.forget import retain as erase  # noqa: PLC0415
    from socialcrawl.cli.commands.status import find_campaigns  # noqa: PLC0415

    work = partial(erase, kept=parse_days(span))
    given = find_campaigns(files or [], database, [])
    raise typer.Exit(
        erase_in(given, work, ErasureOptions(dry_run, yes, as_json, pause, while_running), several=bool(files))
    )


def compliance(
    file: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="Campaign file: its tokens are used.")],
    *,
    wait: Annotated[
        bool,
        typer.Option("--wait/--no-wait", help="Wait for the platform and its windows, or go on by another run."),
    ] = True,
    dry_run: DryRun = False,
    yes: Yes = False,
    pause: Pause = False,
    as_json: AsJson = False,
) -> None:
    """Delete what a platform removed.

    On X, it has the platform check all posts and accounts in the database, and deletes those that were deleted,
    suspended or protected. On Bluesky and Mastodon, it looks stored posts up again, and deletes those that two look-ups
    a day apart did not find: run it again the next day. If it is interrupted, run it again to go on.
    """
    from socialcrawl.campaign.plan import make_plan  # noqa: PLC0415
    from socialcrawl.campaign.settings import read  # noqa: PLC0415
    from socialcrawl.cli.commands.compliance import check_compliance  # noqa: PLC0415
    from socialcrawl.cli.commands.forget import ErasureOptions  # noqa: PLC0415

    manner = ErasureOptions(dry_run, yes, as_json, pause)
    raise typer.Exit(check_compliance(make_plan(read(file)), manner, wait=wait))
