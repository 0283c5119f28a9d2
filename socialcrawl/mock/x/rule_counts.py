"""What one token sent to one endpoint under one rule: counted on their own, whatever the main window says.

A request is *let in* when every limit has room for it, else refused with 429. A refused one opens and consumes nothing
under the rules: it is noted as `over` where there was no room, and leaves the other rules as they were. Time is the
server's clock and is passed in.
"""

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

from socialcrawl.mock.rate_windows import LimitRule, make_limit_headers

KEPT = 100  # windows of each tally that the report still shows one by one; the sums are of all


class Tally(ABC):
    """The count under one rule, for one token at one endpoint.

    Attributes:
        received: the requests counted: those let in and those over.
        over: the requests for which this rule had no room.
        fullest: the most that were let in in one window (sliding: in one span).
    """

    def __init__(self, rule: LimitRule) -> None:
        self.rule = rule
        self.received = self.over = self.fullest = 0

    @abstractmethod
    def left(self, now: float) -> int:
        """Return how many more requests there is room for."""

    @abstractmethod
    def ends(self, now: float) -> float:
        """Return the server's second at which there is room again, were there none; what the reset header tells."""

    @abstractmethod
    def _count(self, now: float, *, let_in: bool) -> int:
        """Return how many were let in in the window or span of this request, which is counted now."""

    def let_in(self, now: float) -> None:
        """Count a request that is let in by all limits."""
        self.received += 1
        self.fullest = max(self.fullest, self._count(now, let_in=True))

    def refuse(self, now: float) -> None:
        """Count a request that this limit refuses."""
        self.received += 1
        self.over += 1
        self._count(now, let_in=False)

    def headers(self, now: float) -> dict[str, str]:
        """Return the headers of the rule's family; none where it has no family."""
        if self.rule.family is None:
            return {}
        return make_limit_headers(self.rule.family, self.rule.k, self.left(now), self.ends(now))

    def report(self) -> dict[str, Any]:
        """Return the rule and the sums as plain values for JSON."""
        return {**asdict(self.rule), "received": self.received, "over": self.over, "fullest": self.fullest}


@dataclass(slots=True)
class Span:
    """One window of a rule: `received` are all that were counted in it, `over` those for which it had no room."""

    opened: float
    ends: float
    received: int = 0
    over: int = 0


class SeparateTally(Tally):
    """The count under a rule whose windows follow each other: fixed or aligned."""

    def __init__(self, rule: LimitRule) -> None:
        super().__init__(rule)
        self._spans: deque[Span] = deque(maxlen=KEPT)
        self._opened = 0

    def left(self, now: float) -> int:
        """Return how many more requests the window of this moment has room for."""
        span = self._span(now)
        return self.rule.k - (span.received - span.over)

    def ends(self, now: float) -> float:
        """Return the end of the window of this moment."""
        return self._span(now).ends

    def _span(self, now: float) -> Span:
        """Return the window of this moment: the open one, or else the one that a request would open."""
        if self._spans and now < self._spans[-1].ends:
            return self._spans[-1]
        if self.rule.kind == "fixed":
            return Span(now, now + self.rule.period)
        nth = now // self.rule.period
        nth += (nth + 1) * self.rule.period <= now  # the product may round down to this very moment
        return Span(nth * self.rule.period, (nth + 1) * self.rule.period)

    def _count(self, now: float, *, let_in: bool) -> int:
        span = self._span(now)
        if not self._spans or span is not self._spans[-1]:
            self._spans.append(span)
            self._opened += 1
        span.received += 1
        span.over += not let_in
        return span.received - span.over

    def report(self) -> dict[str, Any]:
        """Return the sums, the number of windows opened, and the last KEPT of these windows one by one."""
        return {**super().report(), "opened": self._opened, "windows": [asdict(span) for span in self._spans]}


class SlidingTally(Tally):
    """The count under a rule for any span of `period` seconds; a request leaves the span `period` after it came."""

    def __init__(self, rule: LimitRule) -> None:
        super().__init__(rule)
        self._times: deque[float] = deque()  # of those let in within the last period, at most k

    def left(self, now: float) -> int:
        """Return how many more requests there is room for."""
        while self._times and self._times[0] + self.rule.period <= now:
            self._times.popleft()
        return self.rule.k - len(self._times)

    def ends(self, now: float) -> float:
        """Return when the oldest request of the span leaves it."""
        self.left(now)
        return (self._times[0] if self._times else now) + self.rule.period

    def _count(self, now: float, *, let_in: bool) -> int:
        self.left(now)
        if let_in:
            self._times.append(now)
        return len(self._times)


def make_tally(rule: LimitRule) -> Tally:
    """Return the empty count under a rule."""
    return SlidingTally(rule) if rule.kind == "sliding" else SeparateTally(rule)
