"""Adaptive OPIC: cash, and a window over its history in place of all of it (Abiteboul et al., section 3).

Newcomers get a default history: the mean importance of those that were discovered most recently, since important nodes
are discovered first. Of these, importance is read with the cash they hold now, as most of them were never crawled.
The paper is silent on two points. Before there are newcomers the default is the mean of all nodes. And the cash of the
start is what a unit of G had brought before G = 0, so that it is not mistaken for a sudden wealth.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from socialcrawl.importance.history_windows import HistoryWindow
from socialcrawl.importance.opic import Cash

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

RECENT = 100  # newcomers: how many of the last count as recently introduced
BEFORE = -1.0  # G at which the rows of the start begin: their cash sums to 1, what a unit of G brings


class AdaptiveOpic:
    """The importance of rows by the cash they got in a window of G.

    Args:
        cash: the accounts; all that joins or pays has to do so through this object from the beginning.
        window: what is kept of the crawls.
        recent: how many of the last newcomers give the next their default history.

    Raises:
        ValueError: `recent` is below 1.
    """

    def __init__(self, cash: Cash, window: HistoryWindow, recent: int = RECENT) -> None:
        if recent < 1:
            raise ValueError(f"{recent} recent newcomers: the default history needs at least 1")
        self.cash, self.window = cash, window
        self._recent: deque[int] = deque(maxlen=recent)

    def start(self, rows: Rows) -> None:
        """Give each of `rows` (distinct) the same share of a total of 1, and that as its default importance."""
        self.cash.start(rows)
        share = 1.0 / (len(rows) + (self.cash.small is not None))
        for row in rows.tolist():
            self.window.join(row, BEFORE, share)

    def join(self, rows: Rows) -> None:
        """Make `rows` (distinct) known: no cash, and the default history. Those known already are left as they are."""
        new = rows[~(self.cash.known.take(rows, mode="clip") & (rows < len(self.cash.known)))]
        if len(new):
            importance = self.estimate_newcomer()
            self.cash.join(new)
            for row in new.tolist():
                self.window.join(row, self.cash.paid, importance)
                self._recent.append(row)

    def pay(self, row: int, targets: Rows, shares: Floats | None = None) -> None:
        """Measure and pay out the cash of `row` to `targets` (distinct), as `Cash.pay`; the unknown ones join."""
        if not self.cash.knows(row, targets):
            self.join(np.append(targets, row) if row not in targets else targets)
        self.window.record_crawl(row, float(self.cash.cash[row]) + self.cash.offset, self.cash.paid)
        self.cash.pay(row, targets, shares)

    def compute_importance(self, rows: Rows) -> Floats:
        """Return the importance of `rows` by the window, float64."""
        return self.window.compute_importance(rows, self.cash.get_cash(rows), self.cash.paid)

    def estimate_newcomer(self) -> float:
        """Return the importance that a node gets which joins now."""
        recent = np.fromiter(self._recent, np.int64, len(self._recent))
        rows = recent if len(recent) else np.flatnonzero(self.cash.known)
        if not len(rows):
            return 0.0
        return float(self.window.compute_pending(rows, self.cash.get_cash(rows), self.cash.paid).mean())
