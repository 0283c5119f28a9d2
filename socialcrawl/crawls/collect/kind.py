"""Campaigns that collect: accounts that matter to a topic, the best guess first (Gouriten et al., Algorithm 1)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.base import (
    CrawlKind,
    Mark,
    NextReason,
    Progress,
    Width,
    describe_open_end,
    list_minutes,
    no_mark,
    one_each,
)
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators.registry import explain_late_switch
from socialcrawl.crawls.collect.make import (
    choose_policy,
    make_collect,
    make_search_rules,
    make_shadows,
    makes_searches_only,
    plan_searches,
)
from socialcrawl.crawls.collect.slice_queue import bound_span
from socialcrawl.crawls.facts import COLLECT
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.draws import assign_arms
from socialcrawl.engine.model import FIRST_READS, Node, Pick
from socialcrawl.engine.protocols import Crawl
from socialcrawl.graph.relevance import Topic
from socialcrawl.platforms.base import Platform
from socialcrawl.platforms.server_info import CountedSpan
from socialcrawl.platforms.slice_reading import SlicePlan
from socialcrawl.text.wording import pluralize

if TYPE_CHECKING:
    from socialcrawl.crawls.collect.explain import Explanation
    from socialcrawl.forecast.quote import Quote
    from socialcrawl.forecast.reading_curve import ReadingRecord
    from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign


class CollectKind(CrawlKind):
    """Campaigns of kind `collect`."""

    facts = COLLECT
    paper = (
        "Gouriten, Maniu and Senellart (2014): Scalable, Generic, and Adaptive Systems for Focused Crawling. "
        "ACM Conference on Hypertext and Social Media. doi:10.1145/2631775.2631795"
    )
    matter = "the accounts and posts that matter most to the topic"
    focus = "focused crawl first reads the accounts that its estimator expects to post most about the topic,"
    collection = True
    matches = searches = True
    matched = "; their other posts only on further pages ({pages} of each account at most)."

    def make_crawl(self, settings: Settings, seeds: Seeds, width: Width = one_each, mark: Mark = no_mark) -> Collect:
        """See `CrawlKind.make_crawl`."""
        del mark
        return make_collect(settings, seeds, width)

    def check(self, settings: Settings) -> None:
        """See `CrawlKind.check`."""
        choose_policy(settings)
        make_shadows(settings)

    def list_queries(self, settings: Settings, platform: Platform, topic: Topic) -> list[str]:
        """See `CrawlKind.list_queries`."""
        plan = self.plan_slices(settings)
        if plan is None:
            return super().list_queries(settings, platform, topic)
        platform.check_slices(settings, plan)
        return platform.list_slice_queries(settings, topic, plan)

    def plan_slices(self, settings: Settings) -> SlicePlan | None:
        """See `CrawlKind.plan_slices`: where accounts are read from what searches return."""
        return plan_searches(settings)

    def reads_found(self, settings: Settings) -> bool:
        """See `CrawlKind.reads_found`."""
        return self.plan_slices(settings) is not None

    def list_moments(self, crawl: Collect, sent_at: float | None) -> Iterator[float]:
        """See `CrawlKind.list_moments`: the first search says where the span of time ends."""
        yield from list_minutes(sent_at or 0.0, is_timed=crawl.slices is not None and crawl.slices.until is None)

    def explain(self, traces: "CampaignTraces", campaign: "StoredCampaign", user: str) -> "Explanation":
        """See `CrawlKind.explain`."""
        from socialcrawl.crawls.collect.explain import explain  # noqa: PLC0415 - plans are made without SQLAlchemy

        return explain(traces, campaign, user)

    def explain_from(
        self,
        traces: "CampaignTraces",
        campaign: "StoredCampaign",
        user: str,
        hold: Callable[[], AbstractContextManager[Collect]],
    ) -> "Explanation":
        """See `CrawlKind.explain_from`."""
        from socialcrawl.crawls.collect.explain import explain  # noqa: PLC0415 - plans are made without SQLAlchemy

        return explain(traces, campaign, user, hold)

    def explain_next(
        self, traces: "CampaignTraces", campaign: "StoredCampaign", crawl: Collect, batch: Sequence[Pick]
    ) -> Mapping[Node, NextReason]:
        """See `CrawlKind.explain_next`: accounts of the frontier have a score and a rank."""
        if not all(pick.act in FIRST_READS and not pick.since for pick in batch):
            return {}
        from socialcrawl.crawls.collect.explain import explain_frontier  # noqa: PLC0415 - as above

        settings = traces.read_versions(campaign)[-1].settings
        arms = assign_arms(settings["seed"], settings["crawl"].get("control", 0.0), crawl.taken, len(batch)).tolist()
        nodes = [pick.node for pick in batch]
        found = zip(explain_frontier(traces, campaign, crawl, nodes), arms, strict=True)
        return dict(zip(nodes, (NextReason(*one) for one in found), strict=True))

    def describe(self, settings: Settings) -> str:
        """See `CrawlKind.describe`."""
        crawl, plan = settings.crawl, plan_searches(settings)
        if plan is not None and makes_searches_only(settings, plan):
            most = f", or {pluralize(crawl.steps, 'account is', 'accounts are')} found" if crawl.steps else ""
            return f"searches for the topic until {_describe_searched(plan)} searched{most}"
        steps = pluralize(crawl.steps, "step") if crawl.steps else "steps until the frontier is empty"
        late = _explain_late_switch(settings)
        other = ", or a shadow that is shown to be better" if crawl.follow else ""
        return f"{steps} with {crawl.estimator}{f' ({late})' if late else ''}{other}"

    def count(self, settings: Settings, platform: Platform) -> Mapping[str, Any]:
        """See `CrawlKind.count`."""
        plan = plan_searches(settings)
        if plan is not None and makes_searches_only(settings, plan):
            return {
                "captures": True,
                "parts": make_search_rules(settings, plan).parts,
                "steps": 0,
                "most_found": 0,
                "usernames": 0,
                "roles": replace(platform.roles, search=platform.get_slice_endpoint(plan)),
            }
        if plan is not None:
            roles = replace(platform.roles, match=platform.get_slice_endpoint(plan))
            return {"matches": True, "roles": roles, "queries": 0, "most_found": 0}
        return {} if settings.source.pages_after_match is None else {"matches": True}

    def limit_quote(self, settings: Settings) -> str:
        """See `CrawlKind.limit_quote`."""
        plan = plan_searches(settings)
        if plan is None:
            return super().limit_quote(settings)
        ends = "the budget is reached"
        if is_alone := makes_searches_only(settings, plan):
            ends = f"{_describe_searched(plan)} searched, or a budget is reached"
        if settings.crawl.steps:
            found = pluralize(settings.crawl.steps, "account is", "accounts are")
            return f"It ends when {found} found: remove steps under [crawl] to go on until {ends}."
        return f"It ends when {ends}." if is_alone else describe_open_end(settings.source.read)

    def has_searched_all(self, traces: "CampaignTraces", settings: Settings) -> bool:
        """See `CrawlKind.has_searched_all`."""
        from socialcrawl.crawls.collect.searched_time import (  # noqa: PLC0415 - plans are made without SQLAlchemy
            measure_searched_time,
        )

        searched = measure_searched_time(traces, traces.read_campaign(settings.name))
        return searched is not None and searched.alone and not searched.left

    def find_counted_span(self, settings: Settings, began: float | None, now: float) -> CountedSpan | None:
        """See `CrawlKind.find_counted_span`: the span that is searched."""
        plan = plan_searches(settings)
        if plan is None or not makes_searches_only(settings, plan):
            return None
        rules = make_search_rules(settings, plan)
        end = rules.find_end(now if began is None else min(began, now))
        return CountedSpan(bound_span(rules, end, plan.back).begin, end, now, plan.back == inf)

    def read_reading_records(
        self, traces: "CampaignTraces", settings: Settings, post_price: int
    ) -> "dict[str, ReadingRecord]":
        """See `CrawlKind.read_reading_records`."""
        from socialcrawl.crawls.collect.reading_records import (  # noqa: PLC0415 - plans are made without SQLAlchemy
            read_reading_records,
        )

        return read_reading_records(traces, settings, post_price)

    def describe_progress(self, crawl: Collect) -> Progress:
        """See `CrawlKind.describe_progress`."""
        usual = super().describe_progress(crawl)
        if crawl.slices is None or crawl.slices.is_done:
            return usual
        return usual._replace(ahead=f"{pluralize(crawl.slices.left, 'span')} to search")

    def find_follower(self, settings: Settings) -> Callable[..., Crawl] | None:
        """See `CrawlKind.find_follower`: the best shadow takes over, where it may."""
        if not settings.crawl.follow:
            return None
        from socialcrawl.crawls.collect.following import (  # noqa: PLC0415 - plans are made without SQLAlchemy
            ShadowFollower,
        )

        return ShadowFollower

    def explain_estimate(self, settings: Settings, quote: "Quote", steps: float) -> Iterator[str]:
        """See `CrawlKind.explain_estimate`."""
        del quote, steps
        plan = plan_searches(settings)
        if plan is not None and makes_searches_only(settings, plan):
            return
        if late := _explain_late_switch(settings):
            yield f"{late}."


def _describe_searched(plan: SlicePlan) -> str:
    """Return which time is searched, with its verb."""
    return "all of the time is" if plan.back == inf else "the last 7 days are"


def _explain_late_switch(settings: Settings) -> str:
    crawl = settings.crawl
    return explain_late_switch(crawl.estimator, crawl.steps, crawl.switch_after, crawl.start)
