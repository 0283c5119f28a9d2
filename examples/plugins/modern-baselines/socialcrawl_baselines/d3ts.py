"""Dynamic Thompson sampling over models: at each step a bandit chooses the model whose best account is read.

After Murai, Rennó, Ribeiro, Pappa, Towsley, Gile: Selective harvesting over networks (2017), with the bandit of Gupta,
Granmo, Agrawala: Thompson sampling for dynamic multi-armed bandits (2011).
"""

from typing import Any

import numpy as np
from scipy.special import betaincinv
from sklearn.ensemble import RandomForestRegressor

from socialcrawl.contracts.estimators import CrawlGraph, Estimator, Floats, Rows, ScoreTerms, draw_uniform
from socialcrawl_baselines.lessons import FEATURES, Lessons, make_features, read_features

ARMS = ("mentions", "vote", "linear", "forest")
DOUBT = 3.0  # mentions by an account of mean relevance that each vote begins with
FORGETTING = 0.99  # the weight of a lesson after each later one, in the linear model
GROWTH = 1.2  # of the lessons, until the forest is fitted again
LEAF = 3  # accounts of a leaf, at least
SHARE = 1 / 3  # of the features that a split looks at


class Beliefs:
    """What is believed of the success of each arm: Beta distributions that forget.

    Args:
        arms: how many there are.
        cap: the most that a + b of an arm can be; smaller numbers forget sooner.
    """

    def __init__(self, arms: int, cap: float) -> None:
        self.a, self.b, self.cap = np.ones(arms), np.ones(arms), cap

    def credit(self, arm: int, success: float) -> None:
        """Take in that an arm had a success (1) or none (0)."""
        shrink = 1.0 if self.a[arm] + self.b[arm] < self.cap else self.cap / (self.cap + 1.0)
        self.a[arm] = (self.a[arm] + success) * shrink
        self.b[arm] = (self.b[arm] + 1.0 - success) * shrink

    def draw(self, uniform: Floats) -> int:
        """Return the arm whose distribution has the largest value at its own of these quantiles."""
        return int(np.argmax(betaincinv(self.a, self.b, uniform)))


class Linear:
    """Recursive least squares that weighs later lessons more; the last weight is the intercept."""

    def __init__(self) -> None:
        self.weights, self._inverse = np.zeros(len(FEATURES) + 1), np.eye(len(FEATURES) + 1)

    def learn(self, features: Floats, relevance: float) -> None:
        """Take in one lesson."""
        x = np.append(features, 1.0)
        p = np.einsum("ij,j->i", self._inverse, x)
        gain = p / (FORGETTING + float(np.add.reduce(p * x)))
        self.weights = self.weights + gain * (relevance - float(np.add.reduce(self.weights * x)))
        self._inverse = (self._inverse - gain[:, None] * p) / FORGETTING


class D3TS(Estimator):
    """Score by the model that the bandit has drawn for the next account; all models learn from each account.

    The models are: `mentions`, the relevance of the accounts that mention an account; `vote`, their mean, with DOUBT;
    `linear`, a linear model over FEATURES; `forest`, a random forest over them.

    Args:
        cap: see `Beliefs`.
        first: the accounts that are read by `mentions`, before the bandit begins.
        trees: how many trees the forest has.
        seed: the seed of the campaign.
    """

    def __init__(self, cap: float = 5.0, first: int = 20, trees: int = 50, seed: int = 0) -> None:
        self.trees, self.seed = trees, seed
        self.beliefs, self.linear, self.lessons = Beliefs(len(ARMS), cap), Linear(), Lessons(first, GROWTH)
        self.forest: Any = None
        self.arm = 0
        self._sum = 0.0

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> Floats:
        """Return the scores of `rows` by the model that was drawn."""
        terms = self.get_terms(n)
        return terms.combine(terms.values(graph, rows))

    def get_terms(self, n: int) -> ScoreTerms:
        """Return the values of all models, of which the one that was drawn has weights."""
        weights: dict[str, tuple[float, ...]] = {
            "mentions": (1.0,),
            "vote": (1.0, DOUBT * self._sum / max(1, self.lessons.count)),
            "forest": (1.0,),
            "linear": tuple(self.linear.weights[:-1].tolist()),
        }
        drawn = ARMS[self.arm]
        line = [weight if arm == drawn else 0.0 for arm, part in weights.items() for weight in part]
        forest = self.forest

        def read_values(graph: CrawlGraph, rows: Rows) -> Floats:
            features = read_features(graph, rows)
            n_sum, links = graph.columns(("n_sum", "links"), rows)
            heuristics = np.stack([n_sum, n_sum / (links + DOUBT), 1.0 / (links + DOUBT), predict(forest, features)])
            return np.concatenate([heuristics, features])

        return ScoreTerms(forest or self, tuple(line), 0.0, read_values)

    def learn(self, x: Floats, y: Floats) -> None:
        """Credit the model by which an account was picked, teach all, and draw the next one."""
        for features, relevance in zip(make_features(x.T).T, y.tolist(), strict=True):
            if self.forest is not None:
                self.beliefs.credit(self.arm, float(relevance > 0))
            self._sum += relevance
            self.linear.learn(features, relevance)
            if self.lessons.add(features, relevance):
                forest = RandomForestRegressor(
                    self.trees, min_samples_leaf=LEAF, max_features=SHARE, random_state=self.seed
                )
                self.forest = forest.fit(*self.lessons.get_all())
            if self.forest is not None:
                self.arm = self.beliefs.draw(draw_uniform(self.seed, "D3TS", self.lessons.count, len(ARMS)))


def predict(forest: Any, features: Floats) -> Floats:
    """Return the sum of the predictions of all trees, shape (m,); zeros without a forest."""
    total = np.zeros(features.shape[1])
    x = np.ascontiguousarray(features.T, np.float32)
    for tree in forest.estimators_ if forest is not None and len(x) else ():
        total += tree.predict(x, check_input=False)
    return total
