"""Opening a file of posts, whatever it is, and reading it piece by piece: a file may be larger than the memory.

What a file is, is read off its first bytes, never off its name: Parquet, JSON lines or CSV, the latter two also
compressed with gzip. Each line of a JSON lines file says by itself which form it has.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import orjson

from socialcrawl.errors import PostsFileError
from socialcrawl.formats.csv_files import check_columns, open_posts
from socialcrawl.formats.documents import explain_unreadable
from socialcrawl.formats.lines import (
    MARK,
    UNREADABLE,
    LineErrors,
    describe_too_long,
    open_bytes,
    peek_bytes,
    read_lines,
)
from socialcrawl.formats.parquet import PARQUET, open_parquet
from socialcrawl.graph.relevance import Hits
from socialcrawl.importers.post_columns import KNOWN, parse_rows
from socialcrawl.importers.twarc_files import JUNK, TwarcPages, parse_line
from socialcrawl.storage.imports.parsed_page import ParsedPage
from socialcrawl.system.bounds import MAX_BATCH, MAX_CELL, MAX_LINE, MAX_VALUES, is_crowded

CHUNK = 1000  # posts stored together
NUL = b"\\u0000"  # how JSON writes the one character that databases refuse


def count_nothing(text: str, /, *_: str | None) -> int:
    """Return 0, where no topic is counted; see `Hits`."""
    return 0


def read_posts(path: Path, count: Hits, trouble: LineErrors, *, keep: bool = False) -> Iterator[ParsedPage]:
    """Yield the posts of a file, in its order, some at a time.

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
            yield from _read_parquet(path, count, trouble)
            return
        with open_bytes(path, begin) as file:
            first = peek_bytes(file)
            if first.startswith(b"{"):
                yield from _read_lines(path, file, count, trouble, keep=keep)
            else:
                yield from _read_csv(path, file, first, count, trouble)
    except UNREADABLE as error:
        raise PostsFileError(f"{explain_unreadable(path, error)}: name a file of posts.") from error


def _read_lines(path: Path, file: IO[bytes], count: Hits, trouble: LineErrors, *, keep: bool) -> Iterator[ParsedPage]:
    """Read JSON lines: X's in any of their forms, or rows with columns; both may stand in one file."""
    tweets, rows, held = TwarcPages(count, trouble, keep), list[tuple[str, Any]](), 0
    for number, raw in read_lines(path, file, MAX_LINE):
        where, text = f"{path}, line {number}", b"" if raw is None else raw.removeprefix(MARK).strip()
        held = held + len(text) if tweets.lines or rows else len(text)
        if held > MAX_BATCH:  # before the line is parsed
            yield from tweets.flush()
            yield from _parse_rows(rows, count, trouble)
            held = len(text)
        if raw is None:
            trouble.add(where, describe_too_long(MAX_LINE))
        if not text:
            continue
        try:
            given = _parse_json(text)
            line = parse_line(given)
        except (*JUNK, RecursionError) as error:
            trouble.add(where, _describe_error(error))
            continue
        if line is not None:
            yield from _parse_rows(rows, count, trouble)
            yield from tweets.add(where, line, CHUNK)
        elif "author" in given:
            yield from tweets.flush()
            rows.append((where, given))
            if len(rows) >= CHUNK:
                yield from _parse_rows(rows, count, trouble)
        else:
            trouble.add(where, "it is no post: neither X's JSON nor author, created_at, text")
    yield from tweets.flush()
    yield from _parse_rows(rows, count, trouble)


def _parse_json(text: bytes) -> Any:
    """Return the JSON of a line, without the character that databases refuse.

    Raises:
        ValueError: it is damaged, or holds too many values or too long a text.
    """
    if is_crowded(text):
        raise CrowdedError(f"it holds more than {MAX_VALUES:,} values")
    given = orjson.loads(text)
    if len(text) > MAX_CELL and _measure_longest(given) > MAX_CELL:
        raise CrowdedError(f"it holds a text of more than {MAX_CELL:,} characters")
    return _remove_nul(given) if NUL in text else given


class CrowdedError(ValueError):
    """A line that holds too much; `str(error)` says what."""


def _measure_longest(given: Any) -> int:
    """Return the length of the longest text in a value."""
    if isinstance(given, str):
        return len(given)
    if isinstance(given, dict):
        return max((max(len(key), _measure_longest(value)) for key, value in given.items()), default=0)
    return max(map(_measure_longest, given), default=0) if isinstance(given, list) else 0


def _parse_rows(rows: list[tuple[str, Any]], count: Hits, trouble: LineErrors) -> Iterator[ParsedPage]:
    """Yield the rows that wait, as a page."""
    if rows:
        found = parse_rows(rows, count, trouble)
        rows.clear()
        yield found


def _read_csv(path: Path, file: IO[bytes], first: bytes, count: Hits, trouble: LineErrors) -> Iterator[ParsedPage]:
    cells = open_posts(path, file, first, trouble)
    rows: list[tuple[str, Any]] = []
    held = 0
    for row in cells:
        rows.append(row)
        held += cells.size
        if len(rows) >= CHUNK or held >= MAX_BATCH:
            yield from _parse_rows(rows, count, trouble)
            held = 0
    yield from _parse_rows(rows, count, trouble)


def _read_parquet(path: Path, count: Hits, trouble: LineErrors) -> Iterator[ParsedPage]:
    with open_parquet(path, trouble, KNOWN) as found:
        check_columns(path, found.names)
        rows, held = list[tuple[str, Any]](), 0
        for numbers, columns in found.read_rows(CHUNK):
            if held + found.size > MAX_BATCH or len(rows) + len(numbers) > CHUNK:
                yield from _parse_rows(rows, count, trouble)
                held = 0
            cells = (dict(zip(found.chosen, row, strict=True)) for row in zip(*columns, strict=True))
            rows += [(f"{path}, row {n}", _remove_nul(row)) for n, row in zip(numbers, cells, strict=True)]
            held += found.size
        yield from _parse_rows(rows, count, trouble)


def _remove_nul(given: Any) -> Any:
    """Return the same value, its texts without the character that databases refuse."""
    if isinstance(given, str):
        return given.replace("\0", "\ufffd") if "\0" in given else given
    if isinstance(given, dict):
        return {_remove_nul(key): _remove_nul(value) for key, value in given.items()}
    if isinstance(given, list):
        return [_remove_nul(value) for value in given]
    return given


def _describe_error(error: Exception) -> str:
    if isinstance(error, CrowdedError):
        return str(error)
    if isinstance(error, RecursionError):
        return "its values are nested too deeply"
    if isinstance(error, orjson.JSONDecodeError):
        return "it is damaged JSON"
    return f"{error} is missing" if isinstance(error, KeyError) else f"it is damaged: {error}"
