"""A file of posts, read into columns: Parquet, CSV or JSON lines, told by what is in it, as imports do.

CSV is read by the same reader as in imports: commas, semicolons or tabs, names of columns in any case. The columns
`author, created_at, text` are needed; `id, mentions, reply_to, lang` are used where they exist.

- `created_at`: Unix seconds (whole or not), ISO 8601 text (UTC where it names no zone), or a Parquet timestamp.
- `mentions`: a list of names; in CSV a JSON list or names separated by spaces, commas or semicolons. Without the
  column, the names are read from `@name` in the text.
- `reply_to`: a post id of this file, or else the name of the author who is answered; the id of a post that the file
  lacks answers nobody.

Names are compared without case everywhere; `fold_name` is that comparison.
"""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import PostsFileError
from socialcrawl.formats.csv_files import NEEDED, check_columns, open_posts
from socialcrawl.formats.lines import (
    UNREADABLE,
    LineErrors,
    check_packed,
    describe_too_long,
    open_bytes,
    peek_bytes,
    read_lines,
)
from socialcrawl.formats.parquet import PARQUET, read_table
from socialcrawl.system.bounds import MAX_LINE

READ = (*NEEDED, "id", "reply_to", "lang", "mentions")  # of the columns of a CSV file
# Post ids are milliseconds in 41 bits from 2010 on, so later times have none; milliseconds by mistake fall out too.
LATEST = 3_471_292_800  # 2080-01-01

LONGEST_NAME = 15  # characters of a username on X

_TEXTS = ("string", "large_string", "string_view")
_AT_NAME = re.compile(r"(?<!\w)@(\w+)")
_BETWEEN_NAMES = re.compile(r"[\s,;]+")


@dataclass(frozen=True)
class Posts:
    """Posts as columns of one length n, in the order of the file.

    Attributes:
        authors: n names, in the spelling of the file, without a leading @.
        created_at: int64[n], Unix seconds.
        texts: n texts.
        mentioned: the names of all mentions, post after post.
        mention_offsets: int64[n + 1]; post i mentions `mentioned[mention_offsets[i]:mention_offsets[i + 1]]`.
        ids: n ids, all different, or None.
        reply_to: n post ids or author names, None where a post is no reply; or None.
        lang: n language codes, or None.
    """

    authors: list[str]
    created_at: NDArray[np.int64]
    texts: list[str]
    mentioned: list[str]
    mention_offsets: NDArray[np.int64]
    ids: list[str] | None = None
    reply_to: list[str | None] | None = None
    lang: list[str] | None = None

    def __len__(self) -> int:
        return len(self.authors)

    def list_mentions(self, row: int) -> list[str]:
        """Return the names that the post in this row (0-based) mentions, in the spelling of the file."""
        return self.mentioned[self.mention_offsets[row] : self.mention_offsets[row + 1]]

    def number_accounts(self) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """Return how many accounts there are, and their numbers: int64[n] of `authors`, and of `mentioned`.

        Accounts are numbered by first appearance, all authors before those who are only mentioned; names are compared
        without case.
        """
        number: dict[str, int] = {}
        authors, mentioned = (
            np.array([number.setdefault(fold_name(name), len(number)) for name in names], np.int64)
            for names in (self.authors, self.mentioned)
        )
        return len(number), authors, mentioned


def fold_name(name: str) -> str:
    """Return the form of a username in which two spellings of one account are equal."""
    return name.lower()


def read_posts(path: Path | str) -> Posts:
    """Return the posts of a file: Parquet, CSV or JSON lines; the text ones also compressed with gzip.

    Raises:
        PostsFileError: the file is missing or unreadable, lacks columns or rows, or has a bad cell (named by row).
    """
    path = Path(path)
    table = _read_table(path)
    found = table.column_names
    check_columns(path, found)
    if not table.num_rows:
        raise PostsFileError(f"{path} has no rows; give a file with at least one post.")
    texts = [text or "" for text in _read_strings(table, "text")]
    mentioned, offsets = _read_mentions(path, table, texts)
    lang = _read_strings(table, "lang") if "lang" in found else None
    ids = _read_ids(path, table) if "id" in found else None
    return Posts(
        authors=_read_authors(path, table),
        created_at=_read_times(path, table.column("created_at")),
        texts=texts,
        mentioned=mentioned,
        mention_offsets=offsets,
        ids=ids,
        reply_to=_read_replies(_read_strings(table, "reply_to"), ids) if "reply_to" in found else None,
        lang=None if lang is None else [code or "und" for code in lang],
    )


def _read_table(path: Path) -> Any:
    import pyarrow as pa  # noqa: PLC0415  # costs 0.1 s, and only readers of files pay it

    if not path.is_file():
        what = f"{path} is a folder" if path.is_dir() else f"There is no file {path}"
        raise PostsFileError(f"{what}. Give the path of a Parquet, CSV or JSON lines file.")
    try:
        with path.open("rb") as raw:
            begin = raw.read(len(PARQUET))
        if begin == PARQUET:
            return read_table(path)
        with open_bytes(path, begin) as file:
            first = peek_bytes(file)
            return _read_lines(path, begin) if first.startswith(b"{") else _read_csv(path, file, first)
    except (pa.ArrowException, *UNREADABLE) as error:
        raise PostsFileError(
            f"{path} cannot be read: {str(error).splitlines()[0]}. Check the file's format."
        ) from error


def _read_csv(path: Path, file: IO[bytes], first: bytes) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    trouble = LineErrors()
    rows = open_posts(path, file, first, trouble)
    cells: dict[str, list[str]] = {name: [] for name in rows.columns if name in READ}
    for _, row in rows:
        for name, column in cells.items():
            column.append(row[name])
    if trouble.count:
        raise PostsFileError(f"{trouble.first[0]}. Correct the line, or remove it.")
    return pa.table({name: pa.array(column, pa.large_string()) for name, column in cells.items()})


def _read_lines(path: Path, begin: bytes) -> Any:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import json as arrow_json  # noqa: PLC0415

    check_packed(path)
    try:
        with open_bytes(path, begin) as file:
            return arrow_json.read_json(file, arrow_json.ReadOptions(block_size=MAX_LINE))
    except pa.ArrowException:
        with open_bytes(path, begin) as file:
            for number, raw in read_lines(path, file, MAX_LINE):
                if why := describe_too_long(MAX_LINE) if raw is None else _describe_damage(raw):
                    raise PostsFileError(f"{path}, line {number}: {why}. Correct the line, or remove it.") from None
        raise


def _describe_damage(line: bytes) -> str | None:
    """Return what is wrong with a line of JSON, if anything is."""
    try:
        return None if not line.strip() or isinstance(json.loads(line), dict) else "it is not a JSON object"
    except (ValueError, RecursionError) as error:
        return f"it is damaged JSON: {error}"


def _read_strings(table: Any, name: str) -> list[str]:
    column = table.column(name).cast("large_string").fill_null("")
    values: list[str] = column.to_numpy().tolist()
    return values


def _strip_at(name: str) -> str:
    return name.removeprefix("@")


def _read_authors(path: Path, table: Any) -> list[str]:
    authors = [_strip_at(name) for name in _read_strings(table, "author")]
    for row, author in enumerate(authors, 1):
        if not author:
            raise PostsFileError(f"{path}, row {row}: the author is empty. Name the author or leave the row out.")
    return authors


def _read_ids(path: Path, table: Any) -> list[str]:
    ids = _read_strings(table, "id")
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(i for i in ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise PostsFileError(f"{path} has the id {twice!r} more than once. Leave the repeated rows or the column out.")
    return ids


def _read_replies(cells: list[str], ids: list[str] | None) -> list[str | None]:
    """Return posts or authors that are answered.

    A number too long for a name is a post, and without it nobody is known.
    """
    here = set(ids or ())
    unknown = {cell for cell in cells if cell.isdecimal() and len(cell) > LONGEST_NAME and ids and cell not in here}
    return [None if cell in unknown else _strip_at(cell) or None for cell in cells]


def _read_times(path: Path, column: Any) -> NDArray[np.int64]:
    kind = str(column.type)
    if kind.startswith(("timestamp", "date")):
        seconds = column.cast("timestamp[s]", safe=False).cast("int64").cast("float64")
    elif kind in _TEXTS:
        seconds = _parse_times(column)
    elif kind.startswith(("int", "uint", "float", "double", "decimal")):
        seconds = column.cast("float64", safe=False)
    else:
        raise PostsFileError(
            f"{path}: created_at has the type {kind}. Give Unix seconds, ISO 8601 text or a timestamp."
        )
    values = np.floor(seconds.fill_null(float("nan")).to_numpy())
    bad = np.flatnonzero(~((values >= 0) & (values < LATEST)))
    if len(bad):
        row = int(bad[0])
        raise PostsFileError(
            f"{path}, row {row + 1}: created_at is {column[row].as_py()!r}. "
            "Give Unix seconds or ISO 8601 between 1970 and 2080 (milliseconds are too large)."
        )
    return np.asarray(values, dtype=np.int64)


def _parse_times(column: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    try:
        return column.cast("float64")
    except pa.ArrowInvalid:
        return pa.array([_parse_second(cell) for cell in column.to_pylist()], "float64")


def _parse_second(cell: str | None) -> float | None:
    """Return the Unix second of one cell, or None where it is no time."""
    try:
        moment = datetime.fromisoformat((cell or "").strip())
    except ValueError:
        try:
            return float(cell or "")
        except ValueError:
            return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _read_mentions(path: Path, table: Any, texts: list[str]) -> tuple[list[str], NDArray[np.int64]]:
    if "mentions" not in table.column_names:
        return _join_lists([_AT_NAME.findall(text) if "@" in text else [] for text in texts])
    column = table.column("mentions")
    kind = str(column.type)
    if kind.startswith(("list", "large_list")):
        return _flatten_lists(column)
    if kind in _TEXTS:
        return _join_lists(
            [_parse_names(path, row, cell) for row, cell in enumerate(_read_strings(table, "mentions"), 1)]
        )
    if kind == "null":
        return [], np.zeros(len(texts) + 1, np.int64)
    raise PostsFileError(f"{path}: mentions has the type {kind}. Give lists of names, or text with names.")


def _flatten_lists(column: Any) -> tuple[list[str], NDArray[np.int64]]:
    from pyarrow import compute  # noqa: PLC0415

    lengths = compute.fill_null(compute.list_value_length(column), 0).to_numpy()
    flat = compute.list_flatten(column).cast("large_string").fill_null("").to_numpy().tolist()
    names = [_strip_at(name.strip()) for name in flat]
    rows = np.repeat(np.arange(len(lengths)), lengths)[np.array([bool(name) for name in names], dtype=bool)]
    return [name for name in names if name], _compute_offsets(np.bincount(rows, minlength=len(lengths)))


def _join_lists(rows: list[list[str]]) -> tuple[list[str], NDArray[np.int64]]:
    return [name for row in rows for name in row], _compute_offsets(np.array([len(row) for row in rows]))


def _compute_offsets(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


def _parse_names(path: Path, row: int, cell: str) -> list[str]:
    """Return the names in one cell: a JSON list, or words between separators."""
    if cell.lstrip().startswith("["):
        try:
            words = [str(word) for word in json.loads(cell)]
        except ValueError as error:
            raise PostsFileError(
                f'{path}, row {row}: mentions is not a JSON list: {cell[:60]!r}. Write ["name", ...] or '
                "names with spaces."
            ) from error
    else:
        words = _BETWEEN_NAMES.split(cell)
    return [bare for word in words if (bare := _strip_at(word.strip()))]
