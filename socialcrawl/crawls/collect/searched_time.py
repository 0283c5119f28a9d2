"""How much of the time of the topic a collection has searched, where it searches span by span."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from socialcrawl.campaign.settings import load_stored
from socialcrawl.crawls.collect.make import make_search_rules, makes_searches_only, plan_searches
from socialcrawl.crawls.collect.slice_queue import bound_span
from socialcrawl.engine.model import Reason, format_time, parse_time
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.storage.identity import QUERIES
from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign
from socialcrawl.text.wording import format_span, pluralize


class SearchedTime(NamedTuple):
    """What a collection has searched.

    Attributes:
        begin, until: the whole span of time, ISO 8601.
        left: how many seconds of it are left to search for at least one query; often those with the most posts.
        left_from, left_to: begin and end of the earliest and of the latest of them, ISO 8601; None: none is left.
        searches: how many searches of spans there were.
        posts: how many posts they returned.
        failed: how many of them could not be made.
        alone: whether accounts were read from these posts only.
    """

    begin: str
    until: str
    left: float
    left_from: str | None
    left_to: str | None
    searches: int
    posts: int
    failed: int
    alone: bool

    @property
    def sentence(self) -> str:
        """Which time was searched."""
        searches = pluralize(self.searches, "search", "searches")
        left = ""
        if self.left and self.left_from is not None and self.left_to is not None:
            span = f"{format_span(self.left)} between {self.left_from[:10]} and {self.left_to[:10]}"
            left = f"; not searched yet: {span}, where posts may be frequent"
        failed = f"; {self.failed:,} failed" if self.failed else ""
        return (
            f"{self.begin[:10]} to {self.until[:10]} (UTC){left}; {searches} returned {pluralize(self.posts, 'post')}"
            f"{failed}"
        )


def measure_searched_time(traces: CampaignTraces, campaign: StoredCampaign) -> SearchedTime | None:
    """Return what a campaign has searched; None where it does not search span by span, or has not begun.

    Raises:
        SettingsError: its settings are not understood.
    """
    searches = traces.read_span_searches(campaign.id)
    if not searches:
        return None
    settings = load_stored(traces.read_versions(campaign)[-1].settings, f"the campaign {campaign.name!r}")
    plan = plan_searches(settings)
    if plan is None:
        return None
    until = parse_span(searches[0].since)[1]
    begin = bound_span(make_search_rules(settings, plan), until, plan.back).begin
    spans: dict[int, list[tuple[float, float]]] = {-1 - place: [] for place in range(len(campaign.identity[QUERIES]))}
    for one in searches:
        if one.missing is None:
            spans.setdefault(one.node, []).append(_find_complete(one.since, one.mark))
    left = _merge_spans(gap for some in spans.values() for gap in _list_gaps(some, begin, until))
    return SearchedTime(
        format_time(begin),
        format_time(until),
        sum(high - low for low, high in left),
        format_time(min(low for low, _ in left)) if left else None,
        format_time(max(high for _, high in left)) if left else None,
        len(searches),
        sum(one.posts for one in searches),
        sum(one.missing not in (None, Reason.UNREACHABLE) for one in searches),
        makes_searches_only(settings, plan),
    )


def _find_complete(since: str, mark: str | None) -> tuple[float, float]:
    """Return what of a span was searched: from the mark on, or all."""
    begin, end = parse_span(since)
    return (parse_time(mark) if mark else begin), end


def _merge_spans(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the spans that cover the same time without overlap, in order."""
    merged: list[tuple[float, float]] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], high)
        else:
            merged.append((low, high))
    return merged


def _list_gaps(spans: Sequence[tuple[float, float]], begin: float, end: float) -> Iterator[tuple[float, float]]:
    """Yield the parts of a whole span that none of some spans covers, in order."""
    for low, high in [*sorted(spans), (end, end)]:
        if low > begin:
            yield begin, low
        begin = max(begin, high)
