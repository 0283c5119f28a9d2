"""On-line page importance, OPIC: cash that flows along links (Abiteboul, Preda, Cobena; Gouriten et al., section 5.3).

    C[i] = 1/n, H = 0, G = 0;   a step:  H[i] += C[i];  C[j] += C[i]/out[i] for each child j;  G += C[i];  C[i] := 0

After every step sum C = 1, sum H = G (default histories apart) and H[j] + C[j] = C0[j] + sum over parents H[i]/out[i].
H/G, and (H + C)/(G + 1) even before a row was read, tend to the importance; the error factor is 1/G.

**The virtual page** (small edges). Every page links to one virtual page and is linked to by it, so that the graph is
strongly connected. As a page like others it would be read all the time, and a visit takes a payment to every page.
Here it is never a step: once it holds more than `threshold` of the total it pays all it has to all known rows, as one
number added to everybody (`offset`), which takes the same time however many there are; H and G book it as a visit.
Where the paper is silent: the small edge weighs `small` links, whatever the shares of the links are, and the virtual
page's own links weigh the same for all.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

NOBODY = np.empty(0, np.int64)

THRESHOLD = (
    0.01  # of the total of cash: what may rest with the virtual page; it pays some twenty times in n greedy steps
)


class Cash:
    """The accounts of OPIC: C (cash), H (history) and G (all cash ever paid out) by row.

    The total of cash is 1, on the rows that start. Without a virtual page (`small` is None), what a row without links
    holds goes to the `sink` when it is paid out; with one, to the virtual page. The total, `virtual` and `sink`
    included, stays 1. The same calls in the same order give the same bits.

    Args:
        small: the weight of the small edge from every row to the virtual page, an ordinary link having 1; None: there
            is no virtual page. It may be changed at any time: what it weighs, newly paid cash is shared by.
        threshold: the cash of the virtual page past which it pays, as a share of the total.

    Attributes:
        cash: float64 by row, what a row holds *less* `offset`. Compares rows; `of` has what they hold.
        history: float64 by row, H. `past` has it for rows that have no place yet, too.
        paid: G.
        granted: the sum of the default histories that were given to newcomers: sum H = G + granted.
        offset: what the virtual page has paid to everybody since the start.
        virtual: C of the virtual page; `virtual_history`: its H.
        known: bool by row, who is paid by the virtual page; `size`: how many; `turnover`: how often that changed.
        watch: called with rows whose cash grew against others' (a queue of the richest wants to know).
    """

    def __init__(self, small: float | None = None, threshold: float = THRESHOLD) -> None:
        self.small = small
        self.threshold = threshold
        self.cash: Floats = np.zeros(1024)
        self.history: Floats = np.zeros(1024)
        self.known = np.zeros(1024, np.bool_)
        self.size = self.turnover = 0
        self.paid = self.granted = self.offset = 0.0
        self.sink = 0.0
        self.virtual = self.virtual_history = 0.0
        self.watch: Callable[[Rows], None] | None = None

    def start(self, rows: Rows) -> None:
        """Give each of `rows` (distinct), and the virtual page, the same share of a total of 1."""
        if len(rows):
            self.join(rows)
            share = 1.0 / (len(rows) + (self.small is not None))
            self.cash[rows] = share
            if self.small is not None:
                self.virtual = share
                self.settle_past_threshold()
            self._note_growth(rows)

    def join(self, rows: Rows | int, history: Floats | float = 0.0) -> None:
        """Make `rows` (one, or distinct ones) known: no cash, so that the total stays, and a default `history`.

        Those that are known already are left as they are. The default history is the caller's choice (the paper:
        the importance of recently introduced pages); it counts in the estimates, also in what they are divided by.
        """
        several = np.atleast_1d(np.asarray(rows, np.int64))
        if not len(several):
            return
        self._reserve(int(several.max()) + 1)
        new = ~self.known[several]
        fresh = several[new]
        if not len(fresh):
            return
        self.known[fresh] = True
        self.size += len(fresh)
        self.turnover += 1
        self.cash[fresh] -= self.offset  # without an offset, cash that was there stays to the last bit
        if isinstance(history, np.ndarray) or history:
            given = np.broadcast_to(np.asarray(history, np.float64), several.shape)[new]
            self.history[fresh] += given
            self.granted += float(given.sum())
        self._note_growth(fresh)

    def knows(self, row: int, targets: Rows) -> bool:
        """Return whether `row` and all of `targets` are known."""
        try:
            return bool(self.known[row]) and np.count_nonzero(self.known[targets]) == len(targets)
        except IndexError:  # there has been no such row yet: seldom, and dearer to look for than to run into
            return False

    def get_cash(self, rows: Rows) -> Floats:
        """Return the cash of `rows`, float64; nothing where a row is not known."""
        if len(rows):
            self._reserve(int(rows.max()) + 1)
        if self.offset == 0.0:
            return self.cash[rows]
        return np.where(self.known[rows], self.cash[rows] + self.offset, 0.0)

    def get_history(self, rows: Rows) -> Floats:
        """Return the history of `rows`, H, float64."""
        if len(rows):
            self._reserve(int(rows.max()) + 1)
        return self.history[rows]

    def pay(self, row: int, targets: Rows, shares: Floats | None = None) -> None:
        """Pay out the cash of `row` to `targets` (distinct): equally, or in proportion to `shares` (>= 0).

        H(v) += C(v); C(u) += C(v) * share(u); G += C(v); C(v) := 0. Where all shares are 0, they count as equal. With
        a virtual page, k targets get k/(k + small) of it and the virtual page the rest, past the threshold to be paid
        to all. Rows that are not known yet join, without a default history.
        """
        count = len(targets)
        if not self.knows(row, targets):
            self.join(np.append(targets, row) if row not in targets else targets)
        cash = float(self.cash[row]) + self.offset
        self.history[row] += cash
        self.paid += cash
        self.cash[row] = -self.offset if self.offset else 0.0
        if self.small is not None:
            cash = self._keep_small(cash, count)
        if not count:
            self.sink += cash
        elif shares is None or not (total := float(shares.sum())) > 0:
            self.cash[targets] += cash / count
        else:
            self.cash[targets] += cash * (shares / total)
        if self.watch is not None:
            self.watch(targets)
        self.settle_past_threshold()

    def lend(self, rows: Rows, amount: float) -> float:
        """Move up to `amount` of the virtual page's cash to `rows` (distinct), equally; what was moved is returned.

        The total is unchanged. It is no visit: H and G stay as they are, as if this had been the cash to start with.
        Rows that are not known yet join.
        """
        self.join(rows)
        moved = max(0.0, min(amount, self.virtual)) if len(rows) else 0.0
        if moved > 0.0:
            self.virtual -= moved
            self.cash[rows] += moved / len(rows)
            self._note_growth(rows)
        return moved

    def leave(self, row: int) -> None:
        """Let the virtual page (or the sink) have the cash of `row`, which is known no more; its history stays.

        It counts as paid: H and G have it. A row that is not known is left as it is; one that left may join again.
        """
        if not self.knows(row, NOBODY):
            return
        cash = float(self.cash[row]) + self.offset
        self.history[row] += cash
        self.paid += cash
        self.cash[row], self.known[row] = 0.0, False
        self.size -= 1
        self.turnover += 1
        if self.small is None:
            self.sink += cash
        else:
            self.virtual += cash
            self.settle_past_threshold()

    def merge(self, left: int, row: int) -> None:
        """Let `row` have the cash and the history of `left`, which is known no more; both have to be known."""
        self.cash[row] += self.cash[left] + self.offset
        self.history[row] += self.history[left]
        self.cash[left] = self.history[left] = 0.0
        self.known[left] = False
        self.size -= 1
        self.turnover += 1
        self._note_growth(np.array([row]))

    def settle(self) -> None:
        """Let the virtual page pay all its cash to all known rows, as one offset: H_v += C_v, G += C_v, C_v := 0."""
        if self.size and self.virtual > 0.0:
            self.virtual_history += self.virtual
            self.paid += self.virtual
            self.offset += self.virtual / self.size
            self.virtual = 0.0

    def settle_past_threshold(self) -> None:
        """Settle if the virtual page holds more than the threshold."""
        if self.virtual > self.threshold:
            self.settle()

    def estimate(self, rows: Rows) -> Floats:
        """Return the importance of `rows`, (H + C) / (G + 1).

        Of all rows, virtual page and sink together it sums to 1.
        """
        return np.asarray((self.get_cash(rows) + self.history[rows]) / (self.paid + self.granted + 1.0))

    def compute_rough(self, rows: Rows) -> Floats:
        """Return the importance of `rows` by what was paid only, H / G; 0 for all before the first payment."""
        past, clock = self.get_history(rows), self.paid + self.granted
        return past / clock if clock > 0.0 else np.zeros(len(past))

    def sum_cash(self) -> float:
        """Return all cash, with that of the virtual page and of the sink: 1, once there were rows to start."""
        return float(self.get_cash(np.arange(len(self.cash))).sum()) + self.virtual + self.sink

    def _keep_small(self, cash: float, count: int) -> float:
        """Return the part of `cash` for `count` links, the virtual page having taken its own."""
        assert self.small is not None
        part = cash * (count / (count + self.small)) if count else 0.0
        self.virtual += cash - part
        return part

    def _note_growth(self, rows: Rows) -> None:
        if self.watch is not None:
            self.watch(rows)

    def _reserve(self, size: int) -> None:
        if size > len(self.cash):
            more = np.zeros(2 * size - len(self.cash))
            self.cash, self.history = np.concatenate([self.cash, more]), np.concatenate([self.history, more])
            self.known = np.concatenate([self.known, np.zeros(len(more), np.bool_)])
