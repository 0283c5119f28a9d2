"""The requests of a campaign with what they cost, as the ledger has them. Called in a transaction."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, and_, func, select

from socialcrawl.engine.model import ANSWERED, USEFUL, RequestPart
from socialcrawl.storage.database.bulk import Lookup, match_keys
from socialcrawl.storage.schema.tables import post, request

SOME = 2_000  # rows that are read together
COLUMNS = (
    "id", "n", "part", "endpoint", "items", "most", "sent_at", "arrived_at", "kind", "posts", "cost", "new_posts",
    "new_users", "post_ids", "digest",
)  # fmt: skip


def read_bills(connection: Connection, campaign: int) -> Iterator[Sequence[Any]]:
    """Yield the requests of a campaign (COLUMNS), oldest first, some at a time."""
    columns = select(*(request.c[name] for name in COLUMNS)).where(request.c.campaign == campaign)
    last = -1
    while rows := connection.execute(columns.where(request.c.id > last).order_by(request.c.id).limit(SOME)).all():
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
