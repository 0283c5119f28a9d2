"""Time graphs: links that arrive at an instant (Kumar et al., section III), and what a window shows of them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.graphs.timed_links import read_timed_links

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
        """Return the targets of the links of `node` from `begin` to `end`, both included, in order of time."""
        low, high = int(self.indptr[node]), int(self.indptr[node + 1])
        own = self.times[low:high]
        return self.targets[low + np.searchsorted(own, begin) : low + np.searchsorted(own, end, side="right")]


def build_time_graph(sources: Ints, targets: Ints, times: Floats, size: int) -> TimeGraph:
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
    """Return the time graph of a file of links with times, as of `timed_links.read_timed_links`.

    Raises:
        SettingsError: the file cannot be read, lacks a column, or has a row without a node or without a time.
    """
    found = read_timed_links(path)
    return build_time_graph(found.sources, found.targets, found.times, found.size)


def select_span(graph: TimeGraph, begin: float, end: float) -> TimeGraph:
    """Return the part of a time graph whose links arrived from `begin` to `end`, both included.

    Nodes without any are gone.

    Raises:
        SettingsError: there is no link in that span.
    """
    kept = (graph.times >= begin) & (graph.times <= end)
    sources, targets = graph.sources()[kept], graph.targets[kept]
    nodes, places = np.unique(np.concatenate([sources, targets]), return_inverse=True)
    ends = places.reshape(2, -1).astype(np.int64)
    return build_time_graph(ends[0], ends[1], graph.times[kept], len(nodes))


def build_plain_graph(graph: TimeGraph) -> KnownGraph:
    """Return the fixed graph of all links ever: each link once, of weight 1; no values (Kumar et al., section II)."""
    links = np.unique(graph.sources() * graph.size + graph.targets)
    indptr = np.searchsorted(links, np.arange(graph.size + 1) * graph.size)
    return KnownGraph(indptr, links % graph.size, np.ones(len(links)), np.zeros(graph.size))
