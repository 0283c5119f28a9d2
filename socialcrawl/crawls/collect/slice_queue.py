"""Which spans of time are searched, where accounts are found by searches for the topic. Pure.

A pick of act "search" with a span of time asks for the posts of a query in it, as a slice of a capture. Each author
whom it finds is then read from what it returned, by a pick whose `since` names the search: "match" for the first time,
"page" later. The store answers these.

The first search is that of the newest part: its end says where the whole span ends. The other parts follow in an order
that is drawn; what is left of them, as there were more posts than a search returns, comes after all of them, and so on.
This finds new authors before it finds more posts of known ones: 1 + ln x grows fastest with the first post. Measured
on a huge topic (`it` in ubuntu_irc, one campaign each), that found 12 % more for $50 than part after part to its end.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import nsmallest

from socialcrawl.crawls.capture.rules import LAG, ROUNDING, CaptureRules
from socialcrawl.crawls.capture.slices import SliceKey, TimeSlice, count_parts, cut_rest, plan_slices
from socialcrawl.crawls.seeds import TRIES
from socialcrawl.engine.draws import make_generator
from socialcrawl.engine.model import FOUND_BY, Node, Outcome, Pick, Reason, Stop, StopKind, Wait, parse_time
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.text.wording import pluralize


def bound_span(rules: CaptureRules, until: float, back: float) -> CaptureRules:
    """Return the rules of a span that ends at `until`: it begins at most `back` seconds before, as searches reach."""
    return replace(rules, begin=max(rules.begin, until - back))


class SliceQueue:
    """The spans that are still to be searched, and the authors who are still to be read.

    Args:
        rules: the whole span, and into how many parts it is cut.
        queries: the nodes of the queries.
        seed: of the campaign, by which the order is drawn.
        back: how long before its end the whole span begins at most, in seconds.
        alone: whether nothing is read but what searches return.

    Attributes:
        until: the end of the whole span, Unix seconds; None: nothing was searched yet.
        posts: how many posts the searches returned.
        failed: spans that could not be searched.
    """

    def __init__(self, rules: CaptureRules, queries: Sequence[Node], seed: int, back: float, *, alone: bool) -> None:
        self.rules, self.queries, self.seed, self.back = rules, tuple(queries), seed, back
        self.alone = alone
        self.until: float | None = None
        self.posts = self.failed = 0
        self._pending: dict[SliceKey, TimeSlice] = {}
        self._found: deque[tuple[Node, str]] = deque()  # an author, and the search that returned some of its posts
        self._ranks: Sequence[int] = [0]  # of the parts

    @property
    def left(self) -> int:
        """How many spans are known that are still to be searched."""
        return len(self._pending)

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to search."""
        return self.until is not None and not self._pending

    def choose_found(self, size: int, is_wanted: Callable[[Node], bool]) -> list[tuple[Node, str]]:
        """Return the next authors, each once, with the `since` of the picks that read them."""
        chosen: dict[Node, str] = {}
        for node, since in self._found:
            if node in chosen or len(chosen) >= size:
                break
            if is_wanted(node):
                chosen[node] = since
        return list(chosen.items())

    def choose(self, size: int, now: float) -> list[tuple[Node, str]] | Wait:
        """Return the next spans, each as its query and the `since` of its pick; none where searches reach none."""
        if self.until is not None:
            return [(one.query, one.text) for one in nsmallest(size, self._pending.values(), key=self._order)]
        until = self.rules.find_end(now)
        if self.rules.end is not None and self.rules.end <= self.rules.begin:
            return []
        if until <= self.rules.begin:
            return Wait(self.rules.begin + LAG + ROUNDING, "the span of time of the topic has not begun")
        if until <= now - self.back:
            return []
        first = plan_slices(bound_span(self.rules, until, self.back), self.queries[:1], until)
        return [(one.query, one.text) for one in first if one.end == until]

    def stop(self) -> Stop:
        """Return why there is nothing left to do."""
        if self.failed:
            failed = f"{pluralize(self.failed, 'span')} of time could not be searched"
            return Stop(StopKind.DONE, f"{failed}; all others were, and returned {pluralize(self.posts, 'post')}")
        return Stop(
            StopKind.DONE, f"all of the time was searched: {pluralize(self.posts, 'post was', 'posts were')} returned"
        )

    def take_search(self, pick: Pick, outcome: Outcome) -> None:
        """Learn what a search returned."""
        begin, end = parse_span(pick.since)
        if self.until is None:
            self.until = end
            rules = bound_span(self.rules, end, self.back)
            self._pending = {one.key: one for one in plan_slices(rules, self.queries, end)}
            self._ranks = make_generator(self.seed, "slices", 0).permutation(count_parts(rules, end)).tolist()
        found = self._pending.pop((pick.node, begin, end), TimeSlice(pick.node, begin, end))
        if outcome.missing == Reason.TEMPORARY and found.tries + 1 < TRIES:
            self._pending[found.key] = replace(found, tries=found.tries + 1)
        elif outcome.missing is not None:
            self.failed += outcome.missing != Reason.UNREACHABLE  # what lies further back than searches reach by now
        else:
            self.posts += outcome.posts
            self._found.extend((Node(node), f"{FOUND_BY}{pick.n}") for node in outcome.targets.tolist())
            if outcome.mark:
                left = cut_rest(found, parse_time(outcome.mark), outcome.posts)
                after = found.part + len(self._ranks)
                self._pending.update((one.key, replace(one, part=after)) for one in left)

    def _order(self, one: TimeSlice) -> tuple[float, ...]:
        """Return the key by which spans are sorted: those that failed last, then by how often a part was cut."""
        cuts, part = divmod(one.part, len(self._ranks))
        return one.tries, cuts, self._ranks[part], -one.query, -one.end

    def take_found(self, pick: Pick) -> None:
        """Note that an author was read from what a search returned; those before it were passed over."""
        while self._found:
            if self._found.popleft() == (pick.node, pick.since):
                return
