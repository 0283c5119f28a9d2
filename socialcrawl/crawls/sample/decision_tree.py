"""A decision tree that says whether a text is on topic (Bar-Yossef, Kanungo, Krauthgamer, section 4).

The paper has C4.5, which parts texts by the gain ratio and prunes by estimated errors. Ours is scikit-learn's tree,
which parts them by the gain itself (the fall of entropy) and is bounded by the size of its leaves: the same idea, not
the same tree. It is learned with scikit-learn and asked without it: the file that keeps it is JSON that people can
read, with words, their worth and the nodes; nothing is pickled.

A text is a vector of words of length 1. The paper lower-cases texts, gives each word of the training texts a place,
and refers to Chakrabarti and others for the scores. These are theirs (Mining the Web, section 3.2.1, after Cornell's
SMART system): 1 + ln(1 + ln n) for a word that a text has n times, times ln((1 + N) / N_w), where N_w of the N
training texts have it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from socialcrawl.errors import SettingsError
from socialcrawl.formats.documents import read_bytes
from socialcrawl.graph.relevance import fold
from socialcrawl.system.bounds import MAX_VALUES, is_crowded

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
"""Addresses are no words: the shortened ones of platforms are different in each post."""


def count_words(text: str) -> Counter[str]:
    """Return the words of a text, with how often it has each: letters and digits, folded as keywords are.

    No addresses.
    """
    return Counter(WORD.findall(fold(ADDRESS.sub(" ", text))))


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


KIND = "socialcrawl tree 1"
LEAF = -1


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One node of a tree: a question about a word, or a leaf.

    Attributes:
        word: whose score is looked at; "" at a leaf.
        most: texts whose score is at most this go left, others right.
        left, right: places of the nodes that follow; -1 at a leaf.
        share: the share of the training texts here that were on topic.
        texts: how many training texts came here, as they are weighed.
    """

    word: str
    most: float
    left: int
    right: int
    share: float
    texts: float


@dataclass(frozen=True, slots=True)
class TreeParameters:
    """How a tree is grown.

    Attributes:
        leaf: texts that each leaf has at least.
        depth: questions on the way to a leaf at most; None: as many as it takes.
        least: texts that have to have a word for it to be known. The paper knows all words (1); but one that a single
            text has makes that text's other scores smaller, as no new text's ever are.
        balanced: whether both kinds of texts weigh alike, however many there are of each.
        without: words that the tree may not ask for, as the keyword by which the on-topic texts were found.
        seed: of the order in which words of the same gain are tried.
    """

    leaf: int = 2
    depth: int | None = None
    least: int = 2
    balanced: bool = False
    without: frozenset[str] = frozenset()
    seed: int = 0


PLAIN = TreeParameters()
"""A tree without any wish: both kinds of texts weigh as they come."""


@dataclass(frozen=True, slots=True)
class DecisionTree:
    """A tree that is grown; node 0 is its root.

    Attributes:
        vocabulary: the words that are known.
        nodes: the questions and leaves.
        about: what it was learned from, and how well it did, for people.
    """

    vocabulary: TfidfVocabulary
    nodes: tuple[TreeNode, ...]
    about: Mapping[str, Any]

    def hits(self, text: str) -> int:
        """Return whether a text is on topic, 1 or 0."""
        return int(self.judge(count_words(text)))

    def judge(self, text: Counter[str]) -> bool:
        """Return whether a text of these words is on topic: more than half of the training texts in its leaf were."""
        return self.find_leaf(text).share > 0.5

    def list_telling_words(self, most: int = 20) -> list[tuple[str, float, bool]]:
        """Return the words by which the tree parts best: (word, share of all gain, whether it speaks for the topic)."""
        gains: dict[str, float] = defaultdict(float)
        sides: dict[str, float] = defaultdict(float)
        for node in self.nodes:
            if node.left != LEAF:
                left, right = self.nodes[node.left], self.nodes[node.right]
                gain = (
                    node.texts * _compute_entropy(node)
                    - left.texts * _compute_entropy(left)
                    - right.texts * _compute_entropy(right)
                )
                gains[node.word] += gain
                sides[node.word] += gain if right.share > left.share else -gain
        total = sum(gains.values()) or 1.0
        ranked = sorted(gains, key=lambda word: (-gains[word], word))
        return [(word, gains[word] / total, sides[word] > 0.0) for word in ranked[:most]]

    def save(self, path: Path) -> None:
        """Write the tree into a file that is not there yet.

        Raises:
            SettingsError: the file is there, or cannot be written.
        """
        nodes = [[one.word, one.most, one.left, one.right, one.share, one.texts] for one in self.nodes]
        made = {"kind": KIND, "about": dict(self.about), "nodes": nodes, "idf": dict(self.vocabulary.idf)}
        try:
            with path.open("xb") as file:
                file.write(orjson.dumps(made, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        except FileExistsError as error:
            raise SettingsError(f"{path} already exists and was not overwritten. Choose another file name.") from error
        except OSError as error:
            raise SettingsError(f"{path} cannot be written ({error.strerror}): name another file.") from error

    @classmethod
    def load(cls, path: Path) -> "DecisionTree":
        """Return the tree that a file keeps.

        Raises:
            SettingsError: the file is missing, or is no tree.
        """
        try:
            return _make_tree(_parse(read_bytes(path)))
        except OSError as error:
            raise SettingsError(
                f"The tree {path} cannot be read ({error.strerror}): make one with `socialcrawl train`."
            ) from error
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise SettingsError(f"{path} is not a tree ({error}): make one with `socialcrawl train`.") from error

    def find_leaf(self, text: Counter[str]) -> TreeNode:
        """Return the leaf to which a text of these words comes."""
        vector = self.vocabulary.make_vector(text)
        node = self.nodes[0]
        while node.left != LEAF:
            score = float(np.float32(vector.get(node.word, 0.0)))  # as scikit-learn saw it
            node = self.nodes[node.left if score <= node.most else node.right]
        return node


def grow(texts: Sequence[Counter[str]], on_topic: Sequence[bool], how: TreeParameters = PLAIN) -> DecisionTree:
    """Return the tree learned from some texts.

    Args:
        texts: their words.
        on_topic: of each, whether it is.
        how: how the tree is grown.

    Raises:
        SettingsError: all texts are of one kind, or have no words.
    """
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415  # costs a second, and only learning pays it

    if len(set(on_topic)) < 2:
        raise SettingsError("A tree is learned from texts on topic and off it: there are none of one kind.")
    vocabulary = TfidfVocabulary.learn(texts, how.least, how.without)
    if not vocabulary.idf:
        raise SettingsError(f"No word is in {how.least} texts or more: give more texts, or ask for fewer with --least.")
    learner = DecisionTreeClassifier(
        criterion="entropy",
        max_depth=how.depth,
        min_samples_leaf=how.leaf,
        class_weight="balanced" if how.balanced else None,
        random_state=how.seed,
    )
    learner.fit(make_matrix(texts, vocabulary), np.asarray(on_topic, bool))
    return DecisionTree(vocabulary, tuple(_read_nodes(learner.tree_, list(vocabulary.idf))), {})


def make_matrix(texts: Sequence[Counter[str]], vocabulary: TfidfVocabulary) -> Any:
    """Return the vectors of some texts, scipy CSR float32 [texts, words]."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415  # costs 0.2 s, and only learning pays it

    vectors = [vocabulary.make_vector(text) for text in texts]
    ends = np.cumsum([0, *map(len, vectors)])
    places = np.array([vocabulary.place[word] for one in vectors for word in one], np.int32)
    scores = np.array([score for one in vectors for score in one.values()], np.float32)
    made = csr_matrix((scores, places, ends), shape=(len(texts), len(vocabulary.idf)))
    made.sort_indices()
    return made


def _read_nodes(grown: Any, names: Sequence[str]) -> Iterator[TreeNode]:
    """Yield the nodes of scikit-learn's tree; its values are the shares of off-topic and on-topic texts, as weighed."""
    for i in range(grown.node_count):
        leaf = grown.children_left[i] == LEAF
        value = grown.value[i][0]
        yield TreeNode(
            "" if leaf else names[grown.feature[i]],
            0.0 if leaf else float(grown.threshold[i]),
            int(grown.children_left[i]),
            int(grown.children_right[i]),
            float(value[1] / value.sum()),
            float(grown.weighted_n_node_samples[i]),
        )


def _parse(text: bytes) -> Any:
    if is_crowded(text):
        raise ValueError(f"it holds more than {MAX_VALUES:,} values")
    return orjson.loads(text)


def _make_tree(made: Any) -> DecisionTree:
    if made["kind"] != KIND:
        raise ValueError(f"its kind is {made['kind']!r}, not {KIND!r}")
    idf = {str(word): float(worth) for word, worth in dict(made["idf"]).items()}
    nodes = tuple(TreeNode(str(w), float(m), int(a), int(b), float(s), float(n)) for w, m, a, b, s, n in made["nodes"])
    for i, node in enumerate(nodes):
        # Downward only, so that no text goes round for ever.
        ends = node.left == node.right == LEAF
        if not ends and not (i < node.left < len(nodes) and i < node.right < len(nodes) and node.word in idf):
            raise ValueError(f"its node {i} leads nowhere")
    if not nodes:
        raise ValueError("it has no nodes")
    return DecisionTree(TfidfVocabulary.of(idf), nodes, dict(made["about"]))


def _compute_entropy(node: TreeNode) -> float:
    parts = np.array([node.share, 1.0 - node.share])
    parts = parts[parts > 0.0]
    return float(-(parts * np.log2(parts)).sum())
