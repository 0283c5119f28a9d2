"""The charges of the UTC-day rule in SQL: table `charge`, shared by all campaigns of a database."""

from collections.abc import Sequence

import orjson
from sqlalchemy import Connection, Text, bindparam, delete, select, true
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import UpdateBase

from socialcrawl.storage.database.bulk import Statement, unnest_keys
from socialcrawl.storage.ledger.charges import find_day_before
from socialcrawl.storage.schema.tables import charge

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
