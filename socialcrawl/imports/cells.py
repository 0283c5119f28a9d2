"""CSV as people have it: with commas, semicolons or tabs, and with column names in any case."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from socialcrawl.errors import PostsFileError
from socialcrawl.imports.columns import NEEDED
from socialcrawl.imports.trouble import Trouble

BETWEEN = (",", ";", "\t")  # what stands between cells; the first that fits
NOT_UTF8 = "it is not UTF-8: save the file as UTF-8"


class Rows:
    """The rows of a CSV file by column; those that cannot be read are noted.

    Args:
        path: the file, for messages.
        file: its bytes, from the beginning.
        first: the first of its bytes, with the whole header.
        trouble: what bad rows are added to.

    Raises:
        PostsFileError: the header is not UTF-8.
    """

    def __init__(self, path: Path, file: IO[bytes], first: bytes, trouble: Trouble) -> None:
        self.path, self.trouble = path, trouble
        self._text = _Text(file)
        self._reader = csv.DictReader(self._text, strict=True, delimiter=_between(first))
        self.columns = _plain(list(self._reader.fieldnames or ()))
        self._reader.fieldnames = self.columns
        if self._text.damaged:
            raise PostsFileError(f"{path}, line 1: {NOT_UTF8}.")

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(where it is, the row by column), in order."""
        while True:
            self._text.damaged = False
            try:
                row = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                self._bad(str(error))
                continue
            if self._text.damaged:
                self._bad(NOT_UTF8)
            elif None in row or None in row.values():
                self._bad("it has more or fewer cells than the header")
            else:
                yield self._where, row

    @property
    def _where(self) -> str:
        return f"{self.path}, line {self._reader.line_num}"

    def _bad(self, why: str) -> None:
        self.trouble.add(self._where, why)


class _Text:
    """The lines of a file as text; `damaged` says that one since it was last set to False was not UTF-8."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.damaged = iter(file), False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._file)
        try:
            text = line.decode("utf-8-sig")
        except UnicodeDecodeError:
            text, self.damaged = line.decode("utf-8-sig", "replace"), True
        return text.replace("\0", "\ufffd")


def _between(first: bytes) -> str:
    """What stands between the cells of a file, by its header."""
    line = first.split(b"\n", 1)[0].decode("utf-8-sig", "replace")

    def fits(mark: str) -> int:
        cells = {name.strip().lower() for cells in csv.reader([line], delimiter=mark) for name in cells}
        return len(cells & set(NEEDED))

    return max(BETWEEN, key=fits)


def _plain(names: list[str]) -> list[str]:
    """The names of columns in lower case, but where two would then be the same."""
    low = [name.strip().lower() for name in names]
    return [plain if low.count(plain) == 1 else name for name, plain in zip(names, low, strict=True)]
