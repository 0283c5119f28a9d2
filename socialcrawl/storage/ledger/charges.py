"""The UTC-day rule: a platform bills a post or a user once a day, however often it is read.

A day is the server's. Near midnight it is not certain on which one a request was served: then everything counts as
billed, and nothing as billed for the rest of either day. So the ledger errs only towards too much.

Resources are kept by credential: tokens may belong to different developer accounts, and nothing says which share one.
Table `charge` has them, shared by all campaigns of a database.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple, Protocol

import orjson
from sqlalchemy import Connection, Text, bindparam, delete, select, true
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import UpdateBase

from socialcrawl.engine.model import Grant, Page, Reply, format_time
from socialcrawl.ratelimit.policy import Tariff
from socialcrawl.storage.database.bulk import Statement, unnest_keys
from socialcrawl.storage.schema.tables import charge

DAY = 86_400  # seconds
SKEW = 900.0  # seconds by which our clock may differ from the server's


class Bill(NamedTuple):
    """What a reply costs, in mills, and the resources it is billed for; None where every reading is billed."""

    cost: int
    posts: int | None = None
    users: int | None = None


class Charges(Protocol):
    """The resources that were billed, by UTC day and credential."""

    def count_new(self, day: str, credential: str, kind: str, resources: Sequence[str]) -> int:
        """Return how many different `resources` were not yet billed to `credential` on `day`; they are from now on.

        Args:
            day: as `2026-01-31`.
            credential: name of the token.
            kind: post | user.
            resources: the platform's own ids.
        """


class MemoryCharges:
    """The charges of a process, in sets."""

    def __init__(self) -> None:
        self._billed: dict[tuple[str, str, str], set[str]] = {}
        self._day = ""

    def count_new(self, day: str, credential: str, kind: str, resources: Sequence[str]) -> int:
        """See `Charges.count_new`."""
        if day != self._day:
            first, self._day = find_day_before(day), day
            self._billed = {key: ids for key, ids in self._billed.items() if key[0] >= first}
        billed = self._billed.setdefault((day, credential, kind), set())
        before = len(billed)
        billed.update(resources)
        return len(billed) - before


def compute_bill(grant: Grant, reply: Reply, page: Page, tariff: Tariff | None, charges: Charges) -> Bill:
    """Return the bill for a page; its resources are billed from now on.

    Args:
        grant: what was sent, and with which credential.
        reply: what came; `Reply.cost` is the price if everything were new.
        page: its rows.
        tariff: the prices of what is billed once a day; None where every reading is billed.
        charges: what was billed before.
    """
    if tariff is None:
        return Bill(reply.cost)
    served = find_billing_day(grant.at, reply)
    posts, users = [row.id for row in page.posts], [row.id for row in page.accounts]
    new_posts = _count_new(served, grant.credential, "post", posts, charges)
    new_users = _count_new(served, grant.credential, "user", users, charges)
    saved = tariff.post * (len(posts) - new_posts) + tariff.user * (len(users) - new_users)
    return Bill(max(0, reply.cost - saved), new_posts, new_users)


def find_billing_day(grant_at: float, reply: Reply) -> str | None:
    """Return the server's UTC day on which a request was certainly served, as `2026-01-31`.

    None if it may be either of two.

    Args:
        grant_at: when the request was allowed to leave, by our clock (Unix seconds).
        reply: what came back. Its `date` is in whole seconds and of the end of the answer; without one our own clock
            has to do, which may be wrong by a quarter of an hour.
    """
    took = reply.at - grant_at
    if took < 0:
        return None  # our clock was set back meanwhile: who knows how long it took
    if reply.date is None:
        first, last = grant_at - SKEW, reply.at + SKEW
    else:
        first, last = reply.date - took - 1, reply.date + 1
    return format_time(last)[:10] if first // DAY == last // DAY else None


def find_day_before(text: str) -> str:
    """Return the day before a day, both as `2026-01-31`."""
    return (date.fromisoformat(text) - timedelta(1)).isoformat()


def _count_new(served: str | None, credential: str, kind: str, resources: Sequence[str], charges: Charges) -> int:
    if served is None or not resources:
        return len(set(resources))
    return charges.count_new(served, credential, kind, resources)


COLUMNS = ("day", "credential", "kind", "resource")


class SqlCharges:
    """See `charges.Charges`. Called inside the transaction that stores the page."""

    def __init__(self, connection: Connection) -> None:
        self._bill = Statement(connection, _make_insert(connection), COLUMNS)
        self._remove = Statement(connection, delete(charge).where(charge.c.day < bindparam("first")), ("first",))
        self._day = ""  # the day of the latest page: when it changes, what is past is removed

    def count_new(self, day: str, credential: str, kind: str, resources: Sequence[str]) -> int:
        """See `charges.Charges.count_new`; one statement, whatever the number of resources."""
        if day != self._day:
            self._remove.execute_one((find_day_before(day),))
            self._day = day
        return self._bill.execute_one((day, credential, kind, orjson.dumps(resources).decode())).rowcount


def _make_insert(connection: Connection) -> UpdateBase:
    resources = unnest_keys(connection, "resource")
    upsert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    given = [bindparam(name, type_=Text) for name in COLUMNS[:3]]
    # WHERE true: after a FROM, SQLite would take ON CONFLICT for the condition of a join.
    rows = select(*given, resources.c.value).where(true())
    return upsert(charge).from_select(COLUMNS, rows).on_conflict_do_nothing()
