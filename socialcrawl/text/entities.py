"""Hashtags, cashtags, @names and addresses: what a platform finds in a text beside words, and searches as such.

Hashtags of profiles say, too, that people do not want to be collected.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import orjson
import regex

from socialcrawl.text.domains import encode_domain
from socialcrawl.text.word_boundaries import make_pattern

MAX_HOST = 253  # characters
_ADDRESS = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
_BEHIND = ".,;:!?'\u2019)]}\u2026"  # what ends a sentence, and no address in it


class Mark(NamedTuple):
    """A kind of entity that begins with a sign. All is about folded texts.

    Attributes:
        sign: what it begins with.
        name: an expression of `regex` (version 1) for what may follow the sign.
        before: a set of characters that may not stand before the sign.
        after: an expression of `re` for what may not follow; `{inside}` stands for a character of the next set.
        inside: a set of characters.
    """

    sign: str
    name: str
    before: str
    after: str
    inside: str = r"\w"

    def is_written(self, word: str) -> bool:
        """Return whether a folded word is an entity of this kind."""
        return word.startswith(self.sign) and regex.fullmatch(self.name, word[len(self.sign) :], regex.V1) is not None

    @property
    def edges(self) -> tuple[str, str]:
        """What may not stand before and after, as expressions of `re`."""
        return _make_set(self.before), self.after.format(inside=_make_set(self.inside))


@dataclass(frozen=True, slots=True)
class Entities:
    """What a platform finds in texts.

    Attributes:
        marks: the kinds that begin with a sign.
        addresses: whether it knows where links lead.
        full_name: reads an @name with its domain where texts show names without it: the account as the platform calls
            it, or None; None: texts show names in full.
    """

    marks: Sequence[Mark] = ()
    addresses: bool = False
    full_name: Callable[[str], str | None] | None = None

    def mark(self, word: str) -> Mark | None:
        """Return the kind of entity that a folded word is; None: it is a word like others."""
        return next((mark for mark in self.marks if mark.is_written(word)), None)

    def address(self, keyword: str) -> str | None:
        """Return the address that a keyword names, as `plain_address` has it; None where it names none."""
        return plain_address(keyword.strip()) if self.addresses else None

    def find_account(self, keyword: str) -> str | None:
        """Return the account that a keyword names in full, as the platform calls it; None where it names none."""
        return None if self.full_name is None else self.full_name(keyword.strip())


NONE = Entities()
"""Of a platform, or a text, of which nothing is known: words are all that there is."""


def plain_address(url: str) -> str | None:
    """Return an address of the web as it is compared; None where it is none.

    Without scheme, `www.`, user, fragment and final slash; its host in the letters of the network and in lower case.
    """
    if not _ADDRESS.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        if len(host) > MAX_HOST:
            return None
        name = encode_domain(host.rstrip(".")).removeprefix("www.")
    except ValueError:  # UnicodeError is one
        return None
    place = name if port in (None, 80, 443) else f"{name}:{port}"
    path = unquote(parts.path).rstrip("/")
    return (place + path + (f"?{unquote(parts.query)}" if parts.query else "")) if name else None


def count_addresses(wanted: Sequence[str], text: str, urls: str | None) -> int:
    """Return how many different addresses in a post are, or are below, one of those that are wanted.

    Args:
        wanted: as `plain_address` has them, one that ends in `*` as far as it goes.
        text: the post.
        urls: where its links lead, as the platform says: a JSON list; None: it does not say.
    """
    written = [found.rstrip(_BEHIND) for found in _ADDRESS.findall(text)] if "://" in text else []
    known = {plain_address(str(url)) for url in [*(orjson.loads(urls) if urls else ()), *written]}
    return sum(any(_is_below(url, one) for one in wanted) for url in known if url is not None)


def _is_below(url: str, wanted: str) -> bool:
    if wanted.endswith("*"):
        return url.startswith(wanted[:-1])
    return url.startswith(wanted) and url[len(wanted) : len(wanted) + 1] in ("", "/", "?", "&")


def _make_set(given: str) -> str:
    return make_pattern(given) if r"\p" in given else given


HASHTAGS = re.compile(
    r"(?<![\w#])#no(?:bots?|index|search|archive|crawl(?:ers?|ing)?|scrap(?:e|ers?|ing))\b", re.IGNORECASE
)


def has_opt_out(text: str | None) -> bool:
    """Return whether a profile's text has one of the hashtags: #nobot, #nobots, #noindex, #nosearch and the like."""
    return bool(text) and HASHTAGS.search(str(text)) is not None
