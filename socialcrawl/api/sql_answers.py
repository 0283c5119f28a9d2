"""Answers to queries in SQL as tables, held in memory within bounds."""

import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

from socialcrawl.api.data_tables import Table, TableColumn
from socialcrawl.errors import StoreError
from socialcrawl.render.query_table import convert_for_json, name_columns
from socialcrawl.storage.database.readonly import Parameters, run_query
from socialcrawl.storage.queries.read_session import ReadSession
from socialcrawl.text.wording import parse_size


def run_sql(
    session: ReadSession, query: str, parameters: Parameters, bounds: tuple[float, int | None, str | None]
) -> Table:
    """Return the answer to one SELECT; see `Dataset.sql`.

    Args:
        session: the database.
        query: the SELECT.
        parameters: the values of its placeholders.
        bounds: seconds that the database may work on it, rows, and their size as "16MB"; None: no bound.

    Raises:
        StoreError: the query is wrong, would change something, takes too long, or its answer is larger.
    """
    session.check_open()
    seconds, most, largest = bounds
    with run_query(session.source, query, seconds, time.monotonic, parameters=parameters) as (names, rows):
        return make_query_table(names, hold_rows(rows, most, largest))


def make_query_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Return the answer to a query as a table, whose columns are int, float or bool where all their cells are.

    Args:
        names: of the columns; one that comes again gets a number.
        rows: all rows.
    """
    kinds = [_find_kind(cells) for cells in zip(*rows, strict=True)] if rows else ["text"] * len(names)
    columns = [TableColumn(name, kind, "") for name, kind in zip(name_columns(names), kinds, strict=True)]
    texts = [place for place, kind in enumerate(kinds) if kind == "text"]

    def read(size: int) -> Iterator[Sequence[Sequence[Any]]]:
        for begin in range(0, len(rows), size):
            yield [_simplify_texts(row, texts) for row in rows[begin : begin + size]]

    return Table("query", columns, read)


def hold_rows(rows: Iterator[Sequence[Any]], most: int | None, largest: str | None) -> list[Sequence[Any]]:
    """Return the rows of an answer, at most `most`; None: all.

    Raises:
        StoreError: they have more characters than `largest`, as "16MB", says; other cells than texts count as 8.
    """
    size = None if largest is None else parse_size(largest)
    held, left = [], size or 0
    for row in islice(rows, most):
        left -= sum(len(cell) if isinstance(cell, str | bytes | memoryview) else 8 for cell in row)
        if size is not None and left < 0:
            raise StoreError(
                f"The answer has more than {size / 1e6:,.0f} million characters: select fewer columns or rows, or "
                "shorter texts (substr() cuts them)."
            )
        held.append(row)
    return held


def _find_kind(cells: Sequence[Any]) -> str:
    types = {type(cell) for cell in cells if cell is not None}
    if types == {bool}:
        return "bool"
    if types == {int}:
        return "int"
    return "float" if types and types <= {int, float, Decimal} else "text"


def _simplify_texts(row: Sequence[Any], places: Sequence[int]) -> list[Any]:
    cells = [float(cell) if isinstance(cell, Decimal) else cell for cell in row]
    for place in places:
        cell = cells[place]
        cells[place] = cell if cell is None or isinstance(cell, str) else str(convert_for_json(cell))
    return cells
