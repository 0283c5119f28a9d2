"""Posts by their addresses: those that are there, each once; the others are left out silently, as on Bluesky."""

from socialcrawl.mock.bluesky.identifiers import POST, BlueskyNames, parse_record_key
from socialcrawl.mock.bluesky.parameters import make_refusal
from socialcrawl.mock.bluesky.view_json import BlueskyViews
from socialcrawl.mock.names import HERE
from socialcrawl.mock.service import MockRequest, MockResponse
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges

MOST_POSTS = 25


class PostEndpoint:
    """The endpoint of posts.

    Args:
        world: the posts.
        names: how their authors are called.
        changes: what became of these.
    """

    def __init__(self, world: World, names: BlueskyNames, changes: WorldChanges) -> None:
        self._world, self._names, self._changes = world, names, changes

    def posts(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """GET app.bsky.feed.getPosts."""
        uris = [value for name, value in asked.query if name == "uris"]
        if not uris:
            raise make_refusal('Error: Params must have the property "uris"')
        if len(uris) > MOST_POSTS:
            raise make_refusal(f"Error: uris must not have more than {MOST_POSTS} elements")
        if wrong := [uri for uri in uris if not uri.startswith("at://")]:
            raise make_refusal(f"Error: uris/{uris.index(wrong[0])} must be a valid at-uri")
        found = dict.fromkeys(post for uri in uris if (post := self._find(uri)) is not None)
        return MockResponse(200, b'{"posts":' + views.posts(list(found)) + b"}")

    def _find(self, uri: str) -> int | None:
        """Return the position of the post with an address; None where there is none, or its author is not there."""
        owner, _, rest = uri.removeprefix("at://").partition("/")
        kind, _, key = rest.partition("/")
        number, row = parse_record_key(key), self._names.row(owner) if owner.startswith("did:") else None
        if kind != POST or number is None or row is None or self._changes.find_fate(row) != HERE:
            return None
        post = self._changes.place(self._world.find_post(number))
        there = post >= 0 and int(self._world.author[post]) == row and self._world.references.retweeted_id[post] < 0
        return post if there else None
