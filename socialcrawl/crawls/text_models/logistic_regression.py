"""A logistic regression on the words of a text: each known word speaks for or against the topic by its weight.

It is learned with scikit-learn (L2 penalty, C = 10) on TF-IDF vectors of length 1, and asked without it: the decision
is the sum of the weights times the scores of the words, plus the intercept; above 0 a text is on topic.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum
from typing import Any, ClassVar, Self

import numpy as np

from socialcrawl.crawls.text_models.text_model import TextModel, learn_vocabulary
from socialcrawl.crawls.text_models.vocabulary import TfidfVocabulary, make_matrix
from socialcrawl.text.wording import pluralize

INVERSE_PENALTY = 10.0
"""scikit-learn's C. By its default, 1, labels of doubtful posts hardly changed a model of 100 labels. Of 1, 3, 10, 30
and 100, 10 was the best on one set of real posts, and near the best on another (docs/how-to/models.md)."""
ITERATIONS = 1_000  # of the solver at most
LARGEST = 1e6  # a weight: no text's decision overflows


@dataclass(frozen=True, slots=True)
class LogisticParameters:
    """How a logistic regression is learned.

    Attributes:
        least: texts that have to have a word for it to be known.
        balanced: whether both kinds of texts weigh alike, however many there are of each.
        without: words that the model may not use, as the keyword by which the on-topic texts were found.
        seed: of the parts of a cross-validation; the solver draws nothing.
    """

    least: int = 2
    balanced: bool = False
    without: frozenset[str] = frozenset()
    seed: int = 0
    learner: ClassVar[str] = "logistic"

    def learn(self, texts: Sequence[Counter[str]], on_topic: Sequence[bool]) -> "LogisticRegressionModel":
        """See `TrainingParameters.learn`."""
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  # costs a second; only learning pays it

        vocabulary = learn_vocabulary(texts, on_topic, self.least, self.without)
        weights = "balanced" if self.balanced else None
        learner = LogisticRegression(C=INVERSE_PENALTY, max_iter=ITERATIONS, class_weight=weights)
        learner.fit(make_matrix(texts, vocabulary, np.float64), np.asarray(on_topic, bool))
        learned = dict(zip(vocabulary.idf, learner.coef_[0].tolist(), strict=True))
        return LogisticRegressionModel(vocabulary, learned, float(learner.intercept_[0]), {})


@dataclass(frozen=True, slots=True)
class LogisticRegressionModel(TextModel):
    """A logistic regression that was learned.

    Attributes:
        vocabulary: the words that are known.
        weights: by word, what it adds to the decision for a score of 1.
        intercept: the decision on a text without known words.
        about: what it was learned from, and how well it did, for people.
    """

    vocabulary: TfidfVocabulary
    weights: Mapping[str, float]
    intercept: float
    about: Mapping[str, Any]
    kind: ClassVar[str] = "socialcrawl logistic 1"
    title: ClassVar[str] = "logistic regression"

    def compute_decision(self, text: Counter[str]) -> float:
        """Return the log-odds that a text of these words is on topic; the order of words does not matter."""
        scores = self.vocabulary.make_vector(text)
        return fsum([self.intercept, *(score * self.weights[word] for word, score in scores.items())])

    def estimate_share(self, text: Counter[str]) -> float:
        """See `TextModel.estimate_share`."""
        decision = self.compute_decision(text)
        odds = exp(-abs(decision))
        return 1.0 / (1.0 + odds) if decision >= 0.0 else odds / (1.0 + odds)

    def judge(self, text: Counter[str]) -> bool:
        """See `TextModel.judge`."""
        return self.compute_decision(text) > 0.0

    def list_telling_words(self, most: int = 20) -> list[tuple[str, float, bool]]:
        """Return the words of the largest weights: (word, share of all weights, whether it speaks for the topic)."""
        total = fsum(map(abs, self.weights.values())) or 1.0
        ranked = sorted(self.weights, key=lambda word: (-abs(self.weights[word]), word))
        return [(word, abs(self.weights[word]) / total, self.weights[word] > 0.0) for word in ranked[:most]]

    def describe_size(self) -> str:
        """See `TextModel.describe_size`."""
        return pluralize(len(self.weights), "word")

    def dump(self) -> dict[str, Any]:
        """See `TextModel.dump`."""
        return {"intercept": self.intercept, "weights": dict(self.weights), "idf": dict(self.vocabulary.idf)}

    @classmethod
    def parse(cls, made: Mapping[str, Any]) -> Self:
        """See `TextModel.parse`."""
        idf, weights = (
            {str(word): float(value) for word, value in dict(made[key]).items()} for key in ("idf", "weights")
        )
        intercept = float(made["intercept"])
        if idf.keys() != weights.keys():
            raise ValueError("its words and their weights are not the same words")
        if not all(abs(value) <= LARGEST for value in (intercept, *weights.values())):
            raise ValueError(f"a weight is not from {-LARGEST:,.0f} to {LARGEST:,.0f}")
        return cls(TfidfVocabulary.of(idf), weights, intercept, dict(made["about"]))
