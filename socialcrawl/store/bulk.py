"""Statements compiled once and handed to the driver with plain tuples: SQLAlchemy's words at the driver's speed."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import orjson
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    CursorResult,
    Insert,
    Select,
    Table,
    Update,
    bindparam,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.sql.dml import UpdateBase


class Bulk:
    """An INSERT or UPDATE for many rows; a row is a tuple in the order of `names`."""

    def __init__(self, connection: Connection, statement: UpdateBase, names: Sequence[str]) -> None:
        self.connection = connection
        compiled = statement.compile(dialect=connection.dialect)
        self.sql = str(compiled)
        wanted: list[str] = list(getattr(compiled, "positiontup", ()))
        assert sorted(wanted) == sorted(names), f"the statement has {wanted}, rows give {list(names)}"
        self._ordered = None if wanted == list(names) else itemgetter(*(list(names).index(name) for name in wanted))

    def run(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Execute for every row; nothing for none."""
        if rows:
            given = list(rows) if self._ordered is None else [self._ordered(row) for row in rows]
            self.connection.exec_driver_sql(self.sql, given)

    def one(self, row: tuple[Any, ...]) -> CursorResult[Any]:
        """Execute for one row; the result, for RETURNING."""
        return self.connection.exec_driver_sql(self.sql, row if self._ordered is None else self._ordered(row))


def inserting(table: Table, names: Sequence[str]) -> Insert:
    """An INSERT of the named columns, in that order."""
    return insert(table).values({name: bindparam(name) for name in names})


def updating(table: Table, names: Sequence[str], key: str) -> Update:
    """An UPDATE of the named columns of the row whose column `key` is given last, as `the_key`."""
    return update(table).where(table.c[key] == bindparam("the_key")).values({name: bindparam(name) for name in names})


class Lookup:
    """A SELECT by a list of keys, handed over as one JSON array: compiled once, whatever the number of keys."""

    def __init__(self, connection: Connection, statement: Select[Any]) -> None:
        self.connection = connection
        self.sql = str(statement.compile(dialect=connection.dialect))

    def rows(self, keys: Sequence[str | int | None]) -> Sequence[Any]:
        """The rows of all keys, in no particular order; none for no keys."""
        if not keys:
            return ()
        return self.connection.exec_driver_sql(self.sql, (orjson.dumps(keys).decode(),)).all()


def among(column: Column[Any]) -> ColumnElement[bool]:
    """The condition that `column` is one of the keys of a Lookup."""
    given = func.json_each(bindparam("keys")).table_valued("value")
    return column.in_(select(given.c.value))
