"""Links with times from a file: Parquet or CSV with columns a, b, ts (or src, dst, ts; or source, target, time)."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError
from socialcrawl.lab.graphs.column_files import READERS, describe_missing_columns, read_node_names, read_parquet

COLUMNS = (("source", "target", "time"), ("src", "dst", "ts"), ("a", "b", "ts"))

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TimedLinks:
    """m links with times between nodes 0 to n - 1, in the order of the file.

    Attributes:
        size: n.
        sources: int64[m], where they come from.
        targets: int64[m], where they go; perhaps to the same node.
        times: float64[m], seconds.
    """

    size: int
    sources: Ints
    targets: Ints
    times: Floats


def read_timed_links(path: Path) -> TimedLinks:
    """Return the links of a file, Parquet or CSV.

    Nodes are called by any text and numbered in the order of their names' first appearance: sources first, then
    targets that are no sources. Times are numbers of seconds, from whenever; or, throughout, ISO times or Parquet's own
    timestamps, which become seconds since 1970 and are UTC where they name no offset. Other columns are not looked at.

    Raises:
        SettingsError: the file cannot be read, lacks a column, or has a row without a node or without a time.
    """
    table = READERS.get(path.suffix.lower(), read_parquet)(path)
    found = find_timed_links(path, table)
    if found is None:
        raise describe_missing_columns(path, table, COLUMNS[-1])
    return found


def find_timed_links(path: Path, table: Any) -> TimedLinks | None:
    """Return the links of a table that was read from `path`; None where it has not the columns.

    Raises:
        SettingsError: a row has no node or no time.
    """
    names = next((some for some in COLUMNS if set(some) <= set(table.column_names)), None)
    if names is None:
        return None
    ends = [read_node_names(path, table, name) for name in names[:2]]
    size, sources, targets = _number_nodes(*ends)
    return TimedLinks(size, sources, targets, _read_times(path, table, names[2]))


def _number_nodes(sources: Any, targets: Any) -> tuple[int, Ints, Ints]:
    """Return how many nodes two arrays of names have, and their numbers, in the order of first appearance."""
    import pyarrow as pa  # noqa: PLC0415

    coded = pa.concat_arrays([sources, targets]).dictionary_encode()
    ends = coded.indices.to_numpy().astype(np.int64).reshape(2, -1)
    return len(coded.dictionary), ends[0], ends[1]


def _read_times(path: Path, table: Any, name: str) -> Floats:
    import pyarrow as pa  # noqa: PLC0415

    try:
        times = _parse_times(table.column(name))
    except pa.ArrowException as error:
        complaint = str(error).split(". ")[0].rstrip(".")
        raise SettingsError(
            f"{path}: {name} is not a time ({complaint}); give numbers of seconds since 1970, or ISO times such as "
            "2012-07-04T12:00:00Z, all with an offset or all without."
        ) from error
    if not np.isfinite(times).all():
        row = int(np.argmin(np.isfinite(times))) + 1
        raise SettingsError(f"{path}, row {row}: {name} is not an instant; give seconds, or leave the row out.")
    return times


def _parse_times(column: Any) -> Floats:
    """Return the times of a column, read as its first one can be; NaN where there is none.

    Raises:
        pyarrow.ArrowException: one is no time, or differs from the first: the complaint is about that one.
    """
    import pyarrow as pa  # noqa: PLC0415

    for read in (_parse_seconds, partial(_parse_instants, zone=None), partial(_parse_instants, zone="UTC")):
        try:
            read(column.slice(0, 1))
        except pa.ArrowException:
            continue
        return read(column)
    return _parse_seconds(column.slice(0, 1))  # which says what is wrong with it


def _parse_seconds(column: Any) -> Floats:
    """Return numbers, or text that stands for numbers, as float64[m]; NaN where there is none."""
    import pyarrow as pa  # noqa: PLC0415

    return np.asarray(column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(), np.float64)


def _parse_instants(column: Any, zone: str | None) -> Floats:
    """Return timestamps, or ISO times with an offset (`zone` UTC) or without one (None), as seconds since 1970."""
    import pyarrow as pa  # noqa: PLC0415

    parts = column.cast(pa.timestamp("ns", zone)).cast(pa.int64())
    seconds, rest = np.divmod(parts.fill_null(0).to_numpy(), 10**9)
    return np.where(parts.is_null().to_numpy(), np.nan, seconds + rest / 1e9)
