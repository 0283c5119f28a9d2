"""X as a platform of the mock: tokens of apps and users, windows per token and endpoint, a cap, credits, a bill."""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import orjson

from socialcrawl.mock.bounded_cache import BoundedCache
from socialcrawl.mock.gated_service import Entry, RequestBook
from socialcrawl.mock.rate_windows import MAIN, TokenWindows, make_label
from socialcrawl.mock.server_settings import (
    APP_ONLY,
    COMPLIANCE,
    CONNECTIONS,
    ENDPOINTS,
    FREE,
    READING_POSTS,
    STREAM,
    STREAM_RULES,
    MockSettings,
)
from socialcrawl.mock.service import Guest, MockRequest, MockResponse, StreamResponse
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges
from socialcrawl.mock.x.bill import XBill
from socialcrawl.mock.x.bodies import XAnswer
from socialcrawl.mock.x.filtered_stream import FilteredStreams
from socialcrawl.mock.x.gate import Gate
from socialcrawl.mock.x.job_store import JOB, LASTING, STORAGE, XComplianceJobs
from socialcrawl.mock.x.parameters import Parameters
from socialcrawl.mock.x.post_endpoints import XPostEndpoints
from socialcrawl.mock.x.problems import (
    NOT_FOUND,
    TOO_MANY,
    UNAUTHORIZED,
    InvalidRequestError,
    Problem,
    make_credits_depleted,
    make_unsupported_authentication,
    make_usage_capped,
)
from socialcrawl.mock.x.render import XRenderer
from socialcrawl.mock.x.search_endpoints import XSearchEndpoints, XUsageEndpoint
from socialcrawl.mock.x.user_endpoints import Handler, XCall, XFollowEndpoint, XTimelineEndpoints, XUserEndpoints
from socialcrawl.mock.x.vocabulary import read_shown_fields

BEARER = "OAuth 2.0 User Context"
SIGNED = "OAuth 1.0a User Context"
# https://docs.x.com/resources/fundamentals/authentication/oauth-1-0a/authorizing-a-request; oauth_version is optional
SIGNED_WITH = (
    *("oauth_consumer_key", "oauth_nonce", "oauth_signature"),
    *("oauth_signature_method", "oauth_timestamp", "oauth_token"),
)
_PAIR = re.compile(r'\s*([a-z_]+)="([^"]*)"\s*(?:,|$)')


@dataclass(frozen=True, slots=True)
class Visitor:
    """A token that was shown: its label, its kind (`app` or `user`), and the official name of the scheme of users."""

    label: str
    kind: str
    scheme: str = BEARER


def find_visitor(authorization: str, tokens: frozenset[str] | None, user_tokens: Container[str]) -> Visitor | None:
    """Return who shows this Authorization header; None where the request is to be refused.

    `Bearer TOKEN` is an app, or a user where the token is one of `user_tokens`. `OAuth oauth_token="TOKEN", ...` (1.0a)
    is a user. Its parameters must all be there (SIGNED_WITH), but the signature is not verified: the mock has no
    secrets to verify it with.

    Args:
        authorization: the text of the header.
        tokens: the tokens that are let in besides `user_tokens`; None lets every token in.
        user_tokens: bearer tokens of users.
    """
    scheme, _, rest = authorization.partition(" ")
    signed = scheme.lower() == "oauth"
    token = _read_signed_token(rest) if signed else rest.strip() if scheme.lower() == "bearer" else ""
    user = signed or token in user_tokens
    if not token or (tokens is not None and token not in tokens and token not in user_tokens):
        return None
    return Visitor(make_label(token), "user" if user else "app", SIGNED if signed else BEARER)


def _read_signed_token(parameters: str) -> str:
    """Return the oauth_token among the parameters of OAuth 1.0a; empty where one of them is missing."""
    given = {name: unquote(value) for name, value in _PAIR.findall(parameters)}
    return given["oauth_token"] if all(given.get(name) for name in SIGNED_WITH) else ""


API_VERSION = "2.168"
AFTER_THE_END = 30.0  # seconds, so that search's implicit end_time includes the last post
_OWN = {"api-version": API_VERSION, "x-access-level": "read"}
_STORE = Guest("store", "public")  # who shows a signed address
_LASTING = frozenset(ENDPOINTS) - FREE  # answers that depend on nothing but the request and the world


class XService:
    """A mock X API for one world.

    Args:
        world: what there is to see.
        settings: limits, windows, tokens, money, and the moment of search.
        changes: what becomes of the world.
    """

    name = "x"

    def __init__(self, world: World, settings: MockSettings, changes: WorldChanges) -> None:
        self.book, self.changes = RequestBook(), changes
        self._settings = settings
        world.warm()
        windows = {
            "app": TokenWindows(settings.limit_of, settings.window),
            "user": TokenWindows(settings.user_limit_of, settings.window, "user"),
        }
        self._gate = Gate(windows, settings.make_rules())
        self._bill = XBill(settings.cap_reset_day)
        self._answers: BoundedCache[tuple[Any, ...], XAnswer] = BoundedCache(settings.held)
        renderer = XRenderer(world, changes)
        users, posts, timelines, usage = (
            XUserEndpoints(renderer),
            XPostEndpoints(renderer),
            XTimelineEndpoints(renderer),
            XUsageEndpoint(self._bill, settings.post_cap),
        )
        now = world.end + AFTER_THE_END if settings.now is None else settings.now
        finding = XSearchEndpoints(renderer, now, since_id_reaches=settings.since_id_reaches)
        handlers: tuple[Handler, ...] = (
            *(users.by_usernames, users.by_username, users.by_id, users.by_ids),
            *(
                timelines.tweets,
                timelines.mentions,
                XFollowEndpoint(renderer).following,
                posts.by_ids,
                posts.by_id,
                finding.recent,
                finding.archive,
                finding.counts,
                finding.archive_counts,
                usage.tweets,
            ),
        )
        others = [endpoint for endpoint in ENDPOINTS if endpoint not in COMPLIANCE]
        self._handlers = dict(zip(others, handlers, strict=True))
        self._jobs = XComplianceJobs(world, changes, settings.job_seconds)
        self._streams = FilteredStreams(renderer, self._bill, settings.credits, settings.heartbeat)

    def endpoints(self) -> Sequence[tuple[str, str]]:
        """Return those of the settings, and what compliance jobs and the filtered stream need besides."""
        streams = [("GET", STREAM), ("GET", STREAM_RULES), ("POST", STREAM_RULES), ("DELETE", CONNECTIONS)]
        return [*(("GET", endpoint) for endpoint in ENDPOINTS), ("POST", COMPLIANCE[0]), *STORAGE, *streams]

    def guest(self, asked: MockRequest) -> Guest | MockResponse:
        """Return who shows a good token; a user's has no limit where only apps may ask, so no window either."""
        if asked.endpoint in LASTING:
            return self._jobs.check_address(asked) or _STORE
        shown = asked.headers.get("authorization", "")
        who = find_visitor(shown, self._settings.tokens, self._settings.user_tokens)
        if who is None:
            return _respond(401, UNAUTHORIZED)
        if who.kind == "user" and asked.endpoint in APP_ONLY:
            return _respond(
                403, make_unsupported_authentication(read_shown_fields(dict(asked.query)).words, who.scheme)
            )
        return Guest(who.label, who.kind)

    def take(self, asked: MockRequest, guest: Guest) -> Entry:
        """Return the request at the gate; what is at a signed address has none."""
        if guest is _STORE:
            return Entry(False, {}, ())
        place = f"POST {asked.endpoint}" if asked.method == "POST" else asked.endpoint
        passage = self._gate.take(guest.label, guest.kind, place, asked.now)
        return Entry(passage.refused, passage.headers, (passage.window,))

    def spent(self, asked: MockRequest, entry: Entry) -> Entry:
        """Return the main window without anything left."""
        return Entry(entry.refused, {**entry.headers, f"{MAIN}-remaining": "0"}, entry.windows)

    def too_many(self, asked: MockRequest, entry: Entry) -> MockResponse:
        """Return the 429 of a window."""
        return _respond(429, TOO_MANY, entry.headers)

    def answer(self, asked: MockRequest, guest: Guest, entry: Entry) -> MockResponse:
        """Return the answer of the endpoint, charged; or what stands in its way."""
        if guest is _STORE:
            return self._jobs.store(asked)
        if asked.endpoint in COMPLIANCE:
            return self._answer_of_jobs(asked, guest, entry)
        given = dict(asked.query)
        path = next(iter(asked.path.values()), "")
        call = XCall(Parameters(given), path, read_shown_fields(given), asked.now, asked.overlap)
        if stopped := self._check_funds(asked.endpoint, call):
            status, problem = stopped
            # X was seen to tell no limits with a 402, and those of the window with the 429 of the cap.
            return _respond(status, problem, {} if status == 402 else entry.headers)
        try:
            if asked.endpoint not in self._handlers:
                return self._answer_stream(asked, guest, call, entry)
            answer = self._answer(asked, call)
        except InvalidRequestError as error:
            return _respond(400, error.problem(call.ask.words), entry.headers)
        self._bill.charge(asked.now, answer.posts, answer.users, answer.counts, answer.archive_counts)
        return _respond(200, answer.body, entry.headers)

    def _answer_stream(self, asked: MockRequest, guest: Guest, call: XCall, entry: Entry) -> MockResponse:
        """Return the answer of an endpoint of the filtered stream, or the stream itself."""
        streams, given, words = self._streams, dict(asked.query), call.ask.words
        if asked.endpoint == CONNECTIONS:
            return _respond(200, streams.end_all(guest.label), entry.headers)
        if asked.endpoint == STREAM_RULES and asked.method != "POST":
            return _respond(200, streams.get_rules(guest.label).list(given, asked.now), entry.headers)
        if asked.endpoint == STREAM_RULES:
            status, answer = streams.get_rules(guest.label).change(given, asked.body, asked.now, words)
            return _respond(status, answer, entry.headers)
        found = streams.connect(guest.label, given, call.ask)
        if isinstance(found, StreamResponse):
            return replace(found, headers={**_OWN, **entry.headers})
        return _respond(*found, entry.headers)

    def _answer_of_jobs(self, asked: MockRequest, guest: Guest, entry: Entry) -> MockResponse:
        words = read_shown_fields(dict(asked.query)).words
        try:
            if asked.method == "POST":
                found = self._jobs.create(asked, guest, words)
            elif asked.endpoint == JOB:
                found = self._jobs.get(asked, guest, words)
            else:
                found = self._jobs.list(asked, guest)
        except InvalidRequestError as error:
            return _respond(400, error.problem(words), entry.headers)
        return _respond(found.status, found.body, entry.headers)

    def _answer(self, asked: MockRequest, call: XCall) -> XAnswer:
        """Return the answer of the endpoint, held where nothing but the request decides it."""
        moment = self.changes.moment
        if asked.endpoint not in _LASTING or asked.overlap or self.changes.aging or moment.speed:
            return self._handlers[asked.endpoint](call)
        key = (asked.endpoint, call.path, asked.query, self.changes.version, self.changes.deleted, moment.second)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._handlers[asked.endpoint](call)
            self._answers.put(key, answer, len(answer.body) + 2_000)
        return answer

    def _check_funds(self, endpoint: str, call: XCall) -> tuple[int, Problem] | None:
        """Return the status and problem where the cap on posts or the credits are used up, for what they pay for."""
        credit = self._settings.credits
        if credit is not None and endpoint not in FREE and self._bill.dollars >= credit:
            return 402, make_credits_depleted(call.ask.words)
        if endpoint in READING_POSTS and self._bill.posts_in_cycle(call.now) >= self._settings.post_cap:
            return 429, make_usage_capped(call.ask.words)
        return None

    def report(self) -> dict[str, Any]:
        """Return requests by endpoint, windows and rules by token and endpoint, and the bill by UTC day and in all."""
        return {
            **self.book.report(),
            **self._gate.report(),
            "billed": self._bill.report(),
            "totals": self._bill.totals(),
        }


def make_not_found() -> MockResponse:
    """Return the 404 of a path that no platform has."""
    return _respond(404, NOT_FOUND)


def _respond(status: int, body: bytes | Problem, headers: Any = None) -> MockResponse:
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    return MockResponse(status, content, {**_OWN, **(headers or {})})
