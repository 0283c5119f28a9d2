"""The rule by which keywords are counted, and which campaigns of earlier programs it counts otherwise than before.

Rule 1 knew no entities (a hashtag was a word that begins with #), and scripts without spaces and pictures by the ranges
below. A campaign has the number of its rule in its identity; none is rule 1.
"""

from dataclasses import dataclass

from socialcrawl.relevance import Hits, Topic, fold
from socialcrawl.scripts import is_unspaced

COUNTING = "counting"  # where an identity has the number of the rule
RULE = 2
_UNSPACED_BEFORE = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2600, 0x27BF), (0x3005, 0x3007), (0x3040, 0x30FF),
    (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x1F000, 0x1FAFF), (0x20000, 0x3FFFF),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Counting:
    """How a campaign counts now.

    Attributes:
        hits: the occurrences of its topic that count in a post.
        differs: whether rule 1 found one of its keywords elsewhere.
    """

    hits: Hits
    differs: bool

    @classmethod
    def of(cls, topic: Topic) -> "Counting":
        """Return how a topic is counted."""
        return cls(topic.hits, topic.judge is None and any(_differs(topic, word) for word in topic.keywords))


def _differs(topic: Topic, keyword: str) -> bool:
    """Whether a keyword is an entity, or rule 1 took one of its ends for another kind of character."""
    stem = keyword.strip().removesuffix("*")
    word = fold(stem).strip()
    if topic.entities.address(stem) or topic.entities.mark(word):
        return True
    ends = word[0] if keyword.endswith("*") else word[0] + word[-1]
    return any(is_unspaced(end) != any(low <= ord(end) <= high for low, high in _UNSPACED_BEFORE) for end in ends)
