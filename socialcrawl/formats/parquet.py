"""Tables in Parquet files, read piece by piece: what a file unpacks to is bounded before it is unpacked.

A file of a thousand bytes can hold a page of gigabytes, or name one long text a million times. So the sizes of pages
and of the texts that may be repeated are looked up first (`formats.parquet_layout`), so few rows are read at once that
they fit, and these are handed on in parts of bounded bytes.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.formats.lines import LineErrors, describe_too_long, limit_unpacked, make_growth_error
from socialcrawl.formats.parquet_layout import PageError, check_footer, limit_rows, make_refusal
from socialcrawl.system.bounds import MAX_BATCH, MAX_CELL, MAX_COLUMNS, MAX_UNPACKED

PARQUET = b"PAR1"
HELD = MAX_UNPACKED // 2  # bytes that a file may unpack to, however small, where all of it is held
WHOLE = 65_536  # rows that are read together where all are wanted
BUFFER = 1_000_000  # bytes of a column that are read from the disk at once
Cells = Callable[[Any], list[Any]]


class ParquetTable:
    """A table in a Parquet file.

    Attributes:
        names: of its columns.
        schema: their types, of pyarrow.
        chosen: names of those that are read.
        size: bytes of the rows that were read last.
    """

    def __init__(
        self, path: Path, trouble: LineErrors, file: Any, schema: Any, *, chosen: list[str], most: int
    ) -> None:
        self.names, self.chosen = list(schema.names), chosen
        self.schema = schema
        self._path, self._trouble, self._file, self._most = path, trouble, file, most
        self.size = 0

    def read_rows(self, most: int, cells: Cells | None = None) -> Iterator[tuple[Sequence[int], list[list[Any]]]]:
        """Iterate over (numbers of rows from 1, their cells column by column), at most `most` rows at a time.

        Rows that are too long or cannot be read are noted and left out.

        Args:
            most: rows.
            cells: the values of an array of pyarrow; None for what pyarrow makes of them.
        """
        done = 0
        for columns, count in self.read_batches(most):
            for part in _split_batch(columns, count):
                if isinstance(part, int):
                    self._note_bad(done + part + 1, describe_too_long(MAX_CELL))
                    continue
                numbers = range(done + part.start + 1, done + part.stop + 1)
                yield self._read(
                    [column.slice(part.start, len(part)) for column in columns], numbers, cells or _convert_list
                )
            done += count

    def read_batches(self, most: int, least: int = MAX_UNPACKED) -> Iterator[tuple[list[Any], int]]:
        """Iterate over (columns as arrays of pyarrow, their length), at most `most` rows at a time.

        Raises:
            PostsFileError: the file unpacks to more than it may.
        """
        done, left, size = 0, limit_unpacked(self._path, least), min(most, self._most)
        for group in range(self._file.num_row_groups):  # rows of several might have too many lists together
            for batch in self._file.iter_batches(size, [group], columns=self.chosen, use_threads=False):
                columns = [_decode_dictionary(column) for column in batch.columns]
                left -= sum(column.nbytes for column in columns)
                if left < 0:
                    raise make_growth_error(self._path, f"{self._path}, row {done + 1}", least)
                yield columns, batch.num_rows
                done += batch.num_rows

    def _read(self, columns: list[Any], numbers: range, cells: Cells) -> tuple[Sequence[int], list[list[Any]]]:
        self.size = sum(column.nbytes for column in columns)
        try:
            return numbers, [cells(column) for column in columns]
        except (ValueError, OverflowError, ArithmeticError):
            return self._read_apart(columns, numbers, cells)

    def _read_apart(self, columns: list[Any], numbers: range, cells: Cells) -> tuple[Sequence[int], list[list[Any]]]:
        """Return the rows that can be read, where one of them cannot."""
        good, rows = [], []
        for i, number in enumerate(numbers):
            try:
                rows.append([cells(column.slice(i, 1))[0] for column in columns])
                good.append(number)
            except (ValueError, OverflowError, ArithmeticError) as error:
                self._note_bad(number, f"it cannot be read: {error}")
        return good, [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]

    def _note_bad(self, number: int, why: str) -> None:
        self._trouble.add(f"{self._path}, row {number}", why)


@contextmanager
def open_parquet(path: Path, trouble: LineErrors, wanted: Sequence[str] | None = None) -> Iterator[ParquetTable]:
    """Open a Parquet file.

    Args:
        path: the file.
        trouble: what rows that cannot be read are added to.
        wanted: names of the columns that are read where the file has them; None for all.

    Raises:
        PostsFileError: it is damaged, or would unpack to more than can be held.
    """
    import pyarrow as pa  # noqa: PLC0415  # costs 0.1 s, and only readers of Parquet pay it
    from pyarrow import parquet  # noqa: PLC0415

    try:
        check_footer(path)
        about = parquet.read_metadata(path)
        with parquet.ParquetFile(path, metadata=about) as file:
            plain = file.schema_arrow
        if len(plain) > MAX_COLUMNS or about.num_columns > MAX_COLUMNS:
            raise make_refusal(path, f"it has {about.num_columns:,} columns, more than {MAX_COLUMNS:,}", "Remove some")
        chosen = [name for name in plain.names if wanted is None or name in wanted]
        if len({*chosen}) < len(chosen):
            raise make_refusal(path, "two of its columns have the same name", "Rename one")
        most = limit_rows(path, about, chosen)
        with parquet.ParquetFile(path, metadata=about, pre_buffer=False, buffer_size=BUFFER) as file:
            yield ParquetTable(path, trouble, file, plain, chosen=chosen, most=most)
    except PageError as error:
        raise make_refusal(path, str(error), "Check the file") from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise make_refusal(path, str(error).splitlines()[0], "Check the file") from error


def read_table(path: Path, wanted: Sequence[str] | None = None) -> Any:
    """Return a Parquet file as a pyarrow.Table.

    Args:
        path: the file.
        wanted: names of the columns that are read where the file has them; None for all.

    Raises:
        PostsFileError: it is damaged, or would unpack to more than it may.
    """
    import pyarrow as pa  # noqa: PLC0415

    with open_parquet(path, LineErrors(), wanted) as found:
        batches = [
            pa.RecordBatch.from_arrays(columns, names=found.chosen) for columns, _ in found.read_batches(WHOLE, HELD)
        ]
        return pa.Table.from_batches(batches, None if batches else found.schema)


def _convert_list(column: Any) -> list[Any]:
    values: list[Any] = column.to_pylist()
    return values


def _split_batch(columns: list[Any], rows: int) -> Iterator[range | int]:
    """Yield the rows of a batch in parts of bounded bytes.

    Rows that are longer than a cell may be stand alone, by place.
    """
    if sum(column.nbytes for column in columns) <= MAX_BATCH:
        yield range(rows)
        return
    sizes = np.sum([_measure_rows(column) for column in columns], axis=0)
    start, held = 0, 0
    for place, size in enumerate(sizes.tolist()):
        if size > MAX_CELL or held + size > MAX_BATCH:
            if place > start:
                yield range(start, place)
            start, held = place, 0
        if size > MAX_CELL:
            yield place
            start = place + 1
        else:
            held += size
    if rows > start:
        yield range(start, rows)


def _measure_rows(column: Any) -> NDArray[np.int64]:
    """Return the bytes of each row of a column as texts and numbers, int64[n]."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import compute  # noqa: PLC0415

    kind = column.type
    if pa.types.is_dictionary(kind):
        return (
            _measure_rows(column.dictionary)[_fill_lengths(column.indices)]
            if len(column.dictionary)
            else _fill_lengths(column.indices)
        )
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return _measure_rows(column.cast(pa.large_binary()))
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    if any(test(kind) for test in tests):
        return _fill_lengths(compute.binary_length(column))
    if pa.types.is_struct(kind):
        parts = [np.zeros(len(column), np.int64), *map(_measure_rows, column.flatten())]
        return np.asarray(np.sum(parts, axis=0), np.int64)
    if pa.types.is_map(kind):
        return _measure_rows(column.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))))
    if pa.types.is_nested(kind):
        lengths = _fill_lengths(compute.list_value_length(column))
        ends, sums = np.cumsum(lengths), np.concatenate(([0], np.cumsum(_measure_rows(column.flatten()) + 8)))
        return np.asarray(sums[ends] - sums[ends - lengths], np.int64)
    return np.full(len(column), 8, np.int64)


def _fill_lengths(lengths: Any) -> NDArray[np.int64]:
    """Return whole numbers as an array, 0 where there is nothing."""
    return np.asarray(lengths.cast("int64").fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _decode_dictionary(column: Any) -> Any:
    """Return a column with its values as such, no longer in a dictionary."""
    import pyarrow as pa  # noqa: PLC0415

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
