"""PageRank on large graphs without weights: many vectors at once, Y = d Y A + (1-d) X with X even on some rows.

Huynh, Mathieu, Viennot, section 2.3: A is the random walk on the links; rows without links are 0, and what they hold is
dropped (`pagerank` with dangling = "drop"; it also takes weights). Made for tens of millions of rows: links are int32
and have no weights in memory, several vectors share each look at them, and blocks of rows are summed by threads.

A sweep goes through the blocks in groups: a group reads what the groups before it have already made new (Gauss and
Seidel), which takes fewer sweeps than if all read the old. Groups are cut by the number of links and not of threads, so
that ranks are the same bits however many threads there are, and those of one vector whatever vectors it came with.

Ranks grow from (1-d) X, never beyond the solution. Ratios of ranks compare small ones too, so sweeps go on until each
of them, and not only their sum, hardly grows. A rank is 0 exactly where the walk cannot come from X. Far away that
takes as many sweeps as there are links between, and may be less than a number can hold: ranks below `FLOOR` are not
waited for, and rows that have none yet are settled by reachability, with what the shortest ways bring them.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from socialcrawl.graph.links import find_distinct

Floats = NDArray[np.float64]
Rows = NDArray[Any]

DAMPING = 0.85
TOLERANCE = 1e-13  # of each rank: about how far it may be from the solution
SMALLEST = 1e-15  # a change, as a share of a rank, that is rounding
FLOOR = 1e-30  # ranks below it are not waited for
BLOCK = 1 << 18  # links that are summed by one call
SOME = 1 << 17  # rows whose links are listed together
GROUP = 4  # blocks that read the same state, and may be summed at the same time
LEAST = np.nextafter(0.0, 1.0)  # of what is reachable, and less than a number can hold


class _MatrixBlock(NamedTuple):
    begin: int
    end: int
    links: Any  # the rows of A', n columns


class BatchPageRank:
    """A graph made ready for PageRank: its links by where they come to.

    Args:
        indptr: int[n + 1]; the links of row u are places `indptr[u]` to `indptr[u + 1]`.
        indices: int32[m] (int64 where n or m need it), the rows that they go to, distinct for each u.
        inward: the same of the links turned round (`reverse_links`), where it is there already.
        damping: d, from 0 up to but not 1.

    Raises:
        ValueError: the damping is out of range.
    """

    def __init__(
        self, indptr: Rows, indices: Rows, inward: tuple[Rows, Rows] | None = None, *, damping: float = DAMPING
    ) -> None:
        if not 0 <= damping < 1:
            raise ValueError(f"damping = {damping}: the part that is handed on must be at least 0 and less than 1")
        self.indptr, self.indices, self.damping = indptr, indices, damping
        self.size = len(indptr) - 1
        degree = np.diff(indptr)
        self.scale = np.divide(damping, degree, out=np.zeros(self.size), where=degree > 0)
        self._blocks = _make_blocks(*(inward or reverse_links(indptr, indices)))

    def compute_ranks(self, zaps: Sequence[Rows | None], *, tolerance: float = TOLERANCE) -> list[Floats]:
        """Return the rank of every row for each of `zaps`, float64[n] each.

        Args:
            zaps: the rows (distinct) that the walk is zapped to evenly; None: all. To no rows: all ranks are 0.
            tolerance: about how far each rank from `FLOOR` on may be from the solution, as a share of it: a vector is
                taken when none grew in a sweep by more than `tolerance` times (1-d).
        """
        found: list[Floats] = [np.zeros(self.size) for _ in zaps]
        going = [i for i, zap in enumerate(zaps) if self.size and (zap is None or len(zap))]
        if not going:
            return found
        sweeps = _Sweeps(self, [zaps[i] for i in going], max(tolerance * (1.0 - self.damping), SMALLEST))
        with ThreadPoolExecutor(min(GROUP, os.cpu_count() or 1)) as pool:  # starts threads when it is given work
            while going:
                done = ~sweeps.sweep(pool)
                for column in np.flatnonzero(done).tolist():
                    found[going[column]] = sweeps.rank[:, column].copy()
                if done.any():
                    sweeps.keep(np.flatnonzero(~done))
                    going = [i for i, over in zip(going, done, strict=True) if not over]
        for rank, zap in zip(found, zaps, strict=True):
            if zap is not None and len(zap) and self.damping > 0:
                self._settle(rank)
        return found

    def _settle(self, rank: Floats) -> None:
        """Give a rank to the rows that can be reached and have none yet: what the shortest ways there bring."""
        new = np.flatnonzero(rank > 0)
        while len(new):
            reached = []
            unreached = rank == 0.0
            for begin in range(0, len(new), SOME):
                sources, ends = list_links(self.indptr, self.indices, new[begin : begin + SOME], unreached)
                if len(ends):
                    reached.append((sources, ends))
            if not reached:
                return
            sources, ends = (np.concatenate(part) for part in zip(*reached, strict=True))
            np.add.at(rank, ends, rank[sources] * self.scale[sources])
            new = find_distinct(ends)
            rank[new] = np.maximum(rank[new], LEAST)


class _Sweeps:
    """Some vectors under way, as the columns of `rank`; `handed` is what each row hands to each of its links.

    A rank still grows if it does by more than `least` of itself.
    """

    def __init__(self, graph: BatchPageRank, zaps: Sequence[Rows | None], least: float) -> None:
        self.graph, self.least = graph, least
        rest = 1.0 - graph.damping
        self.even = np.array([rest / graph.size if zap is None else 0.0 for zap in zaps])
        self.zaps = [None if zap is None else np.sort(zap) for zap in zaps]
        self.parts = [0.0 if zap is None else rest / len(zap) for zap in zaps]
        self.rank = np.zeros((graph.size, len(zaps)))
        for column, (zap, even, part) in enumerate(zip(zaps, self.even, self.parts, strict=True)):
            self.rank[slice(None) if zap is None else zap, column] = even if zap is None else part
        self.handed = self.rank * graph.scale[:, None]

    def sweep(self, pool: ThreadPoolExecutor) -> NDArray[np.bool_]:
        """Make all ranks new; whether any still grows, by column."""
        grows = np.zeros(len(self.parts), np.bool_)
        blocks = self.graph._blocks  # noqa: SLF001  (one mechanism in two classes)
        for begin in range(0, len(blocks), GROUP):
            group = blocks[begin : begin + GROUP]
            made = list(pool.map(self._sum, group)) if len(group) > 1 else [self._sum(group[0])]
            for block, (new, growing) in zip(group, made, strict=True):
                rows = slice(block.begin, block.end)
                self.rank[rows] = new
                np.multiply(new, self.graph.scale[rows, None], out=self.handed[rows])
                grows |= growing
        return grows

    def keep(self, columns: Rows) -> None:
        """Go on with these columns only."""
        self.even = self.even[columns]
        self.zaps, self.parts = [self.zaps[i] for i in columns], [self.parts[i] for i in columns]
        self.rank, self.handed = (np.ascontiguousarray(kept[:, columns]) for kept in (self.rank, self.handed))

    def _sum(self, block: _MatrixBlock) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the ranks of a block by the present state, and whether any of them grows, by column."""
        new = np.asarray(block.links @ self.handed)
        new += self.even
        for column, (zap, part) in enumerate(zip(self.zaps, self.parts, strict=True)):
            if zap is not None:
                some = zap[np.searchsorted(zap, block.begin) : np.searchsorted(zap, block.end)]
                new[some - block.begin, column] += part
        old = self.rank[block.begin : block.end]
        return new, np.any((new - old > self.least * new) & (new >= FLOOR), axis=0)


def reverse_links(indptr: Rows, indices: Rows) -> tuple[Rows, Rows]:
    """Return the links turned round: for each row where links to it come from, ascending, as `indptr` and `indices`."""
    from scipy.sparse import csr_array  # noqa: PLC0415  (scipy takes long to load)

    size = len(indptr) - 1
    ones = np.ones(len(indices), np.int8)  # scipy wants weights; these are the smallest
    begins = indptr.astype(indices.dtype)  # of one kind, or scipy makes all of them int64
    back = csr_array((ones, indices, begins), shape=(size, size)).tocsc()
    return back.indptr, back.indices


def list_links(
    indptr: Rows, indices: Rows, rows: Rows, wanted: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the links of some rows, in their order: where each comes from and where it goes, int64.

    Args:
        indptr: as of `BatchPageRank`.
        indices: as of `BatchPageRank`.
        rows: int[k].
        wanted: bool[n], which ends are wanted; None: all.
    """
    begin = indptr[rows].astype(np.int64)
    count = indptr[rows + 1] - begin
    places = np.repeat(begin - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
    ends = indices[places]
    sources = np.repeat(rows.astype(np.int64), count)
    if wanted is not None:
        kept = wanted[ends]
        sources, ends = sources[kept], ends[kept]
    return sources, ends.astype(np.int64)


def _make_blocks(indptr: Rows, indices: Rows) -> list[_MatrixBlock]:
    """Return the rows in blocks of about BLOCK links; all share one array of weights, which are 1."""
    from scipy.sparse import csr_array  # noqa: PLC0415  (scipy takes long to load)

    size, blocks, begin = len(indptr) - 1, [], 0
    ones = np.ones(0)
    while begin < size:
        end = int(np.searchsorted(indptr, indptr[begin] + BLOCK, side="right")) - 1
        end = min(max(end, begin + 1), size, begin + BLOCK)
        first, last = int(indptr[begin]), int(indptr[end])
        if last - first > len(ones):
            ones = np.ones(max(last - first, min(BLOCK, len(indices))))
        own = (indptr[begin : end + 1] - first).astype(indices.dtype)
        links = csr_array((ones[: last - first], indices[first:last], own), shape=(end - begin, size))
        blocks.append(_MatrixBlock(begin, end, links))
        begin = end
    return blocks
