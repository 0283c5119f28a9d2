"""The tables of our own exports read back exactly, row by row, from whichever form they are in."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson

from socialcrawl.errors import PostsFileError
from socialcrawl.exporters.columns import Column
from socialcrawl.exporters.exported_tables import SHEETS
from socialcrawl.formats.csv_files import FORMULA, CsvTable
from socialcrawl.formats.lines import UNREADABLE, LineErrors, open_bytes
from socialcrawl.formats.parquet import open_parquet
from socialcrawl.importers.exported_datasets import FORMATS, read_objects

NEVER_NULL = ("text",)  # columns whose empty cells in CSV are empty texts
CHUNK = 20_000  # rows that are read together
SOME = 1_000  # rows of a text that are converted together
Cells = Sequence[Sequence[Any]]
COLUMNS = {table.name: table.columns for table in SHEETS}


def find_forms(names: Sequence[str], tables: Sequence[str]) -> list[str]:
    """Return the forms in which all of some tables are among the files of an export."""
    return [form for form in FORMATS if all(f"{table}.{form}" in names for table in tables)]


def read_table(
    folder: Path, table: str, form: str, wanted: Sequence[str], *, safe: bool = False
) -> Iterator[Sequence[Any]]:
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
    path, trouble = folder / f"{table}.{form}", LineErrors()
    columns = [next(column for column in COLUMNS[table] if column.name == name) for name in wanted]
    try:
        read = _read_parquet if form == "parquet" else _read_csv if form == "csv" else _read_lines
        for cells in read(path, wanted, trouble):
            pairs = zip(columns, cells, strict=True)
            yield from zip(*(_read_cells(column, some, safe=safe) for column, some in pairs), strict=True)
    except UNREADABLE as error:
        raise PostsFileError(f"{path} cannot be read: {error}. Export or copy it again.") from error
    trouble.refuse("Export or copy the file again.")


def count_rows(path: Path) -> int | None:
    """Return the rows of a file of an export; None where it is no table.

    Raises:
        PostsFileError: it is damaged.
    """
    if path.suffix == ".parquet":
        with open_parquet(path, LineErrors()) as found:
            return sum(count for _, count in found.read_batches(CHUNK))
    if path.suffix == ".csv":
        with path.open("rb") as file:
            return sum(1 for _ in CsvTable(path, file, _read_first(path), LineErrors()))
    if path.suffix in (".jsonl", ".txt"):
        with path.open("rb") as file:
            return sum(1 for _ in file)
    return None


def _read_parquet(path: Path, wanted: Sequence[str], trouble: LineErrors) -> Iterator[Cells]:
    with open_parquet(path, trouble, wanted) as found:
        places = _find_places(path, found.chosen, wanted)
        for _, cells in found.read_rows(CHUNK, _convert_column):
            yield [cells[place] for place in places]


def _read_csv(path: Path, wanted: Sequence[str], trouble: LineErrors) -> Iterator[Cells]:
    with path.open("rb") as file:
        rows = CsvTable(path, file, _read_first(path), trouble)
        _find_places(path, list(rows.columns or ()), wanted)
        empty = [name in NEVER_NULL for name in wanted]
        for some in _split_chunks([row[name] for name in wanted] for _, row in rows):
            yield [
                cells if keep else [None if cell == "" else cell for cell in cells]
                for keep, cells in zip(empty, some, strict=True)
            ]


def _read_lines(path: Path, wanted: Sequence[str], trouble: LineErrors) -> Iterator[Cells]:
    def rows(file: IO[bytes]) -> Iterator[list[Any]]:
        for _, record in read_objects(path, file, trouble):
            _find_places(path, list(record), wanted)
            yield [record[name] for name in wanted]

    with path.open("rb") as file:
        begin = file.read(4)
    with open_bytes(path, begin) as unpacked:
        yield from _split_chunks(rows(unpacked))


def _split_chunks(rows: Iterator[list[Any]]) -> Iterator[Cells]:
    """Yield some rows at a time, as columns."""
    while some := list(islice(rows, SOME)):
        yield list(zip(*some, strict=True))


def _read_first(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline(1_000_000)


def _find_places(path: Path, there: Sequence[str], wanted: Sequence[str]) -> list[int]:
    if lacking := [name for name in wanted if name not in there]:
        raise PostsFileError(f"{path} lacks the column {lacking[0]}. Export again.")
    return [there.index(name) for name in wanted]


def _convert_column(column: Any) -> list[Any]:
    """Return the values of a column of Parquet; instants as `format_time` writes them, all at once."""
    import pyarrow as pa  # noqa: PLC0415

    if not pa.types.is_timestamp(column.type):
        values: list[Any] = column.to_pylist()
        return values
    at = column.cast(pa.timestamp("us", column.type.tz)).to_numpy(zero_copy_only=False)
    return [None if text == "NaT" else f"{text}Z" for text in np.datetime_as_string(at, unit="us").tolist()]


def _read_cells(column: Column, cells: Sequence[Any], *, safe: bool) -> Sequence[Any]:
    """Convert the cells of a column to what it holds."""
    match column.kind:
        case "int":
            return [None if cell is None else int(cell) for cell in cells]
        case "float":
            return [None if cell is None else float(cell) for cell in cells]
        case "bool":
            return [None if cell is None else cell in (True, "true") for cell in cells]
        case "list":
            return [orjson.loads(cell) if isinstance(cell, str) else cell for cell in cells]
        case "text" if safe:
            return [None if cell is None else _remove_mark(cell) for cell in cells]
    return cells


def _remove_mark(cell: str) -> str:
    """Return a text of CSV without the apostrophe that keeps spreadsheets from running it."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell[1:]) else cell
