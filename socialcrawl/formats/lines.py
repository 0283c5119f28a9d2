"""The lines of a file, plain or packed with gzip: none longer than a bound, and together not absurdly many bytes.

A line that is too long is passed over in pieces, so that it never is in memory as a whole.

Lines that could not be read are counted, and the first ones are named with their reasons.
"""

import csv
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from typing import IO

from socialcrawl.errors import PostsFileError
from socialcrawl.system.bounds import MAX_GROWTH, MAX_ROW, MAX_UNPACKED
from socialcrawl.text.wording import pluralize

SHOWN = 5  # bad lines that a message names
LONGEST = 300  # characters of a reason: it may quote what stands in a file


@dataclass
class LineErrors:
    """The bad lines so far; `notes` is what else is to be said of the files."""

    count: int = 0
    first: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, place: str, why: str) -> None:
        """Note a bad line: where it is and what is wrong with it."""
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(f"{place}: {why[:LONGEST]}")

    def refuse(self, remedy: str = "Fix the file, or skip such lines with --skip-bad.") -> None:
        """Raise PostsFileError if there are bad lines; `remedy` says what to do."""
        if self.count:
            raise PostsFileError(f"{pluralize(self.count, 'bad line')}, nothing was stored:\n{self}\n{remedy}")

    def __str__(self) -> str:
        more = self.count - len(self.first)
        return "\n".join([*(f"  {line}" for line in self.first), *([f"  and {more:,} more"] if more else [])])


GZIP = b"\x1f\x8b"
PIECE = 65_536  # bytes of a line that is passed over
MARK = b"\xef\xbb\xbf"  # what Windows editors put before UTF-8
UNREADABLE = (OSError, EOFError, zlib.error)
"""What reading a file can raise, packed or not."""


def limit_unpacked(path: Path, least: int = MAX_UNPACKED) -> int:
    """Return the number of bytes that a packed file may unpack to; any may to `least`."""
    return max(least, MAX_GROWTH * path.stat().st_size)


def make_growth_error(path: Path, where: str, least: int = MAX_UNPACKED) -> PostsFileError:
    """Return the error that a file unpacks to more than `limit_unpacked` allows."""
    most = format_size(limit_unpacked(path, least))
    return PostsFileError(
        f"{where}: {path.name} unpacks to more than {most}, which is over {MAX_GROWTH} times its size. Unpack it "
        "yourself if you trust it, and import the result."
    )


def format_size(count: int) -> str:
    """Return a number of bytes as text."""
    return f"{count / 1e6:,.0f} MB" if count >= 1_000_000 else f"{count:,} bytes"


NO_END = f"it is longer than {format_size(MAX_ROW)}: a quotation mark may be left open"
"""What is wrong with a row that goes on and on."""


def describe_too_long(most: int) -> str:
    """Return what is wrong with a line or row of more than `most` bytes."""
    return f"it is longer than {format_size(most)}"


@contextmanager
def open_bytes(path: Path, begin: bytes) -> Iterator[IO[bytes]]:
    """Open a file of bytes, unpacked where it is compressed with gzip.

    Args:
        path: the file.
        begin: its first bytes.
    """
    with path.open("rb") as raw:
        if not begin.startswith(GZIP):
            yield raw
            return
        with gzip.open(raw) as file:
            yield file  # type: ignore[misc]


def peek_bytes(file: IO[bytes]) -> bytes:
    """Return the first bytes of an open file, without mark and blanks before them; it is not read further."""
    begin: bytes = file.peek(PIECE)  # type: ignore[attr-defined]
    return begin.removeprefix(MARK).lstrip()


def read_lines(path: Path, file: IO[bytes] | gzip.GzipFile, most: int) -> Iterator[tuple[int, bytes | None]]:
    """Iterate over (number of the line, the line with its end); None instead of a line of more than `most` bytes.

    Args:
        path: the file, for messages.
        file: its bytes, unpacked.
        most: bytes of a line.

    Raises:
        PostsFileError: the file unpacks to more than it may.
    """
    is_packed = isinstance(file, gzip.GzipFile)
    left = float(limit_unpacked(path)) if is_packed else inf
    read = file.readline
    for number, raw in enumerate(iter(partial(read, most + 1), b""), 1):
        if is_packed:
            left -= len(raw)
        if len(raw) <= most and left >= 0:
            yield number, raw
            continue
        piece = raw
        while left >= 0 and piece and not piece.endswith(b"\n"):
            piece = read(PIECE)
            left -= len(piece)
        if left < 0:
            raise make_growth_error(path, f"{path}, line {number}")
        yield number, None


def check_packed(path: Path) -> None:
    """Refuse a file of gzip that unpacks to more than it may; it is unpacked once for that, and nothing is kept.

    Raises:
        PostsFileError: it does.
        OSError, EOFError, zlib.error: it cannot be read.
    """
    with path.open("rb") as file:
        begin = file.read(len(GZIP))
    if begin.startswith(GZIP):
        left = limit_unpacked(path)
        with gzip.open(path) as file:
            while piece := file.read(PIECE):
                left -= len(piece)
                if left < 0:
                    raise make_growth_error(path, str(path))


class RecordLines:
    """The lines of rows of a table, for `csv.reader`: a row may have several of them, but not endlessly many.

    Attributes:
        number: of the line that was read last.
        size: characters of the row so far; 0 where a row begins.

    Args:
        source: lines with their numbers; None for one that is too long.
    """

    def __init__(self, source: Iterator[tuple[int, str | None]]) -> None:
        self._source = source
        self.number = self.size = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """Return the next line.

        Raises:
            csv.Error: the line or the row is too long.
        """
        self.number, text = next(self._source)
        if text is None:
            raise csv.Error(describe_too_long(MAX_ROW))
        self.size += len(text)
        if self.size > MAX_ROW:
            raise csv.Error(NO_END)
        return text


def explain_csv_error(error: csv.Error) -> str:
    """Return what is wrong with a row that `csv` cannot read."""
    if "field limit" in str(error):
        return f"a cell is longer than {csv.field_size_limit():,} characters: a quotation mark may be left open"
    return str(error)
