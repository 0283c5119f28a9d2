"""The command that tells what a campaign has found: `report`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from socialcrawl.cli.options import Database, refuse_arguments
from socialcrawl.errors import SettingsError

if TYPE_CHECKING:
    from socialcrawl.storage.database.address import DatabaseAddress


def report(
    context: typer.Context,
    *,
    database: Database = None,
    campaign: Annotated[str | None, typer.Option(help="Name of the campaign. Default: the newest.")] = None,
    png: Annotated[Path | None, typer.Option(help="Write the score curve to this file: .png, .svg or .pdf.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of accounts to list.")] = 15,
    usage: Annotated[
        Path | None, typer.Option(help="Campaign file: show what X has billed beside the ledger (asks X).")
    ] = None,
    sub: Annotated[
        list[str] | None, typer.Option(help="Samples: show the share of accounts that use this word. Repeatable.")
    ] = None,
) -> None:
    """Show what a campaign found: accounts, requests, cost, and what steering gained."""
    from socialcrawl.campaign.settings import read  # noqa: PLC0415
    from socialcrawl.cli.commands.sql import find_database as chosen  # noqa: PLC0415
    from socialcrawl.cli.render.score_curve import find_format  # noqa: PLC0415

    refuse_arguments(context)
    if usage and (database or campaign):
        raise SettingsError("--usage names the campaign and its database: remove --db and --campaign.")
    if png is not None:
        find_format(png)  # before anything is read
    settings = None if usage is None else read(usage)
    place, name = (chosen(database), campaign) if settings is None else (settings.database, settings.name)
    _show(place, name, png, top, sub or ())
    if settings is not None:
        from socialcrawl.campaign.plan import make_plan  # noqa: PLC0415
        from socialcrawl.cli.commands.usage import compare  # noqa: PLC0415
        from socialcrawl.cli.render.console import make_console  # noqa: PLC0415

        compare(make_plan(settings), make_console())


def _show(place: "DatabaseAddress", name: str | None, png: Path | None, top: int, sub: Sequence[str]) -> None:
    from socialcrawl.campaign.policies import load_policy  # noqa: PLC0415
    from socialcrawl.cli.commands.report import show  # noqa: PLC0415
    from socialcrawl.cli.commands.sql import choose_campaign  # noqa: PLC0415
    from socialcrawl.cli.render.console import make_console  # noqa: PLC0415
    from socialcrawl.crawls.base import ReportRequest  # noqa: PLC0415
    from socialcrawl.crawls.collect.explain import list_unread_seeds  # noqa: PLC0415
    from socialcrawl.crawls.collect.steering import measure_steering  # noqa: PLC0415
    from socialcrawl.crawls.reporting import report as told_of  # noqa: PLC0415
    from socialcrawl.engine.clock import SystemClock  # noqa: PLC0415
    from socialcrawl.storage.database.health import open_readable  # noqa: PLC0415
    from socialcrawl.storage.queries.judgement import judge_shadows  # noqa: PLC0415
    from socialcrawl.storage.queries.statistics import sum_spending  # noqa: PLC0415
    from socialcrawl.storage.queries.summary import summarize_campaign  # noqa: PLC0415
    from socialcrawl.storage.queries.traces import CampaignTraces  # noqa: PLC0415
    from socialcrawl.system.loopback import is_loopback  # noqa: PLC0415

    with open_readable(place) as connection:
        name = choose_campaign(connection, name)
        found = summarize_campaign(connection, name, top)
        spent, guessed = sum_spending(connection, found.name), judge_shadows(connection, found.name)
        traces, now = CampaignTraces(connection), SystemClock().now()
        missing, details = (
            list_unread_seeds(traces, found.name),
            told_of(traces, found.name, ReportRequest(top, now, sub)),
        )
        gained = measure_steering(traces, found.name)
    show(
        make_console(),
        found,
        png,
        billed=load_policy(found.platform).is_billed and not is_loopback(found.base_url),
        spending=spent,
        unread=missing,
        judgement=guessed,
        known=details,
        gained=gained,
    )
