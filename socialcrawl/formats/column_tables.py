"""Tables of links, accounts or results as people have them: Parquet, CSV, tabs or blanks, with column names or without.

What a file is, is read off its first bytes, never off its name; all but Parquet may be compressed with gzip. Lines that
begin with # or % are remarks. Everything comes as text: `importers.account_cells` says what it means.
"""

import csv
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from socialcrawl.errors import PostsFileError
from socialcrawl.formats.csv_files import NOT_UTF8
from socialcrawl.formats.documents import explain_unreadable
from socialcrawl.formats.lines import (
    NO_END,
    UNREADABLE,
    LineErrors,
    describe_too_long,
    explain_csv_error,
    open_bytes,
    peek_bytes,
    read_lines,
)
from socialcrawl.formats.parquet import PARQUET, open_parquet
from socialcrawl.system.bounds import MAX_BATCH, MAX_ROW
from socialcrawl.text.wording import pluralize

CHUNK = 50_000  # rows that are read together
BETWEEN = ("\t", ",", ";", " ")  # what stands between cells; the first that fits. " ": any number of blanks
REMARKS = ("#", "%")
EXACT = 2**53  # a float from there on may have been another whole number
Cell = str | None


@dataclass(frozen=True, slots=True)
class CellTable:
    """A table.

    Attributes:
        path: its file.
        names: of its columns, in lower case; None: it names none.
        chunks: its rows, some at a time: (their lines, their cells column by column); all of one width.
    """

    path: Path
    names: list[str] | None
    chunks: Iterator[tuple[Sequence[int], list[list[Cell]]]]

    def describe_row(self, line: int) -> str:
        """Return the place of a row, for messages."""
        return f"{self.path}, line {line}"


@contextmanager
def open_table(
    path: Path, words: Collection[str], trouble: LineErrors, legal: Callable[[str], bool] = lambda _: True
) -> Iterator[CellTable | None]:
    """Open the table in a file; None where the file has JSON lines.

    Args:
        path: the file.
        words: names of columns by which a first line is known to be one.
        trouble: what lines that cannot be read are added to.
        legal: whether a cell can be an account; what stands between cells is whatever makes such cells.

    Raises:
        PostsFileError: the file is missing, damaged or of no known kind.
    """
    try:
        with path.open("rb") as file:
            begin = file.read(len(PARQUET))
        if begin == PARQUET:
            with open_parquet(path, trouble) as found:
                yield CellTable(path, [name.lower() for name in found.names], found.read_rows(CHUNK, _convert_texts))
            return
        with open_bytes(path, begin) as file:
            first = peek_bytes(file)
            if first.startswith(b"{"):
                yield None
                return
            if b"\0" in first[:4096] or not first:
                raise PostsFileError(
                    f"{path} {'is of no known kind' if first else 'is empty'}: give Parquet, CSV, or text with an "
                    "account or a link a line."
                )
            yield _open_text(path, file, words, trouble, legal)
    except UNREADABLE as error:
        raise PostsFileError(
            f"{explain_unreadable(path, error)}: name a file, and check that it is complete."
        ) from error


def _open_text(
    path: Path, file: IO[bytes], words: Collection[str], trouble: LineErrors, legal: Callable[[str], bool]
) -> CellTable:
    rows = _TextRows(path, file, trouble, words, legal)
    names = rows.read_header(words)
    return CellTable(path, names, rows.read_chunks(None if names is None else len(names)))


class _TextRows:
    """The rows of a text, as (number of the line, its cells)."""

    def __init__(
        self, path: Path, file: IO[bytes], trouble: LineErrors, words: Collection[str], legal: Callable[[str], bool]
    ) -> None:
        self.path, self.trouble = path, trouble
        self._held = 0  # characters since a chunk began
        self._number = self._size = 0  # of the last line; characters since a row began
        self._texts = self._decode_lines(file)
        head = list(islice(self._texts, 2))
        self._mark = _detect_separator([text for _, text in head], words, legal)
        self._rows = self._split(head)

    def read_header(self, words: Collection[str]) -> list[str] | None:
        """Return the names of the columns, where the first line has them."""
        first, second = next(self._rows, None), next(self._rows, None)
        if first is not None and _has_names(first[1], second[1] if second else [], words):
            self._rows = chain([second] if second else [], self._rows)
            return [(name or "").lower() for name in first[1]]
        self._rows = chain([row for row in (first, second) if row], self._rows)
        return None

    def read_chunks(self, width: int | None) -> Iterator[tuple[Sequence[int], list[list[Cell]]]]:
        """Yield the rows of one width, that of the first where none is given; others are noted."""
        while some := self._read_some():
            width = len(some[0][1]) if width is None else width
            kept = [one for one in some if len(one[1]) == width or self._note_unfit(*one, width)]
            if kept:
                numbers, rows = zip(*kept, strict=True)
                yield numbers, [list(column) for column in zip(*rows, strict=True)]

    def _read_some(self) -> list[tuple[int, list[Cell]]]:
        """Return the next rows: `CHUNK`, or fewer if they are long; none at the end."""
        some = list(islice(self._rows, CHUNK))
        if self._held > MAX_BATCH:  # then no more rows came, though there may be some
            self._rows = self._split([])
        self._held = 0
        return some

    def _note_unfit(self, number: int, row: list[Cell], width: int) -> bool:
        """Note a row of another width; False, as it is left out."""
        self._note_bad(number, f"it has {pluralize(len(row), 'cell')}, others have {width:,}")
        return False

    def _decode_lines(self, file: IO[bytes]) -> Iterator[tuple[int, str]]:
        """Yield the lines that say something, with their numbers."""
        for number, raw in read_lines(self.path, file, MAX_ROW):
            if raw is None:
                self._note_bad(number, describe_too_long(MAX_ROW))
                continue
            try:
                text = raw.decode() if number > 1 else raw.decode("utf-8-sig")
                text = text.replace("\0", "\ufffd") if "\0" in text else text
            except UnicodeDecodeError:
                self._note_bad(number, NOT_UTF8)
                continue
            if (bare := text.strip()) and not bare.startswith(REMARKS):
                yield number, text

    def _split(self, head: list[tuple[int, str]]) -> Iterator[tuple[int, list[Cell]]]:
        texts = chain(head, self._texts)
        if self._mark is None or self._mark == " ":
            for number, text in texts:
                bare = text.strip()
                self._held += len(bare)
                yield number, [bare.strip('"')] if self._mark is None else [*bare.split()]
                if self._held > MAX_BATCH:
                    return
            return
        reader = self._make_reader(texts)
        while True:
            try:
                row = next(reader, None)
            except csv.Error as error:
                self._note_bad(self._number, explain_csv_error(error))
                reader, row = self._make_reader(texts), []
            if row is None:
                return
            self._held += self._size
            self._size = 0
            if row:
                yield self._number, [cell.strip() or None for cell in row]
                if self._held > MAX_BATCH:
                    return

    def _make_reader(self, texts: Iterator[tuple[int, str]]) -> Iterator[list[str]]:
        return csv.reader(self._note_errors(texts), strict=True, delimiter=self._mark or ",")

    def _note_errors(self, texts: Iterator[tuple[int, str]]) -> Iterator[str]:
        for self._number, text in texts:
            self._size += len(text)
            if self._size > MAX_ROW:
                raise csv.Error(NO_END)
            yield text

    def _note_bad(self, number: int, why: str) -> None:
        self.trouble.add(f"{self.path}, line {number}", why)


def _detect_separator(lines: Sequence[str], words: Collection[str], legal: Callable[[str], bool]) -> str | None:
    """Return what stands between the cells of some lines; None: each line is one cell."""
    for mark in BETWEEN:
        rows = [_split_cells(line, mark) for line in lines]
        pairs = [row[:2] for row in rows if len(row) > 1]
        if (pairs and _is_known(rows[0], words)) or any(legal(one) and (legal(two) or not two) for one, two in pairs):
            return mark
    return None


def _split_cells(line: str, mark: str) -> list[str]:
    if mark == " ":
        return line.split()
    try:
        return next(csv.reader([line], delimiter=mark), [])
    except csv.Error:
        return []


def _is_known(row: Sequence[Cell], words: Collection[str]) -> bool:
    return any((cell or "").strip().lower() in words for cell in row)


def _has_names(first: Sequence[Cell], second: Sequence[Cell], words: Collection[str]) -> bool:
    """Return whether the first row has names of columns: words that are known, or none of the numbers of the second."""
    if _is_known(first, words):
        return True
    numbers = bool(second) and all((cell or "").isdigit() for cell in second[:2])
    return numbers and not any((cell or "").isdigit() for cell in first[:2])


def _convert_texts(column: Any) -> list[Cell]:
    """Return the cells of a column of Parquet as text."""
    import pyarrow as pa  # noqa: PLC0415  # as above

    if pa.types.is_integer(column.type):
        return column.cast(pa.string()).to_pylist()  # type: ignore[no-any-return]
    return [_convert_text(value) for value in column.to_pylist()]


def _convert_text(value: Any) -> Cell:
    if value is None or value == "" or value != value:  # noqa: PLR0124  (what is no number is not itself)
        return None
    if isinstance(value, float) and abs(value) < EXACT and value == int(value):
        return str(int(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else str(value)
