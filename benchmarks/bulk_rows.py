"""Rows written to a database by the fastest way of its driver, for what a benchmark needs and does not time."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection


@contextmanager
def open_raw(connection: Connection) -> Iterator[Any]:
    """Yield the driver's connection, with nothing that waits for the disk; at the end tables are analysed.

    The connection is closed, too.
    """
    raw: Any = connection.connection.driver_connection
    on_file = isinstance(raw, sqlite3.Connection)
    raw.execute("pragma synchronous = off" if on_file else "set synchronous_commit = off")
    raw.commit()
    if on_file:
        raw.isolation_level = ""  # rows up to a commit are one transaction, not one each
    yield raw
    if on_file:
        raw.execute("analyze")
    else:
        raw.execute("select setval(pg_get_serial_sequence('request', 'id'), (select max(id) from request))")
        raw.commit()
        raw.autocommit = True
        raw.execute("vacuum analyze")
        raw.autocommit = False
    connection.close()
    connection.engine.dispose()


def write_rows(raw: Any, table: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Write rows of a table by the names of its columns, so that a new column of the schema does not matter."""
    names = ", ".join(columns)
    if isinstance(raw, sqlite3.Connection):
        raw.executemany(f"insert into {table} ({names}) values ({', '.join('?' * len(columns))})", rows)
        return
    with raw.cursor() as cursor, cursor.copy(f"copy {table} ({names}) from stdin") as copy:
        for row in rows:
            copy.write_row(row)
