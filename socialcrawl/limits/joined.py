"""A lane that several campaigns use: one set of windows, joined by campaigns with what their ledgers tell of it. Pure.

Until the first good answer came to anybody, a lane keeps a tape of what was done in it, so that the past of a campaign
that joins can be lived through together with that of the others, in the order of time. Later the windows know better
than any ledger: what a ledger adds is inserted, and the next request flies alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import merge
from math import inf
from typing import NamedTuple

from socialcrawl.limits.lane import Lane
from socialcrawl.limits.offset import Offset
from socialcrawl.limits.policy import Rule
from socialcrawl.limits.received import LAG
from socialcrawl.limits.share import Claimant, Shares
from socialcrawl.model import USEFUL, Reply


class Step(NamedTuple):
    """Something that was done in a lane at `at` about the request that left at `sent`.

    `landed` is by when that was received, where the step tells; `act` does the same to another lane.
    """

    at: float
    sent: float
    landed: float | None
    act: Callable[[Lane], None]


class TapedLane(Lane):
    """A lane with a tape of what was done in it; None: nobody needs it any more."""

    def __init__(self, credential: str, endpoint: str, rules: Sequence[Rule], offset: Offset) -> None:
        super().__init__(credential, endpoint, rules, offset)
        self.tape: list[Step] | None = []

    def take(self, now: float) -> None:
        """Count a request that leaves at `now` in every window."""
        self._note(now, now, None, lambda lane: Lane.take(lane, now))
        super().take(now)

    def learn(self, sent: float, reply: Reply) -> None:
        """Take in the reply to the request that left at `sent`."""
        if self.tape is not None:
            slim = replace(reply, rows=None, received=None)
            self._note(reply.at, sent, reply.at, lambda lane: Lane.learn(lane, sent, slim))
        super().learn(sent, reply)

    def close(self, until: float, *, over: bool = False, daily: bool = False) -> None:
        """Send nothing before `until`, see `Lane.close`."""
        at, sent = (self.tape[-1].at, self.tape[-1].sent) if self.tape else (-inf, -inf)
        self._note(at, sent, None, lambda lane: Lane.close(lane, until, over=over, daily=daily))
        super().close(until, over=over, daily=daily)

    def abandon(self, sent: float) -> None:
        """Note that nobody waits for the reply to the request that left at `sent`."""
        self._note(sent + LAG, sent, sent + LAG, lambda lane: Lane.abandon(lane, sent))
        super().abandon(sent)

    def _note(self, at: float, sent: float, landed: float | None, act: Callable[[Lane], None]) -> None:
        if self.tape is not None:
            self.tape.append(Step(at, sent, landed, act))


class TapedOffset(Offset):
    """The server's clock, with a tape of the dates that were heard; None: nobody needs it any more."""

    def __init__(self) -> None:
        super().__init__()
        self.tape: list[tuple[float, float, float]] | None = []  # when a reply came, when its request left, its date

    def learn(self, sent: float, at: float, date: float | None) -> None:
        """Take in the date of a reply."""
        if self.tape is not None and date is not None:
            self.tape.append((at, sent, date))
        super().learn(sent, at, date)

    def forget(self) -> None:
        """Know nothing any more."""
        super().forget()
        if self.tape is not None:
            self.tape = []

    def adopt(self, past: "TapedOffset") -> None:
        """Take in what a ledger tells, where no reply has told better."""
        if self.tape is None or not past.tape:
            return
        dates = list(merge(self.tape, past.tape))
        super().forget()
        self.tape = []
        for at, sent, date in dates:
            self.learn(sent, at, date)

    def shift(self, delta: float) -> None:
        """Note that our clock was set, `delta` seconds ahead."""
        super().shift(delta)
        self.tape = None


class JoinedLane(TapedLane):
    """The windows of one token on one endpoint, and the shares that campaigns have in them."""

    def __init__(self, mark: str, endpoint: str, rules: Sequence[Rule], offset: Offset) -> None:
        super().__init__(mark, endpoint, rules, offset)
        self.shares = Shares()
        self.known: dict[str, float] = {}  # by campaign, when the latest request left that is counted

    def adopt(self, campaign: str, past: TapedLane) -> None:
        """Count what the ledger of a campaign tells and was not counted yet; nothing in flight is forgotten."""
        known = self.known.get(campaign)
        steps = [step for step in past.tape or () if known is None or step.sent > known]
        if steps:
            self.known[campaign] = max(step.sent for step in steps)
        elif self.tape != []:
            return
        if self.tape is None:
            self._insert(steps)
        else:
            self._live_through(list(merge(self.tape, steps, key=lambda step: step.at)))
        self.probe()

    def doubt(self) -> None:
        """Note that the instants of the past are not to be trusted; lived through again, they would seem to be."""
        super().doubt()
        self.heard()

    def heard(self) -> None:
        """Note that the windows know better than any ledger from now on."""
        self.tape = None

    def succeed(self, old: "JoinedLane") -> None:
        """Take over what counts in a lane of other rules that nobody uses any more."""
        longest = max(old.windows, key=lambda one: one.d)
        count = longest.received
        for one in self.windows:
            one.close(max(other.closed_until for other in old.windows))
            for at, many, left in zip(count.times, count.counts, count.lefts, strict=True):
                one.received.add(at, many, left)
        self.known, self.tape = dict(old.known), None
        self.probe()

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set, with nothing in flight."""
        super().shift(delta)
        self.shares.shift(delta)
        self.tape = None

    def _live_through(self, steps: list[Step]) -> None:
        self.clear()
        for step in steps:
            step.act(self)
        self.tape = steps

    def _insert(self, steps: list[Step]) -> None:
        landed = [(step.sent, step.landed) for step in steps if step.landed is not None]
        latest = max((at for _, at in landed), default=-inf)
        for one in self.windows:
            since = max(latest, *one.received.times[-1:]) - one.d if landed else inf
            fresh = [(sent, at) for sent, at in landed if at > since]
            for sent, at in fresh:
                one.insert(sent, at)
            if fresh:
                one.doubt()


class Part(Lane):
    """A lane as one of its campaigns sees it: the windows are everybody's, of their slots it has a share."""

    def __init__(self, credential: str, campaign: str, whole: JoinedLane, member: Claimant) -> None:
        self.credential, self.campaign, self.whole = credential, campaign, whole
        self.endpoint, self.offset, self.aligned = whole.endpoint, whole.offset, whole.aligned
        self.rules, self.windows, self.daily = whole.rules, whole.windows, whole.daily
        self.shut = -inf  # others may open it at any time
        self.flying: list[float] = []  # when each request of this campaign that is in flight left
        whole.shares.members[campaign] = member

    def when(self, now: float) -> float:
        """The earliest instant at which a request of the campaign may leave; `now` if at once."""
        when = self.whole.when(now)
        return when if when > now else self.whole.shares.until(self.campaign, self.main, now)[0]

    def free(self, now: float) -> bool:
        """Whether a request of the campaign may leave at `now`, which it wants."""
        self.whole.shares.ask(self.campaign, now)
        return self.whole.free(now) and self.whole.shares.until(self.campaign, self.main, now)[0] <= now

    def take(self, now: float) -> None:
        """Count a request of the campaign that leaves at `now`."""
        self.whole.shares.take(self.campaign, self.main, now)
        self.whole.known[self.campaign] = max(now, self.whole.known.get(self.campaign, now))
        self.whole.take(now)
        self.flying.append(now)

    def learn(self, sent: float, reply: Reply) -> None:
        """Take in the reply to the request of the campaign that left at `sent`."""
        if sent in self.flying:
            self.flying.remove(sent)
        self.whole.learn(sent, reply)
        if reply.kind in USEFUL or reply.limits:
            self.whole.heard()

    def close(self, until: float, *, over: bool = False, daily: bool = False) -> None:
        """Send nothing before `until`, whichever campaign it is."""
        self.whole.close(until, over=over, daily=daily)

    def abandon(self, sent: float) -> None:
        """Note that nobody waits for the reply to the request of the campaign that left at `sent`."""
        if sent in self.flying:
            self.flying.remove(sent)
            self.whole.abandon(sent)

    def sound(self) -> None:
        """Forget what the campaign had in flight: the next request finds out."""
        for sent in tuple(self.flying):
            self.abandon(sent)
        self.probe()

    def probe(self) -> None:
        """Let the next request, whose ever it is, find out how the windows stand."""
        self.whole.probe()

    def shift(self, delta: float) -> None:
        """Do nothing: the windows are moved once for all."""

    def leave(self) -> None:
        """Let go of the lane."""
        if self.flying:
            self.sound()
        self.whole.shares.leave(self.campaign)

    def why(self, now: float) -> str:
        """What a request of the campaign that may not leave at `now` waits for."""
        if self.whole.when(now) > now:
            return super().why(now)
        kept = self.whole.shares.until(self.campaign, self.main, now)[1]
        others = "1 request is" if kept == 1 else f"{kept:,} requests are"
        return f"its share of the window is used; {others} kept for other campaigns"
