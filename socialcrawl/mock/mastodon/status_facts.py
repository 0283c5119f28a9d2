"""What is known of a status, whichever instance tells it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.dataset_clock import DatasetClock
from socialcrawl.mock.world import World

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


def make_draft(world: World, post: int, moment: DatasetClock, *, repost: bool) -> Draft:
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
        *(author, created_at, world.texts[post], tuple(mentioned), _find_language(world, post)),
        answered=answered,
        answered_post=moment.place(int(references.replied_post[post])),
        replies=int(moment.replies[post]),
        reposts=int(moment.retweets[post]),
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
