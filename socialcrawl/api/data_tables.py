"""Tables of a dataset for Python: rows that are read when they are asked for, as data frames, Arrow or plain rows."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from socialcrawl.api.argument_checks import PATH, SWITCH, check_arguments, make_whole_rule
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.exporters.arrow_batches import make_batch, make_schema
from socialcrawl.exporters.columns import Column
from socialcrawl.exporters.table_files import format_csv_cell
from socialcrawl.formats.csv_files import CsvRows

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

SIZE = 10_000  # rows of a batch
SHOWN = 10  # rows that a notebook shows
LONGEST = 80  # characters of a cell that a notebook shows
Reader = Callable[[int], Iterator[Sequence[Sequence[Any]]]]


class TableColumn(NamedTuple):
    """A column of a table.

    Attributes:
        name: its name, which stays the same from version to version.
        kind: text, int, float, bool, time (UTC, microseconds) or list (of texts). Ids are text.
        meaning: what its cells say.

    Example:
        >>> column = data.accounts().columns[4]
        >>> column.name, column.kind, column.meaning
        ('relevance', 'float', 'beta = 1 + ln(occurrences); in a sample 1: on topic')
    """

    name: str
    kind: str
    meaning: str


class Table:
    """A table of a dataset. Its rows are read each time they are asked for, in a fixed order.

    Attributes:
        name: what the table is called.
        columns: its columns, in order.

    Example:
        >>> table = data.accounts(top=2)
        >>> table.to_pandas()[["place", "account", "relevance"]]
           place account  relevance
        0      1    dora   2.098612
        1      2     ann   1.693147
        >>> [row["account"] for row in table]
        ['dora', 'ann']
        >>> table.name, len(table.columns)
        ('accounts', 12)
    """

    def __init__(self, name: str, columns: Sequence[TableColumn], read: Reader) -> None:
        self.name = name
        self.columns = tuple(columns)
        self._read = read

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as dicts; times are `datetime.datetime` in UTC."""
        for batch in self.batches(1_000):
            yield from batch.to_pylist()

    @check_arguments(size=make_whole_rule(1))
    def batches(self, size: int = SIZE) -> Iterator["pa.RecordBatch"]:
        """Yield the rows as Arrow record batches, for tables that do not fit into memory.

        Args:
            size: the largest number of rows of a batch, at least 1.

        Raises:
            SettingsError: the size is below 1.
            StoreError: the database cannot be read.

        Example:
            >>> [batch.num_rows for batch in data.posts().batches(size=3)]
            [3, 3, 1]
        """
        shapes = [Column(column.name, column.kind) for column in self.columns]  # type: ignore[arg-type]
        schema = make_schema(shapes)
        for rows in self._read(size):
            yield make_batch(shapes, schema, rows)

    def to_arrow(self) -> "pa.Table":
        """Return all rows as an Arrow table.

        Example:
            >>> data.accounts().to_arrow().num_rows
            5
        """
        import pyarrow as pa  # noqa: PLC0415

        shapes = [Column(column.name, column.kind) for column in self.columns]  # type: ignore[arg-type]
        return pa.Table.from_batches(self.batches(), make_schema(shapes))

    def to_pandas(self) -> "pd.DataFrame":
        """Return all rows as a pandas data frame; integers, booleans and texts are of types that have missing values.

        Raises:
            SettingsError: pandas is not installed.

        Example:
            >>> data.posts(on_topic=True).to_pandas()[["author", "text"]].head(2)
              author                                         text
            0    ann  The telescope saw Saturn tonight @ben @cleo
            1    ann             A telescope and a clear sky @ben
        """
        pandas = import_library("pandas")
        import pyarrow as pa  # noqa: PLC0415

        types = {pa.int64(): pandas.Int64Dtype(), pa.bool_(): pandas.BooleanDtype(), pa.string(): pandas.StringDtype()}
        frame: pd.DataFrame = self.to_arrow().to_pandas(types_mapper=types.get)
        return frame

    def to_polars(self) -> "pl.DataFrame":
        """Return all rows as a polars data frame.

        Raises:
            SettingsError: polars is not installed.

        Example:
            >>> data.accounts(top=2).to_polars()["account"].to_list()
            ['dora', 'ann']
        """
        frame: pl.DataFrame = import_library("polars").from_arrow(self.to_arrow())
        return frame

    @check_arguments(path=PATH, safe=SWITCH)
    def to_csv(self, path: "str | os.PathLike[str]", *, safe: bool = False) -> None:
        """Write the rows as a CSV file with a first line of names, as an export does; what is missing is empty.

        Args:
            path: the file; what was in it is replaced.
            safe: put an apostrophe before texts that spreadsheets would take for formulas.

        Raises:
            StoreError: it cannot be written, or the database cannot be read.

        Example:
            >>> data.accounts(top=2).to_csv("accounts.csv")
            >>> import pathlib
            >>> pathlib.Path("accounts.csv").read_text("utf-8").splitlines()[0][:24]
            'place,account,account_id'
        """
        try:
            with Path(path).open("w", encoding="utf-8", newline="") as file:
                lines = CsvRows(file, safe=safe)
                lines.write([[column.name for column in self.columns]])
                for row in self:
                    lines.write([[_format_field(cell) for cell in row.values()]])
        except OSError as error:
            raise StoreError(f"{os.fspath(path)} cannot be written ({error.strerror}): choose another file.") from error

    def __repr__(self) -> str:
        return f"<Table {self.name}: {', '.join(column.name for column in self.columns)}>"

    def _repr_html_(self) -> str:
        """Return the first rows for a notebook."""
        rows = list(islice(self, SHOWN + 1))
        head = "".join(
            f'<th title="{escape(column.meaning, quote=True)}">{escape(column.name)}</th>' for column in self.columns
        )
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_format_cell(cell))}</td>" for cell in row.values()) + "</tr>"
            for row in rows[:SHOWN]
        )
        more = f"<p>the first {SHOWN} rows; .to_pandas() has all</p>" if len(rows) > SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def import_library(name: str) -> Any:
    """Return a library that comes with the extra `analysis`.

    Raises:
        SettingsError: it is not installed.
    """
    from importlib import import_module  # noqa: PLC0415

    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise SettingsError(f"{name} is not installed: pip install 'socialcrawl[analysis]'.") from error


def make_columns(columns: Mapping[str, tuple[str, str]]) -> list[TableColumn]:
    """Return columns from (kind, meaning) by name."""
    return [TableColumn(name, kind, meaning) for name, (kind, meaning) in columns.items()]


def _format_field(cell: Any) -> Any:
    return cell.isoformat() if isinstance(cell, datetime) else format_csv_cell(cell)


def _format_cell(cell: Any) -> str:
    text = "" if cell is None else str(cell)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}\u2026"


def split_rows(rows: Sequence[Sequence[Any]], size: int) -> Iterator[Sequence[Sequence[Any]]]:
    """Yield rows, at most `size` at a time; once where there are none."""
    for begin in range(0, max(1, len(rows)), size):
        yield rows[begin : begin + size]
