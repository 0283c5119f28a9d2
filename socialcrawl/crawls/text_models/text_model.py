"""What a model of texts can do, whatever it is: judge whether a text is on topic, and be kept in a file."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

from socialcrawl.crawls.text_models.vocabulary import TfidfVocabulary, count_words
from socialcrawl.errors import SettingsError

MAX_WORDS = 100_000  # that a model knows


class TextModel(ABC):
    """A model that judges texts by their words.

    Attributes:
        kind: the first value of its file.
        title: what it is, for people.
        vocabulary: the words that are known.
        about: what it was learned from, and how well it did, for people.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    vocabulary: TfidfVocabulary
    about: Mapping[str, Any]

    @abstractmethod
    def estimate_share(self, text: Counter[str]) -> float:
        """Return the share of texts like one of these words that are on topic, from 0 to 1."""

    @abstractmethod
    def list_telling_words(self, most: int = 20) -> list[tuple[str, float, bool]]:
        """Return the words that decide most: (word, its part in all decisions, whether it speaks for the topic)."""

    @abstractmethod
    def describe_size(self) -> str:
        """Return how large it is, for people."""

    @abstractmethod
    def dump(self) -> dict[str, Any]:
        """Return what its file holds beside its kind and what is said of it, as JSON has it."""

    @classmethod
    @abstractmethod
    def parse(cls, made: Mapping[str, Any]) -> Self:
        """Return the model that a file holds.

        Raises:
            ValueError, TypeError, KeyError, AttributeError, OverflowError: it holds none.
        """

    def judge(self, text: Counter[str]) -> bool:
        """Return whether a text of these words is on topic: more than half of the texts like it are."""
        return self.estimate_share(text) > 0.5

    def hits(self, text: str) -> int:
        """Return whether a text is on topic, 1 or 0."""
        return int(self.judge(count_words(text)))


class TrainingParameters(Protocol):
    """How a model is learned; its fields are told with the model.

    Attributes:
        learner: what is told of how it learns.
        without: words that the model may not use, as the keyword by which the on-topic texts were found.
        seed: of all draws.
    """

    learner: ClassVar[str]

    @property
    def without(self) -> frozenset[str]:
        """See above."""

    @property
    def seed(self) -> int:
        """See above."""

    def learn(self, texts: Sequence[Counter[str]], on_topic: Sequence[bool]) -> TextModel:
        """Return the model learned from some texts, by their words.

        Raises:
            SettingsError: all texts are of one kind, or have no words, or too many.
        """


def learn_vocabulary(
    texts: Sequence[Counter[str]], on_topic: Sequence[bool], least: int, without: frozenset[str]
) -> TfidfVocabulary:
    """Return the words from which a model is learned.

    Args:
        texts: their words.
        on_topic: of each, whether it is.
        least: texts that have to have a word.
        without: words that are left out.

    Raises:
        SettingsError: all texts are of one kind, or have no words, or too many.
    """
    if len(set(on_topic)) < 2:
        raise SettingsError("A model is learned from texts on topic and off it: there are none of one kind.")
    vocabulary = TfidfVocabulary.learn(texts, least, without)
    if not vocabulary.idf:
        raise SettingsError(f"No word is in {least} texts or more: give more texts, or ask for fewer with --least.")
    if len(vocabulary.idf) > MAX_WORDS:
        raise SettingsError(
            f"{len(vocabulary.idf):,} words are in {least} texts or more, and a model knows {MAX_WORDS:,} at most: ask "
            "for more texts with --least, or give fewer texts."
        )
    return vocabulary
