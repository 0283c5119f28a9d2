"""Opening a database: engine, pragmas, schema. The only place where connections are made."""

import os
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, inspect, make_url
from sqlalchemy.exc import DBAPIError

from socialcrawl.errors import EmptyDatabaseError, StoreError
from socialcrawl.storage.database.address import DatabaseAddress, PostgresAddress, find_address
from socialcrawl.storage.database.filetypes import require_database
from socialcrawl.storage.database.trouble import convert_error
from socialcrawl.storage.schema.upgrade_copy import announce_upgrade
from socialcrawl.system.files import find_folder, get_file_mode

BUSY = 120  # seconds to wait for another process that writes
HURRY = 2.0  # seconds that somebody waits who has more to look after
SILENCE = 5.0  # seconds without an answer of a server, after which it is asked whether it is still there
CONNECTING = 10  # seconds for that, and for any connection to a server ...
HASTY = 5  # ... or where somebody is in a HURRY
LOST = 30  # seconds after which a network that drops everything counts as gone
HELD = 30.0  # seconds after which a server ends a transaction that writes, if its process does nothing in it: it hangs
Opened: TypeAlias = Connection
"""A connection as `connect` gives it, for those who only hand it on."""

UNLOCKED = "socialcrawl_unlocked"  # execution option of a connection whose next transaction takes no writer's lock
TRIAL = "socialcrawl_trial"  # execution option of a connection whose transactions are never committed
_upgrading = threading.Lock()  # alembic keeps what it works on in one place for the whole process
_importing = threading.Lock()  # its modules import each other in a circle, which breaks where two threads begin at once
_creating = threading.Lock()  # held while a file is created: to close one lets go of SQLite's locks on it
OURS = 0x50C1A1  # what tells our advisory locks from those of other programs in a PostgreSQL database


def connect(
    where: DatabaseAddress, *, create: bool = True, durable: bool = False, busy: float | None = None
) -> Connection:
    """Return a connection to a database, its schema brought up to date.

    Args:
        where: the SQLite file, or the PostgreSQL server.
        create: whether a file is made if it is not there, and tables in an empty database.
        durable: whether what was committed outlives a power cut, at the price of a wait for the disk.
        busy: seconds to wait for another process that writes; None: BUSY.

    Raises:
        SettingsError: SOCIALCRAWL_UMASK is no umask.
        StoreError: the folder is missing, the file is no database, another program's, or a newer socialcrawl's; the
            server cannot be reached.
    """
    if isinstance(where, Path):
        _check_exists(where, create=create)
    made = make_engine(where, durable=durable, busy=busy)
    try:
        connection = made.connect()
        try:
            if not isinstance(where, Path):
                _check_utf8(connection, where)
            if not create and not isinstance(where, Path):
                _check_tables(connection, where)
            upgrade(connection)
            if isinstance(where, Path):
                # WAL: readers do not block the writer. The file keeps this; asked for once it is known as ours.
                connection.connection.cursor().execute("pragma journal_mode = wal").close()
        except BaseException:
            connection.close()
            raise
    except (DBAPIError, sqlite3.DatabaseError) as error:
        made.dispose()
        raise convert_error(error, where) from error
    except BaseException:
        made.dispose()
        raise
    return connection


@contextmanager
def open_database(
    where: DatabaseAddress, *, create: bool = True, durable: bool = False, busy: float | None = None
) -> Iterator[Connection]:
    """Open a connection like `connect` for the length of a block.

    A file that was made for the block is removed if the block fails before anything is stored.
    """
    begun = create and isinstance(where, Path) and not where.exists()
    try:
        connection = connect(where, create=create, durable=durable, busy=busy)
        try:
            yield connection
        finally:
            connection.close()
            connection.engine.dispose()
    except BaseException:
        if begun and isinstance(where, Path):
            _remove_empty(where)
        raise


def _remove_empty(path: Path) -> None:
    """Remove a database in which nothing is stored, unless another process has it open."""
    place = f"{path.resolve().as_uri()}?mode=rw"
    with suppress(sqlite3.Error, OSError), closing(sqlite3.connect(place, timeout=0, uri=True)) as raw:
        tables = raw.execute(
            "select name from sqlite_master where type = 'table' and name <> 'alembic_version'"
        ).fetchall()
        if any(raw.execute(f'select 1 from "{name}" limit 1').fetchone() for (name,) in tables):  # noqa: S608  (ours)
            return
        # Only the one connection that is left can take a database out of WAL: for others it is locked.
        if raw.execute("pragma journal_mode = delete").fetchone() == ("delete",):
            path.unlink()


def close_connection(connection: Connection) -> None:
    """Close a connection and its engine, also of a connection that was lost."""
    with suppress(DBAPIError):
        connection.close()
    connection.engine.dispose()


def read_inode(where: DatabaseAddress) -> tuple[int, int] | None:
    """Return what tells a database file from another that takes its place.

    None where it is not there, or is on a server.
    """
    if not isinstance(where, Path):
        return None
    try:
        stat = where.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def identify_database(connection: Connection) -> str:
    """Return what tells a database from all others, however campaign files write its place."""
    where = find_address(connection)
    if isinstance(where, Path):
        return str(where.resolve())
    asked = (
        "select system_identifier, (select oid from pg_database where datname = current_database()) "
        "from pg_control_system()"
    )
    with suppress(DBAPIError), read_unlocked(connection):  # a server may keep that to itself
        return "postgresql {}/{}".format(*connection.exec_driver_sql(asked).one())
    return str(where)


def make_engine(where: DatabaseAddress, *, durable: bool = False, busy: float | None = None) -> Engine:
    """Return an SQLAlchemy engine on a database.

    Its transactions are those of one writer: the others wait for their turn.

    Raises:
        StoreError: the driver of PostgreSQL is not installed.
    """
    busy = BUSY if busy is None else busy
    if isinstance(where, Path):
        return _make_file_engine(where, durable=durable, busy=busy)
    return _make_schema_engine(where, durable=durable, busy=busy)


def _check_exists(path: Path, *, create: bool) -> None:
    if create and not path.parent.exists():
        raise StoreError(f"The folder {path.parent} does not exist: make it, or name another database.")
    if not create or path.exists():
        require_database(path)
    if create:
        _create_file(path)


def _create_file(path: Path) -> None:
    """Create an empty file, which SQLite takes for a new database, with the mode of `read_umask`.

    SQLite would let all users read it. The files that it puts beside a database get the database's mode.
    """
    mode = get_file_mode()
    with _creating, suppress(OSError):  # it is there already, or cannot be made, for which SQLite has the words
        if not path.exists():
            os.close(os.open(path.resolve(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))


def _check_utf8(connection: Connection, where: PostgresAddress) -> None:
    with read_unlocked(connection):
        encoding = connection.exec_driver_sql("show server_encoding").scalar()
    if encoding != "UTF8":
        raise StoreError(
            f"{where} keeps texts as {encoding}, in which not every post can be written: make a database with "
            "createdb -E UTF8 -T template0."
        )


def _check_tables(connection: Connection, where: PostgresAddress) -> None:
    with read_unlocked(connection):
        if not inspect(connection).get_table_names():
            raise EmptyDatabaseError(f"There is nothing in {where}: run a campaign first, or name another with --db.")


def _make_file_engine(path: Path, *, durable: bool, busy: float) -> Engine:
    made = create_engine(URL.create("sqlite", database=str(path)), connect_args={"timeout": busy})

    @event.listens_for(made, "connect")
    def prepare(raw: Any, _: Any) -> None:
        raw.isolation_level = None  # the driver begins nothing by itself; `begin` below does
        # NORMAL: a killed process loses nothing; a power cut may take the last transactions, never the database. Where
        # requests cost money, what was reserved has to outlive that too.
        raw.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
        raw.execute("pragma wal_autocheckpoint = 4000")  # pages: 16 MB of WAL

    @event.listens_for(made, "begin")
    def begin(connection: Connection) -> None:
        # IMMEDIATE: a transaction that reads before it writes cannot be overtaken by another process.
        options = connection.get_execution_options()
        raw: Any = connection.connection.driver_connection
        if options.get(TRIAL) and raw.in_transaction:
            return  # all transactions are parts of the first one
        connection.exec_driver_sql("begin" if options.get(UNLOCKED) else "begin immediate")

    return made


def _make_schema_engine(where: PostgresAddress, *, durable: bool, busy: float) -> Engine:
    # The same promise as on SQLite: without `durable`, a killed process loses nothing, a power cut of the server may.
    commit = "on" if durable else "off"
    # Every statement of ours goes by a key; a planner that knows no statistics yet would read whole tables instead.
    plans = "-c enable_seqscan=off -c jit=off"
    options = f"-c synchronous_commit={commit} -c lock_timeout={round(busy * 1000)}ms -c timezone=UTC {plans}"
    made = make_server_engine(where, options, hasty=busy <= HURRY)

    @event.listens_for(made, "begin")
    def begin(connection: Connection) -> None:
        # One writer at a time, as SQLite has it: numbers are given once, and no two writers wait for each other.
        options = connection.get_execution_options()
        if not options.get(UNLOCKED):
            held = 0 if options.get(TRIAL) else round(1000 * HELD)  # a trial calculates for as long as it takes
            ends = f"set_config('idle_in_transaction_session_timeout', '{held}', true)"
            with send_together(connection):  # with the driver's BEGIN
                connection.exec_driver_sql(f"select pg_advisory_xact_lock({OURS}, 0), {ends}")

    return made


@contextmanager
def send_together(connection: Connection) -> Iterator[None]:
    """Send the statements of a block to a server without waiting for each of them; all are done when the block ends.

    None of them may have a result that is needed. On SQLite, which is no server, nothing changes.

    Raises:
        DBAPIError: one of them failed.
    """
    if connection.dialect.name != "postgresql":
        yield
        return
    raw: Any = connection.connection.driver_connection
    failures = connection.dialect.loaded_dbapi.Error
    try:
        with raw.pipeline():
            yield
    except failures as error:
        lost = connection.dialect.is_disconnect(error, raw, None)
        if lost:
            connection.invalidate(error)
        else:
            raw.rollback()
        raise DBAPIError.instance(None, None, error, failures, False, lost, connection.dialect) from error


@contextmanager
def read_unlocked(connection: Connection) -> Iterator[None]:
    """Open a transaction that only reads and waits for no writer."""
    connection.execution_options(**{UNLOCKED: True})
    try:
        with connection.begin():
            yield
    finally:
        connection.execution_options(**{UNLOCKED: False})


def name_process(pid: int, host: str) -> str:
    """Return the name by which a server shows the connections of a process."""
    return f"socialcrawl {pid} on {host}"[:63]  # the server cuts the rest


def make_server_engine(where: PostgresAddress, options: str, *, hasty: bool = False) -> Engine:
    """Return an engine on a PostgreSQL server; see `silent_server` for one that hangs.

    Args:
        where: the server. What its URL says of time-outs holds.
        options: settings of the session, as `-c name=value`.
        hasty: whether to notice sooner, for somebody who has more to look after.

    Raises:
        StoreError: the driver is not installed.
    """
    try:
        from socialcrawl.storage.database.silent_server import watch_engine  # noqa: PLC0415  (the driver is an extra)

        url = make_url(where.url).set(drivername="postgresql+psycopg")
        theirs = [url.query.get("options"), os.environ.get("PGOPTIONS")]
        given: dict[str, Any] = {
            "options": " ".join([*(str(one) for one in theirs if one), options]),
            "client_encoding": "utf8",
            "application_name": name_process(os.getpid(), socket.gethostname()),
        }
        timeouts = {
            "connect_timeout": HASTY if hasty else CONNECTING,
            "keepalives_idle": LOST,
            "keepalives_interval": LOST // 3,
            "keepalives_count": 3,
            "tcp_user_timeout": 1000 * LOST,
        }
        given |= {name: seconds for name, seconds in timeouts.items() if name not in url.query}
        made = create_engine(url, poolclass=NullPool, connect_args=given)
        return watch_engine(made, SILENCE)
    except ModuleNotFoundError as error:
        raise StoreError("PostgreSQL needs its driver: pip install 'socialcrawl[postgres]'.") from error


def upgrade(connection: Connection, *, announce: bool = True) -> None:
    """Bring the schema to the newest version; one that has it is only looked at.

    Of an older one that is said on stderr, and a copy is kept; see `upgrade_copy`.

    Args:
        connection: the database.
        announce: whether that is said and kept: not of a copy that is thrown away.

    Raises:
        StoreError: the database has a version that this program does not know, or is another program's.
    """
    config = make_alembic_config()
    from alembic import command  # noqa: PLC0415
    from alembic.runtime.migration import MigrationContext  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    with read_unlocked(connection):  # mostly there is nothing to do, and nobody to be waited for
        held = MigrationContext.configure(connection).get_current_revision()
        if held is not None and held == ScriptDirectory.from_config(config).get_current_head():
            return
    with connection.begin():
        current = MigrationContext.configure(connection).get_current_revision()
        scripts = ScriptDirectory.from_config(config)
        if current == scripts.get_current_head():
            return
        if current is None and set(inspect(connection).get_table_names()) - {"alembic_version"}:
            raise StoreError(
                f"{find_address(connection)} belongs to another program: name another database. Nothing was changed."
            )
        try:
            if current is not None:
                scripts.get_revision(current)
        except CommandError as error:
            raise StoreError(
                f"{find_address(connection)} has schema {current}, which is newer than this socialcrawl: install the "
                "newer version, or name another database. Nothing was changed."
            ) from error
        if current is not None and announce:
            announce_upgrade(find_address(connection), current, str(scripts.get_current_head()))
        config.attributes["connection"] = connection
        with _upgrading:
            command.upgrade(config, "head")


def make_alembic_config() -> Any:
    """Return the configuration of alembic, pointing at the migrations of the wheel or of the checkout.

    It imports all of alembic that is used here: no other part of it is imported before this was called.
    """
    with _importing:
        from alembic.config import Config  # noqa: PLC0415  (a third of a second that `--help` need not pay)

    config = Config()
    config.set_main_option("script_location", str(find_folder("migrations")))
    return config
