"""A database as it is at one moment, for those who check it: read in one transaction, never changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Connection

from socialcrawl.errors import StoreError
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.backup import back_up
from socialcrawl.storage.database.connection import close_connection, make_engine, upgrade
from socialcrawl.storage.database.filetypes import require_database
from socialcrawl.storage.database.health import CURRENT, EMPTY, check_ours, open_existing, read_schema_state


@contextmanager
def open_unchanged(where: DatabaseAddress) -> Iterator[tuple[Connection, DatabaseAddress]]:
    """Open a read-only connection to a database, whose file stays as it is.

    An SQLite database with an older schema is copied to a temporary folder and the copy is brought up to date.

    Args:
        where: the database, which has to be there.

    Yields:
        a connection, and the database that it reads: `where` or the copy.

    Raises:
        StoreError: it is not there, holds nothing, cannot be read, is another program's, a newer socialcrawl's, or an
            older one's on a server; or the copy cannot be written.
    """
    require_database(where)
    with open_existing(where) as connection:
        state = check_ours(read_schema_state(connection), where)
        if state == EMPTY:
            raise StoreError(f"There is no campaign in {where}: run one first, or name another database.")
        if state == CURRENT:
            yield connection, where
            return
    if not isinstance(where, Path):
        raise StoreError(
            f"{where} has the schema of an older socialcrawl, and is not changed here: `socialcrawl report` brings it "
            "up to date; or use the version that wrote it."
        )
    with TemporaryDirectory(prefix="socialcrawl-") as folder:
        copy = Path(folder) / where.name
        back_up(where, copy)
        _upgrade(copy)
        with open_existing(copy) as connection:
            yield connection, copy


@contextmanager
def open_snapshot(where: DatabaseAddress) -> Iterator[Connection]:
    """Open a database in a transaction that sees it as it is now, whatever others write meanwhile.

    Args:
        where: the database, which has to be there.

    Yields:
        a connection whose transaction has begun and only reads; see `open_unchanged`.

    Raises:
        StoreError: as `open_unchanged`.
    """
    with open_unchanged(where) as (connection, _), _begin_snapshot(connection):
        yield connection


@contextmanager
def _begin_snapshot(connection: Connection) -> Iterator[None]:
    server = connection.dialect.name == "postgresql"
    if server:
        connection.execution_options(isolation_level="REPEATABLE READ")
    with connection.begin():
        if not server:  # whose driver begins a transaction only before it writes
            connection.exec_driver_sql("begin")
        yield


def _upgrade(copy: Path) -> None:
    connection = make_engine(copy).connect()
    try:
        upgrade(connection, announce=False)
    finally:
        close_connection(connection)
