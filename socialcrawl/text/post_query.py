"""Queries for posts by their words: `telescope "clear sky" -cloud tele* OR #moon`. Pure.

Nothing that a person writes reaches a database as it is: a query becomes words, and these become the expression of a
full-text index, or are looked for here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from socialcrawl.errors import SettingsError
from socialcrawl.text.post_words import PostWords, find_spans, fold, read_query_words, read_words

PARTS, LENGTH = 50, 1000  # of a query, at most
PART = re.compile(r'(-?)(?:"([^"]*)"?|([^\s"]+))(\*?)')
QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'))
EMPTY = (
    "The query has nothing to search for: write at least one word that the posts must have, as in: telescope -cloud."
)


class QueryTerm(NamedTuple):
    """One part of a query.

    Attributes:
        words: that follow each other in the text; () for a hashtag or mention alone.
        tags: hashtags and mentions that the text has.
        prefix: whether the last word, or the tag without words, is only the beginning of one.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    prefix: bool

    def is_in(self, found: PostWords) -> bool:
        """Return whether a text has it."""
        tags = self.tags
        if self.prefix and not self.words:
            return any(tag.startswith(tags[0]) for tag in found.tags)
        if not all(tag in found.tags for tag in tags):
            return False
        return not self.words or next(_find_places(found.words, self.words, self.prefix), None) is not None

    def find_marks(self, spans: list[tuple[str, int, int]]) -> Iterator[tuple[int, int]]:
        """Yield the first character, and the one after the last, of each place where a text has its words."""
        words = self.words or (self.tags[0][1:],)
        for place in _find_places([word for word, _, _ in spans], words, self.prefix):
            yield spans[place][1], spans[place + len(words) - 1][2]


class Alternative(NamedTuple):
    """What one alternative of a query wants: terms that a post has, and terms that it has not."""

    wanted: tuple[QueryTerm, ...]
    unwanted: tuple[QueryTerm, ...]


@dataclass(frozen=True, slots=True)
class PostQuery:
    """A query: a post matches if it matches one of the alternatives."""

    alternatives: tuple[Alternative, ...]

    def matches(self, text: str) -> bool:
        """Return whether a text matches."""
        folded = fold(text)  # most texts lack a word altogether, which is seen sooner than their words are read
        likely = [one for one in self.alternatives if all(_may_have(folded, term) for term in one.wanted)]
        if not likely:
            return False
        found = read_words(text)
        return any(
            all(term.is_in(found) for term in one.wanted) and not any(term.is_in(found) for term in one.unwanted)
            for one in likely
        )

    def find_marks(self, text: str) -> list[tuple[int, int]]:
        """Return where a text has what is wanted: first character and the one after the last, in order, apart.

        Args:
            text: a text as `post_words.normalize` returns it.
        """
        spans = list(find_spans(text))
        found = sorted({mark for one in self.alternatives for term in one.wanted for mark in term.find_marks(spans)})
        apart: list[tuple[int, int]] = []
        for begin, end in found:
            if apart and begin <= apart[-1][1]:
                apart[-1] = apart[-1][0], max(end, apart[-1][1])
            else:
                apart.append((begin, end))
        return apart


def parse_query(text: str) -> PostQuery:
    """Return a query as people write it.

    All words have to occur; `"some words"` in this order; `-word` must not; `tele*` is the beginning of a word; `#word`
    and `@name` are hashtags and mentions alone; `OR` stands between alternatives.

    Raises:
        SettingsError: there is nothing to search for, or an alternative only says what posts must not have; it has
            parentheses, or is too long.
    """
    if len(text) > LENGTH:
        raise SettingsError(f"The query has {len(text):,} characters: at most {LENGTH:,} can be searched for.")
    wanted: list[QueryTerm] = []
    unwanted: list[QueryTerm] = []
    alternatives = []
    parts = list(PART.finditer(text.translate(QUOTES)))
    if len(parts) > PARTS:
        raise SettingsError(f"The query has {len(parts):,} words: at most {PARTS} can be searched for.")
    for minus, phrase, word, star in (part.groups() for part in parts):
        if word in ("OR", "|") and not minus:
            alternatives.append(Alternative(tuple(wanted), tuple(unwanted)))
            wanted, unwanted = [], []
        elif word and word.startswith("(") and len(word) > 1:
            raise SettingsError("The query has parentheses: write out each alternative, as in: dark sky OR clear sky.")
        elif (term := _make_term(phrase or word or "", star)) is not None:
            (unwanted if minus else wanted).append(term)
    alternatives.append(Alternative(tuple(wanted), tuple(unwanted)))
    given = tuple(one for one in alternatives if one.wanted or one.unwanted)
    if not given or not all(one.wanted for one in given):
        raise SettingsError(EMPTY)
    return PostQuery(given)


def _find_places(words: list[str], wanted: tuple[str, ...], prefix: bool) -> Iterator[int]:  # noqa: FBT001 (of a term)
    """Yield the places in a list of words where those that are wanted begin."""
    *first, last = wanted
    size = len(first)
    for place in range(len(words) - size):
        end = words[place + size]
        if (end == last or (prefix and end.startswith(last))) and words[place : place + size] == first:
            yield place


def _make_term(part: str, star: str) -> QueryTerm | None:
    found, is_open = read_query_words(part)
    words, tags = found
    if not words and not tags:
        return None
    if len(tags) == 1 and fold(part.rstrip("*")) == tags[0]:
        words = []
    return QueryTerm(tuple(words), tuple(tags), is_open or bool(star) or part.endswith("*"))


def _may_have(folded: str, term: QueryTerm) -> bool:
    return all(word in folded for word in term.words) and all(tag in folded for tag in term.tags)
