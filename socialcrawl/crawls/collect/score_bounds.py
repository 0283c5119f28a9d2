"""What is known of frontier rows that are not looked at one by one: how high any of them can score."""

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.base import ScoreTerms
from socialcrawl.graph.graph import Rows

Floats = NDArray[np.float64]
Box = list[tuple[float, float, float, float]]

ROUNDING = 1e-12  # of the size of the numbers added: far above what float64 adds to a few products, far below a score
ANY_ROW = -1  # "of equals, one of the others may come first"


class FarRows:
    """Rows under a threshold: with the weights of `take` none ranks before (`score`, `row`); values lie in a box."""

    def __init__(self) -> None:
        self.score, self.row = -np.inf, 0  # nobody is here yet
        self.then = ScoreTerms(None, (), 0.0, _score_nothing)  # the weights with which they were let go
        self.low = self.high = np.empty(0)
        self._corner = 1.0  # of the dual: what was low enough last

    def let_go(self, terms: ScoreTerms, rows: Rows, values: Floats, kept: int) -> tuple[Rows, Floats]:
        """Return the best `kept` of `rows`, with all their equals, and their values; the rest comes here.

        If others are here already, `rebase` comes first. `values` is overwritten.
        """
        if len(rows) <= kept:
            return rows, values
        scores = np.array(terms.combine(values))
        inside = np.flatnonzero(scores >= -np.partition(-scores, kept - 1)[kept - 1])
        if len(inside) == len(rows):
            return rows, values
        best, chosen = rows[inside], values[:, inside]
        scores[inside] = -np.inf
        first = int(scores.argmax())
        values[:, inside] = values[:, first, None]  # so that the box of all is that of the others
        self._take(terms, float(scores[first]), int(rows[scores == scores[first]].min()), values)
        return best, chosen

    def _take(self, terms: ScoreTerms, score: float, row: int, values: Floats) -> None:
        """Add rows with `values`, of which `row` is the best and scores `score` with today's weights."""
        if self.score == -np.inf:
            self.then = terms
            self.low, self.high = np.full(len(values), np.inf), np.full(len(values), -np.inf)
        if (score, -row) > (self.score, -self.row):
            self.score, self.row = score, row
        self.widen(values)

    def find_rising(self, rows: Rows, values: Floats) -> NDArray[np.int64]:
        """Return the places of those of these rows that, by the weights of the threshold, rank before all others."""
        if self.score == -np.inf:
            return np.arange(len(rows))
        scores = self.then.combine(values)
        some = (scores >= self.score).nonzero()[0]
        return some[(scores[some] > self.score) | (rows[some] < self.row)]

    def widen(self, values: Floats) -> None:
        """Make the box hold these values too."""
        if values.shape[1]:
            self.low = np.minimum(self.low, values.min(axis=1))
            self.high = np.maximum(self.high, values.max(axis=1))

    def might_beat(self, terms: ScoreTerms, worst: tuple[float, int]) -> bool:
        """Return whether one of the others may rank before (score, -row) = `worst` with the weights of `terms`."""
        if self.score == -np.inf:
            return False
        if self._has_same_weights(terms):
            return (self.score, -self.row) > worst
        box = self._list_box(terms)
        for corner in sorted(_list_corners(box), key=lambda one: abs(one - self._corner)):
            if self._bound(terms, box, corner) < worst[0]:
                self._corner = corner
                return False
        return True

    def rebase(self, terms: ScoreTerms) -> None:
        """Let today's weights be those of the threshold."""
        if self.score == -np.inf or self._has_same_weights(terms):
            return
        self.score, self.row = self.bound(terms), ANY_ROW
        self.then = terms

    def bound(self, terms: ScoreTerms) -> float:
        """Return a score that no far row exceeds with the weights of `terms`: the dual of a small linear program."""
        box = self._list_box(terms)
        return min(self._bound(terms, box, corner) for corner in _list_corners(box))

    def _bound(self, terms: ScoreTerms, box: Box, corner: float) -> float:
        """Return a score that no far row exceeds, by one point of the dual."""
        room = self.score - self.then.intercept
        score = corner * room + sum([_find_highest(new - corner * old, low, high) for new, old, low, high in box])
        size = abs(self.score) + abs(self.then.intercept) + abs(terms.intercept)
        size += corner * (abs(room) + sum([abs(old) * high for _, old, _, high in box]))
        size += sum([abs(new) * high for new, _, _, high in box])
        return score + terms.intercept + ROUNDING * size

    def _list_box(self, terms: ScoreTerms) -> Box:
        """Return of each term its weight, that of the threshold, and the least and the greatest value."""
        return list(zip(terms.weights, self.then.weights, self.low.tolist(), self.high.tolist(), strict=True))

    def _has_same_weights(self, terms: ScoreTerms) -> bool:
        return terms.weights == self.then.weights and terms.intercept == self.then.intercept


def _list_corners(box: Box) -> list[float]:
    """Return the points of the dual where its bound can be lowest."""
    return [0.0] + [new / old for new, old, _, _ in box if old and new / old > 0]


def _score_nothing(graph: object, rows: Rows) -> Floats:
    return np.empty((0, len(rows)))


def _find_highest(weight: float, low: float, high: float) -> float:
    return max(weight * low, weight * high)
