"""The queries of a capture whose posts the platform counts first, and the slices that follow from the counts. Pure."""

from collections.abc import Sequence

from socialcrawl.crawls.capture.rules import CaptureRules
from socialcrawl.crawls.capture.slices import TimeSlice, count_parts, cut_span
from socialcrawl.crawls.seeds import TRIES
from socialcrawl.engine.model import Act, Node, Outcome, Pick, Reason
from socialcrawl.engine.span_counts import SpanCount, count_between, parse_counts
from socialcrawl.engine.time_spans import parse_span, write_span


class CountedQueries:
    """Which queries are counted, which are to be, and by which parts their spans are read.

    A query that cannot be counted is cut into parts of equal length, as without counts.

    Args:
        rules: the span of time.
        queries: the nodes of the queries.

    Attributes:
        left: the queries that are still to be counted, in order, with how often that failed.
        counts: of each query that was counted, the counts, oldest first, and where the last of them ends.
        parts: how many parts there are so far, of all queries.
    """

    def __init__(self, rules: CaptureRules, queries: Sequence[Node]) -> None:
        self.rules = rules
        self.left = dict.fromkeys(queries, 0)
        self.counts: dict[Node, tuple[Sequence[SpanCount], float]] = {}
        self.parts = 0

    def choose(self, size: int, first: int, until: float) -> tuple[Pick, ...]:
        """Return the picks that count the next queries, from number `first` on; the span ends at `until`."""
        queries = sorted(self.left, key=lambda query: self.left[query])[:size]
        span = write_span(self.rules.begin, until)
        return tuple(Pick(first + i, query, Act.COUNT, 0.0, (until,), span) for i, query in enumerate(queries))

    def take(self, pick: Pick, outcome: Outcome) -> list[TimeSlice]:
        """Return the slices by which a query is read; none where it is to be counted again."""
        begin, end = parse_span(pick.since)
        tries = self.left.pop(pick.node, 0) + 1
        if outcome.missing == Reason.TEMPORARY and tries < TRIES:
            self.left[pick.node] = tries
            return []
        if outcome.missing is None:
            counts = parse_counts(outcome.mark)
            self.counts[pick.node] = counts, end
            edges = [one.begin for one in counts]
            spans = list(zip(edges, [*edges[1:], end], strict=True))
        else:
            spans = cut_span(begin, end, count_parts(self.rules, end))
        first, self.parts = self.parts, self.parts + len(spans)
        return [TimeSlice(pick.node, *span, part) for part, span in enumerate(spans, first)]

    def count(self, query: Node, begin: float, end: float) -> float:
        """Return about how many posts of a query were counted in a span of time (Unix seconds); 0 if none were."""
        counts, until = self.counts.get(query, ((), end))
        return count_between(counts, until, begin, end)
