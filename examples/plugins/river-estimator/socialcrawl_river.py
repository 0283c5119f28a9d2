"""An estimator that learns a Hoeffding tree of the accounts read so far, one by one, with river."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from river import tree

from socialcrawl.contracts.estimators import COLUMNS, CrawlGraph, Estimator, Floats, Rows, SettingsError


class RiverTree(Estimator):
    """Predict the relevance of an account by a regression tree over columns of the graph.

    Before the first account is read, every score is 0, so that accounts are read in order of discovery.

    Args:
        features: the columns of the graph that the tree learns over.
        grace_period: the accounts that a leaf sees between two attempts to split.

    Raises:
        SettingsError: a column has an unknown name.
    """

    def __init__(self, features: Sequence[str] = ("links", "n_sum", "e_sum", "ne_sum"), grace_period: int = 20) -> None:
        if unknown := [name for name in features if name not in COLUMNS]:
            raise SettingsError(f"The graph has no column {unknown[0]!r}. Choose from: {', '.join(COLUMNS)}.")
        self.features = tuple(features)
        self.places = [COLUMNS.index(name) for name in features]
        self.model: Any = tree.HoeffdingTreeRegressor(grace_period=grace_period, leaf_prediction="mean")
        self.has_learned = False

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> Floats:
        """Return the predicted relevance of each of `rows`."""
        if not self.has_learned:
            return np.zeros(len(rows))
        table = graph.columns(self.features, rows).T.tolist()
        known: dict[tuple[float, ...], float] = {}  # many accounts have the same features
        for values in map(tuple, table):
            if values not in known:
                known[values] = float(self.model.predict_one(dict(zip(self.features, values, strict=True))))
        return np.array([known[tuple(values)] for values in table], np.float64)

    def learn(self, x: Floats, y: Floats) -> None:
        """Learn from the accounts that were read: their features as picked, and their relevance."""
        for values, relevance in zip(x[:, self.places].tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(zip(self.features, values, strict=True)), relevance)
            self.has_learned = True
