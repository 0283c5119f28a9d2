"""The commands that ask a database: `sql`, `explore`, `explain`. They read; they change nothing."""

from typing import Annotated

import typer

from socialcrawl.cli.options import AllowHost, Database, Nothing, refuse_argument, refuse_file

Timeout = Annotated[str, typer.Option(help="How long the database may work on a query: 30s, 5m.")]


def sql(
    query: Annotated[str, typer.Argument(help="A SELECT; docs/schema.md has the tables, views and examples.")],
    *,
    database: Database = None,
    style: Annotated[str, typer.Option("--format", help="table, csv or json.")] = "table",
    timeout: Timeout = "30s",
    limit: Annotated[
        int | None, typer.Option(min=0, help="The most rows to show; default: all, in a table 10,000.")
    ] = None,
    safe_csv: Annotated[
        bool,
        typer.Option("--safe-csv", help="CSV for spreadsheets: an apostrophe before texts that look like formulas."),
    ] = False,
    allow_superuser: Annotated[
        bool,
        typer.Option(
            "--allow-superuser",
            help="PostgreSQL: run the query although the role can read or write files of the server.",
        ),
    ] = False,
) -> None:
    """Ask the database; it cannot be changed this way."""
    from socialcrawl.cli.commands import sql as asking  # noqa: PLC0415
    from socialcrawl.text.wording import seconds  # noqa: PLC0415

    refuse_file(query, "a query")
    place, allowed = asking.database(database), seconds(timeout)
    asking.answer(place, query, style, allowed, limit, allow_superuser=allow_superuser, safe_csv=safe_csv)


def explore(
    nothing: Nothing = None,
    *,
    database: Database = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes a free one.")] = 8001,
    timeout: Timeout = "10s",
    allow_host: AllowHost = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
) -> None:
    """Open the database in a browser, read-only, with views and example questions, until Ctrl-C."""
    from socialcrawl.cli.commands.explore import explore as show  # noqa: PLC0415
    from socialcrawl.cli.commands.sql import database as chosen  # noqa: PLC0415
    from socialcrawl.text.wording import seconds  # noqa: PLC0415

    refuse_argument("explore", nothing)
    hosts = allow_host or []
    raise typer.Exit(show(chosen(database), port, seconds(timeout), browser=not no_open, allow_hosts=hosts))


def explain(
    user: Annotated[str, typer.Argument(help="A username, with or without @, the platform's id, or a page.")],
    database: Database = None,
    campaign: Annotated[str | None, typer.Option(help="Name of the campaign; default: the newest.")] = None,
    top: Annotated[int, typer.Option(min=0, help="How many of the links that led to it are listed.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Say why an account was or was not asked: score, features, weights, rank, and the links that led to it."""
    from socialcrawl.cli.commands.explain import explained  # noqa: PLC0415
    from socialcrawl.cli.commands.sql import database as chosen  # noqa: PLC0415
    from socialcrawl.cli.render.console import plain  # noqa: PLC0415

    refuse_file(user, "an account")
    raise typer.Exit(explained(chosen(database), user, campaign, plain(), top=top, as_json=as_json))
