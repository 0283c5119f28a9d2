"""Who posts when, whom a post mentions and what it is about."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.generators.phrases import NOTHING, PLAIN_POST, REPLY, REPOST, Drafts
from socialcrawl.lab.generators.social_network import Floats, Ints, NetworkAccounts, Ties

DAY = 86_400
MENTION_COLUMNS = 3  # no post mentions more
_DRAW_TIMES, _DRAW_DRAFTS = 6, 7

# Posts per hour of the local day, midnight first.
_HOURS = (4, 2, 1, 1, 1, 2, 4, 8, 11, 11, 10, 10, 12, 12, 10, 9, 9, 10, 12, 14, 16, 16, 13, 8)
_ZONES = (-5, 0, 0, 1, 1, 2)  # hours ahead of UTC: a community lives in one zone
_KINDS = (PLAIN_POST, PLAIN_POST, REPLY, REPLY, REPOST)  # of posts with mentions, equally likely
_CHATTER = 0.01  # posts on a topic drawn at random: everyone says "telescope" once in a while


@dataclass(frozen=True, slots=True)
class PostTimes:
    """One row a post, oldest first: its author (an account number) and its time (Unix seconds)."""

    author: Ints
    time: Ints


def draw_post_times(people: NetworkAccounts, weeks: int, until: int, seed: int) -> PostTimes:
    """Return the posts of everybody in the `weeks` before `until` (excluded), more by day than by night."""
    rng = np.random.default_rng([seed, _DRAW_TIMES])
    author = np.repeat(np.arange(len(people.posts)), people.posts)
    share = np.concatenate([[0.0], np.cumsum(_HOURS)]) / sum(_HOURS)
    local = np.interp(rng.random(len(author)), share, np.arange(25) * 3_600.0).astype(np.int64)
    ahead = np.asarray(_ZONES)[people.community % len(_ZONES)] * 3_600
    second = (local - ahead[author]) % DAY
    day = rng.integers(0, 7 * weeks, len(author))
    # Days are counted back from `until`, whatever its time of day; the rhythm is that of UTC all the same.
    last = until - 1
    time = last - day * DAY - (last - second) % DAY
    order = np.argsort(time, kind="stable")
    return PostTimes(author[order], time[order])


def draw_drafts(people: NetworkAccounts, ties: Ties, author: Ints, rate: float, key: list[int]) -> Drafts:
    """Return the drafts of posts by these authors, with about `rate` mentions a post; `key` names the draws."""
    rng = np.random.default_rng([key[0], _DRAW_DRAFTS, *key[1:]])
    mentioned = _draw_mentions(ties, author, rate, rng)
    first = mentioned[:, 0]
    kind = np.where(first >= 0, np.asarray(_KINDS)[rng.integers(0, len(_KINDS), len(author))], PLAIN_POST)
    topic = _draw_topics(people, author, first, kind, rng)
    # The keen use the keyword itself more often.
    keyed = (topic >= 0) & (rng.random(len(author)) < 0.2 + 0.4 * people.interest[author])
    return Drafts(author, mentioned, kind, topic, keyed)


def _draw_mentions(ties: Ties, author: Ints, rate: float, rng: np.random.Generator) -> Ints:
    """Return whom each post mentions, shape (posts, 3): the dearest ties most, nobody twice in a post."""
    count = np.minimum(rng.poisson(rate, len(author)), MENTION_COLUMNS)
    first, size = ties.first[author], ties.first[author + 1] - ties.first[author]
    place = rng.random((len(author), MENTION_COLUMNS)) ** 1.7
    known = ties.known[first[:, None] + (size[:, None] * place).astype(np.int64)]
    known[np.arange(MENTION_COLUMNS) >= count[:, None]] = NOTHING
    known[known[:, 1] == known[:, 0], 1] = NOTHING
    known[(known[:, 2] == known[:, 0]) | (known[:, 2] == known[:, 1]), 2] = NOTHING
    return known


def _draw_leads(interest: Floats) -> Floats:
    """Return the probability that a post is topical when only its author's interest decides."""
    return 0.02 + 0.75 * interest**1.3


def _draw_topics(people: NetworkAccounts, author: Ints, about: Ints, kind: Ints, rng: np.random.Generator) -> Ints:
    """Return what each post is about: the author's topic or its kin, that of the person mentioned, or nothing."""
    topics, count = int(people.topic[-1]) + 1, len(author)
    own, other = people.topic[author], people.topic[about]
    stray = rng.random(count) < 0.08
    home = np.where(stray, np.minimum(own ^ 1, topics - 1), own)
    alone = np.where(rng.random(count) < _draw_leads(people.interest[author]), home, NOTHING)
    # To someone of the own topic both interests count; to a stranger one speaks of the stranger's less often.
    both = np.sqrt(_draw_leads(people.interest[author]) * _draw_leads(people.interest[about]))
    warmth = np.where(own == other, both, 0.35 * _draw_leads(people.interest[about]))
    together = np.where(rng.random(count) < warmth, other, NOTHING)
    follows = (about >= 0) & ((kind == REPOST) | (rng.random(count) < 0.6))
    topic = np.where(follows, together, alone)
    return np.where(rng.random(count) < _CHATTER, rng.integers(0, topics, count), topic)


@dataclass(frozen=True, slots=True)
class Handles:
    """The usernames as Arrow string arrays: as written, in lower case, and as `@name` in a text."""

    written: Any
    lower: Any
    at: Any


def make_batch(drafts: Drafts, handles: Handles, times: Ints, texts: Any) -> Any:
    """Return the Arrow record batch of these posts: author, created_at, text, mentions, reply_to."""
    import pyarrow as pa  # noqa: PLC0415 - importing the laboratory stays cheap

    present: NDArray[np.bool_] = drafts.mentioned >= 0
    offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int32)
    mentions = pa.ListArray.from_arrays(pa.array(offsets), handles.lower.take(pa.array(drafts.mentioned[present])))
    replied = pa.array(drafts.mentioned[:, 0], mask=drafts.kind != REPLY)
    return pa.record_batch(
        {
            "author": handles.written.take(pa.array(drafts.author)),
            "created_at": pa.array(times),
            "text": texts,
            "mentions": mentions,
            "reply_to": handles.lower.take(replied),
        }
    )
