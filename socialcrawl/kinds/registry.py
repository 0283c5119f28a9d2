"""The kinds of campaigns that there are. Another package adds one by an entry point: see `sections.kinds`."""

from functools import cache

from socialcrawl.kinds.base import CrawlKind
from socialcrawl.sections.kinds import COLLECT, REFRESH, SAMPLE, TRACK, find_plugin
from socialcrawl.settings import Settings


@cache
def find_kind(name: str) -> CrawlKind:
    """Return the kind of campaign called `name`. Its libraries are loaded now.

    Raises:
        SettingsError: there is no such kind.
    """
    if name == COLLECT.name:
        from socialcrawl.kinds.collect.kind import CollectKind  # noqa: PLC0415 - each kind has libraries of its own

        return CollectKind()
    if name == TRACK.name:
        from socialcrawl.kinds.track.kind import TrackKind  # noqa: PLC0415 - as above

        return TrackKind()
    if name == REFRESH.name:
        from socialcrawl.kinds.refresh.kind import RefreshKind  # noqa: PLC0415 - as above

        return RefreshKind()
    if name == SAMPLE.name:
        from socialcrawl.kinds.sample.kind import SampleKind  # noqa: PLC0415 - as above

        return SampleKind()
    kind: CrawlKind = find_plugin(name)
    return kind


def kind_of(settings: Settings) -> CrawlKind:
    """Return the kind of a campaign."""
    return find_kind(settings.kind)
