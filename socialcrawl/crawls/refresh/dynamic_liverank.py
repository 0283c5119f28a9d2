"""Dynamic LiveRanks: orders that change with every answer (Huynh, Mathieu, Viennot, section 2.5).

Each is a function of the training set and of the tests so far, in their order; `learn` only saves work. `score` is what
its last answer went by.
"""

from heapq import heapify, heappop, heappush
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.refresh.liveranks import Floats, LiveRanks, sort_descending
from socialcrawl.crawls.refresh.old_dataset import find_first
from socialcrawl.crawls.refresh.row_queue import CLOSED, OPEN, GrowingArray, Ints, RowQueue, States
from socialcrawl.importance.pagerank_batch import list_links


class RowResolver(Protocol):
    """What rows are meant by rows: two that turned out to be the same node are one."""

    def __call__(self, rows: Ints) -> Ints:
        """Return the rows that are meant."""


class DynamicOrder(Protocol):
    """An order that changes."""

    def learn(self, rows: Ints, active: NDArray[np.bool_]) -> None:
        """Take in tests, in their order: the rows, and which of them are active."""

    def take(self, state: States, count: int) -> Ints:
        """Return the next `count` open rows, int64; fewer where there are no more. Changes nothing."""

    def score(self, rows: Ints) -> Floats:
        """Return the scores of rows, float64."""


class BreadthFirstOrder:
    """BFS: whom active nodes link to, first come first served; where the queue is empty, the largest PageRank.

    The training set, which is queued before all others, is tested by then.
    """

    def __init__(self, ranks: LiveRanks, resolver: RowResolver) -> None:
        self._ranks, self._meant = ranks, resolver
        self._queued = np.zeros(ranks.old.size, np.bool_)
        self._queue, self._rest = RowQueue(np.empty(0, np.int64)), RowQueue(ranks.by_pagerank)

    def learn(self, rows: Ints, active: NDArray[np.bool_]) -> None:
        """Queue whom the active ones link to, in ascending order for each."""
        old = self._ranks.old
        ends = self._meant(list_links(old.indptr, old.indices, rows[active])[1])
        new = find_first(ends[~self._queued[ends]])
        self._queued[new] = True
        self._queue.append(new)

    def take(self, state: States, count: int) -> Ints:
        """Return the next of the queue, then of the others by PageRank."""
        first = self._queue.take(state, count)
        if len(first) == count:
            return first
        others = self._rest.take(state, count)
        return np.concatenate([first, others[~np.isin(others, first)]])[:count]

    def score(self, rows: Ints) -> Floats:
        """Return zeros: nothing is measured."""
        return np.zeros(len(rows))


class ActiveIndegreeOrder:
    """AI: whom most of the active nodes found so far link to; of equals the larger PageRank."""

    def __init__(self, ranks: LiveRanks, resolver: RowResolver) -> None:
        old = ranks.old
        self._old, self._meant, self._order = old, resolver, ranks.by_pagerank
        self._place = np.empty(old.size, np.int64)
        self._place[self._order] = np.arange(old.size)
        self._rest = RowQueue(self._order)
        self._counts = np.zeros(old.size, np.int64)
        self._heap: list[int] = []  # place - count * n: the smallest comes first; old counts stay in it

    def learn(self, rows: Ints, active: NDArray[np.bool_]) -> None:
        """Count the links of the active ones."""
        _, ends = list_links(self._old.indptr, self._old.indices, rows[active])
        ends = self._meant(ends)
        if not len(ends):
            return
        if len(ends) < self._old.size // 8:
            touched, more = np.unique(ends, return_counts=True)
            self._counts[touched] += more
        else:
            self._counts += np.bincount(ends, minlength=self._old.size)
            touched = np.flatnonzero(self._counts)
        keys = (self._place[touched] - self._counts[touched] * self._old.size).tolist()
        if len(keys) > len(self._heap):
            self._heap += keys
            heapify(self._heap)
        else:
            for key in keys:
                heappush(self._heap, key)

    def take(self, state: States, count: int) -> Ints:
        """Return the largest scores, then, where all others have none, the largest PageRanks."""
        heap, size = self._heap, self._old.size
        keys: list[int] = []
        rows: list[int] = []
        resting: list[int] = []
        while heap and len(rows) < count:
            key = heappop(heap)
            row = int(self._order[key % size])
            if state[row] >= CLOSED or -(key // size) != self._counts[row] or (keys and keys[-1] == key):
                continue
            if state[row] == OPEN:
                rows.append(row)
                keys.append(key)
            else:
                resting.append(key)
        for key in (*keys, *resting):
            heappush(heap, key)
        if len(rows) == count:
            return np.array(rows, np.int64)
        others = self._rest.take(state, count)
        return np.concatenate([np.array(rows, np.int64), others[~np.isin(others, rows)]])[:count]

    def score(self, rows: Ints) -> Floats:
        """Return how many active nodes link to each."""
        return self._counts[rows].astype(np.float64)


class RezappedOrder:
    """Dynamic PageRank: zapped to the active nodes found, then to the top of what that gives, again and again.

    The paper tried it and found that it stays in the neighbourhood of the training set; it does not say how large the
    top is, nor how often that is done: settings (`RefreshRules.top`, `rounds`, `every`). The top holds `top` rows for
    each active node found, of all rows, those found among them. Ties go by PageRank.
    """

    def __init__(self, ranks: LiveRanks, *, rounds: int, top: float, every: int) -> None:
        self._ranks, self._rounds, self._top, self._every = ranks, rounds, top, every
        self._tests, self._used = GrowingArray(np.empty(0, np.int64)), -1  # and how many of them the line goes by
        self._line, self._scores = RowQueue(np.empty(0, np.int64)), np.zeros(ranks.old.size)

    def learn(self, rows: Ints, active: NDArray[np.bool_]) -> None:
        """Note the tests."""
        self._tests.add(np.where(active, rows, -1))

    def take(self, state: States, count: int) -> Ints:
        """Return the largest scores by the first tests, a multiple of `every`."""
        tests = self._tests.values
        used = len(tests) - len(tests) % self._every
        if used != self._used:
            self._used = used
            self._scores = self._spread(tests[:used][tests[:used] >= 0])
            self._line = RowQueue(sort_descending(self._scores, self._ranks.by_pagerank))
        return self._line.take(state, count)

    def score(self, rows: Ints) -> Floats:
        """Return the PageRank of the last round."""
        return self._scores[rows]

    def _spread(self, active: NDArray[Any]) -> Floats:
        scores, size = self._ranks.score_adaptive(active), int(np.ceil(self._top * len(active)))
        for _ in range(self._rounds if size else 0):
            best = sort_descending(scores, self._ranks.by_pagerank)[:size]
            scores = self._ranks.score_adaptive(best[scores[best] > 0])
        return scores
