"""`socialcrawl sql`: one query, read-only, as a table, CSV or JSON."""

import csv
import json
import os
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.table import Table
from rich.text import Text

from socialcrawl.apps.console import plain
from socialcrawl.errors import StoreError

# Pragmas whose argument only says what is asked about, and pragmas that do something without one.
ASKING = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}
DOING = {"wal_checkpoint", "optimize", "incremental_vacuum", "shrink_memory"}


def ask(path: Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and rows that `sql` selects from the database at `path`, which it cannot change.

    Raises:
        StoreError: there is no such database, or the query is wrong or tries to write.
    """
    if not path.exists():
        raise StoreError(f"There is no database {path}: run a campaign first, or name one with --db.")
    try:
        connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be opened ({error}): name a database with --db.") from error
    try:
        connection.set_authorizer(_allowed)
        cursor = connection.execute(sql)
        if cursor.description is None:
            raise StoreError("This is no query: `socialcrawl sql` only reads. Write a SELECT.")
        return [column[0] for column in cursor.description], cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise StoreError(f"{path}: {str(error).rstrip('.')}. {_hint(connection, str(error))}") from error
    finally:
        connection.close()


def write(columns: Sequence[str], rows: Sequence[tuple[Any, ...]], style: str) -> None:
    """Write the answer to stdout; `style` is table | csv | json."""
    if style == "json":
        names = _distinct(columns)
        listed = [dict(zip(names, row, strict=True)) for row in rows]
        sys.stdout.write(json.dumps(listed, ensure_ascii=False, default=bytes.hex) + "\n")
    elif style == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    else:
        _table(columns, rows)


def database(given: Path | None) -> Path:
    """The database to read: the one named, $SOCIALCRAWL_DB, or the newest *.db in this folder (said on stderr)."""
    if given is not None:
        return given
    if named := os.environ.get("SOCIALCRAWL_DB"):
        return Path(named)
    here = sorted(Path().glob("*.db"), key=lambda path: path.stat().st_mtime)
    if not here:
        return Path("socialcrawl.db")
    if len(here) > 1:
        sys.stderr.write(f"reading {here[-1]}, the newest database here (choose with --db)\n")
    return here[-1]


def _distinct(columns: Sequence[str]) -> list[str]:
    """The names of the columns, made different where a query gives one twice: a, a_2, a_3."""
    names: list[str] = []
    for column in columns:
        others = (f"{column}_{number}" for number in range(2, len(columns) + 2))
        names.append(column if column not in names else next(other for other in others if other not in names))
    return names


def _table(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    table = Table(box=None, pad_edge=False)
    for index, name in enumerate(columns):
        numbers = all(isinstance(row[index], int | float | None) for row in rows)
        table.add_column(Text(name), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if value is None else str(value)) for value in row))
    plain(unfolded=True).print(table)


def _allowed(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """SQLite asks before it does anything: another file may not be attached (VACUUM INTO does so), nor a pragma set."""
    sets = action == sqlite3.SQLITE_PRAGMA and second is not None and first not in ASKING
    checkpoints = action == sqlite3.SQLITE_PRAGMA and first in DOING
    writes = action == sqlite3.SQLITE_ATTACH or sets or checkpoints
    return sqlite3.SQLITE_DENY if writes else sqlite3.SQLITE_OK


def _hint(connection: sqlite3.Connection, message: str) -> str:
    if "not a database" in message:
        return "Name a database of socialcrawl with --db."
    if "readonly" in message or "authoriz" in message:
        return "`socialcrawl sql` only reads; open the file with sqlite3 to change it."
    if "no such" in message:
        try:
            names = connection.execute("select name from sqlite_master where type in ('table', 'view') order by 1")
            return "Tables are: " + ", ".join(name for (name,) in names if not name.startswith("alembic")) + "."
        except sqlite3.Error:
            return "Is it a database of socialcrawl?"
    return "Mend the query and ask again."
