"""Masses of equals in the frontier: rows whose values are the same numbers, in order of discovery."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.base import ScoreTerms
from socialcrawl.graph.graph import NO_ROWS as NOBODY
from socialcrawl.graph.graph import Rows

Floats = NDArray[np.float64]
Places = NDArray[np.int32]

CROWD = 64  # equals that are worth a crowd
FIRST = -2  # the place of rows in crowd 0; those in crowd i have FIRST - i
MOST = 64  # crowds that are kept apart
LOOK = 256  # rows that are looked at together for one that is still there
FEW = 100_000  # rows that are sorted without a thought
SAMPLE = 1000  # rows of a larger set that are drawn to see where the masses are


class EqualRows:
    """Up to MOST crowds. A row is in crowd i while its entry of `place` says so: leaving is saying otherwise."""

    def __init__(self, width: int, place: Places) -> None:
        self.place = place
        self.values = np.empty((width, 0))  # column i: the values of crowd i
        self._rows: list[Rows] = []  # ascending; with those that have left
        self._head: list[int] = []
        self._end: list[int] = []
        self._of: dict[bytes, int] = {}

    def find_crowds(self, rows: Rows, values: Floats) -> NDArray[np.bool_]:
        """Return which of `rows` are many enough of a kind to be crowds: they are, from now on; others are left."""
        crowded = np.zeros(len(rows), bool)
        for some in _find_alike(values):
            vector = values[:, some[0]]
            crowd = self._of.get(vector.tobytes())
            if crowd is not None:
                self._merge(crowd, np.sort(rows[some]))
            elif len(self._rows) < MOST:
                self._open(vector, np.sort(rows[some]))
            else:
                continue
            crowded[some] = True
        return crowded

    def find_strangers(self, places: Places, values: Floats) -> NDArray[np.bool_]:
        """Return whether each of some rows in crowds is no longer alike its crowd, now that it has these values."""
        return np.asarray(np.logical_or.reduce(self.values[:, FIRST - places] != values, axis=0))

    def join(self, rows: Rows, values: Floats) -> NDArray[np.bool_]:
        """Return those of `rows` (ascending) that joined their group: discovered after all that are in it."""
        joined = np.zeros(len(rows), bool)
        for crowd in range(len(self._rows)):
            same = (values == self.values[:, crowd, None]).all(axis=0)
            if same.any():
                same &= rows > self._rows[crowd][self._end[crowd] - 1]
                self._extend(crowd, rows[same])
                joined |= same
        return joined

    def list_ahead(self, terms: ScoreTerms, worst: tuple[float, int], many: int) -> Rows:
        """Return the first `many` rows of each crowd whose first one ranks before (score, -row) = `worst`.

        They leave it.
        """
        if not self._rows:
            return NOBODY
        scores = terms.combine(self.values)
        if np.maximum.reduce(scores) < worst[0]:
            return NOBODY
        leaving = [
            self._list_leaders(crowd, many)
            for crowd in np.flatnonzero(scores >= worst[0]).tolist()
            if (scores[crowd], -self._find_first(crowd)) > worst
        ]
        return np.concatenate([NOBODY, *leaving])

    def _open(self, vector: Floats, rows: Rows) -> None:
        crowd = len(self._rows)
        self._of[vector.tobytes()] = crowd
        self.values = np.concatenate([self.values, vector[:, None]], axis=1)
        self._rows.append(rows)
        self._head.append(0)
        self._end.append(len(rows))
        self.place[rows] = FIRST - crowd

    def _merge(self, crowd: int, rows: Rows) -> None:
        """Put `rows` (ascending, in no crowd) where they belong among those of a crowd."""
        head, end = self._head[crowd], self._end[crowd]
        behind = head + int(np.searchsorted(self._rows[crowd][head:end], rows[-1], side="right"))
        before = self._rows[crowd][head:behind]
        before = before[self.place[before] == FIRST - crowd]
        front = np.insert(before, np.searchsorted(before, rows), rows)
        begin = behind - len(front)
        if begin < 0:
            self._rows[crowd] = np.concatenate([front, self._rows[crowd][behind:end]])
            self._head[crowd], self._end[crowd] = 0, len(self._rows[crowd])
        else:
            self._rows[crowd][begin:behind] = front
            self._head[crowd] = begin
        self.place[rows] = FIRST - crowd

    def _extend(self, crowd: int, rows: Rows) -> None:
        begin = self._end[crowd]
        end = begin + len(rows)
        if end > len(self._rows[crowd]):
            self._rows[crowd] = np.concatenate([self._rows[crowd][:begin], np.empty(end, np.int64)])
        self._rows[crowd][begin:end] = rows
        self._end[crowd] = end
        self.place[rows] = FIRST - crowd

    def _find_first(self, crowd: int) -> float:
        """Return the first row that is still in the crowd; infinity where nobody is."""
        while self._head[crowd] < self._end[crowd]:
            some = self._list_next(crowd, LOOK)
            here = self.place[some] == FIRST - crowd
            if here.any():
                self._head[crowd] += int(here.argmax())
                return float(some[here.argmax()])
            self._head[crowd] += len(some)
        return np.inf

    def _list_leaders(self, crowd: int, many: int) -> Rows:
        """Return the first rows of a crowd, up to `many`: it begins after them from now on."""
        some = self._list_next(crowd, many)
        self._head[crowd] += len(some)
        return np.asarray(some[self.place[some] == FIRST - crowd])

    def _list_next(self, crowd: int, many: int) -> Rows:
        head = self._head[crowd]
        return np.asarray(self._rows[crowd][head : min(head + many, self._end[crowd])])


def _find_alike(values: Floats) -> Iterator[NDArray[np.int64]]:
    """Yield places with equal values, CROWD or more at a time; the largest mass is likely to come first."""
    left = np.arange(values.shape[1])
    while len(left) > FEW:
        sample, times = np.unique(values[:, left[:: max(1, len(left) // SAMPLE)]], axis=1, return_counts=True)
        if times.max() * 16 < times.sum():
            break
        mass = (values[:, left] == sample[:, times.argmax(), None]).all(axis=0)
        yield left[mass]
        left = left[~mass]
    order = left[np.lexsort(values[:, left])]
    ordered = values[:, order]
    edges = np.flatnonzero((ordered[:, 1:] != ordered[:, :-1]).any(axis=0)) + 1
    groups = np.split(order, edges)
    yield from sorted((group for group in groups if len(group) >= CROWD), key=len, reverse=True)
