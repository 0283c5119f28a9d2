"""How well a model judges texts that it was not learned from, by cross-validation (the paper evaluates by eye only)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from socialcrawl.crawls.text_models.decision_tree import PLAIN
from socialcrawl.crawls.text_models.text_model import TrainingParameters
from socialcrawl.crawls.text_models.vocabulary import Words, count_words, identify_words
from socialcrawl.errors import SettingsError

FOLDS = 5
WEAK = 0.7  # an F1 below this is worth a warning: of what it finds and should find, too much is wrong


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """A confusion matrix: what was said of texts, by what they are.

    Attributes:
        right: on topic, and said so; `wrong`: off topic, and said to be on it.
        lost: on topic, and said to be off it; `kept_out`: off topic, and said so.
        folds: in how many parts the texts were parted; each was judged by a model learned from the others.
    """

    right: int
    wrong: int
    lost: int
    kept_out: int
    folds: int = 0

    @property
    def precision(self) -> float:
        """The share on topic of what is said to be; NaN where nothing is."""
        return _divide(self.right, self.right + self.wrong)

    @property
    def recall(self) -> float:
        """The share said to be on topic of what is; NaN where nothing is."""
        return _divide(self.right, self.right + self.lost)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; NaN where there is nothing to find or say."""
        return _divide(2 * self.right, 2 * self.right + self.wrong + self.lost)

    @property
    def accuracy(self) -> float:
        """The share of texts judged right."""
        return _divide(self.right + self.kept_out, self.right + self.wrong + self.lost + self.kept_out)

    @property
    def doubt(self) -> str:
        """Why what is judged so should not be relied on, a sentence; "" where nothing speaks against it."""
        total = self.right + self.wrong + self.lost + self.kept_out
        on = self.right + self.lost
        larger, kind = max((total - on, "off topic"), (on, "on topic"))
        if self.right + self.kept_out <= larger:
            return f"it is no better than to call everything {kind}, which is right for {_divide(larger, total):.0%}"
        return f"its F1 is below {WEAK:g}" if self.f1 < WEAK else ""


@dataclass(frozen=True, slots=True)
class Examples:
    """Texts to learn from, each once.

    Attributes:
        texts: their words.
        on_topic: of each, whether it is.
        twice: how many more had the same words as one before (reposts), and are left out.
        torn: how many were given as on topic and as off it, and are left out.
    """

    texts: tuple[Counter[str], ...]
    on_topic: tuple[bool, ...]
    twice: int = 0
    torn: int = 0


def make_examples(given: Sequence[tuple[str, bool]]) -> Examples:
    """Return the texts to learn from, of those given with whether they are on topic, in their order.

    A text that a fold learns from and another is judged by would flatter the model: of texts of the same words, one is
    left. Texts without any word are left out too.
    """
    kinds: dict[Words, set[bool]] = {}
    first: dict[Words, Counter[str]] = {}
    read = 0
    for text, on in given:
        counted = count_words(text)
        if counted:
            key = identify_words(counted)
            kinds.setdefault(key, set()).add(bool(on))
            first.setdefault(key, counted)
            read += 1
    kept = [key for key, both in kinds.items() if len(both) == 1]
    on_topic = tuple(next(iter(kinds[key])) for key in kept)
    return Examples(tuple(first[key] for key in kept), on_topic, read - len(kinds), len(kinds) - len(kept))


def cross_validate(
    given: Examples,
    how: TrainingParameters = PLAIN,
    folds: int = FOLDS,
    watch: Callable[[int], None] = lambda done: None,
) -> ConfusionMatrix:
    """Return how well models judge texts that they were not learned from.

    Words and their worth are those of the rest, too.

    Args:
        given: the texts.
        how: how models are learned; its seed also says which text is in which part.
        folds: parts, each with as many on-topic texts as the others, or one more.
        watch: told how many parts are judged.

    Raises:
        SettingsError: there are fewer texts of a kind than parts.
    """
    from sklearn.model_selection import StratifiedKFold  # noqa: PLC0415  # costs a second, and only learning pays it

    kinds = np.array(given.on_topic, bool)
    least = int(min(kinds.sum(), (~kinds).sum()))
    if folds < 2 or least < folds:
        raise SettingsError(
            f"There are {int(kinds.sum()):,} texts on topic and {int((~kinds).sum()):,} off it, which cannot be parted "
            f"in {folds}: give more texts, or fewer --folds (at least 2)."
        )
    said = np.zeros(len(kinds), bool)
    parts: Any = StratifiedKFold(folds, shuffle=True, random_state=how.seed).split(kinds, kinds)
    for done, (learned, asked) in enumerate(parts):
        watch(done)
        model = how.learn([given.texts[i] for i in learned], kinds[learned].tolist())
        for i in asked.tolist():
            said[i] = model.judge(given.texts[i])
    right, wrong, lost = (int(one.sum()) for one in (said & kinds, said & ~kinds, ~said & kinds))
    return ConfusionMatrix(right, wrong, lost, len(kinds) - right - wrong - lost, folds)


def _divide(some: int, total: int) -> float:
    return some / total if total else float("nan")
