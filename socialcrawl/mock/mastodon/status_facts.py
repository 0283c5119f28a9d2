"""What is known of a status, whichever instance tells it, and its ids.

Ids are as Mastodon makes them: (Unix milliseconds << 16) + 16 bits that every instance draws for itself.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.mastodon.instances import make_key
from socialcrawl.mock.relations import Repost, find_repost
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges

_BITS = 16
_POSITIVE = 2**63 - 1
_MASK = (1 << _BITS) - 1


class StatusIds:
    """The ids of statuses on every instance: they grow with the post's position, and none is kept in a table.

    The original of a repost that the file lacks has its made-up number, flipped by the instance's key.

    Attributes:
        repeats: what each repost repeats, by its position.
        reposts: bool[n], which posts are reposts.
    """

    def __init__(self, world: World) -> None:
        by_key = {key: row for row, key in enumerate(world.accounts.keys)}
        reposts = np.flatnonzero(world.references.retweeted_id >= 0).tolist()
        found = ((post, find_repost(world, by_key, post)) for post in reposts)
        self.repeats: dict[int, Repost] = {post: one for post, one in found if one is not None}
        self.reposts = np.zeros(len(world.ids), bool)
        self.reposts[list(self.repeats)] = True
        places = np.arange(len(world.created_at))
        # Posts of one second get a millisecond each, so that no two posts share one.
        milliseconds = np.maximum.accumulate(world.created_at * 1000 - places) + places
        self._milliseconds: NDArray[np.int64] = np.maximum(milliseconds, places)

    def of(self, post: int, domain: str) -> int:
        """Return the id of the post at this position on an instance."""
        return (int(self._milliseconds[post]) << _BITS) | _draw_bits(post, domain)

    def below(self, number: int, domain: str) -> int:
        """Return how many posts of the world have a smaller id on the instance."""
        moment = min(max(number, 0), 2**63 - 1) >> _BITS
        place = int(np.searchsorted(self._milliseconds, moment))
        same = place < len(self._milliseconds) and int(self._milliseconds[place]) == moment
        return place + (same and self.of(place, domain) < number)

    def post(self, number: int, domain: str) -> int | None:
        """Return the position of the post that has this id on an instance; None where there is none."""
        place = self.below(number, domain)
        return place if place < len(self._milliseconds) and self.of(place, domain) == number else None

    def original_of(self, post: int, domain: str) -> int:
        """Return the id, on an instance, of the original that this repost repeats and the file lacks."""
        return (self.repeats[post].number & _POSITIVE) ^ make_key(domain)

    def first_repost(self, post: int) -> int:
        """Return the first post that repeats the same original, which tells all that is known of it.

        Of an original that the file has, but later, that is the post itself.
        """
        return self._lacking.get(self.repeats[post].number & _POSITIVE, post)

    def repost(self, number: int, domain: str) -> int | None:
        """Return the first post that repeats the original with this id, which the file lacks.

        None where there is none.
        """
        return self._lacking.get(number ^ make_key(domain))

    @cached_property
    def _lacking(self) -> dict[int, int]:
        lacking: dict[int, int] = {}
        for post, one in self.repeats.items():
            if one.place < 0:
                lacking.setdefault(one.number & _POSITIVE, post)
        return lacking


def _draw_bits(post: int, domain: str) -> int:
    """Return the last 16 bits of a post's id on an instance."""
    mixed = (post * 0x9E3779B97F4A7C15 + make_key(domain)) & (2**64 - 1)
    return ((mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9 >> 40) & _MASK


_REPOST = re.compile(r"RT @([^\s:]+):?\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Draft:
    """A status before an instance gives it ids.

    Attributes:
        author: the row of its account.
        created_at: Unix seconds.
        text: as the file has it; empty for a repost, whose original has the text.
        mentioned: the rows of the accounts that it mentions, in order.
        language: a code, or None.
        answered, answered_post: the account and the post (position) that it answers; -1 where there is none.
        replies, reposts: how often it was answered and repeated.
        edited_at: Unix seconds; None: never.
    """

    author: int
    created_at: int
    text: str = ""
    mentioned: tuple[int, ...] = ()
    language: str | None = None
    answered: int = -1
    answered_post: int = -1
    replies: int = 0
    reposts: int = 0
    edited_at: float | None = None


def make_draft(world: World, post: int, changes: WorldChanges, *, repost: bool) -> Draft:
    """Return the draft of the post at this position; that of a repost is empty, as its original has the text.

    Who answers somebody mentions them, first and even where the text does not, as Mastodon's own clients write it: a
    status tells the answered account by its local id only, which says nothing elsewhere.
    """
    author, created_at = int(world.author[post]), int(world.created_at[post])
    references = world.references
    if repost:
        return Draft(author, created_at)
    mentioned = world.mentions.of(post).tolist()
    answered = int(references.replied_account[post])
    if answered >= 0 and answered != author and answered not in mentioned:
        mentioned.insert(0, answered)
    return Draft(
        *(author, created_at, changes.find_text(post), tuple(mentioned), _find_language(world, post)),
        answered=answered,
        answered_post=changes.place(int(references.replied_post[post])),
        replies=int(changes.moment.replies[post]),
        reposts=int(changes.moment.retweets[post]),
        edited_at=changes.find_edited(post),
    )


def make_original_draft(world: World, post: int, by_key: Mapping[str, int]) -> Draft:
    """Return the draft of what a post repeats and the file lacks: all that is known of it is what the post says.

    Args:
        world: the posts.
        post: the position of a repost.
        by_key: the row of every account by its folded key.
    """
    match = _REPOST.match(world.texts[post])
    if match is None:
        raise ValueError(f"Post {post} repeats nothing.")
    author = by_key[fold_name(match[1])]
    mentioned = tuple(row for row in world.mentions.of(post).tolist() if row != author)
    return Draft(author, int(world.created_at[post]), match[2], mentioned, _find_language(world, post), reposts=1)


def _find_language(world: World, post: int) -> str | None:
    code = world.language(post)
    return None if code == "und" else code
