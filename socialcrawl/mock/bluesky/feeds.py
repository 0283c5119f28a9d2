"""What an account posted: its feed, newest first."""

import numpy as np
from numpy.typing import NDArray

from socialcrawl.mock.bluesky.identifiers import BlueskyNames, make_record_key
from socialcrawl.mock.bluesky.parameters import (
    RefusalError,
    check_identifier,
    make_refusal,
    parse_cursor,
    read_limit,
    refuse_gone,
    require,
)
from socialcrawl.mock.bluesky.view_json import BlueskyViews
from socialcrawl.mock.names import PROTECTED
from socialcrawl.mock.service import MockRequest, MockResponse
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges

FILTERS = (
    "posts_with_replies",
    "posts_no_replies",
    "posts_with_media",
    "posts_and_author_threads",
    "posts_with_video",
)
_MEDIA = ("posts_with_media", "posts_with_video")  # a file of texts has none
_BLOCKED = RefusalError("BlockedByActor", "Requester is blocked by actor")


class FeedEndpoint:
    """The endpoint app.bsky.feed.getAuthorFeed.

    Args:
        world: the posts.
        names: how they are called.
        changes: what became of their authors.
    """

    def __init__(self, world: World, names: BlueskyNames, changes: WorldChanges) -> None:
        self._world, self._names, self._changes = world, names, changes

    def author_feed(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """Return a page of an account's posts, replies and reposts; no cursor at the end."""
        row = self._names.row(check_identifier(require(asked, "actor"), "actor"))
        size = read_limit(asked, 50)
        if row is None:
            raise make_refusal("Profile not found")
        fate = self._changes.fate(row)
        if refusal := refuse_gone(fate, "Profile not found"):
            raise refusal
        if fate == PROTECTED:
            raise _BLOCKED
        own = self._filtered(row, asked.one("filter") or FILTERS[0])
        end = stop = self._place(asked, own)
        if stop < len(own):
            end = min(stop + asked.overlap, len(own))
        start = max(end - size, 0)
        page = own[start:end][::-1].tolist()
        body = b'{"feed":' + views.feed(page)
        if start > 0:
            body += b',"cursor":"' + self._changes.issue(self._cursor(page[-1])).encode() + b'"'
        return MockResponse(200, body + b"}", posts=len(page))

    def _filtered(self, row: int, wanted: str) -> NDArray[np.int64]:
        """Return the posts of an account that a filter leaves, ascending."""
        if wanted not in FILTERS:
            raise make_refusal(f"Error: filter must be one of ({'|'.join(FILTERS)})")
        own = self._changes.moment.existing(self._world.timelines.of(row))
        if wanted == FILTERS[0]:
            return own
        if wanted in _MEDIA:
            return own[:0]
        answered = self._world.references.replied_account[own]
        own_thread = (answered == row) & (wanted == "posts_and_author_threads")
        left: NDArray[np.int64] = own[(answered < 0) | own_thread]
        return left

    def _place(self, asked: MockRequest, own: NDArray[np.int64]) -> int:
        """Return how many of an account's posts are older than the cursor."""
        cursor = asked.one("cursor")
        if not cursor:
            return len(own)
        if self._changes.expired(cursor):
            raise make_refusal("Malformed cursor")
        before = int(np.searchsorted(self._world.ids, parse_cursor(cursor)))
        return int(np.searchsorted(own, before))

    def _cursor(self, post: int) -> str:
        return f"{int(self._world.created_at[post]) * 1000}::{make_record_key(int(self._world.ids[post]))}"
