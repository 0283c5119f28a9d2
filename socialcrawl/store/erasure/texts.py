"""Texts, links and profiles without the names of the forgotten. Pure.

A name stands in a text as `@name`, or in a link to the platform. Where something could be a name or not, it goes.
"""

import re
from collections.abc import Container, Iterable

import orjson

STANDIN = "@forgotten"  # what stands where a name stood
NAMED = re.compile("[@\uff20]([A-Za-z0-9_]+)")
LINK = re.compile(r"(?<![\w.-])(?:https?://)?(?:\w+\.)?(?:twitter|x)\.com/[^\s\"'<>]*[^\s\"'<>.,;:!?)]", re.IGNORECASE)
PLACE = re.compile(r"\.com/(?:#!/)?@?([A-Za-z0-9_]+)", re.IGNORECASE)
STATUS = re.compile(r"/status(?:es)?/(\d+)", re.IGNORECASE)


def named(texts: Iterable[str]) -> set[str]:
    """The names that texts speak of, in lower case: `@name`, and the owners of links."""
    found: set[str] = set()
    for text in texts:
        if "@" in text or "\uff20" in text:
            found.update(name.lower() for name in NAMED.findall(text))
        if ".com/" in text.lower():
            found.update(place[1].lower() for link in LINK.findall(text) if (place := PLACE.search(link)))
    return found


def linked(texts: Iterable[str]) -> set[str]:
    """The ids of the posts that links in texts lead to."""
    return {status[1] for text in texts for link in LINK.findall(text) if (status := STATUS.search(link))}


def without_names(text: str, names: Container[str], posts: Container[str] = ()) -> str:
    """The text with `@forgotten` in the place of names (in lower case), and of links to them or to posts."""

    def link(match: re.Match[str]) -> str:
        return STANDIN if _leads(match[0], names, posts) else match[0]

    def name(match: re.Match[str]) -> str:
        return STANDIN if match[1].lower() in names else match[0]

    if ".com/" in text.lower():
        text = LINK.sub(link, text)
    return NAMED.sub(name, text) if "@" in text or "\uff20" in text else text


def without_links(listed: str | None, names: Container[str], posts: Container[str] = ()) -> str | None:
    """A JSON list of links without those that lead to the names or posts; None if none is left."""
    if listed is None:
        return None
    links = orjson.loads(listed)
    kept = [link for link in links if not _leads(str(link), names, posts)]
    return listed if len(kept) == len(links) else orjson.dumps(kept).decode() if kept else None


def _leads(link: str, names: Container[str], posts: Container[str]) -> bool:
    if not LINK.search(link):
        return False
    place, status = PLACE.search(link), STATUS.search(link)
    return bool(place and place[1].lower() in names) or bool(status and status[1] in posts)
