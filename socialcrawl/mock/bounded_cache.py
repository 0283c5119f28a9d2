"""What was made once and is kept while there is room: the oldest goes first."""

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Values by key, of at most `most` bytes in all; what was put first is let go first."""

    def __init__(self, most: int) -> None:
        self._most, self._sum = most, 0
        self._values: dict[K, tuple[V, int]] = {}

    def get(self, key: K) -> V | None:
        """Return the value of a key; None where there is none, or no longer."""
        found = self._values.get(key)
        return None if found is None else found[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Store a value of this many bytes."""
        self._sum += size - self._values.pop(key, (value, 0))[1]
        self._values[key] = (value, size)
        while self._sum > self._most:
            self._sum -= self._values.pop(next(iter(self._values)))[1]
