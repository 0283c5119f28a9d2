"""HTML that no parser takes long over: without what is not shown, bottomless nesting, endless and repeated tags. Pure.

Whatever HTML a platform sends, pages of the web and posts of Mastodon, is tamed here before it is parsed.

The parser's time grows with the square of the depth and of a tag's attributes (100,000 nested <div>, half a megabyte,
took it 20 seconds), and of what is bold or linked to it makes a copy for every paragraph that begins before that ends.
Browsers stop at a depth of 512; so does this. Links lead to numbers here, by which their attributes are kept beside.
"""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

DEEPEST = 512
MAX_TAGS = 100_000  # of one page: what more of them hold is text
MAX_LINKS = 10_000  # of one page: more make it a trap; the text of others is text
MANY = 4  # tags <html> and <body> whose attributes are looked at: each adds its own to the first
# A start or end tag as the HTML standard's tokenizer sees it; the quantifiers do not go back, so that it is linear.
_VALUE = r"\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+"
_TAG = re.compile(
    rf"<(/?+)([a-zA-Z][^\s/>]*+)((?:[\s/]++|[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:{_VALUE})?+)?+)*+)>?+",
)
_ATTRIBUTE = re.compile(rf"[\s/]*+([^\s/>][^\s/>=]*+)(?:\s*+=\s*+({_VALUE})?+)?+")
_ENTITY = re.compile(r"&(#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,8}|[a-zA-Z0-9]{2,32});")
_KEPT = ("href", "content", "name", "hidden", "lang")
_BLOCKS = ("script", "style", "svg", "math", "template", "noscript", "iframe", "textarea", "xmp")
_UNSEEN = re.compile(rf"<!--|<({'|'.join(_BLOCKS)})(?=[\s/>])", re.IGNORECASE)
_ENDS = {name: re.compile(rf"</{name}(?=[\s/>])[^>]*+>", re.IGNORECASE) for name in _BLOCKS} | {"": re.compile("-->")}
# Void elements, and those that the next of their kind closes: they do not nest.
_FLAT = frozenset((
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    "p", "li", "option", "td", "th", "tr", "tbody", "thead", "tfoot", "a",
))  # fmt: skip
# What looks are made with.
_LOOKS = frozenset((
    "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
))  # fmt: skip


class Anchor(NamedTuple):
    """What a link says: where it leads, its classes, and how the page relates to its target."""

    href: str
    classes: str
    rel: str


def tame(html: str) -> tuple[str, list[Anchor]]:
    """Return the same page for the parser, and its first `MAX_LINKS` links.

    Its texts are those of the original, and so are its links, but that the `href` of <a> and <area> is a number: the
    place of the link in the list.
    """
    flattening = _Flattening()
    return _TAG.sub(flattening.tag, _drop_unseen(html.replace("\0", "\ufffd"))), flattening.links


@contextmanager
def parse_tamed(tame: str) -> Iterator["LexborHTMLParser"]:
    """Yield the tree of a page that was tamed.

    Raises:
        MemoryError: there is too little memory for it, or for what is done with it inside the block.
    """
    from selectolax import lexbor  # noqa: PLC0415

    try:
        yield lexbor.LexborHTMLParser(tame)
    except lexbor.SelectolaxError as error:
        raise MemoryError(str(error)) from error


def _drop_unseen(html: str) -> str:
    """Return HTML without comments, scripts, drawings. Each pass looks forward only; the parser gets the rest."""
    parts: list[str] = []
    endless: set[str] = set()
    at = done = 0
    while found := _UNSEEN.search(html, at):
        name, at = (found[1] or "").lower(), found.end()
        end = None if name in endless else _ENDS[name].search(html, at)
        if end is None:
            endless.add(name)
            continue
        parts.append(html[done : found.start()])
        at = done = end.end()
    return "".join([*parts, html[done:]])


class _Flattening:
    """What is open so far, and how many tops and links there were."""

    def __init__(self) -> None:
        self.links: list[Anchor] = []
        self._open: Counter[str] = Counter()
        self._depth = self._tops = self._tags = 0

    def tag(self, found: re.Match[str]) -> str:
        """Return what stands for a tag."""
        closing, name, rest = found[1], found[2].lower(), found[3]
        self._tags += 1
        if self._tags > MAX_TAGS:
            return ""
        if name in ("html", "body") and not closing:
            self._tops += 1
            return "<hr>" if self._tops > MANY else f"<{name}{_narrow(rest)}>"
        if name in ("a", "area") and not closing:
            return self._write_link(name, rest)
        name = "span" if name in _LOOKS else name
        if name not in _FLAT and self._is_too_deep(name, closing):
            return "<hr>"  # ends what is before it as a block would, and holds nothing
        if closing:
            return f"</{name}>"
        return f"<{name}{_narrow(rest)}>"

    def _is_too_deep(self, name: str, closing: str) -> bool:
        if not closing:
            self._open[name] += 1
            self._depth += 1
            return self._depth > DEEPEST
        if not self._open[name]:
            return False  # the parser overlooks it
        self._open[name] -= 1
        self._depth -= 1
        return self._depth >= DEEPEST

    def _write_link(self, name: str, rest: str) -> str:
        given = dict(reversed(_parse_attributes(rest)))  # the first of each name counts
        if "href" not in given or len(self.links) >= MAX_LINKS:
            return "</a>" if name == "a" else ""  # a link ends where another <a> begins
        values = (given.get(key, "") for key in ("href", "class", "rel"))
        self.links.append(Anchor(*(_ENTITY.sub(lambda found: unescape(found[0]), value) for value in values)))
        return f"<{name} href={len(self.links) - 1}{' hidden' if 'hidden' in given else ''}>"


def _narrow(rest: str) -> str:
    """Return of a tag's attributes those that say something here, the first of each name.

    The parser's time grows with the square of the number of different names on a page.
    """
    low = rest.lower()
    if not any(name in low for name in _KEPT):
        return ""
    kept: dict[str, str] = {}
    for name, value in _parse_attributes(rest):
        if name in _KEPT:
            kept.setdefault(name, value.replace('"', "&quot;"))
    return "".join(f' {name}="{value}"' for name, value in kept.items())


def _parse_attributes(rest: str) -> list[tuple[str, str]]:
    """Return names in lower case and values without their quotes, as they stand."""
    found = []
    for name, value in _ATTRIBUTE.findall(rest):
        found.append((name.lower(), value[1:-1] if value[:1] in ('"', "'") else value))
    return found
