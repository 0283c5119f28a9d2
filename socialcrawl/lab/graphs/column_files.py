"""Parquet and CSV files as columns, opened with errors that a user can fix."""

from pathlib import Path
from typing import Any

import numpy as np

from socialcrawl.errors import PostsFileError, SettingsError
from socialcrawl.formats.csv_files import CsvTable
from socialcrawl.formats.lines import GZIP, UNREADABLE, LineErrors, check_packed, open_bytes
from socialcrawl.formats.parquet import read_table


def read_parquet(path: Path) -> Any:
    """Return a Parquet file as a pyarrow.Table.

    Raises:
        SettingsError: there is no such file, or it cannot be read.
    """
    return _open_table(path, read_table)


def read_csv(path: Path) -> Any:
    """Return a CSV file with a header as a pyarrow.Table of text columns.

    Raises:
        SettingsError: there is no such file, or it cannot be read.
    """
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import csv  # noqa: PLC0415

    def reader(file: Path) -> Any:
        check_packed(file)
        with csv.open_csv(file) as opened:
            types = dict.fromkeys(opened.schema.names, pa.string())
        options = csv.ConvertOptions(column_types=types, strings_can_be_null=False)
        return csv.read_csv(file, convert_options=options)

    return _open_table(path, reader)


def describe_missing_columns(path: Path, table: Any, needed: tuple[str, ...]) -> SettingsError:
    """Return the complaint that a table has not the columns it needs."""
    found = ", ".join(table.column_names) or "none"
    return SettingsError(
        f"{path} needs the columns {', '.join(needed)}; it has {found}. Rename the columns of the file."
    )


def read_strings(table: Any, name: str) -> Any:
    """Return a column as one array of strings, whatever plain type it was; null stays null.

    Raises:
        SettingsError: the column holds what is no text, such as lists.
    """
    import pyarrow as pa  # noqa: PLC0415

    try:
        return table.column(name).cast(pa.large_string()).combine_chunks()
    except pa.ArrowException as error:
        kind = table.schema.field(name).type
        raise SettingsError(f"The column {name} has the type {kind}; give text (or numbers, as names).") from error


def read_node_names(path: Path, table: Any, name: str) -> Any:
    """Return a column of names of nodes, as of `read_strings`.

    Raises:
        SettingsError: the column holds what is no text, or a name is empty.
    """
    column = read_strings(table, name)
    empty = column.fill_null("").to_numpy(zero_copy_only=False) == ""
    if empty.any():
        row = int(np.argmax(empty)) + 1
        raise SettingsError(f"{path}, row {row}: {name} is empty; name a node or leave the row out.")
    return column


def _open_table(path: Path, reader: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    if not path.is_file():
        raise SettingsError(f"There is no file {path}; give the path of a file.")
    try:
        return reader(path)
    except PostsFileError as error:
        raise SettingsError(str(error)) from error
    except (pa.ArrowException, *UNREADABLE) as error:
        if reader is not read_table and (bad := _find_bad_row(path)):
            raise SettingsError(f"{bad}. Correct the row, or remove it.") from error
        raise SettingsError(f"{path} cannot be read: {str(error).splitlines()[0]}. Check the file's format.") from error


def _find_bad_row(path: Path) -> str | None:
    """Return the first row of a CSV file that cannot be read, and why, by the reader of imports.

    None where it finds none.
    """
    trouble = LineErrors()
    try:
        with path.open("rb") as raw:
            begin = raw.read(len(GZIP))
        with open_bytes(path, begin) as file:
            for _ in CsvTable(path, file, b",", trouble):
                if trouble.count:
                    break
    except PostsFileError as error:
        return str(error).removesuffix(".")
    except UNREADABLE:
        return None
    return trouble.first[0] if trouble.count else None


READERS = {".parquet": read_parquet, ".pq": read_parquet, ".csv": read_csv}
"""What reads a file of tables, by its ending."""
