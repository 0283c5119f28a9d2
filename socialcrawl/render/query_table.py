"""The answer to a query as a table for people, bounded: no line can be shown before all its rows are known."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from math import ceil
from typing import Any, NamedTuple

from rich.table import Table

from socialcrawl.render.console import Text, make_console
from socialcrawl.text.terminal import escape_controls

ROWS = 10_000
SIZE = 16_000_000  # characters of a table, with the blanks that align its columns
CELL = 100_000  # characters of one cell


class TableRows(NamedTuple):
    """The rows of a table as texts, and what is missing from it.

    Attributes:
        rows: the cells, escaped.
        right: for each column whether it holds nothing but numbers.
        cut: how many cells were cut to CELL characters.
        full: whether a row was left out because the table would have more than SIZE characters.
    """

    rows: list[tuple[str, ...]]
    right: list[bool]
    cut: int
    full: bool


def collect_rows(columns: Sequence[str], rows: Iterator[tuple[Any, ...]], field: Callable[[Any], Any]) -> TableRows:
    """Return the first rows of an answer that fit into a table.

    Args:
        columns: their names.
        rows: the answer; it is read as far as the table has room, and one row more.
        field: what is shown of a value.
    """
    line = make_console(unfolded=True).width
    widths, right = [min(len(name), line) for name in columns], [True] * len(columns)
    held: list[tuple[str, ...]] = []
    lines = cut = 0
    for row in rows:
        texts = ["" if value is None else str(field(value)) for value in row]
        cells = tuple(escape_controls(text[:CELL]) for text in texts)
        widths = [max(width, min(len(cell), line)) for width, cell in zip(widths, cells, strict=True)]
        lines += max((cell.count("\n") + max(1, ceil(len(cell) / line)) for cell in cells), default=1)
        wide = sum(widths) + len(widths)
        if held and lines * wide * (1 if wide <= line else 2) > SIZE:  # columns that are narrowed fold once more
            return TableRows(held, right, cut, full=True)
        right = [own and isinstance(value, int | float | Decimal | None) for own, value in zip(right, row, strict=True)]
        cut += sum(len(text) > CELL for text in texts)
        held.append(cells)
    return TableRows(held, right, cut, full=False)


def show(columns: Sequence[str], held: TableRows) -> None:
    """Print a table on stdout."""
    table = Table(box=None, pad_edge=False)
    for name, right in zip(columns, held.right, strict=True):
        table.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for row in held.rows:
        table.add_row(*map(Text, row))
    make_console(unfolded=True).print(table)


def name_columns(columns: Sequence[str]) -> list[str]:
    """Return the names of the columns, made different where a query gives one twice: a, a_2, a_3."""
    names: list[str] = []
    for column in columns:
        others = (f"{column}_{number}" for number in range(2, len(columns) + 2))
        names.append(column if column not in names else next(other for other in others if other not in names))
    return names


def convert_for_json(value: Any) -> Any:
    """Return a value of a database driver's own type as one that JSON has."""
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, Decimal):
        if not value.is_finite():
            return None
        return int(value) if value == value.to_integral_value() else float(value)
    return value.isoformat() if isinstance(value, date | datetime | time_of_day) else str(value)
