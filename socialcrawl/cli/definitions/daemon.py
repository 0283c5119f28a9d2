"""The commands of campaigns that run for weeks: daemon, status, pause, resume, stop."""

from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.options import AllowHost, AsJson, Files, OneDatabase

Names = Annotated[list[str] | None, typer.Option("--campaign", help="With --db: its name; may be repeated.")]


def daemon(
    folder: Annotated[Path, typer.Argument(help="The folder of campaign files (*.toml), or one file.")],
    *,
    log: Annotated[str, typer.Option(help="json (a line an event) or people.")] = "people",
    health: Annotated[
        str | None, typer.Option(help="Where to serve /healthz and /metrics: HOST:PORT, such as 127.0.0.1:9464.")
    ] = None,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines read these pages; see --health.")
    ] = False,
    allow_host: AllowHost = None,
    workers: Annotated[int, typer.Option(min=1, help="Campaigns that work at the same time, at most.")] = 32,
    stall: Annotated[str, typer.Option(help="How long nothing may move that was due, before it is told.")] = "30m",
) -> None:
    """Run every campaign of a folder, each by its schedule, until told to stop; edited files are taken in."""
    from socialcrawl.cli.commands.daemon import Wanted, operate  # noqa: PLC0415
    from socialcrawl.cli.commands.run import leave  # noqa: PLC0415
    from socialcrawl.text.wording import seconds  # noqa: PLC0415

    if health is None and (allow_remote or allow_host):
        raise typer.BadParameter("--allow-remote and --allow-host are about the health page: add --health HOST:PORT.")
    leave(operate(Wanted(folder, log, health, allow_remote, allow_host or [], workers, seconds(stall))))


def status(
    files: Files = None, database: OneDatabase = None, campaign: Names = None, *, as_json: AsJson = False
) -> None:
    """Show how campaigns stand: which daemon runs them, what they do or wait for, and until when."""
    from socialcrawl.cli.commands.status import find_campaigns, show_status  # noqa: PLC0415
    from socialcrawl.cli.render.console import plain  # noqa: PLC0415

    raise typer.Exit(show_status(find_campaigns(files or [], database, campaign or []), plain(), as_json=as_json))


def pause(files: Files = None, database: OneDatabase = None, campaign: Names = None) -> None:
    """Let daemons run campaigns no more, until `resume`; what is in flight lands, and all is saved."""
    from socialcrawl.cli.commands.status import find_campaigns, set_paused  # noqa: PLC0415
    from socialcrawl.cli.render.console import plain  # noqa: PLC0415

    raise typer.Exit(set_paused(find_campaigns(files or [], database, campaign or []), plain(), again=False))


def resume(files: Files = None, database: OneDatabase = None, campaign: Names = None) -> None:
    """Let daemons run campaigns again that were paused."""
    from socialcrawl.cli.commands.status import find_campaigns, set_paused  # noqa: PLC0415
    from socialcrawl.cli.render.console import plain  # noqa: PLC0415

    raise typer.Exit(set_paused(find_campaigns(files or [], database, campaign or []), plain(), again=True))


def stop(files: Files = None, database: OneDatabase = None) -> None:
    """Ask the daemons that run these campaigns to stop, as SIGTERM does; they leave within ten seconds."""
    from socialcrawl.cli.commands.status import find_campaigns, stop_daemons  # noqa: PLC0415
    from socialcrawl.cli.render.console import plain  # noqa: PLC0415

    raise typer.Exit(stop_daemons(find_campaigns(files or [], database, []), plain()))
