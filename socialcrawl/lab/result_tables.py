"""Tables as columns, and as files: Parquet for what is long, CSV for what is read."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SocialcrawlError

Table = Mapping[str, NDArray[Any]]
"""Columns by name, arrays of one length."""


def join_tables(parts: Sequence[Table]) -> Table:
    """Return the rows of all `parts`, at least one, with the columns of the first; one after the other."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def make_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the columns of some rows, at least one, with the names of the first."""
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def list_rows(columns: Table) -> list[dict[str, Any]]:
    """Return the rows of a table, as plain Python values."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]


def write_parquet(path: Path, columns: Table) -> None:
    """Write a Parquet file, and the folder above it where it is missing.

    Raises:
        SocialcrawlError: it cannot be written.
    """
    from pyarrow import parquet  # noqa: PLC0415

    _write(path, columns, lambda made: parquet.write_table(made, path))


def write_csv(path: Path, columns: Table) -> None:
    """Write a CSV file with a header, and the folder above it where it is missing.

    Raises:
        SocialcrawlError: it cannot be written.
    """
    from pyarrow import csv  # noqa: PLC0415

    _write(path, columns, lambda made: csv.write_csv(made, path))


def _write(path: Path, columns: Table, writer: Callable[[Any], object]) -> None:
    import pyarrow as pa  # noqa: PLC0415

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        writer(pa.table({name: pa.array(column) for name, column in columns.items()}))
    except OSError as error:
        raise SocialcrawlError(f"{path} cannot be written: {error}. Free space or name another folder.") from error
