"""A sleeping bandit whose arms are groups of accounts with similar known links.

In the manner of SB-CLASSIFIER, of Gauquier, Manolescu, Senellart: Efficient crawling for scalable web data acquisition
(2026).
"""

from math import log

import numpy as np
from numpy.typing import NDArray

from socialcrawl.contracts.estimators import COLUMNS, CrawlGraph, Estimator, Floats, Rows, draw_uniform

BY = ("links", "n_sum", "e_sum")
PLACES = [COLUMNS.index(name) for name in BY]
SIZES = 64  # of a column: sizes are powers of two
NEW = 1e-6  # is added to the count of a group, so that one that was never picked comes first
TIE = 1e-7  # of a random number in [0, 1): it decides within a group


class SleepingBandit(Estimator):
    """Score an account by the upper confidence bound of the mean relevance of its group.

    An account's group changes when more links to it are known. A group without accounts in the frontier sleeps.

    Args:
        alpha: the weight of the width of the bound: larger numbers explore more.
        seed: the seed of the campaign.
    """

    def __init__(self, alpha: float = 0.3, seed: int = 0) -> None:
        self.alpha, self.seed = alpha, seed
        self.count, self.mean = np.zeros(SIZES ** len(BY), np.int32), np.zeros(SIZES ** len(BY))
        self.picks = 0

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> Floats:
        """Return mean + alpha sqrt(ln t / count) of the groups of `rows`, after t picks."""
        groups = find_groups(graph.columns(BY, rows))
        width = np.sqrt(log(max(1, self.picks)) / (self.count[groups] + NEW))
        within = draw_uniform(self.seed, "SleepingBandit", 0, int(rows.max(initial=0)) + 1)[rows]
        return np.asarray(self.mean[groups] + self.alpha * width + TIE * within)

    def learn(self, x: Floats, y: Floats) -> None:
        """Count accounts that were read for the groups that they were in when they were picked."""
        for group, relevance in zip(find_groups(x[:, PLACES].T).tolist(), y.tolist(), strict=True):
            self.picks += 1
            self.count[group] += 1
            self.mean[group] += (relevance - self.mean[group]) / self.count[group]


def find_groups(columns: Floats) -> NDArray[np.int64]:
    """Return the numbers of the groups of accounts, from the columns BY, shape (len(BY), m).

    Two accounts are in the same group if 1 + value has the same power of two in each column.
    """
    sizes = np.minimum(np.frexp(1.0 + columns)[1] - 1, SIZES - 1)
    groups = np.zeros(columns.shape[1], np.int64)
    for size in sizes:
        groups = groups * SIZES + size
    return groups
