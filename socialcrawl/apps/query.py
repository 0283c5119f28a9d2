"""`socialcrawl sql`: one query, read-only, as a table, CSV or JSON."""

import csv
import json
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.table import Table
from rich.text import Text

from socialcrawl.errors import StoreError


def ask(path: Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and rows that `sql` selects from the database at `path`, which it cannot change.

    Raises:
        StoreError: there is no such database, or the query is wrong or tries to write.
    """
    if not path.exists():
        raise StoreError(f"There is no database {path}: run a campaign first, or name one with --db.")
    connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
    try:
        cursor = connection.execute(sql)
        if cursor.description is None:
            raise StoreError("This is no query: `socialcrawl sql` only reads. Write a SELECT.")
        return [column[0] for column in cursor.description], cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise StoreError(f"{path}: {error}. {_hint(connection, str(error))}") from error
    finally:
        connection.close()


def write(columns: Sequence[str], rows: Sequence[tuple[Any, ...]], style: str) -> None:
    """Write the answer to stdout; `style` is table | csv | json."""
    if style == "json":
        sys.stdout.write(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], ensure_ascii=False) + "\n")
    elif style == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    else:
        _table(columns, rows)


def _table(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    console = Console()
    table = Table(box=None, pad_edge=False)
    for index, name in enumerate(columns):
        numbers = all(isinstance(row[index], int | float | None) for row in rows)
        table.add_column(Text(name), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if value is None else str(value)) for value in row))
    console.print(table)


def _hint(connection: sqlite3.Connection, message: str) -> str:
    if "readonly" in message:
        return "`socialcrawl sql` only reads; open the file with sqlite3 to change it."
    if "no such" in message:
        try:
            names = connection.execute("select name from sqlite_master where type in ('table', 'view') order by 1")
            return "Tables are: " + ", ".join(name for (name,) in names if not name.startswith("alembic")) + "."
        except sqlite3.Error:
            return "Is it a database of socialcrawl?"
    return "Mend the query and ask again."
