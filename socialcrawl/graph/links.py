"""Links: what many of them are when they come at once, and who is known to point to whom."""

from bisect import bisect_right
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.model import Node

Rows = NDArray[np.int64]
Weights = NDArray[np.float64]
T = TypeVar("T", bound=np.generic)
NO_ROWS: Rows = np.empty(0, np.int64)
NO_WEIGHTS: Weights = np.empty(0, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Additions:
    """What is to be added at once: m nodes, each with a value and its links, as compressed sparse rows.

    Attributes:
        nodes: int64[m], in order.
        value: float64[m].
        offsets: int64[m + 1]; the links of node i are places `offsets[i]` to `offsets[i + 1]`.
        targets: int64, the nodes that the links go to.
        alpha: float64, the weights of the links.
        fetched: bool[m]; the others are dropped.
        root: bool[m]: those at distance 0.
    """

    nodes: NDArray[np.int64]
    value: Weights
    offsets: Rows
    targets: NDArray[np.int64]
    alpha: Weights
    fetched: NDArray[np.bool_]
    root: NDArray[np.bool_]

    @property
    def sources(self) -> Rows:
        """The number of the node of each link, from 0."""
        return np.repeat(np.arange(len(self.nodes)), np.diff(self.offsets))

    def select_proper(self) -> "Additions":
        """Return these additions without links to itself, and without links of what is dropped."""
        sources = self.sources
        kept = (self.targets != self.nodes[sources]) & self.fetched[sources]
        if kept.all():
            return self
        offsets = np.concatenate([[0], np.cumsum(kept)])[self.offsets]
        return replace(self, offsets=offsets, targets=self.targets[kept], alpha=self.alpha[kept])

    def is_sensible(self) -> bool:
        """Return whether `CrawlGraph.add` would refuse none of them."""
        weights = np.concatenate([self.value[self.fetched], self.alpha])
        lowest = min(self.nodes.min(initial=0), self.targets.min(initial=0))
        named = self.sources * (self.targets.max(initial=0) + 1) + self.targets
        return lowest >= 0 and bool(((weights >= 0) & (weights < np.inf)).all()) and not has_repeats(named)


class _LinkBlock(NamedTuple):
    """The links of nodes that were added at once, in the order of their numbers: `first`, `first` + 1, ..."""

    first: int
    added: Rows
    offsets: Rows
    rows: NDArray[np.int32]
    alpha: Weights


class LinkTable:
    """The known out-links of fetched nodes, by row."""

    def __init__(self) -> None:
        self._single: dict[int, tuple[Rows, Weights]] = {}  # of those that came one by one
        self._blocks: list[_LinkBlock] = []  # of those that came at once
        self._added = 0
        self._number = np.zeros(1024, np.int32)  # by row: how many came before, plus 1; 0: it never came

    def put(self, row: int, rows: Rows, alpha: Weights) -> None:
        """Keep the links of one row, in place of those that it had."""
        self._reserve(row + 1)
        if not self._number[row]:
            self._added += 1
            self._number[row] = self._added
        self._single[row] = rows, alpha

    def put_all(self, added: Rows, offsets: Rows, rows: Rows, alpha: Weights) -> None:
        """Keep the links of many rows that had none, `offsets` as in `Additions`."""
        self._reserve(int(added.max(initial=-1)) + 1)
        self._number[added] = np.arange(self._added + 1, self._added + 1 + len(added))
        self._blocks.append(_LinkBlock(self._added + 1, added, offsets, rows.astype(np.int32), alpha))
        self._added += len(added)

    def of(self, row: int) -> tuple[Rows, Weights]:
        """Return the rows that a row points to, and the weights."""
        if (one := self._single.get(row)) is not None:
            return one
        number = int(self._number[row]) if row < len(self._number) else 0
        if not number:
            return NO_ROWS, NO_WEIGHTS
        block = self._blocks[bisect_right(self._blocks, number, key=attrgetter("first")) - 1]
        begin, end = block.offsets[number - block.first : number - block.first + 2]
        return block.rows[begin:end].astype(np.int64), block.alpha[begin:end]

    def list_all(self, rows: Rows) -> tuple[Rows, Rows, Weights]:
        """Return the links of many rows (distinct, each came): where each comes from, where it goes, and its weight."""
        single = [row for row in rows.tolist() if row in self._single] if self._single else []
        ends = [self._single[row][0] for row in single]
        sources = [np.repeat(np.array(single, np.int64), [len(some) for some in ends])]
        alpha = [self._single[row][1] for row in single]
        numbers = self._number[rows[~np.isin(rows, single)] if single else rows]
        of = np.searchsorted([block.first for block in self._blocks], numbers, side="right") - 1
        for number in find_distinct(of).tolist():
            block, here = self._blocks[number], numbers[of == number] - self._blocks[number].first
            begin, count = block.offsets[here], np.diff(block.offsets)[here]
            places = np.repeat(begin - np.cumsum(count) + count, count) + np.arange(count.sum())
            ends.append(block.rows[places].astype(np.int64))
            alpha.append(block.alpha[places])
            sources.append(np.repeat(block.added[here], count))
        return np.concatenate(sources), np.concatenate([NO_ROWS, *ends]), np.concatenate([NO_WEIGHTS, *alpha])

    def list_added(self) -> Rows:
        """Return the rows that came, in that order."""
        rows = np.flatnonzero(self._number)
        return rows[self._number[rows].argsort()]

    def _reserve(self, size: int) -> None:
        if size > len(self._number):
            self._number = grow_array(self._number, size)


def grow_array(old: NDArray[T], size: int) -> NDArray[T]:
    """Return a longer copy of an array; zeros take no memory until they are used, so that generosity costs nothing."""
    new = np.zeros((max(size, 4 * len(old)), *old.shape[1:]), old.dtype)
    new[: len(old)] = old
    return new


def check(node: Node, value: float, targets: NDArray[np.int64], alpha: Weights) -> None:
    """Complain of what no graph can have."""
    lowest, highest = (np.minimum.reduce(alpha), np.maximum.reduce(alpha)) if len(alpha) else (0.0, 0.0)
    if not (0 <= value < np.inf and lowest >= 0 and highest < np.inf):  # also refuses NaN
        raise ValueError(f"node {node}: values and weights are finite and not negative")
    if has_repeats(targets):
        raise ValueError(f"node {node}: a link is given once, with its total weight")


def find_distinct(rows: Rows) -> Rows:
    """Return each of `rows` once, in ascending order; faster than `np.unique` on this range of numbers."""
    ordered = rows.copy()
    ordered.sort()
    first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    return np.asarray(ordered[first])


def order_stably(numbers: NDArray[Any]) -> Rows:
    """Return the places of integers >= 0 in ascending order, of equals the first one first.

    Number and place are sorted as one integer of at most 63 bits, enough for rows, records and steps: several times as
    fast as numpy's stable sort.
    """
    bits = len(numbers).bit_length()
    both = (numbers.astype(np.int64) << bits) | np.arange(len(numbers))
    both.sort()
    return np.asarray(both & ((1 << bits) - 1))


def has_repeats(names: NDArray[np.int64]) -> bool:
    """Return whether a number is there twice."""
    ordered = names.copy()
    ordered.sort()
    return len((ordered[1:] == ordered[:-1]).nonzero()[0]) > 0


def sum_all_links(sources: Rows, rows: Rows, alpha: Weights) -> tuple[Rows, Rows, Weights]:
    """Return the links of several nodes, each row once a node, as `sum_links` does; links are ordered by `sources`."""
    _, first, place = np.unique(sources * (rows.max(initial=0) + 1) + rows, return_index=True, return_inverse=True)
    total = np.zeros(len(first))
    np.add.at(total, place, alpha)
    order = first.argsort()
    return sources[first[order]], rows[first[order]], total[order]


def sum_links(rows: Rows, alpha: Weights) -> tuple[Rows, Weights]:
    """Return each row once, in order of first appearance, with its total weight."""
    total: dict[int, float] = {}
    for row, weight in zip(rows.tolist(), alpha.tolist(), strict=True):
        total[row] = total.get(row, 0.0) + weight
    return np.array(list(total), np.int64), np.array(list(total.values()), np.float64)
