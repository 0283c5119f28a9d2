"""A strand: the windows of a lane that count the requests to one endpoint, where several endpoints share some. Pure."""

from math import inf

from socialcrawl.engine.model import Limit, Reply
from socialcrawl.ratelimit.counted_window import AlignedWindow
from socialcrawl.ratelimit.fixed_window import FixedWindow
from socialcrawl.ratelimit.lane import Lane, day, smallest
from socialcrawl.ratelimit.pools import Part
from socialcrawl.ratelimit.window import ROUNDING, Window


class Strand:
    """One endpoint's part of a lane.

    Headers speak of the head of one of its pools, or of its own first rule: of that which their numbers fit; where they
    fit several, of that of which less is left, as servers speak of the window that is closest to its end. A guess makes
    things stricter only: a fixed window, whose end headers may bring nearer, takes none.

    Args:
        lane: holds all windows.
        endpoint: with its host.
        part: its windows in the lane.
    """

    def __init__(self, lane: Lane, endpoint: str, part: Part) -> None:
        self.lane, self.endpoint, self.some, self.heads = lane, endpoint, part.windows, part.heads
        self.credential = lane.credential
        self.spoken = self.heads[0]  # the place of the window of which the last headers spoke
        self.sure = True  # whether that is no guess
        self.shut = -inf  # other endpoints may open the windows at any time

    @property
    def windows(self) -> list[Window]:
        """The windows that count its requests."""
        return self.lane.those(self.some)

    @property
    def main(self) -> Window:
        """The window that the last headers spoke of."""
        return self.lane.windows[self.spoken]

    def when(self, now: float) -> float:
        """Return the earliest instant at which a request may leave; `now` if at once. Changes nothing."""
        return max(self.lane.when(now, self.some), self._gate)

    def free(self, now: float) -> bool:
        """Return whether a request may leave at `now`."""
        return now >= self._gate and self.lane.free(now, self.some)

    def take(self, now: float) -> None:
        """Count a request that leaves at `now`."""
        self.lane.take(now, self.some)

    def learn(self, sent: float, reply: Reply) -> None:
        """Take in the reply to the request that left at `sent`."""
        self.spoken, self.sure = self._meant(sent, reply)
        told = self.sure or not isinstance(self.main, FixedWindow)
        self.lane.learn(sent, reply, self.some, self.spoken if told else None)

    def close(self, until: float, *, over: bool = False, daily: bool = False) -> None:
        """Send nothing before `until` to any endpoint of a window; `over`: the server said that it ends then.

        Which it is, the headers said; without them, it may be any of its pools.
        """
        its = day(self.windows) if daily else None
        if its is not None:
            self.lane.close(until, over=over, place=self.lane.windows.index(its))
        elif over and not daily:
            self.lane.close(until, over=self.sure, place=self.spoken)
        else:
            for place in self.heads:
                self.lane.close(until, place=place)

    def rest(self, until: float, why: str = "") -> None:
        """Send nothing to this endpoint before `until`: it is in trouble (`why`), others need not be."""
        self.lane.rest(until, self.endpoint, why)

    def abandon(self, sent: float) -> None:
        """Note that nobody waits for the reply to the request that left at `sent`."""
        self.lane.abandon(sent, self.some)

    def room(self, now: float, until: float) -> int:
        """Return how many requests may leave from `now` to `until`, if each is answered at once."""
        return self.lane.room(max(now, self._gate), until, self.some)

    def foresees(self, until: float) -> bool:
        """See `Lane.foresees`."""
        return self.lane.foresees(until, self.some)

    def deadline(self, now: float) -> float:
        """See `Lane.deadline`."""
        return self.lane.deadline(now, self.heads[0])

    def why(self, now: float) -> str:
        """Return what a request that may not leave at `now` waits for."""
        if now < self._gate and self._gate >= self.lane.when(now, self.some):
            return self.lane.trouble(self.endpoint)
        return self.lane.why(now, self.some)

    @property
    def _gate(self) -> float:
        return self.lane.gates.get(self.endpoint, -inf)

    def _meant(self, sent: float, reply: Reply) -> tuple[int, bool]:
        """Return the place of the window that headers speak of, and whether that is sure."""
        limit = smallest(reply.limits, daily=False)
        heads, windows, rules = self.heads, self.lane.windows, self.lane.rules
        if len(heads) == 1:
            return heads[0], True
        alike = [at for at in heads if limit is not None and limit.most == rules[at].k]
        if limit is not None:
            heads = tuple(alike or (at for at in heads if limit.most == windows[at].k)) or heads
            heads = tuple(at for at in heads if _fits(windows[at], limit, sent, reply)) or heads
        return min(heads, key=lambda at: windows[at].k - windows[at].used(sent)), len(alike) == 1


def _fits(window: Window, limit: Limit, sent: float, reply: Reply) -> bool:
    """Return whether a window may end when the headers say, whole seconds or not."""
    rest = 0.0 if reply.date is None else limit.resets - reply.date
    if not 0.0 <= rest <= window.d + ROUNDING:
        return False
    if isinstance(window, AlignedWindow):
        return abs(limit.resets - round(limit.resets / window.d) * window.d) < ROUNDING
    if isinstance(window, FixedWindow) and reply.date is not None and sent < window.end:
        return window.early - ROUNDING <= reply.at + rest and sent + rest <= window.end + ROUNDING
    return True


Way = Lane | Strand
"""What a request to an endpoint goes by: a lane of its own, or a strand of one."""
