"""Who follows whom, and which posts of a file are reposts: what the file does not tell by itself.

An account follows those whom its posts mention.

A retweet in the file is a text, `RT @name: ...`. It is shown as a repost where it mentions the repeated account and
answers nobody, else as a post with that text: so whoever is named on X is named everywhere. What it repeats is the
post of the file where that has the same text and names the same accounts; else an original of its own is made up.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.dataset_clock import DatasetClock
from socialcrawl.mock.world import Grouping, World


@dataclass(frozen=True)
class Follows:
    """The follows of a world, made in the order of first mention; nobody follows themselves.

    Attributes:
        followers, followed: int64[m], the account that follows and the one that is followed, of each follow.
        posts: int64[m], the position of the post that mentions first; ascending.
        following, followed_by: the follows of, and the follows of others to, each account; ascending.
    """

    followers: NDArray[np.int64]
    followed: NDArray[np.int64]
    posts: NDArray[np.int64]
    following: Grouping
    followed_by: Grouping

    def of(self, account: int, moment: DatasetClock, *, backwards: bool) -> NDArray[np.int64]:
        """Return the follows that an account made so far, or with `backwards` those that were made to it, ascending."""
        every = (self.followed_by if backwards else self.following).of(account)
        if moment.second is None:
            return every
        return every[: np.searchsorted(every, np.searchsorted(self.posts, moment.there))]


def find_follows(world: World) -> Follows:
    """Return the follows of a world: one for each pair of an author and an account that the author's posts mention."""
    n = len(world.accounts)
    author = np.repeat(world.author, np.diff(world.mentions.offsets))
    mentioned = world.mentions.members
    others = np.flatnonzero(author != mentioned)
    _, first = np.unique(author[others] * n + mentioned[others], return_index=True)
    kept = others[np.sort(first)]
    followers, followed = author[kept], mentioned[kept]
    numbers = np.arange(len(kept))
    posts = np.repeat(np.arange(len(world.ids)), np.diff(world.mentions.offsets))[kept]
    return Follows(followers, followed, posts, Grouping.by(followers, numbers, n), Grouping.by(followed, numbers, n))


MADE = 2**63  # set in the numbers of records that the file lacks; no post's id has it
_RETWEET = re.compile(r"RT @([^\s:]+):?\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Repost:
    """What a repost repeats.

    Attributes:
        account: the row of the repeated account.
        number: the number of the original.
        place: where the original stands in the world, -1 where it is made up.
        start: where its text begins in that of the repost.
    """

    account: int
    number: int
    place: int
    start: int


def find_repost(world: World, by_key: Mapping[str, int], post: int) -> Repost | None:
    """Return what the post at this position repeats; None where it is shown as a post of its own.

    Args:
        world: the posts.
        by_key: the row of every account by its folded key.
        post: the position.
    """
    references = world.references
    if references.retweeted_id[post] < 0 or references.replied_account[post] >= 0:
        return None
    match = _RETWEET.match(world.texts[post])
    account = _find_account(world, by_key, fold_name(match[1])) if match else None
    mentions = world.mentions.of(post).tolist()
    if match is None or account is None or account not in mentions:
        return None
    place = int(references.retweeted_post[post])
    if place >= 0 and _is_same(world, place, account, match[2], set(mentions)):
        return Repost(account, int(world.ids[place]), place, match.start(2))
    others = sorted(world.accounts.keys[row] for row in mentions if row != account)
    return Repost(account, make_number(world.accounts.keys[account], match[2], others), -1, match.start(2))


def make_number(*parts: object) -> int:
    """Return the number of a record that the file lacks, from what is known of it; below 2**64, `MADE` set."""
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=8).digest()) | MADE


def _find_account(world: World, by_key: Mapping[str, int], name: str) -> int | None:
    row = by_key.get(name)
    return world.accounts.by_username.get(name) if row is None else row


def _is_same(world: World, place: int, account: int, text: str, mentions: set[int]) -> bool:
    return (
        int(world.author[place]) == account
        and world.texts[place] == text
        and {account, *world.mentions.of(place).tolist()} == mentions
    )
