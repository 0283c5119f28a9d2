"""The world that the mock shows: a file of posts as accounts, timelines, mentions, replies and retweets.

Post ids have the shape of snowflakes, (milliseconds since 2010-11-04 << 22) + rank within the second, so they grow with
created_at, ties in the order of the file. Posts from before that moment are numbered 1, 2, 3 ..., as X itself did.
Where the file has decimal ids they are kept, and the order of ids is the order of timelines.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.model import LARGEST
from socialcrawl.lab.post_table import Posts, fold_name
from socialcrawl.mock.names import DELETED, HERE, draw_fates, hash_names, make_legal_names, make_user_ids
from socialcrawl.mock.references import References, find_references

SNOWFLAKE_EPOCH = 1_288_834_974_657  # ms


@dataclass(frozen=True)
class Grouping:
    """Members by group: those of group g, ascending, are `members[offsets[g]:offsets[g + 1]]`."""

    offsets: NDArray[np.int64]
    members: NDArray[np.int64]

    @classmethod
    def by(cls, groups: NDArray[np.int64], members: NDArray[np.int64], n: int) -> "Grouping":
        """Return the members (int64[m], ascending) grouped by the group of each (int64[m], below n)."""
        counts = np.bincount(groups, minlength=n)
        order = np.argsort(groups, kind="stable")
        return cls(np.concatenate(([0], np.cumsum(counts))), members[order])

    def of(self, group: int) -> NDArray[np.int64]:
        """Return the members of one group, ascending."""
        return self.members[self.offsets[group] : self.offsets[group + 1]]


@dataclass(frozen=True)
class Accounts:
    """Accounts as columns of one length: folded key, shown spelling, legal username, id, fate."""

    keys: list[str]
    shown: list[str]
    usernames: list[str]
    ids: NDArray[np.int64]
    fates: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def by_username(self) -> dict[str, int]:
        """The row of every folded legal username."""
        return {fold_name(name): row for row, name in enumerate(self.usernames)}

    @cached_property
    def by_id(self) -> dict[int, int]:
        """The row of every account id."""
        return {number: row for row, number in enumerate(self.ids.tolist())}


@dataclass(frozen=True)
class Record:
    """What a world has to repeat because it was told once, see `export_world`.

    Attributes:
        ids_known: bool[n], whose account's id is told beside its name.
        searches: the positions of the posts that each query found, int64[m], ascending.
    """

    ids_known: NDArray[np.bool_]
    searches: Mapping[str, NDArray[np.int64]]


@dataclass(frozen=True)
class World:
    """Posts in ascending order of id, and all that is known about them.

    Attributes:
        ids, created_at, author: int64[n]; created_at in Unix seconds, author a row of accounts.
        texts: n texts; lang: n codes or None.
        mentions: the accounts that each post mentions, each once, in order of mention.
        references: replies and retweets.
        timelines, mentioned_in: the posts of, and the posts that mention, each account; ascending.
        record: what is repeated; None: everything is worked out from the posts.
    """

    ids: NDArray[np.int64]
    created_at: NDArray[np.int64]
    author: NDArray[np.int64]
    texts: list[str]
    lang: list[str] | None
    accounts: Accounts
    mentions: Grouping
    references: References
    timelines: Grouping
    mentioned_in: Grouping
    record: Record | None = None

    @cached_property
    def visible(self) -> NDArray[np.bool_]:
        """bool[n]: whether the author of each post is still here."""
        seen: NDArray[np.bool_] = (self.accounts.fates == HERE)[self.author]
        return seen

    @property
    def end(self) -> int:
        """The end of the last second in which somebody posted, Unix seconds."""
        return int(self.created_at.max()) + 1

    def warm(self) -> None:
        """Make the indexes that are otherwise made on first use, so that no request waits for them."""
        _ = (self.visible, self.accounts.by_username, self.accounts.by_id, self.references.by_post)

    def find_post(self, number: int) -> int:
        """Return the position of the post with this id; -1 where there is none."""
        place = int(np.searchsorted(self.ids, min(number, LARGEST)))
        return place if place < len(self.ids) and int(self.ids[place]) == number else -1

    def tells_id(self, account: int) -> bool:
        """Return whether a mention of the account tells its id beside its name."""
        known = self.accounts.fates[account] != DELETED if self.record is None else self.record.ids_known[account]
        return bool(known)

    def language(self, post: int) -> str:
        """Return the language code of a post: the file's, else `en`, or `und` where the text has no letter."""
        if self.lang is not None:
            return self.lang[post]
        text = self.texts[post]
        # The first letters nearly always settle it.
        return "en" if text[:1].isalpha() or text[1:2].isalpha() or any(map(str.isalpha, text)) else "und"


def build_world(posts: Posts, missing: float = 0.0) -> World:
    """Build the world of these posts, in which an expected share `missing` (0..1) of the accounts is gone."""
    ids, order = _find_post_ids(posts)
    texts = [posts.texts[row] for row in order.tolist()]
    index: dict[str, int] = {}
    author = np.array([index.setdefault(fold_name(name), len(index)) for name in posts.authors], dtype=np.int64)[order]
    mentions = _find_mentions(posts, index, order)
    references = find_references(posts, order, ids=ids, author=author, texts=texts, index=index)
    accounts = _make_accounts(posts, list(index), missing)
    n = len(accounts)
    positions = np.arange(len(ids))
    by_post = np.repeat(positions, np.diff(mentions.offsets))
    return World(
        ids=ids,
        created_at=posts.created_at[order],
        author=author,
        texts=texts,
        lang=None if posts.lang is None else [posts.lang[row] for row in order.tolist()],
        accounts=accounts,
        mentions=mentions,
        references=references,
        timelines=Grouping.by(author, positions, n),
        mentioned_in=Grouping.by(mentions.members, by_post, n),
    )


def _find_post_ids(posts: Posts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids, ascending, and for each the row of its post."""
    if posts.ids is not None and all(_is_usable_id(text) for text in posts.ids):
        given = np.array([int(text) for text in posts.ids], dtype=np.int64)
        order = np.lexsort((given, posts.created_at))
        if (np.diff(given[order]) > 0).all():  # else they tell nothing of time, as timelines and searches need it
            return given[order], order
    order = np.argsort(posts.created_at, kind="stable")
    return make_ids(posts.created_at[order]), order


def _is_usable_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 19 and 0 < int(text) < 2**63


def make_ids(created_at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ids of posts at these ascending Unix seconds: int64[n], positive and strictly increasing."""
    rows = np.arange(len(created_at))
    opens = np.concatenate(([True], created_at[1:] != created_at[:-1]))
    rank = rows - np.maximum.accumulate(np.where(opens, rows, 0))
    since = created_at * 1000 - SNOWFLAKE_EPOCH
    return np.where(since >= 0, (since << 22) + rank, rows + 1).astype(np.int64)


def _find_mentions(posts: Posts, index: dict[str, int], order: NDArray[np.int64]) -> Grouping:
    mentioned = np.array([index.setdefault(fold_name(name), len(index)) for name in posts.mentioned], dtype=np.int64)
    lengths = np.diff(posts.mention_offsets)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    by_post = np.repeat(place, lengths)
    # An account named twice in one post is one mention; its first place counts.
    _, first = np.unique(by_post * (len(index) + 1) + mentioned, return_index=True)
    first.sort()
    return Grouping.by(by_post[first], mentioned[first], len(order))


def _make_accounts(posts: Posts, keys: list[str], missing: float) -> Accounts:
    own: dict[str, str] = {}
    for name in dict.fromkeys(posts.authors):
        own.setdefault(fold_name(name), name)
    usernames = make_legal_names(keys)
    shown = [own.get(key, key) for key in keys]
    hashes = hash_names(keys)
    return Accounts(
        keys=keys,
        shown=shown,
        usernames=[name if usernames[key] == key else usernames[key] for key, name in zip(keys, shown, strict=True)],
        ids=make_user_ids(keys, hashes[:, 0]),
        fates=draw_fates(hashes[:, 1], missing),
    )
