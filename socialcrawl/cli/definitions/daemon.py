"""The commands of campaigns that run for weeks: daemon, status, pause, resume, stop."""

from math import isfinite
from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.choices import offer
from socialcrawl.cli.options import PLACE, AllowHost, AsJson, Files, OneDatabase, WorkerProcesses

AnyDatabases = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar=PLACE,
        help="Campaign file, database file, or postgresql://USER@HOST/NAME. Default: every *.db in this folder.",
    ),
]
Names = Annotated[list[str] | None, typer.Option("--campaign", help="Name of a campaign of the database. Repeatable.")]


def daemon(
    folder: Annotated[Path, typer.Argument(help="Folder of campaign files (*.toml), or one file.")],
    *,
    log: Annotated[str, typer.Option(help="One JSON object per event, or text.", **offer("people|json"))] = "people",
    health: Annotated[
        str | None, typer.Option(help="Serve /healthz and /metrics at HOST:PORT, such as 127.0.0.1:9464.")
    ] = None,
    ui: Annotated[
        str | None, typer.Option(help="Also serve the pages of `socialcrawl ui`, for a browser, at HOST:PORT.")
    ] = None,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines open these pages; see --health and --ui.")
    ] = False,
    allow_host: AllowHost = None,
    workers: Annotated[int, typer.Option("--jobs", min=1, help="Parallel campaigns: the maximum.")] = 32,
    stall: Annotated[str, typer.Option(help="Notify when a campaign makes no progress for this long.")] = "30m",
    log_file: Annotated[
        Path | None, typer.Option(help="Write the log to this file, of 1 MB at most, and an older one beside it.")
    ] = None,
    worker_processes: WorkerProcesses = 0,
    until_done: Annotated[
        bool, typer.Option("--until-done", help="Exit when every campaign is done or stopped, or run by others.")
    ] = False,
    weight: Annotated[
        float,
        typer.Option(
            min=0.0, help="Share of campaigns, relative to other daemons of a PostgreSQL database; 0: a spare daemon."
        ),
    ] = 1.0,
) -> None:
    """Run campaigns by their schedules.

    It runs all campaigns of a folder until it is stopped, and reloads edited files. Daemons on one PostgreSQL database
    share its campaigns.
    """
    from socialcrawl.cli.commands.daemon import DaemonOptions, operate  # noqa: PLC0415
    from socialcrawl.cli.commands.run import exit_process  # noqa: PLC0415
    from socialcrawl.text.wording import parse_seconds  # noqa: PLC0415

    if not isfinite(weight):
        raise typer.BadParameter("--weight is a number, such as 2.")
    if health is None and ui is None and (allow_remote or allow_host):
        raise typer.BadParameter(
            "--allow-remote and --allow-host are about pages: add --health HOST:PORT or --ui HOST:PORT."
        )
    pages = (health, allow_remote, allow_host or [])
    options = DaemonOptions(
        folder, log, *pages, workers, parse_seconds(stall), ui, log_file, until_done, worker_processes, weight
    )
    exit_process(operate(options))


def status(
    files: Files = None, database: AnyDatabases = None, campaign: Names = None, *, as_json: AsJson = False
) -> None:
    """Show the state of campaigns.

    It shows which daemon runs them, what they do or wait for, and until when.
    """
    from socialcrawl.cli.commands.status import find_campaigns, show_status  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    given = find_campaigns(files or [], database, campaign or [], reads=True)
    raise typer.Exit(show_status(given, make_console(), as_json=as_json))


def pause(files: Files = None, database: OneDatabase = None, campaign: Names = None) -> None:
    """Pause campaigns until `resume`.

    Requests in flight finish and everything is saved.
    """
    from socialcrawl.cli.commands.status import find_campaigns, set_paused  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    raise typer.Exit(set_paused(find_campaigns(files or [], database, campaign or []), make_console(), again=False))


def resume(files: Files = None, database: OneDatabase = None, campaign: Names = None) -> None:
    """Resume paused campaigns."""
    from socialcrawl.cli.commands.status import find_campaigns, set_paused  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    raise typer.Exit(set_paused(find_campaigns(files or [], database, campaign or []), make_console(), again=True))


def stop(files: Files = None, database: OneDatabase = None) -> None:
    """Stop daemons.

    It stops those that run these campaigns, as SIGTERM does, within ten seconds.
    """
    from socialcrawl.cli.commands.status import find_campaigns, stop_daemons  # noqa: PLC0415
    from socialcrawl.render.console import make_console  # noqa: PLC0415

    raise typer.Exit(stop_daemons(find_campaigns(files or [], database, []), make_console()))
