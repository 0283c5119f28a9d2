"""What every estimator promises."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from socialcrawl.graph import Graph, Rows


class Estimator(Protocol):
    """A guess of the value of frontier nodes that may learn from the nodes that were fetched."""

    def score(self, graph: Graph, rows: Rows, n: int) -> NDArray[np.float64]:
        """The estimated value of each frontier node in `rows` after `n` steps; higher is better. Changes nothing."""

    def learn(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
        """Take in fetched nodes: features as picked, shape (m, len(COLUMNS)), and true values, shape (m,).

        Learning m rows at once is, bit for bit, learning them one after the other.
        """
