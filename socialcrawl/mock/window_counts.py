"""Windows of any shape and key, as services name them (`service.WindowSpec`): counted here, and reported one by one.

A request is let in where every window that counts it has room. A window with `refused` counts whatever comes, a window
without it what is let in; `over` are the requests for which a window itself had no room.
"""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from socialcrawl.mock.service import WindowSpec, WindowState


@dataclass(slots=True)
class WindowCount:
    """One window, or for `sliding` all that one key ever counted.

    Attributes:
        counting: what it counts.
        opened, ends: Unix seconds; a request at `ends` falls into the next (sliding: a period after the last).
        requests, over: those that came, and those for which it had no room.
        taken: how much of it is used.
        fullest: the most that was ever used at once.
        answers: how often each status was answered.
    """

    counting: WindowSpec
    opened: float
    ends: float
    requests: int = 0
    over: int = 0
    taken: int = 0
    fullest: int = 0
    answers: Counter[int] = field(default_factory=Counter)
    times: deque[float] = field(default_factory=deque)

    def look(self, now: float) -> None:
        """Update the window to `now`: requests that have left a sliding span are given back."""
        if self.counting.kind == "sliding":
            while self.times and self.times[0] + self.counting.period <= now:
                self.times.popleft()
            self.taken = len(self.times)

    def add(self, now: float) -> None:
        """Count a request in the window."""
        self.taken += 1
        self.fullest = max(self.fullest, self.taken)
        if self.counting.kind == "sliding":
            self.times.append(now)
            self.ends = now + self.counting.period

    def standing(self) -> WindowState:
        """Return how it stands; a sliding span has room again when its oldest request leaves it."""
        ends = self.times[0] + self.counting.period if self.times else self.ends
        return WindowState(self.counting, max(0, self.counting.k - self.taken), ends)

    def report(self) -> dict[str, Any]:
        """Return the window as plain values for JSON."""
        counting = self.counting
        return {
            "key": list(counting.key),
            "kind": counting.kind,
            "period": counting.period,
            "opened": self.opened,
            "opened_utc": datetime.fromtimestamp(self.opened, UTC).isoformat(),
            "ends": self.ends,
            "limit": counting.k,
            "requests": self.requests,
            "over": self.over,
            "fullest": self.fullest,
            "answers": {str(status): n for status, n in sorted(self.answers.items())},
        }


class WindowCounts:
    """All windows of one platform."""

    def __init__(self) -> None:
        self._open: dict[tuple[object, ...], WindowCount] = {}
        self._all: list[WindowCount] = []
        self._over = 0

    def take(self, countings: Sequence[WindowSpec], now: float) -> tuple[list[WindowCount], bool]:
        """Return the windows of a request that comes at the server's second `now`, counted.

        And whether it is refused.
        """
        slots = [self._slot(counting, now) for counting in countings]
        short = [slot for slot in slots if slot.taken >= slot.counting.k]
        refused = bool(short)
        self._over += refused
        for slot in slots:
            over = slot.taken >= slot.counting.k
            if not refused or over or slot.counting.refused:
                self._keep(slot)
                slot.requests += 1
                slot.over += over
            if not refused or slot.counting.refused:
                slot.add(now)
        return slots, refused

    def _slot(self, counting: WindowSpec, now: float) -> WindowCount:
        """Return the window of this moment: the open one, or else the one that a request would open."""
        slot = self._open.get((counting.key, counting.kind, counting.period))
        if slot is not None and (now < slot.ends or counting.kind == "sliding"):
            slot.look(now)
            return slot
        if counting.kind != "aligned":
            return WindowCount(counting, now, now + counting.period)
        nth = now // counting.period
        nth += (nth + 1) * counting.period <= now  # the product may round down to this very moment
        return WindowCount(counting, nth * counting.period, (nth + 1) * counting.period)

    def _keep(self, slot: WindowCount) -> None:
        key = (slot.counting.key, slot.counting.kind, slot.counting.period)
        if self._open.get(key) is not slot:
            self._open[key] = slot
            self._all.append(slot)

    def report(self) -> dict[str, Any]:
        """Return the counts as plain values for JSON: `windows` in the order of opening, and `over` of them all."""
        windows = sorted((slot.report() for slot in self._all), key=lambda window: window["opened"])
        return {"windows": windows, "over": self._over}
