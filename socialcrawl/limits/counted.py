"""Windows that count what the server may still remember: sliding ones, and those aligned to the server's clock. Pure.

A request counts from the moment it leaves; it was received between its leaving and its reply. So it may fall into every
window that begins before the reply came, and has left all windows that begin later. Neither kind needs headers: what
these say of others' requests makes things stricter only.
"""

from bisect import bisect_left, insort
from math import floor

from socialcrawl.limits.offset import Offset
from socialcrawl.limits.window import ALONE, LAG
from socialcrawl.model import Limit

TINY = 1e-6  # seconds: a wait is never over before it began


class SlidingWindow:
    """At most `k` requests in any `d` seconds."""

    name = "in any"

    def __init__(self, k: int, d: float) -> None:
        self.k, self.d = k, d
        self.flying: list[float] = []  # when each request in flight left
        self.landed: list[float] = []  # when each reply came, ascending; older ones are let go
        self.closed_until = 0.0

    def begin(self, now: float) -> float:
        """The earliest instant at which a request must have been received to count with one that leaves at `now`."""
        return now - self.d

    def next_begin(self, now: float) -> float:
        """The instant at which `begin` will have moved past the oldest request that counts."""
        return self.landed[self._first(now)] + self.d

    def when(self, now: float) -> float:
        """The earliest instant at which a request may leave; `now` if at once. Changes nothing."""
        if now < self.closed_until:
            return self.closed_until
        counting = len(self.landed) - self._first(now)
        if len(self.flying) + counting < self.k:
            return now
        # Only replies free slots that are in flight: look again soon.
        return max(self.next_begin(now), now + TINY) if counting else now + ALONE

    def take(self, now: float) -> None:
        """Count a request that leaves at `now`."""
        del self.landed[: self._first(now)]
        self.flying.append(now)

    def learn(self, limit: Limit | None, date: float | None, at: float, *, sent: float, counted: bool = True) -> None:
        """Take in a reply; see `FixedWindow.learn`. What the server counts beyond our own was somebody else's, now."""
        if sent in self.flying:
            self.flying.remove(sent)
            insort(self.landed, at)
        if limit is None:
            return
        self.k = min(self.k, limit.most) if limit.most > 0 else self.k
        others = limit.most - limit.left - len(self.flying) - (len(self.landed) - self._first(at))
        self.landed += [max(at, *self.landed[-1:])] * min(self.k, max(0, others))

    def close(self, until: float, *, over: bool = False) -> None:
        """Send nothing before `until`."""
        self.closed_until = max(self.closed_until, until)

    def sound(self) -> None:
        """Forget what was in flight (a restart): it was received within LAG seconds, or never."""
        self.landed = sorted([*self.landed, *(sent + LAG for sent in self.flying)])
        self.flying = []

    def room(self, now: float, until: float) -> int:
        """How many requests may leave from `now` to `until`, if each is answered at once."""
        begin = max(now, self.closed_until)
        free = [max(begin, at + self.d) for at in self.landed[self._first(begin) :]] + [begin + self.d] * len(
            self.flying
        )
        free += [begin] * (self.k - len(free))
        return sum(1 + int((until - slot) / self.d) for slot in free[: self.k] if until >= slot)

    def ends(self, now: float) -> float | None:
        """None: a sliding window has no end."""
        return None

    def why(self, now: float) -> str:
        """What a request that may not leave at `now` waits for."""
        if now < self.closed_until:
            return "the server asked for a pause"
        return f"only {self.k:,} requests are allowed {self.name} {self.d:g} s"

    def _first(self, now: float) -> int:
        """The place of the first reply that counts with a request that leaves at `now`."""
        return bisect_left(self.landed, self.begin(now))


class AlignedWindow(SlidingWindow):
    """At most `k` requests from each multiple of `d` seconds of the server's clock to the next.

    What `offset` leaves open is waited for at every boundary; while it knows nothing, the window is a sliding one,
    which keeps any aligned one.
    """

    name = "every"

    def __init__(self, k: int, d: float, offset: Offset) -> None:
        super().__init__(k, d)
        self.offset = offset

    def begin(self, now: float) -> float:
        """The earliest instant at which a request must have been received to count with one that leaves at `now`."""
        if not self.offset.known:
            return now - self.d
        window = floor((now + self.offset.low) / self.d)  # the first one that may be open
        return max(now - self.d, window * self.d - self.offset.high)

    def next_begin(self, now: float) -> float:
        """The instant at which `begin` will have moved."""
        slides = super().next_begin(now)
        if not self.offset.known:
            return slides
        window = floor((now + self.offset.low) / self.d)
        return min(slides, (window + 1) * self.d - self.offset.low)

    def ends(self, now: float) -> float | None:
        """When the server's clock will have reached the next boundary."""
        if not self.offset.known:
            return None
        return (floor((now + self.offset.low) / self.d) + 1) * self.d - self.offset.low
