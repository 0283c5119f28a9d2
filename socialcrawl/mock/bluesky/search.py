"""Search for posts, over all of the world, newest first."""

import re
from bisect import bisect_right
from functools import cached_property, lru_cache, reduce
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.query import WORD, SearchedPost, parse
from socialcrawl.mock.search import read_post
from socialcrawl.mock.world import World

_READ = 50_000  # posts held as search sees them, about 60 MB
_LEXEME = re.compile(r'"[^"]*"|[^\s()"]+')


class PostFinder:
    """The posts of a world that a query finds; those that repeat others are found by none.

    Args:
        world: the posts.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._read = lru_cache(_READ)(self._reading)
        # A query is paged through: its posts are found once.
        self.matches = lru_cache(256)(self._matches)

    def _matches(self, text: str) -> NDArray[np.int64]:
        """Return the positions that a query finds (see `socialcrawl.mock.query`.

        An empty one finds all): int64[m], ascending.

        Raises:
            QueryError: the query cannot be understood.
        """
        record = self._world.record
        if record is not None and text in record.searches:
            return record.searches[text]
        if not text:
            return np.flatnonzero(self._original)
        test = parse(text).test
        posts = self._candidates(text)
        return np.array([post for post in posts[self._original[posts]].tolist() if test(self._read(post))], np.int64)

    def _reading(self, post: int) -> SearchedPost:
        return read_post(self._world, post)

    @cached_property
    def _original(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self._world.references.retweeted_id < 0
        return found

    def _candidates(self, text: str) -> NDArray[np.int64]:
        """Return posts among which all that match are: of a query that has words only, those whose texts have them."""
        lexemes = _LEXEME.findall(text)
        every = "OR" not in lexemes and "(" not in text  # each must match, but for those that must not
        needles = set()
        for lexeme in lexemes:
            words = WORD.findall(fold_name(lexeme))
            if not words or ":" in lexeme or "@" in lexeme:
                return np.arange(len(self._world.ids))
            if lexeme != "OR" and not (every and lexeme.startswith("-")):
                needles.add(max(words, key=len))
        return reduce(np.intersect1d if every else np.union1d, [self._with(needle) for needle in sorted(needles)])

    def _with(self, word: str) -> NDArray[np.int64]:
        """Return the posts whose text contains a word, or has it within another."""
        joined, ends = self._joined
        needle, places = word.encode(), []
        at = joined.find(needle)
        while at >= 0:
            place = bisect_right(ends, at)
            places.append(place)
            at = joined.find(needle, ends[place])
        return np.array(places, np.int64)

    @cached_property
    def _joined(self) -> tuple[bytes, list[int]]:
        """All texts folded, one after the other, and where each ends; a line's end stands between them."""
        parts = [fold_name(text).encode() + b"\n" for text in self._world.texts]
        return b"".join(parts), list(accumulate(len(part) for part in parts))
