"""A page in nodes and counts: what a talk goes on from, and how it is kept while its batch is open. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import orjson

from socialcrawl.model import Answer, Limit, Mention, Page, Reply, SameAs, Unavailable, Who, parse_unavailable
from socialcrawl.relevance import KINDS, Links

Mentioned = Mapping[tuple[int, int], Mention]
"""The mention of each (place of a post in its page, node), in order of mention."""

ALIKE = Links()


def mentioned(page: Page, numbers: Mapping[Who, int]) -> Mentioned:
    """Whom the posts of a page mention, each once a post; the first mention counts."""
    found: dict[tuple[int, int], Mention] = {}
    for mention in page.mentions:
        found.setdefault((mention.post, numbers[mention.who]), mention)
    return found


def answer(
    page: Page,
    numbers: Mapping[Who, int],
    same: Mapping[int, SameAs],
    pairs: Mentioned,
    links: Links = ALIKE,
    *,
    again: Collection[int] = (),
) -> Answer:
    """The page in nodes and counts.

    Args:
        page: what came.
        numbers: of its accounts.
        same: accounts that turned out to be another one.
        pairs: the mentioned.
        links: what makes a link.
        again: the places of posts that were read before: their occurrences count no more.
    """
    targets = weighed(counted(pairs, page.hits, links, again))
    return Answer(
        posts=len(page.posts),
        hits=sum(hits for place, hits in enumerate(page.hits) if place not in again) if again else sum(page.hits),
        targets=list(targets),
        target_hits=list(targets.values()),
        found={numbers[who]: str(who.id) for who in page.answered},
        missing={**{numbers[who]: reason for who, reason in page.missing}, **same},
        follows=tuple(numbers[who] for who in dict.fromkeys(page.follows)),
        mark=page.mark,
        active={numbers[who]: at for who, at in page.active},
    )


def counted(
    pairs: Mentioned, hits: Sequence[int], links: Links, again: Collection[int] = ()
) -> Iterable[tuple[int, int]]:
    """(node, occurrences) of each mention that makes a link, in order; none for posts that were read before."""
    weights = {kind: links.weight(kind) for kind in KINDS}
    for (place, node), mention in pairs.items():
        if weight := weights.get(mention.kind, 0):
            own = hits[place] if mention.hits is None else mention.hits
            yield node, 0 if place in again else weight * own


def weighed(counts: Iterable[tuple[int, int]]) -> dict[int, int]:
    """The occurrences for each node, of (node, occurrences) in order of first mention."""
    targets: dict[int, int] = {}
    for node, hits in counts:
        targets[node] = targets.get(node, 0) + hits
    return targets


def everyone(page: Page) -> list[Who]:
    """All accounts that a page names: authors, those it answers about, the mentioned, the missing."""
    authors = dict.fromkeys(row.author for row in page.posts)
    return [
        *(Who(author, None) for author in authors),
        *page.answered,
        *(mention.who for mention in page.mentions),
        *(who for who, _ in page.missing),
        *page.follows,
        *(who for who, _ in page.active),
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
            _reasons(kept),
            *([list(kept.follows), kept.mark, list(kept.active.items())] if kept.active else _rest(kept)),
        ]
    ).decode()


def unpacked(text: str) -> Answer:
    """The answer that `packed` wrote; older ones have no mark, or end before whom the account follows."""
    posts, hits, targets, target_hits, found, missing, *rest = orjson.loads(text)
    follows = tuple(rest[0]) if rest else ()
    mark = rest[1] if len(rest) > 1 else ""
    active = dict(rest[2]) if len(rest) > 2 else {}
    return Answer(posts, hits, targets, target_hits, dict(found), _parse_reasons(missing), follows, mark, active)


def nodes(pairs: Iterable[tuple[int, int]], kept: Answer) -> str:
    """Whom a page speaks of, as JSON: with its posts, all that an answer is made of again, whatever the topic."""
    flat = list(chain.from_iterable(pairs))
    return orjson.dumps([flat, list(kept.found), _reasons(kept), *_rest(kept)]).decode()


class Noted(NamedTuple):
    """What `nodes` wrote: (place of a post, node mentioned), nodes answered about, why others are missing, follows."""

    pairs: list[tuple[int, int]]
    found: list[int]
    missing: dict[int, Unavailable]
    follows: Sequence[int] = ()


def from_nodes(text: str) -> Noted:
    """What `nodes` wrote."""
    flat, found, missing, *rest = orjson.loads(text)
    return Noted(list(zip(flat[::2], flat[1::2], strict=True)), found, _parse_reasons(missing), *rest[:1])


def noted_mark(text: str) -> str:
    """The mark of the page of which `nodes` wrote; "" where it has none, or an older program wrote."""
    return str((orjson.loads(text)[4:] or [""])[0])


def _reasons(kept: Answer) -> list[tuple[int, str]]:
    return [(node, str(why)) for node, why in kept.missing.items()]


def _parse_reasons(stored: Iterable[tuple[int, str]]) -> dict[int, Unavailable]:
    return {node: parse_unavailable(why) for node, why in stored}


def _rest(kept: Answer) -> list[Any]:
    """What an answer has that most have not, and older programs did not write: whom the account follows, the mark."""
    if kept.mark:
        return [list(kept.follows), kept.mark]
    return [list(kept.follows)] if kept.follows else []


def spans(mention: Mention) -> str | None:
    """The parts of a post that count for a link, as JSON; None: the whole of it."""
    return orjson.dumps(mention.spans).decode() if mention.spans else None


def headers(reply: Reply) -> str:
    """The server's clock and limits of a reply as JSON."""
    return orjson.dumps(
        [reply.date, [[limit.left, limit.most, limit.resets, limit.daily] for limit in reply.limits]]
    ).decode()


def from_headers(text: str | None) -> tuple[float | None, Sequence[Limit]]:
    """The server's clock and limits that `headers` wrote."""
    date, limits = orjson.loads(text or "[null, []]")
    return date, [Limit(*limit) for limit in limits]
