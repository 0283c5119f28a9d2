"""What has been seen of the graph: nodes, links, frontier, and one row of features for every known node.

Rows are numbered in order of discovery, so "discovered first" is "smallest row". Features follow the definitions of
Gouriten et al., section 5.2, over the known links e = (u, v) with u fetched: w(u) the value of u, w(e) the weight of
e. They are kept up to date link by link, in O(links) per fetched node, in float64.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from socialcrawl.model import Node

COLUMNS = ("depth", "links", "n_sum", "n_max", "e_sum", "e_max", "ne_sum", "ne_max")
"""The features of a row: distance from the seeds, known in-links, then sum and max of w(u), w(e), w(u)*w(e)."""

DEPTH, LINKS = 0, 1
FAR = np.inf

Rows = NDArray[np.int64]
T = TypeVar("T", bound=np.generic)


class Graph:
    """The known part of the graph: fetched nodes with their links, and the frontier they point to."""

    def __init__(self) -> None:
        self.size = 0  # rows in use
        self.left = 0  # rows in the frontier
        self._row_of = np.full(1024, -1, np.int64)
        self._node = np.empty(1024, np.int64)
        self._features = np.zeros((len(COLUMNS), 1024))
        self._open = np.zeros(1024, bool)  # in the frontier
        self._fetched = np.zeros(1024, bool)
        self._out: dict[int, Rows] = {}
        self._merged = False  # two nodes may share a row

    def frontier(self) -> Rows:
        """Rows of the nodes that are linked to and neither fetched nor closed, in order of discovery."""
        return np.flatnonzero(self._open[: self.size])

    def node(self, row: int) -> Node:
        """The node in row `row`."""
        return Node(int(self._node[row]))

    def row(self, node: Node) -> int:
        """The row of a known node."""
        return int(self._row_of[node])

    def nodes(self) -> NDArray[np.int64]:
        """All known nodes, in order of discovery."""
        return self._node[: self.size].copy()

    def column(self, name: str, rows: Rows) -> NDArray[np.float64]:
        """One feature for `rows`, float64; besides COLUMNS also `n_avg`, `e_avg`, `ne_avg`."""
        if name.endswith("_avg"):
            total = self._features[COLUMNS.index(name.replace("_avg", "_sum"))][rows]
            return np.asarray(total / np.maximum(self._features[LINKS][rows], 1.0))
        return np.asarray(self._features[COLUMNS.index(name)][rows])

    def features(self, row: int) -> tuple[float, ...]:
        """The features of one row, in the order of COLUMNS."""
        return tuple(self._features[:, row].tolist())

    def seed(self, node: Node) -> None:
        """Make `node` known as a seed: at distance 0, and never in the frontier."""
        row = self._known(node)
        self._features[DEPTH, row] = 0.0
        self._close(row)
        self._relax(row)

    def add(self, node: Node, value: float, targets: NDArray[np.int64], alpha: NDArray[np.float64]) -> None:
        """Add a fetched node of value `value` and its links to `targets` (distinct) with weights `alpha`.

        New targets enter the frontier in the order given. A link to itself is ignored.

        Raises:
            ValueError: a negative or undefined value or weight, or targets named twice.
        """
        if (others := targets != node).sum() < len(targets):
            targets, alpha = targets[others], alpha[others]
        if not (value >= 0 and (alpha >= 0).all() and value < np.inf and (alpha < np.inf).all()):
            raise ValueError(f"node {node}: values and weights are finite and not negative")
        if len(np.unique(targets)) < len(targets):
            raise ValueError(f"node {node}: a link is given once, with its total weight")
        row = self._known(node)
        self._close(row)
        self._fetched[row] = True
        rows = self._discover(targets)
        if self._merged:
            rows, alpha = _summed(rows, alpha)
        self._out[row] = rows
        self._reach(rows, value, alpha)
        self._relax(row)

    def drop(self, node: Node) -> None:
        """Close a node that cannot be fetched: it leaves the frontier and brings no links."""
        self._close(self._known(node))

    def merge(self, alias: Node, node: Node) -> None:
        """Take `alias`, which could not be fetched under that name, for `node`: its known in-links are links to `node`.

        Somebody who linked to both counts as two links, as he was seen.
        """
        left, row = int(self._row_of[alias]), self._known(node)
        self._row_of[alias] = row
        self._close(left)
        mine, other = self._features[:, row], self._features[:, left]
        mine[DEPTH] = min(mine[DEPTH], other[DEPTH])
        for name, place in zip(COLUMNS[LINKS:], range(LINKS, len(COLUMNS)), strict=True):
            mine[place] = max(mine[place], other[place]) if name.endswith("_max") else mine[place] + other[place]
        self._merged = True
        self._relax(row)

    def set_open(self, node: Node, *, is_open: bool) -> None:
        """Put a known, unfetched node back into the frontier, or take it out for a while."""
        row = int(self._row_of[node])
        if self._open[row] != is_open:
            self._open[row] = is_open
            self.left += 1 if is_open else -1

    def _reach(self, rows: Rows, value: float, alpha: NDArray[np.float64]) -> None:
        _, links, n_sum, n_max, e_sum, e_max, ne_sum, ne_max = self._features
        both = value * alpha
        links[rows] += 1.0
        n_sum[rows] += value
        n_max[rows] = np.maximum(n_max[rows], value)
        e_sum[rows] += alpha
        e_max[rows] = np.maximum(e_max[rows], alpha)
        ne_sum[rows] += both
        ne_max[rows] = np.maximum(ne_max[rows], both)

    def _relax(self, row: int) -> None:
        """Hand on the distance of `row`, through fetched nodes too when a shorter path has appeared."""
        depth, queue = self._features[DEPTH], [row]
        for near in queue:
            rows = self._out.get(near)
            if rows is None:
                continue
            closer = rows[depth[rows] > depth[near] + 1.0]
            depth[closer] = depth[near] + 1.0
            queue.extend(closer[self._fetched[closer]].tolist())

    def _known(self, node: Node) -> int:
        return int(self._discover(np.array([node], np.int64))[0])

    def _discover(self, nodes: NDArray[np.int64]) -> Rows:
        """The rows of `nodes`; unknown ones get the next rows, in order, and enter the frontier."""
        if not len(nodes):
            return np.empty(0, np.int64)
        if (highest := int(nodes.max())) >= len(self._row_of):
            self._row_of = _grown(self._row_of, highest + 1, -1)
        rows = self._row_of[nodes]
        if len(new := np.flatnonzero(rows < 0)):
            self._reserve(self.size + len(new))
            fresh = np.arange(self.size, self.size + len(new))
            self._row_of[nodes[new]] = rows[new] = fresh
            self._node[fresh] = nodes[new]
            self._features[DEPTH, fresh] = FAR
            self._open[fresh] = True
            self.size += len(new)
            self.left += len(new)
        return rows

    def _close(self, row: int) -> None:
        self.left -= int(self._open[row])
        self._open[row] = False

    def _reserve(self, size: int) -> None:
        if size > len(self._node):
            self._node = _grown(self._node, size, 0)
            self._open = _grown(self._open, size, 0)
            self._fetched = _grown(self._fetched, size, 0)
            wider = np.zeros((len(COLUMNS), len(self._node)))
            wider[:, : self._features.shape[1]] = self._features
            self._features = wider


def _grown(old: NDArray[T], size: int, fill: int) -> NDArray[T]:
    new = np.full(max(size, 2 * len(old)), fill, old.dtype)
    new[: len(old)] = old
    return new


def _summed(rows: Rows, alpha: NDArray[np.float64]) -> tuple[Rows, NDArray[np.float64]]:
    """Each row once, in order of first appearance, with its total weight."""
    total: dict[int, float] = {}
    for row, weight in zip(rows.tolist(), alpha.tolist(), strict=True):
        total[row] = total.get(row, 0.0) + weight
    return np.array(list(total), np.int64), np.array(list(total.values()), np.float64)
