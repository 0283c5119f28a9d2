"""The way of a request through ASGI: read as `MockRequest`, answered whole, in half or not at all."""

from collections.abc import Callable
from email.utils import formatdate
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from socialcrawl.mock.service import MockResponse

Message = dict[str, Any]
Scope = Any  # ASGI's own dictionaries: a scope and its two channels
Receive = Any
Send = Any
ASGIApp = Callable[[Scope, Receive, Send], Any]


@lru_cache(maxsize=10_000)
def parse_query(text: bytes) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a query string, in order; blank ones are kept."""
    return tuple(parse_qsl(text.decode("latin-1"), keep_blank_values=True))


def read_headers(scope: Scope) -> dict[str, str]:
    """Return the headers by lower-case name; of several the last."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


async def read_body(receive: Receive) -> bytes:
    """Return the body of a request; what came of it where the client left."""
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def parse_host(headers: dict[str, str]) -> str:
    """Return the name in the Host header, without its port."""
    host = headers.get("host", "")
    return host if host.endswith("]") else host.rpartition(":")[0] or host


@lru_cache(maxsize=4)
def format_date(second: int) -> str:
    """Return a Unix second as the Date header has it."""
    return formatdate(second, usegmt=True)


def _make_head(response: MockResponse, now: float) -> Message:
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.headers.items()]
    headers.append((b"content-type", response.content_type.encode("latin-1")))
    headers.append((b"content-length", b"%d" % len(response.body)))
    headers.append((b"date", format_date(int(now)).encode()))
    return {"type": "http.response.start", "status": response.status, "headers": headers}


async def answer(send: Send, response: MockResponse, now: float) -> None:
    """Send the whole answer, with the moment at which it leaves (Unix seconds)."""
    await send(_make_head(response, now))
    await send({"type": "http.response.body", "body": response.body})


async def sever(scope: Scope, receive: Receive, send: Send, half: MockResponse | None, now: float) -> None:
    """Send an answer that breaks off: nothing of it (None), or half of its body under its full length.

    ASGI has no word for closing a connection, so the transport is taken from uvicorn's own request cycle.
    """
    if half is not None:
        await send(_make_head(half, now))
        await send({"type": "http.response.body", "body": half.body[: len(half.body) // 2], "more_body": True})
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is not None:
        transport.close()
    # Returning before the connection is gone would let uvicorn answer 500.
    while (await receive())["type"] != "http.disconnect":
        pass
