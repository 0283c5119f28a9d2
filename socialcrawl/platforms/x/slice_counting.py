"""The counts of a query's posts, read before a capture begins: by them its span is cut into slices. Pure.

X counts posts by the hour, page by page of 31 days, and bills each request. Counts are made before posts are removed
for compliance, and later than the index of the search or earlier: they say where to cut, not what is there. So no span
is left out because it counts no posts; it is part of a neighbour.
"""

from collections.abc import Generator
from dataclasses import dataclass
from math import ceil

from socialcrawl.engine.model import PUT_OFF, Outcome, Pick, Reason, Reply, ReplyKind, Request
from socialcrawl.engine.span_counts import SpanCount, merge_counts, parse_counts, write_counts
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.platforms.server_info import CountedSpan
from socialcrawl.platforms.slice_reading import SlicePlan
from socialcrawl.platforms.x.meters import count_pages, make_span_request
from socialcrawl.platforms.x.vocabulary import Vocabulary
from socialcrawl.ratelimit.policy import Policy

MOST = 128  # slices that a mark names: it is kept with the history of the campaign


@dataclass(frozen=True, slots=True)
class SliceCounting:
    """How the posts of a span are counted, and into which slices it is cut.

    Attributes:
        words: the vocabulary to ask in.
        policy: the prices.
        slices: how slices are read.
        page: posts of a page of the search.
        now: Unix seconds; counts of recent posts reach seven days back from then.
        reach: from when on there are counts (Unix seconds, whole); None: no bound.
    """

    words: Vocabulary
    policy: Policy
    slices: SlicePlan
    page: int
    now: float
    reach: float | None = None

    def count(self, pick: Pick, query: str) -> Generator[Request, Reply, Outcome]:
        """Return the outcome of a pick of act "count": its mark names the slices of the span, and their posts."""
        begin, end = parse_span(pick.since)
        first = begin if self.reach is None else max(begin, self.reach)
        if first >= end:
            return Outcome(pick.n, pick.node, 0.0, missing=Reason.UNREACHABLE)
        span = CountedSpan(first, end, self.now, self.slices.archive)
        found: dict[float, int] = {begin: 0}
        cursor, at = None, 0.0
        for part in range(1, count_pages(span) + 1):
            asked = make_span_request((pick.n, part), query, self.words, self.policy, span=span, cursor=cursor)
            reply = yield _by_hour(asked)
            if reply.kind in PUT_OFF or reply.kind == ReplyKind.MISSING:
                return Outcome(pick.n, pick.node, reply.at, missing=Reason.TEMPORARY)
            for one in parse_counts(reply.answer.mark):
                if one.begin < end:
                    found[max(one.begin, begin)] = found.get(max(one.begin, begin), 0) + one.posts
            cursor, at = reply.cursor, reply.at
            if cursor is None:
                break
        return Outcome(pick.n, pick.node, at, mark=write_counts(self._cut([SpanCount(*one) for one in found.items()])))

    def _cut(self, counts: list[SpanCount]) -> list[SpanCount]:
        """Return the slices of a span: about as many posts each as a pick reads, or fewer where more slices are wanted.

        None is meant to have less than a page, as each one costs a request.
        """
        total = sum(one.posts for one in counts)
        room = self.slices.pages * self.page
        size = max(self.page, min(room, ceil(total / max(1, self.slices.counted))), ceil(total / (MOST // 2)))
        return merge_counts(counts, size)


def _by_hour(asked: Request) -> Request:
    return Request(asked.key, asked.endpoint, {**asked.params, "granularity": "hour"}, asked.items, asked.most)
