"""Estimators: the score of a frontier node, guessed from what is known of the graph.

One contract: `score(graph, rows, n) -> scores` (higher is better, always; changes nothing) and `learn(x, y)`.
"""

from socialcrawl.crawls.collect.estimators.base import Estimator
from socialcrawl.crawls.collect.estimators.baseline import BreadthFirst, RandomEstimator
from socialcrawl.crawls.collect.estimators.hybrid import Hybrid
from socialcrawl.crawls.collect.estimators.linear import Linear
from socialcrawl.crawls.collect.estimators.neighbourhood import Neighbourhood
from socialcrawl.crawls.collect.estimators.registry import NAMES, make_estimator

__all__ = [
    "NAMES",
    "BreadthFirst",
    "Estimator",
    "Hybrid",
    "Linear",
    "Neighbourhood",
    "RandomEstimator",
    "make_estimator",
]
