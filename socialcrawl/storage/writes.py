"""The statements that write, compiled once for a connection. They begin no transaction: `sql_store.py` does."""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from math import isnan
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, delete, select, update

from socialcrawl.engine.model import (
    USEFUL,
    Grant,
    Outcome,
    Page,
    PostRow,
    Received,
    Reply,
    Request,
    Stop,
    Wait,
    Who,
    format_time,
)
from socialcrawl.engine.protocols import Batch
from socialcrawl.graph.graph import COLUMNS
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.storage import answer_packing
from socialcrawl.storage.database.bulk import Statement, make_insert, make_row_insert, make_row_update
from socialcrawl.storage.ledger.charges import Bill
from socialcrawl.storage.ledger.shared_ledger import SharedLedger
from socialcrawl.storage.schema.tables import follow, hit, link, mention, outcome, pick, post, request, response, shadow

METRICS = ("likes", "replies", "reposts", "quotes", "bookmarks", "views", "metrics_at")
POST = (*PostRow._fields, "metrics_at", "fetched_at")
REWRITTEN = dict.fromkeys(("text", "urls", "lang"), "new")
RENEWED = dict.fromkeys(METRICS, "new") | {"original": "first"}
MENTION = ("post", "node", "kind", "spans")
FOLLOW = ("node", "followed", "seen_at")
HIT = ("campaign", "post", "occurrences")
PICK = ("campaign", "n", "batch", "node", "act", "score", "features", "since")
SHADOW = ("campaign", "n", "estimator", "score")
OUTCOME = ("campaign", "n", "node", "at", "value", "occurrences", "posts", "missing", "mark")
LINK = ("campaign", "n", "position", "node", "alpha")
RESERVATION = ("campaign", "n", "part", "endpoint", "params", "credential", "items", "most", "sent_at", "digest")
SETTLEMENT = (
    "arrived_at", "kind", "status", "posts", "cost", "cursor", "headers", "answer", "new_posts", "new_users",
    "post_ids", "nodes",
)  # fmt: skip
RESPONSE = ("request", "url", "headers", "body")
UNBILLED = Bill(0)


class CampaignWriter:
    """Every INSERT and UPDATE of a campaign, on a platform; `columns` are the names of its picks' features.

    `shared` counts what other processes send; None: they are not followed.
    """

    def __init__(
        self,
        connection: Connection,
        campaign: int,
        platform: str,
        server: str = "",
        columns: Sequence[str] = COLUMNS,
    ) -> None:
        self.campaign, self.platform, self.server, self.columns = campaign, platform, server, columns
        self._connection = connection
        self.shared: SharedLedger | None = None
        self._pick = make_row_insert(connection, pick, PICK)  # few, and their scores need not be finite
        self._shadow = make_insert(connection, shadow, SHADOW)
        # JSON has no infinity: PostgreSQL reads what is written as text.
        self._number: Callable[[float], Any] = str if connection.dialect.name == "postgresql" else float
        self._outcome = make_insert(connection, outcome, OUTCOME)
        self._link = make_insert(connection, link, LINK)
        self.facts = find_platform_facts(platform)
        self._partial, self._replaces = self.facts.partial_mentions, self.facts.replaces_posts
        self._post = make_insert(connection, post, POST, RENEWED | (REWRITTEN if self._replaces else {}), "id")
        self._mention = make_insert(connection, mention, MENTION if self._partial else MENTION[:3], "ignore")
        self._follow = make_insert(connection, follow, FOLLOW, "ignore")
        self._hit = make_insert(connection, hit, HIT, "ignore")
        self._reserve = make_row_insert(connection, request, RESERVATION, returning="id")
        self._told = make_row_insert(connection, request, (*RESERVATION, *SETTLEMENT))
        self._settle = make_row_update(connection, request, SETTLEMENT, "id")
        opened = update(request).where(
            request.c.campaign == bindparam("the_campaign"), request.c.n.between(bindparam("low"), bindparam("high"))
        )
        self._response = make_row_insert(connection, response, RESPONSE)
        self._empty = Statement(connection, opened.values(answer=None), ("answer", "the_campaign", "low", "high"))

    def write_picks(self, batch: Batch) -> None:
        """Write a decision: one row a pick, and the scores of shadows, where these are numbers."""
        first, number = batch[0].n, self.campaign
        self._pick.run([
            (number, p.n, first, p.node, str(p.act), p.score, self._pack_features(p.x), p.since or None) for p in batch
        ])  # fmt: skip
        rows = [(p.n, name, score) for p in batch for name, score in p.shadows if not isnan(score)]
        self._shadow.run([(self.campaign, n, name, self._number(score)) for n, name, score in rows])

    def write_request(self, grant: Grant) -> tuple[int, Wait | Stop | None]:
        """Write a request that is about to leave; its request.id, and see `protocols.Store.reserve`."""
        row = self._make_row(grant)
        if self.shared is not None:
            return self.shared.reserve(RESERVATION, row, grant)
        return int(self._reserve.execute_one(row).scalar_one()), None

    def make_digest(self, asked: Request) -> str:
        """Return the hash by which equal questions to one server are found: 32 hexadecimal digits."""
        question = [self.platform, self.server, asked.endpoint, asked.params]
        return blake2b(orjson.dumps(question, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()

    def write_settlement(
        self, request_id: int, reply: Reply, bill: Bill = UNBILLED, page: Page | None = None, nodes: str | None = None
    ) -> None:
        """Write what came back for a request: its bill, and its page (`answer_packing.pack_nodes`)."""
        post_ids = orjson.dumps([row.id for row in page.posts]).decode() if page and page.posts else None
        row = (*_make_settlement(reply), bill.posts, bill.users, post_ids, nodes, request_id)
        if self.shared is not None:
            self.shared.settle(SETTLEMENT, row)
        else:
            self._settle.execute_one(row)

    def write_response(self, request_id: int, received: Received) -> None:
        """Write an answer as it came."""
        headers = orjson.dumps([list(pair) for pair in received.headers]).decode()
        self._response.execute_one((request_id, received.url, headers, zlib.compress(received.body)))

    def write_held(self, asked: Request, reply: Reply, own: answer_packing.StoredPage | None = None) -> None:
        """Write a request that was answered without being sent; `own` is its page, where no other request has it."""
        grant = Grant(replace(asked, items=0, most=0), "", reply.at)
        ids, nodes = None, None
        if own is not None:
            ids, nodes = orjson.dumps(own.ids).decode(), answer_packing.pack_nodes(own.pairs, reply.answer)
        self._told.execute_one((*self._make_row(grant), *_make_settlement(reply), 0, 0, ids, nodes))

    def write_page(self, page: Page, numbers: Mapping[Who, int], pairs: answer_packing.Mentioned, now: str) -> None:
        """Write posts, mentions and hits. A post seen before keeps its text, its counts are renewed.

        Where the platform replaces posts, a page of the web is written again: its links count by what is around them.
        """
        if not page.posts:
            return
        if self._replaces:
            ids = [row.id for row in page.posts]
            self._connection.execute(delete(mention).where(mention.c.post.in_(ids)))
        authors = {row.author: numbers[Who(row.author, None)] for row in page.posts}
        self._post.run([(row[0], authors[row[1]], *row[2:], now, now) for row in page.posts])
        named = ((page.posts[place].id, node, one) for (place, node), one in pairs.items())
        if self._partial:
            self._mention.run([(key, node, one.kind, answer_packing.pack_spans(one)) for key, node, one in named])
        else:
            self._mention.run([(key, node, one.kind) for key, node, one in named])
        self.write_hits(zip((row.id for row in page.posts), page.hits, strict=True))

    def write_follows(self, n: int, followed: Sequence[int], now: str) -> None:
        """Write whom the account of pick number `n` follows; when that was first seen stays."""
        mine = select(pick.c.node).where(pick.c.campaign == self.campaign, pick.c.n == n)
        node = self._connection.execute(mine).scalar_one()
        self._follow.run([(node, other, now) for other in followed])

    def write_hits(self, counts: Iterable[tuple[str, int]]) -> None:
        """Write which posts match the topic, from (post id, occurrences)."""
        self._hit.run([(self.campaign, key, count) for key, count in counts if count])

    def write_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Write what the picks of a batch found, and their links."""
        rows: list[tuple[Any, ...]] = []
        links: list[tuple[Any, ...]] = []
        for o in outcomes:
            rows.append(
                (self.campaign, o.n, o.node, format_time(o.at), o.value, o.occurrences, o.posts, *describe_missing(o))
            )
            pairs = enumerate(zip(o.targets.tolist(), o.alpha.tolist(), strict=True))
            links += [(self.campaign, o.n, position, node, alpha) for position, (node, alpha) in pairs]
        self._outcome.run(rows)
        self._link.run(links)

    def clear_answers(self, batch: Batch) -> None:
        """Let go of the answers that a finished batch went on from."""
        self._empty.execute_one((None, self.campaign, batch[0].n, batch[-1].n))

    def _pack_features(self, x: tuple[float, ...]) -> str | None:
        return orjson.dumps(dict(zip(self.columns, x, strict=True))).decode() if x else None

    def _make_row(self, grant: Grant) -> tuple[Any, ...]:
        asked = grant.request
        return (
            self.campaign,
            *asked.key,
            asked.endpoint,
            orjson.dumps(asked.params).decode(),
            grant.credential,
            asked.items,
            asked.most,
            format_time(grant.at),
            self.make_digest(asked),
        )


def describe_missing(found: Outcome) -> tuple[str | None, str | None]:
    """Return why the node could not be read, and its mark, as columns."""
    return None if found.missing is None else str(found.missing), found.mark or None


def _make_settlement(reply: Reply) -> tuple[Any, ...]:
    kept = reply.answer
    answer = answer_packing.pack_answer(kept) if reply.kind in USEFUL else None
    headers = answer_packing.pack_headers(reply)
    return format_time(reply.at), str(reply.kind), reply.status, kept.posts, reply.cost, reply.cursor, headers, answer
