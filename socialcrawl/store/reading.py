"""Rows back as values: picks, replies and the ledger of a campaign."""

from collections.abc import Iterator
from typing import Any

import orjson
from sqlalchemy import Connection, Row, select

from socialcrawl.graph import COLUMNS
from socialcrawl.model import Answer, Grant, Node, Pick, Reply, Request, unix
from socialcrawl.store import answers
from socialcrawl.store.tables import request

LEDGER = (
    "n", "part", "endpoint", "credential", "items", "most", "sent_at", "arrived_at", "kind", "status", "posts", "cost",
    "cursor", "headers",
)  # fmt: skip


def pick(row: Row[Any]) -> Pick:
    """The pick of a row of table `pick`."""
    features = orjson.loads(row.features) if row.features else {}
    x = tuple(float("inf") if features[c] is None else float(features[c]) for c in COLUMNS) if features else ()
    return Pick(row.n, Node(row.node), row.act, row.score, x)


def reply(row: Row[Any]) -> Reply:
    """The reply of a settled row of table `request`, its answer reduced to counts."""
    date, limits = answers.from_headers(row.headers)
    return Reply(
        row.kind,
        unix(row.arrived_at),
        rows=Answer(posts=row.posts),
        cursor=row.cursor,
        cost=row.cost,
        status=row.status,
        date=date,
        limits=limits,
    )


def ledger(connection: Connection, campaign: int) -> Iterator[tuple[Grant, Reply | None]]:
    """Every request of a campaign that was to be sent, oldest first, with its reply if it was settled."""
    sent = select(*(request.c[name] for name in LEDGER)).where(
        request.c.campaign == campaign, request.c.kind.is_distinct_from("held")
    )
    for row in connection.execute(sent.order_by(request.c.id)):
        asked = Request((row.n, row.part), row.endpoint, {}, row.items, row.most)
        yield Grant(asked, row.credential, unix(row.sent_at)), reply(row) if row.arrived_at else None
