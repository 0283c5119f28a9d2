"""On-line page importance, OPIC: cash that flows along links (Abiteboul et al.; Gouriten et al., section 5.3)."""

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


class Cash:
    """The accounts of OPIC: C (cash), H (history) and G (all cash ever paid out) by row.

    The total of cash is 1, on the seeds at first. There is no virtual page: what a row without links holds goes to the
    `sink` when it is paid out, so that the total, sink included, stays 1.
    """

    def __init__(self) -> None:
        self.cash: Floats = np.zeros(1024)
        self.history: Floats = np.zeros(1024)
        self.paid = 0.0
        self.sink = 0.0

    def start(self, rows: Rows) -> None:
        """Give each of `rows` the same share of a total of 1."""
        if len(rows):
            self._reserve(int(rows.max()) + 1)
            self.cash[rows] = 1.0 / len(rows)

    def of(self, rows: Rows) -> Floats:
        """The cash of `rows`, float64."""
        if len(rows):
            self._reserve(int(rows.max()) + 1)
        return self.cash[rows]

    def pay(self, row: int, targets: Rows, shares: Floats | None = None) -> None:
        """Pay out the cash of `row` to `targets` (distinct): equally, or in proportion to `shares` (>= 0).

        H(v) += C(v); C(u) += C(v) * share(u); G += C(v); C(v) := 0. Where all shares are 0, they count as equal.
        """
        self._reserve(max(row, int(targets.max()) if len(targets) else 0) + 1)
        cash = float(self.cash[row])
        self.history[row] += cash
        self.paid += cash
        self.cash[row] = 0.0
        if not len(targets):
            self.sink += cash
        elif shares is None or not (total := float(shares.sum())) > 0:
            self.cash[targets] += cash / len(targets)
        else:
            self.cash[targets] += cash * (shares / total)

    def estimate(self, rows: Rows) -> Floats:
        """The importance of `rows`, (H + C) / (G + 1)."""
        return np.asarray((self.of(rows) + self.history[rows]) / (self.paid + 1.0))

    def _reserve(self, size: int) -> None:
        if size > len(self.cash):
            more = np.zeros(2 * size - len(self.cash))
            self.cash, self.history = np.concatenate([self.cash, more]), np.concatenate([self.history, more])
