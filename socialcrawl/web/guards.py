"""What every request passes before a page or the API sees it, and every answer on its way out: ASGI applications.

They are ours because Starlette's middleware for headers buffers streams, and it has none that bounds bodies.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

import orjson
from fastapi import Request
from fastapi.exceptions import HTTPException

from socialcrawl.system.host_names import App, Message, Receive, Scope, Send
from socialcrawl.web.security import SAFE_METHODS, Access, is_same_origin, make_login_path

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
)
LARGEST_BODY = 64_000  # bytes
SLOWEST_BODY = 20.0  # seconds
OPEN = ("/login", "/static/ui.css", "/static/ui.js", "/static/icon.svg")
"""What is needed to log in."""
API = "/api/"
PROBLEM_TYPE = "application/problem+json"


class SecureHeaders:
    """Adds to every answer what tells browsers to load nothing from elsewhere, guess no types and keep nothing.

    Args:
        app: the application.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = [(name.lower(), value) for name, value in message.get("headers", [])]
                ours = [(name.encode(), value.encode()) for name, value in HEADERS]
                if not any(name == b"cache-control" for name, _ in given):
                    ours.append((b"cache-control", b"no-store"))
                names = {name for name, _ in ours}
                message = {**message, "headers": [*(one for one in given if one[0] not in names), *ours]}
            await send(message)

        await self._app(scope, receive, send_secured)


class BodyGuard:
    """Passes on requests with small bodies that arrive in time, and refuses others.

    Args:
        app: the application.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS:
            await self._app(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(_read_body(receive), SLOWEST_BODY)
        except TimeoutError:
            await refuse(send, scope, 408, f"The body of the request did not arrive within {SLOWEST_BODY:.0f} s.")
            return
        if body is None:
            await refuse(send, scope, 413, f"The body of the request is larger than {LARGEST_BODY:,} bytes.")
            return
        given = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_again() -> Message:
            return given.pop() if given else await receive()

        await self._app(scope, receive_again, send)


class AccessGuard:
    """Finds out who sends a request (`scope["state"]["visitor"]`), and refuses what that sender may not do at all.

    Whether a form has the right CSRF token is left to who reads the form.

    Args:
        app: the application.
        access: who may do what.
    """

    def __init__(self, app: App, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        client = (scope.get("client") or ("",))[0]
        visitor = self._access.find_visitor(headers, client)
        scope.setdefault("state", {})["visitor"] = visitor
        safe, path = scope["method"] in SAFE_METHODS, scope["path"]
        if not visitor.known and (wait := self._access.backoff.get_wait(client)) and "authorization" in headers:
            text = f"Too many wrong tokens from this address: try again in {wait:.0f} s."
            await refuse(send, scope, 429, text, [("retry-after", f"{wait + 1:.0f}")])
        elif not safe and not visitor.by_header and not is_same_origin(headers):
            await refuse(send, scope, 403, "Another page sent this request: use the buttons of this one.")
        elif not visitor.known and path not in OPEN and (self._access.closed or not safe):
            if safe and not path.startswith(API):
                await refuse(send, scope, 303, "Log in first.", [("location", make_login_path(scope))])
            elif scope["method"] == "POST" and not path.startswith((API, "/static")) and PART not in headers:
                scope["state"]["refused"] = scope["raw_path"].decode("latin-1") + (
                    f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else ""
                )
                await self._app({**scope, "path": "/login", "raw_path": b"/login", "query_string": b""}, receive, send)
            else:
                await refuse(send, scope, 401, "This needs the token that `socialcrawl ui` shows when it starts.",
                             [("www-authenticate", "Bearer")])  # fmt: skip
        else:
            await self._app(scope, receive, send)


async def check_own_site(request: Request) -> None:
    """Check that no page of another site makes a browser send a request that takes long.

    Raises:
        HTTPException: one does.
    """
    if not is_same_origin(request.headers):
        raise HTTPException(403, "Another site sent this request: open the page here, and use its form.")


async def refuse(send: Send, scope: Scope, status: int, text: str, headers: Iterable[tuple[str, str]] = ()) -> None:
    """Answer a request with a status and a sentence: as JSON of the API (RFC 9457), else as plain text."""
    if scope["path"].startswith(API):
        kind, body = PROBLEM_TYPE, orjson.dumps(make_problem(status, text))
    else:
        kind, body = "text/plain; charset=utf-8", f"{text}\n".encode()
    given = [("content-type", kind), ("content-length", str(len(body))), *headers]
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in given]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


PART = "x-part"  # the header of a script that wants a part of a page
TITLES = {
    400: "Bad request", 401: "Unauthorized", 403: "Forbidden", 404: "Not found", 405: "Method not allowed",
    408: "Request timeout", 409: "Conflict", 413: "Content too large", 422: "Unprocessable content",
    429: "Too many requests", 500: "Internal error", 503: "Unavailable",
}  # fmt: skip


def make_problem(status: int, detail: str) -> dict[str, Any]:
    """Return the body of an error of the API, as RFC 9457 has it."""
    return {"type": "about:blank", "title": TITLES.get(status, "Error"), "status": status, "detail": detail}


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body of a request; None where it is too large."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":  # the client has gone
            return b""
        size += len(message.get("body", b""))
        if size > LARGEST_BODY:
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)
