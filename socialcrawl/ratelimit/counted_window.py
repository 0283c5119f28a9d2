"""Windows that count what the server may still remember: sliding ones, and those aligned to the server's clock. Pure.

The kinds of windows differ in one thing only, `begin`: the earliest instant at which a request must have been received
to count together with one that leaves now. Neither kind here needs headers: what these say of others' requests makes
things stricter only.
"""

from math import floor, inf, nextafter

from socialcrawl.engine.model import Limit
from socialcrawl.ratelimit.clock_offset import DRIFT, ClockOffset
from socialcrawl.ratelimit.received_requests import ReceivedRequests
from socialcrawl.ratelimit.window import ALONE

TINY = 1e-6  # seconds: a wait is never over before it began


class SlidingWindow:
    """At most `k` requests in any `d` seconds."""

    name = "in any"

    def __init__(self, k: int, d: float) -> None:
        self.k, self.d = k, d
        self.received = ReceivedRequests(d)
        self.closed_until = 0.0
        self.remembers = False  # whether requests are kept for d seconds, though they count no more by what is known

    def find_begin(self, now: float) -> float:
        """Return the earliest instant at which a received request counts together with one that leaves at `now`."""
        return nextafter(now - self.d, inf)

    def find_release(self, oldest: float, now: float) -> float:
        """Return when `begin` will have moved past a request that was answered at `oldest`, or may have."""
        return oldest + self.d

    def count_used(self, now: float) -> int:
        """Return how many requests may count together with one that leaves at `now`."""
        return self.received.count_since(self.find_begin(now))

    def find_slot(self, now: float) -> float:
        """Return the earliest instant at which a request may leave; `now` if at once. Changes nothing."""
        if now < self.closed_until:
            return self.closed_until
        if self.received.total < self.k:
            return now
        begin = self.find_begin(now)
        used = self.received.count_since(begin)
        if used < self.k:
            return now
        oldest = self.received.find_oldest(begin, used - self.k + 1)
        # Only replies free slots that are in flight: look again soon.
        return now + ALONE if oldest is None else max(self.find_release(oldest, now), now + TINY)

    def take(self, now: float) -> None:
        """Count a request that leaves at `now`."""
        in_flight = self.received.in_flight
        oldest = in_flight[0] if in_flight else now  # replies yet to come may be about what counts with it
        begin = self.find_begin(oldest)
        self.received.forget(min(begin, oldest - self.d) if self.remembers else begin)
        in_flight.append(now)

    def learn(self, limit: Limit | None, date: float | None, at: float, *, sent: float, counted: bool = True) -> None:
        """Take in a reply; see `FixedWindow.learn`. What the server counts beyond our own was somebody else's, now."""
        self.received.add_reply(sent, at)
        if limit is None or limit.most < 1:
            return
        self.k = min(self.k, limit.most)
        others = min(self.k, limit.most - limit.left - self.count_used(sent))
        if others > 0:
            self.received.add(at, others, sent)

    def give_back(self, sent: float) -> None:
        """Uncount the request that left at `sent`: it has not reached the server."""
        self.received.drop(sent)

    def close(self, until: float, *, over: bool = False) -> None:
        """Send nothing before `until`."""
        self.closed_until = max(self.closed_until, until)

    def forget_in_flight(self) -> None:
        """Forget what was in flight (a restart): it was received within LAG seconds, or never."""
        for sent in tuple(self.received.in_flight):
            self.received.abandon(sent)

    def insert(self, left: float, at: float) -> None:
        """Count a request that is reported afterwards: it left at `left`, and was received at `at` at the latest."""
        self.received.add(at, 1, left)

    def distrust_past(self) -> None:
        """Do nothing: what was inserted counts by its time, as all else does."""

    def probe(self) -> None:
        """Do nothing: every reply has the same information."""

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set, with nothing in flight."""
        self.closed_until += delta
        self.received.shift(delta)

    def count_slots(self, now: float, until: float) -> int:
        """Return how many requests may leave from `now` to `until`, if each is answered at once."""
        begin = max(now, self.closed_until)
        if until < begin:
            return 0
        rounds, rest = divmod(until - begin, self.d)  # each slot is free again d seconds after it was used
        return self.k * int(rounds) + max(0, self.k - self.received.count_since(self.find_begin(begin + rest)))

    def can_foresee(self, until: float) -> bool:
        """Return True: what the table says is what is kept, whatever the headers say."""
        return True

    def find_length(self, now: float) -> float:
        """See `Window.find_length`."""
        return self.d

    def find_end(self, now: float) -> float | None:
        """Return None: a sliding window has no end."""
        return None

    def explain_wait(self, now: float) -> str:
        """Return what a request that may not leave at `now` waits for."""
        if now < self.closed_until:
            return "the server requires a pause"
        return f"only {self.k:,} requests are allowed {self.name} {self.d:g} s"


class AlignedWindow(SlidingWindow):
    """At most `k` requests from each multiple of `d` seconds of the server's clock to the next.

    What `offset` leaves open is waited for at every boundary; while it knows nothing, the window is a sliding one,
    which keeps any aligned one.
    """

    name = "every"

    def __init__(self, k: int, d: float, offset: ClockOffset) -> None:
        super().__init__(k, d)
        self.offset = offset

    def find_begin(self, now: float) -> float:
        """Return the earliest instant at which a received request counts together with one that leaves at `now`."""
        slides = super().find_begin(now)
        if not self.offset.is_known:
            return slides
        low, high = self.offset.find_bounds(now)
        opened = floor((now + low) / self.d) * self.d  # the first window that may be open, by the server's clock
        return max(slides, opened - high - DRIFT * self.d)

    def find_release(self, oldest: float, now: float) -> float:
        """Return when `begin` will have moved past a request that was answered at `oldest`, or may have."""
        ends = self.find_end(now)
        slides = super().find_release(oldest, now)
        return slides if ends is None else min(slides, ends)

    def count_slots(self, now: float, until: float) -> int:
        """Return how many requests may leave from `now` to `until`, if each is answered at once."""
        begin = max(now, self.closed_until)
        ends = self.find_end(begin)
        if ends is None or until < begin:
            return super().count_slots(now, until)
        later = 1 + int((until - ends) / self.d) if until >= ends else 0
        return max(0, self.k - self.count_used(begin)) + self.k * later

    def find_end(self, now: float) -> float | None:
        """Return when the server's clock will have reached the next boundary; None while that is not known."""
        if not self.offset.is_known:
            return None
        low, _ = self.offset.find_bounds(now)
        return (floor((now + low) / self.d) + 1) * self.d - low
