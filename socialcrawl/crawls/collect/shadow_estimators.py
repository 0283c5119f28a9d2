"""Estimators that look on: while one steers, others say what they would have thought. It costs no request.

They are told all that the one that steers is told, in the same order, so that each has learned at any time what it
would have learned had it steered the same picks. Nothing that they think changes a pick.
"""

from collections.abc import Mapping, Sequence

from socialcrawl.crawls.collect.estimators.base import Estimator, FetchedNodes, Floats, teach_history
from socialcrawl.graph.graph import CrawlGraph, Rows

Thoughts = tuple[tuple[str, float], ...]
"""The scores of one pick by those who look on, by name, in the order in which they were named."""


class EstimatorGroup:
    """The estimator that steers with those that look on: what one of them is told, all are.

    Args:
        steering: the estimator whose scores decide.
        shadows: the others by name; each is fresh, and nobody else's.
    """

    def __init__(self, steering: Estimator, shadows: Mapping[str, Estimator]) -> None:
        self.shadows = dict(shadows)
        self.all = (steering, *self.shadows.values())
        self.learners = [one for one in self.all if one.learns()]

    @property
    def learns(self) -> bool:
        """Whether anybody learns: most estimators look at the graph only."""
        return bool(self.learners)

    def is_sequential(self) -> bool:
        """Return whether one of them has to be told of every node at its moment."""
        return any(one.is_sequential() for one in self.all)

    def sow(self, graph: CrawlGraph, rows: Rows) -> None:
        """Tell all of the seeds."""
        for one in self.all:
            one.sow(graph, rows)

    def note_fetched(self, graph: CrawlGraph, row: int) -> None:
        """Tell all that the node in `row` has been fetched."""
        for one in self.all:
            one.note_fetched(graph, row)

    def learn(self, x: Floats, y: Floats) -> None:
        """Teach all who learn: features as picked, shape (m, len(COLUMNS)), and true values, shape (m,)."""
        for one in self.learners:
            one.learn(x, y)

    def learn_all(self, graph: CrawlGraph, nodes: FetchedNodes) -> None:
        """Tell all of many nodes that were fetched; see `teach_history`."""
        for one in self.all:
            teach_history(one, graph, nodes)

    def score_shadows(self, graph: CrawlGraph, rows: Rows, n: int) -> Sequence[Thoughts]:
        """Return what those who look on think of each of the picked `rows` after `n` steps."""
        if not self.shadows:
            return [()] * len(rows)
        by_estimator = [one.score(graph, rows, n).tolist() for one in self.shadows.values()]
        return [tuple(zip(self.shadows, scores, strict=True)) for scores in zip(*by_estimator, strict=True)]
