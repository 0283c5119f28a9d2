"""The platforms that there are. Another package adds one by an entry point: see `platforms.facts`."""

from functools import cache

from socialcrawl.campaign.settings import Settings
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.base import Platform
from socialcrawl.platforms.facts import BLUESKY, MASTODON, PLATFORMS, WEB, X


@cache
def find_platform(name: str) -> Platform:
    """Return the platform called `name`. Its libraries are loaded now.

    Raises:
        SettingsError: there is no such platform, or the object of that name is none.
    """
    if name == X.name:
        from socialcrawl.platforms.x.platform import XPlatform  # noqa: PLC0415 - each platform has libraries of its own

        return XPlatform()
    if name == BLUESKY.name:
        from socialcrawl.platforms.bluesky.platform import BlueskyPlatform  # noqa: PLC0415 - as above

        return BlueskyPlatform()
    if name == MASTODON.name:
        from socialcrawl.platforms.mastodon.platform import MastodonPlatform  # noqa: PLC0415 - as above

        return MastodonPlatform()
    if name == WEB.name:
        from socialcrawl.platforms.web.platform import WebPlatform  # noqa: PLC0415 - as above

        return WebPlatform()
    platform = PLATFORMS.load(name)
    if not isinstance(platform, Platform):
        raise SettingsError(f"The platform {name!r} is a {type(platform).__name__}, which is no Platform.")
    return platform


def platform_of(settings: Settings) -> Platform:
    """Return the platform of a campaign."""
    return find_platform(settings.source.platform)
