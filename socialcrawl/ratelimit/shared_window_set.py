"""A window set that several campaigns share, and to which each adds what its ledger knows. Pure.

Until the first good answer, a set keeps a recording of what was done in it, so that the past of a campaign
that joins can be replayed together with that of the others, in the order of time. Later the windows know better
than any ledger: what a ledger adds is inserted, and the next request flies alone.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from heapq import merge
from math import inf
from typing import NamedTuple

from socialcrawl.engine.model import USEFUL, Reply
from socialcrawl.ratelimit.clock_offset import ClockOffset
from socialcrawl.ratelimit.policy import Rule
from socialcrawl.ratelimit.received_requests import LAG
from socialcrawl.ratelimit.sharing import ShareHolder, WindowShares
from socialcrawl.ratelimit.window_set import Places, WindowSet
from socialcrawl.text.wording import pluralize


class WindowEvent(NamedTuple):
    """An event in a window set at `at` about the request that left at `sent`.

    `landed` is by when that was received, where the event says; `act` does the same to another set; `some` are the
    windows that count the request.
    """

    at: float
    sent: float
    landed: float | None
    act: Callable[[WindowSet], None]
    places: Places = None


class ReportedRequest(NamedTuple):
    """A request known from a source other than its ledger; it left at `left` by the clock of its sender."""

    left: float
    step: WindowEvent

    @property
    def known(self) -> float:
        """When it left, by its sender's clock or by ours, whichever is earlier: its ledger is counted up to then."""
        return min(self.left, self.step.sent)


class RecordedWindowSet(WindowSet):
    """A window set with a recording of what was done in it; None: it is no longer needed."""

    def __init__(
        self, credential: str, endpoint: str, rules: Sequence[Rule], offset: ClockOffset, heads: tuple[int, ...] = (0,)
    ) -> None:
        super().__init__(credential, endpoint, rules, offset, heads)
        self.recording: list[WindowEvent] | None = []

    def take(self, now: float, places: Places = None) -> None:
        """Count a request that leaves at `now` in every window, or in some."""
        self._record(now, now, None, lambda window_set: WindowSet.take(window_set, now, places), places)
        super().take(now, places)

    def follow(self, now: float, slack: float, opens: Collection[int], places: Places = None) -> None:
        """Count a request of another process, see `WindowSet.follow`."""
        self._record(now, now, None, lambda window_set: WindowSet.follow(window_set, now, slack, opens, places), places)
        super().follow(now, slack, opens, places)

    def learn(self, sent: float, reply: Reply, places: Places = None, place: int | None = 0) -> None:
        """Take in the reply to the request that left at `sent`."""
        if self.recording is not None:
            slim = replace(reply, rows=None, received=None)
            landed = reply.at if reply.reached else None
            self._record(
                reply.at,
                sent,
                landed,
                lambda window_set: WindowSet.learn(window_set, sent, slim, places, place),
                places,
            )
        super().learn(sent, reply, places, place)

    def close(self, until: float, *, over: bool = False, daily: bool = False, place: int = 0) -> None:
        """Send nothing before `until`, see `WindowSet.close`."""
        at, sent = (self.recording[-1].at, self.recording[-1].sent) if self.recording else (-inf, -inf)
        self._record(
            at,
            sent,
            None,
            lambda window_set: WindowSet.close(window_set, until, over=over, daily=daily, place=place),
            None,
        )
        super().close(until, over=over, daily=daily, place=place)

    def abandon(self, sent: float, places: Places = None) -> None:
        """Note that nobody waits for the reply to the request that left at `sent`."""
        self._record(
            sent + LAG, sent, sent + LAG, lambda window_set: WindowSet.abandon(window_set, sent, places), places
        )
        super().abandon(sent, places)

    def _record(
        self, at: float, sent: float, landed: float | None, act: Callable[[WindowSet], None], places: Places
    ) -> None:
        if self.recording is not None:
            self.recording.append(WindowEvent(at, sent, landed, act, places))


class RecordedClockOffset(ClockOffset):
    """The server's clock, with a recording of the dates that were received; None: it is no longer needed.

    `hosts` are the clocks of other servers that are asked with the same token, or none, by their names.
    """

    def __init__(self) -> None:
        super().__init__()
        self.hosts: dict[str, RecordedClockOffset] = {}
        self.recording: (
            list[tuple[float, float, float]] | None
        ) = []  # when a reply came, when its request left, its date

    def learn(self, sent: float, at: float, date: float | None, *, cut: float = 1.0) -> None:
        """Take in the date of a reply."""
        if self.recording is not None and date is not None:
            self.recording.append((at, sent, date))
        super().learn(sent, at, date, cut=cut)

    def forget(self) -> None:
        """Know nothing any more."""
        super().forget()
        if self.recording is not None:
            self.recording = []

    def adopt(self, past: "RecordedClockOffset") -> None:
        """Adopt the dates of a ledger, unless a reply has given a better one."""
        if self.recording is None or not past.recording:
            return
        dates = list(merge(self.recording, past.recording))
        super().forget()
        self.recording = []
        for at, sent, date in dates:
            self.learn(sent, at, date)

    def shift(self, delta: float) -> None:
        """Note that our clock was set, `delta` seconds ahead."""
        super().shift(delta)
        self.recording = None
        for clock in self.hosts.values():
            clock.shift(delta)


class SharedWindowSet(RecordedWindowSet):
    """The windows of one token on one endpoint (or several), and the shares that campaigns have in them.

    `has_others` says whether other processes may use them too.
    """

    def __init__(
        self, mark: str, endpoint: str, rules: Sequence[Rule], offset: ClockOffset, heads: tuple[int, ...] = (0,)
    ) -> None:
        super().__init__(mark, endpoint, rules, offset, heads)
        self.has_others = False
        self.members: dict[str, ShareHolder] = {}
        self.shares = {place: WindowShares(self.members) for place in heads}  # by the place of the window
        self.counted_until: dict[str, float] = {}  # by ledger, when the latest request left that is counted
        self.ahead: dict[str, set[float]] = {}  # by ledger, the same for requests dated by a clock ahead of ours
        self.reported: dict[str, list[ReportedRequest]] = {}  # by ledger, what was counted before that was folded

    def adopt(self, ledger: str, past: RecordedWindowSet, ahead: Collection[float] = ()) -> None:
        """Count what is in a ledger and was not counted yet; nothing in flight is forgotten.

        Args:
            ledger: its name.
            past: the set in which it was replayed.
            ahead: when those of its requests left that count as of now, as it dates them later.
        """
        for endpoint, until in past.pauses.items():
            if endpoint:
                self.pause(until, endpoint, past.reasons[endpoint])
            else:  # its windows are closed by the recording
                self.pauses[""], self.reasons[""] = until, past.reasons[""]
        known = self.counted_until.get(ledger, -inf)
        steps = [step for step in past.recording or () if step.sent > known]
        self._note_ahead(ledger, ahead)
        if steps:
            self.counted_until[ledger] = latest = max(step.sent for step in steps)
            self.reported[ledger] = [one for one in self.reported.get(ledger, ()) if one.known > latest]
        elif self.recording != []:
            return
        if self.recording is None:
            self._insert(steps)
        else:
            self._replay(list(merge(self.recording, steps, key=lambda step: step.at)))
        self.probe()

    def count(self, ledger: str, requests: Iterable[ReportedRequest]) -> None:
        """Count requests that sources other than their ledger report, and that were not counted yet.

        The ledger, which knows more, replaces them where it is folded before the first good answer.
        """
        before = self.reported.setdefault(ledger, [])
        latest = max((self.counted_until.get(ledger, -inf), *(one.known for one in before)))
        counted = self.ahead.get(ledger, set()) | {one.left for one in before}
        if fresh := [one for one in requests if one.left > latest and one.left not in counted]:
            before += fresh
            if self.recording is None:
                self.trust_windows()
            self._insert(sorted((one.step for one in fresh), key=lambda step: step.sent))
            self.probe()

    def distrust_past(self) -> None:
        """Note that the instants of the past are not to be trusted; lived through again, they would seem to be."""
        super().distrust_past()
        self.trust_windows()

    def trust_windows(self) -> None:
        """Note that the windows know better than any ledger from now on."""
        self.recording = None
        self._remember(yes=False)
        for ledger, requests in self.reported.items():
            self.counted_until[ledger] = max((self.counted_until.get(ledger, -inf), *(one.known for one in requests)))
            self._note_ahead(ledger, (one.left for one in requests if one.left > one.step.sent))
        self.reported.clear()

    def succeed(self, old: "SharedWindowSet") -> None:
        """Take over what counts in a set with other rules that is no longer used."""
        alike = len(old.heads) > 1 and len(old.windows) == len(self.windows)
        longest = max(old.windows, key=lambda one: one.d)
        for place, one in enumerate(self.windows):
            one.close(max(other.closed_until for other in old.windows))
            for other in [old.windows[place]] if alike else [longest] if len(old.heads) == 1 else old.windows:
                count = other.received
                for at, many, left in zip(count.times, count.counts, count.lefts, strict=True):
                    one.received.add(at, many, left)
        self.pauses.update(old.pauses)
        self.reasons.update(old.reasons)
        old.trust_windows()
        self.counted_until, self.ahead, self.recording = dict(old.counted_until), dict(old.ahead), None
        self.probe()

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set, with nothing in flight."""
        super().shift(delta)
        for shares in self.shares.values():
            shares.shift(delta)
        self.trust_windows()

    def _replay(self, steps: list[WindowEvent]) -> None:
        self.clear()
        self._remember(yes=True)
        for step in steps:
            step.act(self)
        self.recording = steps
        self._insert([one.step for requests in self.reported.values() for one in requests])

    def expect_others(self) -> None:
        """Let windows keep what counts no more by one ledger: those of other processes may show that it does."""
        self.has_others = True
        self._remember(yes=self.recording is not None)

    def _remember(self, *, yes: bool) -> None:
        for one in self.windows:
            one.remembers = yes and self.has_others

    def _note_ahead(self, ledger: str, lefts: Iterable[float]) -> None:
        if found := {*lefts}:
            self.ahead.setdefault(ledger, set()).update(found)

    def _insert(self, steps: list[WindowEvent]) -> None:
        for place, one in enumerate(self.windows):
            landed = [
                (step.sent, step.landed)
                for step in steps
                if step.landed is not None and (step.places is None or place in step.places or place >= len(self.rules))
            ]
            # What leaves from now on leaves after all of these. A lost one counts as received later than it left.
            since = max((sent for sent, _ in landed), default=inf) - one.d
            fresh = [(sent, at) for sent, at in landed if at > since]
            for sent, at in fresh:
                one.insert(sent, at)
            if fresh:
                one.distrust_past()


class CampaignWindowSet(WindowSet):
    """A shared window set as one of its campaigns sees it: it has a share of the slots."""

    def __init__(
        self, credential: str, campaign: str, shared_set: SharedWindowSet, member: ShareHolder, ledger: str
    ) -> None:
        self.credential, self.campaign, self.shared_set, self.ledger = credential, campaign, shared_set, ledger
        self.endpoint, self.offset, self.has_aligned, self.heads = (
            shared_set.endpoint,
            shared_set.offset,
            shared_set.has_aligned,
            shared_set.heads,
        )
        self.rules, self.windows, self.daily, self.pauses = (
            shared_set.rules,
            shared_set.windows,
            shared_set.daily,
            shared_set.pauses,
        )
        self.reasons = shared_set.reasons
        self.closed_until = -inf  # others may open it at any time
        self.in_flight: list[tuple[float, Places]] = []  # when each request of this campaign that is in flight left
        shared_set.members[campaign] = member

    def find_slot(self, now: float, places: Places = None) -> float:
        """Return the earliest instant at which a request of the campaign may leave; `now` if at once."""
        when = self.shared_set.find_slot(now, places)
        return when if when > now else self._find_share(now, places)

    def can_send(self, now: float, places: Places = None) -> bool:
        """Return whether a request of the campaign may leave at `now`, which it wants."""
        for place in self._find_heads(places):
            self.shared_set.shares[place].note_request(self.campaign, now)
        return self.shared_set.can_send(now, places) and self._find_share(now, places) <= now

    def take(self, now: float, places: Places = None) -> None:
        """Count a request of the campaign that leaves at `now`."""
        for place in self._find_heads(places):
            self.shared_set.shares[place].take(self.campaign, self.windows[place], now)
        self.shared_set.counted_until[self.ledger] = max(now, self.shared_set.counted_until.get(self.ledger, now))
        self.shared_set.take(now, places)
        self.in_flight.append((now, places))

    def learn(self, sent: float, reply: Reply, places: Places = None, place: int | None = 0) -> None:
        """Take in the reply to the request of the campaign that left at `sent`."""
        if (sent, places) in self.in_flight:
            self.in_flight.remove((sent, places))
        self.shared_set.learn(sent, reply, places, place)
        if not reply.reached:
            for one in self._find_heads(places):
                self.shared_set.shares[one].give_back(self.campaign, sent)
        if reply.kind in USEFUL or reply.limits:
            self.shared_set.trust_windows()

    def close(self, until: float, *, over: bool = False, daily: bool = False, place: int = 0) -> None:
        """Send nothing before `until`, whichever campaign it is."""
        self.shared_set.close(until, over=over, daily=daily, place=place)

    def abandon(self, sent: float, places: Places = None) -> None:
        """Note that nobody waits for the reply to the request of the campaign that left at `sent`."""
        if (sent, places) in self.in_flight:
            self.in_flight.remove((sent, places))
            self.shared_set.abandon(sent, places)

    def forget_in_flight(self) -> None:
        """Forget what the campaign had in flight: the next request finds out."""
        for sent, places in tuple(self.in_flight):
            self.abandon(sent, places)
        self.probe()

    def probe(self) -> None:
        """Let the next request, whose ever it is, find out how the windows stand."""
        self.shared_set.probe()

    def shift(self, delta: float) -> None:
        """Do nothing: the windows are moved once for all."""

    def leave(self) -> None:
        """Leave the shared set."""
        if self.in_flight:
            self.forget_in_flight()
        self.shared_set.members.pop(self.campaign, None)
        for shares in self.shared_set.shares.values():
            shares.leave(self.campaign)

    def release(self) -> set[str]:
        """Drop the claim of this campaign; return the campaigns that no longer wait for their share."""
        return {name for shares in self.shared_set.shares.values() for name in shares.release(self.campaign)}

    def explain_wait(self, now: float, places: Places = None) -> str:
        """Return what a request of the campaign that may not leave at `now` waits for."""
        if self.shared_set.find_slot(now, places) > now:
            return super().explain_wait(now, places)
        shares, windows = self.shared_set.shares, self.windows
        kept = max(shares[place].find_slot(self.campaign, windows[place], now) for place in self._find_heads(places))[1]
        count = pluralize(kept, "request is", "requests are")
        return f"its share of the window is used; {count} kept for other campaigns"

    def _find_heads(self, places: Places) -> tuple[int, ...]:
        """Return the places of the windows that campaigns share by weight, of those that count a request."""
        return self.heads if places is None else tuple(place for place in places if place in self.heads)

    def _find_share(self, now: float, places: Places) -> float:
        shares = self.shared_set.shares
        return max(
            shares[place].find_slot(self.campaign, self.windows[place], now)[0] for place in self._find_heads(places)
        )
