"""What stands around a link: the parts of a page's text whose occurrences of the topic count for it. Pure.

alpha(u, v) of a page counts the occurrences "in a 100-character window around the link" (Gouriten et al., section 2.3):
the link's own text and 50 characters either side of it. As in the laboratory's pages, a word that the window's end
would cut is left out: half a word is another word.
"""

from collections.abc import Iterable

from socialcrawl import relevance
from socialcrawl.sources.cases.web import UNSPACED, WINDOW

Span = tuple[int, int]
NOWHERE: tuple[Span, ...] = ((0, 0),)
"""The spans of a link that has no text around it, such as one of a menu: nothing counts for it."""


def window(text: str, start: int, end: int, width: int = WINDOW) -> Span:
    """Return the window around the link whose text is `text[start:end]`, `width // 2` characters either side of it."""
    left, right = max(0, start - width // 2), min(len(text), end + width // 2)
    while left < right and _in_word(text, left):
        left += 1
    while right > left and _in_word(text, right):
        right -= 1
    return left, right


def united(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the union of the spans of a link; where they are empty, nothing counts for it."""
    return tuple(relevance.united(spans)) or NOWHERE


def _in_word(text: str, place: int) -> bool:
    """Return whether a cut before `place` would go through a word."""
    return 0 < place < len(text) and all(
        letter.isalnum() and letter < UNSPACED for letter in text[place - 1 : place + 1]
    )
