"""`socialcrawl report --usage`: our ledger beside X's own count of the posts that it has billed, day by day."""

from datetime import date, timedelta

from rich.console import Console
from rich.table import Table

from socialcrawl.campaign.plan import Plan
from socialcrawl.cli.render.console import Text
from socialcrawl.cli.single_requests import find_admitted, open_meters
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import Grant, ReplyKind, format_time
from socialcrawl.errors import SourceError
from socialcrawl.platforms.x.meters import USAGE, Usage, make_usage_request, parse_usage
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.queries.summary import summarize_campaign
from socialcrawl.text.wording import pluralize

LONGEST = 90  # days that X tells of


def compare(meant: Plan, console: Console) -> None:
    """Ask X once how many posts it has billed, and show it beside the ledger of a campaign.

    Raises:
        SettingsError: a token is missing, or none is the bearer token of an app.
        SourceError: X did not tell.
        StoreError: the campaign has not begun, or another process uses its token.
    """
    settings, clock = meant.settings, SystemClock()
    with open_readable(settings.database) as connection:
        found = summarize_campaign(connection, settings.name, 1)
    ours = {day: posts for day, posts, _ in found.billed_posts}
    today = date.fromisoformat(format_time(clock.now())[:10])
    first = min([today, *map(date.fromisoformat, ours)])
    days = min(LONGEST, (today - first).days + 1)
    told = _ask(meant, days, clock)
    console.print(_make_table(ours, told, [(today - timedelta(back)).isoformat() for back in reversed(range(days))]))
    console.print(Text("\n".join(_list_sentences(ours, told, days))))


def _ask(meant: Plan, days: int, clock: SystemClock) -> Usage:
    with open_meters(meant, clock.now) as (allowed, wire):
        name = find_admitted(allowed, meant.policy, USAGE).name
        reply, body = wire.ask(Grant(make_usage_request((-1, 0), days, meant.policy), name, clock.now()))
    if reply.kind != ReplyKind.OK:
        raise SourceError(f"X did not tell what it has billed: {reply.why}.")
    return parse_usage(body)


def _make_table(ours: dict[str, int], told: Usage, days: list[str]) -> Table:
    table = Table(title="posts billed", title_justify="left", box=None, pad_edge=False)
    table.add_column("day (UTC)", no_wrap=True)
    for name in ("our ledger", "X", "X has more"):
        table.add_column(name, justify="right", no_wrap=True)
    rows = [(day, ours.get(day, 0), told.by_day.get(day, 0)) for day in days]
    shown = [row for row in rows if row[1] or row[2]]
    for day, mine, theirs in [*shown, ("in all", sum(row[1] for row in rows), sum(row[2] for row in rows))]:
        table.add_row(day, f"{mine:,}", f"{theirs:,}", f"{theirs - mine:+,}" if theirs != mine else "0")
    return table


def _list_sentences(ours: dict[str, int], told: Usage, days: int) -> list[str]:
    lines = [f"over {pluralize(days, 'day')}; days without posts are left out"]
    if told.cap is not None:
        used = "" if told.used is None else f"{told.used:,} of "
        reset = "" if told.reset_day is None else f"; the next cycle begins on day {told.reset_day} of a month"
        lines.append(f"this billing cycle: {used}{pluralize(told.cap, 'post')}{reset}")
    if any(told.by_day.get(day, 0) != ours.get(day, 0) for day in {*ours, *told.by_day}):
        lines.append(
            "They may differ: X counts all apps of the project, and bills a post only once a day without promising it; "
            "our ledger counts this campaign, by our clock, and what was never answered at its dearest."
        )
    return lines
