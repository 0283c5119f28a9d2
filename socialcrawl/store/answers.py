"""A page in nodes and counts: what a talk goes on from, and how it is kept while its batch is open. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import orjson

from socialcrawl.model import Answer, Limit, Page, Reply, Who

Mentioned = Mapping[tuple[int, int], str]
"""The kind of mention of each (place of a post in its page, node), in order of mention."""


def mentioned(page: Page, numbers: Mapping[Who, int]) -> Mentioned:
    """Whom the posts of a page mention, each once a post; the first kind counts."""
    kinds: dict[tuple[int, int], str] = {}
    for place, who, kind in page.mentions:
        kinds.setdefault((place, numbers[who]), kind)
    return kinds


def answer(page: Page, numbers: Mapping[Who, int], same: Mapping[int, str], pairs: Mentioned) -> Answer:
    """The page in nodes and counts; `same` names accounts that turned out to be another one, `pairs` the mentioned."""
    targets = weighed(pairs, page.hits)
    return Answer(
        posts=len(page.posts),
        hits=sum(page.hits),
        targets=list(targets),
        target_hits=list(targets.values()),
        found={numbers[who]: str(who.id) for who in page.answered},
        missing={**{numbers[who]: reason for who, reason in page.missing}, **same},
    )


def weighed(pairs: Iterable[tuple[int, int]], hits: Sequence[int]) -> dict[int, int]:
    """The occurrences in the posts that mention each node, in order of first mention."""
    targets: dict[int, int] = {}
    for place, node in pairs:
        targets[node] = targets.get(node, 0) + hits[place]
    return targets


def everyone(page: Page) -> list[Who]:
    """All accounts that a page names: authors, those it answers about, the mentioned, the missing."""
    authors = dict.fromkeys(row.author for row in page.posts)
    return [
        *(Who(author, None) for author in authors),
        *page.answered,
        *(mention.who for mention in page.mentions),
        *(who for who, _ in page.missing),
    ]


def packed(kept: Answer) -> str:
    """An answer as JSON."""
    return orjson.dumps(
        [
            kept.posts,
            kept.hits,
            list(kept.targets),
            list(kept.target_hits),
            list(kept.found.items()),
            list(kept.missing.items()),
        ]
    ).decode()


def unpacked(text: str) -> Answer:
    """The answer that `packed` wrote."""
    posts, hits, targets, target_hits, found, missing = orjson.loads(text)
    return Answer(posts, hits, targets, target_hits, dict(found), dict(missing))


def nodes(pairs: Iterable[tuple[int, int]], kept: Answer) -> str:
    """Whom a page speaks of, as JSON: with its posts, all that an answer is made of again, whatever the topic."""
    return orjson.dumps([list(chain.from_iterable(pairs)), list(kept.found), list(kept.missing.items())]).decode()


def from_nodes(text: str) -> tuple[list[tuple[int, int]], list[int], dict[int, str]]:
    """What `nodes` wrote: (place of a post, node mentioned), nodes answered about, why others are missing."""
    flat, found, missing = orjson.loads(text)
    return list(zip(flat[::2], flat[1::2], strict=True)), found, dict(missing)


def headers(reply: Reply) -> str:
    """The server's clock and limits of a reply as JSON."""
    return orjson.dumps(
        [reply.date, [[limit.left, limit.most, limit.resets, limit.daily] for limit in reply.limits]]
    ).decode()


def from_headers(text: str | None) -> tuple[float | None, Sequence[Limit]]:
    """The server's clock and limits that `headers` wrote."""
    date, limits = orjson.loads(text or "[null, []]")
    return date, [Limit(*limit) for limit in limits]
