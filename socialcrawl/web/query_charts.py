"""Which chart shows the answer to a query: chosen by the types of its columns. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

TIME = re.compile(r"\d{4}-\d\d(-\d\d([T ]\d\d:\d\d.*)?)?")
MOST_BARS, MOST_GROUPS, LONGEST_LABEL = 60, 6, 40
NUMBERS = ("node", "n", "id")  # columns of numbers that count nothing; also those that end with _node


@dataclass(frozen=True, slots=True)
class QueryChart:
    """A chart of an answer; columns are given by their places.

    Attributes:
        kind: line or bar.
        axis: what the x axis is: date, linear or category.
        x: the column along it.
        y: the columns of numbers.
        group: the column that tells lines apart; None: there is one.
    """

    kind: str
    axis: str
    x: int
    y: tuple[int, ...]
    group: int | None = None


def choose_chart(names: Sequence[str], kinds: Sequence[str], rows: Sequence[Sequence[Any]]) -> QueryChart | None:
    """Return the chart of an answer: a line over time or over a number that rises, bars of names; None: none fits.

    Args:
        names: of the columns.
        kinds: int, float, text or bool, of each column.
        rows: the cells.
    """
    if len(rows) < 2:
        return None
    cells = [[row[place] for row in rows] for place in range(len(names))]
    counted = [place for place, kind in enumerate(kinds) if kind in ("int", "float") and _counts(names, cells, place)]
    groups = [None, *(place for place, kind in enumerate(kinds) if kind == "text" and _is_group(cells[place]))]
    for kind, axis, fits in (
        ("line", "date", lambda place: kinds[place] == "text" and _is_time(cells[place])),
        ("bar", "category", lambda place: kinds[place] == "text" and _is_label(cells[place])),
        ("line", "linear", lambda place: kinds[place] == "int"),
    ):
        for x in filter(fits, range(len(names))):
            y = tuple(place for place in counted if place != x)
            if axis == "linear":  # beside a number that rises, a count is most often the size of each span
                y = tuple(sorted(y, key=lambda place: kinds[place] == "int"))
            for group in groups:
                apart = None if group is None else cells[group]
                if y and (group is None or group < x) and _is_in_order(cells[x], apart, rises=kind == "line"):
                    return QueryChart(kind, axis, x, y, group)
    return None


def _counts(names: Sequence[str], cells: Sequence[Sequence[Any]], place: int) -> bool:
    """Return whether the numbers of a column say how much, and not which one."""
    rank = list(range(1, len(cells[place]) + 1))
    return names[place] not in NUMBERS and not names[place].endswith("_node") and list(cells[place]) != rank


def _is_group(cells: Sequence[Any]) -> bool:
    return None not in cells and 1 < len(set(cells)) <= MOST_GROUPS


def _is_time(cells: Sequence[Any]) -> bool:
    return all(isinstance(cell, str) and TIME.fullmatch(cell) for cell in cells)


def _is_label(cells: Sequence[Any]) -> bool:
    fitting = all(isinstance(cell, str) and len(cell) <= LONGEST_LABEL for cell in cells)
    return fitting and len(cells) <= MOST_BARS


def _is_in_order(cells: Sequence[Any], groups: Sequence[Any] | None, *, rises: bool) -> bool:
    """Return whether the cells of each group rise, or are at least different."""
    if None in cells:
        return False
    parts: dict[Any, list[Any]] = {}
    for number, cell in enumerate(cells):
        parts.setdefault(None if groups is None else groups[number], []).append(cell)
    if rises:
        return all(one < next_one for part in parts.values() for one, next_one in pairwise(part))
    return all(len(set(part)) == len(part) for part in parts.values())
