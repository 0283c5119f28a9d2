"""The facets of a text: whom it mentions, its hashtags and links, with their places in bytes of UTF-8."""

import re
from collections.abc import Sequence
from operator import itemgetter
from unicodedata import category

import orjson

from socialcrawl.mock.x.entities import find_links, locate, lower_text

_TAG = re.compile(r"(?<!\S)#([^\s\u00ad\u2060\u200a-\u200d\u20e2]+)")
_FACET = '{"features":[{"$type":"app.bsky.richtext.facet#'


def render_facets(text: str, named: Sequence[tuple[str, str]], *, ordered: bool = False) -> str:
    """Return the member `facets` of a post's record with a comma before it, as JSON; empty where the text has none.

    A mentioned name that the text does not contain stands at the empty range 0..0.

    Args:
        text: the post's.
        named: the name in the file, folded, and the DID of everybody whom it mentions.
        ordered: whether the mentions keep their order; else they come in that of their places.
    """
    plain, found = text.isascii(), []
    if named:
        low = text.lower() if plain else lower_text(text)
        for name, did in named:
            start, end = locate(low, name)
            found.append((start, f'{_FACET}mention","did":"{did}"}}],{_render_index(text, start, end, plain=plain)}'))
        if not ordered and len(found) > 1:
            found.sort(key=itemgetter(0))
    if "#" in text:
        for start, end, tag in find_tags(text):
            named_so, place = orjson.dumps(tag).decode(), _render_index(text, start, end, plain=plain)
            found.append((start, f'{_FACET}tag","tag":{named_so}}}],{place}'))
    if "://" in text:
        for link in find_links(text):
            uri, place = (
                orjson.dumps(link["url"]).decode(),
                _render_index(text, link["start"], link["end"], plain=plain),
            )
            found.append((link["start"], f'{_FACET}link","uri":{uri}}}],{place}'))
    return f',"facets":[{",".join([facet for _, facet in found])}]' if found else ""


def find_tags(text: str) -> list[tuple[int, int, str]]:
    """Return the tags of a text as Bluesky's client detects them: (start, end, tag).

    They begin behind white space and go on to the next, without punctuation at their end; numbers are none.
    """
    found = []
    for match in _TAG.finditer(text) if "#" in text else ():
        tag = match[1]
        while tag and category(tag[-1])[0] == "P":
            tag = tag[:-1]
        if any(not letter.isdigit() and category(letter)[0] != "P" for letter in tag):
            found.append((match.start(), match.start() + 1 + len(tag), tag))
    return found


def _render_index(text: str, start: int, end: int, *, plain: bool) -> str:
    """Return the end of a facet: its bytes; in plain ASCII they are the characters."""
    if not plain:
        start, end = len(text[:start].encode()), len(text[:end].encode())
    return f'"index":{{"byteEnd":{end},"byteStart":{start}}}}}'
