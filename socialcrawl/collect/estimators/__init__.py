"""Estimators: the score of a frontier node, guessed from what is known of the graph.

One contract: `score(graph, rows, n) -> scores` (higher is better, always; changes nothing) and `learn(x, y)`.
"""

from socialcrawl.collect.estimators.baseline import BreadthFirst, Random
from socialcrawl.collect.estimators.contract import Estimator
from socialcrawl.collect.estimators.hybrid import Hybrid
from socialcrawl.collect.estimators.linear import Linear
from socialcrawl.collect.estimators.named import NAMES, named
from socialcrawl.collect.estimators.neighbourhood import Neighbourhood

__all__ = ["NAMES", "BreadthFirst", "Estimator", "Hybrid", "Linear", "Neighbourhood", "Random", "named"]
