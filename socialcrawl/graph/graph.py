"""What has been seen of the graph: nodes, links, frontier, and one row of features for every known node.

Rows are numbered in order of discovery, so "discovered first" is "smallest row". Features follow the definitions of
Gouriten et al., section 5.2, over the known links e = (u, v) with u fetched: w(u) the value of u, w(e) the weight of
e. They are kept up to date link by link, in O(links) per fetched node, in float64. A row is 64 bytes long, as a line of
a processor's cache: a crawl touches links at random places, and each place costs one line.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.model import Node
from socialcrawl.graph.links import (
    NO_ROWS,
    Additions,
    LinkTable,
    Rows,
    Weights,
    check,
    find_distinct,
    grow_array,
    has_repeats,
    order_stably,
    sum_all_links,
    sum_links,
)
from socialcrawl.text.wording import explain_unknown

__all__ = ["COLUMNS", "DEPTH", "FAR", "LINKS", "NO_ROWS", "PLACES", "CrawlGraph", "Rows", "Weights"]

COLUMNS = ("depth", "links", "n_sum", "n_max", "e_sum", "e_max", "ne_sum", "ne_max")
"""The features of a row: distance from the seeds, known in-links, then sum and max of w(u), w(e), w(u)*w(e)."""

AVERAGES = ("n_avg", "e_avg", "ne_avg")
PLACES = {name: place for place, name in enumerate(COLUMNS)}
DEPTH, LINKS = 0, 1
SUMS, MAXIMA = slice(2, None, 2), slice(3, None, 2)  # of w(u), w(e), w(u)*w(e)
FAR = np.inf
CHUNK = 16_384


class CrawlGraph:
    """The known part of the graph: fetched nodes with their links, and the frontier they point to."""

    def __init__(self) -> None:
        self.size = 0  # rows in use
        self.left = 0  # rows in the frontier
        self._closed_before = 0  # no row before this one is in the frontier
        self._next_of = np.zeros(1024, np.int32)  # the row after that of each node; 0 for the unknown
        self._node = np.empty(1024, np.int64)
        self._features = np.zeros((1024, len(COLUMNS)))
        self._open = np.zeros(1024, bool)  # in the frontier
        self._fetched = np.zeros(1024, bool)
        self._out = LinkTable()
        self._value = np.zeros(1024)
        self._evidence = np.zeros(1024)
        self._is_evident = False  # posts of somebody are held
        self._merged = False  # two nodes may share a row
        self._changed: list[Rows] = []
        self._all_changed = False
        self._more, self._most = _make_blanks(1024)

    def reserve(self, size: int) -> None:
        """Make room for `size` nodes, numbered 0 .. size - 1, where it is known that there can be that many."""
        self._reserve(size)
        if size > len(self._next_of):
            self._next_of = grow_array(self._next_of, size)

    def frontier(self) -> Rows:
        """Return rows of the nodes that are linked to and neither fetched nor closed, in order of discovery."""
        return np.flatnonzero(self._open[: self.size])

    def find_earliest(self, size: int) -> Rows:
        """Return the first `size` rows of the frontier."""
        found: list[Rows] = []
        begin, missing = self._closed_before, min(size, self.left)
        while missing > 0:
            some = begin + self._open[begin : min(begin + CHUNK, self.size)].nonzero()[0][:missing]
            if len(some) and not found:
                self._closed_before = int(some[0])
            found.append(some)
            missing -= len(some)
            begin += CHUNK
        return np.concatenate([NO_ROWS, *found])

    def node(self, row: int) -> Node:
        """Return the node in row `row`."""
        return Node(int(self._node[row]))

    def row(self, node: Node) -> int:
        """Return the row of a known node."""
        return int(self._next_of[node]) - 1

    def is_known(self, node: Node) -> bool:
        """Return whether a node was read, or is linked to by one that was."""
        return node < len(self._next_of) and self.row(node) >= 0

    def nodes(self, rows: Rows | slice = slice(None)) -> NDArray[np.int64]:
        """Return the nodes in `rows`; without them all known nodes, in order of discovery."""
        return np.array(self._node[: self.size][rows])

    def column(self, name: str, rows: Rows) -> NDArray[np.float64]:
        """Return one feature for `rows`, float64; besides COLUMNS also `n_avg`, `e_avg`, `ne_avg`."""
        place = PLACES.get(name)
        if place is None:
            if name not in AVERAGES:
                raise ValueError(explain_unknown("column", name, (*COLUMNS, *AVERAGES)))
            total = self._features[rows, COLUMNS.index(name.replace("_avg", "_sum"))]
            return np.asarray(total / np.maximum(self._features[rows, LINKS], 1.0))
        return np.asarray(self._features[rows, place])

    def columns(self, names: Sequence[str], rows: Rows) -> Weights:
        """Return several features for `rows`, float64 of shape (len(names), len(rows))."""
        if any(name not in PLACES for name in names):
            return np.stack([self.column(name, rows) for name in names])
        places, wanted = [PLACES[name] for name in names], np.empty((len(names), len(rows)))
        for begin in range(0, len(rows), CHUNK):  # so that the lines of a chunk stay in the processor's cache
            some = slice(begin, begin + CHUNK)
            lines = self._features.take(rows[some], axis=0)
            for column, place in zip(wanted, places, strict=True):
                column[some] = lines[:, place]
        return wanted

    def features(self, row: int) -> tuple[float, ...]:
        """Return the features of one row, in the order of COLUMNS."""
        return tuple(self._features[row].tolist())

    def value(self, rows: Rows) -> Weights:
        """Return the values of fetched nodes; NaN where a node was not fetched: nobody knows its value."""
        return np.where(self._fetched[rows], self._value[rows], np.nan)

    def get_evidence(self, rows: Rows) -> Weights:
        """Return the values of posts that were held of nodes before these were fetched; 0 where none were."""
        return np.asarray(self._evidence.take(rows)) if self._is_evident else np.zeros(len(rows))

    def list_links(self, row: int) -> tuple[Rows, Weights]:
        """Return the known links of a row: the rows it points to, without itself, and the weights.

        None if not fetched.
        """
        return self._out.of(row)

    def list_all_links(self, rows: Rows) -> tuple[Rows, Rows, Weights]:
        """Return the links of many fetched rows (distinct): the row of each, the row it goes to, and its weight."""
        return self._out.list_all(rows)

    def list_fetched(self) -> Rows:
        """Return rows of the fetched nodes, in the order in which they were added."""
        return self._out.list_added()

    def is_open(self, rows: Rows) -> NDArray[np.bool_]:
        """Return whether each of `rows` is in the frontier."""
        return self._open[rows]

    def is_closed(self, node: Node) -> bool:
        """Return whether a node is known and not in the frontier: it is a seed, or was asked."""
        row = self.row(node) if node < len(self._next_of) else -1
        return row >= 0 and not self._open[row]

    def is_fetched(self, node: Node) -> bool:
        """Return whether a node was read, so that its value is known."""
        row = self.row(node) if node < len(self._next_of) else -1
        return row >= 0 and bool(self._fetched[row])

    def take_changes(self) -> Rows:
        """Return rows whose features, or whose place in the frontier, changed since this was last asked.

        Some repeatedly.
        """
        changed, self._changed = self._changed, []
        if self._all_changed:
            self._all_changed = False
            return np.arange(self.size)
        return np.concatenate(changed) if changed else NO_ROWS

    def note_changed(self, rows: Rows) -> None:
        """Note that an estimator knows more of rows, so that `take_changes` returns them."""
        self._changed.append(rows)

    def seed(self, node: Node) -> None:
        """Make `node` known as a seed: at distance 0, and never in the frontier."""
        row = self._get_row(node)
        self._features[row, DEPTH] = 0.0
        self._close(row)
        self._relax(row)

    def add(self, node: Node, value: float, targets: NDArray[np.int64], alpha: Weights) -> int:
        """Return the row of `node`, after it was added as a fetched node of value `value`, with its links.

        The links go to `targets` (distinct) and have weights `alpha`. New targets enter the frontier in the order
        given. A link to itself is ignored.

        Raises:
            ValueError: a negative or undefined value or weight, or targets named twice.
        """
        if len((itself := targets == node).nonzero()[0]):  # faster than any() on so few
            targets, alpha = targets[~itself], alpha[~itself]
        check(node, value, targets, alpha)
        row = self._get_row(node)
        self._close(row)
        self._fetched[row] = True
        self._value[row] = value
        rows = self._discover(targets)
        if self._merged:
            rows, alpha = sum_links(rows, alpha)
        self._out.put(row, rows, alpha)
        self._reach(row, rows, value, alpha)
        return row

    def renew(self, node: Node, value: float, targets: NDArray[np.int64], alpha: Weights) -> int:
        """Return the row of a fetched node, after more was read of it: it has this value now, and these links.

        Links that it had stay, with their weights, where they are not among these.

        Args:
            node: was fetched before.
            value: of all that was read of it.
            targets: whom it links to (distinct).
            alpha: the weights of these links, shape (len(targets),).

        Raises:
            ValueError: see `add`.
        """
        others = targets != node
        targets, alpha = targets[others], alpha[others]
        check(node, value, targets, alpha)
        row = self.row(node)
        new, old = (_sum_by_row(*links) for links in ((self._discover(targets), alpha), self._out.of(row)))
        links = new | {one: weight for one, weight in old.items() if one not in new}
        both, after = np.array(list(links), np.int64), np.array(list(links.values()), np.float64)
        before = np.array([old.get(one, 0.0) for one in links])
        known = np.array([one in old for one in links], bool)
        had = np.where(known, self._value[row], 0.0)
        was = np.column_stack([had, before, before * had])
        sums = np.column_stack([np.full(len(both), value), after, after * value])
        lines = self._features.take(both, axis=0)
        lines[:, LINKS] += ~known
        lines[:, SUMS] += sums - was
        lines[:, MAXIMA] = np.maximum(lines[:, MAXIMA], sums)
        self._features[both] = lines
        self._value[row] = value
        self._out.put(row, both, after)
        self._changed.append(both)
        self._relax(row)
        return row

    def extend(self, more: Additions) -> Rows | None:
        """Add or drop many nodes one after the other, bit for bit as `add` does; return their rows.

        None, and nothing has changed, where one of them has to be looked at by itself: it was added before, or `add`
        would refuse it.
        """
        more = more.select_proper()
        if not more.is_sensible() or self._has_repeats(more):
            return None
        unknown = np.insert(more.targets, more.offsets[:-1], more.nodes)
        unknown = unknown[self._find_rows(unknown) < 0]
        ordered = order_stably(unknown)
        again = np.flatnonzero(unknown[ordered[1:]] == unknown[ordered[:-1]]) + 1
        self._discover(np.delete(unknown, ordered[again]))
        rows, ends, alpha, sources = (
            self._find_rows(more.nodes),
            self._find_rows(more.targets),
            more.alpha,
            more.sources,
        )
        if self._merged:
            sources, ends, alpha = sum_all_links(sources, ends, alpha)
        self._close_all(rows)
        self._features[rows[more.root], DEPTH] = 0.0
        self._add_up(ends, more.value[sources], alpha)
        self._keep(more, rows, sources, ends, alpha)
        self._spread_distances(rows[sources], ends)
        self._changed, self._all_changed = [], True
        return rows

    def note_evidence(self, node: Node, before: float | None, value: float) -> None:
        """Add `node` by its posts that are stored, and keep it in the frontier, as it was not read.

        These count as one link from an account of value `value` with weight `value`, at distance 0 as a seed. Nothing
        changes where the node was read.

        Args:
            node: whose posts they are.
            before: the value that was noted last; None where none was.
            value: the value of the posts, of which there are no fewer than then.
        """
        row = self._get_row(node)
        if self._fetched[row]:
            return
        mine, new, old = self._features[row], np.array([value, value, value * value]), before or 0.0
        self._evidence[row], self._is_evident = value, True
        mine[LINKS] += before is None
        mine[SUMS] += new - np.array([old, old, old * old])
        mine[MAXIMA] = np.maximum(mine[MAXIMA], new)
        mine[DEPTH] = 0.0
        self._relax(row)

    def drop(self, node: Node) -> None:
        """Close a node that cannot be fetched: it leaves the frontier and brings no links."""
        self._close(self._get_row(node))

    def merge(self, alias: Node, node: Node) -> None:
        """Take `alias`, which could not be fetched under that name, for `node`: its known in-links are links to `node`.

        Somebody who linked to both counts as two links, as he was seen.
        """
        left, row = self.row(alias), self._get_row(node)
        self._next_of[alias] = row + 1
        self._close(left)
        mine, other = self._features[row], self._features[left]
        mine[DEPTH] = min(mine[DEPTH], other[DEPTH])
        mine[LINKS] += other[LINKS]
        mine[SUMS] += other[SUMS]
        mine[MAXIMA] = np.maximum(mine[MAXIMA], other[MAXIMA])
        if not self._fetched[row]:
            self._evidence[row] = max(self._evidence[row], self._evidence[left])
        self._touch(row)
        self._merged = True
        self._relax(row)

    def set_open(self, node: Node, *, is_open: bool) -> None:
        """Put a known, unfetched node back into the frontier, or take it out for a while."""
        row = self.row(node)
        if self._open[row] != is_open:
            self._open[row] = is_open
            self._closed_before = min(self._closed_before, row)
            self.left += 1 if is_open else -1
            self._touch(row)

    def _reach(self, row: int, rows: Rows, value: float, alpha: Weights) -> None:
        """Add the links of `row` to the features of `rows`."""
        if len(rows) > len(self._more):
            self._more, self._most = _make_blanks(2 * len(rows))
        more, most = self._more[: len(rows)], self._most[: len(rows)]
        more[:, 2] = most[:, 3] = value
        more[:, 4] = most[:, 5] = alpha
        most[:, 7] = np.multiply(alpha, value, out=more[:, 6])
        lines = self._features.take(rows, axis=0)
        lines += more
        np.maximum(lines, most, out=lines)
        far = self._features[row, DEPTH] + 1.0
        closer = rows[lines[:, DEPTH] > far]
        lines[:, DEPTH] = np.minimum(lines[:, DEPTH], far)
        self._features[rows] = lines
        self._changed.append(rows)
        if len(closer := closer[self._fetched[closer]]):
            self._pass_on(closer.tolist())

    def _has_repeats(self, more: Additions) -> bool:
        """Return whether a node of `more` was fetched before, or is fetched twice."""
        rows = self._find_rows(more.nodes[more.fetched])
        known = rows[rows >= 0]
        names = np.concatenate([known, self.size + more.nodes[more.fetched][rows < 0]])
        return bool(self._fetched[known].any()) or has_repeats(names)

    def _keep(self, more: Additions, rows: Rows, sources: Rows, ends: Rows, alpha: Weights) -> None:
        """Note who is fetched now, with value and links."""
        fetched = rows[more.fetched]
        self._fetched[fetched] = True
        self._value[fetched] = more.value[more.fetched]
        counts = np.bincount(sources, minlength=len(rows))[more.fetched]
        self._out.put_all(fetched, np.concatenate([[0], np.cumsum(counts)]), ends, alpha)

    def _add_up(self, rows: Rows, value: Weights, alpha: Weights) -> None:
        """Add links to the features of `rows`: `at` goes through them one after the other."""
        np.add.at(self._features[:, LINKS], rows, 1.0)
        for place, weight in zip(range(2, len(COLUMNS), 2), (value, alpha, alpha * value), strict=True):
            np.add.at(self._features[:, place], rows, weight)
            np.maximum.at(self._features[:, place + 1], rows, weight)

    def _spread_distances(self, sources: Rows, ends: Rows) -> None:
        """Hand on distances along these links, and through fetched nodes, until nothing changes.

        Distances only shrink, to the shortest paths, so that the order does not matter.
        """
        depth = self._features[:, DEPTH]
        while len(sources):
            far = depth[sources] + 1.0
            closer = (far < depth[ends]).nonzero()[0]
            np.minimum.at(depth, ends[closer], far[closer])
            changed = find_distinct(ends[closer])
            sources, ends, _ = self._out.list_all(changed[self._fetched[changed]])

    def _relax(self, row: int) -> None:
        """Hand on the distance of `row`, through fetched nodes too when a shorter path has appeared."""
        self._touch(row)
        self._pass_on([row])

    def _pass_on(self, queue: list[int]) -> None:
        depth = self._features[:, DEPTH]
        for near in queue:
            rows, _ = self.list_links(near)
            closer = rows[depth[rows] > depth[near] + 1.0]
            depth[closer] = depth[near] + 1.0
            self._changed.append(closer)
            queue.extend(closer[self._fetched[closer]].tolist())

    def _find_rows(self, nodes: NDArray[np.int64]) -> Rows:
        """Return the rows of `nodes`; -1 for the unknown."""
        if len(nodes) and (highest := int(nodes.max())) >= len(self._next_of):
            self._next_of = grow_array(self._next_of, highest + 1)
        return np.subtract(self._next_of[nodes], 1, dtype=np.int64)

    def _get_row(self, node: Node) -> int:
        if self.is_known(node):
            return self.row(node)
        return int(self._discover(np.array([node], np.int64))[0])

    def _discover(self, nodes: NDArray[np.int64]) -> Rows:
        """Return the rows of `nodes`; unknown ones get the next rows, in order, and enter the frontier."""
        if not len(nodes):
            return np.empty(0, np.int64)
        rows = self._find_rows(nodes)
        if len(new := (rows < 0).nonzero()[0]):
            self._reserve(self.size + len(new))
            fresh = np.arange(self.size, self.size + len(new))
            found = nodes[new]
            rows[new] = fresh
            self._next_of[found] = fresh + 1
            span = slice(self.size, self.size + len(new))
            self._node[span] = found
            self._features[span, DEPTH] = FAR
            self._open[span] = True
            self.size += len(new)
            self.left += len(new)
        return rows

    def _close(self, row: int) -> None:
        self.left -= int(self._open[row])
        self._open[row] = False
        self._touch(row)

    def _close_all(self, rows: Rows) -> None:
        closed = find_distinct(rows)
        self.left -= int(np.count_nonzero(self._open[closed]))
        self._open[closed] = False

    def _touch(self, row: int) -> None:
        """Note that one row has changed."""
        self._changed.append(np.array([row], np.int64))

    def _reserve(self, size: int) -> None:
        if size > len(self._node):
            self._node = grow_array(self._node, size)
            self._open = grow_array(self._open, size)
            self._fetched = grow_array(self._fetched, size)
            self._value = grow_array(self._value, size)
            self._evidence = grow_array(self._evidence, size)
            self._features = grow_array(self._features, size)


def _sum_by_row(rows: Rows, alpha: Weights) -> dict[int, float]:
    """Return the total weight of links by the row that they go to, in order of first appearance."""
    distinct, weights = sum_links(rows, alpha)
    return dict(zip(distinct.tolist(), weights.tolist(), strict=True))


def _make_blanks(size: int) -> tuple[Weights, Weights]:
    """Return what `size` links add to the features, and what they lift them to, without values and weights."""
    more, most = np.zeros((size, len(COLUMNS))), np.full((size, len(COLUMNS)), -np.inf)
    more[:, LINKS] = 1.0
    return more, most
