"""A page of plain text as HTML: each link stands where its target's title first begins a word of the text. Pure.

The laboratory weighs links by the same rule (`graph.link_context`). Where two titles overlap ("New York" and
"York"), as links cannot, the second becomes links without text at its beginning and its end: the windows around those
make up the window around the whole. A list of all links comes first, in the order of the file, as a menu: a crawl
meets the targets in the same order as the laboratory, and finds those that the text does not name.
"""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple
from urllib.parse import quote

from socialcrawl.graph.link_context import UNSPACED, WebPage, parse_title
from socialcrawl.graph.relevance import fold

STEP = 20  # characters between two links without text


class HtmlLink(NamedTuple):
    """A link to `key` at `text[start:end]`; start = end: without text."""

    start: int
    end: int
    key: str


def make_path(key: str) -> str:
    """Return the path of a page."""
    return f"/wiki/{quote(key, safe='')}"


def make_title(key: str) -> str:
    """Return the title of a page as it is shown: its key, `_` as space."""
    return " ".join(key.replace("_", " ").split())


def render_page(key: str, page: WebPage, more: str = "") -> str:
    """Return the page as HTML.

    Args:
        key: its key.
        page: its text and links.
        more: what else stands in the head.
    """
    text = " ".join(page.text.split())
    menu = "".join(f'<li><a href="{make_path(to)}">{escape(make_title(to))}</a>' for to in page.links)
    body = render_links(text, find_links(text, page.links))
    return (
        f'<!DOCTYPE html>\n<html>\n<head><meta charset="utf-8"><title>{escape(make_title(key))}</title>{more}</head>\n'
        f"<body>\n<header><h1>{escape(make_title(key))}</h1></header>\n<nav><ul>{menu}</ul></nav>\n"
        f"<main>{body}</main>\n<footer>A page of the mock.</footer>\n</body>\n</html>\n"
    )


def find_links(text: str, keys: Sequence[str]) -> list[HtmlLink]:
    """Return where the links of a page stand in its text (with single blanks), in order and without overlaps."""
    line, places = fold_text(text)
    wanted = []
    for key in keys:
        name = parse_title(key)
        start = find_begin(line, name)
        if start >= 0:
            wanted.append(HtmlLink(places[start], places[start + len(name)], key))
    made: list[HtmlLink] = []
    free = 0
    for mark in sorted(wanted, key=lambda mark: (mark.start, -mark.end)):
        if mark.start >= free:
            made.append(mark)
            free = mark.end
        else:
            spots = [*range(mark.start, mark.end, STEP), mark.end]
            made += [HtmlLink(spot, spot, mark.key) for spot in spots]
    return sorted(made, key=lambda mark: (mark.start, mark.end))


def render_links(text: str, given: Sequence[HtmlLink]) -> str:
    """Return the text as HTML with its links; one without text that stands in another's text parts that in two."""
    spots = [mark for mark in given if mark.start == mark.end]
    parts, at = [], 0

    def write(until: int, key: str | None = None) -> None:
        nonlocal at
        while at < until or (spots and spots[0].start <= until):
            stop = min(until, spots[0].start) if spots else until
            part = escape(text[at:stop], quote=False)
            parts.append(f'<a href="{make_path(key)}">{part}</a>' if key and part else part)
            at = stop
            while spots and spots[0].start <= at:
                parts.append(f'<a href="{make_path(spots.pop(0).key)}"></a>')

    for mark in given:
        if mark.end > mark.start:
            write(mark.start)
            write(mark.end, mark.key)
    write(len(text))
    return "".join(parts)


def fold_text(text: str) -> tuple[str, list[int]]:
    """Return a text as titles are searched in it, and for each of its places (the end too) that in the text itself."""
    line, places = fold(text), list(range(len(text) + 1))
    letters = [fold(letter) for letter in text] if len(line) != len(text) else []
    if letters:
        places = [place for place, letter in enumerate(letters) for _ in letter]
        places.append(len(text))
        line = "".join(letters) if len(places) != len(line) + 1 else line
    return line, places


def find_begin(line: str, name: str) -> int:
    """Return the first place at which `name` begins a word of the line; -1 where there is none."""
    start = line.find(name) if name else -1
    while start > 0 and all(letter.isalnum() and letter < UNSPACED for letter in line[start - 1 : start + 1]):
        start = line.find(name, start + 1)
    return start
