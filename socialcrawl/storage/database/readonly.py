"""One query of somebody who only reads: it can change nothing, takes no longer than it may, and streams its rows.

SQLite asks an authorizer before it does anything, and opens no transaction that writes. A PostgreSQL server is sent one
statement, in a read-only transaction, as the query of a cursor; the server itself keeps the time.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from sqlalchemy.exc import DBAPIError

from socialcrawl.errors import StoreError
from socialcrawl.storage.database.address import DatabaseAddress, PostgresAddress
from socialcrawl.storage.database.connection import make_server_engine
from socialcrawl.storage.database.filetypes import require_database
from socialcrawl.storage.database.roles import describe_writer, refuse_powerful
from socialcrawl.storage.database.trouble import convert_error
from socialcrawl.storage.schema.views import VIEWS

SOME = 1000  # rows that are fetched together
SHORTEST = 100  # milliseconds that a PostgreSQL server gets for a statement
STEPS = 10_000  # of SQLite's machine between two looks at the clock
MB = 1 << 20
LONGEST = 64 * MB  # bytes of one value or row of SQLite
HEAP = 512 * MB  # bytes that SQLite may take in the whole process
HELD = 64 * MB  # bytes of rows that are fetched together; one row more may be
GROWTH = 8  # times as many rows of a server are fetched as before, at most
# What a reader may do. Pragmas: those whose argument only says what is asked about, and those that do nothing.
READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
ASKING = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}
DOING = {"wal_checkpoint", "optimize", "incremental_vacuum", "shrink_memory"}
QUERY = re.compile(r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(\w+)", re.DOTALL)
STREAMED, WHOLE = {"select", "with", "values", "table"}, {"explain", "show"}

OWN = ("alembic", "search_")  # how names of tables begin that are of no use to people

NO_QUERY = "This is not a query, and a query only reads: write a SELECT."

Parameters = Sequence[Any] | Mapping[str, Any]
Clock = Callable[[], float]
Rows = Iterator[tuple[Any, ...]]


class QueryResult(NamedTuple):
    """The answer to a query: the names of its columns, and its rows, which are read while they are asked for."""

    columns: list[str]
    rows: Rows


class BoundQuery(NamedTuple):
    """A statement, and the values of its placeholders."""

    sql: str
    parameters: Parameters


@contextmanager
def run_query(
    where: DatabaseAddress,
    sql: str,
    seconds: float,
    clock: Clock,
    *,
    allow_superuser: bool = False,
    parameters: Parameters = (),
    warn: Callable[[str], None] | None = None,
) -> Iterator[QueryResult]:
    """Yield what `sql` selects from a database, which it cannot change.

    Args:
        where: the database; it has to be there.
        sql: one statement.
        seconds: how long the database may work on it; the time in which nobody reads the rows does not count.
        clock: seconds since any moment.
        allow_superuser: whether a role of PostgreSQL may ask that can do harm outside of the tables.
        parameters: the values of its placeholders: `?` or `:name` (SQLite), `%s` or `%(name)s` (PostgreSQL).
        warn: called with a sentence where the role may change tables of its schema.

    Raises:
        StoreError: there is no such database, the role is refused, or the query is wrong, tries to write, takes too
            long or needs too much memory.
    """
    if not _is_unicode(sql):
        raise StoreError("The query is not valid UTF-8: check the encoding of your terminal or script.")
    query, timer = BoundQuery(sql, parameters), _Timer(seconds, clock)
    if isinstance(where, Path):
        answering = _query_file(where, query, timer)
    else:
        answering = _query_server(where, query, timer, _Role(allow_superuser, warn))
    with answering as answer:
        yield answer


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character: the command line was not UTF-8
        return False
    return True


def bound_memory(raw: sqlite3.Connection) -> None:
    """Bound the memory of queries on `raw`: LONGEST bytes a value, HEAP bytes for SQLite in this process, from now on.

    Call it before an authorizer is set. A query that needs more raises `sqlite3.DataError` or `MemoryError`.
    """
    raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    raw.execute(f"pragma hard_heap_limit = {HEAP}")


class _Role(NamedTuple):
    """What is done about a role of PostgreSQL that may do more than read."""

    allow_superuser: bool
    warn: Callable[[str], None] | None

    def check(self, raw: Any) -> None:
        if not self.allow_superuser:
            refuse_powerful(raw)
        if self.warn is not None and (warning := describe_writer(raw)) is not None:
            self.warn(warning)


class _Timer:
    """The time that a database has worked, of what it may."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self.seconds, self.clock = seconds, clock
        self.spent = 0.0
        self.since: float | None = None

    @property
    def remaining(self) -> float:
        return self.seconds - self.spent - (0.0 if self.since is None else self.clock() - self.since)

    @contextmanager
    def measure_work(self) -> Iterator[None]:
        self.since = self.clock()
        yield
        self.spent, self.since = self.seconds - self.remaining, None

    def make_error(self) -> StoreError:
        return StoreError(
            f"The query took longer than {self.seconds:g} s and was stopped. Select less, or set a longer timeout."
        )


def _fetch_rows(fetch: Callable[[], list[tuple[Any, ...]]], timer: _Timer) -> Rows:
    while True:
        with timer.measure_work():
            some = fetch()
        if timer.remaining < 0:
            raise timer.make_error()
        if not some:
            return
        yield from some
        del some  # before the next are fetched


@contextmanager
def _query_file(path: Path, query: BoundQuery, timer: _Timer) -> Iterator[QueryResult]:
    require_database(path)
    try:
        # Not mode=ro: such a reader may not remove the files that SQLite makes beside a database to read it.
        raw = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=rw", uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be opened ({error}): name a database of socialcrawl.") from error
    with closing(raw):
        try:
            bound_memory(raw)
            raw.execute("pragma query_only = on")
            raw.set_authorizer(_authorize)
            raw.set_progress_handler(lambda: timer.remaining < 0, STEPS)
            with timer.measure_work():
                cursor = raw.execute(*query)
            if cursor.description is None:
                raise StoreError(NO_QUERY)
            yield QueryResult(
                [column[0] for column in cursor.description], _fetch_rows(lambda: _read_rows(cursor), timer)
            )
        except MemoryError as error:
            raise _make_size_error(f"the query needs more than {HEAP // MB} MB of memory") from error
        except (sqlite3.Error, sqlite3.Warning) as error:
            if "too big" in str(error):
                raise _make_size_error(f"a value or row is larger than {LONGEST // MB} MB") from error
            if "interrupted" in str(error):
                raise timer.make_error() from error
            raw.set_progress_handler(None, 0)
            raise StoreError(f"{path}: {str(error).rstrip('.')}. {_make_hint(raw, str(error), query.sql)}") from error


def _read_rows(cursor: sqlite3.Cursor) -> list[tuple[Any, ...]]:
    """Return the next rows: at most SOME, and fewer where they are large; none at the end."""
    some: list[tuple[Any, ...]] = []
    size = 0
    while len(some) < SOME and size < HELD and (row := cursor.fetchone()) is not None:
        some.append(row)
        size += _measure_row(row)
    return some


def _measure_row(row: tuple[Any, ...]) -> int:
    return sum(len(cell) for cell in row if isinstance(cell, str | bytes))


def _make_size_error(what: str) -> StoreError:
    return StoreError(
        f"The query was stopped: {what}. Select fewer or shorter values (substr() cuts a text), or add WHERE and LIMIT."
    )


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Deny everything but plain reading. SQLite calls this before each action."""
    name = (first or "").lower()  # SQLite hands it over as it was written
    asks = action == sqlite3.SQLITE_PRAGMA and (second is None or name in ASKING) and name not in DOING
    return sqlite3.SQLITE_OK if action in READING or asks else sqlite3.SQLITE_DENY


def _make_hint(raw: sqlite3.Connection, message: str, sql: str) -> str:
    if "not a database" in message:
        return "Name a database of socialcrawl."
    if "readonly" in message or "authoriz" in message or "prohibited" in message:
        return "A query only reads; open the file with sqlite3 to change it."
    if "no such table" in message or "no such column" in message:
        try:
            found = raw.execute("select name from sqlite_master where type in ('table', 'view') order by 1").fetchall()
        except sqlite3.Error:
            return "Is it a database of socialcrawl?"
        names = [name for (name,) in found]
        if "no such column" in message:
            asked = {name: _read_columns(raw, name) for name in _find_named(sql, names)}
            return _describe_columns(asked) or _describe_tables(message, names)
        return _describe_tables(message, names)
    return "Fix the query and run it again."


def _find_named(sql: str, names: list[str]) -> list[str]:
    """Return those of the tables and views `names` that a query names."""
    words = set(re.findall(r"\w+", sql.lower()))
    return [name for name in names if name.lower() in words and not name.startswith("alembic")]


def _read_columns(raw: sqlite3.Connection, table: str) -> list[str]:
    quoted = table.replace('"', '""')
    try:
        return [row[1] for row in raw.execute(f'pragma table_info("{quoted}")')]
    except sqlite3.Error:  # a view of what is no longer there
        return []


def _describe_columns(tables: dict[str, list[str]]) -> str:
    """Return a sentence for each table that says which columns it has; the empty text without any table."""
    return " ".join(f"Columns of {name}: {', '.join(columns)}." for name, columns in tables.items() if columns)


def _describe_tables(message: str, names: list[str]) -> str:
    if any(view.name in message and view.name not in names for view in VIEWS):
        return "The database is of an older socialcrawl: `socialcrawl report` upgrades it; then run the query again."
    return f"Tables are: {', '.join(name for name in names if not name.startswith(OWN))}."


@contextmanager
def _query_server(where: PostgresAddress, query: BoundQuery, timer: _Timer, role: _Role) -> Iterator[QueryResult]:
    made = make_server_engine(where, "-c default_transaction_read_only=on -c timezone=UTC")
    try:
        with made.connect() as connection:
            try:
                yield from _execute_query(connection.connection.driver_connection, query, timer, where, role)
            finally:
                connection.invalidate()  # closed as it is: a rollback would be a statement with a time limit too
    except DBAPIError as error:
        raise convert_error(error, where) from error
    finally:
        made.dispose()


def _execute_query(
    raw: Any, query: BoundQuery, timer: _Timer, where: PostgresAddress, role: _Role
) -> Iterator[QueryResult]:
    import psycopg  # noqa: PLC0415  (an extra)

    sql, values = query.sql, query.parameters or None  # without values, % is a character like others

    first = match[1].lower() if (match := QUERY.match(sql)) else ""
    if first not in STREAMED | WHOLE:
        raise StoreError(NO_QUERY)

    def limited() -> None:
        # At least SHORTEST: what closes the cursor afterwards has the same limit.
        raw.execute(f"set local statement_timeout = {max(SHORTEST, int(1000 * timer.remaining))}")

    count = 1  # the size of rows is known when they are here: that of the last ones says how many to fetch next

    def fetch() -> list[tuple[Any, ...]]:
        nonlocal count
        limited()
        some = list(cursor.fetchmany(count))
        count = min(SOME, GROWTH * count, max(1, count * HELD // max(1, sum(map(_measure_row, some)))))
        return some

    try:
        limited()
        role.check(raw)
        with raw.cursor(name="asked") if first in STREAMED else raw.cursor() as cursor:
            limited()
            with timer.measure_work():
                # Prepared, and so is the query of a named cursor: the server takes one statement, not several.
                cursor.execute(sql, values, **({} if first in STREAMED else {"prepare": True}))
            if cursor.description is None:
                raise StoreError(NO_QUERY)
            yield QueryResult([column.name for column in cursor.description], _fetch_rows(fetch, timer))
    except psycopg.errors.QueryCanceled as error:
        raise timer.make_error() from error
    except psycopg.Error as error:
        raise _convert_error(raw, error, where, sql) from error


def _convert_error(raw: Any, error: Any, where: PostgresAddress, sql: str) -> StoreError:
    message = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
    state = error.sqlstate or "08"
    hint = "Fix the query and run it again."
    if state.startswith(("08", "57P", "53", "28")) or state == "42501":
        return convert_error(error, where)
    if state == "25006" or "data-modifying" in message:
        hint = "A query only reads; use psql to change the database."
    elif "multiple commands" in message:
        hint = "Run one statement at a time."
    elif state in ("42P01", "42703"):
        raw.rollback()
        tables = "select table_name from information_schema.tables where table_schema = current_schema() order by 1"
        names = [name for (name,) in raw.execute(tables).fetchall()]
        of_table = "select column_name from information_schema.columns where table_schema = current_schema() "
        of_table += "and table_name = %s order by ordinal_position"
        asked = _find_named(sql, names) if state == "42703" else []
        columns = {name: [column for (column,) in raw.execute(of_table, (name,)).fetchall()] for name in asked}
        hint = _describe_columns(columns) or _describe_tables(message, names)
    return StoreError(f"{where}: {message}. {hint}")
