"""What searches and hashtags find: posts by the words of their texts, accounts by the beginning of their names."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice, takewhile
from math import inf
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.mastodon.instances import Instances
from socialcrawl.mock.server_settings import FULL_TEXT
from socialcrawl.mock.world import World

_TERM = re.compile(r'(-?)(?:"([^"]+)"|(\S+))')


_DAY = 86_400
_TIMES = ("after:", "before:", "during:")
ON, DAYS, SILENT = FULL_TEXT


class DateError(ValueError):
    """A day or time that a search does not understand."""


def parse_bounds(word: str, *, days: bool) -> tuple[float, float]:
    """Return the span (Unix seconds; the end is left out) of `after:`, `before:` or `during:` with a day or a time.

    `after:` leaves out all of the day or second that it names.

    Args:
        word: the operator and its value.
        days: whether days alone are understood.

    Raises:
        DateError: the value is none.
    """
    operator, _, value = word.partition(":")
    value = value.strip('"').upper()
    try:
        at = datetime.fromisoformat(value)
    except ValueError as error:
        raise DateError(value) from error
    is_day = len(value) == len("2026-01-01")
    if days and not is_day:
        raise DateError(value)
    begin = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    end = begin + (_DAY if is_day else 1)
    return {"after": (end, inf), "before": (-inf, begin), "during": (begin, end)}[operator]


class Term:
    """A word, phrase or #hashtag that stands by itself in a text, in any case."""

    def __init__(self, term: str) -> None:
        self._needle = fold_name(term)
        self._whole = re.compile(rf"(?<!\w){re.escape(self._needle)}(?!\w)")

    def among(self, posts: Sequence[int], texts: Sequence[str]) -> list[int]:
        """Return the posts (positions) whose texts have the term, in the same order."""
        # The plain test is ten times as fast as the exact one and leaves few posts to it.
        likely = [post for post in posts if self._needle in fold_name(texts[post])]
        return [post for post in likely if self._whole.search(fold_name(texts[post]))]


class MastodonSearch:
    """Search over a world, as each instance knows it: home knows every post, every other instance those of its own.

    Args:
        world: the posts.
        instances: where their authors live.
        hidden: whether an account (by row) does not want its posts to be found.
        reposts: bool[n], which posts are reposts.
        full_text: how texts are searched, one of FULL_TEXT.
    """

    def __init__(
        self,
        world: World,
        instances: Instances,
        hidden: Callable[[int], bool],
        reposts: NDArray[np.bool_],
        full_text: str = ON,
    ) -> None:
        self._full_text = full_text
        self._world, self._instances, self._hidden, self._reposts = world, instances, hidden, reposts
        # What is found is paged through, so it is found once.
        self.with_words = lru_cache(maxsize=256)(self._find_by_words)
        self.with_tag = lru_cache(maxsize=256)(self._find_by_tag)
        self.known = lru_cache(maxsize=256)(self._select_known)
        self.living = lru_cache(maxsize=256)(self._select_living)

    def _select_living(self, domain: str) -> NDArray[np.bool_]:
        """Return bool[n]: which accounts live on an instance."""
        return np.array([there == domain for there in self._instances.domains], dtype=bool)

    def _select_known(self, domain: str) -> NDArray[np.int64]:
        """Return the posts that an instance knows: int64[m], ascending."""
        if domain == self._instances.home:
            return np.arange(len(self._world.author))
        return np.flatnonzero(self.living(domain)[self._world.author])

    def _find_by_tag(self, tag: str, domain: str) -> NDArray[np.int64]:
        """Return the posts with a hashtag that an instance knows, reposts left out: int64[m], ascending."""
        return self._select_matching([Term("#" + fold_name(tag))], [], domain)

    def _find_by_words(self, query: str, domain: str) -> NDArray[np.int64]:
        """Return the posts that a search on an instance finds: int64[m], ascending.

        All words, "phrases" and #hashtags must be there, and none behind a minus; `from:name` is the author; `after:`,
        `before:` and `during:` bound when posts were written. Reposts and the posts of those who do not want to be
        found are left out.

        Raises:
            DateError: a time is none.
        """
        begin, end = -inf, inf
        wanted: list[Term] = []
        unwanted: list[Term] = []
        author = None
        for minus, phrase, word in _TERM.findall(fold_name(query)):
            if word.startswith(_TIMES):
                first, last = parse_bounds(word, days=self._full_text == DAYS)
                begin, end = max(begin, first), min(end, last)
            elif word.startswith("from:"):
                author = self._instances.find(word.removeprefix("from:"), domain)
                author = -1 if author is None else author
            elif phrase or word.strip("#@"):
                (unwanted if minus else wanted).append(Term(phrase or word))
        if self._full_text == SILENT or (not wanted and author is None and (begin, end) == (-inf, inf)):
            return np.zeros(0, np.int64)
        found = self._select_matching(wanted, unwanted, domain, author)
        written = self._world.created_at[found]
        found = found[(written >= begin) & (written < end)]
        return found[[not self._hidden(row) for row in self._world.author[found].tolist()]]

    def _select_matching(
        self, wanted: list[Term], unwanted: list[Term], domain: str, author: int | None = None
    ) -> NDArray[np.int64]:
        posts = self.known(domain)
        posts = posts[~self._reposts[posts]]
        if author is not None:
            posts = posts[self._world.author[posts] == author]
        found = posts.tolist()
        for term in wanted:
            found = term.among(found, self._world.texts)
        for term in unwanted:
            left_out = set(term.among(found, self._world.texts))
            found = [post for post in found if post not in left_out]
        return np.array(found, dtype=np.int64)

    def accounts(self, query: str, seen: Callable[[int], bool]) -> Iterator[int]:
        """Return the rows of `seen` accounts whose name, or name@domain, begins with the query, alphabetically."""
        begin = fold_name(query).strip().removeprefix("@")
        names = self._instances.alphabetical
        start = bisect_left(names, begin, key=itemgetter(0)) if begin else len(names)
        found = takewhile(lambda pair: pair[0].startswith(begin), islice(names, start, None))
        return (row for _, row in found if seen(row))
