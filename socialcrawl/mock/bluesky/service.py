"""The mock's Bluesky as a service: which methods there are, who asks, what counts them, and what they answer."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil

from socialcrawl.mock.bluesky.identifiers import BlueskyNames
from socialcrawl.mock.bluesky.jetstream_endpoints import KEPT, SUBSCRIBE, SUBSCRIBE_EVENTS, Jetstream
from socialcrawl.mock.bluesky.jetstream_events import METHOD, JetstreamEvents
from socialcrawl.mock.bluesky.parameters import (
    CURSOR_CLOSED,
    NOT_SERVED,
    SEARCH_CLOSED,
    TOO_MANY,
    RefusalError,
    make_refusal,
)
from socialcrawl.mock.bluesky.posts import PostEndpoint
from socialcrawl.mock.bluesky.profiles import FeedEndpoint, ProfileEndpoints
from socialcrawl.mock.bluesky.search import DEPTH, BlueskySearchEndpoint
from socialcrawl.mock.bluesky.sessions import (
    ACCESS,
    ACCESS_SECONDS,
    REFRESH,
    REFRESH_SECONDS,
    Sessions,
    read_credentials,
)
from socialcrawl.mock.bluesky.view_json import BlueskyViews
from socialcrawl.mock.names import Chosen
from socialcrawl.mock.service import Guest, MockRequest, MockResponse, WindowSpec, WindowState
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges

Handler = Callable[[MockRequest, BlueskyViews], MockResponse]

DOMAIN = "mock.social"
SIGN_INS = ((30, 300.0), (300, 86_400.0))  # (at most, in how many seconds), per account

_CREATE = "com.atproto.server.createSession"
_REFRESH = "com.atproto.server.refreshSession"
_SEARCH, _SEARCH_V2 = "app.bsky.feed.searchPosts", "app.bsky.feed.searchPostsV2"
_XRPC = "/xrpc/"
_REST = _XRPC + "*rest"
_PUBLIC = Guest("public", "public")


class BlueskyService:
    """Bluesky for one world: the public AppView and the account's server at one address.

    Args:
        world: what there is to see.
        limit: requests of one address in a window, over all methods; sign-ins have windows of their own (`SIGN_INS`).
        window: seconds of that window, which opens with its first request.
        changes: what becomes of accounts and cursors; None: nothing.
        secret: what signs tokens; None draws it.
        closed_search: whether search refuses who is not signed in, as the real one often does.
        closed_cursors: whether it refuses cursors to those, as the real one does wherever it is open.
        search_depth: how many posts of a search cursors reach; the rest is left out.
        search_v2: whether searchPostsV2 is enabled; search_v2_depth: how many of its posts cursors reach, None: all.
        handle_domain: the part of every handle behind the username.
        passwords: who may sign in, see `Sessions`.
        access_seconds, refresh_seconds: for how long the tokens of a session hold.
        nobot: whose description says #nobot.
        labelled: who has the label !no-unauthenticated.
        jetstream_offset: what is added to the numbers of Jetstream's events, as every instance has its own.
        replay: for how many seconds of the file Jetstream can be replayed.
    """

    name = "bluesky"

    def __init__(
        self,
        world: World,
        *,
        limit: int = 3_000,
        window: float = 300.0,
        changes: WorldChanges | None = None,
        secret: bytes | None = None,
        closed_search: bool = False,
        closed_cursors: bool = False,
        search_depth: int = DEPTH,
        search_v2: bool = False,
        search_v2_depth: int | None = None,
        handle_domain: str = DOMAIN,
        passwords: Mapping[str, str] | None = None,
        access_seconds: int = ACCESS_SECONDS,
        refresh_seconds: int = REFRESH_SECONDS,
        nobot: Chosen = 0.0,
        labelled: Chosen = 0.0,
        jetstream_offset: int = 0,
        replay: float = KEPT,
    ) -> None:
        changes = WorldChanges(world) if changes is None else changes
        self.names = BlueskyNames(world, changes, handle_domain)
        self._limit, self._window, self._closed_search = limit, window, closed_search
        self._sessions = Sessions(
            self.names,
            changes,
            passwords=passwords,
            secret=secret,
            access_seconds=access_seconds,
            refresh_seconds=refresh_seconds,
        )
        self._views = {
            kind: BlueskyViews(world, self.names, changes, signed_in=kind == "user", nobot=nobot, labelled=labelled)
            for kind in (_PUBLIC.kind, "user")
        }
        self._closed_cursors, self._search_v2 = closed_cursors, search_v2
        self._jetstream = Jetstream(JetstreamEvents(world, self.names, changes, jetstream_offset), changes, replay)
        self._handlers = self._methods(world, changes, search_depth, search_v2_depth)
        world.warm()

    def _methods(
        self, world: World, changes: WorldChanges, depth: int, depth_v2: int | None
    ) -> dict[str, tuple[str, Handler]]:
        people = ProfileEndpoints(world, self.names, changes)
        posts = BlueskySearchEndpoint(world, self.names, changes, depth, depth_v2)
        return {
            "app.bsky.actor.getProfile": ("GET", people.profile),
            "app.bsky.actor.getProfiles": ("GET", people.profiles),
            "app.bsky.actor.searchActors": ("GET", people.search),
            "app.bsky.feed.getAuthorFeed": ("GET", FeedEndpoint(world, self.names, changes).author_feed),
            "app.bsky.feed.getPosts": ("GET", PostEndpoint(world, self.names, changes).posts),
            _SEARCH: ("GET", posts.search_posts),
            _SEARCH_V2: ("GET", posts.search_posts_v2),
            "app.bsky.graph.getFollows": ("GET", people.follows),
            "app.bsky.graph.getFollowers": ("GET", people.followers),
            "app.bsky.graph.getList": ("GET", people.members),
            "com.atproto.identity.resolveHandle": ("GET", people.resolve),
            _CREATE: ("POST", self._sessions.create),
            _REFRESH: ("POST", self._sessions.refresh),
            "com.atproto.server.getSession": ("GET", self._sessions.get),
            METHOD: ("GET", lambda asked, views: self._jetstream.subscribe_events(asked)),
        }

    def endpoints(self) -> Sequence[tuple[str, str]]:
        """Return the methods by name and Jetstream's first endpoint, then all others, which are not served."""
        named = [(method, _XRPC + name) for name, (method, _) in self._handlers.items()]
        return [*named, ("GET", SUBSCRIBE), ("GET", _REST), ("POST", _REST)]

    def guest(self, asked: MockRequest) -> Guest | MockResponse:
        """Return the account whose session asks (its DID is the label), or the public."""
        method = asked.endpoint.removeprefix(_XRPC)
        if method == _CREATE:
            return _PUBLIC
        try:
            did = self._sessions.find_holder(asked, REFRESH if method == _REFRESH else ACCESS)
        except RefusalError as refusal:
            return refusal.make_response()
        return _PUBLIC if did is None else Guest(did, "user")

    def counted(self, asked: MockRequest, guest: Guest) -> Sequence[WindowSpec]:
        """Return the window of the address at this host, and those of the account that signs in; none of streams."""
        if asked.endpoint in (SUBSCRIBE, SUBSCRIBE_EVENTS):
            return ()
        everything = WindowSpec((self.name, "address", asked.host), self._limit, self._window)
        if not asked.endpoint.endswith(_CREATE):
            return (everything,)
        who = read_credentials(asked.body)[0]
        return (everything, *(WindowSpec((self.name, "sign-in", who), k, period) for k, period in SIGN_INS))

    def limits(self, asked: MockRequest, standing: Sequence[WindowState]) -> Mapping[str, str]:
        """Return the headers of the window that has the fewest left; of several, of the one that ends last."""
        if not standing:
            return {}
        tightest = _find_tightest(standing)
        return {
            "RateLimit-Limit": str(tightest.counting.k),
            "RateLimit-Remaining": str(tightest.left),
            "RateLimit-Reset": str(int(tightest.ends)),
            "RateLimit-Policy": f"{tightest.counting.k};w={tightest.counting.period:g}",
        }

    def too_many(self, asked: MockRequest, standing: Sequence[WindowState]) -> MockResponse:
        """Return the 429, with the seconds to wait."""
        response = TOO_MANY.make_response()
        wait = ceil(_find_tightest(standing).ends - asked.now) if standing else 0
        return MockResponse(response.status, response.body, {"Retry-After": str(max(wait, 0))})

    def answer(self, asked: MockRequest, guest: Guest) -> MockResponse:
        """Return what the method answers."""
        if asked.endpoint == SUBSCRIBE:
            return self._jetstream.subscribe(asked)
        method = asked.endpoint.removeprefix(_XRPC)
        served = self._handlers.get(method)
        if served is None:
            return NOT_SERVED.make_response()
        if method in (_SEARCH, _SEARCH_V2) and (refused := self._refuse_search(method, asked, guest)) is not None:
            return refused
        views = self._views[guest.kind]
        views.renew()
        try:
            return served[1](asked, views)
        except RefusalError as refusal:
            return refusal.make_response()

    def _refuse_search(self, method: str, asked: MockRequest, guest: Guest) -> MockResponse | None:
        """Return why a search is not answered; None: it is."""
        public, paged = guest.kind == _PUBLIC.kind, asked.one("cursor") is not None
        if method == _SEARCH_V2:
            if not self._search_v2:
                return make_refusal("Search v2 is not enabled").make_response()
            return CURSOR_CLOSED.make_response() if public and paged else None
        return SEARCH_CLOSED if public and (self._closed_search or (paged and self._closed_cursors)) else None


def _find_tightest(standing: Sequence[WindowState]) -> WindowState:
    return min(standing, key=lambda one: (one.left, -one.ends))
