"""Rows in the order in which they are to be tested, and the states that rows are in."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
States = NDArray[np.int8]

OPEN, RESTING, ACTIVE, DEAD, UNKNOWN, SAME, LEFT = range(7)
"""Not tested; failed a while ago; tested: active, not active, never answered; is another row; was taken out."""
CLOSED = ACTIVE  # the first of the states in which a row is asked no more
CHUNK = 4096


class GrowingArray:
    """Numbers that come piece by piece, as one array.

    Args:
        numbers: those that are there at first.
    """

    def __init__(self, numbers: NDArray[Any]) -> None:
        self._held, self._size = numbers, len(numbers)

    def add(self, more: NDArray[Any]) -> None:
        """Let numbers join at the end."""
        size = self._size + len(more)
        if size > len(self._held):
            held = np.empty(max(2 * size, CHUNK), self._held.dtype)
            held[: self._size] = self.values
            self._held = held
        self._held[self._size : size] = more
        self._size = size

    @property
    def values(self) -> NDArray[Any]:
        """All of them, in their order; not to be written to."""
        return self._held[: self._size]


class RowQueue:
    """Distinct rows in order; those that are closed are passed for good. Rows can join at the end."""

    def __init__(self, rows: NDArray[Any]) -> None:
        self._pile, self._head = GrowingArray(rows), 0

    def append(self, rows: NDArray[Any]) -> None:
        """Let rows join at the end."""
        self._pile.add(rows)

    def take(self, state: States, count: int, wanted: int = OPEN) -> Ints:
        """Return the first `count` rows that are in the state `wanted`, int64; fewer where there are no more."""
        self._pass(state)
        found: list[Ints] = [np.empty(0, np.int64)]
        rows, at = self._pile.values, self._head
        while count > 0 and at < len(rows):
            some = rows[at : at + CHUNK]
            hits = some[state[some] == wanted][:count].astype(np.int64)
            found.append(hits)
            count -= len(hits)
            at += len(some)
        return np.concatenate(found)

    def is_done(self, state: States) -> bool:
        """Return whether all rows are closed."""
        return self.count_passed(state) == len(self._pile.values)

    def count_passed(self, state: States) -> int:
        """Return how many rows at the beginning are closed."""
        self._pass(state)
        return self._head

    def _pass(self, state: States) -> None:
        rows = self._pile.values
        while self._head < len(rows):
            some = rows[self._head : self._head + CHUNK]
            left = np.flatnonzero(state[some] < CLOSED)
            self._head += int(left[0]) if len(left) else len(some)
            if len(left):
                return
