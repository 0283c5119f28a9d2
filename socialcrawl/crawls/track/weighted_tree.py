"""Rows with weights, to draw from or to take the heaviest of, in O(log n) a change.

Both are complete binary trees over the rows. What an inner node holds is a function of the weights below it alone, so
that the same weights give the same bits, in whatever order they came to be; growing changes none of them. Trees are
lazy: rows whose weights may have changed are noted, and looked at when somebody asks.
"""

import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

MANY = 16  # if one of this many leaves changed, the whole tree is rebuilt, which numpy does faster

Floats = NDArray[np.float64]
Weigh = Callable[[int], float]
"""The weight of a row at present."""


class WeightedTree:
    """A complete binary tree over rows, whose inner nodes join what is below them.

    Args:
        weigh: the weight of a row at present; `absent` for a row that is not in the tree.
        absent: what leaves without a row hold; joined to anything it changes nothing.
        weigh_all: the weights of all rows at once, where that is quicker.
    """

    def __init__(self, weigh: Weigh, absent: float, weigh_all: Callable[[], Floats] | None = None) -> None:
        self._weigh, self._absent, self._weigh_all = weigh, absent, weigh_all
        self._leaves = 1  # a power of 2
        self._tree = [absent, absent]  # node i is over nodes 2i and 2i+1; the last half are the leaves
        self._touched: set[int] = set()
        self._barred: frozenset[int] = frozenset()
        self._all = False

    def touch(self, rows: Iterable[int]) -> None:
        """Note that the weights of `rows` may have changed, or that rows are new."""
        self._touched.update(rows)

    def touch_all(self) -> None:
        """Note that all weights may have changed; only where there is a `weigh_all`."""
        self._all = self._weigh_all is not None

    def settle(self, barred: frozenset[int] = frozenset()) -> list[float]:
        """Return the tree with the current weights, without those `barred`: root at 1, leaves in the last half."""
        if barred != self._barred:
            self._touched |= barred ^ self._barred
            self._barred = barred
        if self._touched or self._all:
            self._settle()
        return self._tree

    def _settle(self) -> None:
        touched, leaves = self._touched, self._leaves
        if self._all or len(touched) * MANY > leaves or max(touched) >= leaves:
            self._rebuild()
        else:
            tree, weigh, barred = self._tree, self._weigh, self._barred
            for row in touched:
                weight = self._absent if row in barred else weigh(row)
                if tree[leaves + row] != weight:
                    tree[leaves + row] = weight
                    self._lift((leaves + row) >> 1)
        self._touched = set()

    def _rebuild(self) -> None:
        """Rebuild all of it, from the earlier leaves and the rows touched, or from all weights."""
        weights = self._tree[self._leaves :]
        if self._all and self._weigh_all is not None:
            weights, self._touched, self._all = self._weigh_all().tolist(), set(self._barred), False
        most = max(len(weights) - 1, max(self._touched, default=0))
        while self._leaves <= most:
            self._leaves *= 2
        weights += [self._absent] * (self._leaves - len(weights))
        for row in self._touched:
            weights[row] = self._absent if row in self._barred else self._weigh(row)
        levels = [np.array(weights)]
        while len(levels[-1]) > 1:
            levels.append(self._join(levels[-1][0::2], levels[-1][1::2]))
        self._tree = np.concatenate([[self._absent], *reversed(levels)]).tolist()

    def _join(self, left: Floats, right: Floats) -> Floats:
        raise NotImplementedError

    def _lift(self, i: int) -> None:
        """Join anew what lies between node `i` and the root, both included."""
        raise NotImplementedError


class DrawTree(WeightedTree):
    """Rows that are drawn with probabilities proportional to their weights (>= 0); 0: not in the urn."""

    def __init__(self, weigh: Weigh, weigh_all: Callable[[], Floats] | None = None) -> None:
        super().__init__(weigh, 0.0, weigh_all)

    def draw(self, u: float, barred: frozenset[int] = frozenset()) -> int | None:
        """Return the row at `u` in [0, 1) of the total weight, rows lying one after the other.

        None from an empty urn.
        """
        tree = self.settle(barred)
        if not tree[1] > 0:
            return None
        x, i, leaves = u * tree[1], 1, self._leaves
        while i < leaves:
            i *= 2
            # Rounding may carry x beyond the last weight: where nothing is to the right it stays on the left.
            if x >= tree[i] and tree[i + 1] > 0:
                x -= tree[i]
                i += 1
        return i - leaves

    def _join(self, left: Floats, right: Floats) -> Floats:
        return left + right

    def _lift(self, i: int) -> None:
        tree = self._tree
        while i:
            tree[i] = tree[2 * i] + tree[2 * i + 1]
            i >>= 1


class MaxTree(WeightedTree):
    """Rows of which the heaviest is asked for; a row that weighs `NONE` is not in it."""

    NONE = -math.inf

    def __init__(self, weigh: Weigh) -> None:
        super().__init__(weigh, self.NONE)

    def find_best(self, barred: frozenset[int] = frozenset()) -> int | None:
        """Return the row of the largest weight, of equals the smallest; None where there is none."""
        tree = self.settle(barred)
        if tree[1] == self.NONE:
            return None
        i, leaves = 1, self._leaves
        while i < leaves:
            i *= 2
            if tree[i] < tree[i + 1]:
                i += 1
        return i - leaves

    def _join(self, left: Floats, right: Floats) -> Floats:
        return np.maximum(left, right)

    def _lift(self, i: int) -> None:
        tree = self._tree
        while i:
            left, right = tree[2 * i], tree[2 * i + 1]
            most = max(left, right)
            if tree[i] == most:
                return
            tree[i] = most
            i >>= 1
