"""Faults on purpose: what a network, an edge or an account in trouble answers instead of the mock.

running(posts, fault=lambda endpoint, nth: cut() if nth == 3 else None)
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

import orjson

JSON_TYPE = "application/json; charset=utf-8"
_HTML = b"<!DOCTYPE html><html><head><title>X</title></head><body><h1>Something went wrong</h1></body></html>"


@dataclass(frozen=True)
class Fault:
    """One fault: what becomes of one answer.

    Attributes:
        kind: `answer` (the status and body below instead of the real answer), `cut` (the connection closes without
            an answer), `half` (the real answer announced in full, half of it sent, then closed), `hang` (the real
            answer after `seconds`), `too_many` (the platform's own 429), `overlap` (the page begins `posts` before its
            cursor), `repeat` (the page before this one once more).
        limited: whether the answer carries the headers of the limits.
        spent: whether these tell that nothing is left.
    """

    kind: Literal["answer", "cut", "half", "hang", "too_many", "overlap", "repeat"]
    status: int = 200
    body: bytes = b""
    content_type: str = JSON_TYPE
    limited: bool = True
    seconds: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    spent: bool = False
    posts: int = 0


FaultHook = Callable[[str, int], Fault | None]
"""The choice of faults: (endpoint, how many requests it has received, this one included) -> fault or None."""


def make_html_fault(status: int = 503) -> Fault:
    """Return a page of HTML from the edge, with any status; 200 is the meanest."""
    return Fault("answer", status, _HTML, "text/html; charset=utf-8", limited=False)


def make_error(platform: str, status: int) -> Fault:
    """Return a failure of the platform's own servers (5xx), in the form in which it tells of one."""
    words = HTTPStatus(status).phrase if status in set(HTTPStatus) else "Server Error"
    if platform == "bluesky":
        body: dict[str, Any] = {"error": _UPSTREAM.get(status, "InternalServerError"), "message": words}
    elif platform == "mastodon":
        body = {"error": "There was a temporary problem serving your request, please try again"}
    elif platform == "x":
        body = {"title": words, "detail": words, "type": "about:blank", "status": status}
    else:
        return make_html_fault(status)
    return Fault("answer", status, orjson.dumps(body))


# github.com/bluesky-social/atproto packages/xrpc/src/types.ts
_UPSTREAM = {502: "UpstreamFailure", 503: "NotEnoughResources", 504: "UpstreamTimeout"}


def make_cut() -> Fault:
    """Return a connection that closes without an answer."""
    return Fault("cut")


def make_half() -> Fault:
    """Return an answer of which half arrives."""
    return Fault("half")


def make_hang(seconds: float) -> Fault:
    """Return an answer that comes late."""
    return Fault("hang", seconds=seconds)


def make_too_many(headers: dict[str, str] | None = None) -> Fault:
    """Return a 429 without the headers of the window; others may be given, such as those of a 24-hour cap."""
    body = {"title": "Too Many Requests", "detail": "Too Many Requests", "type": "about:blank", "status": 429}
    return Fault("answer", 429, orjson.dumps(body), limited=False, headers=headers or {})


def make_refusals(status: int) -> Fault:
    """Return the official refusals of an account: 401 (token), 402 (out of credits) or 403 (access level)."""
    return Fault("answer", status, orjson.dumps(_REFUSALS[status]))


_REFUSALS: dict[int, dict[str, Any]] = {
    401: {"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"},
    402: {
        "account_id": 1,
        "title": "CreditsDepleted",
        "detail": "Your enrolled account [1] does not have any credits to fulfill this request.",
        "type": "https://api.twitter.com/2/problems/credits",
    },
    403: {
        "client_id": "1",
        "detail": "When authenticating requests to the Twitter API v2 endpoints, you must use keys and tokens from a "
        "Twitter developer App that is attached to a Project.",
        "registration_url": "https://developer.twitter.com/en/docs/projects/overview",
        "title": "Client Forbidden",
        "required_enrollment": "Appropriate Level of API Access",
        "reason": "client-not-enrolled",
        "type": "https://api.twitter.com/2/problems/client-forbidden",
    },
}
