"""Texts, links and profiles without the names of the forgotten. Pure.

A name stands in a text as `@name`, or in a link to a platform (`PlatformFacts.links`). Where something could be a name
or not, it goes; but `@bob.example.org` is somebody else than `@bob`.
"""

import re
from collections.abc import Container, Iterable, Iterator

import orjson

from socialcrawl.platforms.facts import LinkShape, list_link_shapes

STANDIN = "@forgotten"  # what stands where a name stood
NAMED = re.compile("[@\uff20]([\\w.@-]+)")
# X's names: other letters may follow without a blank, except for the accented ones, with which X takes it for no name.
PLAIN = re.compile(r"([A-Za-z0-9_]++)(?![.@]\w|[\u00c0-\u024f])", re.ASCII)


def find_names(texts: Iterable[str]) -> set[str]:
    """Return what could be names in texts, in lower case: `@name`, and the words of links to the platform."""
    found: set[str] = set()
    for text in texts:
        if "@" in text or "\uff20" in text:
            found.update(name.lower() for match in NAMED.finditer(text) for name in _iterate_spellings(match[1]))
        found |= _find_links(text)
    return found


def find_link_ids(texts: Iterable[str]) -> set[str]:
    """Return what could be ids in links to the platform: of posts, of users."""
    return {word for text in texts for word in _find_links(text) if word.isdecimal()}


def has_mention(text: str, names: Container[str]) -> bool:
    """Return whether a text holds one of the names (in lower case) behind an @."""
    if "@" not in text and "\uff20" not in text:
        return False
    return any(name.lower() in names for match in NAMED.finditer(text) for name in _iterate_spellings(match[1]))


def has_link(text: str, names: Container[str], ids: Container[str] = ()) -> bool:
    """Return whether a text holds a link to the platform with one of the names (in lower case) or ids."""
    low = text.lower()
    return any(shape.mark in low and _holds(shape, text, names, ids) for shape in list_link_shapes())


def replace_names(text: str, names: Container[str], ids: Container[str] = ()) -> str:
    """Return the text with `@forgotten` in the place of names (in lower case), and of links that hold one or an id.

    Args:
        text: the text.
        names: usernames in lower case.
        ids: of posts and users.
    """

    def name(match: re.Match[str]) -> str:
        gone = next((name for name in _iterate_spellings(match[1]) if name.lower() in names), None)
        return match[0] if gone is None else STANDIN + match[1][len(gone) :]

    for shape in list_link_shapes():
        if shape.mark in text.lower():
            text = _replace_links(shape, text, names, ids)
    return NAMED.sub(name, text) if "@" in text or "\uff20" in text else text


def _replace_links(shape: LinkShape, text: str, names: Container[str], ids: Container[str]) -> str:
    def link(match: re.Match[str]) -> str:
        return STANDIN if _holds(shape, match[0], names, ids) else match[0]

    return shape.pattern.sub(link, text)


def remove_links(listed: str | None, names: Container[str], ids: Container[str] = ()) -> str | None:
    """Return a JSON list of links without those that hold a name or an id, or are one; None if none is left."""
    if listed is None:
        return None
    links = orjson.loads(listed)
    kept = [link for link in links if link not in ids and not _is_link_to(str(link), names, ids)]
    return listed if len(kept) == len(links) else orjson.dumps(kept).decode() if kept else None


def _iterate_spellings(written: str) -> Iterator[str]:
    """Yield the names that the letters behind an @ may spell, the whole first; marks at its end are the sentence's."""
    bare = written.rstrip(".@-")
    if bare:
        yield bare
    if (plain := PLAIN.match(bare)) and plain[1] != bare:
        yield plain[1]


def _find_links(text: str) -> set[str]:
    low, words = text.lower(), set[str]()
    for shape in list_link_shapes():
        if shape.mark in low:
            words.update(word for link in shape.pattern.findall(text) for word in shape.split(link))
    return words


def _is_link_to(link: str, names: Container[str], ids: Container[str]) -> bool:
    return any(_holds(shape, link, names, ids) for shape in list_link_shapes())


def _holds(shape: LinkShape, text: str, names: Container[str], ids: Container[str]) -> bool:
    return any(word in names or word in ids for link in shape.pattern.findall(text) for word in shape.split(link))
