"""Focused web crawling: pages, their links, and the keywords in the page and around each link (section 2.2).

Of a link only its target is known. Its place is taken to be the first at which the target's title begins a word of the
text, without regard to case and line breaks ("cat" is found in "cats"); where there is none, the link has weight 0.
"""

from collections.abc import Callable, Mapping

from examples.asking import Asking, absent, answered
from socialcrawl.engine.model import Grant, Reply
from socialcrawl.graph.link_context import WINDOW, WebPage, find_context, normalize_line, parse_title
from socialcrawl.graph.relevance import compute_worth


class Web(Asking):
    """Web pages as a source: one request a page, so that n steps are n requests besides those for the seeds."""

    def __init__(self) -> None:
        super().__init__("page", compute_worth)


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
        line = normalize_line(page.text)
        links = {target: self.count(find_context(line, parse_title(target), self.window)) for target in page.links}
        return answered(grant, [(key, page.text, self.count(page.text))], links)
