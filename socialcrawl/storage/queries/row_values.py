"""Rows back as values: picks and replies; and the transaction to read them in."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import orjson
from sqlalchemy import Connection, Row

from socialcrawl.engine.model import Act, Answer, Node, Pick, Reply, ReplyKind, parse_time
from socialcrawl.graph.graph import COLUMNS
from socialcrawl.storage import answer_packing

KINDS = {kind.value: kind for kind in ReplyKind}  # a restart looks up a million; ReplyKind(text) takes 10 times as long


def join_transaction(connection: Connection) -> AbstractContextManager[Any]:
    """Return the context to read in: the transaction that has begun, or one for the length of the block."""
    return nullcontext() if connection.in_transaction() else connection.begin()


def parse_pick(row: Row[Any], columns: Sequence[str] = COLUMNS) -> Pick:
    """Return the pick of a row of table `pick`, whose features are called `columns`."""
    features = orjson.loads(row.features) if row.features else {}
    x = tuple(float("inf") if features[c] is None else float(features[c]) for c in columns) if features else ()
    return Pick(row.n, Node(row.node), Act(row.act), row.score, x, row.since or "")


def parse_reply(row: Row[Any]) -> Reply:
    """Return the reply of a settled row of table `request`, its answer reduced to counts."""
    date, limits = answer_packing.parse_headers(row.headers)
    return Reply(
        KINDS.get(row.kind) or ReplyKind(row.kind),
        parse_time(row.arrived_at),
        rows=Answer(posts=row.posts),
        cursor=row.cursor,
        cost=row.cost,
        status=row.status,
        date=date,
        limits=limits,
        items=row.items,
    )
