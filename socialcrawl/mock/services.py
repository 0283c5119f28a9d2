"""The platforms that a mock serves, made of one world and one file of pages; each is imported where it is wanted."""

from collections.abc import Callable

from socialcrawl.mock.dataset_clock import DatasetClock
from socialcrawl.mock.gated_service import MockPlatform, ServicePlatform
from socialcrawl.mock.server_settings import MockSettings
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges


def make_platforms(
    world: World | None, settings: MockSettings, moment: DatasetClock | None = None
) -> list[MockPlatform]:
    """Return the platforms of the settings, in their order, at one moment; without a world only the web site."""
    made = (
        []
        if world is None
        else [_MAKERS[name](world, settings, WorldChanges(world, moment)) for name in settings.platforms]
    )
    return made if settings.pages is None else [*made, _make_site(settings)]


def _make_x(world: World, settings: MockSettings, changes: WorldChanges) -> MockPlatform:
    from socialcrawl.mock.x.service import XService  # noqa: PLC0415

    return XService(world, settings, changes)


def _make_bluesky(world: World, settings: MockSettings, changes: WorldChanges) -> MockPlatform:
    from socialcrawl.mock.bluesky.service import BlueskyService  # noqa: PLC0415

    service = BlueskyService(
        world,
        limit=settings.bluesky_limit,
        window=settings.window_of("bluesky"),
        changes=changes,
        closed_search=settings.closed_search,
        closed_cursors=settings.closed_cursors,
        search_depth=settings.search_depth,
        search_v2=settings.search_v2,
        search_v2_depth=settings.search_v2_depth,
        passwords=settings.passwords,
        nobot=settings.nobot,
        labelled=settings.noindex,
        jetstream_offset=settings.jetstream_offset,
        replay=settings.replay,
    )
    return ServicePlatform(service, changes)


def _make_mastodon(world: World, settings: MockSettings, changes: WorldChanges) -> MockPlatform:
    from socialcrawl.mock.mastodon.service import MastodonService  # noqa: PLC0415

    service = MastodonService(
        world,
        home=settings.home,
        limit=settings.mastodon_limit,
        window=settings.window_of("mastodon"),
        paged_limit=settings.paged_limit,
        paged_window=settings.window_of("paged"),
        tokens=settings.tokens,
        changes=changes,
        noindex=settings.noindex,
        nobot=settings.nobot,
        hashtag_feeds=settings.hashtag_feeds,
        heartbeat=settings.heartbeat,
        full_text=settings.full_text,
    )
    return ServicePlatform(service, changes)


def _make_site(settings: MockSettings) -> MockPlatform:
    from socialcrawl.mock.web.service import Site, read_pages  # noqa: PLC0415

    assert settings.pages is not None
    return ServicePlatform(Site(read_pages(settings.pages), settings.site_limit, settings.window_of("web")), None)


_Maker = Callable[[World, MockSettings, WorldChanges], MockPlatform]
_MAKERS: dict[str, _Maker] = {"x": _make_x, "bluesky": _make_bluesky, "mastodon": _make_mastodon}
