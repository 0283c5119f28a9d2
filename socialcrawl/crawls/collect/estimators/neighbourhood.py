"""The neighbourhood estimators of Gouriten et al., section 5.2: one feature of the known in-links."""

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.base import Estimator, ScoreTerms, make_own_terms
from socialcrawl.graph.graph import CrawlGraph, Rows


class Neighbourhood(Estimator):
    """One feature as the score: h over the known in-links e = (u, v) of w(u), w(e) or w(u)*w(e).

    `of` is n | e | ne, `h` is sum | avg | max.
    """

    def __init__(self, of: str, h: str) -> None:
        self.feature = f"{of}_{h}"
        self._terms = make_own_terms(self, lambda graph, rows: graph.column(self.feature, rows))

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> NDArray[np.float64]:
        """Return the feature itself."""
        return graph.column(self.feature, rows)

    def get_terms(self, n: int) -> ScoreTerms:
        """Return the feature, as it is."""
        return self._terms
