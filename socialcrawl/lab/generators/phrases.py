"""Texts put together from pools of phrases, whole columns at a time.

A pool is one Arrow array of strings; a text is a row of indices into pools, -1 where a piece is left out. Python
writes each phrase once and Arrow joins millions of them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.generators import word_pools
from socialcrawl.lab.generators.word_pools import TopicWords

Ints = NDArray[np.int64]

REMARKS, PLAIN, KEYED, LONG, LINKS = 4_000, 1_200, 400, 200, 5_000
NOTHING = -1
PLAIN_POST, REPLY, REPOST = 0, 1, 2
_DRAW_PHRASES = 4


@dataclass(frozen=True, slots=True)
class Drafts:
    """Posts before they are worded, one row each: account numbers, kinds and topic numbers.

    `mentioned` has shape (posts, 3) with `NOTHING` for no mention; `topic` is `NOTHING` for small talk; `keyed`
    says that the keyword is used.
    """

    author: Ints
    mentioned: Ints
    kind: Ints
    topic: Ints
    keyed: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Phrases:
    """The pools (Arrow string arrays): per topic `PLAIN` then `KEYED` sayings; remarks; openings; and so on."""

    sayings: Any
    remarks: Any
    openings: Any
    dash: Any
    hashtags: Any
    tags_of: Ints
    links: Any
    long: Any


def make_phrases(topics: Sequence[TopicWords], seed: int) -> Phrases:
    """Return the pools for these topics, worded differently for every seed."""
    import pyarrow as pa  # noqa: PLC0415 - importing the laboratory stays cheap

    rng = np.random.default_rng([seed, _DRAW_PHRASES])
    sayings = [saying for topic in topics for saying in _make_sayings(topic, rng)]
    remarks = _make_remarks(rng)
    tags = [[f"#{topic.keyword}", *(f"#{word}" for word in topic.words)] for topic in topics]
    tags.append([f"#{word}" for word in word_pools.ASIDES])
    links = [f"https://example.org/{number:06x}" for number in rng.integers(0, 16**6, LINKS).tolist()]
    long = [". ".join(remarks[i] for i in row) for row in rng.integers(0, REMARKS, (LONG, 10)).tolist()]
    return Phrases(
        sayings=pa.array(sayings),
        remarks=pa.array(remarks),
        openings=pa.array(word_pools.OPENINGS),
        dash=pa.array(["\u2013"]),
        hashtags=pa.array([tag for group in tags for tag in group]),
        tags_of=np.concatenate([[0], np.cumsum([len(group) for group in tags])]),
        links=pa.array(links),
        long=pa.array(long),
    )


def _make_sayings(topic: TopicWords, rng: np.random.Generator) -> list[str]:
    """Return `PLAIN` sayings without the keyword, then `KEYED` sayings with it."""
    templates = rng.integers(0, len(word_pools.SAYINGS), PLAIN + KEYED).tolist()
    # Three different words a saying; the first words of a vocabulary are its common ones.
    rarity = 5 + np.arange(len(topic.words))
    waits = rng.exponential(size=(PLAIN + KEYED, len(topic.words))) * rarity
    picks = np.argsort(waits, axis=1)[:, :3].tolist()
    sayings = []
    for number, (template, pick) in enumerate(zip(templates, picks, strict=True)):
        words = [topic.words[i] for i in pick]
        if number >= PLAIN:
            words[0] = topic.keyword  # {a} is in every template
        saying = word_pools.SAYINGS[template].format(a=words[0], b=words[1], c=words[2])
        sayings.append(re.sub(r"\ba (?=[aeioué])", "an ", saying))
    return sayings


def _make_remarks(rng: np.random.Generator) -> list[str]:
    pools = (word_pools.PEOPLE, word_pools.DEEDS, word_pools.TIMES)
    columns = [rng.integers(0, len(pool), REMARKS).tolist() for pool in pools]
    return [
        f"{word_pools.PEOPLE[who]} {word_pools.DEEDS[did]} {word_pools.TIMES[when]}"
        for who, did, when in zip(*columns, strict=True)
    ]


def choose_word(drafts: Drafts, pools: Phrases, at_names: Any, rng: np.random.Generator) -> Any:
    """Return the texts of the drafts, an Arrow string array; `at_names` holds `@name` for every account number."""
    import pyarrow.compute as pc  # noqa: PLC0415

    first, second, third = drafts.mentioned.T
    count, topical = len(drafts.author), drafts.topic >= 0
    remark = rng.integers(0, REMARKS, count)
    saying = np.where(topical, drafts.topic * (PLAIN + KEYED) + _choose_which(drafts.keyed, rng), NOTHING)
    again = topical & (rng.random(count) < 0.35)
    more = np.where(again, drafts.topic * (PLAIN + KEYED) + rng.integers(0, PLAIN, count), NOTHING)
    pieces = [
        _make_head(drafts, at_names),
        _pick(pools.openings, _draw_sometimes(rng, rng.integers(0, len(pools.openings), count), 0.4)),
        _pick(pools.sayings, saying),
        _pick(pools.remarks, np.where(topical, NOTHING, remark)),
        _pick(at_names, np.where(drafts.kind == PLAIN_POST, first, NOTHING)),
        _pick(pools.dash, np.where(again, 0, NOTHING)),
        _pick(pools.sayings, more),
        _pick(at_names, second),
        _pick(pools.remarks, np.where(topical, _draw_sometimes(rng, remark, 0.15), NOTHING)),
        _pick(at_names, third),
        _pick(pools.hashtags, _draw_sometimes(rng, _make_tag(drafts.topic, pools.tags_of, rng), 0.12)),
        _pick(pools.links, _draw_sometimes(rng, rng.integers(0, LINKS, count), 0.12)),
        _pick(pools.long, _draw_sometimes(rng, rng.integers(0, LONG, count), 0.005)),
    ]
    return pc.binary_join_element_wise(*pieces, " ", null_handling="skip")


def _choose_which(keyed: NDArray[np.bool_], rng: np.random.Generator) -> Ints:
    """Return the place of a saying within its topic's pool."""
    plain, with_keyword = rng.integers(0, PLAIN, len(keyed)), rng.integers(PLAIN, PLAIN + KEYED, len(keyed))
    return np.where(keyed, with_keyword, plain)


def _make_tag(topic: Ints, tags_of: Ints, rng: np.random.Generator) -> Ints:
    """Return a hashtag of the topic; the last group is for small talk.

    The keyword, first of a group, only by chance.
    """
    group = np.where(topic >= 0, topic, len(tags_of) - 2)
    low, high = tags_of[group], tags_of[group + 1]
    return np.asarray(low + ((high - low) * rng.random(len(topic))).astype(np.int64))


def _make_head(drafts: Drafts, at_names: Any) -> Any:
    """Return how a reply (`@name`) or a repost (`RT @name:`) begins; null for other posts."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    names = _pick(at_names, np.where(drafts.kind == PLAIN_POST, NOTHING, drafts.mentioned[:, 0]))
    affixes = pa.array(["", "RT ", ":"])
    repost = drafts.kind == REPOST
    before, after = affixes.take(pa.array(repost * 1)), affixes.take(pa.array(repost * 2))
    return pc.binary_join_element_wise(before, names, after, "")


def _draw_sometimes(rng: np.random.Generator, index: Ints, share: float) -> Ints:
    return np.where(rng.random(len(index)) < share, index, NOTHING)


def _pick(pool: Any, index: Ints) -> Any:
    """Return rows of a pool by index, null where the index is `NOTHING`."""
    import pyarrow as pa  # noqa: PLC0415

    return pool.take(pa.array(index, mask=index < 0))
