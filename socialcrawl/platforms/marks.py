"""Marks: the newest that a visit saw, in the platform's own terms, from which a later visit goes on. Pure.

A number that grows with time (a snowflake) holds the millisecond in its upper bits. A mark is the last number of such a
millisecond: it names a moment and no post, so that nothing is left of a post that is forgotten. Of two posts that one
account wrote in the same millisecond, the second may be missed.
"""

from dataclasses import dataclass
from math import floor

from socialcrawl.engine.mark_order import is_number


@dataclass(frozen=True, slots=True)
class Snowflakes:
    """The numbers of posts of a platform.

    Attributes:
        epoch: the millisecond in which they begin, since 1970.
        bits: those below the milliseconds.
        first: numbers below it are none: they were counted, and are their own marks.
    """

    epoch: int
    bits: int
    first: int

    def mark(self, number: str) -> str:
        """Return the mark of a post's number: the last of its millisecond; another name of a post is its own mark."""
        return str(int(number) | self._mask) if self._is_one(number) else number

    def make_mark(self, at: float) -> str:
        """Return the mark of all that was written before the millisecond of `at` (Unix seconds).

        "" before the first one.
        """
        mark = self.make_first(at) - 1
        return str(mark) if mark >= self.first else ""

    def make_first(self, at: float) -> int:
        """Return the first number of the millisecond of `at` (Unix seconds)."""
        return (floor(at * 1000) - self.epoch) << self.bits

    def time(self, mark: str) -> float | None:
        """Return the Unix seconds of a mark; None where it tells none."""
        return ((int(mark) >> self.bits) + self.epoch) / 1000 if self._is_one(mark) else None

    @property
    def _mask(self) -> int:
        return (1 << self.bits) - 1

    def _is_one(self, number: str) -> bool:
        return is_number(number) and int(number) >= self.first
