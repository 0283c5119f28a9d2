"""The commands that ask a database: `search`, `sql`, `explore`, `ui`, `explain`, `report`. They only read."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from socialcrawl.cli.choices import offer
from socialcrawl.cli.options import PLACE, AllowHost, AsJson, CampaignName, Database, Place, WithStdin
from socialcrawl.errors import SettingsError
from socialcrawl.text.terminal import write_json

Timeout = Annotated[str, typer.Option(help="Maximum time for a query: 30s, 5m.")]
ResultFormat = Annotated[
    str, typer.Option("--format", help="Form of the result.", **offer("table|csv|tsv|json|ndjson"))
]


def sql(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar=f"[{PLACE}] QUERY",
            help="What to query, and a SELECT: docs/reference/schema.md has the tables, views and examples. "
            "- reads it from standard input.",
        ),
    ],
    *,
    database: Database = None,
    style: Annotated[
        str, typer.Option("--format", help="Form of the result.", **offer("table|csv|tsv|json|ndjson"))
    ] = "table",
    timeout: Timeout = "30s",
    limit: Annotated[
        int | None, typer.Option(min=0, help="Maximum number of rows. Default: all; in a table 10,000.")
    ] = None,
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv", help="CSV or TSV for spreadsheets: put an apostrophe before texts that look like formulas."
        ),
    ] = False,
    allow_superuser: Annotated[
        bool,
        typer.Option(
            "--allow-superuser",
            help="PostgreSQL: run the query even though the role can read or write files of the server.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else, as --format json.")] = False,
) -> None:
    """Query the database, read-only."""
    from socialcrawl.cli.commands import sql as asking  # noqa: PLC0415
    from socialcrawl.cli.databases import choose_database, split_words  # noqa: PLC0415
    from socialcrawl.text.wording import parse_seconds  # noqa: PLC0415

    if as_json and style not in ("table", "json"):
        raise SettingsError(f"--json and --format {style} exclude each other: remove one of the two.")
    given, query = split_words(words, "a query")
    query = sys.stdin.read() if query == "-" else query
    place, allowed = choose_database(given, database).address, parse_seconds(timeout)
    form = "json" if as_json else style
    asking.answer(place, query, form, allowed, limit, allow_superuser=allow_superuser, safe_csv=safe_csv)


def search(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar=f"[{PLACE}] QUERY",
            help='Where to search, and words that posts must have, in quotes: \'telescope "clear sky" -cloud tele* OR '
            "#moon'.",
        ),
    ],
    *,
    database: Database = None,
    campaign: CampaignName = None,
    on_topic: Annotated[
        bool, typer.Option("--on-topic", help="Only posts that match the topic of the campaign.")
    ] = False,
    author: Annotated[str | None, typer.Option(help="Only posts of this username or id.")] = None,
    since: Annotated[str | None, typer.Option(help="Only posts from this date or time (UTC) on: 2026-01-31.")] = None,
    until: Annotated[str | None, typer.Option(help="Only posts before this date or time (UTC).")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of posts.")] = 20,
    after: Annotated[str | None, typer.Option(help="Continue after this post, as the page before names it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per post and nothing else.")] = False,
) -> None:
    """Search stored posts by their words.

    It shows posts that have all the words, newest first. The first search of a large database makes an index in it.
    """
    from socialcrawl.cli.commands.search import search_posts  # noqa: PLC0415
    from socialcrawl.cli.databases import choose_database, split_words  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    given, query = split_words(words, "a query")
    where, name, _ = choose_database(given, database, campaign)
    options = {
        "on_topic": on_topic, "author": author, "since": since, "until": until, "limit": limit, "after": after,
        "campaign": name,
    }  # fmt: skip
    raise typer.Exit(search_posts(where, query, options, make_console(), as_json=as_json))


def explore(
    place: Place = None,
    *,
    database: Database = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine. 0: any free port.")] = 8001,
    timeout: Timeout = "10s",
    allow_host: AllowHost = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
) -> None:
    """Browse the database.

    It shows views and example queries in a browser, read-only, until Ctrl-C.
    """
    from socialcrawl.cli.commands.explore import explore as show  # noqa: PLC0415
    from socialcrawl.cli.databases import choose_database  # noqa: PLC0415
    from socialcrawl.text.wording import parse_seconds  # noqa: PLC0415

    where, hosts = choose_database(place, database).address, allow_host or []
    raise typer.Exit(show(where, port, parse_seconds(timeout), browser=not no_open, allow_hosts=hosts))


def ui(
    places: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FOLDER|DATABASE|CAMPAIGN",
            help="Folders, databases or campaign files. Default: the current folder.",
        ),
    ] = None,
    *,
    host: Annotated[str, typer.Option(help="Address to listen on; another than 127.0.0.1 needs --allow-remote.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine. 0: any free port.")] = 8002,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="Let other machines read these pages, with the token; put TLS before it."),
    ] = False,
    allow_host: AllowHost = None,
    with_stdin: WithStdin = False,
) -> None:
    """Show campaigns in a browser, live.

    It shows their state, cost, curves and decisions, and starts, pauses, stops and changes them, until Ctrl-C.
    """
    from socialcrawl.cli.commands.ui import WebOptions, serve_pages  # noqa: PLC0415

    options = WebOptions(places or [], host, port, not no_open, allow_remote, allow_host or [], with_stdin)
    raise typer.Exit(serve_pages(options))


def explain(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar=f"[{PLACE}] ACCOUNT",
            help="Where to look, and a username (with or without @), id or page.",
        ),
    ],
    database: Database = None,
    campaign: CampaignName = None,
    top: Annotated[int, typer.Option(min=0, help="Number of links to the account to list.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Explain the score of an account.

    It shows why the account was or was not collected: features, weights, rank, and links to it.
    """
    from socialcrawl.cli.commands.explain import explain_account  # noqa: PLC0415
    from socialcrawl.cli.databases import choose_database, split_words  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    given, user = split_words(words, "an account")
    where, name, _ = choose_database(given, database, campaign)
    raise typer.Exit(explain_account(where, user, name, make_console(), top=top, as_json=as_json))


if TYPE_CHECKING:
    from socialcrawl.crawls.base import ReportRequest
    from socialcrawl.storage.database.address import DatabaseAddress


WithTexts = Annotated[
    bool, typer.Option("--with-texts", help="With --html: also account names and post texts. Read the terms first.")
]
SubTopics = Annotated[
    list[str] | None, typer.Option(help="Samples: show the share of accounts that use this word. Repeatable.")
]


def report(
    place: Place = None,
    *,
    database: Database = None,
    campaign: CampaignName = None,
    png: Annotated[Path | None, typer.Option(help="Draw the curve, or posts per day: .png, .svg or .pdf.")] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write the report as one HTML page, with charts, to this file. Counts and ids only."),
    ] = None,
    with_texts: WithTexts = False,
    top: Annotated[int, typer.Option(min=1, help="Number of accounts to list.")] = 15,
    usage: Annotated[
        Path | None,
        typer.Option(help="Campaign file: show what X has billed beside the ledger (sends a request to X)."),
    ] = None,
    sub: SubTopics = None,
    as_json: AsJson = False,
) -> None:
    """Show what a campaign found.

    It shows posts and accounts on topic, cost, and whether steering beat chance.
    """
    from socialcrawl.campaign.settings import read  # noqa: PLC0415
    from socialcrawl.cli.databases import choose_database  # noqa: PLC0415
    from socialcrawl.crawls.base import ReportRequest  # noqa: PLC0415
    from socialcrawl.engine.clock import SystemClock  # noqa: PLC0415
    from socialcrawl.render.score_curve import find_format  # noqa: PLC0415

    if usage and (place or database or campaign):
        raise SettingsError("--usage names the campaign and its database: name no other, and remove --campaign.")
    if with_texts and html is None:
        raise SettingsError("--with-texts adds names and texts to a page: name the page with --html FILE.")
    if as_json and (usage or html):
        raise SettingsError("--usage and --html are for people: remove --json.")
    if png is not None:
        find_format(png)  # before anything is read
    settings = None if usage is None else read(usage)
    if settings is None:
        where, name, _ = choose_database(place, database, campaign)
    else:
        where, name = settings.database, settings.name
    wanted = ReportRequest(top, SystemClock().now(), sub or ())
    _show(where, name, png, html, wanted, with_texts=with_texts, as_json=as_json)
    if settings is not None:
        from socialcrawl.campaign.plan import make_plan  # noqa: PLC0415
        from socialcrawl.cli.commands.usage import compare  # noqa: PLC0415
        from socialcrawl.render.console import make_console  # noqa: PLC0415

        compare(make_plan(settings), make_console())


def _show(
    place: "DatabaseAddress",
    name: str | None,
    png: Path | None,
    html: Path | None,
    wanted: "ReportRequest",
    *,
    with_texts: bool,
    as_json: bool,
) -> None:
    from socialcrawl.cli.commands.sql import choose_campaign  # noqa: PLC0415
    from socialcrawl.platforms.registry import find_platform  # noqa: PLC0415
    from socialcrawl.render.campaign_report import collect_values, draw_picture, read_report, show  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415
    from socialcrawl.storage.database.health import open_readable  # noqa: PLC0415
    from socialcrawl.text.terminal import write_error  # noqa: PLC0415

    with open_readable(place) as connection:
        found = read_report(connection, choose_campaign(connection, name), wanted)
        if html is not None:
            from socialcrawl.render.html_report import make_page, write_page  # noqa: PLC0415

            write_page(html, make_page(connection, found, wanted.now or 0.0, with_texts=with_texts))
    if as_json:
        if png is not None:
            draw_picture(found, png)
        write_json(json.dumps(collect_values(found), ensure_ascii=False))
        return
    console = make_console()
    show(console, found, png)
    if html is not None:
        console.print(f"page: {html}", soft_wrap=True)
        if with_texts and (restricted := find_platform(found.found.platform).publishing):
            write_error(restricted)
