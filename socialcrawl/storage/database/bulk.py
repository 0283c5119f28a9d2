"""Statements compiled once and handed to the driver: SQLAlchemy's words at the driver's speed, on both databases.

SQLite runs a statement once a row, in C (`executemany`). PostgreSQL is a process away: there all rows go as one JSON
value into one statement, which is both the shortest way for us and one plan for the server.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import orjson
from sqlalchemy import (
    ARRAY,
    JSON,
    Column,
    ColumnElement,
    Compiled,
    Connection,
    CursorResult,
    FromClause,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    column,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import UpdateBase

Conflict = Literal["error", "ignore"] | Mapping[str, str]
"""What an INSERT does with a row that is there: an error, nothing, or the named columns get new | first.

`new` is the value that was given, `first` the one that is there unless it is NULL.
"""


_compiled: dict[tuple[str, Any], Compiled] = {}  # by dialect and statement: all stores have the same ones
MOST_COMPILED = 1_000  # statements of temporary tables are of one use only


def _compile_once(connection: Connection, statement: Select[Any] | UpdateBase) -> Any:
    """Return a statement in the words of a database; it is compiled when it is needed first."""
    known = statement._generate_cache_key()  # noqa: SLF001  (by which SQLAlchemy's own cache, of executions, goes)
    if known is None:
        return statement.compile(dialect=connection.dialect)
    key = connection.dialect.name, known.key
    found = _compiled.get(key)
    if found is None:
        if len(_compiled) >= MOST_COMPILED:
            _compiled.clear()
        found = _compiled[key] = statement.compile(dialect=connection.dialect)
    return found


class Statement:
    """A statement for one row at a time; a row is a tuple in the order of `names`."""

    def __init__(self, connection: Connection, statement: UpdateBase, names: Sequence[str]) -> None:
        self.connection, self.names = connection, tuple(names)
        compiled = _compile_once(connection, statement)
        self.sql = str(compiled)
        self._order: list[int] | None = None
        if compiled.positional:
            wanted: list[str] = list(compiled.positiontup or ())
            assert sorted(wanted) == sorted(names), f"the statement has {wanted}, rows give {list(names)}"
            if wanted != list(names):
                self._order = [self.names.index(name) for name in wanted]

    def execute_one(self, row: tuple[Any, ...]) -> CursorResult[Any]:
        """Execute for one row; the result, for RETURNING."""
        return self.connection.exec_driver_sql(self.sql, self._bind_row(row))

    def run(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Execute for every row; nothing for none."""
        if self.connection.dialect.name == "postgresql":
            for row in rows:  # few; psycopg's own way for many says things on stderr when one of them fails
                self.execute_one(row)
        elif rows:
            self.connection.exec_driver_sql(self.sql, [self._bind_row(row) for row in rows])

    def _bind_row(self, row: tuple[Any, ...]) -> Any:
        if self.connection.dialect.positional:
            return row if self._order is None else tuple(row[place] for place in self._order)
        return dict(zip(self.names, row, strict=True))


class _Json:
    """A statement that takes all its rows as one JSON value; of rows with one key the last counts."""

    def __init__(self, connection: Connection, statement: UpdateBase, names: Sequence[str], key: int | None) -> None:
        self.connection, self.names, self.key = (
            connection,
            [_abbreviate_column(place) for place in range(len(names))],
            key,
        )
        self.sql = str(_compile_once(connection, statement))

    def run(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Execute for every row; nothing for none."""
        if rows:
            if self.key is not None:
                rows = list({row[self.key]: row for row in rows}.values())
            given = orjson.dumps([dict(zip(self.names, row, strict=True)) for row in rows]).decode()
            self.connection.exec_driver_sql(self.sql, {"rows": given})


Bulk = Statement | _Json
"""A statement for many rows; a row is a tuple in the order of its names."""


def make_insert(
    connection: Connection, table: Table, names: Sequence[str], conflict: Conflict = "error", key: str | None = None
) -> Bulk:
    """Return an INSERT of the named columns; `key` is the column by which a row is known to be there, if it is renewed.

    The floats in its rows have to be finite.
    """
    if connection.dialect.name == "postgresql":
        rows = _unnest_rows(table, names)
        given = select(*(rows.c[_abbreviate_column(place)] for place in range(len(names))))
        statement = postgresql.insert(table).from_select(list(names), given)
        place = list(names).index(key) if key is not None else None
        return _Json(connection, _resolve_conflict(statement, table, conflict, key), names, place)
    plain = sqlite.insert(table).values({name: bindparam(name) for name in names})
    return Statement(connection, _resolve_conflict(plain, table, conflict, key), names)


def make_update(connection: Connection, table: Table, names: Sequence[str], key: str) -> Bulk:
    """Return an UPDATE of the named columns of the row whose column `key` is given last."""
    if connection.dialect.name == "postgresql":
        rows = _unnest_rows(table, (*names, key))
        values = {name: rows.c[_abbreviate_column(place)] for place, name in enumerate(names)}
        statement = update(table).values(values).where(table.c[key] == rows.c[_abbreviate_column(len(names))])
        return _Json(connection, statement, (*names, key), len(names))
    return make_row_update(connection, table, names, key)


def make_row_update(connection: Connection, table: Table, names: Sequence[str], key: str) -> Statement:
    """Return an UPDATE of the named columns of one row, whose column `key` is given last."""
    plain = update(table).where(table.c[key] == bindparam("the_key"))
    return Statement(connection, plain.values({name: bindparam(name) for name in names}), (*names, "the_key"))


def make_keyed_update(connection: Connection, table: Table, names: Sequence[str], keys: Sequence[str]) -> Bulk:
    """Return an UPDATE of the named columns of the row whose columns `keys` are given last; each row once."""
    columns, places = (*names, *keys), range(len(names), len(names) + len(keys))
    if connection.dialect.name == "postgresql":
        rows = _unnest_rows(table, columns)
        same = [table.c[key] == rows.c[_abbreviate_column(place)] for key, place in zip(keys, places, strict=True)]
        values = {name: rows.c[_abbreviate_column(place)] for place, name in enumerate(names)}
        return _Json(connection, update(table).values(values).where(*same), columns, None)
    # A column cannot be both set and looked for under one name.
    given = [*names, *(f"the_{key}" for key in keys)]
    mine = [table.c[key] == bindparam(f"the_{key}") for key in keys]
    return Statement(connection, update(table).where(*mine).values({name: bindparam(name) for name in names}), given)


def make_row_insert(
    connection: Connection, table: Table, names: Sequence[str], returning: str | None = None
) -> Statement:
    """Return an INSERT of one row at a time, whose column `returning` can be read from the result."""
    statement = insert(table).values({name: bindparam(name) for name in names})
    return Statement(connection, statement.returning(table.c[returning]) if returning else statement, names)


class Lookup:
    """A SELECT by a list of keys: compiled once, whatever the number of keys."""

    def __init__(self, connection: Connection, statement: Select[Any]) -> None:
        self.connection = connection
        self.sql = str(_compile_once(connection, statement))
        self._server = connection.dialect.name == "postgresql"

    def fetch_rows(self, keys: Sequence[str | int | None]) -> Sequence[Any]:
        """Return the rows of all keys, in no particular order; none for no keys."""
        if not keys:
            return ()
        given: Any = {"keys": list(keys)} if self._server else (orjson.dumps(keys).decode(),)
        return self.connection.exec_driver_sql(self.sql, given).all()


def match_keys(connection: Connection, key: Column[Any]) -> ColumnElement[bool]:
    """Return the condition that a column is one of the keys of a Lookup."""
    if connection.dialect.name == "postgresql":
        return key == func.any(bindparam("keys", type_=ARRAY(key.type)))
    return key.in_(select(unnest_keys(connection, "keys").c.value))


def unnest_keys(connection: Connection, name: str) -> FromClause:
    """Return the texts or numbers of the parameter `name`, a JSON list, as rows with a column `value`."""
    if connection.dialect.name == "postgresql":
        return func.json_array_elements_text(cast(bindparam(name), JSON)).table_valued("value")
    return func.json_each(bindparam(name)).table_valued("value")


def _unnest_rows(table: Table, names: Sequence[str]) -> Any:
    columns = [column(_abbreviate_column(place), table.c[name].type) for place, name in enumerate(names)]
    given = func.json_to_recordset(cast(bindparam("rows", type_=Text), JSON))
    return given.table_valued(*columns, name="given").render_derived(with_types=True)


def _abbreviate_column(place: int) -> str:
    """Return the name of a column in the JSON of a row: it stands there once a row."""
    return f"c{place}"


def _resolve_conflict(statement: Any, table: Table, conflict: Conflict, key: str | None) -> UpdateBase:
    found: UpdateBase
    if conflict == "error":
        found = statement
    elif conflict == "ignore":
        found = statement.on_conflict_do_nothing()
    else:
        assert key is not None
        renewed = {
            name: statement.excluded[name] if how == "new" else func.coalesce(table.c[name], statement.excluded[name])
            for name, how in conflict.items()
        }
        found = statement.on_conflict_do_update(index_elements=[table.c[key]], set_=renewed)
    return found


KEY_CHUNK = 5_000  # keys a statement


def select_by_keys(
    connection: Connection, query: Select[Any], key: Column[Any], keys: Sequence[str | int]
) -> list[Any]:
    """Return the rows of `query` whose column `key` is one of the keys.

    Their order holds for some thousand keys only.
    """
    found: list[Any] = []
    for begin in range(0, len(keys), KEY_CHUNK):
        found += connection.execute(query.where(key.in_(keys[begin : begin + KEY_CHUNK]))).all()
    return found
