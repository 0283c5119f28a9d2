"""`socialcrawl report --usage`: our ledger beside X's own count of the posts that it has billed, day by day."""

from datetime import date, timedelta

from rich.console import Console
from rich.table import Table

from socialcrawl.campaign.plan import Plan
from socialcrawl.cli.single_requests import find_admitted, find_meters, open_wire
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import Grant, ReplyKind, format_time
from socialcrawl.errors import SourceError
from socialcrawl.platforms.server_info import Usage
from socialcrawl.render.console import Text
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.queries.summary import summarize_campaign
from socialcrawl.text.wording import pluralize

LONGEST = 90  # days that X tells of


def compare(plan: Plan, console: Console) -> None:
    """Ask X once how many posts it has billed, and show it beside the ledger of a campaign.

    Raises:
        SettingsError: a token is missing, or none is the bearer token of an app.
        SourceError: X did not tell.
        StoreError: the campaign has not begun, or another process uses its token.
    """
    settings, clock = plan.settings, SystemClock()
    with open_readable(settings.database) as connection:
        found = summarize_campaign(connection, settings.name, 1)
    ours = {day: posts for day, posts, _ in found.billed_posts}
    today = date.fromisoformat(format_time(clock.now())[:10])
    first = min([today, *map(date.fromisoformat, ours)])
    days = min(LONGEST, (today - first).days + 1)
    usage = _ask(plan, days, clock)
    console.print(_make_table(ours, usage, [(today - timedelta(back)).isoformat() for back in reversed(range(days))]))
    console.print(Text("\n".join(_list_sentences(ours, usage, days))))


def _ask(plan: Plan, days: int, clock: SystemClock) -> Usage:
    meters = find_meters(plan)
    with open_wire(plan, clock.now) as (allowed, wire):
        name = find_admitted(allowed, plan.policy, meters.usage).name
        reply, body = meters.ask(wire, Grant(meters.make_usage_request((-1, 0), days), name, clock.now()))
    if reply.kind != ReplyKind.OK:
        raise SourceError(f"{plan.platform.title} did not return what it has billed: {reply.why}.")
    return meters.parse_usage(body)


def _make_table(ours: dict[str, int], usage: Usage, days: list[str]) -> Table:
    table = Table(title="posts billed", title_justify="left", box=None, pad_edge=False)
    table.add_column("day (UTC)", no_wrap=True)
    for name in ("our ledger", "X", "X has more"):
        table.add_column(name, justify="right", no_wrap=True)
    rows = [(day, ours.get(day, 0), usage.by_day.get(day, 0)) for day in days]
    shown = [row for row in rows if row[1] or row[2]]
    for day, mine, theirs in [*shown, ("in all", sum(row[1] for row in rows), sum(row[2] for row in rows))]:
        table.add_row(day, f"{mine:,}", f"{theirs:,}", f"{theirs - mine:+,}" if theirs != mine else "0")
    return table


def _list_sentences(ours: dict[str, int], usage: Usage, days: int) -> list[str]:
    lines = [f"over {pluralize(days, 'day')}; days without posts are left out"]
    if usage.cap is not None:
        used = "" if usage.used is None else f"{usage.used:,} of "
        reset = "" if usage.reset_day is None else f"; the next cycle begins on day {usage.reset_day} of a month"
        lines.append(f"this billing cycle: {used}{pluralize(usage.cap, 'post')}{reset}")
    if any(usage.by_day.get(day, 0) != ours.get(day, 0) for day in {*ours, *usage.by_day}):
        lines.append(
            "They may differ: X counts all apps of the project, and bills a post only once a day without promising it; "
            "our ledger counts this campaign, by our clock, and what was never answered at its dearest."
        )
    return lines
