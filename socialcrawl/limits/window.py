"""The fixed window: k requests per d seconds, opened by its first request. Pure: time is passed in.

X opens a fixed window with the first request after the last one ended. The server's window therefore begins somewhere
between our sending and the reply, and requests in flight may fall on either side. These rules keep ours inside it:

- the first request of a window (and the first after a restart) flies alone, with nothing else in flight;
- our own end is counted from the *arrival* of its reply, the latest moment at which the server can have begun;
- the headers of a reply that flew alone are the truth about what is used and when the window ends; all others may
  only make things stricter: fewer requests left, a smaller k, a later end;
- a reply that arrives when the server's window may already be over is *late*: it may belong to the server's next
  window. It says nothing about the end of ours, and it counts in our next one until headers tell.
"""

from math import inf
from typing import Protocol

from socialcrawl.model import Limit

ROUNDING = 1.0  # headers and Date are whole seconds: the true end is less than this much later than they say
ALONE = 0.05  # seconds after which to look again while a request flies alone
LAG = 10.0  # seconds after which nothing that a dead process has sent is still on its way
DAY = 86_400.0


class Window(Protocol):
    """One limit of one credential on one endpoint: k requests per d seconds, of whatever kind."""

    k: int
    d: float
    closed_until: float

    def when(self, now: float) -> float:
        """The earliest instant at which a request may leave; `now` if at once. Changes nothing."""

    def take(self, now: float) -> None:
        """Count a request that leaves at `now`."""

    def learn(self, limit: Limit | None, date: float | None, at: float, *, sent: float, counted: bool = True) -> None:
        """Take in a reply, see `FixedWindow.learn`; `sent` is when its request was taken."""

    def close(self, until: float, *, over: bool = False) -> None:
        """Send nothing before `until`; `over`: the server said that the window ends then."""

    def sound(self) -> None:
        """Forget what was in flight (a restart), on the side of caution."""

    def room(self, now: float, until: float) -> int:
        """How many requests may leave from `now` to `until`, if each is answered at once."""

    def ends(self, now: float) -> float | None:
        """When the window that is open at `now` ends; None where none is, or where windows have no end."""

    def why(self, now: float) -> str:
        """What a request that may not leave at `now` waits for."""


def longest(d: float) -> float:
    """The longest time in seconds that a header can mean for a window of d seconds; more is a fault of the server."""
    return max(2.0 * d, DAY) + 60.0


class FixedWindow:
    """A window of at most `k` requests per `d` seconds, opened by its first request."""

    def __init__(self, k: int, d: float) -> None:
        self.k, self.d = k, d
        self.used = 0
        self.flying: list[float] = []  # when each request in flight left
        self.strays: list[float] = []  # the same of a process that died: they may still arrive, or did before
        self.end: float | None = None  # None: no window is known to be open
        self.alone = False  # the request in flight is the first of its window
        self.sounding = False  # what is used is uncertain: the next request flies alone, whatever `end` says
        self.closed_until = 0.0
        self.left = 0.0  # when the request that flew alone left: the server's window began no earlier, if it opened it
        self.early = 0.0  # the earliest instant at which the server's window can end
        self.latest = 0.0  # when the last request left
        self.late = 0  # replies that arrived after `early`

    def when(self, now: float) -> float:
        """The earliest instant at which a request may leave; `now` if at once. Changes nothing."""
        if now < self.closed_until:
            return self.closed_until
        over = self._is_over(now)
        if self.flying and (self.alone or self.sounding or over):
            return now + ALONE
        return now if over or self.used < self.k else self._last()

    def take(self, now: float) -> None:
        """Count a request that leaves at `now`."""
        over = self._is_over(now)
        if self.sounding or self.end is None or over:
            if over:
                self.used, self.early = self.late + self._astray(now), now + self.d
            self.alone, self.sounding, self.end, self.left, self.late = True, False, None, now, 0
        self.used += 1
        self.flying.append(now)
        self.latest = now

    def learn(
        self, limit: Limit | None, date: float | None, at: float, *, sent: float = 0.0, counted: bool = True
    ) -> None:
        """Take in a reply that arrived at `at`.

        Args:
            limit: the rate-limit headers, if there were any.
            date: the server's clock (whole seconds), if it was sent.
            at: our clock at arrival.
            sent: our clock when it left; other kinds of windows need it.
            counted: False where the server may never have seen the request (no answer, an error from the edge).
        """
        if self.flying:
            self.flying.remove(sent if sent in self.flying else self.flying[0])
        alone, self.alone = self.alone, False
        if alone:
            self.end = at + self.d
        if alone and limit is None and not counted:
            self.sounding = True
            return
        late = not alone and at >= self.early
        self.late += late
        if limit is None or self.end is None:
            return
        spent = max(1, limit.most - limit.left)  # this request at least, whatever the headers say
        self.k = min(self.k, limit.most) if limit.most > 0 else self.k
        self.used = spent + self._astray(at) if alone else max(self.used, spent)
        if date is not None and not late and 0.0 <= limit.resets - date <= longest(self.d):
            self._end(limit.resets - date, spent, at, alone=alone)

    def close(self, until: float, *, over: bool = False) -> None:
        """Send nothing before `until`; what leaves then flies alone.

        `over`: the server said that the window ends then (a 429 with its reset), so that a new one begins.
        """
        self.closed_until = max(self.closed_until, until)
        self.sounding = True
        if over:
            self.used, self.end = 0, None

    def sound(self) -> None:
        """Forget what was in flight (a restart): the next request flies alone and its headers tell.

        What was in flight may have opened the server's next window, LAG seconds after it left at the latest; so if all
        requests are used, the end of that one is waited for.
        """
        if self.flying and self.end is not None:
            self.end = max(self.end, self.latest + LAG + self.d)
        self.strays = [*self.strays, *self.flying][-self.k :]
        self.flying, self.alone, self.sounding = [], False, True

    def room(self, now: float, until: float) -> int:
        """How many requests may leave from `now` to `until`, if each is answered at once."""
        begin = max(now, self.closed_until)
        if until < begin:
            return 0
        if self._is_over(begin):
            return self.k * (1 + int((until - begin) / self.d))
        end = self._last()
        later = self.k * (1 + int((until - end) / self.d)) if until >= end else 0
        return max(0, self.k - self.used) + later

    def ends(self, now: float) -> float | None:
        """When the window that is open at `now` ends."""
        return None if self._is_over(now) else self.end

    def why(self, now: float) -> str:
        """What a request that may not leave at `now` waits for."""
        if now < self.closed_until:
            return "the server asked for a pause"
        if not self._is_over(now) and self.used >= self.k:
            return f"all {self.k:,} requests of the window are used"
        return "the first request of the window is in flight"

    def _end(self, rest: float, spent: int, at: float, *, alone: bool) -> None:
        """Take in that the server's window ended about `rest` seconds after its reply was sent."""
        assert self.end is not None
        shorter = rest + ROUNDING < self.d  # it was open already, or the server's d is less than ours
        if alone:
            self.early = self.left + (rest - ROUNDING if shorter or spent > 1 else self.d)
        if at + rest > self.end + ROUNDING or (alone and shorter):
            self.end = at + rest + ROUNDING

    def _astray(self, now: float) -> int:
        """How many requests of dead processes may come yet, or have come since the server counted.

        Asked where nothing of ours is in flight: what seems to be was sent by a process whose ledger is folded.
        """
        return sum(now < left + LAG for left in (*self.strays, *self.flying))

    def _is_over(self, now: float) -> bool:
        return now >= self._last()

    def _last(self) -> float:
        """When the window ends at the latest; one that a request without an answer has opened, LAG later."""
        if self.end is None:
            return self.latest + LAG + self.d if self.used else -inf
        return self.end
