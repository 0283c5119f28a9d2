"""The wire to X: one tweepy client a credential. It sends, parses and classifies; it never raises and never waits."""

import json
import logging
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson
import requests
import tweepy
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

from socialcrawl.limits.policy import Policy
from socialcrawl.loopback import is_loopback
from socialcrawl.model import Grant, Page, Reply, Request, Who
from socialcrawl.sources.x import classify, parse
from socialcrawl.sources.x.source import BY_ID, BY_NAME, TIMELINE
from socialcrawl.sources.x.vocabulary import Vocabulary

TWEEPY_HOST = "https://api.twitter.com"  # tweepy names it in its code; the adapter puts the real base URL in its place


class Redirect(HTTPAdapter):
    """A transport that carries every request to another base URL, with time-outs (tweepy sets none)."""

    def __init__(self, base: str, timeout: tuple[float, float]) -> None:
        self.base, self.timeout = urlsplit(base), timeout
        self.latest = threading.local()  # each thread's last response, for errors that tweepy cannot read
        super().__init__(pool_maxsize=32)

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """The response from the other base URL."""
        asked = urlsplit(str(request.url))
        path = self.base.path.rstrip("/") + asked.path
        request.url = urlunsplit((self.base.scheme, self.base.netloc, path, asked.query, ""))
        kwargs["timeout"] = self.timeout
        response = self.latest.response = super().send(request, *args, **kwargs)
        return response


def client(token: str, base: str, timeout: tuple[float, float] = (10.0, 30.0)) -> tweepy.Client:
    """A tweepy client that speaks to `base`.

    Args:
        token: an app-only bearer token.
        base: scheme and host, such as https://api.x.com or the URL of the mock.
        timeout: seconds to connect, and between two bytes of an answer.
    """
    logging.getLogger("tweepy.client").addFilter(_without_token)  # at DEBUG tweepy logs the bearer token
    made = tweepy.Client(token, return_type=requests.Response, wait_on_rate_limit=False)
    made.session.mount(TWEEPY_HOST, Redirect(base, timeout))
    made.session.trust_env = not is_loopback(base)  # no proxy stands between this machine and itself
    made.session.max_redirects = 0  # the token goes where the campaign says, and nowhere else
    return made


@dataclass(frozen=True, slots=True)
class XWire:
    """The door to X.

    Args:
        clients: tweepy clients by the name of their credential.
        words: the vocabulary that requests and answers are written in.
        policy: the prices.
        count: occurrences of the topic in a text.
        now: the clock, for the instant of arrival.
        keep: whether each post's original JSON is kept.
    """

    clients: Mapping[str, tweepy.Client]
    words: Vocabulary
    policy: Policy
    count: Callable[[str], int]
    now: Callable[[], float]
    keep: bool = False

    def send(self, grant: Grant) -> Reply:
        """The reply to one request; see `protocols.Wire.send`."""
        request = grant.request
        try:
            response = _get(self.clients[grant.credential], request)
        except requests.Timeout:
            return Reply("broken", self.now(), why="the server did not answer in time: is it up, is timeout too short?")
        except (requests.RequestException, HTTPError, OSError, ValueError) as error:
            why = f"the connection failed ({type(error).__name__}): is the network up, and base_url right?"
            return Reply("broken", self.now(), why=why)
        at = self.now()
        body = _decoded(response.content)
        known, date = classify.limits(response.headers), classify.date(response.headers)
        if date is None and response.status_code == 429:
            date = at  # without the server's clock, the reset is read by ours
        kind, why = classify.kind(response.status_code, body, known, at if date is None else date)
        reply = Reply(kind, at, status=response.status_code, date=date, limits=known, why=why)
        return self._read(request, reply, body) if kind in ("ok", "missing") else reply

    def _read(self, request: Request, bare: Reply, body: Any) -> Reply:
        """The reply with its rows, cursor and cost."""
        if bare.kind == "missing" and not _of_user(request, body):
            why = f"the server does not know this endpoint (404: {bare.why}): is base_url right?"
            return Reply("refused", bare.at, status=bare.status, date=bare.date, limits=bare.limits, why=why)
        try:
            page = self._page(request, body if bare.kind == "ok" else {"errors": _gone(request, body)})
            cursor = parse.cursor(body)
        except parse.FieldsMissingError as error:
            why = (
                f"X did not send the fields that were asked for ({', '.join(error.args[0])}): it may no longer speak "
                f'the vocabulary {self.words.name!r}; set vocabulary = "tweet" or "post" under [source]'
            )
            return Reply("refused", bare.at, status=bare.status, date=bare.date, limits=bare.limits, why=why)
        except (KeyError, TypeError, AttributeError) as error:
            why = f"the server's JSON is not what X sends ({type(error).__name__}: {error})"
            return Reply("broken", bare.at, status=bare.status, date=bare.date, limits=bare.limits, why=why)
        nothing = not page.posts and not page.accounts and bool(page.missing)
        return Reply(
            "missing" if nothing else "ok",
            bare.at,
            rows=page,
            cursor=cursor,
            cost=self.policy.price("post", len(page.posts)) + self.policy.price("user", len(page.accounts)),
            status=bare.status,
            date=bare.date,
            limits=bare.limits,
        )

    def _page(self, request: Request, body: Mapping[str, Any]) -> Page:
        if request.endpoint in (BY_ID, BY_NAME):
            return parse.users_page(body, self.words)
        author = request.params.get("id")
        page = parse.posts_page(body, self.words, self.count, keep=self.keep, author=author)
        if author and not page.posts and (reason := parse.gone(body.get("errors") or ())):
            return Page(missing=[(Who(author, None), reason)])
        return page


def _get(made: tweepy.Client, request: Request) -> requests.Response:
    params = dict(request.params)
    route = request.endpoint.replace(":id", params.pop("id", ""))
    latest = made.session.get_adapter(TWEEPY_HOST).latest
    latest.response = None
    try:
        answer: requests.Response = made.request("GET", route, params=params)
    except requests.RequestException:
        raise
    except tweepy.HTTPException as error:
        answer = error.response
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        # tweepy trusts the body and the reset of an error to have their usual shape; the response is there all the same
        if latest.response is None:
            raise
        answer = latest.response
    return answer


def _decoded(content: bytes) -> Any:
    """The JSON of an answer; None if it is none. Half a character, which some texts hold, becomes a question mark."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        try:
            whole = json.dumps(json.loads(content), ensure_ascii=False, allow_nan=False)
            return orjson.loads(whole.encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None


def _of_user(request: Request, problem: Mapping[str, Any]) -> bool:
    """Whether a 404 or 403 speaks of the users who were asked for; else it is the address that is wrong."""
    said = str(problem.get("type", "")).endswith(("resource-not-found", "not-authorized-for-resource"))
    return said and request.endpoint in (TIMELINE, BY_ID, BY_NAME)


def _gone(request: Request, problem: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The partial errors that a 404, or a 403 for one user, stands for."""
    name = next(key for key in ("usernames", "ids", "id") if key in request.params)
    said = {key: problem.get(key, "") for key in ("type", "detail")}
    return [
        {**said, "resource_type": "user", "parameter": name, "resource_id": value}
        for value in request.params[name].split(",")
    ]


def _without_token(record: logging.LogRecord) -> bool:
    record.msg = re.sub(r"Bearer [^'\"\s]+", "Bearer (kept secret)", str(record.msg))
    return True
