"""The oracle of Gouriten et al., section 4: the estimator that knows. Only the laboratory can have it."""

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.base import Estimator, ScoreTerms, make_own_terms
from socialcrawl.graph.graph import Graph, Rows


class Oracle(Estimator):
    """The true values `beta`, float64[n], of the nodes 0 .. n-1."""

    def __init__(self, beta: NDArray[np.float64]) -> None:
        self.beta = beta

    def score(self, graph: Graph, rows: Rows, n: int) -> NDArray[np.float64]:
        """Return the value that each of `rows` will turn out to have."""
        return np.asarray(self.beta[graph.nodes(rows)], np.float64)

    def terms(self, n: int) -> ScoreTerms:
        """Return the truth, which never moves."""
        return make_own_terms(self, lambda graph, rows: self.score(graph, rows, n))
