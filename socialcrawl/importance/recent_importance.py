"""OPIC's importance by the last part of its history (Abiteboul et al., section 3): who counts now.

    X[i] = (H_now[i] - H_then[i] + C[i] min(1, time / d[i])) / (time + 1)    H_then: H when G was `time` ago

G, all cash ever paid out, is the clock, and d what it went on by since the row paid last, or joined: of cash that took
longer than `time` to come, only that part counts. What is paid and what is held sum to 1 at most after every step. As
long as the clock is younger than `time` nothing is left out, and X is (H + C) / (G + 1), as without a memory.

The paper's windows give newcomers a default history, the mean of the last newcomers. A crawl that begins with a few
seeds has discovered most of what it knows recently, and such defaults feed on each other: in a simulated crawl of
8,300 accounts they summed to 475. Here nobody has a default.
"""

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from socialcrawl.importance.history_windows import grow_rows
from socialcrawl.importance.opic import NOBODY, Cash

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


class RecentImportance:
    """The importance of rows by what they were paid in the last part of the clock.

    Args:
        cash: the accounts; all that joins, pays, leaves or merges has to do so through this object from the beginning.
        time: how far importance looks back, in units of G.

    Raises:
        ValueError: `time` is not above 0.
    """

    def __init__(self, cash: Cash, time: float) -> None:
        if not time > 0:
            raise ValueError(f"a memory of {time}: its length in units of G must be above 0")
        self.cash, self.time = cash, time
        self._at: list[float] = []  # G before each payment, ascending
        self._rows: list[int] = []  # who paid
        self._amounts: list[float] = []
        self._last = np.zeros(1024)  # G when each row paid last, or joined
        self._room = 4096  # payments after which those that are too old are let go

    @property
    def covers_all(self) -> bool:
        """Whether the clock is younger than what importance looks back on, so that all history counts."""
        return self.cash.paid < self.time

    def join(self, rows: Rows) -> None:
        """Make `rows` (distinct) known, without cash; those that are known already are left as they are."""
        new = rows[~(self.cash.known.take(rows, mode="clip") & (rows < len(self.cash.known)))]
        self.cash.join(rows)
        self._last = grow_rows(self._last, len(self.cash.known))
        self._last[new] = self.cash.paid

    def pay(self, row: int, targets: Rows, shares: Floats | None = None) -> None:
        """Note and pay out the cash of `row` to `targets` (distinct), as `Cash.pay`."""
        self.join(np.append(targets, row) if row not in targets else targets)
        self._note(row)
        self.cash.pay(row, targets, shares)

    def leave(self, row: int) -> None:
        """Note the cash of `row`, and let the virtual page have it; the row is known no more (`Cash.leave`)."""
        if self.cash.knows(row, NOBODY):
            self._note(row)
            self.cash.leave(row)

    def merge(self, left: int, row: int) -> None:
        """Let `row` have the cash and the history of `left`, which is known no more: two names of one node."""
        self._rows = [row if one == left else one for one in self._rows]
        held = self.cash.get_cash(np.array([left, row]))
        lasts = self._last[[left, row]]
        self._last[row] = float(held @ lasts / held.sum()) if held.sum() > 0.0 else lasts.max()
        self.cash.merge(left, row)

    def compute_importance(self, rows: Rows) -> Floats:
        """Return the importance of `rows`, float64; over all rows it sums to 1 at most."""
        if self.covers_all:
            return self.cash.estimate(rows)
        begin = bisect_left(self._at, self.cash.paid - self.time)
        held, waited = self.cash.get_cash(rows), self.cash.paid - grow_rows(self._last, len(self.cash.known))
        gained = np.bincount(np.array(self._rows[begin:], np.int64), self._amounts[begin:], len(waited))
        recent = held * (self.time / np.maximum(waited[rows], self.time))
        return np.asarray((gained[rows] + recent) / (self.time + 1.0))

    def _note(self, row: int) -> None:
        if len(self._at) >= self._room:
            old = bisect_left(self._at, self.cash.paid - self.time)
            del self._at[:old], self._rows[:old], self._amounts[:old]
            self._room = max(4096, 2 * len(self._at))
        self._at.append(self.cash.paid)
        self._rows.append(row)
        self._amounts.append(float(self.cash.cash[row]) + self.cash.offset)
        self._last[row] = self.cash.paid + self._amounts[-1]
