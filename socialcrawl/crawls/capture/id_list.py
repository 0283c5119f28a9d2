"""The list of ids whose posts a capture fetches: what was asked for, and what is left. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice

from socialcrawl.crawls.seeds import TRIES
from socialcrawl.engine.model import Outcome, Reason
from socialcrawl.engine.positions import parse_positions, write_positions


@dataclass(frozen=True, slots=True)
class IdSpan:
    """Positions in the list of ids: from `begin` on, before `end`.

    Attributes:
        begin, end: the positions.
        width: how many of them one pick asks for.
        tries: how often they were asked for without an answer.
    """

    begin: int
    end: int
    width: int
    tries: int = 0

    @property
    def text(self) -> str:
        """How a pick writes it."""
        return write_positions(self.begin, self.end)

    @property
    def picks(self) -> int:
        """How many picks it takes."""
        return -(-(self.end - self.begin) // self.width)

    def cut(self) -> Iterator["IdSpan"]:
        """Yield it in parts that one pick asks for each."""
        for begin in range(self.begin, self.end, self.width):
            yield replace(self, begin=begin, end=min(begin + self.width, self.end))


class IdList:
    """The ids of a capture, in order of their import; those that were asked for in vain come after the others.

    Attributes:
        pending: the spans that are left, in order.
        given: how many ids there are to be asked for.
        asked: for how many of them an answer came.
        returned: how many posts were returned.
        failed: the spans that cannot be had.
    """

    def __init__(self) -> None:
        self.pending: list[IdSpan] = []
        self.given = self.asked = self.returned = 0
        self.failed: list[IdSpan] = []

    @property
    def left(self) -> int:
        """How many ids are still to be asked for."""
        return sum(one.end - one.begin for one in self.pending)

    @property
    def picks(self) -> int:
        """How many picks are still to come, if all are answered."""
        return sum(one.picks for one in self.pending)

    def add(self, positions: str, width: int) -> None:
        """Add ids that were imported, of which one pick asks for `width`."""
        begin, end = parse_positions(positions)
        self.given += end - begin
        self.pending.append(IdSpan(begin, end, width))
        self._sort()

    def choose(self, size: int) -> list[IdSpan]:
        """Return the next spans, one for each pick; `size` of them, or fewer where fewer are left."""
        return list(islice(chain.from_iterable(one.cut() for one in self.pending), size))

    def take(self, positions: str, outcome: Outcome) -> None:
        """Learn what came of the ids at some positions."""
        found = self._cut_out(*parse_positions(positions))
        if outcome.missing is not None:
            if outcome.missing == Reason.TEMPORARY and found.tries + 1 < TRIES:
                self.pending.append(replace(found, tries=found.tries + 1))
                self._sort()
            else:
                self.failed.append(found)
            return
        reached = int(outcome.mark) if outcome.mark else found.end
        self.returned += outcome.posts
        self.asked += reached - found.begin
        if reached < found.end:
            self.pending.append(replace(found, begin=reached))
            self._sort()

    def _cut_out(self, begin: int, end: int) -> IdSpan:
        """Remove some positions from what is left, and return them."""
        place, whole = next(
            (place, one) for place, one in enumerate(self.pending) if one.begin <= begin and end <= one.end
        )
        parts = [replace(whole, end=begin), replace(whole, begin=end)]
        self.pending[place : place + 1] = [one for one in parts if one.begin < one.end]
        return replace(whole, begin=begin, end=end)

    def _sort(self) -> None:
        self.pending.sort(key=lambda one: (one.tries, one.begin))
