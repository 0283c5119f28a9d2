"""An erasure that is only rehearsed: what it would write is counted, and nothing but temporary tables is written.

A rehearsal takes no lock that anybody waits for, so that campaigns go on meanwhile. What it counts does not depend on
what an erasure has written before: conditions say so themselves.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Delete, Update, func, select

from socialcrawl.storage.database.bulk import Bulk
from socialcrawl.storage.database.connection import read_unlocked

REHEARSED = "socialcrawl_rehearsed"  # execution option of a connection on which nothing is written


@contextmanager
def begin_dry_run(connection: Connection) -> Iterator[None]:
    """Begin a transaction in which an erasure is rehearsed; its temporary tables go with it."""
    connection.execution_options(**{REHEARSED: True})
    try:
        with read_unlocked(connection):
            yield
            connection.rollback()
    finally:
        connection.execution_options(**{REHEARSED: False})


def is_dry_run(connection: Connection) -> bool:
    """Return whether nothing is to be written on a connection now."""
    return bool(connection.get_execution_options().get(REHEARSED))


def change_rows(connection: Connection, statement: Update | Delete) -> int:
    """Execute a statement that changes rows; return how many there are."""
    if not is_dry_run(connection):
        return int(connection.execute(statement).rowcount)
    count = select(func.count()).select_from(statement.table)
    if statement.whereclause is not None:
        count = count.where(statement.whereclause)
    return int(connection.execute(count).scalar_one())


def carry_out(connection: Connection, statement: Update | Delete) -> None:
    """Execute a statement that changes rows which nobody counts."""
    if not is_dry_run(connection):
        connection.execute(statement)


def write_rows(bulk: Bulk, rows: Sequence[tuple[Any, ...]]) -> None:
    """Execute a statement for every row."""
    if not is_dry_run(bulk.connection):
        bulk.run(rows)
