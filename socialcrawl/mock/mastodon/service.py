"""Mastodon as the mock serves it: every instance of a world at once, told apart by the Host header.

An instance knows every account, by lookup, and its own posts; home knows everybody's posts. Its ids are its own. An
account follows those whom its posts mention, in the order of first mention, and lists them in that order.

What became of accounts, as Mastodon 4 shows it: a deleted account is not found; a suspended one is told emptied, with
`suspended`, and a protected one with `locked`, and the lists of both are empty. A max_id is an id and never grows old.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from socialcrawl.mock.mastodon.endpoints import FollowEndpoints, LookupEndpoints, SearchEndpoint
from socialcrawl.mock.mastodon.instance_info import PUBLIC
from socialcrawl.mock.mastodon.instance_world import build_town
from socialcrawl.mock.mastodon.profiles import NOBODY
from socialcrawl.mock.mastodon.responses import BAD_TOKEN, CURSORS, NOBODY_HERE, TOO_MANY
from socialcrawl.mock.mastodon.search import ON
from socialcrawl.mock.mastodon.streaming_endpoints import (
    HEALTH,
    HEARTBEAT,
    INVALID_TOKEN,
    MISSING_TOKEN,
    STREAMING,
    StreamingEndpoints,
    read_token,
)
from socialcrawl.mock.mastodon.timelines import TimelineEndpoints
from socialcrawl.mock.names import Chosen
from socialcrawl.mock.rate_windows import make_label
from socialcrawl.mock.service import Guest, MockRequest, MockResponse, WindowSpec, WindowState
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges

_PAGED = ("page", *CURSORS)
_BEARER = re.compile(r"bearer\s+(\S+)\s*", re.IGNORECASE)


class MastodonService:
    """All Mastodon instances of one world.

    Args:
        world: the posts.
        home: the instance of the accounts that name none, which also answers at the loopback.
        limit, window: requests, and in how many seconds, for each instance and token (or everybody without one).
        paged_limit, paged_window: the same for requests with a cursor, which are counted separately.
        tokens: the tokens that are let in; None lets every token in.
        changes: what has become of the world.
        noindex, nobot: who does not want to be found or crawled, see `Profiles`.
        moved, limited: who has moved, and who is hidden from strangers, see `Profiles`.
        hashtag_feeds: who is shown hashtag timelines: "public"; "authenticated" (users); or "disabled" (nobody: users
            are shown empty ones), for posts of the instance's own accounts and of others alike.
        heartbeat: seconds of silence after which an event source says that it is open; None: 15.
        full_text: how texts are searched: "on"; "days", where `before:` and `after:` take days only; or "silent", where
            the search finds nothing.
        gone: deleted accounts are refused with 410 instead of 404, as by instances before 3.3.
    """

    name = "mastodon"

    def __init__(
        self,
        world: World,
        *,
        home: str = "home.example",
        limit: int = 300,
        window: float = 300.0,
        paged_limit: int = 300,
        paged_window: float = 900.0,
        tokens: frozenset[str] | None = None,
        changes: WorldChanges | None = None,
        noindex: Chosen = 0.0,
        nobot: Chosen = 0.0,
        gone: bool = False,
        moved: Mapping[str, str] = NOBODY,
        limited: Chosen = 0.0,
        hashtag_feeds: str = PUBLIC,
        heartbeat: float | None = None,
        full_text: str = ON,
    ) -> None:
        self._limits = ((limit, window), (paged_limit, paged_window))
        self._tokens = tokens
        hidden = {"noindex": noindex, "nobot": nobot, "limited": limited}
        town = build_town(
            world,
            home,
            changes or WorldChanges(world),
            **hidden,
            moved=moved,
            gone=gone,
            hashtag_feeds=hashtag_feeds,
            full_text=full_text,
        )
        self._instances = town.instances
        rooms = (
            LookupEndpoints(town),
            TimelineEndpoints(town),
            FollowEndpoints(town),
            SearchEndpoint(town),
            StreamingEndpoints(town, heartbeat or HEARTBEAT),
        )
        self._answers = {template: answer for room in rooms for template, answer in room.answers().items()}

    def endpoints(self) -> Sequence[tuple[str, str]]:
        """Return its (method, template)s; those without a part to be filled in come before those that they fit too."""
        return [("GET", template) for template in self._answers]

    def guest(self, asked: MockRequest) -> Guest | MockResponse:
        """Return who asks: the token, or everybody without one; the refusal of a token that is not let in."""
        if asked.endpoint.startswith(STREAMING) and asked.endpoint != HEALTH:
            return self._find_listener(asked)
        given = asked.headers.get("authorization")
        if not given:
            return Guest("public", "public")
        match = _BEARER.fullmatch(given)
        if match is None or (self._tokens is not None and match[1] not in self._tokens):
            return BAD_TOKEN
        return Guest(make_label(match[1]), "user")

    def _find_listener(self, asked: MockRequest) -> Guest | MockResponse:
        """Return the user who asks for a stream, or the refusal: nobody else is let in."""
        token = read_token(asked)
        if token is None:
            return MISSING_TOKEN
        return (
            INVALID_TOKEN
            if self._tokens is not None and token not in self._tokens
            else Guest(make_label(token), "user")
        )

    def counted(self, asked: MockRequest, guest: Guest) -> Sequence[WindowSpec]:
        """Return the windows of the instance that is asked: one counts every request, the other those with a cursor.

        Streams are counted by none.
        """
        domain = self._instances.at(asked.host)
        if domain is None or asked.endpoint.startswith(STREAMING):
            return ()
        paged = any(asked.one(name) for name in _PAGED)
        kinds = zip(("all", "paged") if paged else ("all",), self._limits, strict=False)
        return [WindowSpec((self.name, domain, kind, guest.label), k, s, "aligned") for kind, (k, s) in kinds]

    def limits(self, asked: MockRequest, standing: Sequence[WindowState]) -> Mapping[str, str]:
        """Return the headers of the window with the least left.

        Its end keeps the microseconds of now, as Mastodon's does.
        """
        if not standing:
            return {}
        closest = min(standing, key=lambda window: window.left)
        reset = datetime.fromtimestamp(closest.ends + asked.now % 1, UTC)
        return {
            "x-ratelimit-limit": str(closest.counting.k),
            "x-ratelimit-remaining": str(closest.left),
            "x-ratelimit-reset": reset.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        }

    def too_many(self, asked: MockRequest, standing: Sequence[WindowState]) -> MockResponse:
        """Return the 429 of a request for which a window had no room; it says nothing of when to come back."""
        return TOO_MANY

    def answer(self, asked: MockRequest, guest: Guest) -> MockResponse:
        """Return the answer to a request that was let in; a host that is no instance answers as a web server would."""
        domain = self._instances.at(asked.host)
        if domain is None:
            return NOBODY_HERE
        return self._answers[asked.endpoint](asked, guest, domain)
