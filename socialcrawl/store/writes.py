"""The statements that write, compiled once for a connection. They begin no transaction: `sql.py` does."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, Insert, bindparam, update
from sqlalchemy.dialects.sqlite import insert as upsert

from socialcrawl.graph import COLUMNS
from socialcrawl.model import USEFUL, Grant, Outcome, Page, PostRow, Reply, Who, iso
from socialcrawl.protocols import Batch
from socialcrawl.store import answers
from socialcrawl.store.bulk import Bulk, inserting, updating
from socialcrawl.store.tables import hit, link, mention, outcome, pick, post, request

METRICS = ("likes", "replies", "reposts", "quotes", "bookmarks", "views", "metrics_at")
POST = (*PostRow._fields, "metrics_at", "fetched_at")
MENTION = ("post", "node", "kind")
HIT = ("campaign", "post", "occurrences")
PICK = ("campaign", "n", "batch", "node", "act", "score", "features")
OUTCOME = ("campaign", "n", "node", "at", "value", "occurrences", "posts", "missing")
LINK = ("campaign", "n", "position", "node", "alpha")
RESERVATION = ("campaign", "n", "part", "endpoint", "params", "credential", "items", "most", "sent_at")
SETTLEMENT = ("arrived_at", "kind", "status", "posts", "cost", "cursor", "headers", "answer")


class Writes:
    """Every INSERT and UPDATE of a campaign."""

    def __init__(self, connection: Connection, campaign: int) -> None:
        self.campaign = campaign
        self._pick = Bulk(connection, inserting(pick, PICK), PICK)
        self._outcome = Bulk(connection, inserting(outcome, OUTCOME), OUTCOME)
        self._link = Bulk(connection, inserting(link, LINK), LINK)
        self._post = Bulk(connection, _posts(), POST)
        self._mention = Bulk(connection, _ignoring(mention, MENTION), MENTION)
        self._hit = Bulk(connection, _ignoring(hit, HIT), HIT)
        self._reserve = Bulk(connection, inserting(request, RESERVATION).returning(request.c.id), RESERVATION)
        self._settle = Bulk(connection, updating(request, SETTLEMENT, "id"), (*SETTLEMENT, "the_key"))
        opened = update(request).where(
            request.c.campaign == bindparam("the_campaign"), request.c.n.between(bindparam("low"), bindparam("high"))
        )
        self._empty = Bulk(connection, opened.values(answer=None), ("answer", "the_campaign", "low", "high"))

    def picks(self, batch: Batch) -> None:
        """Write a decision: one row a pick."""
        first = batch[0].n
        self._pick.run([(self.campaign, p.n, first, p.node, p.act, p.score, _features(p.x)) for p in batch])

    def reservation(self, grant: Grant) -> int:
        """Write a request that is about to leave; its request.id."""
        asked = grant.request
        row = (
            self.campaign,
            *asked.key,
            asked.endpoint,
            orjson.dumps(asked.params).decode(),
            grant.credential,
            asked.items,
            asked.most,
            iso(grant.at),
        )
        return int(self._reserve.one(row).scalar_one())

    def settlement(self, request_id: int, reply: Reply) -> None:
        """Write what came back for a request."""
        kept = reply.answer
        answer = answers.packed(kept) if reply.kind in USEFUL else None
        self._settle.one(
            (
                iso(reply.at),
                reply.kind,
                reply.status,
                kept.posts,
                reply.cost,
                reply.cursor,
                answers.headers(reply),
                answer,
                request_id,
            )
        )

    def page(self, page: Page, numbers: Mapping[Who, int], now: str) -> None:
        """Write posts, mentions and hits. A post that is already held keeps its text, its counts are renewed."""
        if not page.posts:
            return
        authors = {row.author: numbers[Who(row.author, None)] for row in page.posts}
        self._post.run([(row[0], authors[row[1]], *row[2:], now, now) for row in page.posts])
        self._mention.run(answers.mention_rows(page, numbers))
        hits = zip(page.posts, page.hits, strict=True)
        self._hit.run([(self.campaign, row.id, count) for row, count in hits if count])

    def outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Write what the picks of a batch found, and their links."""
        rows: list[tuple[Any, ...]] = []
        links: list[tuple[Any, ...]] = []
        for o in outcomes:
            rows.append((self.campaign, o.n, o.node, iso(o.at), o.value, o.occurrences, o.posts, o.missing))
            pairs = enumerate(zip(o.targets.tolist(), o.alpha.tolist(), strict=True))
            links += [(self.campaign, o.n, position, node, alpha) for position, (node, alpha) in pairs]
        self._outcome.run(rows)
        self._link.run(links)

    def emptied(self, batch: Batch) -> None:
        """Let go of the answers that a finished batch went on from."""
        self._empty.one((None, self.campaign, batch[0].n, batch[-1].n))


def _features(x: tuple[float, ...]) -> str | None:
    return orjson.dumps(dict(zip(COLUMNS, x, strict=True))).decode() if x else None


def _posts() -> Insert:
    statement = upsert(post).values({name: bindparam(name) for name in POST})
    renewed = {name: statement.excluded[name] for name in METRICS}
    return statement.on_conflict_do_update(index_elements=[post.c.id], set_=renewed)


def _ignoring(table: Any, names: Sequence[str]) -> Insert:
    return upsert(table).values({name: bindparam(name) for name in names}).on_conflict_do_nothing()
