"""How much of the time of the topic a collection has searched, where it searches span by span."""

from typing import NamedTuple

from socialcrawl.campaign.settings import load_stored
from socialcrawl.crawls.collect.make import make_search_rules, plan_searches
from socialcrawl.engine.model import format_time, parse_time
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.storage.identity import QUERIES
from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign
from socialcrawl.text.wording import format_span, pluralize


class SearchedTime(NamedTuple):
    """What a collection has searched.

    Attributes:
        begin, until: the whole span of time, ISO 8601.
        left: how many seconds of it are left to search, of all queries together; often those with the most posts.
        searches: how many searches of spans there were.
        posts: how many posts they returned.
        failed: how many of them could not be made.
    """

    begin: str
    until: str
    left: float
    searches: int
    posts: int
    failed: int

    @property
    def sentence(self) -> str:
        """Which time was searched."""
        searches = pluralize(self.searches, "search", "searches")
        left = f", but for {format_span(self.left)} that are left, where posts may be frequent" if self.left else ""
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
    begin = make_search_rules(settings, plan, until).begin
    complete = sum(_measure_complete(one.since, one.mark) for one in searches if one.missing is None)
    queries = len(campaign.identity.get(QUERIES) or [None])
    return SearchedTime(
        format_time(begin),
        format_time(until),
        max(0.0, queries * (until - begin) - complete),
        len(searches),
        sum(one.posts for one in searches),
        sum(one.missing is not None for one in searches),
    )


def _measure_complete(since: str, mark: str | None) -> float:
    """Return how many seconds of a span were searched: from the mark on, or all."""
    begin, end = parse_span(since)
    return end - (parse_time(mark) if mark else begin)
