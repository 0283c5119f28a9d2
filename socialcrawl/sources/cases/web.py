"""Focused web crawling: pages, their links, and the keywords in the page and around each link (section 2.2).

Of a link only its target is known. Its place is taken to be the first at which the target's title begins a word of the
text, without regard to case and line breaks ("cat" is found in "cats"); where there is none, the link has weight 0.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from socialcrawl.model import Grant, Reply
from socialcrawl.relevance import fold, worth
from socialcrawl.sources.cases.asking import Asking, absent, answered

WINDOW = 100  # characters around a link that its weight is read from (section 2.3)
UNSPACED = "\u0e00"  # from here on (Thai, Chinese, Japanese ...) letters side by side need not be of one word


class WebPage(NamedTuple):
    """One page: its text, and the keys of the pages it links to."""

    text: str
    links: Sequence[str]


class Web(Asking):
    """Web pages as a source: one request a page, so that n steps are n requests besides those for the seeds."""

    def __init__(self) -> None:
        super().__init__("page", worth)


class WebWire:
    """The web that consists of `pages` (key -> page); a page that is not among them is missing.

    Args:
        pages: the pages by key, such as `key, text, links` of a Parquet file; a key is a title with `_` for spaces,
            percent-encoded where needed.
        count: the occurrences of the topic in a text, such as `Topic.count`.
        window: the characters around a link that are read for its weight, half of them on each side.
    """

    def __init__(self, pages: Mapping[str, WebPage], count: Callable[[str], int], window: int = WINDOW) -> None:
        self.pages, self.count, self.window = pages, count, window

    def send(self, grant: Grant) -> Reply:
        """Return the page asked for: its occurrences, and for each link those around it."""
        key = grant.request.params["key"]
        page = self.pages.get(key)
        if page is None:
            return absent(grant)
        line = one_line(page.text)
        links = {target: self.count(around(line, title(target), self.window)) for target in page.links}
        return answered(grant, [(key, page.text, self.count(page.text))], links)


def title(key: str) -> str:
    """Return the title of a page by its key: percent-decoded, `_` as space, in the form of `one_line`."""
    return one_line(unquote(key).replace("_", " "))


def one_line(text: str) -> str:
    """Return the text in which titles are looked for: folded as keywords are, every white space one blank."""
    return " ".join(fold(text).split())


def around(line: str, anchor: str, window: int = WINDOW) -> str:
    """Return the first `anchor` in `line` that begins a word, with window // 2 characters on each side.

    "" if there is none.

    A word that the window's end would cut is left out: half a word is another word.
    """
    start = line.find(anchor) if anchor else -1
    while start >= 0 and _in_word(line, start):
        start = line.find(anchor, start + 1)
    if start < 0:
        return ""
    end = start + len(anchor)
    left, right = max(0, start - window // 2), min(len(line), end + window // 2)
    while left < right and _in_word(line, left):
        left += 1
    while right > left and _in_word(line, right):
        right -= 1
    return line[left:right]


def _in_word(line: str, place: int) -> bool:
    """Return whether a cut before `place` would go through a word."""
    return 0 < place < len(line) and all(
        letter.isalnum() and letter < UNSPACED for letter in line[place - 1 : place + 1]
    )
