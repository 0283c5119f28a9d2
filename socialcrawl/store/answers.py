"""A page in nodes and counts: what a talk goes on from, and how it is kept while its batch is open. Pure."""

from collections.abc import Mapping, Sequence

import orjson

from socialcrawl.model import Answer, Limit, Page, Reply, Who

MentionRow = tuple[str, int, str]


def mention_rows(page: Page, numbers: Mapping[Who, int]) -> list[MentionRow]:
    """(post id, node, kind) for every mention, each account once a post."""
    rows: dict[tuple[int, int], MentionRow] = {}
    for index, who, kind in page.mentions:
        node = numbers[who]
        rows.setdefault((index, node), (page.posts[index].id, node, kind))
    return list(rows.values())


def answer(page: Page, numbers: Mapping[Who, int], same: Mapping[int, str]) -> Answer:
    """The page in nodes and counts; `same` names accounts that turned out to be another one."""
    pairs = dict.fromkeys((index, numbers[who]) for index, who, _ in page.mentions)
    targets: dict[int, int] = {}
    for index, node in pairs:
        targets[node] = targets.get(node, 0) + page.hits[index]
    return Answer(
        posts=len(page.posts),
        hits=sum(page.hits),
        targets=list(targets),
        target_hits=list(targets.values()),
        found={numbers[who]: str(who.id) for who in page.answered},
        missing={**{numbers[who]: reason for who, reason in page.missing}, **same},
    )


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


def headers(reply: Reply) -> str:
    """The server's clock and limits of a reply as JSON."""
    return orjson.dumps(
        [reply.date, [[limit.left, limit.most, limit.resets, limit.daily] for limit in reply.limits]]
    ).decode()


def from_headers(text: str | None) -> tuple[float | None, Sequence[Limit]]:
    """The server's clock and limits that `headers` wrote."""
    date, limits = orjson.loads(text or "[null, []]")
    return date, [Limit(*limit) for limit in limits]
