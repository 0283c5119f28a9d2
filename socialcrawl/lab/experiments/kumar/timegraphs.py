"""Time graphs: links that arrive at an instant (Kumar et al., section III), and what a window shows of them."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.graphs.column_files import csv_table, lacking, parquet_table, strings

COLUMNS = (("source", "target", "time"), ("src", "dst", "ts"), ("a", "b", "ts"))
DAY = 86_400.0

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TimeGraph:
    """n nodes and m links with timestamps, parallel ones included, as compressed sparse rows of out-links.

    Attributes:
        indptr: int64[n + 1]; the links of node u are places `indptr[u]` to `indptr[u + 1]`, in order of time.
        targets: int64[m], where they go; never to the node itself.
        times: float64[m], when they arrived, in seconds.
        order: int64[m], the places of all links in order of time.
        own: how many links of nodes to themselves were given, and left out.
    """

    indptr: Ints
    targets: Ints
    times: Floats
    order: Ints
    own: int = 0

    @property
    def size(self) -> int:
        """The number of nodes, n."""
        return len(self.indptr) - 1

    @property
    def links(self) -> int:
        """The number of links, m."""
        return len(self.targets)

    @property
    def begin(self) -> float:
        """When the first link arrived."""
        return float(self.times[self.order[0]])

    @property
    def end(self) -> float:
        """When the last link arrived."""
        return float(self.times[self.order[-1]])

    def sources(self) -> Ints:
        """Return the node that each link comes from, int64[m]."""
        return np.repeat(np.arange(self.size), np.diff(self.indptr))

    def out(self, node: int, begin: float, end: float) -> Ints:
        """The targets of the links of `node` that arrived from `begin` to `end`, both included, in order of time."""
        low, high = int(self.indptr[node]), int(self.indptr[node + 1])
        own = self.times[low:high]
        return self.targets[low + np.searchsorted(own, begin) : low + np.searchsorted(own, end, side="right")]


def time_graph(sources: Ints, targets: Ints, times: Floats, size: int) -> TimeGraph:
    """Return the time graph of m links among `size` nodes; links of a node to itself are left out.

    Args:
        sources: int64[m], 0 to size - 1.
        targets: int64[m], likewise.
        times: float64[m], seconds, finite.
        size: n.

    Raises:
        SettingsError: no link is left.
    """
    kept = sources != targets
    sources, targets, times = sources[kept], targets[kept], times[kept]
    if not len(sources):
        raise SettingsError("the time graph has no links between different nodes; give a file or a span that has some.")
    rows = np.lexsort((times, sources))  # stable: links of one instant stay in the order given
    indptr = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=size))]).astype(np.int64)
    sorted_times = np.asarray(times[rows], np.float64)
    order = np.argsort(sorted_times, kind="stable")
    own = int(np.count_nonzero(~kept))
    return TimeGraph(indptr, np.asarray(targets[rows], np.int64), sorted_times, order, own)


def read_times(path: Path) -> TimeGraph:
    """Return the time graph of a file, Parquet or CSV, with columns a, b, ts (or src, dst, ts.

    Or source, target, time).

    Nodes are called by any text and numbered in the order of their names' first appearance: sources first, then
    targets that are no sources. Times are numbers of seconds, from whenever; or, throughout, ISO times or Parquet's own
    timestamps, which become seconds since 1970 and are UTC where they name no offset. Other columns are not looked at.

    Raises:
        SettingsError: the file cannot be read, lacks a column, or has a row without a node or without a time.
    """
    read = csv_table if path.suffix.lower() == ".csv" else parquet_table
    table = read(path)
    names = next((some for some in COLUMNS if set(some) <= set(table.column_names)), None)
    if names is None:
        raise lacking(path, table, COLUMNS[-1])
    ends = [_named(path, table, name) for name in names[:2]]
    count, sources, targets = numbered(*ends)
    return time_graph(sources, targets, _times(path, table, names[2]), count)


def within(graph: TimeGraph, begin: float, end: float) -> TimeGraph:
    """Return the part of a time graph whose links arrived from `begin` to `end`, both included.

    Nodes without any are gone.

    Raises:
        SettingsError: there is no link in that span.
    """
    kept = (graph.times >= begin) & (graph.times <= end)
    sources, targets = graph.sources()[kept], graph.targets[kept]
    nodes, places = np.unique(np.concatenate([sources, targets]), return_inverse=True)
    ends = places.reshape(2, -1).astype(np.int64)
    return time_graph(ends[0], ends[1], graph.times[kept], len(nodes))


def plain(graph: TimeGraph) -> KnownGraph:
    """Return the fixed graph of all links ever: each link once, of weight 1; no values (Kumar et al., section II)."""
    links = np.unique(graph.sources() * graph.size + graph.targets)
    indptr = np.searchsorted(links, np.arange(graph.size + 1) * graph.size)
    return KnownGraph(indptr, links % graph.size, np.ones(len(links)), np.zeros(graph.size))


def _named(path: Path, table: Any, name: str) -> Any:
    column = strings(table, name)
    empty = column.fill_null("").to_numpy(zero_copy_only=False) == ""
    if empty.any():
        row = int(np.argmax(empty)) + 1
        raise SettingsError(f"{path}, row {row}: {name} is empty; name a node or leave the row out.")
    return column


def numbered(sources: Any, targets: Any) -> tuple[int, Ints, Ints]:
    """Return how many nodes two arrays of names have, and their numbers, in the order of first appearance."""
    import pyarrow as pa  # noqa: PLC0415

    coded = pa.concat_arrays([sources, targets]).dictionary_encode()
    ends = coded.indices.to_numpy().astype(np.int64).reshape(2, -1)
    return len(coded.dictionary), ends[0], ends[1]


def _times(path: Path, table: Any, name: str) -> Floats:
    import pyarrow as pa  # noqa: PLC0415

    try:
        times = moments(table.column(name))
    except pa.ArrowException as error:
        complaint = str(error).split(". ")[0].rstrip(".")
        raise SettingsError(
            f"{path}: {name} is no time ({complaint}); give numbers of seconds since 1970, or ISO times such as "
            "2012-07-04T12:00:00Z, all with an offset or all without."
        ) from error
    if not np.isfinite(times).all():
        row = int(np.argmin(np.isfinite(times))) + 1
        raise SettingsError(f"{path}, row {row}: {name} is no instant; give seconds, or leave the row out.")
    return times


def moments(column: Any) -> Floats:
    """Return the times of a column, read as its first one can be; NaN where there is none.

    Raises:
        pyarrow.ArrowException: one is no time, or differs from the first: the complaint is about that one.
    """
    import pyarrow as pa  # noqa: PLC0415

    for read in (_seconds, partial(_instants, zone=None), partial(_instants, zone="UTC")):
        try:
            read(column.slice(0, 1))
        except pa.ArrowException:
            continue
        return read(column)
    return _seconds(column.slice(0, 1))  # which says what is wrong with it


def _seconds(column: Any) -> Floats:
    """Return numbers, or text that stands for numbers, as float64[m]; NaN where there is none."""
    import pyarrow as pa  # noqa: PLC0415

    return np.asarray(column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(), np.float64)


def _instants(column: Any, zone: str | None) -> Floats:
    """Timestamps, or ISO times with an offset (`zone` UTC) or without one (None), as seconds since 1970, float64[m]."""
    import pyarrow as pa  # noqa: PLC0415

    parts = column.cast(pa.timestamp("ns", zone)).cast(pa.int64())
    whole, rest = np.divmod(parts.fill_null(0).to_numpy(), 10**9)
    return np.where(parts.is_null().to_numpy(), np.nan, whole + rest / 1e9)
