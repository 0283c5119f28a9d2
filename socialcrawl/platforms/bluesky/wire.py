"""The wire to Bluesky. It sends, parses and classifies; it never raises and never waits."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from socialcrawl.engine.model import Grant, Page, Reason, Reply, ReplyKind, Request, SoughtPost, Who
from socialcrawl.graph.relevance import Hits
from socialcrawl.platforms.bluesky import classify, parse
from socialcrawl.platforms.bluesky.entities import EVERYTHING
from socialcrawl.platforms.bluesky.jetstream import make_connect, make_opener
from socialcrawl.platforms.bluesky.opt_outs import shows_opted_out
from socialcrawl.platforms.bluesky.parse import Json
from socialcrawl.platforms.bluesky.session import Session
from socialcrawl.platforms.bluesky.source import (
    ACTORS,
    FEED,
    FOLLOWS,
    MEMBERS,
    POSTS,
    PROFILES,
    RESOLVE,
    SEARCH,
    SEARCH_V2,
    SEARCHES,
    STREAM,
)
from socialcrawl.platforms.headers import parse_date, parse_pause
from socialcrawl.platforms.http_client import HttpAnswer, HttpClient, bound_memory
from socialcrawl.platforms.json_reader import decode_json, name_empty, parse_moment
from socialcrawl.platforms.stream_reader import StreamReader
from socialcrawl.system.loopback import is_loopback
from socialcrawl.system.secret import redact

CALLED = {"id": "actor", "ids": "actors", "usernames": "actors", "username": "handle", "query": "q"}
LISTS = ("ids", "usernames", "uris")  # parameters that come several times
BOUNDS = ("since", "after", "latest")  # feeds cannot be bounded: they say where reading ends, and what is kept
OURS = ("opt_outs", "show", "exists", "oldest", "wanted")  # parameters that no server is asked for
NOT_ENABLED = re.compile(r"not enabled|MethodNotImplemented|XRPCNotSupported")
NO_V2 = (
    'this server has not enabled searchPostsV2: set search = "v1" under [capture] and continue with '
    "`socialcrawl run --change`"
)
CLOSED = (
    "searchPosts is closed to callers who have not signed in: name seeds by handle, list or file ([seeds] usernames, "
    "lists, file), or sign in with an app password"
)


@dataclass(frozen=True, slots=True)
class BlueskyWire:
    """The wire to Bluesky.

    Args:
        base: the AppView, such as https://public.api.bsky.app; a request with a session goes to the session's server.
        hits: occurrences of the topic that count in a post, by its text, its language and when it was written.
        now: the clock, for the instant of arrival.
        timeout: seconds to wait for each part of an answer.
        deadline: seconds for a whole answer; None: four times the timeout.
        stream: the address of Jetstream, for campaigns that read it.
        contact: address at which the operator of the crawl can be reached.
        keep: whether each post's original JSON is kept.
        whole: whether each answer is kept as it came, except for those that show accounts that opted out.
        sessions: by the name of their credential; a credential without one asks as nobody.
    """

    base: str
    hits: Hits
    now: Callable[[], float]
    timeout: float = 30.0
    contact: str = ""
    keep: bool = False
    whole: bool = False
    sessions: Mapping[str, Session] = field(default_factory=dict)
    deadline: float | None = None
    stream: str = ""
    http: HttpClient = field(init=False, repr=False)
    reader: StreamReader = field(init=False, repr=False)

    def __post_init__(self) -> None:
        http = HttpClient(self.base, self.now, self.timeout, self.contact, self.deadline)
        object.__setattr__(self, "http", http)
        connecting = make_connect(self.stream, self._matches, self.now, self.timeout, self.contact)
        object.__setattr__(self, "reader", StreamReader(connecting, make_opener(self.stream), self.now))

    @bound_memory
    def send(self, grant: Grant) -> Reply:
        """Return the reply to one request; see `protocols.Wire.send`."""
        if grant.request.endpoint == STREAM:
            asked = grant.request.params
            return self.reader.answer(asked, lambda posts: self._parse_search(asked, {"posts": posts}))
        reply, body = self.ask(grant)
        return self._read(grant.request, reply, body) if reply.kind in (ReplyKind.OK, ReplyKind.MISSING) else reply

    def hurry(self) -> None:
        """See `protocols.Hurried`."""
        self.reader.hurry()

    def close(self) -> None:
        """Let go of connections."""
        self.http.close()
        self.reader.close()

    def ask(self, grant: Grant) -> tuple[Reply, Any]:
        """Return the reply to one request without rows, and its decoded JSON; None where it is none."""
        base, headers, session = self.base, {}, self.sessions.get(grant.credential)
        token = ""
        if session is not None:
            signed = session.get_token()
            if isinstance(signed, Reply):
                return signed, None
            base, token = signed.base, signed.token
            headers = {"Authorization": f"Bearer {token}"}
        public = base != self.base and not is_loopback(self.base)  # an answer named it, not the campaign file
        came = self.http.fetch("GET", make_address(base, grant.request), headers=headers, public=public)
        if isinstance(came, Reply):
            return (replace(came, kind=ReplyKind.BROKEN) if came.kind == ReplyKind.MISSING else came), None
        body = decode_json(came.body)
        if session is not None and classify.parse_error(body)[0] in classify.ENDED:
            session.refuse(token)
        return self._classify(grant.request, came, body, signed=session is not None), body

    def _matches(self, view: Json) -> bool:
        return any(parse.parse_search({"posts": [view]}, self.hits).hits)

    def _classify(self, request: Request, came: HttpAnswer, body: Any, *, signed: bool) -> Reply:
        known, date = classify.parse_limits(came.headers), parse_date(came.headers)
        if date is None and came.status == 429:
            date = came.at  # without the server's clock, the reset is read by ours
        kind, why = classify.classify(came.status, body, known, came.at if date is None else date, signed=signed)
        # The 403 of a closed search is a page without JSON; a 401 that is one comes from somewhere in between.
        closed = came.status == 403 or (came.status == 401 and classify.parse_error(body)[0])
        if not self.sessions and request.endpoint in (*SEARCHES, ACTORS) and closed:
            kind, why = ReplyKind.MISSING, CLOSED
        elif (
            kind != ReplyKind.OK
            and _is_about_account(request)
            and classify.explain_missing(came.status, body, by_id="id" in request.params)
        ):
            kind, why = ReplyKind.MISSING, ": ".join(part for part in classify.parse_error(body) if part)
        if request.endpoint == SEARCH_V2 and kind == ReplyKind.INVALID and NOT_ENABLED.search(why):
            why = NO_V2
        received = came.make_archived() if self.whole else None
        why, after = redact(name_empty(why, came.body)), parse_pause(came.status, came.headers, date or came.at)
        reply = Reply(kind, came.at, status=came.status, date=date, limits=known, why=why, received=received)
        return replace(reply, after=after)

    def _read(self, request: Request, bare: Reply, body: Any) -> Reply:
        """Return the reply with its rows and cursor."""
        if bare.kind == ReplyKind.MISSING:
            return replace(bare, rows=_make_missing_page(request, bare.status, body))
        try:
            page, heeded = self._parse_page(request, body), _heeds_profiles(request)
            gone = request.endpoint == FEED and bool(page.missing)
            kept = None if bare.received is None or _must_spare(request, page, body, heeded=heeded) else bare.received
            cursor = None if gone else _find_cursor(request, body)
            return replace(bare, kind=ReplyKind.MISSING if gone else bare.kind, rows=page, cursor=cursor, received=kept)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            why = f"the server's JSON is not what Bluesky sends ({type(error).__name__}: {error})"
            return replace(bare, kind=ReplyKind.LOST, why=redact(why))

    def _parse_page(self, request: Request, body: Json) -> Page:
        asked, heeded = request.params, _heeds_profiles(request)
        readers: Mapping[str, Callable[[], Page]] = {
            FEED: lambda: self._parse_feed(asked, body),
            SEARCH: lambda: self._parse_marked(asked, body),
            SEARCH_V2: lambda: self._parse_marked(asked, body),
            PROFILES: lambda: parse.parse_profiles(
                body, _name_parameters(asked), heeded=heeded, blocked="exists" in asked
            ),
            ACTORS: lambda: parse.parse_actors(body, heeded=heeded),
            MEMBERS: lambda: parse.parse_members(body, heeded=heeded),
            FOLLOWS: lambda: parse.parse_follows(body),
            RESOLVE: lambda: parse.parse_resolved(body, asked["username"]),
            POSTS: lambda: self._parse_posts(asked, body),
        }
        return readers[request.endpoint]()

    def _parse_feed(self, asked: Mapping[str, str], body: Json) -> Page:
        if "latest" in asked:
            return parse.parse_latest(body, asked["id"])
        after = asked.get("after", "")
        if "show" in asked and (others := parse.parse_reposts(body, asked["id"], after)).answered:
            return others
        return parse.parse_feed(body, asked["id"], self.hits, keep=self.keep, after=after, of=_list_wanted(asked))

    def _parse_marked(self, asked: Mapping[str, str], body: Json) -> Page:
        """Return a page of a search, with its mark where one is wanted: that of the page as the server sent it."""
        page = self._parse_search(asked, body)
        return replace(page, mark=parse.find_oldest(body)) if "oldest" in asked else page

    def _parse_posts(self, asked: Mapping[str, str], body: Json) -> Page:
        if "show" in asked:
            return parse.parse_authors(body, None)
        page = parse.parse_search(body, self.hits, keep=self.keep, of=_list_wanted(asked))
        pairs = list(zip(asked["wanted"].split(","), asked["uris"].split(","), strict=True))
        return replace(page, sought=parse.list_sought(body, page, pairs))

    def _parse_search(self, asked: Mapping[str, str], body: Json) -> Page:
        if "show" in asked:
            return parse.parse_authors(body, asked.get("id"))
        if "id" in asked:
            return parse.parse_mentions(body, asked["id"], self.hits, keep=self.keep, of=_list_wanted(asked))
        return parse.parse_search(body, self.hits, keep=self.keep, of=_list_wanted(asked))


def make_address(base: str, request: Request) -> str:
    """Return the address of a request: its parameters as Bluesky calls them, one for each account of a list."""
    given = {name: value for name, value in request.params.items() if name not in OURS}
    if request.endpoint in (*SEARCHES, FEED, POSTS):
        given.pop("ids", None)  # whose posts are wanted of those that are shown
    if request.endpoint == FEED:
        given = {name: value for name, value in given.items() if name not in BOUNDS}
    elif request.endpoint == SEARCH and "id" in given:  # whatever the text, as long as it mentions the account
        given = {"q": EVERYTHING, "mentions": given.pop("id"), **given}
    called = {**CALLED, "query": "query"} if request.endpoint == SEARCH_V2 else CALLED
    pairs = [
        (called.get(name, name), part)
        for name, value in given.items()
        for part in (value.split(",") if name in LISTS else [value])
    ]
    return f"{base.rstrip('/')}{request.endpoint}?{urlencode(pairs)}"


def _name_parameters(params: Mapping[str, str]) -> list[str]:
    return [part for name in ("ids", "usernames") if name in params for part in params[name].split(",")]


def _list_wanted(params: Mapping[str, str]) -> frozenset[str] | None:
    """Return the DIDs of those whose posts, or reposted posts, are kept; None: all are."""
    return frozenset(params["ids"].split(",")) if "ids" in params else None


def _heeds_profiles(request: Request) -> bool:
    """Return whether accounts opt out by what they say in their profiles; by labels they always do."""
    return request.params.get("opt_outs") != "no"


def _must_spare(request: Request, page: Page, body: Json, *, heeded: bool) -> bool:
    """Return whether an answer has what must not be kept: an account that opted out, or may have, or posts left out."""
    if request.endpoint in (*SEARCHES, POSTS) and len(page.posts) < len(body["posts"]):
        return True
    if request.endpoint == FEED and heeded:
        reposted = {one.id for one in parse.parse_reposts(body, request.params["id"]).answered}
        if reposted - (_list_wanted(request.params) or frozenset()):
            return True
    return shows_opted_out(body, heeded=heeded)


def _find_cursor(request: Request, body: Json) -> str | None:
    """Return where the next page begins; None at the end, and where all that counts has come."""
    asked = request.params
    if request.endpoint == FEED:
        since = parse_moment(asked.get("since"))
        if since is not None and parse.reaches(body, asked["id"], since.timestamp()):
            return None
        if "after" in asked and parse.meets(body, asked["id"], asked["after"]):
            return None
    return parse.find_cursor(body)


def _is_about_account(request: Request) -> bool:
    """Return whether a request is about one account or list, so that an error can say that it is not there."""
    return request.endpoint in (FEED, FOLLOWS, MEMBERS, RESOLVE)


def _make_missing_page(request: Request, status: int, body: Any) -> Page:
    """Return the page that says why the account that was asked for is not there; empty where none was."""
    given = request.params
    if request.endpoint in SEARCHES or ("id" not in given and "username" not in given):
        return Page()  # a closed search says nothing of the account that others mention
    who = Who(given.get("id"), given.get("username"))
    why = classify.explain_missing(status, body, by_id="id" in given) or Reason.UNKNOWN
    wanted = given["wanted"].split(",") if "wanted" in given else ()
    return Page(missing=[(who, why)], sought=[SoughtPost(address, None, why) for address in wanted])
