"""The HTML of posts as plain text, and what it links to. Pure.

The text is as its author wrote it: the parts of an address that Mastodon only hides from sight belong to it, a mention
is "@name", a line break is one, a paragraph two.
"""

import re
from collections.abc import Sequence
from html import unescape
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from socialcrawl.platforms.bounded_html import Anchor, parse_tamed, tame

MAX_HTML = 100_000  # characters of a post's HTML; what is beyond them is left out
PARAGRAPHS = frozenset({"p", "blockquote", "pre", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "table"})
LINES = frozenset({"li", "div", "tr", "dt", "dd", "section", "article"})
SILENT = frozenset({"script", "style", "template", "head", "title", "noscript"})
NOT_LINKS = frozenset({"mention", "hashtag"})
EDGES = re.compile(r"([\f\v][\f\v\s]*)")


class PlainText(NamedTuple):
    """A post as text, and the addresses it links to, except for accounts and hashtags: each once, in order."""

    text: str
    urls: tuple[str, ...]


def parse_html(html: str) -> PlainText:
    """Return the text and the links of a post's HTML, however broken that is."""
    html = html[:MAX_HTML].replace("\0", "\ufffd")
    if "<" not in html:
        return PlainText(unescape(html).strip(), ())
    tamed, links = tame(html)
    with parse_tamed(tamed) as tree:
        return PlainText("", ()) if tree.body is None else _read(tree.body, links)


def _read(body: LexborNode, links: Sequence[Anchor]) -> PlainText:
    """Return what the nodes below `body` say, in the order of the document."""
    parts: list[str] = []
    urls: dict[str, None] = {}
    node = body.first_child
    while node is not None:
        tag = node.tag or ""
        parts.append(_write_opening(node, tag))
        if tag == "a" and (url := _find_link(links[int(node.attributes["href"] or 0)])):
            urls[url] = None
        node = (None if tag in SILENT else node.first_child) or _find_next(node, body, parts)
    return PlainText(_tidy("".join(parts)), tuple(urls))


def _find_next(node: LexborNode, body: LexborNode, parts: list[str]) -> LexborNode | None:
    """Return what stands behind `node` and all that is in it; the elements that end before it are told to `parts`."""
    over: LexborNode | None = node
    while over is not None and over.mem_id != body.mem_id:
        parts.append(_find_edge(over.tag or ""))
        if over.next is not None:
            return over.next
        over = over.parent
    return None


def _write_opening(node: LexborNode, tag: str) -> str:
    if tag == "-text":
        return (node.text_content or "").replace("\f", " ").replace("\v", " ")
    return "\n" if tag == "br" else _find_edge(tag)


def _find_edge(tag: str) -> str:
    """Return what separates an element from its neighbours: a new paragraph (form feed) or line (vertical tab)."""
    return "\f" if tag in PARAGRAPHS else "\v" if tag in LINES else ""


def _tidy(text: str) -> str:
    """Return the text with one new line or empty line where elements part it, whatever blanks stand around."""
    between = EDGES.split(text)
    said, edges = between[::2], between[1::2]
    kept = [part + ("\n\n" if "\f" in edge else "\n") for part, edge in zip(map(str.rstrip, said), edges, strict=False)]
    return "".join([*kept, said[-1]]).strip()


def _find_link(link: Anchor) -> str | None:
    """Return the address of a link; None for one to an account or a hashtag."""
    if NOT_LINKS & set(link.classes.split()) or "tag" in link.rel.split():
        return None
    url = link.href.strip()
    return url if url.lower().startswith(("https://", "http://")) else None
