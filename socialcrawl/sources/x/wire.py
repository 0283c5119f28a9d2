"""The wire to X: one tweepy client a credential. It sends, parses and classifies; it never raises and never waits."""

import ipaddress
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson
import requests
import tweepy
from requests.adapters import HTTPAdapter

from socialcrawl.limits.policy import Policy
from socialcrawl.model import Grant, Page, Reply, Request, Who
from socialcrawl.sources.x import classify, parse
from socialcrawl.sources.x.vocabulary import Vocabulary

TWEEPY_HOST = "https://api.twitter.com"  # tweepy names it in its code; the adapter puts the real base URL in its place


class Redirect(HTTPAdapter):
    """A transport that carries every request to another base URL, with time-outs (tweepy sets none)."""

    def __init__(self, base: str, timeout: tuple[float, float]) -> None:
        self.base, self.timeout = urlsplit(base), timeout
        super().__init__(pool_maxsize=32)

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """The response from the other base URL."""
        asked = urlsplit(str(request.url))
        path = self.base.path.rstrip("/") + asked.path
        request.url = urlunsplit((self.base.scheme, self.base.netloc, path, asked.query, ""))
        kwargs["timeout"] = self.timeout
        return super().send(request, *args, **kwargs)


def client(token: str, base: str, timeout: tuple[float, float] = (10.0, 30.0)) -> tweepy.Client:
    """A tweepy client that speaks to `base`.

    Args:
        token: an app-only bearer token.
        base: scheme and host, such as https://api.x.com or the URL of the mock.
        timeout: seconds to connect, and between two bytes of an answer.
    """
    logging.getLogger("tweepy").setLevel(logging.INFO)  # at DEBUG tweepy logs the bearer token
    made = tweepy.Client(token, return_type=requests.Response, wait_on_rate_limit=False)
    made.session.mount(TWEEPY_HOST, Redirect(base, timeout))
    made.session.trust_env = not is_loopback(base)  # no proxy stands between this machine and itself
    return made


def is_loopback(base: str) -> bool:
    """Whether `base` is a server on this machine, where nothing costs money."""
    host = urlsplit(base).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
            return Reply("broken", self.now(), why="the server did not answer in time")
        except (requests.RequestException, OSError) as error:
            return Reply("broken", self.now(), why=f"the connection failed ({type(error).__name__})")
        at = self.now()
        try:
            body = orjson.loads(response.content)
        except orjson.JSONDecodeError:
            body = None
        known, date = classify.limits(response.headers), classify.date(response.headers)
        kind, why = classify.kind(response.status_code, body, known, date)
        reply = Reply(kind, at, status=response.status_code, date=date, limits=known, why=why)
        return self._read(request, reply, body) if kind in ("ok", "missing") else reply

    def _read(self, request: Request, bare: Reply, body: Any) -> Reply:
        """The reply with its rows, cursor and cost."""
        try:
            page = self._page(request, body if bare.kind == "ok" else {"errors": [_gone(request)]})
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
            cursor=(body.get("meta") or {}).get("next_token") if isinstance(body, dict) else None,
            cost=self.policy.price("post", len(page.posts)) + self.policy.price("user", len(page.accounts)),
            status=bare.status,
            date=bare.date,
            limits=bare.limits,
        )

    def _page(self, request: Request, body: Mapping[str, Any]) -> Page:
        if request.endpoint in ("/2/users", "/2/users/by"):
            return parse.users_page(body, self.words)
        author = request.params.get("id")
        page = parse.posts_page(body, self.words, self.count, keep=self.keep, author=author)
        if author and not page.posts and (gone := parse.missing(body.get("errors") or ())):
            return Page(missing=[(Who(author, None), gone[0][1])])
        return page


def _get(made: tweepy.Client, request: Request) -> requests.Response:
    params = dict(request.params)
    route = request.endpoint.replace(":id", params.pop("id", ""))
    try:
        answer: requests.Response = made.request("GET", route, params=params)
    except tweepy.HTTPException as error:
        failed: requests.Response = error.response
        return failed
    except AttributeError as error:  # tweepy reads an error's body as an object, whatever it is
        raise requests.RequestException("the error's body is not an object") from error
    return answer


def _gone(request: Request) -> Mapping[str, str]:
    """The partial error that a 404 stands for."""
    name = next((key for key in ("usernames", "ids", "id") if key in request.params), "id")
    return {"resource_type": "user", "parameter": name, "resource_id": request.params.get(name, ""), "type": "gone"}
