"""Tables of our own exports as parts of a dataset: JSON lines with columns, rows about nobody, tables without accounts.

A search has links too, to the authors that it found, and picks of its own: it is no account. Neither is whoever was
forgotten, of whom the tables keep a row without a name.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import orjson

from socialcrawl.errors import PostsFileError
from socialcrawl.formats.column_tables import CHUNK, Cell, CellTable
from socialcrawl.formats.lines import LineErrors, describe_too_long, open_bytes, peek_bytes, read_lines
from socialcrawl.system.bounds import MAX_BATCH, MAX_ROW

PACKAGE, FORMATS = "datapackage.json", ("parquet", "csv", "jsonl")  # of an export
OURS = ({"source_account", "target_account"}, {"node", "account"})  # columns by which JSON lines are a table of ours
WITHOUT = (
    {"campaign", "post", "occurrences"},
    {"campaign", "endpoint", "part"},
    {"campaign", "n", "estimator"},
    {"campaign", "first", "settings"},
)
"""Columns of hits, requests, shadows and versions, which name nobody."""
HEAD = 200  # bytes of a text that hold the names of the columns of such a table
INSTEAD = "import the accounts, links or posts of the same export instead, as accounts.csv, links.csv or posts.csv"


def find_files(paths: Iterable[Path], tables: Sequence[str]) -> list[Path]:
    """Return the files to import; in place of a folder with an export its `tables`, in the first format that has all.

    Raises:
        PostsFileError: a folder is no export, or lacks one of these tables.
    """
    return [file for path in paths for file in (_find_tables(path, tables) if path.is_dir() else [path])]


def _find_tables(folder: Path, tables: Sequence[str]) -> list[Path]:
    if not tables or not (folder / PACKAGE).is_file():
        raise PostsFileError(f"{folder} is a folder, not an export: name the files in it, such as {folder / '*.csv'}.")
    for form in FORMATS:
        files = [folder / f"{table}.{form}" for table in tables]
        if all(file.is_file() for file in files):
            return files
    wanted = " and ".join(f"{table}.csv" for table in tables)
    raise PostsFileError(f"The export {folder} lacks {wanted} (or .jsonl, .parquet): name the files to import.")


def check_names(path: Path, names: Sequence[str] | None) -> None:
    """Refuse a table of ours that has no accounts.

    Raises:
        PostsFileError: the columns are those of such a table.
    """
    if any(wanted <= set(names or ()) for wanted in WITHOUT) and "author" not in (names or ()):
        raise PostsFileError(f"{path} is a table of an export without accounts: {INSTEAD}.")


def check_text(path: Path) -> None:
    """Refuse XML, which is how an export writes the network, and the tables of an export without accounts as CSV.

    Raises:
        PostsFileError: the file begins as one of these.
    """
    try:
        with path.open("rb") as file:
            begin = file.read(HEAD)
    except OSError:
        return  # the reader of posts has the message
    if begin.startswith(b"<?xml"):
        raise PostsFileError(f"{path} is XML, as GEXF and GraphML are, which cannot be imported: {INSTEAD}.")
    check_names(path, begin.decode(errors="replace").partition("\n")[0].rstrip("\r").split(","))


@contextmanager
def open_export_table(path: Path, trouble: LineErrors) -> Iterator[CellTable | None]:
    """Open JSON lines as a table; None where they are no table of an export, or one of posts.

    Args:
        path: the file.
        trouble: what lines that cannot be read are added to.
    """
    with path.open("rb") as file:
        begin = file.read(4)
    with open_bytes(path, begin) as file:
        first = next((record for _, record in read_objects(path, file, LineErrors())), None)
    names = [name.lower() for name in first or ()]
    if any(wanted <= set(names) for wanted in WITHOUT):
        check_names(path, names)
    if first is None or not any(wanted <= set(names) for wanted in OURS):
        yield None
        return
    with open_bytes(path, begin) as file:
        peek_bytes(file)
        yield CellTable(path, names, _read_chunks(path, file, list(first), trouble))


def _read_chunks(
    path: Path, file: IO[bytes], names: list[str], trouble: LineErrors
) -> Iterator[tuple[Sequence[int], list[list[Cell]]]]:
    numbers: list[int] = []
    rows: list[list[Cell]] = []
    size = 0
    for number, record in read_objects(path, file, trouble):
        numbers.append(number)
        rows.append([_convert_cell(record.get(name)) for name in names])
        size += sum(len(cell or "") for cell in rows[-1])
        if len(rows) >= CHUNK or size > MAX_BATCH:
            yield numbers, [list(column) for column in zip(*rows, strict=True)]
            numbers, rows, size = [], [], 0
    if rows:
        yield numbers, [list(column) for column in zip(*rows, strict=True)]


def read_objects(path: Path, file: IO[bytes], trouble: LineErrors) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of JSON lines, with the numbers of their lines; lines that hold none are noted."""
    for number, raw in read_lines(path, file, MAX_ROW):
        why = describe_too_long(MAX_ROW) if raw is None else ""
        if raw is not None:
            bare = raw.removeprefix(b"\xef\xbb\xbf").strip()
            if not bare:
                continue
            try:
                record = orjson.loads(bare)
            except orjson.JSONDecodeError as error:
                why = f"it is not JSON: {error}"
            else:
                if isinstance(record, dict):
                    yield number, record
                    continue
                why = "it is not a JSON object"
        trouble.add(f"{path}, line {number}", why)


def _convert_cell(value: Any) -> Cell:
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else orjson.dumps(value).decode()
