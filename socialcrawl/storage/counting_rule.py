"""The rule by which keywords are counted, and which campaigns of earlier programs it counts otherwise than before.

Rule 1 knew no entities (a hashtag was a word that begins with #), and scripts without spaces and pictures by the ranges
below. Rule 2 counted names with a domain where texts spell them only. A campaign has the number of its rule in its
identity; none is rule 1.
"""

from dataclasses import dataclass

from socialcrawl.graph.relevance import Hits, Topic, fold
from socialcrawl.text.word_boundaries import is_unspaced

COUNTING = "counting"  # where an identity has the number of the rule
RULE = 3
_UNSPACED_BEFORE = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2600, 0x27BF), (0x3005, 0x3007), (0x3040, 0x30FF),
    (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x1F000, 0x1FAFF), (0x20000, 0x3FFFF),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CountingRule:
    """How a campaign counts now.

    Attributes:
        hits: the occurrences of its topic that count in a post.
        since: the rule from which on each of its keywords is counted as now.
    """

    hits: Hits
    since: int

    @classmethod
    def from_topic(cls, topic: Topic) -> "CountingRule":
        """Return how a topic is counted."""
        words = () if topic.judge is not None else topic.keywords
        return cls(topic.hits, max((_find_rule(topic, word) for word in words), default=1))


def _find_rule(topic: Topic, keyword: str) -> int:
    """Return the rule from which on a keyword is counted as now."""
    stem = keyword.strip().removesuffix("*")
    if topic.entities.find_account(stem) is not None:
        return 3
    return 2 if _is_changed(topic, keyword, stem) else 1


def _is_changed(topic: Topic, keyword: str, stem: str) -> bool:
    """Return whether a keyword is an entity, or rule 1 took one of its ends for another kind of character."""
    word = fold(stem).strip()
    if topic.entities.address(stem) or topic.entities.mark(word):
        return True
    ends = word[0] if keyword.endswith("*") else word[0] + word[-1]
    return any(is_unspaced(end) != any(low <= ord(end) <= high for low, high in _UNSPACED_BEFORE) for end in ends)
