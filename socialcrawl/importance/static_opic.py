"""Static OPIC on a graph that is known: many steps over the accounts of `Cash` (Abiteboul, Preda, Cobena, section 3).

A `VisitOrder` says which row is visited next: random, greedy or cycle, exactly. Only rows that are known to the
accounts are chosen; the virtual page never is (it pays by itself).
"""

import heapq
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.draws import draw_uniform
from socialcrawl.importance.opic import Cash, Rows
from socialcrawl.text.wording import explain_unknown

BLOCK = 4096  # draws made at once
RICHEST = 4096  # rows that are put in order at once


class VisitOrder(Protocol):
    """The rows to visit, one by one."""

    def choose_next(self) -> int:
        """Return the row to visit next; the caller pays it out before asking again.

        Raises:
            ValueError: no row is known yet.
        """


class RandomOrder:
    """Every known row with the same probability, by draws keyed by (seed, number of the draw)."""

    def __init__(self, cash: Cash, seed: int = 0) -> None:
        self.members = _Members(cash)
        self.draws = _draw_numbers(seed)

    def choose_next(self) -> int:
        """Return a row drawn uniformly from those known now."""
        rows = self.members.rows()
        return int(rows[int(next(self.draws) * len(rows))])


class CyclicOrder:
    """The known rows in a fixed order, by row, again and again; rows that join take their place in it."""

    def __init__(self, cash: Cash, seed: int = 0) -> None:
        self.members = _Members(cash)
        self.last = -1

    def choose_next(self) -> int:
        """Return the first known row after the last one chosen, and after the last row the first."""
        rows = self.members.rows()
        self.last = int(rows[np.searchsorted(rows, self.last, "right") % len(rows)])
        return self.last


class GreedyOrder:
    """The known row with most cash, ties to the smaller row, in time that hardly depends on how many there are.

    Only the RICHEST are kept in order, and whoever comes to have as much as the poorest of them did; when they are all
    paid out, the next ones are looked for. An entry whose cash has changed since is skipped: cash that grew has a newer
    entry, and cash that was paid out is the reason for leaving; so is one whose row is known no more. It watches the
    accounts (`Cash.watch`).
    """

    def __init__(self, cash: Cash, seed: int = 0) -> None:
        self.accounts = cash
        self.heap: list[tuple[float, int]] = []
        self.least = np.inf  # rows with at least so much have an entry
        self.bound = 0  # entries past which they are put in order anew
        cash.watch = self.note_growth

    def note_growth(self, rows: Rows) -> None:
        """Take in `rows`, whose cash grew."""
        held = self.accounts.cash[rows]
        rich = held >= self.least
        if rich.any():
            for row, cash in zip(rows[rich].tolist(), held[rich].tolist(), strict=True):
                heapq.heappush(self.heap, (-cash, row))

    def choose_next(self) -> int:
        """Return the row with most cash; the same again as long as it is not paid out."""
        if len(self.heap) > self.bound:
            self.heap.clear()
        while True:
            while self.heap:
                cash, row = self.heap[0]
                if self.accounts.cash[row] == -cash and self.accounts.known[row]:
                    return row
                heapq.heappop(self.heap)
            self._find_richest()

    def _find_richest(self) -> None:
        """Put the RICHEST in order, with all who have as much as the poorest of them."""
        rows = _list_known(self.accounts)
        held = self.accounts.cash[rows]
        most = min(RICHEST, len(rows))
        self.least = float(np.partition(held, len(held) - most)[len(held) - most])
        rich = held >= self.least
        self.heap = list(zip((-held[rich]).tolist(), rows[rich].tolist(), strict=True))
        heapq.heapify(self.heap)
        self.bound = 2 * len(self.heap) + 16 * RICHEST


SELECTIONS: dict[str, Callable[[Cash, int], VisitOrder]] = {
    "random": RandomOrder,
    "greedy": GreedyOrder,
    "cycle": CyclicOrder,
}


def make_visit_order(name: str, cash: Cash, seed: int = 0) -> VisitOrder:
    """Return the selection called `name` over `cash`; `seed` keys its draws.

    Raises:
        ValueError: there is no such selection.
    """
    if name not in SELECTIONS:
        raise ValueError(explain_unknown("selection", name, SELECTIONS))
    return SELECTIONS[name](cash, seed)


class _Members:
    """The known rows in order, looked up only when others are known than before."""

    def __init__(self, cash: Cash) -> None:
        self.cash = cash
        self.found: Rows = np.empty(0, np.int64)
        self.turnover = -1

    def rows(self) -> Rows:
        """Return the known rows, int64, ascending."""
        if self.turnover != self.cash.turnover:
            self.found, self.turnover = _list_known(self.cash), self.cash.turnover
        return self.found


def _list_known(cash: Cash) -> Rows:
    if not cash.size:
        raise ValueError("no row is known yet: start the accounts first")
    return np.flatnonzero(cash.known)


def _draw_numbers(seed: int) -> Iterator[float]:
    """Yield numbers in [0, 1), the n-th a function of (seed, n)."""
    block = 0
    while True:
        yield from draw_uniform(seed, "opic", block, BLOCK).tolist()
        block += 1


class StaticGraph:
    """A graph of n rows by its outgoing links, with the shares in which cash is paid to them.

    Args:
        matrix: a scipy sparse array, n x n: entry [i, j] > 0 is the weight of the link from i to j (`link_matrix.py`).
    """

    def __init__(self, matrix: Any) -> None:
        links = matrix.tocsr()
        links.sum_duplicates()
        self.size = int(links.shape[0])
        self.starts: list[int] = links.indptr.tolist()
        self.targets: NDArray[np.int64] = links.indices.astype(np.int64)
        equal = bool((links.data == links.data[:1]).all())
        self.weights: NDArray[np.float64] | None = None if equal else links.data.astype(np.float64)

    def start(self, small: float | None = 1.0) -> Cash:
        """Return the accounts of all rows with equal shares of cash; `small` as of `Cash`."""
        cash = Cash(small)
        cash.start(np.arange(self.size))
        return cash

    def run(self, cash: Cash, order: VisitOrder, steps: int) -> None:
        """Visit `steps` rows: each pays out what it holds."""
        starts, targets, weights = self.starts, self.targets, self.weights
        for _ in range(steps):
            row = order.choose_next()
            begin, end = starts[row], starts[row + 1]
            cash.pay(row, targets[begin:end], None if weights is None else weights[begin:end])
