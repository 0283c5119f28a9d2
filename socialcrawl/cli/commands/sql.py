"""`socialcrawl sql`: one query, read-only, as a table, CSV or JSON."""

import json
import os
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.formats.csv_files import CsvRows
from socialcrawl.render.query_table import CELL, ROWS, SIZE, collect_rows, convert_for_json, name_columns, show
from socialcrawl.storage.database.address import DatabaseAddress, parse_address
from socialcrawl.storage.database.filetypes import describe_none
from socialcrawl.text.terminal import open_data_stream, write_error, write_json
from socialcrawl.text.wording import explain_unknown, pluralize

if TYPE_CHECKING:
    from socialcrawl.storage.database.connection import Opened

SHOWN = 10  # campaigns that a message names
STYLES = ("table", "csv", "tsv", "json", "ndjson")
SEPARATORS = {"csv": ",", "tsv": "\t"}


def answer(
    place: DatabaseAddress,
    sql: str,
    style: str,
    seconds: float,
    most: int | None = None,
    *,
    allow_superuser: bool = False,
    safe_csv: bool = False,
) -> None:
    """Ask a database and write what it answers to stdout.

    Args:
        place: the database.
        sql: one SELECT.
        style: one of STYLES.
        seconds: how long the database may work on it.
        most: the most rows to write; None: all, but ROWS in a table.
        allow_superuser: whether a role of PostgreSQL may ask that can do harm outside of the tables.
        safe_csv: whether texts in CSV that spreadsheets would take for formulas begin with `'`.

    Raises:
        SettingsError: there is no such style, or `safe_csv` is for another one.
        StoreError: the database or the query is not usable, or it took too long.
    """
    from socialcrawl.storage.database.readonly import run_query  # noqa: PLC0415

    if style not in STYLES:
        raise SettingsError(explain_unknown("--format", style, STYLES))
    if safe_csv and style not in SEPARATORS:
        raise SettingsError("--safe-csv is for CSV: add --format csv, or remove it.")
    shown = ROWS if most is None and style == "table" else most
    given = run_query(place, sql, seconds, time.monotonic, allow_superuser=allow_superuser, warn=write_error)
    with given as (columns, rows):
        if style == "table" and _write_table(columns, islice(rows, shown)):
            return
        if style != "table":
            write(columns, islice(rows, shown), style, safe_csv=safe_csv)
        if next(rows, None) is not None:
            more = "--limit shows more, --format csv or json all" if most is None else "there are more"
            write_error(f"the first {pluralize(shown or 0, 'row')}: {more}")


def write(columns: Sequence[str], rows: Iterator[tuple[Any, ...]], style: str, *, safe_csv: bool = False) -> None:
    """Write an answer to stdout while it is read; `style` is one of STYLES, but table."""
    if style in SEPARATORS:
        lines = CsvRows(open_data_stream(), safe=safe_csv, separator=SEPARATORS[style])
        lines.write([columns])
        lines.write([_format_field(value) for value in row] for row in rows)
        return
    names = name_columns(columns)
    begin, between, end = ("[", ", ", "]\n") if style == "json" else ("", "\n", "\n")
    place = -1
    for place, row in enumerate(rows):
        line = json.dumps(
            dict(zip(names, map(_make_finite, row), strict=True)), ensure_ascii=False, default=convert_for_json
        )
        write_json((between if place else begin) + line, end="")
    write_json((begin if place < 0 else "") + (end if style == "json" or place >= 0 else ""), end="")


def _write_table(columns: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> bool:
    """Write a table to stdout, and to stderr what did not fit; return whether rows did not."""
    held = collect_rows(columns, rows, _format_field)
    show(columns, held)
    if held.cut:
        write_error(f"cells cut to {CELL:,} characters: {held.cut:,}. --format csv or json shows them whole")
    if held.full:
        size = f"a table has at most {SIZE // 1_000_000} million characters"
        write_error(f"the first {pluralize(len(held.rows), 'row')}: {size}. --format csv or json shows all")
    return held.full


def find_database(given: Path | str | None, *, changed: bool = False) -> DatabaseAddress:
    """Return the database to read: the one named, $SOCIALCRAWL_DB, or the newest *.db in this folder (said on stderr).

    Raises:
        SettingsError: what is named is the address of something else; or none is named, the database will be `changed`,
            and there are several here.
        StoreError: none is named, and there is none here.
    """
    named = given if given is not None else os.environ.get("SOCIALCRAWL_DB")
    if named:
        return named if isinstance(named, Path) else parse_address(named)
    here = sorted(Path().glob("*.db"), key=lambda path: path.stat().st_mtime)
    if not here:
        raise StoreError(describe_none())
    if len(here) > 1 and changed:
        raise SettingsError(f"There are several databases here ({', '.join(map(str, here))}): name one with --db.")
    if len(here) > 1:
        write_error(f"reading {here[-1]}, the newest database here (choose with --db)")
    return here[-1]


def choose_campaign(connection: "Opened", name: str | None) -> str | None:
    """Return the campaign to read: the one named, or the newest; where there are others, stderr says which that is."""
    from socialcrawl.storage.queries.summary import list_campaigns  # noqa: PLC0415

    names = [one for _, one in list_campaigns(connection)]
    if name is not None or len(names) < 2:
        return name
    *others, newest = names
    listed = ", ".join(others[: -SHOWN - 1 : -1]) + (" ..." if len(others) > SHOWN else "")
    write_error(f"reading campaign {newest}, the newest in this database (choose with --campaign: {listed})")
    return newest


def _make_finite(value: Any) -> Any:
    """Return a value that JSON has: it knows no infinity."""
    return None if isinstance(value, float) and not isfinite(value) else value


def _format_field(value: Any) -> Any:
    """Return a value as CSV and tables show it."""
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=convert_for_json)
    return value if isinstance(value, str | int | float | Decimal | None) else str(value)
