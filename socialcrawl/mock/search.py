"""Search: a query and a span of time, and the posts found."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.bounded_cache import BoundedCache
from socialcrawl.mock.query import Query, parse
from socialcrawl.mock.query_terms import Need
from socialcrawl.mock.searched_post import WORD, Fold, SearchedPost, fold_marks
from socialcrawl.mock.text_index import TextIndex
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges
from socialcrawl.mock.x.entities import find_cashtags, write_text

WEEK = 7 * 86_400
_KEPT = 50_000  # posts held as search sees them beside those of a week, about 60 MB
_FOUND = 200_000_000  # bytes of the positions that queries found
_FEW = 2_000  # posts that are read one by one before an index is worth its while
_QUOTED = re.compile(r"https?://(?:www\.|mobile\.)?(?:twitter|x)\.com/[^/]+/status/([0-9]{1,18})(?![0-9])")


def _make_empty() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass
class _Read:
    """The posts that a query finds among those at the positions from `first` to `last`: the part that was read yet."""

    first: int = 0
    last: int = 0
    found: NDArray[np.int64] = field(default_factory=_make_empty)

    def reach(self, first: int, last: int, among: Callable[[int, int], NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the posts found, ascending, once these positions were read too; `among` reads a part."""
        if last <= self.first or self.last <= first:
            self.first = self.last = first
            self.found = _make_empty()
        if first < self.first:
            self.found = np.concatenate((among(first, self.first), self.found))
            self.first = first
        if self.last < last:
            self.found = np.concatenate((self.found, among(self.last, last)))
            self.last = last
        return self.found


class PostSearch:
    """Search over the posts of a world as X has it: those of the last seven days, or all.

    Args:
        world: the posts; those of missing accounts are not found.
        now: the Unix second at which the world stands, where all posts exist; else that is the moment of `changes`.
        changes: what has become of the world.
    """

    def __init__(self, world: World, now: float, changes: WorldChanges | None = None) -> None:
        self._world = world
        self._changes = WorldChanges(world) if changes is None else changes
        self._version = self._changes.version
        self._index = TextIndex(world.texts, fold_marks)
        self._readings: dict[int, SearchedPost] = {}
        self._now = now
        # Whoever posts in the order of time is between these two; in an export times can be mixed.
        self._latest = np.maximum.accumulate(world.created_at)
        self._earliest = np.minimum.accumulate(world.created_at[::-1])[::-1]
        self._parse = lru_cache(256)(parse)
        # A query is paged through, and asked again later: each post is read for it once.
        self._reads: BoundedCache[str, _Read] = BoundedCache(_FOUND)

    @property
    def now(self) -> float:
        """The Unix second at which the world stands."""
        moment = self._changes.moment.second
        return self._now if moment is None else moment

    def find_recent(self, text: str) -> NDArray[np.int64]:
        """Return the posts of the last seven days that a query finds, as `find_all` does."""
        return self._find(text, self.now - WEEK)

    def find_all(self, text: str) -> NDArray[np.int64]:
        """Return the positions of the posts to be seen that a query finds: int64[m], ascending.

        Raises:
            QueryError: the query cannot be understood.
        """
        return self._find(text, -np.inf)

    def _find(self, text: str, since: float) -> NDArray[np.int64]:
        if self._version != self._changes.version:
            self._version = self._changes.version
            self._readings.clear()
            self._reads = BoundedCache(_FOUND)
        if self._world.record is not None and text in self._world.record.searches:
            return self._changes.select_existing(self._world.record.searches[text])
        query, now = self._parse(text), self.now
        first = int(np.searchsorted(self._latest, since))
        last = min(int(np.searchsorted(self._earliest, now)), self._changes.moment.there)
        if last <= first:
            return _make_empty()
        self._forget_old()
        read = self._reads.get(text) or _Read()
        found = read.reach(first, last, lambda *part: self._read(query, *part))
        self._reads.put(text, read, found.nbytes + 2_000)
        times = self._world.created_at[found]
        found = found[(times >= since) & (times < now)]
        return self._changes.select_existing(found)

    def _forget_old(self) -> None:
        """Let go the readings of long ago, which are no longer needed as time passes."""
        week = int(np.searchsorted(self._latest, self.now - WEEK))
        if len(self._readings) > _KEPT + 2 * (len(self._latest) - week):
            self._readings = {post: one for post, one in self._readings.items() if post >= week}

    def _read(self, query: Query, first: int, last: int) -> NDArray[np.int64]:
        """Return the posts to be seen that a query finds at the positions from `first` to before `last`."""
        found = []
        week = int(np.searchsorted(self._latest, self.now - WEEK))
        for post in self._list_candidates(query, first, last).tolist():
            reading = self._readings.get(post)
            if reading is None:
                reading = read_post(self._world, post, self._changes)
                if post >= week:
                    self._readings[post] = reading
            if query.test(reading) and not (query.keyword and reading.retweet):
                found.append(post)
        return np.array(found, np.int64)

    def _list_candidates(self, query: Query, first: int, last: int) -> NDArray[np.int64]:
        """Return the posts to be seen at these positions that have what a query needs."""
        posts = np.flatnonzero(self._changes.visible[first:last]) + first
        if last - first <= _FEW:
            return posts
        for need in query.needs:
            if (having := self._find_having(need)) is not None:
                posts = np.intersect1d(posts, having, assume_unique=True)
        return posts

    def _find_having(self, need: frozenset[Need]) -> NDArray[np.int64] | None:
        """Return the posts that have one of these: int64[m], ascending; None where only a look at each can tell."""
        having = [_make_empty()]
        for kind, value in sorted(need):
            if kind == "text":
                having.append(self._index.find(value))
            elif self._world.record is None and value.isascii():
                by_id = self._world.accounts.by_id.get(int(value)) if value.isdigit() else None
                rows = {row for row in (self._changes.row(value), by_id) if row is not None}
                having += [self._world.timelines.of(row) for row in sorted(rows)]
            else:  # a repeated world has timelines with some of the posts only
                return None
        return np.unique(np.concatenate(having))


def read_post(world: World, post: int, changes: WorldChanges | None = None, fold: Fold = fold_marks) -> SearchedPost:
    """Return the post at this position as search sees it; the whole text counts, however long.

    Args:
        world: the posts.
        post: the position.
        changes: what has become of the accounts.
        fold: how texts are compared.
    """
    shown = write_text(world, post)
    entities = shown.entities if shown.note_entities is None else shown.note_entities
    low, references = fold(world.texts[post]), world.references
    usernames = world.accounts.usernames.__getitem__ if changes is None else changes.username
    replied, answered = int(references.replied_account[post]), int(references.replied_post[post])
    links = [entity["expanded_url"] for entity in entities.get("urls", ())]
    return SearchedPost(
        text=low,
        words=tuple(WORD.findall(low)),
        author=fold_name(usernames(int(world.author[post]))),
        author_id=str(world.accounts.ids[int(world.author[post])]),
        mentions=frozenset(fold_name(entity["username"]) for entity in entities.get("mentions", ())),
        tags=frozenset(fold(entity["tag"]) for entity in entities.get("hashtags", ())),
        links="urls" in entities,
        replied=fold_name(usernames(replied)) if replied >= 0 else None,
        retweet=references.is_retweet(post),
        lang=world.language(post),
        cashtags=frozenset(map(fold, find_cashtags(world.texts[post]))),
        urls=tuple(tuple(WORD.findall(fold(link))) for link in links),
        conversation=int(world.ids[references.conversation[post]]),
        answers=int(world.ids[answered]) if answered >= 0 else 0,
        repeats=max(0, int(references.retweeted_id[post])),
        repeated=_find_repeated(world, post, usernames),
        quotes=frozenset(int(match[1]) for link in links if (match := _QUOTED.match(link))),
    )


def _find_repeated(world: World, post: int, usernames: Callable[[int], str]) -> str | None:
    """Return the name of whoever wrote the post that this one repeats; None where it is not in the file."""
    original = int(world.references.retweeted_post[post])
    return fold_name(usernames(int(world.author[original]))) if original >= 0 else None
