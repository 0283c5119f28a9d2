"""Campaigns that track: find the most important accounts, and read them again (Kumar et al.; Abiteboul et al.)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.base import (
    CrawlKind,
    Mark,
    ReportRequest,
    Snapshot,
    Width,
    no_mark,
    one_each,
)
from socialcrawl.crawls.facts import TRACK
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.crawls.track.crawl import Track
from socialcrawl.crawls.track.make import make_track
from socialcrawl.crawls.track.tracked_graph import COLUMNS
from socialcrawl.errors import SettingsError
from socialcrawl.forecast.expected import ASSUMED
from socialcrawl.platforms.base import Platform
from socialcrawl.text.wording import pluralize

if TYPE_CHECKING:
    from socialcrawl.crawls.track.report import TrackReport, VisitHistory
    from socialcrawl.forecast.quote import Quote
    from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign


SHORTEST = 300.0  # seconds of a window in which a search of X finds anything


class TrackKind(CrawlKind):
    """Campaigns of kind `track`."""

    facts = TRACK
    paper = (
        "Kumar, Lang, Marlow and Tomkins (2008): Efficient Discovery of Authoritative Resources. "
        "IEEE International Conference on Data Engineering"
    )
    matter = "the most important accounts, and what they write"
    does = "which finds the most important accounts and reads them again for new posts"
    focus = """\
crawl that tracks accounts prefers those that are most important by the links seen so far. It reads accounts again for
new posts, some more often than others,"""
    features = COLUMNS
    collection = matches = returns = True
    matched = ", again and again, from where the last visit ended."

    def make_crawl(self, settings: Settings, seeds: Seeds, width: Width = one_each, mark: Mark = no_mark) -> Track:
        """See `CrawlKind.make_crawl`."""
        return make_track(settings, seeds, width, mark)

    def check(self, settings: Settings) -> None:
        """See `CrawlKind.check`."""
        width = settings.track.width
        if settings.source.pages_after_match is not None and width is not None and width < SHORTEST:
            raise SettingsError(
                f'window = "{settings.track.window}" under [track] is too short for read = "match": X\'s search shows '
                "posts half a minute late. Write 5m or more."
            )

    def describe(self, settings: Settings) -> str:
        """See `CrawlKind.describe`."""
        track, steps = settings.track, settings.crawl.steps
        ends = pluralize(steps, "step") if steps else "no end"
        return f"{ends}, tracking {track.target} with {track.expansion} and {track.recrawl}"

    def count(self, settings: Settings, platform: Platform) -> Mapping[str, Any]:
        """See `CrawlKind.count`."""
        del platform
        usual = {"back": settings.track.p, "rest": settings.track.pause}
        return usual if settings.source.pages_after_match is None else usual | {"matches": True, "pages_per_user": 0}

    def explain_estimate(self, settings: Settings, quote: "Quote", steps: float) -> Iterator[str]:
        """See `CrawlKind.explain_estimate`."""
        track = settings.track
        if not track.p or not quote.is_estimated:
            return
        if track.p < 1:
            yield "  there is always a new account to visit, otherwise more steps are revisits (assumed)"
        if quote.alone:
            first = pluralize(round(quote.alone), "step is a first visit", "steps are first visits")
            which = "all steps are first visits" if quote.alone >= steps else f"the first {first}"
            yield f"  {which}: until then no account is rested (rest = {track.rest})"
        if track.width is not None and quote.typical.explain_basis("posts_per_page") == ASSUMED:
            yield f"  first visits bring as much as without window = {track.window}, which can only reduce it (assumed)"

    def list_moments(self, crawl: Track, sent_at: float | None) -> Iterator[float]:
        """See `CrawlKind.list_moments`: before the first request, at the latest answer, and where rests ended."""
        yield crawl.latest if sent_at is None else sent_at
        crawl.graph.wake(crawl.latest)
        ends = sorted(at for at in crawl.graph.list_ends() if sent_at is None or at <= sent_at)
        yield crawl.latest
        yield from ends

    def bound_marks(self, crawl: Track, sent_at: float | None) -> tuple[str, str] | None:
        """See `CrawlKind.bound_marks`: a window ends between the latest answer and the first request."""
        width = crawl.window
        if width is None:
            return None
        return crawl.mark(crawl.latest - width), crawl.mark((sent_at or crawl.latest) - width)

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
        from socialcrawl.crawls.track.snapshot import collect_standings  # noqa: PLC0415 - plans are made without SQLAlchemy
        from socialcrawl.storage.queries.snapshots import read_standings  # noqa: PLC0415 - as above

        return Snapshot(
            "standings",
            lambda crawl: {one.node: one for one in collect_standings(crawl)},
            lambda store, crawl: store.stand(collect_standings(crawl)),
            read_standings,
        )
