"""Network online learning: a linear model, fitted robustly at every step, and random steps that become rarer (NOL-HTR).

After LaRock, Sakharov, Bhadra, Eliassi-Rad: Understanding the limitations of network online learning (2020).
"""

from math import exp, log

import numpy as np
from numpy.typing import NDArray

from socialcrawl.contracts.estimators import (
    CrawlGraph,
    Estimator,
    Floats,
    Rows,
    ScoreTerms,
    draw_chance,
    draw_uniform,
)
from socialcrawl_baselines.lessons import FEATURES, Lessons, make_features, read_features

START = 0.1  # each weight before the first account was read
OFFSET = 0.1  # is added to each relevance: weights that explain zeros alone would be zero


class NOL(Estimator):
    """Predict the relevance of an account by a linear model over FEATURES; at times, pick at random.

    Args:
        epsilon: the probability of a random step, at the beginning.
        horizon: the steps after which it is 1/e of that.
        seed: the seed of the campaign.
    """

    def __init__(self, epsilon: float = 0.1, horizon: float = 300.0, seed: int = 0) -> None:
        self.epsilon, self.horizon, self.seed = epsilon, horizon, seed
        self.lessons = Lessons(1, 1.0)
        self.theta = np.full(len(FEATURES), START)

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> Floats:
        """Return the predicted relevance of each of `rows`; at a random step, random numbers."""
        terms = self.get_terms(n)
        if terms is None:
            return draw_uniform(self.seed, "NOL node", n, int(rows.max(initial=0)) + 1)[rows]
        return terms.combine(terms.values(graph, rows))

    def get_terms(self, n: int) -> ScoreTerms | None:
        """Return the linear model after `n` steps; None at a random step."""
        if draw_chance(self.seed, "NOL step", n) < self.epsilon * exp(-n / self.horizon):
            return None
        return ScoreTerms(self, tuple(self.theta.tolist()), 0.0, read_features)

    def learn(self, x: Floats, y: Floats) -> None:
        """Take in accounts that were read, and fit the model again."""
        for features, relevance in zip(make_features(x.T).T, y.tolist(), strict=True):
            self.lessons.add(features, relevance + OFFSET)
            count = self.lessons.count
            order = np.argsort(draw_uniform(self.seed, "NOL groups", count, count), kind="stable")
            self.theta = fit_heavy_tails(*self.lessons.get_all(), order)


def fit_heavy_tails(x: Floats, y: Floats, order: NDArray[np.int64]) -> Floats:
    """Return the weights of a regression that a few very large values do not spoil, without intercept.

    The rows are divided into k = ln(rows) groups of equal size, and each group is fitted by itself. Of the k fits, that
    one is taken whose median distance from the others is least, measured by the second moments of the other's group.

    Args:
        x: shape (rows, features).
        y: shape (rows,).
        order: the rows, shuffled; groups are runs of it.
    """
    k = max(1, int(log(len(y))))
    size = len(y) // k
    parts = [order[begin : begin + size] for begin in range(0, k * size, size)]
    moments = [np.einsum("ni,nj->ij", x[part], x[part]) for part in parts]  # no threads, as `@` could have
    fits = [
        np.linalg.pinv(moment) @ np.einsum("ni,n->i", x[part], y[part])
        for part, moment in zip(parts, moments, strict=True)
    ]
    if k == 1:
        return np.asarray(fits[0])
    distances = [
        [float((fit - other) @ moment @ (fit - other)) for other, moment in zip(fits, moments, strict=True)]
        for fit in fits
    ]
    medians = [np.median(line[:i] + line[i + 1 :]) for i, line in enumerate(distances)]
    return np.asarray(fits[int(np.argmin(medians))])
