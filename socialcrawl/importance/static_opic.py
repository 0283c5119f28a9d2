"""Static OPIC on a graph that is known: many steps, with the accounts of `Cash` and the rows of a `VisitOrder`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.importance.opic import Cash
from socialcrawl.importance.visit_order import VisitOrder


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
            row = order.next()
            begin, end = starts[row], starts[row + 1]
            cash.pay(row, targets[begin:end], None if weights is None else weights[begin:end])
