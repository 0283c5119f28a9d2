"""A lane that several campaigns use: one set of windows, joined by campaigns with what their ledgers tell of it. Pure.

Until the first good answer came to anybody, a lane keeps a tape of what was done in it, so that the past of a campaign
that joins can be lived through together with that of the others, in the order of time. Later the windows know better
than any ledger: what a ledger adds is inserted, and the next request flies alone.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from heapq import merge
from math import inf
from typing import NamedTuple

from socialcrawl.engine.model import USEFUL, Reply
from socialcrawl.ratelimit.clock_offset import Offset
from socialcrawl.ratelimit.lane import Lane, Some
from socialcrawl.ratelimit.policy import Rule
from socialcrawl.ratelimit.received import LAG
from socialcrawl.ratelimit.sharing import Claimant, Shares
from socialcrawl.text.wording import pluralize


class Step(NamedTuple):
    """Something that was done in a lane at `at` about the request that left at `sent`.

    `landed` is by when that was received, where the step tells; `act` does the same to another lane; `some` are the
    windows that count the request.
    """

    at: float
    sent: float
    landed: float | None
    act: Callable[[Lane], None]
    some: Some = None


class Told(NamedTuple):
    """A request that others than its ledger tell of; it left at `left` by the clock of whoever sent it."""

    left: float
    step: Step


class TapedLane(Lane):
    """A lane with a tape of what was done in it; None: nobody needs it any more."""

    def __init__(
        self, credential: str, endpoint: str, rules: Sequence[Rule], offset: Offset, heads: tuple[int, ...] = (0,)
    ) -> None:
        super().__init__(credential, endpoint, rules, offset, heads)
        self.tape: list[Step] | None = []

    def take(self, now: float, some: Some = None) -> None:
        """Count a request that leaves at `now` in every window, or in some."""
        self._note(now, now, None, lambda lane: Lane.take(lane, now, some), some)
        super().take(now, some)

    def learn(self, sent: float, reply: Reply, some: Some = None, place: int | None = 0) -> None:
        """Take in the reply to the request that left at `sent`."""
        if self.tape is not None:
            slim = replace(reply, rows=None, received=None)
            landed = reply.at if reply.reached else None
            self._note(reply.at, sent, landed, lambda lane: Lane.learn(lane, sent, slim, some, place), some)
        super().learn(sent, reply, some, place)

    def close(self, until: float, *, over: bool = False, daily: bool = False, place: int = 0) -> None:
        """Send nothing before `until`, see `Lane.close`."""
        at, sent = (self.tape[-1].at, self.tape[-1].sent) if self.tape else (-inf, -inf)
        self._note(at, sent, None, lambda lane: Lane.close(lane, until, over=over, daily=daily, place=place), None)
        super().close(until, over=over, daily=daily, place=place)

    def abandon(self, sent: float, some: Some = None) -> None:
        """Note that nobody waits for the reply to the request that left at `sent`."""
        self._note(sent + LAG, sent, sent + LAG, lambda lane: Lane.abandon(lane, sent, some), some)
        super().abandon(sent, some)

    def _note(self, at: float, sent: float, landed: float | None, act: Callable[[Lane], None], some: Some) -> None:
        if self.tape is not None:
            self.tape.append(Step(at, sent, landed, act, some))


class TapedOffset(Offset):
    """The server's clock, with a tape of the dates that were heard; None: nobody needs it any more.

    `hosts` are the clocks of other servers that are asked with the same token, or none, by their names.
    """

    def __init__(self) -> None:
        super().__init__()
        self.hosts: dict[str, TapedOffset] = {}
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
        for clock in self.hosts.values():
            clock.shift(delta)


class JoinedLane(TapedLane):
    """The windows of one token on one endpoint (or several), and the shares that campaigns have in them."""

    def __init__(
        self, mark: str, endpoint: str, rules: Sequence[Rule], offset: Offset, heads: tuple[int, ...] = (0,)
    ) -> None:
        super().__init__(mark, endpoint, rules, offset, heads)
        self.members: dict[str, Claimant] = {}
        self.shares = {place: Shares(self.members) for place in heads}  # by the place of the window
        self.known: dict[str, float] = {}  # by ledger, when the latest request left that is counted
        self.ahead: dict[str, set[float]] = {}  # by ledger, when others left that are, by a clock ahead of ours
        self.told: dict[str, list[Told]] = {}  # by ledger, what was counted before that was folded

    def adopt(self, ledger: str, past: TapedLane, ahead: Collection[float] = ()) -> None:
        """Count what a ledger tells and was not counted yet; nothing in flight is forgotten.

        Args:
            ledger: its name.
            past: the lane in which it was lived through.
            ahead: when those of its requests left that count as of now, as it dates them later.
        """
        for endpoint, until in past.gates.items():
            if endpoint:
                self.rest(until, endpoint, past.reasons[endpoint])
            else:  # its windows are closed by the tape
                self.gates[""], self.reasons[""] = until, past.reasons[""]
        known = self.known.get(ledger, -inf)
        steps = [step for step in past.tape or () if step.sent > known]
        self._foresee(ledger, ahead)
        if steps:
            self.known[ledger] = latest = max(step.sent for step in steps)
            self.told[ledger] = [told for told in self.told.get(ledger, ()) if told.step.sent > latest]
        elif self.tape != []:
            return
        if self.tape is None:
            self._insert(steps)
        else:
            self._live_through(list(merge(self.tape, steps, key=lambda step: step.at)))
        self.probe()

    def count(self, ledger: str, told: Iterable[Told]) -> None:
        """Count what others than a ledger tell of its requests, and what was not counted yet.

        The ledger, which tells more, takes the place of that where it is folded before the first good answer.
        """
        before = self.told.setdefault(ledger, [])
        latest = max((self.known.get(ledger, -inf), *(one.step.sent for one in before)))
        counted = self.ahead.get(ledger, set()) | {one.left for one in before}
        if fresh := [one for one in told if one.left > latest and one.left not in counted]:
            before += fresh
            if self.tape is None:
                self.heard()
            self._insert(sorted((one.step for one in fresh), key=lambda step: step.sent))
            self.probe()

    def doubt(self) -> None:
        """Note that the instants of the past are not to be trusted; lived through again, they would seem to be."""
        super().doubt()
        self.heard()

    def heard(self) -> None:
        """Note that the windows know better than any ledger from now on."""
        self.tape = None
        for ledger, told in self.told.items():
            self.known[ledger] = max((self.known.get(ledger, -inf), *(one.step.sent for one in told)))
            self._foresee(ledger, (one.left for one in told if one.left > one.step.sent))
        self.told.clear()

    def succeed(self, old: "JoinedLane") -> None:
        """Take over what counts in a lane of other rules that nobody uses any more."""
        alike = len(old.heads) > 1 and len(old.windows) == len(self.windows)
        longest = max(old.windows, key=lambda one: one.d)
        for place, one in enumerate(self.windows):
            one.close(max(other.closed_until for other in old.windows))
            for other in [old.windows[place]] if alike else [longest] if len(old.heads) == 1 else old.windows:
                count = other.received
                for at, many, left in zip(count.times, count.counts, count.lefts, strict=True):
                    one.received.add(at, many, left)
        self.gates.update(old.gates)
        self.reasons.update(old.reasons)
        old.heard()
        self.known, self.ahead, self.tape = dict(old.known), dict(old.ahead), None
        self.probe()

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set, with nothing in flight."""
        super().shift(delta)
        for shares in self.shares.values():
            shares.shift(delta)
        self.heard()

    def _live_through(self, steps: list[Step]) -> None:
        self.clear()
        for step in steps:
            step.act(self)
        self.tape = steps
        self._insert([one.step for told in self.told.values() for one in told])

    def _foresee(self, ledger: str, lefts: Iterable[float]) -> None:
        if found := {*lefts}:
            self.ahead.setdefault(ledger, set()).update(found)

    def _insert(self, steps: list[Step]) -> None:
        for place, one in enumerate(self.windows):
            landed = [
                (step.sent, step.landed)
                for step in steps
                if step.landed is not None and (step.some is None or place in step.some or place >= len(self.rules))
            ]
            # What leaves from now on leaves after all of these. A lost one counts as received later than it left.
            since = max((sent for sent, _ in landed), default=inf) - one.d
            fresh = [(sent, at) for sent, at in landed if at > since]
            for sent, at in fresh:
                one.insert(sent, at)
            if fresh:
                one.doubt()


class Part(Lane):
    """A lane as one of its campaigns sees it: the windows are everybody's, of their slots it has a share."""

    def __init__(self, credential: str, campaign: str, whole: JoinedLane, member: Claimant, ledger: str) -> None:
        self.credential, self.campaign, self.whole, self.ledger = credential, campaign, whole, ledger
        self.endpoint, self.offset, self.aligned, self.heads = whole.endpoint, whole.offset, whole.aligned, whole.heads
        self.rules, self.windows, self.daily, self.gates = whole.rules, whole.windows, whole.daily, whole.gates
        self.reasons = whole.reasons
        self.shut = -inf  # others may open it at any time
        self.flying: list[tuple[float, Some]] = []  # when each request of this campaign that is in flight left
        whole.members[campaign] = member

    def when(self, now: float, some: Some = None) -> float:
        """Return the earliest instant at which a request of the campaign may leave; `now` if at once."""
        when = self.whole.when(now, some)
        return when if when > now else self._until(now, some)

    def free(self, now: float, some: Some = None) -> bool:
        """Return whether a request of the campaign may leave at `now`, which it wants."""
        for place in self._heads(some):
            self.whole.shares[place].ask(self.campaign, now)
        return self.whole.free(now, some) and self._until(now, some) <= now

    def take(self, now: float, some: Some = None) -> None:
        """Count a request of the campaign that leaves at `now`."""
        for place in self._heads(some):
            self.whole.shares[place].take(self.campaign, self.windows[place], now)
        self.whole.known[self.ledger] = max(now, self.whole.known.get(self.ledger, now))
        self.whole.take(now, some)
        self.flying.append((now, some))

    def learn(self, sent: float, reply: Reply, some: Some = None, place: int | None = 0) -> None:
        """Take in the reply to the request of the campaign that left at `sent`."""
        if (sent, some) in self.flying:
            self.flying.remove((sent, some))
        self.whole.learn(sent, reply, some, place)
        if not reply.reached:
            for one in self._heads(some):
                self.whole.shares[one].give_back(self.campaign, sent)
        if reply.kind in USEFUL or reply.limits:
            self.whole.heard()

    def close(self, until: float, *, over: bool = False, daily: bool = False, place: int = 0) -> None:
        """Send nothing before `until`, whichever campaign it is."""
        self.whole.close(until, over=over, daily=daily, place=place)

    def abandon(self, sent: float, some: Some = None) -> None:
        """Note that nobody waits for the reply to the request of the campaign that left at `sent`."""
        if (sent, some) in self.flying:
            self.flying.remove((sent, some))
            self.whole.abandon(sent, some)

    def sound(self) -> None:
        """Forget what the campaign had in flight: the next request finds out."""
        for sent, some in tuple(self.flying):
            self.abandon(sent, some)
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
        self.whole.members.pop(self.campaign, None)
        for shares in self.whole.shares.values():
            shares.leave(self.campaign)

    def release(self) -> set[str]:
        """Return the campaigns that need not wait for their share any more, as this one claims nothing now."""
        return {name for shares in self.whole.shares.values() for name in shares.release(self.campaign)}

    def why(self, now: float, some: Some = None) -> str:
        """Return what a request of the campaign that may not leave at `now` waits for."""
        if self.whole.when(now, some) > now:
            return super().why(now, some)
        shares, windows = self.whole.shares, self.windows
        kept = max(shares[place].until(self.campaign, windows[place], now) for place in self._heads(some))[1]
        others = pluralize(kept, "request is", "requests are")
        return f"its share of the window is used; {others} kept for other campaigns"

    def _heads(self, some: Some) -> tuple[int, ...]:
        """Return the places of the windows that campaigns share by weight, of those that count a request."""
        return self.heads if some is None else tuple(place for place in some if place in self.heads)

    def _until(self, now: float, some: Some) -> float:
        shares = self.whole.shares
        return max(shares[place].until(self.campaign, self.windows[place], now)[0] for place in self._heads(some))
