"""The text around a link, whose occurrences of the topic give the link its weight. Pure.

alpha(u, v) of a page counts the occurrences "in a 100-character window around the link" (Gouriten et al., section 2.3):
the link's own text and 50 characters on each side. A word that the end of the window would cut is left out, because
half a word is another word.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from socialcrawl.graph import relevance

Span = tuple[int, int]
WINDOW = 100  # characters around a link that its weight is read from (section 2.3)
UNSPACED = "\u0e00"  # from here on (Thai, Chinese, Japanese ...) letters side by side need not be of one word
NOWHERE: tuple[Span, ...] = ((0, 0),)
"""The spans of a link that has no text around it, such as one of a menu: nothing counts for it."""


class WebPage(NamedTuple):
    """One page of a file: its text, and the keys of the pages that it links to."""

    text: str
    links: Sequence[str]


def find_window(text: str, start: int, end: int, width: int = WINDOW) -> Span:
    """Return the window around the link whose text is `text[start:end]`, `width // 2` characters on each side."""
    left, right = max(0, start - width // 2), min(len(text), end + width // 2)
    while left < right and _is_in_word(text, left):
        left += 1
    while right > left and _is_in_word(text, right):
        right -= 1
    return left, right


def unite_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the union of the spans of a link, or `NOWHERE` if they are empty."""
    return tuple(relevance.merge_spans(spans)) or NOWHERE


def parse_title(key: str) -> str:
    """Return the title of a page by its key: percent-decoded, `_` as space, in the form of `normalize_line`."""
    return normalize_line(unquote(key).replace("_", " "))


def normalize_line(text: str) -> str:
    """Return the text in which titles are searched: folded as keywords are, each run of white space one blank."""
    return " ".join(relevance.fold(text).split())


def find_context(line: str, anchor: str, width: int = WINDOW) -> str:
    """Return the first `anchor` in `line` that begins a word, with `width // 2` characters on each side, or ""."""
    start = line.find(anchor) if anchor else -1
    while start >= 0 and _is_in_word(line, start):
        start = line.find(anchor, start + 1)
    if start < 0:
        return ""
    left, right = find_window(line, start, start + len(anchor), width)
    return line[left:right]


def _is_in_word(text: str, place: int) -> bool:
    """Return whether a cut before `place` would go through a word."""
    return 0 < place < len(text) and all(
        letter.isalnum() and letter < UNSPACED for letter in text[place - 1 : place + 1]
    )
