"""Who answers and who repeats whom: replies from the column `reply_to`, retweets from `RT @name` in the text."""

import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.post_table import Posts, fold_name

_RETWEET = re.compile(r"RT @([^\s:]+):?\s*(.*)", re.DOTALL)
_HEAD = 40  # characters by which an original is looked up; retweets are often cut


@dataclass(frozen=True)
class References:
    """References as columns, one entry per post; -1 where there is none.

    Attributes:
        ids: int64[n], the ids of the posts, ascending.
        replied_post, replied_account: the post (position) and the account (row) that a post answers. A reply to a
            name has an account only, as on X when the answered post is gone.
        retweeted_id: the id of the original of a retweet, made up but stable where the file lacks the original.
        retweeted_post: the position of that original.
        conversation: the position of the first post of the conversation; never -1.
        replies, retweets: int64[n], how often each post was answered and repeated in the file.
    """

    ids: NDArray[np.int64]
    replied_post: NDArray[np.int64]
    replied_account: NDArray[np.int64]
    retweeted_id: NDArray[np.int64]
    retweeted_post: NDArray[np.int64]
    conversation: NDArray[np.int64]
    replies: NDArray[np.int64]
    retweets: NDArray[np.int64]

    @cached_property
    def by_post(self) -> dict[int, list[tuple[str, int, int]]]:
        """The references of every post that has some, see `of`."""
        found: dict[int, list[tuple[str, int, int]]] = {}
        for post in np.flatnonzero(self.retweeted_id >= 0).tolist():
            found[post] = [("retweeted", int(self.retweeted_id[post]), int(self.retweeted_post[post]))]
        for post in np.flatnonzero(self.replied_post >= 0).tolist():
            answered = int(self.replied_post[post])
            found.setdefault(post, []).append(("replied_to", int(self.ids[answered]), answered))
        return found

    def of(self, post: int) -> list[tuple[str, int, int]]:
        """Return the references of a post: (type, id, position, or -1 where the file lacks it)."""
        return self.by_post.get(post, [])

    def is_reply(self, post: int) -> bool:
        """Return whether the post answers somebody."""
        return bool(self.replied_account[post] >= 0)

    def is_retweet(self, post: int) -> bool:
        """Return whether the post repeats another."""
        return bool(self.retweeted_id[post] >= 0)


def find_references(
    posts: Posts,
    order: NDArray[np.int64],
    *,
    ids: NDArray[np.int64],
    author: NDArray[np.int64],
    texts: list[str],
    index: dict[str, int],
) -> References:
    """Return the references among posts.

    Args:
        posts: the file.
        order: the row in the file of each position.
        ids: int64[n], ascending.
        author: the row of each post's account.
        texts: the text of each post.
        index: the account of each folded name; accounts that are only answered or repeated are added.
    """
    replied_post, replied_account = _find_replies(posts, order, author, index)
    retweeted_id, retweeted_post = _find_retweets(ids, author, texts, index)
    conversation = np.arange(len(ids))
    for post in np.flatnonzero(replied_post >= 0).tolist():
        # Ascending ids: what is answered was settled before. A reply to a later id starts its own conversation.
        if replied_post[post] < post:
            conversation[post] = conversation[replied_post[post]]
    return References(
        ids=ids,
        replied_post=replied_post,
        replied_account=replied_account,
        retweeted_id=retweeted_id,
        retweeted_post=retweeted_post,
        conversation=conversation,
        replies=np.bincount(replied_post[replied_post >= 0], minlength=len(ids)),
        retweets=np.bincount(retweeted_post[retweeted_post >= 0], minlength=len(ids)),
    )


def _find_replies(
    posts: Posts, order: NDArray[np.int64], author: NDArray[np.int64], index: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    post, account = np.full(len(order), -1), np.full(len(order), -1)
    if posts.reply_to is None:
        return post, account
    rows = order.tolist()
    place = {} if posts.ids is None else {posts.ids[row]: position for position, row in enumerate(rows)}
    for position, row in enumerate(rows):
        answered = posts.reply_to[row]
        if answered is None:
            continue
        if answered in place:
            post[position] = place[answered]
            account[position] = author[place[answered]]
        else:
            account[position] = index.setdefault(fold_name(answered), len(index))
    return post, account


def _find_retweets(
    ids: NDArray[np.int64], author: NDArray[np.int64], texts: list[str], index: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    found = [
        (post, match) for post, text in enumerate(texts) if text.startswith("RT @") and (match := _RETWEET.match(text))
    ]
    repeated = [
        (post, index.setdefault(fold_name(match[1]), len(index)), match[2].rstrip("… ")) for post, match in found
    ]
    originals = _find_originals(
        author, texts, {account for _, account, _ in repeated}, {post for post, _, _ in repeated}
    )
    known = set(ids.tolist())
    number, place = np.full(len(ids), -1), np.full(len(ids), -1)
    for (post, match), (_, account, rest) in zip(found, repeated, strict=True):
        original = originals.get((account, rest[:_HEAD]), -1)
        if original >= 0 and texts[original].startswith(rest):
            number[post], place[post] = ids[original], original
        else:
            number[post] = _make_id(fold_name(match[1]), rest, known)
    return number, place


def _find_originals(
    author: NDArray[np.int64], texts: list[str], wanted: set[int], retweets: set[int]
) -> dict[tuple[int, str], int]:
    """Return the first post of each wanted account by the head of its text."""
    heads: dict[tuple[int, str], int] = {}
    for post, account in enumerate(author.tolist()):
        if account in wanted and post not in retweets:
            heads.setdefault((account, texts[post][:_HEAD]), post)
    return heads


def _make_id(name: str, rest: str, known: set[int]) -> int:
    number = int.from_bytes(blake2b(f"{name} {rest[:100]}".encode(), digest_size=8).digest()) >> 1
    while number in known or not number:
        number = (number + 1) % 2**63
    return number
