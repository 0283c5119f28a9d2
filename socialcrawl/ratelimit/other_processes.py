"""What other processes send with the tokens of this one, counted in its windows as the ledger of their database tells.

Pure: rows of the ledger and times are arguments. Each process reads, in the transaction that reserves a request, what
others have reserved before it. So all of them count the same requests in the same order, and each decides as one
process alone would. Instants come from the clock of the database:

- A request left after it was reserved, and landed before its sender's clock said so, counted from the reservation.
- What is not settled after LAG seconds was received by then or never: `PromptWire` sends nothing that waited longer.
- A request that opens a window says so, as only its sender knows that the last window is over.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import inf
from threading import RLock
from typing import NamedTuple, Protocol

from socialcrawl.engine.model import Reply, ReplyKind
from socialcrawl.ratelimit.billing_cycle import BillingCycles
from socialcrawl.ratelimit.clock_offset import ClockOffset
from socialcrawl.ratelimit.endpoint_windows import EndpointWindows, RequestWindows
from socialcrawl.ratelimit.received_requests import LAG
from socialcrawl.ratelimit.retry import find_reset
from socialcrawl.ratelimit.shared_window_set import SharedWindowSet
from socialcrawl.ratelimit.window import ALONE

HALF = 0.5e-6  # seconds: half of the grain of our own instants
TOLD = (ReplyKind.WINDOW, ReplyKind.DAY)  # replies that say until when nothing may be sent


class OtherRequest(NamedTuple):
    """A request that another process has reserved.

    Attributes:
        number: request.id.
        ledger: the unique name of its campaign's ledger.
        bills: the marks of what the campaign is billed by.
        mark: that of its token.
        endpoint: with its host.
        clock: when it was reserved, by the database's clock (Unix seconds).
        left: the same by its sender's clock.
        items: the most resources it could return.
        opens: the places of the windows that it opens.
        reply: what came back, by its sender's clock; None: nothing yet.
    """

    number: int
    ledger: str
    bills: frozenset[str]
    mark: str
    endpoint: str
    clock: float
    left: float
    items: int
    opens: tuple[int, ...] = ()
    reply: Reply | None = None


class Participant(Protocol):
    """The window sets of a campaign of this process."""

    def find_shared(self, mark: str, endpoint: str) -> RequestWindows | None:
        """Return the windows of a token on an endpoint, without shares; None where the campaign uses neither."""

    def count_posts(self, endpoint: str, items: int) -> int:
        """Return how many posts a request may return."""


@dataclass(slots=True)
class _Sent:
    """A request of another process; `left` and the time of its reply are by our clock, `left` to within `slack`.

    `windows` are those in which it is counted; None: it is in none.
    """

    request: OtherRequest
    left: float
    slack: float
    posts: int = 0
    reply: Reply | None = None
    windows: RequestWindows | None = None


class _Event(NamedTuple):
    """What became of a request at `at`: it left (0), or it landed or is waited for no longer (1)."""

    at: float
    step: int
    number: int
    sent: _Sent


@dataclass(slots=True)
class _Part:
    """A participant, and what it is to count once its own ledger is."""

    windows: Participant
    is_counted: bool = False
    waiting: list[_Event] = field(default_factory=list)


class OtherProcesses:
    """What the other processes of one database have sent, in the windows of this one.

    Args:
        lock: that of the windows.
        cycles: the billing cycles of all campaigns.

    Attributes:
        seen: the latest request.id that was read; None: nothing was.
        version: how many events were counted.
        ledgers: of which requests were counted.
        offset: the clock of the database.
        read_at: when the ledgers were read last, by our clock (Unix seconds).
    """

    def __init__(self, lock: RLock, cycles: BillingCycles) -> None:
        self.lock, self.cycles = lock, cycles
        self.seen: int | None = None
        self.version = 0
        self.ledgers: set[str] = set()
        self.offset = ClockOffset()
        self._pending: dict[int, _Sent] = {}
        self._parts: dict[str, _Part] = {}
        self.read_at = -inf

    def announce(self, campaign: str, windows: Participant) -> None:
        """Keep what is to be counted for a campaign from now on until `join`: its own ledger is counted first."""
        with self.lock:
            self._parts[campaign] = _Part(windows)

    def join(self, campaign: str) -> None:
        """Count in the windows of a campaign what was kept for it."""
        with self.lock:
            part = self._parts[campaign]
            part.is_counted = True
            for event in part.waiting:
                self._count_event(event)
            part.waiting.clear()

    def leave(self, campaign: str) -> None:
        """Forget a campaign; with the last one, everything: nobody will hear of what is in flight."""
        with self.lock:
            part = self._parts.pop(campaign, None)
            for event in part.waiting if part else ():
                self._count_event(event)
            if not self._parts:
                for sent in self._pending.values():
                    if sent.windows is not None:
                        self._land(sent.windows, sent)
                self._pending.clear()
                self.seen = None

    def list_pending(self) -> list[int]:
        """Return the numbers of requests whose replies have not come."""
        with self.lock:
            return list(self._pending)

    def is_pending(self, ledger: str, left: float) -> bool:
        """Return whether a request is counted here as in flight, by when it left its sender."""
        with self.lock:
            return any(one.request.ledger == ledger and one.request.left == left for one in self._pending.values())

    def is_due(self, now: float) -> bool:
        """Return whether the ledger may have news that lets a request leave: something was in flight a moment ago."""
        return bool(self._pending) and not self.read_at <= now < self.read_at + ALONE

    def begin(self, seen: int, in_flight: Iterable[OtherRequest], now: float) -> None:
        """Begin to count what is reserved after the row `seen`, and what was in flight then."""
        with self.lock:
            self.seen = -1
            self.count(in_flight, now)
            self.seen = seen

    def note_own(self, number: int) -> None:
        """Note a row of this process, before which nothing is left to be read."""
        with self.lock:
            self.seen = max(number, self.seen or 0)

    def note_clock(self, before: float, after: float, clock: float) -> None:
        """Take in the database's clock, read between two instants of ours."""
        with self.lock:
            self.offset.learn(before, after, clock, cut=0.0)

    def count(self, requests: Iterable[OtherRequest], now: float) -> None:
        """Count what others have sent since, and what came back, in the order of time."""
        with self.lock:
            self.read_at = now
            low, high = self.offset.find_bounds(now)
            events, seen = [], self.seen or 0
            for one in requests:
                sent = self._pending.get(one.number)
                if sent is None:
                    if self.seen is not None and one.number <= self.seen:
                        continue
                    sent = self._pending[one.number] = _Sent(one, _round_down(min(one.clock - high, now)), high - low)
                    events.append(_Event(sent.left, 0, one.number, sent))
                    seen = max(seen, one.number)
                if one.reply is not None:
                    sent.reply = self._date_reply(one, sent.left, now, one.clock - one.left - low)
                    events.append(_Event(sent.reply.at, 1, one.number, sent))
                    del self._pending[one.number]
            self.seen = seen
            lost = [number for number, sent in self._pending.items() if sent.request.clock - low + LAG < now]
            events += [_Event(now, 1, number, self._pending.pop(number)) for number in lost]
            for event in sorted(events, key=lambda event: event[:3]):
                self._count_event(event)

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set."""
        self.offset.shift(delta)
        self.read_at += delta
        for sent in self._pending.values():
            sent.left += delta

    def _date_reply(self, one: OtherRequest, left: float, now: float, ahead: float) -> Reply:
        """Return a reply by our clock, with what is certain in it; `ahead`: our clock before that of its sender."""
        assert one.reply is not None
        tells = bool(one.opens) or one.reply.kind in TOLD
        at = max(left, min(now, one.reply.at + ahead))
        return replace(one.reply, at=at, limits=one.reply.limits if tells else ())

    def _count_event(self, event: _Event) -> None:
        request = event.sent.request
        if event.step == 1 and event.sent.windows is not None:  # whether or not that campaign is still here
            self.version += 1
            self._land(event.sent.windows, event.sent)
            return
        parts = sorted(self._parts.values(), key=lambda part: not part.is_counted)
        found = ((part, part.windows.find_shared(request.mark, request.endpoint)) for part in parts)
        part, windows = next((pair for pair in found if pair[1] is not None), (None, None))
        if part is None or windows is None:
            return
        if not part.is_counted:
            part.waiting.append(event)
            return
        self.version += 1
        event.sent.posts = part.windows.count_posts(request.endpoint, request.items)
        if event.step == 0:
            self._take(windows, event.sent)
        else:
            self._land(windows, event.sent)

    def _take(self, windows: RequestWindows, sent: _Sent) -> None:
        request = sent.request
        sent.windows = windows
        windows.follow(sent.left, sent.slack, request.opens)
        shared = windows.window_set if isinstance(windows, EndpointWindows) else windows
        if isinstance(shared, SharedWindowSet):
            until = shared.counted_until.get(request.ledger, -inf)
            shared.counted_until[request.ledger] = max(until, request.left)
        self.ledgers.add(request.ledger)
        self.cycles.note(request.ledger, request.bills, sent.posts, 0, sent.left)

    def _land(self, windows: RequestWindows, sent: _Sent) -> None:
        request, reply = sent.request, sent.reply
        if reply is None:
            windows.abandon(sent.left)
            self.cycles.note(request.ledger, request.bills, -sent.posts, sent.posts, sent.left + LAG)
            return
        windows.learn(sent.left, reply)
        posts = sent.posts if reply.kind == ReplyKind.LOST else reply.answer.posts
        self.cycles.note(request.ledger, request.bills, -sent.posts, posts if sent.posts else 0, reply.at)
        rest = find_reset(reply, windows.main.d) if reply.kind in TOLD else None
        if rest is not None:
            windows.close(reply.at + rest[0], over=rest[1], daily=reply.kind == ReplyKind.DAY)


def _round_down(at: float) -> float:
    """Return an instant that no request of ours has, as theirs are in whole microseconds."""
    return round(at, 6) - HALF
