"""Opening a file of posts, whatever it is, and reading it piece by piece: a file may be larger than the memory.

What a file is, is read off its first bytes, never off its name: Parquet, JSON lines or CSV, the latter two also
compressed with gzip. Each line of a JSON lines file says by itself which form it has.
"""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import orjson

from socialcrawl.errors import PostsFileError
from socialcrawl.imports.cells import Rows
from socialcrawl.imports.columns import NEEDED, page_of
from socialcrawl.imports.trouble import Trouble
from socialcrawl.imports.tweets import JUNK, Tweets, line_of
from socialcrawl.relevance import Hits
from socialcrawl.store.imports.found import Found

CHUNK = 1000  # posts stored together
GZIP, PARQUET = b"\x1f\x8b", b"PAR1"
NUL = b"\\u0000"  # how JSON writes the one character that databases refuse


def read(path: Path, count: Hits, trouble: Trouble, *, keep: bool = False) -> Iterator[Found]:
    """The posts of a file, in its order, some at a time.

    Args:
        path: the file.
        count: occurrences of the topic in a post, by text, language and time.
        trouble: what lines that cannot be read are added to.
        keep: whether X's own JSON of each post is kept.

    Raises:
        PostsFileError: the file is missing, is none of the known kinds, or lacks a column.
    """
    try:
        with path.open("rb") as file:
            begin = file.read(len(PARQUET))
        if begin == PARQUET:
            yield from _parquet(path, count, trouble)
            return
        with opened(path, begin) as file:
            first = file.peek(65536).removeprefix(b"\xef\xbb\xbf").lstrip()  # type: ignore[attr-defined]
            if first.startswith(b"{"):
                yield from _lines(path, file, count, trouble, keep=keep)
            else:
                yield from _csv(path, file, first, count, trouble)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PostsFileError(f"{path} cannot be read ({reason}): name a file of posts.") from error


@contextmanager
def opened(path: Path, begin: bytes) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked where they are compressed with gzip; `begin` are its first ones."""
    with path.open("rb") as raw:
        if not begin.startswith(GZIP):
            yield raw
            return
        with gzip.open(raw) as file:
            yield file  # type: ignore[misc]


def _lines(path: Path, file: IO[bytes], count: Hits, trouble: Trouble, *, keep: bool) -> Iterator[Found]:
    """JSON lines: X's in any of their forms, or rows with columns; both may stand in one file."""
    tweets, rows = Tweets(count, trouble, keep), list[tuple[str, Any]]()
    for number, raw in enumerate(file, 1):
        where, text = f"{path}, line {number}", raw.removeprefix(b"\xef\xbb\xbf").strip()
        if not text:
            continue
        try:
            given = orjson.loads(text)
            given = _without_nul(given) if NUL in text else given
            line = line_of(given)
        except JUNK as error:
            trouble.add(where, "it is damaged JSON" if isinstance(error, orjson.JSONDecodeError) else _what(error))
            continue
        if line is not None:
            yield from _rows(rows, count, trouble)
            yield from tweets.add(where, line, CHUNK)
        elif "author" in given:
            yield from tweets.flush()
            rows.append((where, given))
            if len(rows) >= CHUNK:
                yield from _rows(rows, count, trouble)
        else:
            trouble.add(where, "it is no post: neither X's JSON nor author, created_at, text")
    yield from tweets.flush()
    yield from _rows(rows, count, trouble)


def _rows(rows: list[tuple[str, Any]], count: Hits, trouble: Trouble) -> Iterator[Found]:
    """The rows that wait, as a page."""
    if rows:
        found = page_of(rows, count, trouble)
        rows.clear()
        yield found


def _csv(path: Path, file: IO[bytes], first: bytes, count: Hits, trouble: Trouble) -> Iterator[Found]:
    if b"\0" in first[:4096] or not first or first.startswith(b"["):
        kind = "is empty" if not first else "is one JSON list" if first.startswith(b"[") else "is of no known kind"
        raise PostsFileError(f"{path} {kind}: give twarc's JSON lines, or Parquet, CSV or JSON lines with columns.")
    cells = Rows(path, file, first, trouble)
    _complete(path, cells.columns)
    rows: list[tuple[str, Any]] = []
    for row in cells:
        rows.append(row)
        if len(rows) >= CHUNK:
            yield from _rows(rows, count, trouble)
    yield from _rows(rows, count, trouble)


def _parquet(path: Path, count: Hits, trouble: Trouble) -> Iterator[Found]:
    import pyarrow as pa  # noqa: PLC0415  # costs 0.1 s, and only readers of Parquet pay it
    from pyarrow import parquet  # noqa: PLC0415

    try:
        with parquet.ParquetFile(path) as file:
            _complete(path, file.schema_arrow.names)
            number = 0
            for some in file.iter_batches(CHUNK):
                rows = [(f"{path}, row {number + i}", row) for i, row in enumerate(some.to_pylist(), 1)]
                number += len(rows)
                yield page_of([(w, _without_nul(row)) for w, row in rows], count, trouble)
    except pa.ArrowException as error:
        raise PostsFileError(f"{path} cannot be read: {str(error).splitlines()[0]}. Check the file.") from error


def _complete(path: Path, columns: list[str]) -> None:
    lacking = [name for name in NEEDED if name not in columns]
    if lacking:
        raise PostsFileError(
            f"{path} lacks the column{'s' * (len(lacking) > 1)} {', '.join(lacking)}; it has "
            f"{', '.join(columns)[:200] or 'none'}. Rename the columns of the file."
        )


def _without_nul(given: Any) -> Any:
    """The same value, its texts without the character that databases refuse."""
    if isinstance(given, str):
        return given.replace("\0", "\ufffd") if "\0" in given else given
    if isinstance(given, dict):
        return {_without_nul(key): _without_nul(value) for key, value in given.items()}
    if isinstance(given, list):
        return [_without_nul(value) for value in given]
    return given


def _what(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else f"it is damaged: {error}"
