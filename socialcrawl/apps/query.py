"""`socialcrawl sql`: one query, read-only, as a table, CSV or JSON."""

import csv
import json
import os
import time
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

from rich.table import Table

from socialcrawl.apps.console import Text, plain
from socialcrawl.errors import SettingsError
from socialcrawl.store.address import Where, where
from socialcrawl.terminal import data_stream, write_error, write_json

STYLES = ("table", "csv", "json")
READABLE = 10_000  # rows of a table, which has to be known as a whole before its first line can be shown


def answer(
    place: Where, sql: str, style: str, seconds: float, most: int | None = None, *, allow_superuser: bool = False
) -> None:
    """Ask a database and write what it answers to stdout.

    Args:
        place: the database.
        sql: one SELECT.
        style: table | csv | json.
        seconds: how long the database may work on it.
        most: the most rows to write; None: all, but READABLE in a table.
        allow_superuser: whether a role of PostgreSQL may ask that can do harm outside of the tables.

    Raises:
        SettingsError: there is no such style.
        StoreError: the database or the query is not usable, or it took too long.
    """
    from socialcrawl.store.readonly import asked  # noqa: PLC0415

    if style not in STYLES:
        raise SettingsError(f"--format {style!r} is not known: write table, csv or json.")
    shown = READABLE if most is None and style == "table" else most
    given = asked(place, sql, seconds, time.monotonic, allow_superuser=allow_superuser, warn=write_error)
    with given as (columns, rows):
        write(columns, islice(rows, shown), style)
        if next(rows, None) is not None:
            more = "--limit shows more, --format csv or json all" if most is None else "there are more"
            write_error(f"the first {shown:,} rows: {more}")


def write(columns: Sequence[str], rows: Iterator[tuple[Any, ...]], style: str) -> None:
    """Write an answer to stdout; `style` is table | csv | json. All but a table is written while it is read."""
    if style == "json":
        names = _distinct(columns)
        write_json("[", end="")
        for place, row in enumerate(rows):
            told = json.dumps(dict(zip(names, map(_finite, row), strict=True)), ensure_ascii=False, default=_simple)
            write_json((", " if place else "") + told, end="")
        write_json("]")
    elif style == "csv":
        writer = csv.writer(data_stream(), lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(tuple(map(_field, row)) for row in rows)
    else:
        _table(columns, list(rows))


def database(given: Path | str | None, *, changed: bool = False) -> Where:
    """The database to read: the one named, $SOCIALCRAWL_DB, or the newest *.db in this folder (said on stderr).

    Raises:
        SettingsError: what is named is the address of something else; or none is named, the database will be `changed`,
            and there are several here.
    """
    named = given if given is not None else os.environ.get("SOCIALCRAWL_DB")
    if named:
        return named if isinstance(named, Path) else where(named)
    here = sorted(Path().glob("*.db"), key=lambda path: path.stat().st_mtime)
    if not here:
        return Path("socialcrawl.db")
    if len(here) > 1 and changed:
        raise SettingsError(f"There are several databases here ({', '.join(map(str, here))}): name one with --db.")
    if len(here) > 1:
        write_error(f"reading {here[-1]}, the newest database here (choose with --db)")
    return here[-1]


def _distinct(columns: Sequence[str]) -> list[str]:
    """The names of the columns, made different where a query gives one twice: a, a_2, a_3."""
    names: list[str] = []
    for column in columns:
        others = (f"{column}_{number}" for number in range(2, len(columns) + 2))
        names.append(column if column not in names else next(other for other in others if other not in names))
    return names


def _finite(value: Any) -> Any:
    """A value that JSON has: it knows no infinity."""
    return None if isinstance(value, float) and not isfinite(value) else value


def _simple(value: Any) -> Any:
    """A value of a driver's own type in one that JSON has."""
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, Decimal):
        if not value.is_finite():
            return None
        return int(value) if value == value.to_integral_value() else float(value)
    return value.isoformat() if isinstance(value, date | datetime | time_of_day) else str(value)


def _field(value: Any) -> Any:
    """A value as CSV and tables show it."""
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    return json.dumps(value, ensure_ascii=False, default=_simple) if isinstance(value, dict | list) else value


def _table(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    table = Table(box=None, pad_edge=False)
    for index, name in enumerate(columns):
        numbers = all(isinstance(row[index], int | float | Decimal | None) for row in rows)
        table.add_column(Text(name), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if value is None else str(_field(value))) for value in row))
    plain(unfolded=True).print(table)
