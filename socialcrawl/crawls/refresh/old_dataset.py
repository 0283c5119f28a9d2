"""The old dataset: a graph of nodes that were there once, its links as compressed sparse rows, and their sites."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.graph.links import find_distinct
from socialcrawl.importance.pagerank_batch import reverse_links

Ints = NDArray[np.int64]
Rows = NDArray[Any]  # int32 where that is enough
NOWHERE = -1  # the site of a node that has none
NOBODY: Ints = np.empty(0, np.int64)


class OldDataset:
    """A graph of n rows, each a node; links are distinct and none goes to its own row.

    Args:
        indptr: int[n + 1]; the links of row u are places `indptr[u]` to `indptr[u + 1]` of `indices`.
        indices: int32[m] (int64 where that is not enough), the rows that they go to.
        nodes: int64[n], the names of the rows, distinct; None: 0 to n - 1.
        sites: int[n], the number of the site of each row (a host, an instance), -1 where it has none; None: no sites.
    """

    def __init__(self, indptr: Rows, indices: Rows, nodes: Ints | None = None, sites: Rows | None = None) -> None:
        self.indptr, self.indices, self.sites = indptr, indices, sites
        self.size = len(indptr) - 1
        self.nodes: Ints = np.arange(self.size) if nodes is None else np.asarray(nodes, np.int64)
        self._plain = nodes is None

    @classmethod
    def of(
        cls, sources: Ints, targets: Ints, size: int, nodes: Ints | None = None, sites: Rows | None = None
    ) -> "OldDataset":
        """Return the graph of these links between `size` rows, in any order.

        Doubled ones and those to itself are dropped.
        """
        return cls(*compress_links(sources, targets, size), nodes, sites)

    @property
    def links(self) -> int:
        """The number of links, m."""
        return len(self.indices)

    @property
    def has_sites(self) -> bool:
        """Whether any node has a site."""
        return self.sites is not None and bool((self.sites != NOWHERE).any())

    def find_rows(self, nodes: Ints) -> Ints:
        """Return the rows of nodes, int64; -1 for those that are not there."""
        if self._plain:
            return np.where((nodes >= 0) & (nodes < self.size), nodes, -1)
        return find_places(self._by_name[0], self._by_name[1], nodes)

    def list_targets(self, row: int) -> Rows:
        """Return the rows that a row links to, ascending."""
        return self.indices[self.indptr[row] : self.indptr[row + 1]]

    @cached_property
    def inward(self) -> tuple[Rows, Rows]:
        """The links turned round, as `indptr` and `indices`."""
        return reverse_links(self.indptr, self.indices)

    @cached_property
    def indegree(self) -> Ints:
        """The number of links to each row, int64[n]."""
        return np.diff(self.inward[0]).astype(np.int64)

    @cached_property
    def _by_name(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.nodes, kind="stable")
        return self.nodes[order], order


class OldDatasetBuilder:
    """An old dataset as imports bring it, piece by piece; a node that comes again has the links of all its pieces."""

    def __init__(self) -> None:
        self._nodes: list[Ints] = []
        self._counts: list[Ints] = []
        self._targets: list[Ints] = []
        self._sites: list[Ints] = []
        self._numbers: dict[str, int] = {}
        self._gone: list[Ints] = []

    def add(self, nodes: Ints, offsets: Ints, targets: Ints, marks: NDArray[np.str_], there: NDArray[np.bool_]) -> None:
        """Take in k nodes with their links.

        Args:
            nodes: int64[k].
            offsets: int64[k + 1]; the links of node i are places `offsets[i]` to `offsets[i + 1]`.
            targets: int64, the nodes that they go to.
            marks: str[k], the sites; "" for none.
            there: bool[k]; the others are no part of the dataset, nor will they be.
        """
        counts = np.diff(offsets)
        self._nodes.append(nodes[there].astype(np.int64))
        self._counts.append(counts[there])
        links = targets[offsets[0] : offsets[-1]]
        self._targets.append(links if there.all() else links[np.repeat(there, counts)])
        self._sites.append(self._number_sites(marks[there]))
        if not there.all():
            self._gone.append(nodes[~there].astype(np.int64))

    def build(self, *, linked: bool = False) -> OldDataset:
        """Return the dataset: nodes in the order of arrival, then, if `linked`, those that are only linked to."""
        gone = find_distinct(_join(self._gone))
        named, targets = _join(self._nodes), _join(self._targets)
        nodes = find_first(named)
        if linked:
            nodes = find_first(np.concatenate([nodes, targets]))
        nodes = nodes[~_is_known(gone, nodes)]
        order = np.argsort(nodes, kind="stable")
        sources = find_places(nodes[order], order, named)
        ends = find_places(nodes[order], order, targets)
        begins = np.repeat(sources, _join(self._counts))
        inside = (begins >= 0) & (ends >= 0)
        return OldDataset.of(begins[inside], ends[inside], len(nodes), nodes, self._find_sites(sources, len(nodes)))

    def _find_sites(self, rows: Ints, size: int) -> Rows | None:
        if not self._numbers:
            return None
        sites, given = np.full(size, NOWHERE, np.int64), _join(self._sites)
        known = (rows >= 0) & (given != NOWHERE)
        sites[rows[known]] = given[known]  # of several the last
        return sites

    def _number_sites(self, marks: NDArray[np.str_]) -> Ints:
        """Return the number of each site, in order of first appearance, whatever the pieces."""
        names, first, inverse = np.unique(marks, return_index=True, return_inverse=True)
        numbers = np.full(len(names), NOWHERE, np.int64)
        for i in np.argsort(first, kind="stable").tolist():
            if name := str(names[i]):
                numbers[i] = self._numbers.setdefault(name, len(self._numbers))
        return numbers[inverse.reshape(-1)]


def compress_links(sources: Ints, targets: Ints, size: int) -> tuple[Rows, Rows]:
    """Return links as `indptr` (int64) and `indices` (int32 if possible), without doubles and links to itself."""
    kept = sources != targets
    pairs = find_distinct(sources[kept] * np.int64(size) + targets[kept])
    indptr = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(pairs // max(size, 1), minlength=size), out=indptr[1:])
    return indptr, (pairs % max(size, 1)).astype(np.int32 if size < 2**31 and len(pairs) < 2**31 else np.int64)


def find_first(numbers: Ints) -> Ints:
    """Return the distinct numbers, in the order in which they come first."""
    _, first = np.unique(numbers, return_index=True)
    return numbers[np.sort(first)]


def find_places(known: Ints, places: Ints, wanted: Ints) -> Ints:
    """Return `places[i]` where `known[i]` (ascending) is what is wanted, int64; -1 where nothing is."""
    if not len(known):
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, places[at], -1)


def _is_known(known: Ints, nodes: Ints) -> NDArray[np.bool_]:
    return find_places(known, np.arange(len(known)), nodes) >= 0


def _join(parts: Iterable[Ints]) -> Ints:
    return np.concatenate([NOBODY, *parts])
