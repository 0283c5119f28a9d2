"""A decision tree that says whether a text is on topic (Bar-Yossef, Kanungo, Krauthgamer, section 4).

The paper has C4.5, which parts texts by the gain ratio and prunes by estimated errors. Ours is scikit-learn's tree,
which parts them by the gain itself (the fall of entropy) and is bounded by the size of its leaves: the same idea, not
the same tree. It is learned with scikit-learn and asked without it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from socialcrawl.crawls.text_models.text_model import TextModel, learn_vocabulary
from socialcrawl.crawls.text_models.vocabulary import TfidfVocabulary, make_matrix
from socialcrawl.text.wording import pluralize

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
    learner: ClassVar[str] = "entropy"

    def learn(self, texts: Sequence[Counter[str]], on_topic: Sequence[bool]) -> "DecisionTree":
        """See `TrainingParameters.learn`."""
        return grow(texts, on_topic, self)


PLAIN = TreeParameters()
"""A tree without any wish: both kinds of texts weigh as they come."""


@dataclass(frozen=True, slots=True)
class DecisionTree(TextModel):
    """A tree that is grown; node 0 is its root.

    Attributes:
        vocabulary: the words that are known.
        nodes: the questions and leaves.
        about: what it was learned from, and how well it did, for people.
    """

    vocabulary: TfidfVocabulary
    nodes: tuple[TreeNode, ...]
    about: Mapping[str, Any]
    kind: ClassVar[str] = "socialcrawl tree 1"
    title: ClassVar[str] = "decision tree"

    def estimate_share(self, text: Counter[str]) -> float:
        """Return the share of the training texts that were on topic in the leaf to which a text comes."""
        return self.find_leaf(text).share

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

    def describe_size(self) -> str:
        """See `TextModel.describe_size`."""
        return f"{pluralize(len(self.nodes), 'node')}, {pluralize(len(self.vocabulary.idf), 'word')}"

    def dump(self) -> dict[str, Any]:
        """See `TextModel.dump`."""
        nodes = [[one.word, one.most, one.left, one.right, one.share, one.texts] for one in self.nodes]
        return {"nodes": nodes, "idf": dict(self.vocabulary.idf)}

    @classmethod
    def parse(cls, made: Mapping[str, Any]) -> Self:
        """See `TextModel.parse`."""
        idf = {str(word): float(worth) for word, worth in dict(made["idf"]).items()}
        nodes = tuple(
            TreeNode(str(w), float(m), int(a), int(b), float(s), float(n)) for w, m, a, b, s, n in made["nodes"]
        )
        for i, node in enumerate(nodes):
            # Downward only, so that no text goes round for ever.
            ends = node.left == node.right == LEAF
            if not ends and not (i < node.left < len(nodes) and i < node.right < len(nodes) and node.word in idf):
                raise ValueError(f"its node {i} leads nowhere")
            if not 0.0 <= node.share <= 1.0:
                raise ValueError(f"the share of its node {i} is not from 0 to 1")
        if not nodes:
            raise ValueError("it has no nodes")
        return cls(TfidfVocabulary.of(idf), nodes, dict(made["about"]))

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
        SettingsError: all texts are of one kind, or have no words, or too many.
    """
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415  # costs a second, and only learning pays it

    vocabulary = learn_vocabulary(texts, on_topic, how.least, how.without)
    learner = DecisionTreeClassifier(
        criterion="entropy",
        max_depth=how.depth,
        min_samples_leaf=how.leaf,
        class_weight="balanced" if how.balanced else None,
        random_state=how.seed,
    )
    learner.fit(make_matrix(texts, vocabulary), np.asarray(on_topic, bool))
    return DecisionTree(vocabulary, tuple(_read_nodes(learner.tree_, list(vocabulary.idf))), {})


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


def _compute_entropy(node: TreeNode) -> float:
    parts = np.array([node.share, 1.0 - node.share])
    parts = parts[parts > 0.0]
    return float(-(parts * np.log2(parts)).sum())
