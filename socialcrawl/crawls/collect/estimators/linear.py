"""The linear first-order estimator (Gouriten et al., section 5.2, Estimator 3), learned step by step."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.base import Estimator, ScoreTerms
from socialcrawl.crawls.collect.estimators.leastsquares import Moments
from socialcrawl.graph.graph import COLUMNS, LINKS, PLACES, CrawlGraph, Rows

OF = ("n", "e", "ne")


def list_first_order(h: str) -> tuple[str, ...]:
    """Return the three features of the paper with one aggregation `h` (sum | avg | max) for all."""
    return tuple(f"{of}_{h}" for of in OF)


class Linear(Estimator):
    """c_0 plus a weight times each of `features`; with those of `first_order(h)` the paper's c_n f_n + c_e f_e + ...

    The coefficients are the least-squares fit, with intercept, over all rows learned so far; before the first row
    every node scores 0, so that the node discovered first is picked.
    """

    def __init__(self, features: Sequence[str]) -> None:
        self.features = tuple(features)
        self.moments = Moments(len(self.features))
        self._fit: tuple[NDArray[np.float64], float] | None = None

    @property
    def coefficients(self) -> tuple[NDArray[np.float64], float]:
        """One weight a feature, shape (len(features),), and the intercept c_0."""
        if self._fit is None:
            self._fit = self.moments.solve()
        return self._fit

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> NDArray[np.float64]:
        """Return the linear combination of the features of each of `rows`."""
        return self.get_terms(n).combine(graph.columns(self.features, rows))

    def get_terms(self, n: int) -> ScoreTerms:
        """Return the features, with the weights of the last fit."""
        weights, intercept = self.coefficients
        return ScoreTerms(
            self, tuple(weights.tolist()), intercept, lambda graph, rows: graph.columns(self.features, rows)
        )

    def learn(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
        """Add rows to the fit."""
        self.moments.add(select_features(x, self.features), y)
        self._fit = None


def select_features(x: NDArray[np.float64], features: Sequence[str]) -> NDArray[np.float64]:
    """Return some features of rows as picked: `x` of shape (m, len(COLUMNS)) to shape (m, len(features))."""
    if all(feature in PLACES for feature in features):
        return x[:, [PLACES[feature] for feature in features]]
    return np.stack([_select_column(x, feature) for feature in features], axis=1)


def _select_column(x: NDArray[np.float64], feature: str) -> NDArray[np.float64]:
    if feature.endswith("_avg"):
        total = x[:, COLUMNS.index(feature.replace("_avg", "_sum"))]
        return np.asarray(total / np.maximum(x[:, LINKS], 1.0))
    return x[:, COLUMNS.index(feature)]
