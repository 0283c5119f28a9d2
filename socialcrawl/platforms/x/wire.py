"""The wire to X: one tweepy client a credential. It sends, parses and classifies; it never raises and never waits."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast
from urllib.parse import quote

import requests
import tweepy

from socialcrawl.engine.model import Grant, Page, Reply, ReplyKind, Request, Who
from socialcrawl.engine.span_counts import write_counts
from socialcrawl.graph.relevance import Hits
from socialcrawl.platforms.headers import parse_date, parse_pause
from socialcrawl.platforms.http_client import HttpAnswer, HttpClient, bound_memory
from socialcrawl.platforms.json_reader import decode_json, name_empty
from socialcrawl.platforms.x import classify, parse
from socialcrawl.platforms.x.compliance_service import CREATE, is_about_jobs
from socialcrawl.platforms.x.counts import ARCHIVE_COUNTS, COUNTS, parse_buckets
from socialcrawl.platforms.x.live_source import CHANGE, PART, RULES, STREAM, read_rules
from socialcrawl.platforms.x.live_stream import XStreamReader
from socialcrawl.platforms.x.source import BY_ID, BY_NAME, FOLLOWING, MENTIONS, POSTS, TIMELINE
from socialcrawl.platforms.x.transport import NoAnswerError, XSession
from socialcrawl.platforms.x.vocabulary import Vocabulary
from socialcrawl.ratelimit.policy import Policy
from socialcrawl.system.loopback import is_loopback
from socialcrawl.system.secret import conceal, redact


def make_client(
    token: str | tuple[str, ...], base: str, timeout: float = 30.0, deadline: float | None = None
) -> tweepy.Client:
    """Make a tweepy client that speaks to `base`, and whose token no log shows from now on.

    Args:
        token: a bearer token, or OAuth 1.0a's consumer key, consumer secret, access token and access token secret.
        base: scheme and host, such as https://api.x.com or the URL of the mock.
        timeout: seconds to wait for each part of an answer.
        deadline: seconds for a whole answer; None: four times the timeout.
    """
    for text in (token,) if isinstance(token, str) else token:
        conceal(text)
    given = (token,) if isinstance(token, str) else (None, *token)
    made = tweepy.Client(*given, return_type=requests.Response, wait_on_rate_limit=False)
    made.session = XSession(base, timeout, deadline)
    return made


@dataclass(frozen=True, slots=True)
class XWire:
    """The wire to X.

    Args:
        clients: tweepy clients by the name of their credential.
        words: the vocabulary that requests and answers are written in.
        policy: the prices.
        hits: occurrences of the topic that count in a post, by its text, its language and when it was written.
        now: the clock, for the instant of arrival.
        keep: whether each post's original JSON is kept.
        whole: whether each answer is kept as it came.
    """

    clients: Mapping[str, tweepy.Client]
    words: Vocabulary
    policy: Policy
    hits: Hits
    now: Callable[[], float]
    keep: bool = False
    whole: bool = False
    stream: XStreamReader = field(init=False, repr=False)

    def __post_init__(self) -> None:
        made = XStreamReader(self.words, self.policy, self._parse_search, self.now)
        object.__setattr__(self, "stream", made)

    def hurry(self) -> None:
        """See `protocols.Hurried`."""
        self.stream.hurry()

    def close(self) -> None:
        """Let go of the connections."""
        self.stream.close()
        for made in self.clients.values():
            made.session.close()

    @bound_memory
    def send(self, grant: Grant) -> Reply:
        """Return the reply to one request; see `protocols.Wire.send`."""
        request = grant.request
        if request.endpoint == PART:
            return self.stream.take_part(grant)
        if request.endpoint == STREAM:
            made = self.clients[grant.credential]
            return self.stream.connect_by(grant, made.session, str(made.bearer_token))
        reply, body = self.ask(grant)
        if request.endpoint in (RULES, CHANGE) and reply.kind == ReplyKind.OK:
            return read_rules(request, reply, body)
        return self._read(request, reply, body) if reply.kind in (ReplyKind.OK, ReplyKind.MISSING) else reply

    def ask(self, grant: Grant) -> tuple[Reply, Any]:
        """Return the reply to one request without rows, and its decoded JSON; None where it is none.

        Its `cost` is that of the request itself, its dearest price where it was sent and nothing usable came back.
        """
        request, made = grant.request, self.clients[grant.credential]
        try:
            response = _send(made, request)
        except NoAnswerError as error:
            if error.reply.kind != ReplyKind.LOST:
                return replace(error.reply, kind=ReplyKind.BROKEN, at=self.now()), None
            why = f"{error.reply.why.removesuffix('.')}; it may have been billed"
            return replace(error.reply, at=self.now(), cost=request.most, why=why), None
        except (requests.RequestException, OSError, ValueError) as error:  # before anything was sent
            why = f"the request cannot be made ({type(error).__name__}): is base_url right?"
            return Reply(ReplyKind.BROKEN, self.now(), why=why), None
        at, status = self.now(), response.status_code
        body = decode_json(response.content)
        known, date = classify.parse_limits(response.headers), parse_date(response.headers)
        if date is None and status == 429:
            date = at  # without the server's clock, the reset is read by ours
        kind, why = classify.classify(status, body, known, at if date is None else date)
        cost = {ReplyKind.OK: self.policy.compute_fee(request.endpoint), ReplyKind.LOST: request.most}.get(kind, 0)
        received = _make_answer(response).make_archived() if self.whole else None
        why = redact(name_empty(why, response.content))
        reply = Reply(kind, at, cost=cost, status=status, date=date, limits=known, why=why, received=received)
        return replace(reply, after=parse_pause(status, response.headers, at if date is None else date)), body

    def fetch(
        self,
        grant: Grant,
        method: str,
        address: str,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> HttpAnswer | Reply:
        """Return what is at an address that X has signed, which is kept secret and gets no token.

        It has to be encrypted and everybody's to reach, except for a mock on this machine.
        """
        conceal(address)
        session = self.clients[grant.credential].session
        local = is_loopback(session.base)
        if not local and not address.startswith("https://"):
            return Reply(ReplyKind.INVALID, self.now(), why="X named an address that is not encrypted")
        http: HttpClient = session.http
        came = http.fetch(method, address, headers=headers, content=content, public=not local)
        return replace(came, at=self.now())

    def _read(self, request: Request, bare: Reply, body: Any) -> Reply:
        """Return the reply with its rows, cursor and cost."""
        if bare.kind == ReplyKind.MISSING and not _is_about_asked(request, body):
            why = f"the server does not know what was requested ({bare.status}: {bare.why}): is base_url right?"
            return replace(bare, kind=ReplyKind.INVALID, why=why)
        try:
            page = self._parse_page(
                request, body if bare.kind == ReplyKind.OK else {"errors": _make_errors(request, body)}
            )
            cursor, more = parse.find_cursor(body), parse.count_included(body, self.words)
        except parse.FieldsMissingError as error:
            why = (
                f"X did not send the fields that were requested ({', '.join(error.args[0])}): it may no longer speak "
                f'the vocabulary {self.words.name!r}; set vocabulary = "tweet" or "post" under [source]'
            )
            return replace(
                bare,
                kind=ReplyKind.INVALID,
                cost=bare.cost + self._compute_price(*_count_returned(request, body)),
                why=why,
            )
        except (KeyError, TypeError, AttributeError) as error:
            why = f"the server's JSON is not what X sends ({type(error).__name__}: {error}), and may have been billed"
            return replace(bare, kind=ReplyKind.LOST, cost=request.most, why=redact(why))
        nothing = not page.posts and not page.accounts and bool(page.missing)
        return replace(
            bare,
            kind=ReplyKind.MISSING if nothing else ReplyKind.OK,
            rows=page,
            cursor=cursor,
            cost=bare.cost + self._compute_price(len(page.posts) + more, len(page.accounts)),
            why="",
        )

    def _compute_price(self, posts: int, users: int) -> int:
        return self.policy.compute_price("post", posts) + self.policy.compute_price("user", users)

    def _parse_search(self, body: Mapping[str, Any]) -> Page:
        return parse.parse_posts(body, self.words, self.hits, keep=self.keep)

    def _parse_page(self, request: Request, body: Mapping[str, Any]) -> Page:
        if request.endpoint in (BY_ID, BY_NAME):
            return parse.parse_users(body, self.words, recent=self.words.asks_recent(request.params))
        if request.endpoint in (COUNTS, ARCHIVE_COUNTS):
            return Page(mark=write_counts(parse_buckets(body, self.words)))
        if request.endpoint == FOLLOWING:
            return parse.parse_follows(body, self.words, request.params["id"])
        user = request.params.get("id")
        author = user if request.endpoint == TIMELINE else None
        page = parse.parse_posts(body, self.words, self.hits, keep=self.keep, author=author)
        if request.endpoint == POSTS:
            return replace(page, sought=parse.list_sought(request.params["ids"], page, body.get("errors") or ()))
        if request.params.get("sort_order") == "recency":
            page = replace(page, mark=parse.find_oldest(page))
        if user and not page.posts and (reason := parse.explain_missing(body.get("errors") or ())):
            return Page(missing=[(Who(user, None), reason)])
        return page


def _send(made: tweepy.Client, request: Request) -> requests.Response:
    params = dict(request.params)
    route = request.endpoint.partition("?")[0].replace(":id", quote(params.pop("id", ""), safe=""))
    if is_about_jobs(request.endpoint):  # tweepy logs answers, and these hold signed addresses
        method, given = ("POST", {"json": params}) if request.endpoint == CREATE else ("GET", {"params": params})
        shown = {"Authorization": f"Bearer {made.bearer_token}"}
        signing: requests.Response = made.session.request(method, route, headers=shown, **given)
        return signing
    method, content = "GET", None
    if request.endpoint == CHANGE:
        method, params, content = "POST", {}, json.loads(params["change"])
    elif request.endpoint == RULES:
        params = {}
    try:
        answer: requests.Response = made.request(
            method, route, params=params, json=content, user_auth=made.bearer_token is None
        )
    except requests.RequestException:
        raise
    except tweepy.HTTPException as error:
        answer = error.response
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        # tweepy trusts the body and the reset of an error to have their usual shape; the response is there all the same
        if made.session.response is None:
            raise
        answer = made.session.response
    return answer


def _make_answer(response: requests.Response) -> HttpAnswer:
    """Return the answer that a response was made of."""
    return cast("HttpAnswer", response.raw)


def _is_about_asked(request: Request, problem: Mapping[str, Any]) -> bool:
    """Return whether a 404 or 403 speaks of the users or posts that were asked for; else the address is wrong."""
    about_one = str(problem.get("type", "")).endswith(classify.RESOURCE)
    return about_one and request.endpoint in (TIMELINE, MENTIONS, FOLLOWING, BY_ID, BY_NAME, POSTS)


def _make_errors(request: Request, problem: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the partial errors that a 404, or a 403 for one user, stands for."""
    kind = "post" if request.endpoint == POSTS else "user"
    name = next(key for key in ("usernames", "ids", "id") if key in request.params)
    said = {key: problem.get(key, "") for key in ("type", "detail")}
    return [
        {**said, "resource_type": kind, "parameter": name, "resource_id": value}
        for value in request.params[name].split(",")
    ]


def _count_returned(request: Request, body: Mapping[str, Any]) -> tuple[int, int]:
    """Count the posts and users of an answer without the requested fields: it was billed all the same."""
    includes, many = body.get("includes"), len(body["data"])
    users = includes.get("users") if isinstance(includes, dict) else None
    more = len(users) if isinstance(users, list) else 0
    return (0, many + more) if request.endpoint in (BY_ID, BY_NAME) else (many, more)
