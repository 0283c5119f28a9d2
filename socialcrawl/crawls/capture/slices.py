"""Slices: spans of time of a query, how they are written, cut and ordered. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor

from socialcrawl.crawls.capture.rules import EVEN, OLDEST, SHORTEST, CaptureRules
from socialcrawl.engine.draws import make_generator
from socialcrawl.engine.model import Node
from socialcrawl.engine.time_spans import write_span

PIECES = 16  # slices at most into which the rest of a full one is cut


SliceKey = tuple[Node, float, float]


@dataclass(frozen=True, slots=True)
class TimeSlice:
    """A span of time of a query: from `begin` on, before `end` (Unix seconds, whole).

    Attributes:
        query: the node of the query.
        begin, end: the span.
        part: the part of the campaign's span that it belongs to, from 0; those of later searches for new posts follow.
        tries: how often it failed.
    """

    query: Node
    begin: float
    end: float
    part: int = 0
    tries: int = 0

    @property
    def text(self) -> str:
        """How a pick writes it: an interval of ISO 8601."""
        return write_span(self.begin, self.end)

    @property
    def key(self) -> SliceKey:
        """What it is known by: it was cut once, and belongs to one part."""
        return self.query, self.begin, self.end


def count_parts(rules: CaptureRules, end: float) -> int:
    """Return into how many parts the span up to `end` is cut: no part is shorter than SHORTEST."""
    return max(1, min(rules.parts, int((end - rules.begin) // SHORTEST)))


def cut_span(begin: float, end: float, count: int) -> list[tuple[float, float]]:
    """Return a span cut into at most `count` spans of whole seconds and nearly equal length, oldest first."""
    edges = sorted({floor(begin + (end - begin) * place / count) for place in range(count)} | {floor(begin)})
    return list(zip(map(float, edges), [*map(float, edges[1:]), end], strict=True))


def cut_rest(found: TimeSlice, oldest: float, posts: int) -> list[TimeSlice]:
    """Return the slices that are left of one that was full: what is older than what was read.

    It is cut so that each piece probably has as many posts as were read, if posts are as frequent there.

    Args:
        found: the slice.
        oldest: from when on it was read, Unix seconds.
        posts: how many posts were read.
    """
    end = float(ceil(oldest))
    read = max(1.0, found.end - end)
    pieces = ceil((end - found.begin) / read) if posts else 1
    spans = cut_span(found.begin, end, max(1, min(PIECES, pieces)))
    return [TimeSlice(found.query, first, last, found.part) for first, last in spans]


def plan_slices(rules: CaptureRules, queries: Sequence[Node], end: float) -> Iterator[TimeSlice]:
    """Yield the slices that a capture begins with, oldest first, for each query."""
    for query in queries:
        for part, (first, last) in enumerate(cut_span(rules.begin, end, count_parts(rules, end))):
            yield TimeSlice(query, first, last, part)


class SliceOrder:
    """In which order slices are read: a key for `sorted`.

    Args:
        rules: the order.
        seed: of the campaign, by which EVEN draws.
        parts: how many parts there are.
    """

    def __init__(self, rules: CaptureRules, seed: int, parts: int) -> None:
        self._order = rules.order
        drawn = make_generator(seed, "capture", 0).permutation(parts).tolist() if rules.order == EVEN else []
        self._rank = {part: rank for rank, part in enumerate(drawn)}

    def __call__(self, one: TimeSlice) -> tuple[float, ...]:
        """Return the key of a slice; those that failed come after the others."""
        if self._order == OLDEST:
            return one.tries, one.begin, -one.query
        if self._order == EVEN:  # the queries of a part together, and what is left of a part before the next one
            return one.tries, self._rank.get(one.part, one.part), -one.query, -one.end
        return one.tries, -one.end, -one.query
