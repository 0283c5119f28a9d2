"""CSV files: read as people have them, and written exactly for programs or safe to open in a spreadsheet.

People have commas, semicolons or tabs, and column names in any case. Spreadsheets run a cell that begins with `=`,
`+`, `-`, `@` (some also in full width), a tab, a carriage return or a line feed as a formula, and texts of strangers
may be such cells. An apostrophe before them makes them texts again (OWASP, CSV Injection).
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from socialcrawl.errors import PostsFileError
from socialcrawl.formats.lines import LineErrors, RecordLines, explain_csv_error, read_lines
from socialcrawl.system.bounds import MAX_COLUMNS, MAX_ROW
from socialcrawl.text.terminal import Stream

FORMULA = re.compile(r"[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")  # also in full width, which some take for the same
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class CsvRows:
    """A writer of CSV with line feeds.

    Args:
        stream: where to.
        safe: whether texts that a spreadsheet would take for formulas get an apostrophe.
        separator: what stands between cells.
    """

    def __init__(self, stream: Stream, *, safe: bool = False, separator: str = ",") -> None:
        self._safe = safe
        self._rows = csv.writer(stream, lineterminator="\n", delimiter=separator)
        # The csv module leaves a carriage return without quotes, where readers end the row.
        self._quoted = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC, delimiter=separator)

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


NEEDED = ("author", "created_at", "text")  # columns that a table of posts has
BETWEEN = (",", ";", "\t")  # what stands between cells; the first that fits
NOT_UTF8 = "it is not UTF-8: save the file as UTF-8"


def open_posts(path: Path, file: IO[bytes], first: bytes, trouble: LineErrors) -> "CsvTable":
    """Return the rows of a CSV file of posts; see `CsvTable`.

    Raises:
        PostsFileError: it is no such file.
    """
    if b"\0" in first[:4096] or not first or first.startswith(b"["):
        kind = "is empty" if not first else "is one JSON list" if first.startswith(b"[") else "is of no known kind"
        raise PostsFileError(f"{path} {kind}: give Parquet, CSV or JSON lines.")
    rows = CsvTable(path, file, first, trouble)
    check_columns(path, rows.columns)
    return rows


def check_columns(path: Path, columns: Sequence[str]) -> None:
    """Refuse a table of posts that lacks a column.

    Raises:
        PostsFileError: it does.
    """
    lacking = [name for name in NEEDED if name not in columns]
    if lacking:
        raise PostsFileError(
            f"{path} lacks the column{'s' * (len(lacking) > 1)} {', '.join(lacking)}; it has "
            f"{', '.join(columns)[:200] or 'none'}. Rename the columns of the file."
        )


class CsvTable:
    """The rows of a CSV file by column; those that cannot be read are noted.

    Args:
        path: the file, for messages.
        file: its bytes, from the beginning.
        first: the first of its bytes, with the whole header.
        trouble: what bad rows are added to.

    Raises:
        PostsFileError: the header cannot be read.
    """

    def __init__(self, path: Path, file: IO[bytes], first: bytes, trouble: LineErrors) -> None:
        self.path, self.trouble = path, trouble
        self._damaged = False
        self._text = RecordLines(self._decode_lines(read_lines(path, file, MAX_ROW)))
        self._reader = csv.DictReader(self._text, strict=True, delimiter=_detect_separator(first))
        try:
            names = list(self._reader.fieldnames or ())
        except csv.Error as error:
            raise PostsFileError(
                f"{path}, line 1: {explain_csv_error(error)}. Name the columns in the first line."
            ) from error
        if self._damaged:
            raise PostsFileError(f"{path}, line 1: {NOT_UTF8}.")
        if len(names) > MAX_COLUMNS:
            raise PostsFileError(
                f"{path}, line 1: it names {len(names):,} columns, more than {MAX_COLUMNS:,}. Remove those that no "
                "import uses."
            )
        self.columns = self._reader.fieldnames = _normalize_names(names)

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (where it is, the row by column), in order."""
        while True:
            self._text.size, self._damaged = 0, False
            try:
                row = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                self._note_bad(explain_csv_error(error))
                continue
            if self._damaged:
                self._note_bad(NOT_UTF8)
            elif None in row or None in row.values():
                self._note_bad("it has more or fewer cells than the header")
            else:
                yield f"{self.path}, line {self._text.number}", row

    @property
    def size(self) -> int:
        """Bytes of the last row."""
        return self._text.size

    def _decode_lines(self, source: Iterator[tuple[int, bytes | None]]) -> Iterator[tuple[int, str | None]]:
        """Yield the lines as text; `_damaged` says that one of a row was not UTF-8."""
        for number, line in source:
            if line is None:
                yield number, None
                continue
            try:
                text = line.decode("utf-8-sig")
            except UnicodeDecodeError:
                text, self._damaged = line.decode("utf-8-sig", "replace"), True
            yield number, text.replace("\0", "\ufffd") if "\0" in text else text

    def _note_bad(self, why: str) -> None:
        self.trouble.add(f"{self.path}, line {self._text.number}", why)


def _detect_separator(first: bytes) -> str:
    """Return what stands between the cells of a file, by its header."""
    line = first.splitlines()[0].decode("utf-8-sig", "replace")

    def fits(mark: str) -> int:
        cells = {name.strip().lower() for cells in csv.reader([line], delimiter=mark) for name in cells}
        return len(cells & set(NEEDED))

    return max(BETWEEN, key=fits)


def _normalize_names(names: list[str]) -> list[str]:
    """Return the names of columns in lower case, but where two would then be the same."""
    low = [name.strip().lower() for name in names]
    return [plain if low.count(plain) == 1 else name for name, plain in zip(names, low, strict=True)]
