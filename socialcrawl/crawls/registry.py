"""The kinds of campaigns that there are. Another package adds one by an entry point: see `crawls.facts`."""

from functools import cache

from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.base import CrawlKind
from socialcrawl.crawls.facts import CAPTURE, COLLECT, KINDS, REFRESH, SAMPLE, TRACK
from socialcrawl.errors import SettingsError


@cache
def find_kind(name: str) -> CrawlKind:
    """Return the kind of campaign called `name`. Its libraries are loaded now.

    Raises:
        SettingsError: there is no such kind, or the object of that name is none.
    """
    if name == COLLECT.name:
        from socialcrawl.crawls.collect.kind import CollectKind  # noqa: PLC0415 - each kind has libraries of its own

        return CollectKind()
    if name == TRACK.name:
        from socialcrawl.crawls.track.kind import TrackKind  # noqa: PLC0415 - as above

        return TrackKind()
    if name == REFRESH.name:
        from socialcrawl.crawls.refresh.kind import RefreshKind  # noqa: PLC0415 - as above

        return RefreshKind()
    if name == SAMPLE.name:
        from socialcrawl.crawls.sample.kind import SampleKind  # noqa: PLC0415 - as above

        return SampleKind()
    if name == CAPTURE.name:
        from socialcrawl.crawls.capture.kind import CaptureKind  # noqa: PLC0415 - as above

        return CaptureKind()
    kind = KINDS.load(name)
    if not isinstance(kind, CrawlKind):
        raise SettingsError(f"The kind of campaign {name!r} is a {type(kind).__name__}, which is no CrawlKind.")
    return kind


def kind_of(settings: Settings) -> CrawlKind:
    """Return the kind of a campaign."""
    return find_kind(settings.kind)
