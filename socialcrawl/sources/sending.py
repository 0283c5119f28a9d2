"""One request by httpx, and what came of it: for the wires of Bluesky, Mastodon and the web. Never raises, never waits.

Whether a request that failed has left is told apart as the ledger needs it: `broken` was not answered and cannot have
been, `lost` may have been.
"""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib.metadata import version

import httpx

from socialcrawl.loopback import is_loopback
from socialcrawl.model import Received, Reply
from socialcrawl.secret import redacted

OF_THE_WAY = ("connection", "content-encoding", "content-length", "set-cookie", "transfer-encoding")
BEFORE = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.ProxyError)
LARGEST = 50_000_000  # bytes of an answer of an API
CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Came:
    """An answer: where it came from, status, headers (names in any case) and decoded bytes.

    `cut`: it was longer than was wanted, and ends where that was reached.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    at: float
    cut: bool = False

    def received(self) -> Received:
        """The answer as archives keep it, but for a token that it may repeat."""
        told = [(name, redacted(text)) for name, text in self.headers.items() if name.lower() not in OF_THE_WAY]
        return Received(self.url, told, redacted(self.body.decode("latin-1")).encode("latin-1"))


def client(base: str, timeout: float, contact: str = "") -> httpx.Client:
    """A pooled client that follows nothing, keeps no cookies, and uses no proxy between this machine and itself.

    Args:
        base: scheme and host of the server.
        timeout: seconds to wait for each part of an answer; a connection gets ten of them at most.
        contact: an address by which whoever runs the crawl can be reached, told in the User-Agent.
    """
    return httpx.Client(
        timeout=httpx.Timeout(timeout, connect=min(10.0, timeout)),
        limits=httpx.Limits(max_connections=64, max_keepalive_connections=32),
        headers={"User-Agent": agent(contact)},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
        trust_env=not is_loopback(base),
        verify=_context(),
    )


@cache
def _context() -> ssl.SSLContext:
    return httpx.create_ssl_context()  # some 40 ms: made once


def agent(contact: str = "") -> str:
    """The User-Agent: the program, its version, and whom to write to."""
    return f"socialcrawl/{version('socialcrawl')}" + (f" (+{contact})" if contact else "")


def ask(
    made: httpx.Client,
    method: str,
    url: str,
    now: Callable[[], float],
    *,
    params: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    most: int = LARGEST,
    dearest: int = 0,
) -> Came | Reply:
    """The answer to one request, or a Reply of kind `broken` or `lost` where none came.

    Args:
        made: from `client`.
        method: GET, HEAD or POST.
        url: the whole address.
        now: the clock.
        params: of the query.
        headers: besides those of the client.
        content: the body.
        most: bytes of the answer that are read at most.
        dearest: mills that the request may have cost if its answer was lost.
    """
    try:
        request = made.build_request(
            method, url, params=dict(params) if params else None, headers=dict(headers or {}), content=content
        )
        response = made.send(request, stream=True)
        try:
            body, cut = _read(response, most)
        finally:
            response.close()
    except BEFORE as error:
        why = f"the connection failed ({type(error).__name__}): is the network up, and the address right?"
        return Reply("broken", now(), why=why)
    except (httpx.HTTPError, OSError, ValueError) as error:
        return Reply("lost", now(), cost=dearest, why=_lost(error))
    except httpx.InvalidURL as error:
        return Reply("invalid", now(), why=f"the address cannot be asked ({redacted(str(error))})")
    return Came(str(response.url), response.status_code, response.headers, body, now(), cut)


def _read(response: httpx.Response, most: int) -> tuple[bytes, bool]:
    """The first `most` bytes of a body, decoded, and whether there were more."""
    parts, size = [], 0
    for part in response.iter_bytes(CHUNK):
        parts.append(part)
        size += len(part)
        if size > most:
            return b"".join(parts)[:most], True
    return b"".join(parts), False


def _lost(error: Exception) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "the server did not answer in time: is it up, is timeout too short?"
    return f"the connection failed after the request was sent ({type(error).__name__}): is the network up?"
