"""The linear first-order estimator (Gouriten et al., section 5.2, Estimator 3), learned step by step."""

import numpy as np
from numpy.typing import NDArray

from socialcrawl.collect.estimators.leastsquares import Moments
from socialcrawl.graph import COLUMNS, LINKS, Graph, Rows

OF = ("n", "e", "ne")


class Linear:
    """c_n f_n + c_e f_e + c_ne f_ne + c_0 with one aggregation `h` (sum | avg | max) for all three features.

    The coefficients are the least-squares fit, with intercept, over all rows learned so far; before the first row
    every node scores 0, so that the node discovered first is picked.
    """

    def __init__(self, h: str) -> None:
        self.features = tuple(f"{of}_{h}" for of in OF)
        self.moments = Moments(len(OF))
        self._fit: tuple[NDArray[np.float64], float] | None = None

    @property
    def coefficients(self) -> tuple[NDArray[np.float64], float]:
        """(c_n, c_e, c_ne), shape (3,), and the intercept c_0."""
        if self._fit is None:
            self._fit = self.moments.solve()
        return self._fit

    def score(self, graph: Graph, rows: Rows, n: int) -> NDArray[np.float64]:
        """The linear combination of the features of each of `rows`."""
        weights, intercept = self.coefficients
        scores = np.full(len(rows), intercept)
        for weight, feature in zip(weights, self.features, strict=True):
            scores += weight * graph.column(feature, rows)
        return scores

    def learn(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
        """Add rows to the fit."""
        columns = [_column(x, feature) for feature in self.features]
        self.moments.add(np.stack(columns, axis=1), y)
        self._fit = None


def _column(x: NDArray[np.float64], feature: str) -> NDArray[np.float64]:
    if feature.endswith("_avg"):
        total = x[:, COLUMNS.index(feature.replace("_avg", "_sum"))]
        return np.asarray(total / np.maximum(x[:, LINKS], 1.0))
    return x[:, COLUMNS.index(feature)]
