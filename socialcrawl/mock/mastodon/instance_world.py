"""All that the endpoints share: the world, how its instances tell of it, and what has become of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.mock.mastodon.instance_info import PUBLIC
from socialcrawl.mock.mastodon.instances import Instances
from socialcrawl.mock.mastodon.profiles import NOBODY, Profiles
from socialcrawl.mock.mastodon.render import StatusRenderer
from socialcrawl.mock.mastodon.responses import GONE, NO_RECORD
from socialcrawl.mock.mastodon.search import ON, MastodonSearch
from socialcrawl.mock.mastodon.status_facts import StatusIds
from socialcrawl.mock.names import DELETED, HERE, SUSPENDED, Chosen
from socialcrawl.mock.relations import Follows, find_follows
from socialcrawl.mock.service import Guest, MockRequest, MockResponse
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges

Answer = Callable[[MockRequest, Guest, str], MockResponse]  # (request, who asks, instance)


@dataclass(frozen=True)
class InstanceWorld:
    """The instances of one world.

    Attributes:
        gone: whether a deleted account is refused with 410 instead of 404.
        hashtag_feeds: who is shown hashtag timelines, one of FEED_ACCESS.
    """

    world: World
    instances: Instances
    numbers: StatusIds
    follows: Follows
    profiles: Profiles
    renderer: StatusRenderer
    finding: MastodonSearch
    changes: WorldChanges
    gone: bool
    hashtag_feeds: str = PUBLIC

    def require_visible(self, row: int | None) -> int | MockResponse:
        """Return the same row where the account is to be seen, at least emptied; else the refusal."""
        if row is None:
            return NO_RECORD
        if self.changes.find_fate(row) == DELETED:
            return GONE if self.gone else NO_RECORD
        return row

    def select_existing(self, posts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the posts at these positions (ascending) that exist."""
        return self.changes.select_existing(posts)

    def open(self, row: int) -> bool:
        """Return whether the lists of an account are to be seen."""
        return self.changes.find_fate(row) == HERE

    def is_listed(self, row: int) -> bool:
        """Return whether an account is to be seen among others."""
        return self.changes.find_fate(row) not in (DELETED, SUSPENDED)


def build_town(
    world: World,
    home: str,
    changes: WorldChanges,
    *,
    noindex: Chosen,
    nobot: Chosen,
    gone: bool,
    moved: Mapping[str, str] = NOBODY,
    limited: Chosen = 0.0,
    hashtag_feeds: str = PUBLIC,
    full_text: str = ON,
) -> InstanceWorld:
    """Return the instances of a world, see `MastodonService` for the arguments."""
    instances, numbers, follows = Instances(world, home, changes), StatusIds(world), find_follows(world)
    profiles = Profiles(world, instances, follows, changes, moved=moved, noindex=noindex, nobot=nobot, limited=limited)
    return InstanceWorld(
        *(world, instances, numbers, follows, profiles),
        renderer=StatusRenderer(world, instances, numbers, profiles, changes),
        finding=MastodonSearch(world, instances, profiles.is_hidden, numbers.reposts, full_text),
        changes=changes,
        gone=gone,
        hashtag_feeds=hashtag_feeds,
    )
