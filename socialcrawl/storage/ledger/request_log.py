"""The ledger read back: request by request, with what each cost, or what lies long back as sums."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, case, func, select

from socialcrawl.engine.model import (
    ANSWERED,
    USEFUL,
    Grant,
    Reply,
    ReplyKind,
    Request,
    RequestPart,
    format_time,
    parse_time,
)
from socialcrawl.engine.protocols import Sums
from socialcrawl.storage.database.bulk import Lookup, match_keys
from socialcrawl.storage.database.connection import read_unlocked
from socialcrawl.storage.database.trouble import convert_errors
from socialcrawl.storage.queries import row_values
from socialcrawl.storage.schema.tables import DAILY, post, request
from socialcrawl.storage.schema.tables import campaign as table

LEDGER = (
    "n", "part", "endpoint", "credential", "items", "most", "sent_at", "arrived_at", "kind", "status", "posts", "cost",
    "cursor", "headers",
)  # fmt: skip
DAY = func.substr(func.coalesce(request.c.arrived_at, request.c.sent_at), 1, 10).label("day")
LOST = request.c.arrived_at.is_(None) | (request.c.kind == ReplyKind.LOST)


class RequestLog:
    """The requests of a campaign that were to be sent; see `protocols.Summed`. What was held was never sent.

    Args:
        connection: to the database.
        campaign: campaign.id.
        transaction: what every reading is done in.
        until: the latest request.id that is read; None: all are.
    """

    def __init__(
        self,
        connection: Connection,
        campaign: int,
        transaction: Callable[[], AbstractContextManager[None]],
        until: int | None = None,
    ) -> None:
        self.connection, self.transaction = connection, transaction
        self._sent = (request.c.campaign == campaign) & request.c.kind.is_distinct_from("held")
        if until is not None:
            self._sent &= request.c.id <= until

    def __iter__(self) -> Iterator[tuple[Grant, Reply | None]]:
        yield from self._read_rows(self._sent)

    def last(self) -> float | None:
        """See `protocols.Summed.last`."""
        with self.transaction():
            last = self.connection.execute(select(func.max(request.c.sent_at)).where(self._sent)).scalar()
        return None if last is None else parse_time(last)

    def daily(self) -> float | None:
        """See `protocols.Summed.daily`."""
        query = select(func.max(request.c.sent_at)).where(self._sent, DAILY)
        with self.transaction():
            last = self.connection.execute(query).scalar()
        return None if last is None else parse_time(last)

    def before(self, at: float) -> Iterator[Sums]:
        """See `protocols.Summed.before`."""
        yield from self._read_sums(request.c.sent_at < format_time(at))

    def after(self, at: float) -> Iterator[Sums]:
        """Return the requests that left at `at` or later, summed, in order of the day."""
        yield from self._read_sums(request.c.sent_at >= format_time(at))

    def since(self, at: float) -> Iterator[tuple[Grant, Reply | None]]:
        """See `protocols.Summed.since`."""
        yield from self._read_rows(self._sent & (request.c.sent_at >= format_time(at)))

    def read_clocks(self, at: float) -> dict[float, float]:
        """Return the server's clock at the reservation of each of those, by when it left; of those that have one."""
        query = select(request.c.sent_at, request.c.clock).where(
            self._sent, request.c.sent_at >= format_time(at), request.c.clock.is_not(None)
        )
        with self.transaction():
            return {parse_time(sent): clock for sent, clock in self.connection.execute(query)}

    def _read_sums(self, which: ColumnElement[Any]) -> Iterator[Sums]:
        sums = select(
            request.c.endpoint,
            DAY,
            func.count(),
            func.min(request.c.sent_at),
            func.coalesce(func.sum(case((LOST, 0), else_=request.c.posts)), 0),
            func.coalesce(func.sum(case((LOST, request.c["items"]), else_=0)), 0),
            func.coalesce(func.sum(func.coalesce(request.c.cost, request.c.most)), 0),
        ).where(self._sent, which)
        with self.transaction():
            rows = self.connection.execute(
                sums.group_by(request.c.endpoint, "day").order_by("day", request.c.endpoint)
            ).all()
        for endpoint, day, count, first, posts, items, money in rows:
            midnight = datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp()
            yield Sums(endpoint, midnight, count, parse_time(first), int(posts), int(items), int(money))

    def _read_rows(self, which: ColumnElement[Any]) -> Iterator[tuple[Grant, Reply | None]]:
        rows = select(*(request.c[name] for name in LEDGER)).where(which).order_by(request.c.id)
        with self.transaction():
            for row in self.connection.execute(rows):
                asked = Request((row.n, row.part), row.endpoint, {}, row.items, row.most)
                yield (
                    Grant(asked, row.credential, parse_time(row.sent_at)),
                    row_values.parse_reply(row) if row.arrived_at else None,
                )


class SiblingCampaign(NamedTuple):
    """Another campaign of a database: its name, the settings that it ran with last (JSON), and its ledger."""

    name: str
    settings: str
    ledger: RequestLog


def find_siblings(
    connection: Connection, campaign: int, since: float, until: int | None = None
) -> list[SiblingCampaign]:
    """Return the other campaigns of a database on the same platform that have sent something since an instant.

    That waits for no writer.

    Args:
        connection: to the database.
        campaign: campaign.id of the one.
        since: Unix seconds.
        until: the latest request.id that their ledgers have; None: they have all.

    Raises:
        StoreError: the database cannot be read.
    """

    @contextmanager
    def look() -> Iterator[None]:
        with convert_errors(connection), read_unlocked(connection):
            yield

    lately = (request.c.campaign == table.c.id) & (request.c.sent_at >= format_time(since))
    platform = select(table.c.platform).where(table.c.id == campaign).scalar_subquery()
    others = select(table).where(
        table.c.id != campaign, table.c.platform == platform, select(request.c.id).where(lately).exists()
    )
    with look():
        rows = connection.execute(others.order_by(table.c.id)).all()
    return [SiblingCampaign(row.name, row.settings, RequestLog(connection, row.id, look, until)) for row in rows]


def read_settings(connection: Connection, campaign: int) -> tuple[str, str]:
    """Return the name of a campaign, by campaign.id, and its settings (JSON); called in a transaction."""
    row = connection.execute(select(table.c.name, table.c.settings).where(table.c.id == campaign)).one()
    return row.name, row.settings


SOME = 2_000  # rows that are read together
COLUMNS = (
    "id", "n", "part", "endpoint", "items", "most", "sent_at", "arrived_at", "kind", "posts", "cost", "new_posts",
    "new_users", "post_ids", "digest",
)  # fmt: skip


def read_bills(connection: Connection, campaign: int) -> Iterator[Sequence[Any]]:
    """Yield the requests of a campaign (COLUMNS), oldest first, some at a time."""
    query = select(*(request.c[name] for name in COLUMNS)).where(request.c.campaign == campaign)
    last = -1
    while rows := connection.execute(query.where(request.c.id > last).order_by(request.c.id).limit(SOME)).all():
        yield rows
        last = rows[-1].id


def find_loose_pages(connection: Connection, campaign: int, most: int) -> list[tuple[int, int, int]]:
    """Return (request.id, n, part) of pages with posts whose page before is not in the ledger, or was the last one."""
    before = request.alias("before")
    follows = and_(
        before.c.campaign == request.c.campaign,
        before.c.n == request.c.n,
        before.c.part == request.c.part - 1,
        ~before.c.kind.in_(USEFUL) | before.c.cursor.is_not(None),
    )
    pages = select(request.c.id, request.c.n, request.c.part).where(
        request.c.campaign == campaign,
        request.c.part.between(2, RequestPart.PAGES_END),
        request.c.kind.in_(USEFUL),
        request.c.posts > 0,
    )
    loose = pages.where(~select(before.c.id).where(follows).exists()).order_by(request.c.id).limit(most)
    return [(int(row.id), int(row.n), int(row.part)) for row in connection.execute(loose)]


class FetchTimes:
    """When posts were fetched first.

    Args:
        connection: the database.
    """

    def __init__(self, connection: Connection) -> None:
        self._at = Lookup(connection, select(post.c.id, post.c.fetched_at).where(match_keys(connection, post.c.id)))

    def find_times(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the instant of each of some posts that are stored, ISO 8601."""
        return {row.id: row.fetched_at for row in self._at.fetch_rows(ids)}


class FirstAnswers:
    """Which questions the platform has answered, whichever campaign asked them.

    Args:
        connection: the database.
    """

    def __init__(self, connection: Connection) -> None:
        asked = select(request.c.digest, request.c.id, request.c.kind)
        self._asked = Lookup(connection, asked.where(match_keys(connection, request.c.digest)))

    def find_requests(self, digests: Sequence[str]) -> dict[str, int]:
        """Return the request.id of the first answer to each of some questions that has one."""
        first: dict[str, int] = {}
        for digest, number, kind in self._asked.fetch_rows(digests):
            if kind in ANSWERED:
                first[digest] = min(number, first.get(digest, number))
        return first


def sum_bills(connection: Connection, campaign: int) -> tuple[int, int]:
    """Return how many requests a campaign has sent, and what they cost at most, in mills."""
    spent = func.coalesce(func.sum(func.coalesce(request.c.cost, request.c.most)), 0)
    mine = (request.c.campaign == campaign) & request.c.kind.is_distinct_from("held")
    count, mills = connection.execute(select(func.count(), spent).where(mine)).one()
    return int(count), int(mills)
