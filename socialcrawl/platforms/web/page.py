"""A page as a reader sees it: title, text with its links at their places, what it asks of robots. Pure.

Text is what a browser shows, each run of white space one blank, or one line break where blocks meet. Menus, headers,
footers and asides are on every page of a site and say nothing of this one: their links are links, without a place in
the text, and their text is no text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from socialcrawl.platforms.bounded_html import parse_tamed, tame
from socialcrawl.platforms.web.urls import is_international, join_url

UNSEEN = frozenset((
    "head", "script", "style", "template", "noscript", "title", "svg", "math", "iframe", "object", "canvas", "audio",
    "video", "textarea", "select", "datalist",
))  # fmt: skip
ASIDE = frozenset((
    "nav", "header", "footer", "aside", "menu",
))  # fmt: skip
INLINE = frozenset((
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img",
    "ins", "kbd", "label", "mark", "nobr", "q", "rb", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike",
    "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
))  # fmt: skip
MAX_INTERNATIONAL = 500  # links of a page to hosts in letters beyond ASCII
_LANGUAGE = re.compile(r"[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*")


class Hyperlink(NamedTuple):
    """A link to `url` whose text is `text[start:end]` of its page; -1, -1: it stands outside the text."""

    url: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PageContent:
    """What a page says.

    Attributes:
        title: of the page, "" without.
        text: what is shown of it.
        links: in the order of the page; one to the same page for every time that it stands there.
        lang: the language that it says it is in, a BCP 47 tag.
        robots: what it asks of programs, in lower case: noindex, nofollow.
        description: its own summary.
    """

    title: str = ""
    text: str = ""
    links: tuple[Hyperlink, ...] = ()
    lang: str | None = None
    robots: frozenset[str] = frozenset()
    description: str | None = None


def parse_page(html: str, url: str) -> PageContent:
    """Return the page at `url` (in the one form of an address) whose decoded HTML is `html`; any text is some page.

    Time grows with the length of the text.
    """
    shown, links = tame(html)
    with parse_tamed(shown) as tree:
        return PageContent() if tree.root is None else _parse(tree, url, [link.href for link in links])


def _parse(tree: Any, url: str, hrefs: Sequence[str]) -> PageContent:
    base = next((href for node in tree.css("base[href]") if (href := _get_attribute(node, "href"))), "")
    base = join_url(url, base) or url
    writing = _Writing(_list_targets(base, hrefs))
    for node, opens in _walk(tree.root):
        writing.visit(node, opens=opens)
    top = tree.css_first("html")
    lang = _get_attribute(top, "lang") if top is not None else ""
    title = next((node for node in tree.css("title") if _find_parent(node) == "head"), None)
    named = _read_meta(tree)
    return PageContent(
        " ".join(title.text().split()) if title is not None else "",
        text := "".join(writing.parts),
        tuple(Hyperlink(link.url, min(link.start, len(text)), min(link.end, len(text))) for link in writing.links),
        lang if _LANGUAGE.fullmatch(lang) and len(lang) <= 16 else None,
        frozenset(named.get("robots", "").lower().replace(",", " ").split()),
        named.get("description") or None,
    )


def _list_targets(base: str, hrefs: Sequence[str]) -> list[str | None]:
    """Return where links lead; None where it is no page of the web, or one international host too many."""
    found: list[str | None] = []
    left = MAX_INTERNATIONAL
    for href in hrefs:
        international = not href.isascii() and is_international(href)
        left -= international
        found.append(None if international and left < 0 else join_url(base, href))
    return found


def parse_plain_text(text: str) -> PageContent:
    """Return a page of plain text, which has no links."""
    return PageContent(text=" ".join(text.replace("\0", "\ufffd").split()))


class _Writing:
    """The text so far, and the link whose end has not come; `targets[i]` is where a link leads that says `i`."""

    def __init__(self, targets: Sequence[str | None]) -> None:
        self.targets = targets
        self.parts: list[str] = []
        self.links: list[Hyperlink] = []
        self._size, self._gap = 0, ""
        self._aside = 0
        self._open: list[tuple[str, list[int]]] = []  # target, and where its text begins once there is some

    def visit(self, node: Any, *, opens: bool) -> None:
        """Go over the beginning of a node, or over its end."""
        if node.is_text_node:
            if opens and not self._aside:
                self._write(node.text_content or "")
            return
        name = node.tag
        if name not in INLINE:
            self._gap = "\n" if self._size else ""
        if name in ASIDE or "hidden" in node.attributes:
            self._aside += 1 if opens else -1
        if name in ("a", "area") and (target := self.targets[int(_get_attribute(node, "href"))]):
            self._note_link(name, target, opens=opens)

    def _write(self, text: str) -> None:
        words = text.split()
        if not words:
            self._gap = self._gap or (" " if text and self._size else "")
            return
        if text[0].isspace() and self._size:
            self._gap = self._gap or " "
        piece = self._gap + " ".join(words)
        for _, begin in self._open:
            if not begin:
                begin.append(self._size + len(self._gap))
        self.parts.append(piece)
        self._size += len(piece)
        self._gap = " " if text[-1].isspace() else ""

    def _note_link(self, name: str, target: str, *, opens: bool) -> None:
        if self._aside or name == "area":
            if opens:
                self.links.append(Hyperlink(target, -1, -1))
        elif opens:
            self._open.append((target, []))
        elif self._open:
            target, begin = self._open.pop()
            # Of a picture, say: where the text goes on.
            here = self._size + len(self._gap)
            self.links.append(Hyperlink(target, begin[0], self._size) if begin else Hyperlink(target, here, here))


def _walk(root: Any) -> Iterator[tuple[Any, bool]]:
    """Yield every node that may be seen, at its beginning (True) and at its end."""
    ahead: list[tuple[Any, bool]] = [(root, True)]
    while ahead:
        node, opens = ahead.pop()
        seen = node.is_text_node or (node.is_element_node and node.tag not in UNSEEN)
        if seen:
            yield node, opens
        if not opens:
            continue
        if node is not root and node.next is not None:
            ahead.append((node.next, True))
        if seen and node.is_element_node:
            ahead.append((node, False))
            if node.child is not None:
                ahead.append((node.child, True))


def _read_meta(tree: Any) -> dict[str, str]:
    """Return the contents of the page's <meta name>s; of several of one name all, one after the other."""
    found: dict[str, str] = {}
    for node in tree.css("meta[name]"):
        name, content = _get_attribute(node, "name").lower(), " ".join(_get_attribute(node, "content").split())
        found[name] = f"{found[name]} {content}" if name in found else content
    return found


def _get_attribute(node: Any, name: str) -> str:
    return (node.attributes.get(name) or "").strip()


def _find_parent(node: Any) -> str:
    return node.parent.tag if node.parent is not None else ""
