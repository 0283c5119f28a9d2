"""The demo of a capture: posts are counted, half of them bought, the rest bought by a second run, and all compared."""

import shlex
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any

from rich.console import Console

from socialcrawl.api.foreground_run import Ending
from socialcrawl.campaign.cost_outlook import make_campaign_quote, read_progress
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import Settings
from socialcrawl.cli.commands.demo_kinds import DemoOptions, KindDemo
from socialcrawl.cli.commands.run import run_campaign
from socialcrawl.cli.post_counts import count_posts, count_searches_left
from socialcrawl.crawls.facts import CAPTURE
from socialcrawl.engine.model import MILLS_PER_DOLLAR, StopKind
from socialcrawl.engine.time_spans import write_span
from socialcrawl.lab.post_table import read_posts
from socialcrawl.ratelimit.budget import format_dollars
from socialcrawl.render.capture_report import describe
from socialcrawl.render.console import Text
from socialcrawl.text.wording import pluralize, round_up, tidy

PARTS = 48  # into which the span of time is cut: X allows one search of its archive per second
LEAST = MILLS_PER_DOLLAR  # a capture that costs less is not stopped half-way
DAY, EDGE = 86_400, 10  # seconds: the span begins at a midnight, and ends at a round time right after the last post


@dataclass(frozen=True, slots=True)
class FirstRun:
    """What was known when the first budget ended.

    Attributes:
        why: why the run ended.
        max_money: its budget, dollars.
        dollars: what it cost.
        posts: how many posts were returned.
        share: of the time, the part that was complete, 0 to 1.
        estimate: how many posts there are in all, with the 95 % interval; None: not enough data.
    """

    why: str
    max_money: float
    dollars: float
    posts: int
    share: float
    estimate: dict[str, float] | None


class CaptureDemo(KindDemo):
    """A capture that is quoted, stopped by a budget, and continued with a higher one."""

    facts = CAPTURE
    topic = "every post that matches"
    tutorial = Path("docs/tutorial/capture.md")
    page = "posts per day, their texts"
    query = "select begins_at, ends_at, posts, state from captured_slice order by begins_at limit 9"
    unused = (
        *("seeds", "seed_count", "steps", "max_money", "pages_per_user", "read"),
        *("estimator", "switch_after", "refresh_rate", "control"),
    )

    def __init__(self, wanted: DemoOptions, posts: Path, keyword: str) -> None:
        super().__init__(wanted, posts, keyword)
        self.quoted: tuple[int, float] | None = None  # posts and mills
        self.first: FirstRun | None = None
        self.days: dict[str, int] = {}

    @property
    def is_invented(self) -> bool:
        """See `KindDemo.is_invented`."""
        return self.wanted.posts is None and self.wanted.database is None

    def make_sections(self) -> dict[str, Any]:
        """See `KindDemo.make_sections`."""
        at = read_posts(self.posts).created_at
        begin, end = int(at.min()) // DAY * DAY, -(-(int(at.max()) + 1) // EDGE) * EDGE
        span = dict(zip(("from", "until"), write_span(begin, end).split("/"), strict=True))
        return {self.facts.name: {**span, "order": "even", "parts": PARTS}, "crawl": {"refresh_rate": 1}}

    def run(self, settings: Settings, console: Console, *, quiet: bool) -> Ending:
        """Count the posts, run with half of what they cost, and then with all of it."""
        plan = make_plan(settings)
        spent = read_progress(plan).money
        matches = count_posts(plan) if count_searches_left(plan) else None
        price = make_campaign_quote(plan, matches).likely.money if matches is not None else 0.0
        if matches is not None:
            self.quoted = sum(matches), price
            counted = pluralize(sum(matches), "matching post")
            _say(console, f"X counts {counted}, which would cost {format_dollars(round(price))} in all", quiet=quiet)
        if price >= LEAST and not spent:
            half = round(price / 2 / MILLS_PER_DOLLAR, 2)
            ending = self._run_first(settings, half, console, quiet=quiet)
            if ending.state != StopKind.BUDGET:
                return ending
        enough = float(ceil((spent + price) * 1.1 / MILLS_PER_DOLLAR) + 1)
        _say(console, f"run with max_money = {format_dollars(round(enough * MILLS_PER_DOLLAR))}:", quiet=quiet)
        return run_campaign(_limit(settings, enough), console, quiet=quiet)

    def compare(self, settings: Settings, ending: Ending) -> Ending:
        """Keep the posts per day."""
        del settings
        self.days = {day.isoformat(): posts for day, posts in ending.report.found.on_topic.fill_days(10**6)[1]}
        return ending

    def collect_values(self) -> dict[str, Any]:
        """See `KindDemo.collect_values`."""
        quoted = None if self.quoted is None else (self.quoted[0], self.quoted[1] / MILLS_PER_DOLLAR)
        return {
            "quoted": None if quoted is None else dict(zip(("posts", "dollars"), quoted, strict=True)),
            "first_run": None if self.first is None else asdict(self.first),
            "posts_per_day": self.days,
        }

    def list_lines(self, settings: Settings, ending: Ending) -> list[str]:
        """See `KindDemo.list_lines`."""
        del settings
        found = ending.report.known
        lines = [
            f"{pluralize(found.posts, 'post was', 'posts were')} returned, and {ending.report.found.held:,} are stored"
        ]
        if self.quoted is not None:
            posts, money = self.quoted
            lines.append(f"the quote with counts: {pluralize(posts, 'post')}, {format_dollars(round(money))}")
        if self.first is not None and self.first.estimate is not None:
            value, low, high = (f"{round_up(self.first.estimate[end]):,.0f}" for end in ("value", "low", "high"))
            part = f"{100 * self.first.share:.0f} % of the time and {pluralize(self.first.posts, 'post')}"
            lines.append(f"the estimate after {part}: {value} posts ({low} to {high}, 95 % interval)")
        return lines

    def list_commands(self, settings: Settings, ending: Ending) -> list[str]:
        """See `KindDemo.list_commands`."""
        del ending
        return [f"socialcrawl report {shlex.quote(str(settings.database))}    which spans of time are complete"]

    def _run_first(self, settings: Settings, half: float, console: Console, *, quiet: bool) -> Ending:
        """Run with a budget that pays for about half of the posts, and say what is known then."""
        budget = format_dollars(round(half * MILLS_PER_DOLLAR))
        _say(console, f"run with max_money = {budget}, about half of that:", quiet=quiet)
        ending = run_campaign(_limit(settings, half), console, quiet=quiet)
        found, cost = ending.report.known, ending.report.found.cost / MILLS_PER_DOLLAR
        total = None if found.total is None else asdict(found.total)
        self.first = FirstRun(ending.reason.why, half, cost, found.posts, found.share, total)
        _say(console, "\n".join([tidy(f"stopped: {ending.reason.why}"), *describe(found)]), quiet=quiet)
        return ending


def _limit(settings: Settings, dollars: float) -> Settings:
    """Return the settings with a budget, as if the campaign file had been changed."""
    return settings.model_copy(update={"budget": settings.budget.model_copy(update={"max_money": dollars})})


def _say(console: Console, line: str, *, quiet: bool) -> None:
    if not quiet:
        console.print(Text(line), soft_wrap=True)
