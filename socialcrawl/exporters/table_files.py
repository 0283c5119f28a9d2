"""Tables as files: Parquet, CSV, JSON lines. Equal rows make equal bytes."""

import io
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import orjson

from socialcrawl.errors import StoreError
from socialcrawl.exporters.arrow_batches import make_batch, make_schema
from socialcrawl.exporters.columns import Column
from socialcrawl.formats.csv_files import CsvRows


class TableWriter(Protocol):
    """A file that takes the rows of a table, some at a time."""

    def write(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows."""


class ParquetWriter:
    """A Parquet file; times are UTC timestamps in microseconds, a time that is none is NULL."""

    def __init__(self, path: Path, columns: tuple[Column, ...], stack: ExitStack) -> None:
        from pyarrow import parquet  # noqa: PLC0415  (costs 0.1 s)

        self._columns = columns
        self._schema = make_schema(columns)
        self._file = stack.enter_context(parquet.ParquetWriter(path, self._schema, compression="zstd"))
        self._kept: list[tuple[Any, ...]] = []
        stack.push(lambda *error: self._flush() if error[0] is None else None)  # before the file is closed

    def write(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows; they are written in groups of 20,000."""
        self._kept += rows
        if len(self._kept) >= 20_000:
            self._flush()

    def _flush(self) -> None:
        rows, self._kept = self._kept, []
        if not rows:
            return
        self._file.write_batch(make_batch(self._columns, self._schema, rows))


class CsvWriter:
    """A CSV file with a first line of names; lists are JSON, what is unknown is empty."""

    safe = False

    def __init__(self, path: Path, columns: tuple[Column, ...], stack: ExitStack) -> None:
        file = stack.enter_context(path.open("w", encoding="utf-8", newline=""))
        self._rows = CsvRows(file, safe=self.safe)
        self._rows.write([[column.name for column in columns]])

    def write(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows."""
        self._rows.write([format_csv_cell(cell) for cell in row] for row in rows)


class SafeCsvWriter(CsvWriter):
    """The same for spreadsheets: texts that look like formulas have an apostrophe before them."""

    safe = True


class JsonLinesWriter:
    """A file with one JSON object a line; ids are texts, as readers of JSON round numbers of more than 15 digits."""

    def __init__(self, path: Path, columns: tuple[Column, ...], stack: ExitStack) -> None:
        self._file: io.BufferedWriter = stack.enter_context(path.open("wb"))
        self._names = [column.name for column in columns]
        self._numbers = [column.name for column in columns if column.is_id and column.kind == "int"]

    def write(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows; a number that JSON does not have (infinite) is null."""
        self._file.writelines(map(self._format_line, rows))

    def _format_line(self, row: tuple[Any, ...]) -> bytes:
        values = dict(zip(self._names, row, strict=True))
        for name in self._numbers:
            if values[name] is not None:
                values[name] = str(values[name])
        return orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE)


class IdWriter:
    """A text file with one id a line."""

    def __init__(self, path: Path, columns: tuple[Column, ...], stack: ExitStack) -> None:
        self._file = stack.enter_context(path.open("w", encoding="utf-8", newline="\n"))
        place = next(place for place, column in enumerate(columns) if column.name in ("id", "platform_id"))
        self._place, self.count = place, 0

    def write(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add the ids of rows; a row without one is left out."""
        ids = [row[self._place] for row in rows if row[self._place] is not None]
        self._file.writelines(f"{key}\n" for key in ids)
        self.count += len(ids)


Maker = Callable[[Path, tuple[Column, ...], ExitStack], TableWriter]
"""What makes a file of a table, from its path, its columns and the stack that closes it."""
WRITERS: dict[str, Maker] = {
    "parquet": ParquetWriter,
    "csv": CsvWriter,
    "jsonl": JsonLinesWriter,
}
"""The forms of tables, by the ending of their files."""
IDS = {"posts": "post_ids.txt", "accounts": "user_ids.txt"}
"""The files of ids, by the table that they are taken from."""


def read_pyarrow_version() -> str:
    """Return the version of the library that writes Parquet.

    Raises:
        StoreError: it is not installed.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise StoreError("Parquet needs pyarrow: pip install pyarrow, or choose --format csv or jsonl.") from error
    return str(pa.__version__)


def format_csv_cell(cell: Any) -> Any:
    """Return a value as a cell of a CSV file has it."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return orjson.dumps(cell).decode() if isinstance(cell, list) else cell
