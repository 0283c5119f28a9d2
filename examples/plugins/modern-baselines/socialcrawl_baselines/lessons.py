"""The features that the models learn over, and the lessons from which they are fitted again from time to time."""

from math import ceil

import numpy as np

from socialcrawl.contracts.estimators import COLUMNS, CrawlGraph, Floats, Rows

FEATURES = (
    *("log links", "log n_sum", "log e_sum", "log ne_sum", "n_max", "e_max", "ne_max"),
    *("n_avg", "e_avg", "ne_avg"),
)
"""The features by name; log x is ln(1 + x)."""
PLACES = {name: place for place, name in enumerate(COLUMNS)}
SUMS, MAXIMA = ("n_sum", "e_sum", "ne_sum"), ("n_max", "e_max", "ne_max")


def make_features(columns: Floats) -> Floats:
    """Return the features of accounts, shape (len(FEATURES), m), from their columns, shape (len(COLUMNS), m)."""
    links = columns[PLACES["links"]]
    sums = columns[[PLACES[name] for name in SUMS]]
    maxima = columns[[PLACES[name] for name in MAXIMA]]
    logs = np.log1p(np.concatenate([links[None], sums]))
    return np.concatenate([logs, maxima, sums / np.maximum(links, 1.0)])


def read_features(graph: CrawlGraph, rows: Rows) -> Floats:
    """Return the features of `rows`, shape (len(FEATURES), len(rows))."""
    return make_features(graph.columns(COLUMNS, rows))


class Lessons:
    """The features and the relevance of the accounts read so far.

    Args:
        first: the lessons before the first fit.
        growth: a fit is due again when there are this many times as many lessons.
    """

    def __init__(self, first: int, growth: float) -> None:
        self.count, self._growth, self._next = 0, growth, first
        self._x, self._y = np.empty((64, len(FEATURES))), np.empty(64)

    def add(self, features: Floats, relevance: float) -> bool:
        """Add a lesson; return whether a fit is due."""
        if self.count == len(self._y):
            self._x, self._y = np.concatenate([self._x, self._x]), np.concatenate([self._y, self._y])
        self._x[self.count], self._y[self.count] = features, relevance
        self.count += 1
        if self.count < self._next:
            return False
        self._next = max(self.count + 1, ceil(self.count * self._growth))
        return True

    def get_all(self) -> tuple[Floats, Floats]:
        """Return the features, shape (count, len(FEATURES)), and the relevance, shape (count,)."""
        return self._x[: self.count], self._y[: self.count]
