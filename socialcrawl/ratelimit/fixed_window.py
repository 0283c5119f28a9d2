"""The fixed window: k requests per d seconds, opened by its first request. Pure: time is passed in.

X opens a fixed window with the first request after the last one ended. The server's window therefore begins somewhere
between our sending and the reply, and requests in flight may fall on either side. These rules keep ours inside it:

- the first request of a window (and the first after a restart or a pause) flies alone, with nothing else in flight;
- the end is counted from the *arrival* of its reply, the latest moment at which the server can have begun, while what
  came back before the *earliest* end is all that is certain to count no more in the next window;
- the headers of a reply that flew alone are the truth about what is used and when the window ends; all others may only
  make things stricter: fewer requests left, a smaller k, a later end;
- a reply that arrives when the server's window may already be over is *late*: it may belong to the server's next
  window. Its headers say nothing about ours, and it counts in our next one until headers say more.

Without headers the window rests on our own requests alone: none counts for longer than d seconds.
"""

from math import inf

from socialcrawl.engine.model import Limit
from socialcrawl.ratelimit.counted_window import TINY, SlidingWindow
from socialcrawl.ratelimit.window import ALONE, ROUNDING, find_longest_reset


class FixedWindow(SlidingWindow):
    """A window of at most `k` requests per `d` seconds, opened by its first request.

    Attributes:
        first: the earliest instant at which the server's window can have begun.
        early, end: the earliest and the latest one at which it can end; from `end` on none is known to be open.
        server_count: the requests used by the headers' count, and those sent since; None without headers.
        server_count_at: when the request left whose headers said so.
        added: when the requests left that were added to the headers' count, since these came.
        alone: when the request left that flies alone, while it does.
        next_flies_alone: whether the next request flies alone although a window is open.
        length: seconds from the request that opens a window to the end that we keep; None until a reply has shown it.
    """

    def __init__(self, k: int, d: float, table: float | None = None) -> None:
        super().__init__(k, d)
        self.table = k if table is None else table  # the largest k that headers are believed
        self.first, self.early, self.end = -inf, -inf, -inf
        self.span = d  # no request counts for longer
        self.server_count: int | None = None
        self.server_count_at = -inf
        self.added: list[float] = []
        self.alone: float | None = None
        self.next_flies_alone = False
        self.last_reply_at = -inf  # when the last reply came
        self.length: float | None = None
        self._opened: float | None = None  # when the request left that opened the window; None: perhaps somebody else's

    def find_begin(self, now: float) -> float:
        """Return the earliest instant at which a received request counts together with one that leaves at `now`."""
        return max(self.first, now - self.span) if now < self.end else max(self.early, now - self.d)

    def find_release(self, oldest: float, now: float) -> float:
        """Return when `begin` will have moved past a request that was answered at `oldest`, or may have."""
        return min(self.end, oldest + self.span) if now < self.end else oldest + self.d

    def count_used(self, now: float) -> int:
        """Return how many requests of the window are used, for one that leaves at `now`."""
        return super().count_used(now) if self.server_count is None or now >= self.end else self.server_count

    def must_fly_alone(self, now: float) -> bool:
        """Return whether a request that leaves at `now` has to fly alone."""
        return self.next_flies_alone or now >= self.end

    def must_wait(self, now: float) -> bool:
        """Return whether something is in flight that has to land first, as it or the next request flies alone."""
        return bool(self.received.in_flight) and (self.alone is not None or self.must_fly_alone(now))

    def find_slot(self, now: float) -> float:
        """Return the earliest instant at which a request may leave; `now` if at once. Changes nothing."""
        if now < self.closed_until:
            return self.closed_until
        if self.must_wait(now):
            return now + ALONE
        if now < self.end and self.server_count is not None:
            return now if self.server_count < self.k else self.end
        when = super().find_slot(now)
        return min(when, self.end) if now < self.end else when

    def take(self, now: float) -> None:
        """Count a request that leaves at `now`."""
        super().take(now)
        if now >= self.end:
            self.server_count = None
        elif self.server_count is not None:
            self.server_count += 1
            self.added.append(now)
        if self.alone is not None:  # as a ledger has it where a process died: nothing flew alone
            self.alone, self.next_flies_alone = None, True
        elif self.must_fly_alone(now) and len(self.received.in_flight) == 1:
            self.alone, self.next_flies_alone = now, False

    def has_opened(self, sent: float) -> bool:
        """Return whether it is certain that the request that left at `sent` opens a window: it counts with no other."""
        if sent != self.alone or sent < self.end or self.early == -inf:
            return False
        return self.received.count_since(self.find_begin(sent)) == 1

    def follow(self, now: float, slack: float) -> None:
        """Count a request of another process that left at `now` and opens a window.

        Args:
            now: the earliest instant at which it can have been reserved.
            slack: seconds until the latest one. If that is too early by what we know, nothing that counts is let go.
        """
        if now + slack < self.early:
            self.early = self.first
        self.end = min(self.end, now)
        self.take(now)
        self.alone, self.next_flies_alone = now, False

    def learn(self, limit: Limit | None, date: float | None, at: float, *, sent: float, counted: bool = True) -> None:
        """Take in a reply that arrived at `at`.

        Args:
            limit: the rate-limit headers, if there were any.
            date: the server's clock (whole seconds), if it was sent.
            at: our clock at arrival.
            sent: our clock when it left.
            counted: False where the server may not have counted the request (no answer, an error from the edge).
        """
        self.received.add_reply(sent, at)
        alone, self.last_reply_at = sent == self.alone, at
        spent, rest = 0, None
        if limit is not None and limit.most > 0:
            spent = limit.most - limit.left
            self.k = int(min(self.table if alone else self.k, limit.most))
            rest = (
                None
                if date is None or not 0.0 <= limit.resets - date <= find_longest_reset(self.d)
                else limit.resets - date
            )
        if not alone:
            if spent > 0 and at < self.early:
                self._tighten(spent, rest, sent, at)
                self._measure()
            return
        self.alone = None
        if spent < 1 and not counted:
            self.next_flies_alone = True
            return
        if sent >= self.end:
            self._open(sent, at, spent)
        self._take_headers(spent, rest, sent, at)
        self._measure()

    def give_back(self, sent: float) -> None:
        """Uncount the request that left at `sent`: it has not reached the server."""
        super().give_back(sent)
        if self.server_count is not None and sent in self.added:
            self.added.remove(sent)
            self.server_count -= 1
        if sent == self.alone:
            self.alone, self.next_flies_alone = None, True

    def close(self, until: float, *, over: bool = False) -> None:
        """Send nothing before `until`; what leaves then flies alone.

        `over`: the server said that the window ends then (a 429 with its reset), so that a new one begins.
        """
        super().close(until)
        self.next_flies_alone = True
        if over:
            self.early, self.end, self.server_count = self.last_reply_at + TINY, until, None

    def forget_in_flight(self) -> None:
        """Forget what was in flight (a restart): the next request flies alone and its headers show the state."""
        super().forget_in_flight()
        self.alone, self.next_flies_alone = None, True

    def insert(self, left: float, at: float) -> None:
        """Count a request that is reported afterwards, unless the headers were counted later and have it already."""
        super().insert(left, at)
        if self.server_count is not None and at > self.server_count_at:
            self.server_count += 1

    def distrust_past(self) -> None:
        """Let the next request fly alone; until the next window any d seconds count.

        One that was inserted may have opened the server's window before ours, which then ends before ours.
        """
        self.first = self.early = -inf
        self.probe()

    def probe(self) -> None:
        """Let the next request fly alone; what is in flight is not forgotten."""
        self.next_flies_alone = True
        if self.alone not in self.received.in_flight:
            self.alone = None

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set, with nothing in flight."""
        super().shift(delta)
        self.first, self.early, self.end = self.first + delta, self.early + delta, self.end + delta
        self.last_reply_at, self.server_count_at = self.last_reply_at + delta, self.server_count_at + delta
        self.added.clear()
        self._opened = None if self._opened is None else self._opened + delta

    def count_slots(self, now: float, until: float) -> int:
        """Return how many requests may leave from `now` to `until`, if each is answered at once; see `can_foresee`."""
        begin = max(now, self.closed_until)
        if until < begin:
            return 0
        length = self.d if self.length is None else self.length
        ends = begin + length if begin >= self.end else self.end
        later = 1 + int((until - ends) / length) if until >= ends else 0
        return max(0, self.k - self.count_used(begin)) + self.k * later

    def can_foresee(self, until: float) -> bool:
        """Return whether `room` is known up to `until`: headers may end windows sooner or later than the table does."""
        return self.length is not None or until < max(self.end, self.closed_until) + ROUNDING

    def find_end(self, now: float) -> float | None:
        """Return when the window that is open at `now` ends."""
        return self.end if now < self.end else None

    def find_length(self, now: float) -> float:
        """Return the full length of the window open at `now`, in seconds: headers may tell another one than d."""
        return min(self.d, self.end - self.first) if now < self.end and self.first > -inf else self.d

    def explain_wait(self, now: float) -> str:
        """Return what a request that may not leave at `now` waits for."""
        if now >= self.closed_until and now < self.end and self.count_used(now) >= self.k:
            return f"all {self.k:,} requests of the window are used"
        if now >= self.closed_until and self.must_wait(now):
            return "the first request of the window is in flight"
        return super().explain_wait(now)

    def _open(self, sent: float, at: float, spent: int) -> None:
        """Begin a window: the request that left at `sent`, alone, fell into one that the last had ended before."""
        begin = self.find_begin(sent)
        # Whoever opened it: this request, or a late one, or somebody else's.
        ours = begin if spent > self.received.count_since(begin) else self.received.find_earliest(begin)
        self.first = sent if spent == 1 else max(begin, ours)
        self.early, self.end = self.first + self.d, at + self.d
        self.span, self.server_count = self.d, None
        self._opened = sent if spent <= 1 else None

    def _measure(self) -> None:
        """Learn how long a window lasts from the one that is open, if our own request opened it."""
        if self._opened is not None:
            self.length = self.end - self._opened

    def _take_headers(self, spent: int, rest: float | None, sent: float, at: float) -> None:
        """Take in the headers of a reply that flew alone: used by them, and what a dead process may still have sent."""
        if spent > 0:
            self.server_count, self.server_count_at = spent + self.received.count_since(at + TINY), sent
            self.added.clear()
        if rest is None:
            return
        low, high = sent + rest - ROUNDING, at + rest + ROUNDING  # when the server's window ends
        if low > self.end:
            self._stretch(rest, high)
        else:  # only our own requests make it certain how early it can end: a reset may be reported too late
            self.early, self.end = min(self.early, high), min(self.end, high)

    def _tighten(self, spent: int, rest: float | None, sent: float, at: float) -> None:
        """Take in the headers of a reply that was not late, where they make things stricter."""
        if spent >= self.count_used(at):
            self.server_count, self.server_count_at = spent, sent
            self.added.clear()
        if rest is not None and at + rest > self.end + ROUNDING:
            self._stretch(rest, at + rest + ROUNDING)

    def _stretch(self, rest: float, end: float) -> None:
        self.end = end
        if rest > self.d + ROUNDING:  # it lasts longer than the table says
            self.span = inf
