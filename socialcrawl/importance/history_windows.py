"""Windows over the history of cash: how important a node is now, in a graph that changes (Abiteboul et al., section 3).

G, all cash ever paid out, is the clock: every time T here is in units of G. Under greedy selection a crawl of all nodes
adds about 2 to it. A *measure* of a node is (C, G) at one of its crawls: what it had gathered, and when, before G += C.

    Fixed(T)            sum of C with G(crawl) >= G - T, over T
    Variable(m)         sum of the last m C over the span from the crawl before them to the last one
    ImprovedFixed(T)    Fixed where T holds 3 measures at least; else the last 3 over their span
    Interpolation(T)    one measure: H := H (T-d)/T + C for d = G - G(last crawl) < T, else C T/d; H/T

The paper is silent on what a node counts before it has measures enough: here a node *joins* with a default importance,
which fills the part of its window that lies before it joined. A node that never joined begins with nothing at G = 0.
"""

from abc import ABC, abstractmethod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Kind = TypeVar("Kind", bound=np.generic)

MONTH = 2.0  # what n greedy crawls of n nodes add to G: the paper's month, by its Figure 5


class HistoryWindow(ABC):
    """What is kept of the crawls of each node, by row, and the importance read from it.

    Rows grow on demand. G never goes back: each call is at the G of the calls before, or later.

    Attributes:
        fresh: importance is read as if every node were crawled at this very moment, with the cash that it holds now;
            nothing is stored. Otherwise it is that of the last crawls.
    """

    def __init__(self, *, fresh: bool = False) -> None:
        self.fresh = fresh

    @abstractmethod
    def join(self, row: int, paid: float, importance: float) -> None:
        """Let a node begin at G = `paid`, before its first crawl, as if it had always had this `importance`."""

    @abstractmethod
    def record_crawl(self, row: int, cash: float, paid: float) -> None:
        """Take the measure of a crawl: the `cash` that the node pays out, and G = `paid` before that."""

    @abstractmethod
    def compute_stored(self, rows: Rows, paid: float) -> Floats:
        """Return the importance of `rows` at G = `paid` by their crawls alone, float64."""

    @abstractmethod
    def compute_pending(self, rows: Rows, cash: Floats, paid: float) -> Floats:
        """Return the importance of `rows` if all were crawled now, holding `cash`, at G = `paid`, float64."""

    @abstractmethod
    def count_measures(self, rows: Rows) -> Rows:
        """Return the number of measures kept of each of `rows` as of the last crawl of any, int64 (Figure 5)."""

    def compute_importance(self, rows: Rows, cash: Floats, paid: float) -> Floats:
        """Return the importance X of `rows`, which hold `cash` now, at G = `paid`, float64."""
        return self.compute_pending(rows, cash, paid) if self.fresh else self.compute_stored(rows, paid)


class FixedHistory(HistoryWindow):
    """All measures of the last `time`, in units of G; their cash over `time`.

    The part of the window before a node joined counts as its default importance.

    Raises:
        ValueError: `time` is not above 0.
    """

    def __init__(self, time: float, *, fresh: bool = False) -> None:
        super().__init__(fresh=fresh)
        self.time = _check_positive(time)
        self._log = _Log(time)
        self._born, self._default = np.zeros(1024), np.zeros(1024)

    def join(self, row: int, paid: float, importance: float) -> None:
        """Let a node begin at G = `paid`; `importance` counts for the time before."""
        self._born, self._default = grow_rows(self._born, row + 1), grow_rows(self._default, row + 1)
        self._born[row], self._default[row] = paid, importance

    def record_crawl(self, row: int, cash: float, paid: float) -> None:
        """Take a measure; those of all nodes that are older than `time` are forgotten."""
        self._log.write(row, cash, paid)

    def compute_stored(self, rows: Rows, paid: float) -> Floats:
        """Return the importance of `rows` at G = `paid` by their crawls alone, float64."""
        return self.read(rows, paid)[0] / self.time

    def compute_pending(self, rows: Rows, cash: Floats, paid: float) -> Floats:
        """Return the importance of `rows` if all were crawled now, float64: half the time between crawls too high."""
        return (self.read(rows, paid)[0] + cash) / self.time

    def count_measures(self, rows: Rows) -> Rows:
        """Return the number of measures of `rows` in the window that ends at the last crawl of any, int64."""
        return self._log.read(rows, self._log.latest)[1]

    def read(self, rows: Rows, paid: float) -> tuple[Floats, Rows]:
        """Return the cash of the window that ends at G = `paid`, with the default's part, float64.

        How many crawls, int64.
        """
        top = int(rows.max(initial=-1)) + 1
        self._born, self._default = grow_rows(self._born, top), grow_rows(self._default, top)
        sums, counts = self._log.read(rows, paid)
        before = np.clip(self.time - (paid - self._born[rows]), 0.0, self.time)
        return sums + self._default[rows] * before, counts


class VariableHistory(HistoryWindow):
    """The last `last` measures of each node: their cash over their span of G.

    The default importance is the measure before the first crawl: it covers `default` of G, and leaves in its turn.

    Args:
        last: m, how many measures are kept.
        default: units of G that the default importance stands for.
        fresh: see `HistoryWindow`.

    Raises:
        ValueError: `last` is below 1, or `default` not above 0.
    """

    def __init__(self, last: int, *, default: float = MONTH, fresh: bool = False) -> None:
        super().__init__(fresh=fresh)
        if last < 1:
            raise ValueError(f"{last} measures: a window keeps at least 1")
        self.last, self.default = last, _check_positive(default)
        self._taken = np.zeros(1024, np.int64)  # measures ever taken: measure k lies at k modulo the ring's length
        self._cash, self._at = np.zeros((1024, last)), np.zeros((1024, last + 1))

    def join(self, row: int, paid: float, importance: float) -> None:
        """Let a node begin at G = `paid` with one measure, which is its default importance."""
        self._reserve(row + 1)
        self._cash[row], self._at[row, 0] = 0.0, paid - self.default
        self._take(row, 1, importance * self.default, paid)

    def record_crawl(self, row: int, cash: float, paid: float) -> None:
        """Take a measure; the oldest leaves where there are `last` already."""
        self._reserve(row + 1)
        self._take(row, int(self._taken[row]) + 1, cash, paid)

    def compute_stored(self, rows: Rows, paid: float) -> Floats:
        """Return the importance of `rows` by their last measures, float64; 0 where these span no time."""
        self._reserve(int(rows.max(initial=-1)) + 1)
        taken = self._taken[rows]
        end = self._at[rows, taken % (self.last + 1)]
        return _divide(self._cash[rows].sum(axis=1), end - self._find_before(rows, taken))

    def compute_pending(self, rows: Rows, cash: Floats, paid: float) -> Floats:
        """Return the importance of `rows` if all were crawled now, float64."""
        self._reserve(int(rows.max(initial=-1)) + 1)
        taken = self._taken[rows] + 1
        held = self._cash[rows]
        held[np.arange(len(rows)), taken % self.last] = cash
        return _divide(held.sum(axis=1), paid - self._find_before(rows, taken))

    def count_measures(self, rows: Rows) -> Rows:
        """Return the number of measures of `rows`, `last` at most, int64; the default is one while it is kept."""
        self._reserve(int(rows.max(initial=-1)) + 1)
        return np.minimum(self._taken[rows], self.last)

    def _find_before(self, rows: Rows, taken: Rows) -> Floats:
        """Return G at the crawl before the last measures of `rows`, of which `taken` were taken."""
        return np.asarray(self._at[rows, np.maximum(taken - self.last, 0) % (self.last + 1)])

    def _take(self, row: int, number: int, cash: float, paid: float) -> None:
        self._taken[row] = number
        self._cash[row, number % self.last] = cash
        self._at[row, number % (self.last + 1)] = paid

    def _reserve(self, size: int) -> None:
        if size > len(self._taken):
            self._taken, self._cash = grow_rows(self._taken, size), grow_rows(self._cash, size)
            self._at = grow_rows(self._at, size)


class ImprovedFixedHistory(HistoryWindow):
    """A fixed window of `time` where it holds `least` measures; else the last `least` of them, over their span.

    A node that joined within `time` has no older measure: its window is a fixed one. Later, its default is the measure
    before its first crawl, and covers `time`.

    Raises:
        ValueError: `time` is not above 0, or `least` below 1.
    """

    def __init__(self, time: float, *, least: int = 3, fresh: bool = False) -> None:
        super().__init__(fresh=fresh)
        self.time, self.least = time, least
        self._fixed, self._last = FixedHistory(time), VariableHistory(least, default=time)
        self._born = np.zeros(1024)

    def join(self, row: int, paid: float, importance: float) -> None:
        """Let a node begin at G = `paid`; `importance` counts for the time before."""
        self._born = grow_rows(self._born, row + 1)
        self._born[row] = paid
        self._fixed.join(row, paid, importance)
        self._last.join(row, paid, importance)

    def record_crawl(self, row: int, cash: float, paid: float) -> None:
        """Take a measure; those that are older than `time` are forgotten, except for the last `least`."""
        self._fixed.record_crawl(row, cash, paid)
        self._last.record_crawl(row, cash, paid)

    def compute_stored(self, rows: Rows, paid: float) -> Floats:
        """Return the importance of `rows` at G = `paid` by their crawls alone, float64."""
        sums, counts = self._fixed.read(rows, paid)
        return np.where(self._has_enough(rows, counts, paid), sums / self.time, self._last.compute_stored(rows, paid))

    def compute_pending(self, rows: Rows, cash: Floats, paid: float) -> Floats:
        """Return the importance of `rows` if all were crawled now, float64."""
        sums, counts = self._fixed.read(rows, paid)
        enough = self._has_enough(rows, counts + 1, paid)
        return np.where(enough, (sums + cash) / self.time, self._last.compute_pending(rows, cash, paid))

    def count_measures(self, rows: Rows) -> Rows:
        """Return the number of measures of `rows`, int64: those of the fixed window, or the last `least`."""
        return np.maximum(self._fixed.count_measures(rows), self._last.count_measures(rows))

    def _has_enough(self, rows: Rows, counts: Rows, paid: float) -> NDArray[np.bool_]:
        """Return whether `counts` crawls in the fixed window are enough, or all that there is lies within it."""
        self._born = grow_rows(self._born, int(rows.max(initial=-1)) + 1)
        return (counts >= self.least) | (self._born[rows] >= paid - self.time)


class InterpolatedHistory(HistoryWindow):
    """One measure a node: when it was crawled last, and H, the cash of the `time` before that, as if it came evenly.

    Raises:
        ValueError: `time` is not above 0.
    """

    def __init__(self, time: float, *, fresh: bool = False) -> None:
        super().__init__(fresh=fresh)
        self.time = _check_positive(time)
        self.history: Floats = np.zeros(1024)
        self._last = np.zeros(1024)
        self._known = np.zeros(1024, np.bool_)

    def join(self, row: int, paid: float, importance: float) -> None:
        """Let a node begin at G = `paid` with H = `time` * `importance`."""
        self._set(row, self.time * importance, paid)

    def record_crawl(self, row: int, cash: float, paid: float) -> None:
        """Take a measure: H by the rule above, then the node's own G, which is that after paying."""
        self._reserve(row + 1)
        history, d = float(self.history[row]), paid - float(self._last[row])
        kept = history * (self.time - d) / self.time + cash if d < self.time else cash * self.time / d
        self._set(row, kept, paid + cash)

    def compute_stored(self, rows: Rows, paid: float) -> Floats:
        """Return the importance H/T of `rows` by their crawls alone, float64."""
        self._reserve(int(rows.max(initial=-1)) + 1)
        return np.asarray(self.history[rows] / self.time)

    def compute_pending(self, rows: Rows, cash: Floats, paid: float) -> Floats:
        """Return the importance of `rows` if all were crawled now, float64."""
        self._reserve(int(rows.max(initial=-1)) + 1)
        d = paid - self._last[rows]
        recent = self.history[rows] * (self.time - d) / self.time + cash
        return np.where(d < self.time, recent, cash * self.time / np.maximum(d, self.time)) / self.time

    def count_measures(self, rows: Rows) -> Rows:
        """Return 1 for each of `rows` that joined or was crawled, 0 for others, int64."""
        self._reserve(int(rows.max(initial=-1)) + 1)
        return self._known[rows].astype(np.int64)

    def _set(self, row: int, history: float, last: float) -> None:
        self._reserve(row + 1)
        self.history[row], self._last[row], self._known[row] = history, last, True

    def _reserve(self, size: int) -> None:
        if size > len(self.history):
            self.history, self._last = grow_rows(self.history, size), grow_rows(self._last, size)
            self._known = grow_rows(self._known, size)


class _Log:
    """The measures of all nodes in the order of their crawls, each with the place of its node's one before.

    As G is the clock, the log is sorted by it: what is older than `time` is a beginning, and is cut off now and then.
    """

    def __init__(self, time: float) -> None:
        self._time, self.latest = time, 0.0
        self._size, self._cut = 0, 0  # how many lie in the arrays, and how many were cut off before them
        self._cash, self._at, self._former = np.zeros(1024), np.zeros(1024), np.zeros(1024, np.int64)
        self._newest = np.full(1024, -1)

    def write(self, row: int, cash: float, paid: float) -> None:
        """Add one measure."""
        if self._size == len(self._cash):
            self._make_room()
        self._newest = grow_rows(self._newest, row + 1, -1)
        place = self._size
        self._cash[place], self._at[place], self._former[place] = cash, paid, self._newest[row]
        self._newest[row] = place + self._cut
        self._size, self.latest = place + 1, paid

    def read(self, rows: Rows, paid: float) -> tuple[Floats, Rows]:
        """Return the sum of cash of `rows` since G = `paid` less the time, float64, and of how many measures, int64."""
        self._newest = grow_rows(self._newest, int(rows.max(initial=-1)) + 1, -1)
        sums, counts = np.zeros(len(rows)), np.zeros(len(rows), np.int64)
        alive, places = np.arange(len(rows)), self._newest[rows] - self._cut
        while len(alive):
            there = (places >= 0) & (self._at[np.maximum(places, 0)] >= paid - self._time)
            alive, places = alive[there], places[there]
            sums[alive] += self._cash[places]
            counts[alive] += 1
            places = self._former[places] - self._cut
        return sums, counts

    def _make_room(self) -> None:
        """Cut off what is too old; where that is less than half, double the arrays."""
        old = int(np.searchsorted(self._at[: self._size], self.latest - self._time))
        left = self._size - old
        for kept in (self._cash, self._at, self._former):
            kept[:left] = kept[old : self._size].copy()
        self._size, self._cut = left, self._cut + old
        if 2 * left > len(self._cash):
            size = 2 * len(self._cash)
            self._cash, self._at, self._former = (
                np.resize(self._cash, size),
                np.resize(self._at, size),
                np.resize(self._former, size),
            )


def grow_rows(kept: NDArray[Kind], size: int, fill: float = 0) -> NDArray[Kind]:
    """Return the array with `size` rows or more: itself if it is long enough, else a longer copy, new rows `fill`."""
    if size <= len(kept):
        return kept
    more = np.full((2 * size - len(kept), *kept.shape[1:]), fill, kept.dtype)
    return np.concatenate([kept, more])


def _check_positive(time: float) -> float:
    if not time > 0:
        raise ValueError(f"a window of {time}: its length in units of G must be above 0")
    return time


def _divide(sums: Floats, spans: Floats) -> Floats:
    """Return `sums` / `spans`, 0 where a span is 0."""
    return np.divide(sums, spans, out=np.zeros(len(sums)), where=spans > 0)
