"""The crawl of a campaign that tracks accounts, made of its settings."""

from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.base import Mark, Width, no_mark, one_each
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.crawls.track.crawl import Track
from socialcrawl.crawls.track.target import Target
from socialcrawl.crawls.track.visit_policies import PolicyMixture


def make_track(settings: Settings, seeds: Seeds, width: Width = one_each, mark: Mark = no_mark) -> Track:
    """Return the crawl of a campaign that tracks accounts; see `CrawlKind.make_crawl`."""
    track = settings.track
    return Track(
        seeds,
        PolicyMixture(track.expansion, track.recrawl, track.p, settings.seed),
        settings.crawl.steps,
        width,
        mark=mark,
        window=track.width,
        rest=track.pause,
        again=track.absence,
        target=make_target(settings),
    )


def make_target(settings: Settings) -> Target:
    """Return what a campaign is after. It keeps OPIC's cash whatever that is."""
    track = settings.track
    return Target(
        track.target,
        track.topical,
        track.parallel,
        cash=True,
        memory=track.memory_span,
        lean=track.lean,
        extra=track.extra,
    )
