"""Boosted regression trees over the features of the graph, fitted again as the crawl goes."""

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import ThreadpoolController

from socialcrawl.contracts.estimators import CrawlGraph, Estimator, Floats, Rows, ScoreTerms
from socialcrawl_baselines.lessons import FEATURES, Lessons, make_features, read_features

ONE_THREAD = ThreadpoolController()  # sums of several threads can round differently, and few rows are not worth them
TIE = 1e-6  # of log n_sum: it decides among accounts of the same leaves
LEAVES = 15  # of a tree, at most
N_SUM = FEATURES.index("log n_sum")


class BoostedTrees(Estimator):
    """Predict the relevance of an account by boosted trees over FEATURES.

    Before the first fit, the score is the relevance of the accounts that mention an account.

    Args:
        first: the accounts that are read before the first fit.
        growth: the trees are fitted again when this many times as many accounts were read.
        trees: how many trees a fit makes.
        leaf: the accounts of a leaf, at least.
        seed: the seed of the campaign.
    """

    def __init__(self, first: int = 20, growth: float = 1.2, trees: int = 50, leaf: int = 10, seed: int = 0) -> None:
        self.lessons = Lessons(first, growth)
        self.arguments = {
            "max_iter": trees,
            "min_samples_leaf": leaf,
            "max_leaf_nodes": LEAVES,
            "early_stopping": False,
            "random_state": seed,
        }
        self.model: Any = None

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> Floats:
        """Return the predicted relevance of each of `rows`."""
        terms = self.get_terms(n)
        return terms.combine(terms.values(graph, rows))

    def get_terms(self, n: int) -> ScoreTerms:
        """Return the prediction of the last fit, which changes where the graph changes."""
        if (model := self.model) is None:
            return ScoreTerms(self, (1.0,), 0.0, lambda graph, rows: graph.columns(("n_sum",), rows), fixed=True)

        def predict(graph: CrawlGraph, rows: Rows) -> Floats:
            features = read_features(graph, rows)
            with ONE_THREAD.limit(limits=1):
                predicted = model.predict(features.T) if len(rows) else np.empty(0)
            return np.stack([predicted, features[N_SUM]])

        return ScoreTerms(model, (1.0, TIE), 0.0, predict, fixed=True)

    def learn(self, x: Floats, y: Floats) -> None:
        """Take in accounts that were read, and fit the trees where it is time."""
        for features, relevance in zip(make_features(x.T).T, y.tolist(), strict=True):
            if self.lessons.add(features, relevance):
                with ONE_THREAD.limit(limits=1):
                    self.model = HistGradientBoostingRegressor(**self.arguments).fit(*self.lessons.get_all())
