"""Campaigns that capture: every post that matches, from the past and as it appears."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.base import CrawlKind, Mark, Progress, ReportRequest, Width, list_minutes, no_mark, one_each
from socialcrawl.crawls.capture.crawl import COLUMNS, Capture
from socialcrawl.crawls.capture.rules import EVEN
from socialcrawl.crawls.capture.slices import count_parts
from socialcrawl.crawls.facts import CAPTURE
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import format_time
from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import Topic
from socialcrawl.platforms.base import Platform
from socialcrawl.platforms.server_info import CountedSpan
from socialcrawl.platforms.slice_reading import SlicePlan
from socialcrawl.text.wording import format_span, pluralize

if TYPE_CHECKING:
    from socialcrawl.crawls.capture.report import CaptureReport
    from socialcrawl.forecast.quote import Quote
    from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign

BEHIND, DAYS = 60.0, 7 * 86_400.0  # seconds: a stream that is so far behind cannot keep up, or is one of the past


class CaptureKind(CrawlKind):
    """Campaigns of kind `capture`."""

    facts = CAPTURE
    matter = "every post that matches the topic"
    does = "which reads every post that searches or a stream show, slice by slice of time, or posts by their ids"
    unasked = "a capture reads posts, not accounts. The view topic_post lists posts of this account, if any were found"
    drawn = """\
Posts are those that the platform's search returned for the queries, or its stream showed, in the spans of time that are
complete. Searches leave out what the platform does not index, such as deleted posts and posts of protected accounts.
Where ids were imported, their posts are here too, if they still existed when they were fetched."""
    features = COLUMNS
    hydrates = True
    reuses = False  # which slice comes next may depend on the time of the request before

    def make_crawl(self, settings: Settings, seeds: Seeds, width: Width = one_each, mark: Mark = no_mark) -> Capture:
        """See `CrawlKind.make_crawl`."""
        del width, mark
        return Capture(settings.capture.make_rules(), seeds.queries, settings.seed, settings.crawl.steps)

    def check(self, settings: Settings) -> None:
        """See `CrawlKind.check`."""
        capture = settings.capture
        if capture.searches and capture.from_ is None:
            raise SettingsError(
                "Write under [capture] from when posts are to be read, as from = 2026-03-01. To read only posts whose "
                "ids are imported, set ids = true."
            )
        if not capture.searches and (capture.until is not None or capture.is_endless):
            raise SettingsError("[capture] has until, ongoing or live, but no from: add from, or remove them.")
        if settings.topic.from_ or settings.topic.until:
            raise SettingsError("[topic] has a span of time: write from and until under [capture] instead.")

    def needs_topic(self, settings: Settings) -> bool:
        """See `CrawlKind.needs_topic`."""
        return settings.capture.searches

    def needs_start(self, settings: Settings) -> bool:
        """See `CrawlKind.needs_start`."""
        return settings.capture.searches

    def list_queries(self, settings: Settings, platform: Platform, topic: Topic) -> list[str]:
        """See `CrawlKind.list_queries`."""
        self.check(settings)
        if settings.accounts.exclude and not (settings.capture.searches and platform.restricts):
            raise SettingsError(
                "A capture is restricted to accounts by its searches, and only on X: remove [accounts], and select the "
                "posts that you want afterwards."
            )
        if not settings.capture.searches:
            return []
        slices = self.plan_slices(settings)
        platform.check_slices(settings, slices)
        if slices.live and not platform.streams:
            raise SettingsError(
                f"No stream of {platform.title} can be read yet: write ongoing = true under [capture], which searches "
                "for new posts again and again, instead of live = true."
            )
        return platform.list_slice_queries(settings, topic, slices)

    def plan_slices(self, settings: Settings) -> SlicePlan:
        """See `CrawlKind.plan_slices`."""
        capture = settings.capture
        counted = 0 if not capture.counts else capture.parts if capture.order == EVEN else 1
        return SlicePlan(
            capture.pages,
            capture.archive,
            capture.authors,
            capture.span[0],
            counted,
            capture.search,
            capture.full_text,
            capture.live,
            capture.stream or "",
            capture.replace_rules,
        )

    def is_endless(self, settings: Settings) -> bool:
        """See `CrawlKind.is_endless`."""
        return settings.capture.is_endless

    def describe(self, settings: Settings) -> str:
        """See `CrawlKind.describe`."""
        capture = settings.capture
        if not capture.searches:
            return "the posts of all imported ids"
        until = f"until {capture.until}" if capture.until else "until now"
        then = ", then new posts as they appear" if capture.is_endless else ""
        return f"all matching posts from {capture.from_} {until}{then}"

    def count(self, settings: Settings, platform: Platform) -> Mapping[str, Any]:
        """See `CrawlKind.count`."""
        capture, rules = settings.capture, settings.capture.make_rules()
        parts = capture.parts if rules.end is None else count_parts(rules, rules.end)
        look_up = platform.make_post_look_up(settings)
        search = platform.get_slice_endpoint(self.plan_slices(settings))
        return {
            "captures": True,
            "parts": self.plan_slices(settings).counted or parts,
            "endless": capture.is_endless,
            "segment": rules.segment if rules.live else 0.0,
            "steps": 0,
            "most_found": 0,
            "usernames": 0,
            "roles": replace(platform.roles, search=search, posts="" if look_up is None else look_up.endpoint),
            "expanded": capture.authors or (platform.searches and platform.has_complete_authors(settings)),
        }

    def describe_progress(self, crawl: Capture) -> Progress:
        """See `CrawlKind.describe_progress`."""
        left, complete = f"{crawl.graph.left:,}", f"complete {int(100 * crawl.share)} %"
        slices = f"{complete}: {pluralize(len(crawl.read), 'slice')} read, {len(crawl.pending):,} left"
        rows = [("posts", f"{crawl.relevance:,.0f} returned")]
        if crawl.ids.given:
            rows.append(("ids", f"{crawl.ids.asked:,} asked for, {crawl.ids.left:,} left"))
        if crawl.queries:
            rows.append(("time", slices))
        if crawl.live.place is not None:
            lag = f", {format_span(crawl.live.lag)} behind" if BEHIND < crawl.live.lag < DAYS else ""
            until = format_time(crawl.live.place.at)[:19]
            rows.append(("stream", f"read until {until}Z{lag}, {pluralize(crawl.live.posts, 'post')}"))
        if crawl.failed:
            rows.append(("failed", pluralize(len(crawl.failed), "slice")))
        if crawl.live.place is not None and not crawl.pending:
            complete = f"stream until {format_time(crawl.live.place.at)[11:19]}"
        if not crawl.queries:
            return Progress("groups of ids read", f"asked {crawl.ids.asked:,}", f"left {left}", rows)
        return Progress("slices read", complete, f"left {left}", rows)

    def list_moments(self, crawl: Capture, sent_at: float | None) -> Iterator[float]:
        """See `CrawlKind.list_moments`: where the time decides, each minute before the first request."""
        at = sent_at or 0.0
        yield from list_minutes(at, is_timed=crawl.is_timed(at))

    def find_counted_span(self, settings: Settings, began: float | None, now: float) -> CountedSpan:
        """See `CrawlKind.find_counted_span`: the span that is read; what is ongoing is counted until now."""
        capture, rules = settings.capture, settings.capture.make_rules()
        until = now if began is None or capture.is_endless else min(began, now)
        return CountedSpan(rules.begin, rules.find_end(until), now, capture.archive)

    def explain_estimate(self, settings: Settings, quote: "Quote", steps: float) -> Iterator[str]:
        """See `CrawlKind.explain_estimate`."""
        del steps
        if quote.done.ids:
            yield "Ids whose posts are gone cost nothing. The probable numbers count all posts as there."
        if quote.is_estimated and settings.capture.searches:
            yield (
                "Posts are counted before deleted and protected ones are removed, so that the search may return fewer."
            )
            if len(quote.typical.matches or ()) > 1:
                yield "A post that matches several queries is counted for each of them."
            if settings.capture.is_endless:
                yield "The probable numbers are those of the posts until now: new posts come on top."

    def limit_quote(self, settings: Settings) -> str:
        """See `CrawlKind.limit_quote`."""
        if settings.capture.is_endless:
            which = "ongoing" if settings.capture.ongoing else "live"
            return f"A capture with {which} = true has no end: a budget stops it, or you do."
        return "The budget bounds what a capture can cost."

    def report(self, traces: "CampaignTraces", campaign: "StoredCampaign", asked: ReportRequest) -> "CaptureReport":
        """See `CrawlKind.report`."""
        from socialcrawl.crawls.capture.report import report_capture  # noqa: PLC0415 - plans are made without SQLAlchemy

        super().report(traces, campaign, asked)
        return report_capture(traces, campaign)

    def tell_choice(self, section: Mapping[str, Any], platform: str) -> Iterator[str]:
        """See `CrawlKind.tell_choice`."""
        yield from super().tell_choice(section, platform)
        if section.get("from") is None:
            yield "posts: those of the ids that were imported"
            return
        until = section.get("until") or "the moment at which it began"
        then = ", then as posts appeared" if section.get("ongoing") or section.get("live") else ""
        yield f"time: from {section.get('from')} until {until}{then}"
        yield f"order: {section.get('order', 'newest')}"
