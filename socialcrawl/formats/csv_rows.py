"""Rows of CSV files: exact for programs, or safe to open in a spreadsheet.

Spreadsheets run a cell that begins with `=`, `+`, `-`, `@` (some also in full width), a tab, a carriage return or a
line feed as a formula, and texts of strangers may be such cells. An apostrophe before them makes them texts again
(OWASP, CSV Injection).
"""

import csv
import re
from collections.abc import Iterable, Sequence
from typing import Any

from socialcrawl.text.terminal import Stream

FORMULA = re.compile(r"[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")  # also in full width, which some take for the same
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class CsvRows:
    """A writer of CSV with the comma and line feeds.

    Args:
        stream: where to.
        safe: whether texts that a spreadsheet would take for formulas get an apostrophe.
    """

    def __init__(self, stream: Stream, *, safe: bool = False) -> None:
        self._safe = safe
        self._rows = csv.writer(stream, lineterminator="\n")
        # The csv module leaves a carriage return without quotes, where readers end the row.
        self._quoted = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows; None is an empty cell."""
        for row in rows:
            cells = [guard_formula(cell) for cell in row] if self._safe else row
            returns = any(isinstance(cell, str) and "\r" in cell for cell in cells)
            (self._quoted if returns else self._rows).writerow(cells)


def guard_formula(cell: Any) -> Any:
    """Return the cell with an apostrophe before it if it is a text that spreadsheets would take for a formula.

    Numbers stay, also those in texts, such as -3: they begin like formulas and are none.
    """
    if isinstance(cell, str) and FORMULA.match(cell) and not NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell
