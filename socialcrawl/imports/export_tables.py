"""The tables of our own exports read back exactly, row by row, from whichever form they are in."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from socialcrawl.errors import PostsFileError
from socialcrawl.imports.cells import Rows
from socialcrawl.imports.exported import FORMATS, objects_in
from socialcrawl.imports.lines import UNREADABLE, opened
from socialcrawl.imports.parquet import sheet
from socialcrawl.imports.trouble import Trouble
from socialcrawl.store.exports.cells import Column
from socialcrawl.store.exports.csv_rows import FORMULA
from socialcrawl.store.exports.sheets import SHEETS

NEVER_NULL = ("text",)  # columns whose empty cells in CSV are empty texts
CHUNK = 20_000  # rows that are read together
COLUMNS = {table.name: table.columns for table in SHEETS}


def find_forms(names: Sequence[str], tables: Sequence[str]) -> list[str]:
    """Return the forms in which all of some tables are among the files of an export."""
    return [form for form in FORMATS if all(f"{table}.{form}" in names for table in tables)]


def read_table(
    folder: Path, table: str, form: str, wanted: Sequence[str], *, safe: bool = False
) -> Iterator[list[Any]]:
    """Yield the cells of some columns of a table, row by row: texts, numbers, lists; times as the store writes them.

    Args:
        folder: of the export.
        table: such as posts.
        form: parquet, csv or jsonl.
        wanted: the columns.
        safe: whether texts of CSV may have an apostrophe before what looks like a formula.

    Raises:
        PostsFileError: the file is missing or damaged, lacks a column, or has rows that cannot be read.
        ValueError, TypeError: a cell is of another type than its column.
    """
    path, trouble = folder / f"{table}.{form}", Trouble()
    columns = [next(column for column in COLUMNS[table] if column.name == name) for name in wanted]
    try:
        read = _parquet if form == "parquet" else _csv if form == "csv" else _lines
        for row in read(path, wanted, trouble):
            yield [_cell(column, cell, safe=safe) for column, cell in zip(columns, row, strict=True)]
    except UNREADABLE as error:
        raise PostsFileError(f"{path} cannot be read: {error}. Copy the file again, or export again.") from error
    trouble.refuse("Copy the file again, or export again.")


def count_rows(path: Path) -> int | None:
    """Return the rows of a file of an export; None where it is no table.

    Raises:
        PostsFileError: it is damaged.
    """
    if path.suffix == ".parquet":
        with sheet(path, Trouble()) as found:
            return sum(count for _, count in found.batches(CHUNK))
    if path.suffix == ".csv":
        with path.open("rb") as file:
            return sum(1 for _ in Rows(path, file, _first(path), Trouble()))
    if path.suffix in (".jsonl", ".txt"):
        with path.open("rb") as file:
            return sum(1 for _ in file)
    return None


def _parquet(path: Path, wanted: Sequence[str], trouble: Trouble) -> Iterator[Sequence[Any]]:
    with sheet(path, trouble, wanted) as found:
        places = _places(path, found.chosen, wanted)
        for _, cells in found.rows(CHUNK):
            yield from zip(*(cells[place] for place in places), strict=True)


def _csv(path: Path, wanted: Sequence[str], trouble: Trouble) -> Iterator[Sequence[Any]]:
    with path.open("rb") as file:
        rows = Rows(path, file, _first(path), trouble)
        _places(path, list(rows.columns or ()), wanted)
        for _, row in rows:
            yield [None if row[name] == "" and name not in NEVER_NULL else row[name] for name in wanted]


def _lines(path: Path, wanted: Sequence[str], trouble: Trouble) -> Iterator[Sequence[Any]]:
    with path.open("rb") as file:
        begin = file.read(4)
    with opened(path, begin) as file:
        for _, told in objects_in(path, file, trouble):
            _places(path, list(told), wanted)
            yield [told[name] for name in wanted]


def _first(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline(1_000_000)


def _places(path: Path, there: Sequence[str], wanted: Sequence[str]) -> list[int]:
    if lacking := [name for name in wanted if name not in there]:
        raise PostsFileError(f"{path} lacks the column {lacking[0]}. Export again.")
    return [there.index(name) for name in wanted]


def _instant(at: datetime) -> str:
    """An instant as `model.iso` writes it; `strftime` would take five times as long."""
    return f"{at.astimezone(UTC).isoformat(timespec='microseconds')[:26]}Z"


def _cell(column: Column, cell: Any, *, safe: bool) -> Any:
    if cell is None:
        return None
    match column.kind:
        case "int":
            return int(cell)
        case "float":
            return float(cell)
        case "bool":
            return cell in (True, "true")
        case "time":
            return cell if isinstance(cell, str) else _instant(cell)
        case "list":
            return orjson.loads(cell) if isinstance(cell, str) else cell
    return cell[1:] if safe and cell.startswith("'") and FORMULA.match(cell[1:]) else cell
