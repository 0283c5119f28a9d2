"""Capture: a crawl that reads every post that matches a query, slice by slice of time, as the loop can drive it.

Where ids of posts were imported, picks of act "hydrate" fetch these first: each asks for those at the positions that
`Pick.since` holds. A pick of act "import" says which positions are new, and its outcome's mark how many of them one
pick asks for.

A pick of act "slice" asks for the posts of a query in a span of time, which `Pick.since` holds. A slice that has more
pages than a pick may read is complete from `Outcome.mark` on; what is older becomes new slices. So what is known to be
complete is the union of what was read, whenever the campaign ends. Where posts are counted first
(`CaptureRules.counts`), a pick of act "count" comes before them for each query, and its outcome says where the span is
cut. `choose` changes nothing; `absorb` and `fold` are the only methods that do.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from math import inf
from typing import NamedTuple

from socialcrawl.crawls.capture.counted import CountedQueries
from socialcrawl.crawls.capture.id_list import IdList
from socialcrawl.crawls.capture.live import LiveProgress
from socialcrawl.crawls.capture.rules import LAG, ROUNDING, CaptureRules
from socialcrawl.crawls.capture.slices import (
    SliceKey,
    SliceOrder,
    TimeSlice,
    count_parts,
    cut_rest,
    plan_slices,
)
from socialcrawl.crawls.node_limit import stop_at_limit
from socialcrawl.crawls.seeds import TRIES, Seeds
from socialcrawl.engine.model import (
    ID_LIST,
    STEPS,
    Act,
    Node,
    Outcome,
    Pick,
    Reason,
    Stop,
    StopKind,
    Unavailable,
    Wait,
    parse_time,
)
from socialcrawl.engine.protocols import Batch, History, skip_known
from socialcrawl.engine.time_spans import find_next_second, parse_span
from socialcrawl.text.wording import pluralize

COLUMNS = ("until",)
"""The features of a pick: the end of the campaign's span (Unix seconds), as it was when it was begun."""
PAGE = 100  # posts that a search for new ones is to bring, about


@dataclass(frozen=True, slots=True)
class ReadSpan:
    """What a pick has read: all of `whole` between `begin` and `end`.

    Attributes:
        whole: the slice.
        begin: from when on it was read; later than that of the slice if it was full.
        posts: how many posts were returned.
        n: the number of the pick.
    """

    whole: TimeSlice
    begin: float
    posts: int
    n: int

    @property
    def end(self) -> float:
        """Until when."""
        return self.whole.end


class SliceCounts(NamedTuple):
    """How many slices a capture knows, and how many are left."""

    size: int
    left: int


class Capture:
    """A crawl of slices.

    Args:
        rules: the span of time, and its order.
        queries: the nodes of the queries.
        seed: of the order that is drawn.
        steps: how many slices and groups of ids may be read; None: no bound.

    Attributes:
        picks: all decisions so far, the next pick's n; taken: the slices that were read.
        relevance: the posts that were returned.
        until: the end of the span that it began with; None: nothing was chosen yet.
        pending: the slices that are still to be read, by query, begin and end.
        read: what was read, in order.
        failed: slices that cannot be read, with the reason.
        live: how far the stream of new posts was read.
        counted: the counts of each query's posts; None: nobody counts them.
        ids: the ids whose posts are fetched.
        seeds: none; seed_relevance: 0.
    """

    def __init__(self, rules: CaptureRules, queries: Sequence[Node], seed: int, steps: int | None = None) -> None:
        self.rules, self.queries, self.seed, self.steps = rules, tuple(queries), seed, steps
        self.picks = self.taken = 0
        self.relevance = self.seed_relevance = 0.0
        self.seeds = Seeds()
        self.until: float | None = None
        self.pending: dict[SliceKey, TimeSlice] = {}
        self.read: list[ReadSpan] = []
        self.failed: list[tuple[TimeSlice, Unavailable]] = []
        self.live = LiveProgress(rules)
        self.counted = CountedQueries(rules, self.queries) if rules.counts else None
        self.ids = IdList()
        self._order = SliceOrder(rules, seed, 0)
        self._reached: dict[Node, ReadSpan] = {}  # by query, what was read up to the latest moment

    @property
    def graph(self) -> SliceCounts:
        """How many slices there are, under the name by which every crawl has what it knows."""
        left = len(self.pending) + self.ids.picks
        return SliceCounts(len(self.read) + len(self.failed) + left, left)

    @property
    def parts(self) -> int:
        """Into how many parts the span that it began with is cut; where posts are counted, that of all queries."""
        if self.until is None:
            return 0
        return count_parts(self.rules, self.until) if self.counted is None else self.counted.parts

    @property
    def share(self) -> float:
        """Which share of the time of all queries is complete, of the span that it began with: 0 to 1."""
        if self.until is None:
            return 0.0
        known = [*self.list_left(), *(one for one, _ in self.failed)]
        left = sum(one.end - one.begin for one in known if one.end <= self.until)
        return max(0.0, 1.0 - left / ((self.until - self.rules.begin) * len(self.queries)))

    def choose(self, size: int, now: float) -> Batch | Wait | Stop:
        """Return the next slices."""
        if self.steps is not None and self.taken >= self.steps:
            return stop_at_limit(self.steps, self.taken, "slice")
        if self.ids.pending:
            return self._choose_ids(size if self.steps is None else min(size, self.steps - self.taken))
        if not self.queries:
            return self._stop_without_queries()
        until, order = self.until, self._order
        pending: Iterable[TimeSlice] = self.pending.values()
        if until is None:
            until = self.rules.find_end(now)
            if until <= self.rules.begin:
                return Wait(self.rules.begin + LAG + ROUNDING, "the span of time of the capture has not begun")
        if self.counted is not None and self.counted.left:
            return self.counted.choose(size, self.picks, until)
        if self.until is None:
            pending = plan_slices(self.rules, self.queries, until)
            order = SliceOrder(self.rules, self.seed, count_parts(self.rules, until))
        elif self.rules.live:
            pending = [one for one in self.pending.values() if one.end <= self._find_latest(now)]
        elif not self.pending:
            found = self._find_new(now)
            if isinstance(found, Wait | Stop):
                return found
            pending = found
        if self.steps is not None:
            size = min(size, self.steps - self.taken)
        chosen = nsmallest(size, pending, key=order)
        turn = self.live.plan_turn(until, now, busy=bool(chosen))
        if turn is None and not chosen:
            return Wait(self._find_due(), "the stream could not be read: it is tried again")
        asked = [(self.queries[0], Act.LIVE, str(turn))] if turn else []
        asked += [(one.query, Act.SLICE, one.text) for one in chosen]
        return tuple(
            Pick(self.picks + i, node, act, 0.0, (until,), since) for i, (node, act, since) in enumerate(asked[:size])
        )

    def absorb(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Learn what was read, in pick order."""
        for pick, outcome in zip(batch, outcomes, strict=True):
            self.picks = pick.n + 1
            if pick.act in STEPS:
                self.taken += 1
                self.relevance += outcome.posts
            if pick.act == Act.SLICE:
                self._begin(pick)
                self.live.note_slice()
                self._take(pick, outcome)
            elif pick.act == Act.LIVE:
                self._begin(pick)
                self._take_live(pick, outcome)
            elif pick.act == Act.COUNT and self.counted is not None:
                self._take_counts(self.counted, pick, outcome)
            elif pick.act == Act.IMPORT:
                self.ids.add(pick.since, int(outcome.mark))
            elif pick.act == Act.HYDRATE:
                self.ids.take(pick.since, outcome)

    def fold(self, history: History) -> None:
        """Absorb every finished batch."""
        for batch, outcomes in skip_known(history, self.picks):
            self.absorb(batch, outcomes)

    def list_left(self) -> list[TimeSlice]:
        """Return what is still to be read: slices, and the whole spans of queries whose posts are to be counted."""
        counting = self.counted.left if self.counted is not None else ()
        whole = (TimeSlice(query, self.rules.begin, self.until or self.rules.begin) for query in counting)
        return [*self.pending.values(), *whole]

    def is_timed(self, now: float) -> bool:
        """Return whether the next choice depends on the time."""
        if self.ids.pending:
            return False
        begins = self.until is None and (self.rules.end is None or self.rules.end > now - LAG - ROUNDING)
        if self.rules.live:  # a span that the stream did not replay is searched once posts can be found there
            return (
                begins or self.live.retry_at is not None or any(one.part >= self.parts for one in self.pending.values())
            )
        counting = self.counted is not None and bool(self.counted.left)
        return begins or (self.until is not None and not self.pending and not counting)

    def note_open(self, pick: Pick, posts: int, oldest: float) -> None:
        """Count what came of a slice that is being read, for a report: it is complete from a second on.

        Args:
            pick: the slice.
            posts: how many posts were returned.
            oldest: when the oldest of them was written, Unix seconds.
        """
        begin, end = parse_span(pick.since)
        found = self.pending.get((pick.node, begin, end)) or TimeSlice(pick.node, begin, end, self.parts + pick.n)
        rest = find_next_second(oldest)
        if begin < rest < end:
            self.pending.pop(found.key, None)
            self.read.append(ReadSpan(found, rest, posts, pick.n))
            left = replace(found, end=rest)
            self.pending[left.key] = left

    def _choose_ids(self, size: int) -> Batch:
        return tuple(
            Pick(self.picks + i, ID_LIST, Act.HYDRATE, since=one.text) for i, one in enumerate(self.ids.choose(size))
        )

    def _stop_without_queries(self) -> Stop:
        if not self.ids.given:
            return Stop(
                StopKind.FAILED,
                "there is nothing to read: import ids of posts with `socialcrawl import FILE --as ids --db "
                "CAMPAIGN.toml`, or set from under [capture] and name keywords under [topic]",
            )
        posts = f"{self.ids.returned:,} of {pluralize(self.ids.given, 'post')}"
        failed = sum(one.end - one.begin for one in self.ids.failed)
        lacking = f", {failed:,} could not be asked for" if failed else ""
        return Stop(StopKind.DONE, f"all ids were asked for: {posts} came{lacking}")

    def _find_new(self, now: float) -> list[TimeSlice] | Wait | Stop:
        """Return the slices for new posts; when to look for them; or why there are none."""
        until, end = self.rules.find_end(now), self.rules.end
        due = {}
        for query in self.queries:
            moment = self._find_reached(query)
            if end is None or moment < end:
                soon = moment + self._choose_interval(self._reached.get(query))
                due[query] = soon if end is None else min(soon, end)
        if not due or (end is None and not self.rules.ongoing):
            return Stop(StopKind.DONE, self._explain_end())
        ready = [query for query, moment in due.items() if moment <= until]
        if not ready:
            return Wait(min(due.values()) + LAG + ROUNDING, "no new posts are due")
        return [self._plan_new(query, until) for query in ready]

    def _plan_new(self, query: Node, until: float) -> TimeSlice:
        begin = max(self.rules.begin, self._find_reached(query) - self.rules.margin)
        return TimeSlice(query, begin, until, self.parts + self.picks)

    def _find_reached(self, query: Node) -> float:
        """Return up to when a query was read or tried."""
        reached = self._reached.get(query)
        return self.until or self.rules.begin if reached is None else reached.end

    def _choose_interval(self, last: ReadSpan | None) -> float:
        """Return seconds until the next search for new posts: so that it brings about a page."""
        if last is None:
            return 0.0
        if not last.posts:
            return self.rules.latest
        wanted = PAGE * (last.end - last.begin) / last.posts
        return min(self.rules.latest, max(self.rules.soonest, wanted))

    def _explain_end(self) -> str:
        if self.failed:
            failed = f"{len(self.failed):,} of {pluralize(self.graph.size, 'slice', 'slices')} of time"
            return f"{failed} could not be read: `socialcrawl report` says which and why"
        return f"all of the span was read: {pluralize(int(self.relevance), 'post was', 'posts were')} returned"

    def _begin(self, pick: Pick) -> None:
        """Plan the slices by the first pick, which says where the span ends."""
        if self.until is None:
            self.until = pick.x[0]
            self._order = SliceOrder(self.rules, self.seed, self.parts)
            self.pending = {one.key: one for one in plan_slices(self.rules, self.queries, self.until)}

    def _find_latest(self, now: float) -> float:
        """Return up to when posts can be found at `now`, where new ones come by the stream."""
        return max(self.until or 0.0, self.rules.find_end(now))

    def _find_due(self) -> float:
        """Return when a capture that reads a stream goes on."""
        slices = min((one.end for one in self.pending.values()), default=inf) + LAG + ROUNDING
        return min(slices, inf if self.live.retry_at is None else self.live.retry_at)

    def _take_live(self, pick: Pick, outcome: Outcome) -> None:
        hole = self.live.take(pick, outcome)
        if hole is not None:  # searches may find what the stream did not replay
            missed = (TimeSlice(query, *hole, self.parts + pick.n) for query in self.queries)
            self.pending.update((one.key, one) for one in missed)

    def _take(self, pick: Pick, outcome: Outcome) -> None:
        begin, end = parse_span(pick.since)
        found = self.pending.pop((pick.node, begin, end), None)
        if found is None:  # for new posts
            found = TimeSlice(pick.node, begin, end, self.parts + pick.n)
        if outcome.missing == Reason.TEMPORARY and found.tries + 1 < TRIES:
            self.pending[found.key] = replace(found, tries=found.tries + 1)
        elif outcome.missing is not None:
            self.failed.append((found, outcome.missing))
            self._note_reached(ReadSpan(found, found.end, 0, pick.n))
        else:
            oldest = parse_time(outcome.mark) if outcome.mark else begin
            read = ReadSpan(found, oldest, outcome.posts, pick.n)
            self.read.append(read)
            self._note_reached(read)
            if outcome.mark:
                self.pending.update((one.key, one) for one in cut_rest(found, oldest, outcome.posts))

    def _take_counts(self, counted: CountedQueries, pick: Pick, outcome: Outcome) -> None:
        self.until = pick.x[0]
        self.pending.update((one.key, one) for one in counted.take(pick, outcome))
        if not counted.left:
            self._order = SliceOrder(self.rules, self.seed, counted.parts)

    def _note_reached(self, read: ReadSpan) -> None:
        before = self._reached.get(read.whole.query)
        if before is None or before.end < read.end:
            self._reached[read.whole.query] = read
