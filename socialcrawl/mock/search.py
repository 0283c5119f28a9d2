"""Search: a query and a span of time, and the posts found."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.query import WORD, SearchedPost, parse
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges
from socialcrawl.mock.x.entities import find_cashtags, write_text

WEEK = 7 * 86_400
_KEPT = 50_000  # posts held as search sees them beside those of a week, about 60 MB


@dataclass
class _Read:
    """The posts that a query finds among those at the positions from `first` to `last`: the part that was read yet."""

    first: int = 0
    last: int = 0
    found: list[int] = field(default_factory=list)

    def reach(self, first: int, last: int, among: Callable[[int, int], list[int]]) -> list[int]:
        """Return the posts found, ascending, once these positions were read too; `among` reads a part."""
        if last <= self.first or self.last <= first:
            self.first = self.last = first
            self.found = []
        if first < self.first:
            self.found = among(first, self.first) + self.found
            self.first = first
        if self.last < last:
            self.found += among(self.last, last)
            self.last = last
        return self.found


class RecentSearch:
    """Search over the last seven days of a world.

    Args:
        world: the posts; those of missing accounts are not found.
        now: the Unix second at which the world stands, where all posts exist; else that is the moment of `changes`.
        changes: what has become of the world.
    """

    def __init__(self, world: World, now: float, changes: WorldChanges | None = None) -> None:
        self._world = world
        self._changes = WorldChanges(world) if changes is None else changes
        self._version = self._changes.version
        self._readings: dict[int, SearchedPost] = {}
        self._now = now
        # Whoever posts in the order of time is between these two; in an export times can be mixed.
        self._latest = np.maximum.accumulate(world.created_at)
        self._earliest = np.minimum.accumulate(world.created_at[::-1])[::-1]
        # A query is paged through, and asked again later: each post is read for it once.
        self._reads = lru_cache(maxsize=256)(lambda _: _Read())
        self._once = lru_cache(maxsize=256)(self._matches)

    @property
    def now(self) -> float:
        """The Unix second at which the world stands."""
        moment = self._changes.moment.second
        return self._now if moment is None else moment

    def matches(self, text: str) -> NDArray[np.int64]:
        """Return the positions of the recent posts to be seen that a query finds: int64[m], ascending.

        Raises:
            QueryError: the query cannot be understood.
        """
        if self._version != self._changes.version:
            self._version = self._changes.version
            self._readings.clear()
            self._reads.cache_clear()
            self._once.cache_clear()
        moment = self._changes.moment
        return (
            self._once(text, self.now)
            if moment.second is None
            else moment.select_existing(self._matches(text, self.now))
        )

    def _matches(self, text: str, now: float) -> NDArray[np.int64]:
        if self._world.record is not None and text in self._world.record.searches:
            return self._world.record.searches[text]
        first = int(np.searchsorted(self._latest, now - WEEK))
        last = min(int(np.searchsorted(self._earliest, now)), self._changes.moment.there)
        if last <= first:
            parse(text)
            return np.zeros(0, np.int64)
        if len(self._readings) > _KEPT + 2 * (last - first):  # as time passes, those of long ago are no longer needed
            self._readings = {post: one for post, one in self._readings.items() if first <= post < last}
        found = np.array(self._reads(text).reach(first, last, lambda *part: self._among(text, *part)), np.int64)
        times = self._world.created_at[found]
        return found[(times >= now - WEEK) & (times < now)]

    def _among(self, text: str, first: int, last: int) -> list[int]:
        """Return the posts to be seen that a query finds at the positions from `first` to before `last`."""
        query, found = parse(text), []
        for post in (np.flatnonzero(self._changes.visible[first:last]) + first).tolist():
            reading = self._readings.get(post)
            if reading is None:
                reading = self._readings[post] = read_post(self._world, post, self._changes)
            if query.test(reading) and not (query.keyword and reading.retweet):
                found.append(post)
        return found


def read_post(world: World, post: int, changes: WorldChanges | None = None) -> SearchedPost:
    """Return the post at this position as search sees it; the whole text counts, however long."""
    shown = write_text(world, post)
    entities = shown.entities if shown.note_entities is None else shown.note_entities
    low = fold_name(world.texts[post])
    usernames = world.accounts.usernames.__getitem__ if changes is None else changes.username
    replied = int(world.references.replied_account[post])
    return SearchedPost(
        text=low,
        words=tuple(WORD.findall(low)),
        author=fold_name(usernames(int(world.author[post]))),
        mentions=frozenset(fold_name(entity["username"]) for entity in entities.get("mentions", ())),
        tags=frozenset(fold_name(entity["tag"]) for entity in entities.get("hashtags", ())),
        links="urls" in entities,
        replied=fold_name(usernames(replied)) if replied >= 0 else None,
        retweet=world.references.is_retweet(post),
        lang=world.language(post),
        cashtags=frozenset(map(fold_name, find_cashtags(world.texts[post]))),
        urls=tuple(tuple(WORD.findall(fold_name(entity["expanded_url"]))) for entity in entities.get("urls", ())),
    )
