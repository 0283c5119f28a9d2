"""The gate: every limit of the server at once, main windows and rules, and what each has counted.

What becomes of a request, decided after what was seen of X (a 429 with 49 of 50 left in the main window; a day's cap
of 10 with 39,989 of 40,000 left, so the refused eleventh was counted in the main window too):

- the main window counts every request that it receives, refused or not, and opens with the first of them;
- a rule counts what is let in by all limits, and as `over` what it had no room for itself;
- so what another limit refuses neither opens a window of a rule nor takes a slot of it.

What one token sent to one endpoint under one rule is counted on its own. A refused request opens and consumes nothing
under the rules. Time is the server's clock and is passed in.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from socialcrawl.mock.rate_windows import LimitRule, TokenWindow, TokenWindows, make_limit_headers

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
    def count_left(self, now: float) -> int:
        """Return how many more requests there is room for."""

    @abstractmethod
    def find_end(self, now: float) -> float:
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
        return make_limit_headers(self.rule.family, self.rule.k, self.count_left(now), self.find_end(now))

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

    def count_left(self, now: float) -> int:
        """Return how many more requests the window of this moment has room for."""
        span = self._span(now)
        return self.rule.k - (span.received - span.over)

    def find_end(self, now: float) -> float:
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

    def count_left(self, now: float) -> int:
        """Return how many more requests there is room for."""
        while self._times and self._times[0] + self.rule.period <= now:
            self._times.popleft()
        return self.rule.k - len(self._times)

    def find_end(self, now: float) -> float:
        """Return when the oldest request of the span leaves it."""
        self.count_left(now)
        return (self._times[0] if self._times else now) + self.rule.period

    def _count(self, now: float, *, let_in: bool) -> int:
        self.count_left(now)
        if let_in:
            self._times.append(now)
        return len(self._times)


def make_tally(rule: LimitRule) -> Tally:
    """Return the empty count under a rule."""
    return SlidingTally(rule) if rule.kind == "sliding" else SeparateTally(rule)


@dataclass(frozen=True, slots=True)
class Passage:
    """What the gate says of a request.

    Attributes:
        window: the main window in which it was counted; the status of the answer belongs into its `answers`.
        refused: whether a limit has no room for it.
        headers: those of the main window and of all families, as they stood when it arrived.
    """

    window: TokenWindow
    refused: bool
    headers: dict[str, str]


class Gate:
    """All limits of a server.

    Args:
        windows: the main windows of the tokens of each kind.
        rules: the rules besides, by endpoint; each holds for every token on its own, of whatever kind.
    """

    def __init__(self, windows: Mapping[str, TokenWindows], rules: Mapping[str, Sequence[LimitRule]]) -> None:
        self._windows = windows
        self._rules = rules
        self._tallies: dict[tuple[str, str, str], list[Tally]] = {}
        self._over = 0

    def take(self, token: str, who: str, endpoint: str, now: float) -> Passage:
        """Return the passage of a request, counted at the server's second `now`.

        Args:
            token: its label.
            who: its kind, `app` or `user`.
            endpoint: where it goes.
            now: when it came.
        """
        window = self._windows[who].take(token, endpoint, now)
        tallies = self._tallies_of(token, who, endpoint)
        short = [one for one in tallies if one.count_left(now) < 1]
        refused = window.full or bool(short)
        self._over += refused
        for one in short:
            one.refuse(now)
        if not refused:
            for one in tallies:
                one.let_in(now)
        headers = window.headers()
        for one in tallies:
            headers |= one.headers(now)
        return Passage(window, refused, headers)

    def _tallies_of(self, token: str, who: str, endpoint: str) -> list[Tally]:
        if endpoint not in self._rules:
            return []
        key = (token, who, endpoint)
        if key not in self._tallies:
            self._tallies[key] = [make_tally(rule) for rule in self._rules[endpoint]]
        return self._tallies[key]

    def report(self) -> dict[str, Any]:
        """Return the counts as plain values for JSON: `windows` in the order of opening, `rules`, and `over` of all."""
        windows = [window for windows in self._windows.values() for window in windows.report()]
        rules = [
            {"token": token, "who": who, "endpoint": endpoint, **one.report()}
            for (token, who, endpoint), tallies in self._tallies.items()
            for one in tallies
        ]
        return {"windows": sorted(windows, key=lambda window: window["opened"]), "rules": rules, "over": self._over}
