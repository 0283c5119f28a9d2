"""The platforms that there are."""

from functools import cache

from socialcrawl.platforms.platform import Platform
from socialcrawl.settings import Settings


@cache
def platform(name: str) -> Platform:
    """The platform called `name`: x, bluesky, mastodon or web. Its libraries are loaded now."""
    if name == "bluesky":
        from socialcrawl.platforms.bluesky import Bluesky  # noqa: PLC0415 - each platform has libraries of its own

        return Bluesky()
    if name == "mastodon":
        from socialcrawl.platforms.mastodon import Mastodon  # noqa: PLC0415 - as above

        return Mastodon()
    if name == "web":
        from socialcrawl.platforms.web import Web  # noqa: PLC0415 - as above

        return Web()
    from socialcrawl.platforms.x import X  # noqa: PLC0415 - as above

    return X()


def of(settings: Settings) -> Platform:
    """The platform of a campaign."""
    return platform(settings.source.platform)
