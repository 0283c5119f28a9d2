"""Who follows whom: the file does not tell, so an account follows those whom its posts mention."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
