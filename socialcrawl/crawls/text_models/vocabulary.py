"""Texts as vectors of words of length 1, from which models learn and by which they judge.

The paper (Bar-Yossef, Kanungo, Krauthgamer, section 4) lower-cases texts, gives each word of the training texts a
place, and refers to Chakrabarti and others for the scores. These are theirs (Mining the Web, section 3.2.1, after
Cornell's SMART system): 1 + ln(1 + ln n) for a word that a text has n times, times ln((1 + N) / N_w), where N_w of the
N training texts have it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np

from socialcrawl.graph.relevance import fold

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
"""Addresses are no words: the shortened ones of platforms are different in each post."""


Words = frozenset[tuple[str, int]]


def count_words(text: str) -> Counter[str]:
    """Return the words of a text, with how often it has each: letters and digits, folded as keywords are.

    No addresses.
    """
    return Counter(WORD.findall(fold(ADDRESS.sub(" ", text))))


def identify_words(counted: Counter[str]) -> Words:
    """Return the words of a text with how often it has each: texts with the same ones teach the same."""
    return frozenset(counted.items())


@dataclass(frozen=True, slots=True)
class TfidfVocabulary:
    """The words that are known, in the order of their places, and what each is worth.

    Attributes:
        idf: by word, ln((1 + N) / N_w).
        place: by word, its column.
    """

    idf: Mapping[str, float]
    place: Mapping[str, int]

    @classmethod
    def of(cls, idf: Mapping[str, float]) -> "TfidfVocabulary":
        """Return the vocabulary with these worths; places go by their order."""
        return cls(idf, {word: i for i, word in enumerate(idf)})

    @classmethod
    def learn(
        cls, texts: Sequence[Counter[str]], least: int = 1, without: frozenset[str] = frozenset()
    ) -> "TfidfVocabulary":
        """Return the words of some texts.

        Args:
            texts: their words.
            least: texts that have to have a word.
            without: words that are left out.
        """
        having = Counter(word for one in texts for word in one)
        known = sorted(word for word, n in having.items() if n >= least and word not in without)
        return cls.of({word: log((1 + len(texts)) / having[word]) for word in known})

    def make_vector(self, text: Counter[str]) -> dict[str, float]:
        """Return the scores of a text's words, of length 1 together; empty where it has no known word."""
        scores = {word: (1.0 + log(1.0 + log(n))) * self.idf[word] for word, n in text.items() if word in self.idf}
        length = sqrt(sum(score * score for score in scores.values()))
        return {word: score / length for word, score in scores.items()} if length else {}


def make_matrix(texts: Sequence[Counter[str]], vocabulary: TfidfVocabulary, number: Any = np.float32) -> Any:
    """Return the vectors of some texts, scipy CSR of the type `number` [texts, words]."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415  # costs 0.2 s, and only learning pays it

    vectors = [vocabulary.make_vector(text) for text in texts]
    ends = np.cumsum([0, *map(len, vectors)])
    places = np.array([vocabulary.place[word] for one in vectors for word in one], np.int32)
    scores = np.array([score for one in vectors for score in one.values()], number)
    made = csr_matrix((scores, places, ends), shape=(len(texts), len(vocabulary.idf)))
    made.sort_indices()
    return made
