"""Opening a database: engine, pragmas, schema. The only place where connections are made."""

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect
from sqlalchemy.exc import DatabaseError, OperationalError

from socialcrawl.errors import StoreError
from socialcrawl.resources import folder

BUSY = 120.0  # seconds to wait for another process that writes


def connect(path: Path, *, create: bool = True, durable: bool = False) -> Connection:
    """A connection to the SQLite database at `path`, its schema brought up to date.

    Args:
        path: the file.
        create: whether it is made if it is not there.
        durable: whether what was committed outlives a power cut, at the price of a wait for the disk.

    Raises:
        StoreError: the folder is missing, the file is no database, another program's, or a newer socialcrawl's.
    """
    if not create and not path.exists():
        raise StoreError(f"There is no database {path}: run a campaign first, or name another with --db.")
    if not path.parent.exists():
        raise StoreError(f"The folder {path.parent} does not exist: make it, or name another database.")
    made = engine(path, durable=durable)
    try:
        connection = made.connect()
        try:
            upgrade(connection)
            # WAL: readers do not block the writer. The file keeps this; it is asked for once the file is known as ours.
            connection.connection.cursor().execute("pragma journal_mode = wal").close()
        except BaseException:
            connection.close()
            raise
    except (DatabaseError, sqlite3.DatabaseError) as error:
        made.dispose()
        raise told(error, path) from error
    except BaseException:
        made.dispose()
        raise
    return connection


def engine(path: Path, *, durable: bool = False) -> Engine:
    """An SQLAlchemy engine on the SQLite database at `path`."""
    made = create_engine(URL.create("sqlite", database=str(path)), connect_args={"timeout": BUSY})

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
        connection.exec_driver_sql("begin immediate")

    return made


def upgrade(connection: Connection) -> None:
    """Bring the schema to the newest version.

    Raises:
        StoreError: the database has a version that this program does not know, or is another program's.
    """
    from alembic import command  # noqa: PLC0415  (a third of a second that `--help` need not pay)
    from alembic.runtime.migration import MigrationContext  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = alembic_config()
    with connection.begin():
        current = MigrationContext.configure(connection).get_current_revision()
        scripts = ScriptDirectory.from_config(config)
        if current == scripts.get_current_head():
            return
        if current is None and set(inspect(connection).get_table_names()) - {"alembic_version"}:
            raise StoreError(
                "The database belongs to another program: name another file with --db. Nothing was changed."
            )
        try:
            if current is not None:
                scripts.get_revision(current)
        except CommandError as error:
            raise StoreError(
                f"The database has schema {current}, which is newer than this socialcrawl: install the newer version, "
                "or name another database. Nothing was changed."
            ) from error
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def alembic_config() -> Any:
    """The configuration of alembic, pointing at the migrations of the wheel or of the checkout."""
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(folder("migrations")))
    return config


def told(error: DatabaseError | sqlite3.DatabaseError, path: Path | str) -> StoreError:
    """The error of a database in words that say what to do."""
    cause = error.orig if isinstance(error, DatabaseError) else error
    text = str(cause).lower()
    if "full" in text or "disk i/o" in text:
        return StoreError(
            f"The disk is full or failing: {path} could not be written ({cause}). Make room and run "
            "again; everything that was stored is safe."
        )
    if "locked" in text:
        return StoreError(f"{path} is locked by another program for more than {BUSY:.0f} s: close it and run again.")
    if "not a database" in text or "malformed" in text:
        return StoreError(f"{path} is not an SQLite database: name another file with --db.")
    if "unable to open" in text or "readonly" in text or "read-only" in text:
        return StoreError(f"{path} cannot be written: check the permissions of the file and its folder.")
    kind = "operational error" if isinstance(error, OperationalError) else "error"
    return StoreError(f"The database {path} reports an {kind}: {cause}. Everything that was stored is safe.")
