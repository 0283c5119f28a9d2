"""A page in nodes and counts: what a talk goes on from, and how it is kept while its batch is open. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import orjson

from socialcrawl.engine.model import Answer, Limit, Mention, Page, Reply, SameAs, Unavailable, Who, parse_unavailable
from socialcrawl.graph.recount import Link, Recount
from socialcrawl.graph.relevance import KINDS, Links

Mentioned = Mapping[tuple[int, int], Mention]
"""The mention of each (place of a post in its page, node), in order of mention."""

ALIKE = Links()


def collect_mentions(page: Page, numbers: Mapping[Who, int]) -> Mentioned:
    """Return whom the posts of a page mention, each once a post; the first mention counts."""
    found: dict[tuple[int, int], Mention] = {}
    for mention in page.mentions:
        found.setdefault((mention.post, numbers[mention.who]), mention)
    return found


def build_answer(
    page: Page,
    numbers: Mapping[Who, int],
    same: Mapping[int, SameAs],
    pairs: Mentioned,
    links: Links = ALIKE,
    *,
    repeats: Collection[int] = (),
) -> Answer:
    """Return the page in nodes and counts.

    Args:
        page: what came.
        numbers: of its accounts.
        same: accounts that turned out to be another one.
        pairs: the mentioned.
        links: what makes a link.
        repeats: the places of posts that were read before: their occurrences count no more.
    """
    count = Recount()
    count.add_posts(page.hits, weigh_mentions(pairs, page.hits, links), repeats)
    return count.make_answer(
        found={numbers[who]: str(who.id) for who in page.answered},
        missing={**{numbers[who]: reason for who, reason in page.missing}, **same},
        follows=tuple(numbers[who] for who in dict.fromkeys(page.follows)),
        mark=page.mark,
        active={numbers[who]: at for who, at in page.active},
    )


def weigh_mentions(pairs: Mentioned, hits: Sequence[int], links: Links) -> Iterable[Link]:
    """Yield each mention that makes a link, in order; see `LinkWeigher.weigh` for those that are stored."""
    weights = {kind: links.get_weight(kind) for kind in KINDS}
    for (place, node), mention in pairs.items():
        if weight := weights.get(mention.kind, 0):
            own = hits[place] if mention.hits is None else mention.hits
            yield place, node, weight * own


def list_accounts(page: Page) -> list[Who]:
    """Return all accounts that a page names: authors, those it answers about, the mentioned, the missing."""
    authors = dict.fromkeys(row.author for row in page.posts)
    return [
        *(Who(author, None) for author in authors),
        *page.answered,
        *(mention.who for mention in page.mentions),
        *(who for who, _ in page.missing),
        *page.follows,
        *(who for who, _ in page.active),
    ]


def pack_answer(kept: Answer) -> str:
    """Return an answer as JSON."""
    gone = [list(kept.deleted), list(kept.deleted_accounts)] if kept.deleted or kept.deleted_accounts else []
    return orjson.dumps(
        [
            kept.posts,
            kept.hits,
            list(kept.targets),
            list(kept.target_hits),
            list(kept.found.items()),
            _pack_reasons(kept),
            *([list(kept.follows), kept.mark, list(kept.active.items())] if kept.active or gone else _pack_rest(kept)),
            *gone,
        ]
    ).decode()


def unpack_answer(text: str) -> Answer:
    """Return the answer that `pack_answer` wrote; older ones have no mark, or end before whom the account follows."""
    posts, hits, targets, target_hits, found, missing, *rest = orjson.loads(text)
    follows = tuple(rest[0]) if rest else ()
    mark = rest[1] if len(rest) > 1 else ""
    active = dict(rest[2]) if len(rest) > 2 else {}
    gone = rest[3:5] or ((), ())
    return Answer(posts, hits, targets, target_hits, dict(found), _parse_reasons(missing), follows, mark, active, *gone)


def pack_nodes(pairs: Iterable[tuple[int, int]], kept: Answer) -> str:
    """Pack a page's accounts and posts as JSON, from which its answer can be counted again for any topic."""
    flat = list(chain.from_iterable(pairs))
    return orjson.dumps([flat, list(kept.found), _pack_reasons(kept), *_pack_rest(kept)]).decode()


class StoredPage(NamedTuple):
    """A page as the ledger keeps it: all that an answer is made of again, with the texts of its posts.

    `ids` are its posts, `pairs` (place of a post, node mentioned), `found` the nodes answered about, `missing` why
    others are not there, `follows` whom the account follows, `mark` that of the page ("" from older programs).
    """

    ids: list[str]
    pairs: list[tuple[int, int]]
    found: list[int]
    missing: dict[int, Unavailable]
    follows: tuple[int, ...] = ()
    mark: str = ""

    def select(self, keys: Collection[str]) -> "StoredPage":
        """Return the page with those of its posts whose ids are in `keys`."""
        places = {old: new for new, old in enumerate(i for i, key in enumerate(self.ids) if key in keys)}
        pairs = [(places[place], node) for place, node in self.pairs if place in places]
        return self._replace(ids=[self.ids[place] for place in places], pairs=pairs)


def parse_page(row: Any) -> StoredPage | None:
    """Return the page of a row of the ledger; None if the ledger does not know it (an older program, or a look-up)."""
    if row.nodes is None:
        return None
    flat, found, missing, *rest = orjson.loads(row.nodes)
    ids, pairs = orjson.loads(row.post_ids or "[]"), list(zip(flat[::2], flat[1::2], strict=True))
    follows, mark = tuple(rest[0]) if rest else (), rest[1] if len(rest) > 1 else ""
    return StoredPage(ids, pairs, found, _parse_reasons(missing), follows, mark)


def _pack_reasons(kept: Answer) -> list[tuple[int, str]]:
    return [(node, str(why)) for node, why in kept.missing.items()]


def _parse_reasons(stored: Iterable[tuple[int, str]]) -> dict[int, Unavailable]:
    return {node: parse_unavailable(why) for node, why in stored}


def _pack_rest(kept: Answer) -> list[Any]:
    """Pack the fields that few answers have and older versions did not write: whom the account follows, the mark."""
    if kept.mark:
        return [list(kept.follows), kept.mark]
    return [list(kept.follows)] if kept.follows else []


def pack_spans(mention: Mention) -> str | None:
    """Return the parts of a post that count for a link, as JSON; None: the whole of it."""
    return orjson.dumps(mention.spans).decode() if mention.spans else None


def pack_headers(reply: Reply) -> str:
    """Return the server's clock and limits of a reply as JSON."""
    return orjson.dumps(
        [reply.date, [[limit.left, limit.most, limit.resets, limit.daily] for limit in reply.limits]]
    ).decode()


def parse_headers(text: str | None) -> tuple[float | None, Sequence[Limit]]:
    """Return the server's clock and limits that `pack_headers` wrote."""
    date, limits = orjson.loads(text or "[null, []]")
    return date, [Limit(*limit) for limit in limits]
