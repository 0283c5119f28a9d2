"""How many posts of a query were written when, as replies and outcomes hold it: a mark of times and numbers. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class SpanCount(NamedTuple):
    """The posts that were written from `begin` on (Unix seconds, whole), until the next count of a list begins."""

    begin: float
    posts: int


def write_counts(counts: Iterable[SpanCount]) -> str:
    """Return counts as a mark: `1767225600:12 1767229200:0`."""
    return " ".join(f"{one.begin:.0f}:{one.posts}" for one in counts)


def parse_counts(mark: str) -> list[SpanCount]:
    """Return the counts of a mark; the inverse of `write_counts`.

    Raises:
        ValueError: it has none.
    """
    pairs = (part.split(":") for part in mark.split())
    return [SpanCount(float(begin), int(posts)) for begin, posts in pairs]


def merge_counts(counts: Sequence[SpanCount], size: int) -> list[SpanCount]:
    """Return counts, oldest first, with neighbours merged as long as they have at most `size` posts together.

    So spans without posts are part of those before them, or of the first one after them.
    """
    found: list[SpanCount] = []
    for one in sorted(counts):
        if found and found[-1].posts + one.posts <= size:
            found[-1] = SpanCount(found[-1].begin, found[-1].posts + one.posts)
        else:
            found.append(one)
    return found


def count_between(counts: Sequence[SpanCount], end: float, first: float, last: float) -> float:
    """Return about how many posts were written from `first` on and before `last`, if evenly within each count.

    Args:
        counts: oldest first.
        end: when the last of them ends.
        first: the begin of a span, Unix seconds.
        last: its end.
    """
    total = 0.0
    ends = [*(one.begin for one in counts), end][1:]
    for one, until in zip(counts, ends, strict=True):
        shared = min(last, until) - max(first, one.begin)
        if shared > 0:
            total += one.posts * shared / (until - one.begin)
    return total
