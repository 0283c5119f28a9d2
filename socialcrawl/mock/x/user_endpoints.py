"""The endpoints for users, timelines and mentions, from checked parameters to answers; no network here."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from socialcrawl.mock.names import DELETED, HERE, PROTECTED
from socialcrawl.mock.relations import Follows, find_follows
from socialcrawl.mock.world import World
from socialcrawl.mock.x.bodies import XAnswer, make_list_answer, make_posts_answer, make_users_answer
from socialcrawl.mock.x.parameters import TIMELINE_PARAMETERS, USER_PARAMETERS, Cursor, Parameters
from socialcrawl.mock.x.problems import InvalidRequestError, make_missing_user, make_protected_timeline
from socialcrawl.mock.x.render import XRenderer
from socialcrawl.mock.x.vocabulary import ShownFields

REACH = 3_200  # newest posts of a timeline, retweets counted
REACH_WITHOUT_REPLIES = 800
REACH_OF_MENTIONS = 800

MOST_FOLLOWED = 1_000  # users on a page

USERNAME = "[A-Za-z0-9_]{1,15}"
USER_ID = "[0-9]{1,19}"


@dataclass(frozen=True)
class XCall:
    """A request at the door of an endpoint: its parameters, the name or id in its path, and what it asks to see.

    `now` is the server's clock, Unix seconds; `overlap` is that of `service.MockRequest`.
    """

    parameters: Parameters
    path: str
    ask: ShownFields
    now: float
    overlap: int = 0


Handler = Callable[[XCall], XAnswer]


class XUserEndpoints:
    """The endpoints that look accounts up."""

    def __init__(self, renderer: XRenderer) -> None:
        self._renderer = renderer
        self._accounts = renderer.world.accounts
        self._changes = renderer.changes

    def by_usernames(self, call: XCall) -> XAnswer:
        """GET /2/users/by."""
        call.parameters.allow(USER_PARAMETERS | {"usernames"})
        return self._lookup(call, "usernames", call.parameters.values("usernames", USERNAME))

    def by_username(self, call: XCall) -> XAnswer:
        """GET /2/users/by/username/:username."""
        call.parameters.allow(USER_PARAMETERS)
        check_path(call, "username", USERNAME)
        return self._lookup(call, "username", [call.path])

    def by_ids(self, call: XCall) -> XAnswer:
        """GET /2/users."""
        call.parameters.allow(USER_PARAMETERS | {"ids"})
        return self._lookup(call, "ids", call.parameters.values("ids", USER_ID))

    def by_id(self, call: XCall) -> XAnswer:
        """GET /2/users/:id."""
        call.parameters.allow(USER_PARAMETERS)
        check_path(call, "id", USER_ID)
        return self._lookup(call, "id", [call.path])

    def _lookup(self, call: XCall, parameter: str, values: list[str]) -> XAnswer:
        by_name = parameter.startswith("username")
        found: dict[int, None] = {}
        problems = []
        for value in values:
            account = self._changes.row(value) if by_name else self._accounts.by_id.get(int(value))
            fate = DELETED if account is None else self._changes.find_fate(account)
            if account is not None and fate in (HERE, PROTECTED):
                found[account] = None
            else:
                problems.append(make_missing_user(call.ask.words, parameter, value, fate))
        single = parameter in ("id", "username")
        return make_users_answer(self._renderer, list(found), problems, call.ask, single=single)


class XTimelineEndpoints:
    """The endpoints for the posts of an account and the posts that mention it."""

    def __init__(self, renderer: XRenderer) -> None:
        self._renderer = renderer
        self._world, self._changes = renderer.world, renderer.changes

    def tweets(self, call: XCall) -> XAnswer:
        """GET /2/users/:id/tweets."""
        call.parameters.allow(TIMELINE_PARAMETERS | {"exclude"})
        exclude = call.parameters.choices("exclude", ("replies", "retweets"))
        return self._answer(call, "tweets", lambda account: self._timeline(account, exclude))

    def mentions(self, call: XCall) -> XAnswer:
        """GET /2/users/:id/mentions."""
        call.parameters.allow(TIMELINE_PARAMETERS)
        return self._answer(call, "mentions", self._mentions)

    def _answer(self, call: XCall, kind: str, posts_of: Callable[[int], NDArray[np.int64]]) -> XAnswer:
        check_path(call, "id", USER_ID)
        place = f"{kind} {call.path}"
        size = call.parameters.number("max_results", 5, 100, 10)
        cursor = call.parameters.cursor(self._changes, place, "pagination_token")
        narrowed = make_filter(self._world, call.parameters)
        account = self._world.accounts.by_id.get(int(call.path))
        fate = DELETED if account is None else self._changes.find_fate(account)
        if account is None or fate != HERE:
            return make_unseen_answer(self._renderer, call, fate)
        return make_posts_answer(
            self._renderer,
            narrowed(posts_of(account)),
            call.ask,
            size=size,
            cursor=cursor,
            place=place,
            overlap=call.overlap,
        )

    def _timeline(self, account: int, exclude: frozenset[str]) -> NDArray[np.int64]:
        """Return the posts of an account within reach, newest first.

        Retweets count for the reach, left out replies do not.
        """
        posts = self._changes.select_existing(self._world.timelines.of(account))[::-1]
        references = self._world.references
        if "replies" in exclude:
            posts = posts[references.replied_account[posts] < 0][:REACH_WITHOUT_REPLIES]
        posts = posts[:REACH]
        return posts[references.retweeted_id[posts] < 0] if "retweets" in exclude else posts

    def _mentions(self, account: int) -> NDArray[np.int64]:
        posts = self._changes.select_existing(self._world.mentioned_in.of(account))[::-1]
        return posts[self._changes.visible[posts]][:REACH_OF_MENTIONS]


class XFollowEndpoint:
    """The endpoint for whom an account follows, as `follows` has it: in the order of first mention."""

    def __init__(self, renderer: XRenderer) -> None:
        self._renderer, self._world, self._changes = renderer, renderer.world, renderer.changes

    def following(self, call: XCall) -> XAnswer:
        """GET /2/users/:id/following."""
        call.parameters.allow(USER_PARAMETERS | {"max_results", "pagination_token"})
        check_path(call, "id", USER_ID)
        place = f"following {call.path}"
        size = call.parameters.number("max_results", 1, MOST_FOLLOWED, 100)
        cursor = call.parameters.cursor(self._changes, place, "pagination_token")
        account = self._world.accounts.by_id.get(int(call.path))
        fate = DELETED if account is None else self._changes.find_fate(account)
        if account is None or fate != HERE:
            return make_unseen_answer(self._renderer, call, fate)
        listed = [row for row in self._list_followed(account) if self._changes.find_fate(row) in (HERE, PROTECTED)]
        start = 0 if cursor is None else cursor.post
        more = start + size < len(listed)
        token = self._changes.issue(Cursor(older=True, post=start + size).token(place)) if more else None
        return make_list_answer(self._renderer, listed[start : start + size], call.ask, token)

    def _list_followed(self, account: int) -> list[int]:
        follows = self._follows
        found: list[int] = follows.followed[follows.of(account, self._changes.moment, backwards=False)].tolist()
        return found

    @cached_property
    def _follows(self) -> Follows:
        return find_follows(self._world)


def make_unseen_answer(renderer: XRenderer, call: XCall, fate: int) -> XAnswer:
    """Return the answer to who asks for a list of an account that is not to be seen."""
    hidden = fate == PROTECTED
    words = call.ask.words
    problem = make_protected_timeline(words, call.path) if hidden else make_missing_user(words, "id", call.path, fate)
    return make_users_answer(renderer, [], [problem], call.ask, single=True)


def check_path(call: XCall, name: str, pattern: str) -> None:
    """Check the name or id in the path; a wrong one raises InvalidRequestError."""
    Parameters({name: call.path}).values(name, pattern)
    if "," in call.path:
        raise InvalidRequestError(name, call.path, f"The `{name}` query parameter value [{call.path}] is not valid")


def make_filter(world: World, parameters: Parameters) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """Return the filter of positions by since_id, until_id (both exclusive), start_time and end_time."""
    since, until = parameters.post_id("since_id"), parameters.post_id("until_id")
    start, end = parameters.span()

    def narrowed(posts: NDArray[np.int64]) -> NDArray[np.int64]:
        if since is until is start is end is None:
            return posts
        ids, times = world.ids[posts], world.created_at[posts]
        kept = np.ones(len(posts), dtype=bool)
        if since is not None:
            kept &= ids > since
        if until is not None:
            kept &= ids < until
        if start is not None:
            kept &= times >= start
        if end is not None:
            kept &= times < end
        return posts[kept]

    return narrowed
