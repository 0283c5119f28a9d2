"""Rows back as values: picks, replies, the history and the ledger of a campaign."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson
from sqlalchemy import Connection, Row, select

from socialcrawl.graph import COLUMNS
from socialcrawl.model import Answer, Grant, Node, Outcome, Pick, Reply, Request, unix
from socialcrawl.protocols import Batch
from socialcrawl.store import answers
from socialcrawl.store.tables import link, outcome, request
from socialcrawl.store.tables import pick as pick_table

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


def history(connection: Connection, campaign: int) -> Iterator[tuple[Batch, list[Outcome]]]:
    """Finished batches in order of n, with their outcomes and links."""
    both = select(pick_table, outcome.c.at, outcome.c.value, outcome.c.occurrences, outcome.c.posts, outcome.c.missing)
    joined = both.join(outcome, (outcome.c.campaign == pick_table.c.campaign) & (outcome.c.n == pick_table.c.n))
    rows = connection.execute(joined.where(pick_table.c.campaign == campaign).order_by(pick_table.c.n))
    links = _Links(connection, campaign)
    batch: list[Pick] = []
    outcomes: list[Outcome] = []
    number = None
    for row in rows:
        if batch and row.batch != number:
            yield tuple(batch), outcomes
            batch, outcomes = [], []
        number = row.batch
        batch.append(pick(row))
        outcomes.append(_outcome(row, links))
    if batch:
        yield tuple(batch), outcomes


def _outcome(row: Row[Any], links: "_Links") -> Outcome:
    targets, alpha = links.of(row.n)
    return Outcome(
        row.n,
        Node(row.node),
        unix(row.at),
        row.value,
        np.array(targets, np.int64),
        np.array(alpha, np.float64),
        row.missing,
        row.posts,
        row.occurrences,
    )


class _Links:
    """The links of a campaign in order of n, read along with the picks."""

    def __init__(self, connection: Connection, campaign: int) -> None:
        wanted = select(link.c.n, link.c.node, link.c.alpha).where(link.c.campaign == campaign)
        self._rows = iter(connection.execute(wanted.order_by(link.c.n, link.c.position)))
        self._next = next(self._rows, None)

    def of(self, n: int) -> tuple[list[int], list[float]]:
        """Targets and weights of pick `n`; to be asked in order of n."""
        targets: list[int] = []
        alpha: list[float] = []
        while self._next is not None and self._next.n == n:
            targets.append(self._next.node)
            alpha.append(self._next.alpha)
            self._next = next(self._rows, None)
        return targets, alpha
