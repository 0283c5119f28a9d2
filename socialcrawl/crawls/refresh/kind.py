"""Campaigns that refresh: test which accounts of an old dataset are still active (Huynh, Mathieu, Viennot)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.base import CrawlKind, Mark, Progress, ReportRequest, Width, no_mark, one_each
from socialcrawl.crawls.facts import REFRESH
from socialcrawl.crawls.refresh.crawl import Refresh
from socialcrawl.crawls.refresh.make import make_refresh
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.crawls.track.tracked_graph import COLUMNS
from socialcrawl.errors import SettingsError
from socialcrawl.graph.liveness import Activity
from socialcrawl.platforms.base import Platform
from socialcrawl.text.wording import pluralize

if TYPE_CHECKING:
    from socialcrawl.crawls.refresh.report import RefreshReport
    from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign


class RefreshKind(CrawlKind):
    """Campaigns of kind `refresh`. An import brings the accounts that they test."""

    facts = REFRESH
    paper = (
        "Huynh, Mathieu and Viennot (2015): LiveRank: How to Refresh Old Datasets. "
        "Internet Mathematics. doi:10.1080/15427951.2015.1098756"
    )
    matter = "the accounts of an old dataset that are still active"
    does = "which checks which accounts of an old dataset are active, the likely ones first"
    unasked = "it was not checked yet, and is not in the import: other accounts of the dataset link to it"
    drawn = """\
Imported accounts are those of an old dataset; how that was drawn, only its authors know. Accounts that were not checked
yet say nothing about its present state. Unless all were checked, the checked ones are not a random sample of it, except
the ones that were drawn at random."""
    features = COLUMNS
    dataset = True
    reuses = False  # an account may have become inactive since

    def make_crawl(self, settings: Settings, seeds: Seeds, width: Width = one_each, mark: Mark = no_mark) -> Refresh:
        """See `CrawlKind.make_crawl`."""
        del seeds, mark
        return make_refresh(settings, width)

    def check(self, settings: Settings) -> None:
        """See `CrawlKind.check`."""
        try:
            make_refresh(settings)
        except ValueError as error:
            raise SettingsError(f"[refresh] {error}.") from error

    def describe(self, settings: Settings) -> str:
        """See `CrawlKind.describe`."""
        rank, training = settings.refresh.steering(settings.source.platform)
        steps = pluralize(settings.crawl.steps, "step") if settings.crawl.steps else "all of the dataset"
        return f"{steps}, in the order {rank} learned from {training}"

    def count(self, settings: Settings, platform: Platform) -> Mapping[str, Any]:
        """See `CrawlKind.count`."""
        refresh, roles = settings.refresh, platform.roles
        exists = refresh.within(settings.source.platform) is None  # all accounts that exist are active
        return {
            "tests": True,
            "learning": (max(refresh.check, refresh.z), refresh.check + refresh.z),
            "latest": roles.latest and platform.has_complete_authors(settings) and not exists,
            "roles": replace(roles, last="") if exists else roles,
        }

    def needs_topic(self, settings: Settings) -> bool:
        """See `CrawlKind.needs_topic`."""
        del settings
        return False

    def describe_progress(self, crawl: Refresh) -> Progress:
        """See `CrawlKind.describe_progress`."""
        active, left = f"{crawl.relevance:,.0f}", f"{crawl.graph.left:,}"
        dataset = f"{pluralize(crawl.graph.size, 'account')}, {left} are left to be tested"
        rows = [("active", f"{active} accounts"), ("dataset", dataset)]
        rows += [("fraction", crawl.judged.why)] if crawl.judged else []
        return Progress("tested", f"active {active}", f"left {left}", rows)

    def restore_section(self, section: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `CrawlKind.restore_section`: versions that knew no `stop` drew nobody to judge `fraction`."""
        return section if "stop" in section else {**section, "fraction": None}

    def tests_linked(self, settings: Settings) -> bool:
        """See `CrawlKind.tests_linked`."""
        return settings.refresh.linked

    def limit_quote(self, settings: Settings) -> str:
        """See `CrawlKind.limit_quote`."""
        fraction = settings.refresh.fraction
        return (
            ""
            if fraction is None
            else f"This is for the whole dataset; fraction = {fraction:g} may end it much earlier."
        )

    def report(self, traces: "CampaignTraces", campaign: "StoredCampaign", asked: ReportRequest) -> "RefreshReport":
        """See `CrawlKind.report`."""
        from socialcrawl.crawls.refresh.report import report_refresh  # noqa: PLC0415 - plans are made without SQLAlchemy

        super().report(traces, campaign, asked)
        return report_refresh(traces, campaign)

    def tell_choice(self, section: Mapping[str, Any], platform: str) -> Iterator[str]:
        """See `CrawlKind.tell_choice`."""
        from socialcrawl.crawls.refresh.datasheet import tell_choice  # noqa: PLC0415 - for exports only

        yield from super().tell_choice(section, platform)
        yield from tell_choice(section, platform)

    def tolerance(self, settings: Settings) -> float:
        """See `CrawlKind.tolerance`."""
        return settings.refresh.tolerance

    def activity(self, settings: Settings) -> Activity:
        """See `CrawlKind.activity`."""
        return settings.refresh.activity(settings.source.platform)
