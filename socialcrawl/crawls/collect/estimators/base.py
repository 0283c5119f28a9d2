"""What every estimator promises."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from socialcrawl.graph.graph import CrawlGraph, Rows

Floats = NDArray[np.float64]


class ScoreTerms(NamedTuple):
    """How a score is made: intercept + weights . values, with values that change only where the graph changes.

    A search for the best node need not score a frontier again whose values and weights have not changed.

    Attributes:
        of: the estimator that speaks; where another one takes its turn, earlier steps do not count.
        weights: c numbers, the same for every row.
        intercept: a number.
        values: (graph, rows) -> float64 of shape (c, len(rows)).
        fixed: weights and intercept never change.
    """

    of: object
    weights: tuple[float, ...]
    intercept: float
    values: Callable[[CrawlGraph, Rows], Floats]
    fixed: bool = False

    def combine(self, values: Floats) -> Floats:
        """Return the scores of rows with these values, shape (len(rows),): term by term, so equal rows score alike.

        One value with weight 1 is the score: it is returned as it is, not copied.
        """
        first, *others = self.weights
        if not others and first == 1.0 and not self.intercept:
            return np.asarray(values[0])
        scores = values[0] * first
        scores += self.intercept
        for weight, value in zip(others, values[1:], strict=True):
            scores += weight * value
        return np.asarray(scores)


def make_own_terms(of: object, score: Callable[[CrawlGraph, Rows], Floats]) -> ScoreTerms:
    """Return the terms of a score that changes only where the graph changes: its only value is itself, weight 1."""
    return ScoreTerms(of, (1.0,), 0.0, lambda graph, rows: score(graph, rows)[None], fixed=True)


class Estimator(Protocol):
    """A guess of the value of frontier nodes that may learn from the nodes that were fetched.

    Only `score` has to be written; an estimator that does not learn leaves the rest as it is here.

    Example:
        >>> class MostLinks(sc.Estimator):
        ...     def score(self, graph, rows, n):
        ...         return graph.column("links", rows)
        >>> sc.simulate(graph, [MostLinks()], steps=3, seeds=2, seeds_per_set=1)
        <SimulationResult, mean score at the end: MostLinks 2.0>
        >>> MostLinks().learns(), MostLinks().is_sequential(), MostLinks().get_terms(n=0)
        (False, False, None)
        >>> class Counts(MostLinks):
        ...     seeds = read = learned = 0
        ...
        ...     def sow(self, graph, rows):
        ...         self.seeds += len(rows)
        ...
        ...     def note_fetched(self, graph, row):
        ...         self.read += 1
        ...
        ...     def learn(self, x, y):
        ...         self.learned += len(y)
        >>> Counts().learns(), Counts().is_sequential()
        (True, True)
    """

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> Floats:
        """Return the estimated value of each frontier node in `rows` after `n` steps; higher is better.

        Changes nothing.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define score(graph, rows, n)")

    def get_terms(self, n: int) -> ScoreTerms | None:
        """Return how `score` is made after `n` steps.

        None: anything may change it, so that all are scored at every step.
        """
        return None

    def sow(self, graph: CrawlGraph, rows: Rows) -> None:
        """Take in the rows of the seeds, once, before the first of them is fetched."""
        return

    def note_fetched(self, graph: CrawlGraph, row: int) -> None:
        """Take in that the node in `row` has been fetched, just after its links were added."""
        return

    def is_sequential(self) -> bool:
        """Return whether `note_fetched` must be called for every node in turn: a history cannot be taken in at once."""
        return type(self).note_fetched is not Estimator.note_fetched

    def learns(self) -> bool:
        """Return whether there is a `learn` to call: most estimators look at the graph only."""
        return type(self).learn is not Estimator.learn

    def learn(self, x: Floats, y: Floats) -> None:
        """Take in fetched nodes: features as picked, shape (m, len(COLUMNS)), and true values, shape (m,).

        An estimator of yours is called once for each account that was read, also when a history is read again: m is 1.
        Built-in estimators also learn many rows at once, with the same result, bit for bit.
        """
        return


class FetchedNodes(NamedTuple):
    """Nodes that were fetched one after the other.

    Attributes:
        rows: shape (m,).
        values: shape (m,).
        x: features as picked of those that teach, in order, shape (n, len(COLUMNS)).
        taught: which of them teach, shape (m,).
    """

    rows: Rows
    values: Floats
    x: Floats
    taught: NDArray[np.bool_]


def teach_history(one: Estimator, graph: CrawlGraph, nodes: FetchedNodes) -> None:
    """Tell an estimator of nodes as `note_fetched` and `learn` in turn would; it is the same, bit for bit.

    An estimator that is sequential is not told so. One that has `note_fetched` and is not has a method `learn_all`.

    Args:
        one: the estimator.
        graph: with all of the nodes.
        nodes: what was fetched.
    """
    learn_all = getattr(one, "learn_all", None)
    if learn_all is not None:
        learn_all(graph, nodes)
    elif one.learns() and len(nodes.x):
        one.learn(nodes.x, nodes.values[nodes.taught])
