"""Erasing for good: while no campaign runs, in one transaction, and without leftovers in the file of the database."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from socialcrawl.errors import StoreError
from socialcrawl.storage.database.address import find_address
from socialcrawl.storage.database.lease import Lease
from socialcrawl.storage.database.trouble import convert_error
from socialcrawl.storage.erasure.dry_run import begin_dry_run
from socialcrawl.storage.erasure.forgetting import ErasureReport
from socialcrawl.storage.post_search.index import list_tables
from socialcrawl.storage.schema.tables import campaign
from socialcrawl.storage.schema.tables import metadata as tables

LEFTOVERS = (
    "is being read by another program, so that its log still holds older pages: close the program and run the same "
    "command again."
)
CLEARING = (18,)  # the PostgreSQL that can be told to forget its samples
CLEAR = """
select pg_clear_attribute_stats(schemaname, tablename, attname, inherited) from pg_stats
where schemaname = any (current_schemas(false)) and tablename = %(name)s
"""


def erase(connection: Connection, work: Callable[[Connection], ErasureReport], *, dry: bool = False) -> ErasureReport:
    """Do `work` in one transaction while no campaign runs, and return its report.

    Afterwards nothing of what went is left in the database's file, nor in the log beside it.

    Args:
        connection: the database, without a transaction.
        work: what to do in the transaction.
        dry: whether it is only rehearsed: nothing is written, and campaigns may run meanwhile.

    Raises:
        StoreError: a campaign of the database runs, or the database cannot be written; or all was done, but another
            program that reads keeps leftovers in place.
    """
    try:
        if dry:
            prepare(connection)
            with begin_dry_run(connection):
                return work(connection)
        with _lock_campaigns(connection) as names:
            prepare(connection)
            with connection.begin():
                if _read_names(connection) != names:
                    raise StoreError("A campaign was begun in this database meanwhile: stop it, and run again.")
                report = work(connection)
            _sweep(connection)
            return report
    except DBAPIError as error:
        raise convert_error(error, find_address(connection)) from error


@contextmanager
def _lock_campaigns(connection: Connection) -> Iterator[list[str]]:
    """Yield the names of all campaigns; none of them can run inside the block."""
    with connection.begin():
        names = _read_names(connection)
    with ExitStack() as held:
        for name in names:
            held.callback(Lease(connection, name).release)
        yield names


def _read_names(connection: Connection) -> list[str]:
    return list(connection.execute(select(campaign.c.name).order_by(campaign.c.id)).scalars())


def prepare(connection: Connection) -> None:
    """Have removed data overwritten, and keep lists of keys out of temporary files."""
    if connection.dialect.name == "sqlite":
        _run_raw(connection, "pragma secure_delete = on", "pragma temp_store = memory")


def _sweep(connection: Connection) -> None:
    """Write the database anew: older copies of rows that were moved may lie in pages that are half full."""
    if connection.dialect.name == "sqlite":
        _run_raw(connection, "pragma temp_store = default", "vacuum")
        if _run_raw(connection, "pragma wal_checkpoint(truncate)")[0][0]:
            raise StoreError(f"All of it was forgotten, but {find_address(connection)} {LEFTOVERS}")
        return
    with connection.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as alone:
        names = [*(table.name for table in tables.sorted_tables), *list_tables(alone)]
        for name in names:
            # What the planner knows of a column are its commonest values, by themselves: ids, names, texts.
            alone.exec_driver_sql(f"vacuum (full, analyze) {name}")
        _clear_planner(alone, names)


def _clear_planner(alone: Connection, names: Sequence[str]) -> None:
    """Take away what the planner remembers of tables that are empty now, and its older copies of all it remembers."""
    if (alone.dialect.server_version_info or ()) >= CLEARING:
        for name in names:  # of an empty table nothing is sampled, so the old samples would stay
            if alone.exec_driver_sql(f"select 1 from {name} limit 1").first() is None:  # noqa: S608 (our own name)
                alone.exec_driver_sql(CLEAR, {"name": name})
    alone.exec_driver_sql("vacuum full pg_statistic")  # where the role may not, the server warns and leaves it


def _run_raw(connection: Connection, *statements: str) -> list[Any]:
    """Return what the last of statements answers that have to run outside of a transaction."""
    cursor: Any = connection.connection.cursor()
    rows: list[Any] = []
    for statement in statements:
        rows = cursor.execute(statement).fetchall()
    cursor.close()
    return rows
