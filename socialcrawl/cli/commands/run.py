"""Running a campaign from the command line: signals, the view, the report at the end, the exit code."""

import json
import os
import shlex
from math import inf
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from socialcrawl.api.foreground_run import Ending, run_to_end
from socialcrawl.campaign.build import OpenCampaign
from socialcrawl.campaign.cost_outlook import compute_remaining_cost, read_progress
from socialcrawl.campaign.plan import Plan
from socialcrawl.campaign.run_preview import preview_run
from socialcrawl.campaign.settings import Settings
from socialcrawl.engine.model import format_time
from socialcrawl.forecast.shape import count_allowed
from socialcrawl.ratelimit.budget import format_dollars
from socialcrawl.render import run_effects
from socialcrawl.render.campaign_report import collect_values, show
from socialcrawl.render.console import Text
from socialcrawl.render.live_screen import CampaignView, LineView, ScreenView
from socialcrawl.text.terminal import flush, write_json
from socialcrawl.text.wording import format_span, pluralize, tidy

DAY = 86_400.0
DONE, FAILED, USAGE, STOPPED, INTERRUPTED = 0, 1, 2, 3, 130
CODES = {"done": DONE, "failed": FAILED, "budget": STOPPED, "room": STOPPED, "interrupted": INTERRUPTED}


def run_campaign(
    settings: Settings, console: Console, *, quiet: bool = False, change: bool = False, workers: int = 0
) -> Ending:
    """Run a campaign until it is done or stopped, watched on `console`.

    Args:
        settings: the campaign.
        console: where a person looks; plain lines where it is no terminal.
        quiet: whether to show nothing.
        change: whether a file is taken up that is another than its history rests on.
        workers: how many worker processes send its requests; 0: none.
    """
    view = CampaignView() if quiet else ScreenView(console) if console.is_terminal else LineView(console)

    def announce(campaign: OpenCampaign) -> None:
        if not quiet:
            console.print(_announce(campaign), soft_wrap=True)

    # A live picture says by itself that it stops.
    silent = quiet or console.is_terminal
    return run_to_end(settings, view, announce=announce, silent=silent, change=change, workers=workers)


def show_preview(plan: Plan, console: Console, *, change: bool, as_json: bool) -> None:
    """Show what a run would do; nothing is sent, and the database stays as it is.

    Raises:
        SettingsError, StoreError: see `preview_run`.
    """
    found = preview_run(plan, change=change)
    if as_json:
        write_json(json.dumps(run_effects.build_object(plan, found), ensure_ascii=False))
    else:
        run_effects.show(console, plan, found)


def find_exit_code(ending: Ending) -> int:
    """Return the exit code of a run."""
    return CODES.get(ending.state, STOPPED)


def show_ending(settings: Settings, console: Console, ending: Ending, *, as_json: bool, with_next: bool = True) -> None:
    """Show how a run ended, and what to look at next: a report for people, or one JSON object."""
    if as_json:
        write_json(json.dumps(build_object(ending)))
        return
    show(console, ending.report, _find_picture(settings))
    state = "done" if ending.state == "done" else "stopped"
    console.print(tidy(f"{state}: {ending.reason.why}"), soft_wrap=True)
    console.print(
        f"everything is in {settings.database}; query it with: "
        f"socialcrawl sql {shlex.quote(str(settings.database))} QUERY",
        soft_wrap=True,
    )
    if with_next and not ending.report.is_empty:
        words = shlex.join(_list_page_command(settings))
        said = f"next: {words}    writes a page for a browser: charts, and how it was collected"
        console.print(Text(said), soft_wrap=True)


def _list_page_command(settings: Settings) -> list[str]:
    """Return the words of the command that writes the report as a page, beside the database or in this folder."""
    path, page = settings.database, _find_picture(settings).with_suffix(".html")
    named = [] if isinstance(path, Path) and path.stem == settings.name else ["--campaign", settings.name]
    return ["socialcrawl", "report", str(path), *named, "--html", str(page)]


def _find_picture(settings: Settings) -> Path:
    """Return the file of the picture: beside the database, or in this folder where that is on a server."""
    path = settings.database
    if not isinstance(path, Path):
        return Path(f"{settings.name}.png")
    return path.with_name(f"{path.stem}.png" if path.stem == settings.name else f"{path.stem}-{settings.name}.png")


def build_object(ending: Ending) -> dict[str, Any]:
    """Return the figures of a run as plain values, for scripts."""
    return {
        "reason": ending.reason.why,
        "ended": ending.state,
        "until": None if ending.reason.until is None else format_time(ending.reason.until),
        **collect_values(ending.report),
    }


def exit_process(code: int) -> NoReturn:
    """End the process; threads that still wait for an abandoned request are not waited for."""
    flush()
    os._exit(code)


def _announce(campaign: OpenCampaign) -> str:
    settings = campaign.settings
    line = f"campaign {settings.name!r}: {campaign.plan.description}, into {settings.database}"
    if campaign.plan.billed:
        table = f"by the price table of {campaign.planner.policy.as_of}"
        spent = read_progress(campaign.plan)
        posts, bound = campaign.planner.budget.caps.posts, compute_remaining_cost(campaign.plan, spent)
        more = f"after {format_dollars(spent.money)} it can still cost" if spent.money else "it can cost"
        if bound == inf and posts is not None:
            most = format_dollars(campaign.planner.policy.compute_price("post", posts))
            line += f"\nits posts can cost at most {most} {table}; profiles that are looked up come on top"
        elif bound == inf:
            line += f"\nwhat it can cost {table} is not bounded: set steps under [crawl], or max_money under [budget]"
        else:
            line += f"\n{more} at most {format_dollars(round(bound))} {table}"
        if not campaign.plan.shape.tests:
            daily = count_allowed(campaign.plan.shape, campaign.plan.timeline, DAY)
            line += f"\nthe windows allow {pluralize(daily, 'timeline')} a day"
    lasting = campaign.planner.budget.caps.seconds
    if lasting is not None and not campaign.plan.shape.tests:
        n = count_allowed(campaign.plan.shape, campaign.plan.timeline, lasting)
        line += f"\nin its {format_span(lasting)} the windows allow n = k T / d = {pluralize(n, 'timeline')}"
    return line
