"""A database as it is: looked at without being made, brought up to date or changed."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryFile
from urllib.parse import quote

from sqlalchemy import Connection, Engine, NullPool, create_engine, inspect, text
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError

from socialcrawl.errors import StoreError
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import make_alembic_config, make_server_engine, open_database
from socialcrawl.storage.database.filetypes import require_database
from socialcrawl.storage.database.trouble import convert_error

VERSION_TABLE = "alembic_version"
REVISION = text("select version_num from alembic_version")
CURRENT, OLDER, NEWER, EMPTY, FOREIGN = "current", "older", "newer", "empty", "foreign"


@contextmanager
def open_existing(where: DatabaseAddress) -> Iterator[Connection]:
    """Open a read-only connection to a database, which must exist.

    Raises:
        StoreError: it cannot be read, or is no database.
    """
    made = _make_reader(where)
    try:
        with made.connect() as connection:
            yield connection
    except (DBAPIError, sqlite3.DatabaseError) as error:
        raise convert_error(error, where) from error
    finally:
        made.dispose()


@contextmanager
def open_readable(where: DatabaseAddress) -> Iterator[Connection]:
    """Open a read-only connection to a socialcrawl database; an older schema is upgraded first.

    Raises:
        StoreError: it is not there, cannot be read, is another program's, or a newer socialcrawl's.
    """
    require_database(where)
    with open_existing(where) as connection:
        if check_ours(read_schema_state(connection), where) == CURRENT:
            yield connection
            return
    with open_database(where, create=False):
        pass
    with open_existing(where) as connection:
        yield connection


def is_missing(where: DatabaseAddress) -> bool:
    """Return whether a database is a file that is not there."""
    return isinstance(where, Path) and not where.exists()


def find_write_error(where: DatabaseAddress) -> str | None:
    """Return why a run could not write a database, or None if it could; nothing is left behind."""
    if not isinstance(where, Path):
        return None  # `find_server_faults` asks the server
    if not where.parent.is_dir():
        return f"The folder {where.parent} does not exist: create it first."
    try:
        with TemporaryFile(dir=where.parent):  # a write-ahead log and locks are made beside it too
            if not where.exists() or os.access(where, os.R_OK | os.W_OK):
                return None
    except OSError:
        pass
    return f"{where} cannot be written: check the permissions of the file and its folder."


def read_schema_state(connection: Connection) -> str:
    """Return the state of a database's schema: CURRENT, OLDER, NEWER than this program's, EMPTY or FOREIGN."""
    known, revision = _list_revisions(), _read_revision(connection)
    if revision is not None:
        return NEWER if revision not in known else CURRENT if revision == known[0] else OLDER
    with connection.begin():
        return FOREIGN if set(inspect(connection).get_table_names()) - {VERSION_TABLE} else EMPTY


def _read_revision(connection: Connection) -> str | None:
    """Return the version of a database's schema; None where it says none. Databases are looked at again and again."""
    try:
        with connection.begin():
            return connection.execute(REVISION).scalar()
    except (OperationalError, ProgrammingError):
        with connection.begin():
            if inspect(connection).has_table(VERSION_TABLE):
                raise  # it is there, and cannot be read
    return None


@cache
def _list_revisions() -> list[str]:
    """Return the versions of the schema that this program knows, the newest first."""
    config = make_alembic_config()
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    return [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]


def has_tables(connection: Connection, where: DatabaseAddress) -> bool:
    """Return whether there is anything of ours to be read; False for a file without tables.

    Raises:
        StoreError: the database is another program's, or a newer socialcrawl's.
    """
    return check_ours(read_schema_state(connection), where) != EMPTY


@contextmanager
def open_if_any(where: DatabaseAddress) -> Iterator[Connection | None]:
    """Yield a connection that reads a database and changes nothing; None where there is none, or nothing in it.

    Raises:
        StoreError: the database cannot be read, is another program's, or a newer socialcrawl's.
    """
    if is_missing(where):
        yield None
        return
    with open_existing(where) as connection:
        yield connection if has_tables(connection, where) else None


def check_ours(state: str, where: DatabaseAddress) -> str:
    """Return the state of a database's schema, as of `read_schema_state`, where this program can read it.

    Raises:
        StoreError: the database is another program's, or a newer socialcrawl's.
    """
    if state == FOREIGN:
        raise StoreError(f"{where} belongs to another program: name another database. Nothing was changed.")
    if state == NEWER:
        raise StoreError(
            f"{where} has a schema that is newer than this socialcrawl: install the newer version, or name another "
            "database. Nothing was changed."
        )
    return state


def find_server_faults(connection: Connection) -> list[str]:
    """Return what keeps a server from serving us, in words; nothing for a file, or where all is well."""
    if connection.dialect.name != "postgresql":
        return []
    asked = (
        "select current_setting('server_encoding'), pg_is_in_recovery(), "
        "has_schema_privilege(current_schema(), 'create')"
    )
    with connection.begin():
        encoding, standby, may_make = connection.execute(text(asked)).one()
        tables = inspect(connection).get_table_names()
        rights = text("select has_table_privilege(:name, 'insert') and has_table_privilege(:name, 'update')")
        closed = [name for name in tables if not connection.execute(rights, {"name": name}).scalar()]
    found = []
    if encoding != "UTF8":
        found.append(f"it keeps texts as {encoding}: make one with createdb -E UTF8 -T template0")
    if standby:
        found.append("it is a standby, which can only be read")
    if not tables and not may_make:
        found.append("its user may make no tables: grant create on schema public to it")
    if closed:
        found.append(f"its user may not write into {', '.join(closed)}: grant it the rights")
    return found


def find_faults(connection: Connection) -> list[str]:
    """Return what SQLite finds wrong with a database, the first few faults; none, if it is sound.

    A server checks its own.
    """
    if connection.dialect.name != "sqlite":
        return []
    with connection.begin():
        rows = connection.execute(text("pragma quick_check(5)")).scalars().all()
    return [row for row in rows if row != "ok"]


def _make_reader(where: DatabaseAddress) -> Engine:
    if not isinstance(where, Path):
        return make_server_engine(where, "-c default_transaction_read_only=on")
    return _make_file_reader(where.resolve())


@lru_cache(256)
def _make_file_reader(path: Path) -> Engine:
    """Return an engine that is kept: it holds no connection, and knows how its statements are compiled."""
    # Not mode=ro: such a reader may not remove the files that SQLite makes beside a database to read it.
    address = f"file:{quote(str(path))}?mode=rw"
    return create_engine("sqlite://", creator=lambda: _open_sqlite(address), poolclass=NullPool)


def _open_sqlite(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True)
    connection.execute("pragma query_only = on")
    return connection
