"""Campaigns that collect: accounts that matter to a topic, the best guess first (Gouriten et al., Algorithm 1)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.base import CrawlKind, Mark, Width, no_mark, one_each
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators.registry import explain_late_switch
from socialcrawl.crawls.collect.make import choose_policy, make_shadows
from socialcrawl.crawls.facts import COLLECT
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.platforms.base import Platform
from socialcrawl.text.wording import pluralize

if TYPE_CHECKING:
    from socialcrawl.crawls.collect.explain import Explanation
    from socialcrawl.forecast.quote import Quote
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
    matches = True

    def make_crawl(self, settings: Settings, seeds: Seeds, width: Width = one_each, mark: Mark = no_mark) -> Collect:
        """See `CrawlKind.make_crawl`."""
        del mark
        estimator, choice = choose_policy(settings)
        shadows, pages = make_shadows(settings), settings.source.pages_after_match
        return Collect(seeds, estimator, settings.crawl.steps, width, choice, shadows=shadows, pages=pages)

    def check(self, settings: Settings) -> None:
        """See `CrawlKind.check`."""
        choose_policy(settings)
        make_shadows(settings)

    def explain(self, traces: "CampaignTraces", campaign: "StoredCampaign", user: str) -> "Explanation":
        """See `CrawlKind.explain`."""
        from socialcrawl.crawls.collect.explain import explain  # noqa: PLC0415 - plans are made without SQLAlchemy

        return explain(traces, campaign, user)

    def describe(self, settings: Settings) -> str:
        """See `CrawlKind.describe`."""
        crawl = settings.crawl
        steps = pluralize(crawl.steps, "step") if crawl.steps else "steps until the frontier is empty"
        late = _explain_late_switch(settings)
        return f"{steps} with {crawl.estimator}{f' ({late})' if late else ''}"

    def count(self, settings: Settings, platform: Platform) -> Mapping[str, Any]:
        """See `CrawlKind.count`."""
        del platform
        return {} if settings.source.pages_after_match is None else {"matches": True}

    def limit_quote(self, settings: Settings) -> str:
        """See `CrawlKind.limit_quote`."""
        if settings.source.pages_after_match is None:
            return ""
        return 'With read = "match", only the budget bounds what is found: each post that matches is paid for.'

    def explain_estimate(self, settings: Settings, quote: "Quote", steps: float) -> Iterator[str]:
        """See `CrawlKind.explain_estimate`."""
        del quote, steps
        if late := _explain_late_switch(settings):
            yield f"{late}."


def _explain_late_switch(settings: Settings) -> str:
    crawl = settings.crawl
    return explain_late_switch(crawl.estimator, crawl.steps, crawl.switch_after, crawl.start)
