"""Campaigns that track: find the accounts that count, and go back to them (Kumar et al.; Abiteboul et al.)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.base import CrawlKind, Mark, ReportRequest, Snapshot, Width, no_mark, one_each
from socialcrawl.crawls.facts import TRACK
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.crawls.track.crawl import Track
from socialcrawl.crawls.track.make import make_track
from socialcrawl.crawls.track.tracked_graph import COLUMNS
from socialcrawl.platforms.base import Platform
from socialcrawl.text.wording import pluralize

if TYPE_CHECKING:
    from socialcrawl.crawls.track.report import TrackReport, VisitHistory
    from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign


class TrackKind(CrawlKind):
    """Campaigns of kind `track`."""

    facts = TRACK
    matter = "the accounts that count, and what they write"
    does = "which finds accounts that count and goes back to them for what they wrote since"
    focus = """\
crawl that tracks accounts prefers those that count most by the links that it has seen, and goes back to those that it
has read for what they wrote since, to some more often than to others,"""
    features = COLUMNS
    collection = True

    def make_crawl(self, settings: Settings, seeds: Seeds, width: Width = one_each, mark: Mark = no_mark) -> Track:
        """See `CrawlKind.make_crawl`."""
        return make_track(settings, seeds, width, mark)

    def describe(self, settings: Settings) -> str:
        """See `CrawlKind.describe`."""
        track, steps = settings.track, settings.crawl.steps
        ends = pluralize(steps, "step") if steps else "no end"
        return f"{ends}, tracking {track.target} with {track.expansion} and {track.recrawl}"

    def count(self, settings: Settings, platform: Platform) -> Mapping[str, Any]:
        """See `CrawlKind.count`."""
        del platform
        return {"back": settings.track.p, "rest": settings.track.pause}

    def report(self, traces: "CampaignTraces", campaign: "StoredCampaign", asked: ReportRequest) -> "TrackReport":
        """See `CrawlKind.report`."""
        from socialcrawl.crawls.track.report import report_track  # noqa: PLC0415 - plans are made without SQLAlchemy

        super().report(traces, campaign, asked)
        return report_track(traces, campaign, asked.top, asked.now)

    def explain(self, traces: "CampaignTraces", campaign: "StoredCampaign", user: str) -> "VisitHistory":
        """See `CrawlKind.explain`."""
        from socialcrawl.crawls.track.report import explain_visits  # noqa: PLC0415 - as above

        return explain_visits(traces, campaign, user)

    def tell_choice(self, section: Mapping[str, Any], platform: str) -> Iterator[str]:
        """See `CrawlKind.tell_choice`."""
        from socialcrawl.crawls.track.datasheet import tell_choice  # noqa: PLC0415 - for exports only

        yield from super().tell_choice(section, platform)
        yield from tell_choice(section)

    def snapshot(self) -> Snapshot:
        """See `CrawlKind.snapshot`."""
        from socialcrawl.campaign.snapshot_writer import collect_standings  # noqa: PLC0415 - plans are made without SQLAlchemy
        from socialcrawl.storage.queries.snapshots import read_standings  # noqa: PLC0415 - as above

        return Snapshot(
            "standings",
            lambda crawl: {one.node: one for one in collect_standings(crawl)},
            lambda store, crawl: store.stand(collect_standings(crawl)),
            read_standings,
        )
