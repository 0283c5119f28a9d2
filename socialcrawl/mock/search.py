"""Search: a query and a span of time, and the posts found."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.posts import fold
from socialcrawl.mock.changes import Changes
from socialcrawl.mock.entities import written
from socialcrawl.mock.query import WORD, Reading, parse
from socialcrawl.mock.world import World

WEEK = 7 * 86_400


class Search:
    """Search over the last seven days of a world.

    Args:
        world: the posts; those of missing accounts are not found.
        now: the Unix second at which the world stands.
        changes: what has become of the world.
    """

    def __init__(self, world: World, now: float, changes: Changes | None = None) -> None:
        self._world = world
        self._changes = Changes(world) if changes is None else changes
        self._version = self._changes.version
        self._readings: dict[int, Reading] = {}
        recent = (world.created_at >= now - WEEK) & (world.created_at < now)
        self._recent: NDArray[np.int64] = np.flatnonzero(recent)
        # A query is paged through: its posts are found once.
        self._once = lru_cache(maxsize=256)(self._matches)

    def matches(self, text: str) -> NDArray[np.int64]:
        """The positions of the recent posts to be seen that a query finds: int64[m], ascending.

        Raises:
            QueryError: the query cannot be understood.
        """
        if self._version != self._changes.version:
            self._version = self._changes.version
            self._readings.clear()
            self._once.cache_clear()
        return self._once(text)

    def _matches(self, text: str) -> NDArray[np.int64]:
        if self._world.record is not None and text in self._world.record.searches:
            return self._world.record.searches[text]
        query = parse(text)
        found = []
        for post in self._recent[self._changes.visible[self._recent]].tolist():
            reading = self._readings.get(post)
            if reading is None:
                reading = self._readings[post] = read(self._world, post, self._changes)
            if query.test(reading) and not (query.keyword and reading.retweet):
                found.append(post)
        return np.array(found, dtype=np.int64)


def read(world: World, post: int, changes: Changes | None = None) -> Reading:
    """The post at this position as search sees it; the whole text counts, however long."""
    shown = written(world, post)
    entities = shown.entities if shown.note_entities is None else shown.note_entities
    low = fold(world.texts[post])
    usernames = world.accounts.usernames.__getitem__ if changes is None else changes.username
    replied = int(world.references.replied_account[post])
    return Reading(
        text=low,
        words=tuple(WORD.findall(low)),
        author=fold(usernames(int(world.author[post]))),
        mentions=frozenset(fold(entity["username"]) for entity in entities.get("mentions", ())),
        tags=frozenset(fold(entity["tag"]) for entity in entities.get("hashtags", ())),
        links="urls" in entities,
        replied=fold(usernames(replied)) if replied >= 0 else None,
        retweet=world.references.is_retweet(post),
        lang=world.language(post),
    )
