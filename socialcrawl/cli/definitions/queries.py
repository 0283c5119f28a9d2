"""The commands that ask a database: `sql`, `explore`, `explain`. They read; they change nothing."""

from typing import Annotated

import typer

from socialcrawl.cli.options import AllowHost, Database, refuse_arguments, refuse_file

Timeout = Annotated[str, typer.Option(help="Maximum time for a query: 30s, 5m.")]


def sql(
    query: Annotated[str, typer.Argument(help="A SELECT; docs/schema.md has the tables, views and examples.")],
    *,
    database: Database = None,
    style: Annotated[str, typer.Option("--format", help="table, csv or json.")] = "table",
    timeout: Timeout = "30s",
    limit: Annotated[
        int | None, typer.Option(min=0, help="Maximum number of rows. Default: all; in a table 10,000.")
    ] = None,
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv", help="CSV for spreadsheets: put an apostrophe before texts that look like formulas."
        ),
    ] = False,
    allow_superuser: Annotated[
        bool,
        typer.Option(
            "--allow-superuser",
            help="PostgreSQL: run the query even though the role can read or write files of the server.",
        ),
    ] = False,
) -> None:
    """Query the database with SQL, read-only."""
    from socialcrawl.cli.commands import sql as asking  # noqa: PLC0415
    from socialcrawl.text.wording import parse_seconds  # noqa: PLC0415

    refuse_file(query, "a query")
    place, allowed = asking.find_database(database), parse_seconds(timeout)
    asking.answer(place, query, style, allowed, limit, allow_superuser=allow_superuser, safe_csv=safe_csv)


def explore(
    context: typer.Context,
    *,
    database: Database = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine. 0: any free port.")] = 8001,
    timeout: Timeout = "10s",
    allow_host: AllowHost = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
) -> None:
    """Browse the database, read-only, with views and example queries, until Ctrl-C."""
    from socialcrawl.cli.commands.explore import explore as show  # noqa: PLC0415
    from socialcrawl.cli.commands.sql import find_database as chosen  # noqa: PLC0415
    from socialcrawl.text.wording import parse_seconds  # noqa: PLC0415

    refuse_arguments(context)
    hosts = allow_host or []
    raise typer.Exit(show(chosen(database), port, parse_seconds(timeout), browser=not no_open, allow_hosts=hosts))


def explain(
    user: Annotated[str, typer.Argument(help="Username (with or without @), platform id, or page.")],
    database: Database = None,
    campaign: Annotated[str | None, typer.Option(help="Name of the campaign. Default: the newest.")] = None,
    top: Annotated[int, typer.Option(min=0, help="Number of links to the account to list.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Explain why an account was or was not collected: score, features, weights, rank, links to it."""
    from socialcrawl.cli.commands.explain import explain_account  # noqa: PLC0415
    from socialcrawl.cli.commands.sql import find_database as chosen  # noqa: PLC0415
    from socialcrawl.cli.render.console import make_console  # noqa: PLC0415

    refuse_file(user, "an account")
    raise typer.Exit(explain_account(chosen(database), user, campaign, make_console(), top=top, as_json=as_json))
