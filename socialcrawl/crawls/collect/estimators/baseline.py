"""The baselines of Gouriten et al., section 5.1: random, and breadth-first."""

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.base import Estimator, ScoreTerms, make_own_terms
from socialcrawl.engine.draws import draw_uniform
from socialcrawl.graph.graph import CrawlGraph, Rows


class RandomEstimator(Estimator):
    """A uniform draw from the frontier, fresh at every pick (Estimator 1), keyed by (seed, step)."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> NDArray[np.float64]:
        """Return independent uniform numbers, one for each of `rows`."""
        return draw_uniform(self.seed, "random estimator", n, len(rows))


class BreadthFirst(Estimator):
    """1 / (l + 1), with l the shortest known distance from the seeds (Estimator 2)."""

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> NDArray[np.float64]:
        """Return scores in (0, 1]: the nearer, the higher."""
        return np.asarray(1.0 / (graph.column("depth", rows) + 1.0))

    def get_terms(self, n: int) -> ScoreTerms:
        """Return the score itself: it changes with the distance only."""
        return make_own_terms(self, lambda graph, rows: self.score(graph, rows, n))
