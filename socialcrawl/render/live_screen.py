"""A campaign under way, as a live picture on a terminal or as plain lines elsewhere."""

from collections import Counter
from collections.abc import Sequence
from math import ceil
from time import monotonic

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table

from socialcrawl.campaign.build import OpenCampaign
from socialcrawl.daemon.run_monitor import describe_reply
from socialcrawl.engine.model import STEPS, VISITS, Grant, Outcome, Reply, Wait
from socialcrawl.engine.protocols import Batch
from socialcrawl.forecast.spread import FEW, StepNeeds
from socialcrawl.ratelimit.budget import format_dollars
from socialcrawl.render.console import Text
from socialcrawl.system.loopback import is_loopback
from socialcrawl.text.wording import format_span, pluralize, tidy

EVERY = 5.0  # seconds between plain lines


class CampaignView:
    """Somebody who looks on and shows nothing; the views below show what it has seen."""

    def __init__(self) -> None:
        self.campaign: OpenCampaign | None = None
        self.wait: Wait | None = None
        self.needs = StepNeeds()  # requests of this run's steps
        self._asked: Counter[int] = Counter()  # requests by the pick that they serve, until it is learned from
        self._first: tuple[float, float] | None = None  # work and requests when this run's first steps were done
        self._began = monotonic()
        self._idle = 0.0  # seconds of waits that are over
        self._paused: float | None = None  # when the wait began that is not
        self.note = ""  # what a person should know although the run goes on

    def begin(self, campaign: OpenCampaign) -> None:
        """Show `campaign`, whose history was folded or is about to be."""
        self.campaign = campaign

    def end(self) -> None:
        """Show no more."""

    def sent(self, grant: Grant) -> None:
        """Note that a request left, which ends a wait."""
        self._asked[grant.request.key[0]] += 1
        self._idle, self._paused = monotonic() - self._began - self._work(), None

    def landed(self, grant: Grant, reply: Reply) -> None:
        """Note that a reply arrived; report one that refuses its credential."""
        self.wait = None
        self.note = describe_reply(grant, reply) or self.note

    def learned(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Note what the steps of a batch needed."""
        acts = {pick.n: pick.act for pick in batch}
        for outcome in outcomes:
            asked, act = self._asked.pop(outcome.n, 0), acts.get(outcome.n)
            if act in STEPS:
                self.needs.add(asked, read=outcome.posts > 0 or act not in VISITS)
        if self._first is None and self.needs.total:
            self._first = self._work(), self.needs.total

    def waits(self, wait: Wait) -> None:
        """Show that nothing can be sent for a while."""
        self.wait = wait
        self._paused = monotonic() if self._paused is None else self._paused

    def tell(self, text: str) -> None:
        """Show what a person should know."""
        self.note = text

    def remaining(self, campaign: OpenCampaign) -> tuple[float, float] | None:
        """Return the 95 % range of the seconds to the last step.

        It is by the pace of this run's requests between waits, or as the windows allow. None while that cannot be said:
        before enough steps were done, or where nobody knows how long windows last.
        """
        steps = campaign.settings.crawl.steps
        if steps is None:
            return None
        ahead = steps - campaign.crawl.taken
        if ahead <= 0:
            return 0.0, 0.0
        ends = self.needs.estimate_range(ahead, FEW)
        if ends is None or self._first is None or self.needs.total <= self._first[1]:
            return None
        work, asked = self._first
        each, now = (self._work() - work) / (self.needs.total - asked), campaign.clock.now()
        low, high = (campaign.planner.predict_done(campaign.plan.timeline, ceil(requests), now) for requests in ends)
        if low is None or high is None:
            return None
        return max(low - now, each * ends[0]), max(high - now, each * ends[1])

    def _work(self) -> float:
        """Return the seconds since the start in which nothing was waited for."""
        return (monotonic() if self._paused is None else self._paused) - self._began - self._idle

    def window(self, campaign: OpenCampaign) -> tuple[int, int, float | None]:
        """Return the timeline requests that may leave now, the k of all credentials, and seconds to the next window."""
        window_sets, now = campaign.planner.window_sets.find_usable(campaign.plan.timeline), campaign.clock.now()
        ends = [end for window_set in window_sets if (end := window_set.main.find_end(now)) is not None]
        until = min(ends) - now if ends else None
        return (
            sum(window_set.count_slots(now, now) for window_set in window_sets),
            sum(window_set.main.k for window_set in window_sets),
            until,
        )


class LineView(CampaignView):
    """Plain lines, one now and then: for pipes and logs."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console = console
        self._last = 0.0
        self._down: float | None = None  # since when the platform has not answered

    def learned(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Write a line if the last one is old."""
        super().learned(batch, outcomes)
        if self.campaign and monotonic() - self._last >= EVERY:
            self._last = monotonic()
            rest = _format_range(self.remaining(self.campaign))
            self._write(describe_progress(self.campaign) + (f"  to the end {rest}" if rest else ""))

    def landed(self, grant: Grant, reply: Reply) -> None:
        """Say when a credential is set aside, and when the platform answers again."""
        before = self.note
        super().landed(grant, reply)
        if self.note != before:
            self._write(self.note)
        if self.campaign is None:
            return
        outage = self.campaign.planner.outage
        if self._down is not None and outage is None:
            length = format_span(max(0.0, self.campaign.clock.now() - self._down))
            self._write(f"{self.campaign.plan.platform.title} answers again, after {length}")
        self._down = outage.since if outage else None

    def tell(self, text: str) -> None:
        """Write what a person should know."""
        super().tell(text)
        self._write(text)

    def waits(self, wait: Wait) -> None:
        """Say what is waited for, if it takes more than a moment."""
        super().waits(wait)
        length = wait.until - self.campaign.clock.now() if self.campaign else 0.0
        if self.campaign and length > 1.0:
            self._write(_describe_wait(self.campaign, wait))

    def _write(self, line: str) -> None:
        self.console.print(line, soft_wrap=True)
        self.console.file.flush()


class ScreenView(CampaignView):
    """A live panel on a terminal; it redraws itself twice a second."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.live = Live(self, console=console, refresh_per_second=2, transient=True)

    def begin(self, campaign: OpenCampaign) -> None:
        """Put the panel on the screen."""
        super().begin(campaign)
        self.live.start()

    def end(self) -> None:
        """Take it away; the report takes its place."""
        self.live.stop()

    def __rich__(self) -> Panel:
        campaign = self.campaign
        if campaign is None:
            return Panel("")
        left, k, until = self.window(campaign)
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", justify="right")
        table.add_column()
        for name, value in _describe_kind(campaign):
            table.add_row(name, value)
        table.add_row("spent", describe_spending(campaign))
        table.add_row(
            "window",
            f"{left:,} of {pluralize(k, 'request')} left" + (f", next in {format_span(until)}" if until else ""),
        )
        table.add_row("to the end", _format_range(self.remaining(campaign)) or "-")
        note = [Text(self.note, style="red")] if self.note else []
        return Panel(Group(table, *note, self._status(campaign)), title=Text(f"socialcrawl: {campaign.settings.name}"))

    def _status(self, campaign: OpenCampaign) -> Text:
        if campaign.clock.interrupted():
            return Text("stopping: waiting for what is in flight", style="yellow")
        if self.wait is None and campaign.planner.outage is None:
            return Text("asking", style="green")
        return Text(_describe_wait(campaign, self.wait), style="red" if campaign.planner.outage else "yellow")


def _format_range(ends: tuple[float, float] | None) -> str:
    """Return a range of times in words; nothing where there is none."""
    low, high = ("", "") if ends is None else map(format_span, ends)
    return low if low == high else f"{low} to {high}"


def _describe_wait(campaign: OpenCampaign, wait: Wait | None) -> str:
    """Return what a campaign waits for, and for how long; None: for the reply of a platform that is down."""
    now, outage = campaign.clock.now(), campaign.planner.outage
    length = "" if wait is None else format_span(max(0.0, wait.until - now))
    if outage is not None:
        since = format_span(max(0.0, now - outage.since))
        after = f"next try in {length}" if length else "trying"
        return tidy(f"{campaign.plan.platform.title} has not answered for {since}: {outage.why}; {after}")
    return tidy(f"waiting {length}: {wait.why}") if wait else ""


def describe_progress(campaign: OpenCampaign) -> str:
    """Return one line that says how far a campaign is."""
    crawl = campaign.crawl
    progress = campaign.plan.kind.describe_progress(crawl)
    steps = _format_steps(crawl.taken, campaign.settings.crawl.steps)
    return f"{progress.done} {steps}  {progress.found}  {describe_spending(campaign)}  {progress.ahead}"


def _describe_kind(campaign: OpenCampaign) -> list[tuple[str, Table | str]]:
    """Return how far a campaign is and what it has found, in the words of its kind."""
    progress = campaign.plan.kind.describe_progress(campaign.crawl)
    return [(progress.done, _make_bar(campaign.crawl.taken, campaign.settings.crawl.steps)), *progress.rows]


def describe_spending(campaign: OpenCampaign) -> str:
    """Say what a campaign has spent, each kind of it beside its budget, and what is reserved for requests in flight."""
    budget, caps = campaign.planner.budget, campaign.planner.budget.caps
    (posts, money), (in_flight, dearest) = budget.spent, budget.reserved
    parts = [f"posts {_format_part(posts, caps.posts)}" + (f" (+{in_flight:,} reserved)" if in_flight else "")]
    parts.append(f"requests {_format_part(budget.requests, caps.requests)}")
    if campaign.settings.budget.max_nodes is not None:
        asked = len(campaign.crawl.seeds.asked) + campaign.crawl.taken
        parts.append(f"accounts {_format_part(asked, campaign.settings.budget.max_nodes)}")
    if campaign.plan.billed or caps.money is not None:
        more = f" (+{format_dollars(dearest)} reserved)" if dearest else ""
        spent = format_dollars(money) + (f" of {format_dollars(caps.money)}" if caps.money is not None else "") + more
        unpaid = not campaign.plan.billed and is_loopback(campaign.plan.base)
        parts.append(f"nothing paid (test server); counted: {spent}" if unpaid else spent)
    if caps.seconds is not None and budget.began is not None:
        parts.append(f"{format_span(max(0.0, campaign.clock.now() - budget.began))} of {format_span(caps.seconds)}")
    return "  ".join(parts)


def _format_steps(done: int, limit: int | None) -> str:
    """Return the steps done and their limit; a run may be limited to fewer than were done before it."""
    if limit is None or done <= limit:
        return _format_part(done, limit)
    return f"{done:,} (limit {limit:,})"


def _format_part(spent: int, cap: int | None) -> str:
    return f"{spent:,}" + (f" of {cap:,}" if cap is not None else "")


def _make_bar(done: int, total: int | None) -> Table | str:
    if total is None:
        return f"{done:,}"
    grid = Table.grid(padding=(0, 1))
    grid.add_row(ProgressBar(total=total, completed=done, width=30), _format_steps(done, total))
    return grid
