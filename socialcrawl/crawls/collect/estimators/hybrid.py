"""The hybrid estimator of Gouriten et al., section 6.3: a neighbourhood first, then the linear one."""

from socialcrawl.crawls.collect.estimators.base import Estimator, FetchedNodes, Floats, ScoreTerms, teach_history
from socialcrawl.graph.graph import CrawlGraph, Rows


class Hybrid(Estimator):
    """`start` for the first `switch_after` steps, missing ones included, then `then`; both learn from the first on."""

    def __init__(self, start: Estimator, then: Estimator, switch_after: int = 1000) -> None:
        self.start, self.then, self.switch_after = start, then, switch_after

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> Floats:
        """Return the scores of the estimator whose turn it is."""
        return self._choose_estimator(n).score(graph, rows, n)

    def get_terms(self, n: int) -> ScoreTerms | None:
        """Return those of the estimator whose turn it is."""
        return self._choose_estimator(n).get_terms(n)

    def sow(self, graph: CrawlGraph, rows: Rows) -> None:
        """Tell both."""
        self.start.sow(graph, rows)
        self.then.sow(graph, rows)

    def note_fetched(self, graph: CrawlGraph, row: int) -> None:
        """Tell both."""
        self.start.note_fetched(graph, row)
        self.then.note_fetched(graph, row)

    def is_sequential(self) -> bool:
        """Return whether one of them has to be told of every node at its moment."""
        return self.start.is_sequential() or self.then.is_sequential()

    def learn(self, x: Floats, y: Floats) -> None:
        """Teach both."""
        self.start.learn(x, y)
        self.then.learn(x, y)

    def learn_all(self, graph: CrawlGraph, nodes: FetchedNodes) -> None:
        """Teach both a history; see `teach_history`."""
        teach_history(self.start, graph, nodes)
        teach_history(self.then, graph, nodes)

    def _choose_estimator(self, n: int) -> Estimator:
        return self.start if n < self.switch_after else self.then
