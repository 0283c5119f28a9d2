"""The one way to a server: a request leaves, an answer comes back, and both are bounded in size, time and memory.

    http = HttpClient("https://public.api.bsky.app", now, timeout=30.0)
    answer = http.fetch("GET", "https://public.api.bsky.app/xrpc/...")    # HttpAnswer, or a Reply that says why not

Every platform goes through here, X by the adapter in `x/transport.py`. A server may send whatever it wants:

- An answer has one coding that is known: gzip, unpacked here up to `max_bytes` and no further.
- A whole request has a deadline. Each wait for the network gets what is left of it, so that bytes which drip change
  nothing.
- All answers that are read at the same time share an allowance of memory (`bounds.Allowance`).
- A name is resolved once. The address that was checked is the one that is connected to.

Whether a request that failed has left is told apart as the ledger needs it: `broken` was not sent, `lost` may have been
answered, and billed. Nothing here raises, except for MemoryError, which `bound_memory` makes a reply.
"""

import os
import socket
import ssl
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, wraps
from importlib.metadata import version
from typing import Protocol, TypeVar
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from socialcrawl.engine.model import Grant, Received, Reply, ReplyKind
from socialcrawl.platforms.sockets import (
    PRIVATE,
    Exchange,
    PrivateAddressError,
    ProxyError,
    TooMuchError,
    allowance,
    explain_failure,
    make_pool,
    resolves_privately,
    use_exchange,
)
from socialcrawl.system.bounds import DEADLINE, LARGE, MAX_ANSWER, MAX_CHUNKS, MAX_HEADERS, AllowanceShare, share_heaps
from socialcrawl.system.loopback import is_loopback
from socialcrawl.system.secret import redact

UNKEPT = ("connection", "content-encoding", "content-length", "set-cookie", "transfer-encoding")
CONNECT = 10.0  # seconds for a connection, at most
CHUNK = 65_536
ENDLESS, MAX_STREAM = 1e8, 2**62  # seconds and bytes that an answer may go on for
FAILURES = (
    TooMuchError,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
    OSError,
    ValueError,
    zlib.error,
)


class _Answering(threading.local):
    """What this thread holds while it makes a reply: memory, and the turn to parse."""

    share: AllowanceShare | None = None
    parses = False


_answering = _Answering()
_parsing = threading.Lock()


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer: the address that was asked, status, headers (compared without case) and decoded bytes.

    `cut`: the answer was longer than was wanted, and `body` ends where that was reached.
    """

    url: str
    status: int
    headers: httpx.Headers
    body: bytes = field(repr=False)
    at: float
    cut: bool = False

    def make_archived(self) -> Received:
        """Return the answer as archives keep it, without tokens that it repeats."""
        pairs = [(name.decode("ascii"), text.decode("latin-1")) for name, text in self.headers.raw]
        headers = [(name, redact(text)) for name, text in pairs if name.lower() not in UNKEPT]
        return Received(self.url, headers, redact(self.body.decode("latin-1")).encode("latin-1"))


class HttpStream:
    """An answer with status 200 that goes on until one side ends it; what is read of it is bounded by the line.

    Attributes:
        headers: those of the answer.
    """

    def __init__(self, response: httpcore.Response, exchange: Exchange) -> None:
        self.headers = httpx.Headers(response.headers)
        self._response, self._exchange = response, exchange
        self._socket: socket.socket = response.extensions["network_stream"].get_extra_info("socket")
        exchange.allow(MAX_STREAM)
        exchange.go_on_for(ENDLESS)

    def read_lines(self, longest: int) -> Iterator[bytes]:
        """Yield lines as they come, without their ends; an empty one for each that says that the server is there.

        Args:
            longest: bytes of a line.

        Raises:
            ConnectionError: the connection broke, the server was silent, or a line was longer.
        """
        begun = bytearray()  # of a line whose end has not come
        try:
            for raw in self._response.iter_stream():
                *lines, rest = raw.split(b"\n")
                for line in lines:
                    whole = bytes(begun + line)
                    begun.clear()
                    yield whole.rstrip(b"\r")
                begun += rest
                if len(begun) > longest:
                    raise ConnectionError(f"the server sent a line of more than {longest:,} bytes")
        except httpcore.TimeoutException as error:
            raise ConnectionError(f"the server was silent for {self._exchange.timeout:.0f} s") from error
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise ConnectionError(f"the connection broke: {explain_failure(error)}") from error

    def end(self, seconds: float) -> None:
        """Tell the server that nothing more is wanted; what it has sent can be read for some seconds yet.

        From any thread.
        """
        self._exchange.end_within(seconds)
        with suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_WR)  # SSLSocket's own would make it unreadable

    def close(self) -> None:
        """Close the connection, from any thread."""
        self._exchange.end_within(0.0)
        with suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class HttpClient:
    """Pooled connections that follow nothing, keep no cookies, and use no proxy between this machine and itself.

    Args:
        base: scheme and host of the server, for whether proxies of the environment are used.
        now: the clock, for the instant of arrival.
        timeout: seconds to wait for each part of an answer; a connection gets ten of them at the most.
        contact: address at which the operator of the crawl can be reached; sent in the User-Agent.
        deadline: seconds for a whole request; None: four times the timeout.
    """

    def __init__(
        self,
        base: str,
        now: Callable[[], float],
        timeout: float = 30.0,
        contact: str = "",
        deadline: float | None = None,
    ) -> None:
        share_heaps()
        self.now, self.timeout = now, timeout
        self.deadline = DEADLINE * timeout if deadline is None else deadline
        self._agent = name_agent(contact)
        self._proxies = {} if is_loopback(base) else getproxies()
        self._pools: dict[str, httpcore.ConnectionPool] = {}
        self._making = threading.Lock()
        weakref.finalize(self, _close_all, self._pools)

    def fetch(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        max_bytes: int = MAX_ANSWER,
        cut: bool = False,
        public: bool = False,
        dearest: int = 0,
    ) -> HttpAnswer | Reply:
        """Return the answer to one request, or a Reply of kind broken, lost, invalid or missing where none came.

        Args:
            method: GET, HEAD, POST or PUT.
            url: the whole address.
            params: of the query, which they replace.
            headers: besides User-Agent, Accept-Encoding and Host, or instead of them.
            content: the body.
            max_bytes: bytes of the answer that are read.
            cut: whether an answer that is longer is cut there; else it is lost.
            public: whether the address has to be one that everybody can reach; else the reply is `missing`.
            dearest: mills that the request may have cost if its answer was lost.
        """
        _give_back()
        share = _answering.share or AllowanceShare()
        share.owner = id(self)
        exchange = Exchange(self.timeout, self.deadline, share, public=public)
        try:
            asked = httpx.URL(url) if params is None else httpx.URL(url, params=dict(params))
            request = self._make_request(method, asked, headers or {}, content, exchange)
            with use_exchange(exchange), _send_request(self._find_pool(asked, exchange), request) as response:
                body, is_cut = _read(response, exchange, max_bytes, cut=cut or response.status >= 400)
        except PrivateAddressError:
            return Reply(ReplyKind.MISSING, self.now(), why=PRIVATE)
        except httpx.InvalidURL as error:
            return Reply(ReplyKind.INVALID, self.now(), why=f"the address cannot be requested ({redact(str(error))})")
        except FAILURES as error:
            return self._explain_failure(error, exchange, dearest)
        finally:
            if _answering.share is None:
                allowance.give_back(share)
        return HttpAnswer(str(asked), response.status, httpx.Headers(response.headers), body, self.now(), is_cut)

    @contextmanager
    def open_stream(
        self, url: str, headers: Mapping[str, str], silence: float
    ) -> "Iterator[HttpAnswer | HttpStream | Reply]":
        """Yield an answer that goes on, to be read in this thread; a whole one where its status is not 200.

        A Reply says why none came, as with `fetch`.

        Args:
            url: the whole address.
            headers: see `fetch`.
            silence: seconds to wait for each part of it. Its headers have to be there by the deadline of a request.
        """
        share = AllowanceShare()
        exchange = Exchange(silence, self.deadline, share, public=False)
        with ExitStack() as stack:
            stack.callback(allowance.give_back, share)
            try:
                asked = httpx.URL(url)
                request = self._make_request("GET", asked, headers, None, exchange, coding="identity")
                pool = self._find_pool(asked, exchange)
                stack.enter_context(use_exchange(exchange))
                response = stack.enter_context(_send_request(pool, request))
                came: HttpAnswer | HttpStream | Reply
                if response.status == 200:
                    came = HttpStream(response, exchange)
                else:
                    body, is_cut = _read(response, exchange, MAX_ANSWER, cut=True)
                    came = HttpAnswer(url, response.status, httpx.Headers(response.headers), body, self.now(), is_cut)
            except FAILURES as error:
                came = self._explain_failure(error, exchange, 0)
            yield came

    def close(self) -> None:
        """Let go of the connections."""
        with self._making:
            _close_all(self._pools)

    def _explain_failure(self, error: Exception, exchange: Exchange, dearest: int) -> Reply:
        if isinstance(error, ProxyError):
            return Reply(ReplyKind.BROKEN, self.now(), why=str(error))
        if exchange.sent:
            return Reply(ReplyKind.LOST, self.now(), cost=dearest, why=_explain_loss(error, exchange))
        return Reply(ReplyKind.BROKEN, self.now(), why=f"the connection failed: {explain_failure(error)}")

    def _make_request(
        self,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str],
        content: bytes | None,
        exchange: Exchange,
        *,
        coding: str = "gzip",
    ) -> httpcore.Request:
        given = {"Host": url.netloc.decode("ascii"), "User-Agent": self._agent, "Accept": "*/*"}
        given |= {name.title(): text for name, text in headers.items()} | {"Accept-Encoding": coding}
        if content is not None:
            given["Content-Length"] = str(len(content))
        timeout = exchange.timeout
        waits = {
            "connect": min(CONNECT, timeout),
            "read": timeout,
            "write": timeout,
            "pool": exchange.compute_remaining(),
        }
        return httpcore.Request(
            method,
            httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=[(name.encode("ascii"), text.encode("ascii")) for name, text in given.items()],
            content=content,
            extensions={"timeout": waits},
        )

    def _find_pool(self, url: httpx.URL, exchange: Exchange) -> httpcore.ConnectionPool:
        proxy = self._proxies.get(url.scheme) or self._proxies.get("all") or ""
        if proxy and proxy_bypass(url.host):
            proxy = ""
        if proxy and exchange.public and resolves_privately(url.host):
            raise PrivateAddressError(PRIVATE)
        with self._making:
            if proxy not in self._pools:
                self._pools[proxy] = make_pool(proxy, make_context())
            return self._pools[proxy]


def _close_all(pools: Mapping[str, httpcore.ConnectionPool]) -> None:
    for pool in pools.values():
        pool.close()


@contextmanager
def _send_request(pool: httpcore.ConnectionPool, request: httpcore.Request) -> Iterator[httpcore.Response]:
    """Send a request, and yield its response, whose body is not read yet.

    Raises:
        TooMuchError: it has too many headers.
    """
    response = pool.handle_request(request)
    try:
        if len(response.headers) > MAX_HEADERS:
            raise TooMuchError(f"the answer has more than {MAX_HEADERS} headers")
        yield response
    finally:
        response.close()


def _give_back() -> None:
    """Give back what this thread holds of an earlier answer."""
    if _answering.parses:
        _answering.parses = False
        _parsing.release()
    if _answering.share is not None:
        allowance.give_back(_answering.share)


class _Wire(Protocol):
    """A wire, as far as bounds need it."""

    @property
    def now(self) -> Callable[[], float]:
        """The clock."""


W = TypeVar("W", bound=_Wire)


def bound_memory(send: Callable[[W, Grant], Reply]) -> Callable[[W, Grant], Reply]:
    """Decorate `Wire.send`: an answer counts until it is parsed, large ones are parsed one at a time.

    Where the memory does not suffice all the same, the reply is `lost`.
    """

    @wraps(send)
    def bounded_send(wire: W, grant: Grant) -> Reply:
        _answering.share = AllowanceShare()
        try:
            return send(wire, grant)
        except MemoryError:
            why = "the answer needed more memory than this machine has: fewer requests at a time help"
            return Reply(ReplyKind.LOST, wire.now(), cost=grant.request.most, why=why)
        finally:
            _give_back()
            _answering.share = None

    return bounded_send


def _read(response: httpcore.Response, exchange: Exchange, max_bytes: int, *, cut: bool) -> tuple[bytes, bool]:
    """Return the first `max_bytes` of a body, decoded, and whether there were more.

    Raises:
        TooMuchError: there were more, and the answer may not be cut; or its coding is none that was asked for.
    """
    codings = [text.lower() for name, text in response.headers if name.lower() == b"content-encoding"]
    exchange.allow(max_bytes + max_bytes // 4)
    body, unpack = bytearray(), None
    for number, raw in enumerate(response.iter_stream()):
        if number > MAX_CHUNKS:
            raise TooMuchError(f"the answer came in more than {MAX_CHUNKS:,} pieces")
        unpack = unpack or _find_unpacker(codings)
        for part in unpack(raw, max_bytes + 1 - len(body)):
            exchange.hold(len(part))
            body += part
        if len(body) > max_bytes:
            break
        exchange.compute_remaining()  # raises at the deadline, also where nothing is unpacked
    is_cut = len(body) > max_bytes
    if is_cut and not cut:
        raise TooMuchError(f"the answer is longer than {max_bytes / 1e6:g} MB")
    if len(body) > LARGE and _answering.share is not None:
        _answering.parses = _parsing.acquire(timeout=exchange.compute_remaining())
        if not _answering.parses:
            raise TooMuchError("other large answers were parsed until the deadline: fewer requests at a time help")
    if isinstance(unpack, _Gunzip) and not unpack.is_whole and not is_cut:
        raise TooMuchError("the compressed answer ended too early")
    del body[max_bytes:]
    return bytes(body), is_cut


def _find_unpacker(codings: list[bytes]) -> Callable[[bytes, int], Iterable[bytes]]:
    """Return what unpacks a body piece by piece, each time up to a number of bytes.

    Raises:
        TooMuchError: there are several codings, or one that was not asked for.
    """
    names = [
        part for coding in codings for part in map(bytes.strip, coding.split(b",")) if part not in (b"", b"identity")
    ]
    if not names:
        return lambda raw, room: (raw,)
    if len(names) > 1 or names[0] not in (b"gzip", b"x-gzip"):
        shown = b", ".join(names)[:60].decode("ascii", "replace")
        raise TooMuchError(f"the server answered in the coding {shown!r}, which was not requested")
    return _Gunzip()


class _Gunzip:
    """Unpacks gzip, of one member or several (RFC 1952), piece by piece."""

    def __init__(self) -> None:
        self._machine = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def __call__(self, raw: bytes, room: int) -> Iterator[bytes]:
        """Yield what `raw` unpacks to, up to `room` bytes.

        Raises:
            zlib.error: it is damaged.
        """
        while raw and room > 0:
            if self._machine.eof:
                if not raw.startswith(b"\x1f"):
                    return  # what is behind the last member is filling
                self._machine = zlib.decompressobj(16 + zlib.MAX_WBITS)
            part = self._machine.decompress(raw, min(room, CHUNK))
            raw = self._machine.unused_data if self._machine.eof else self._machine.unconsumed_tail
            room -= len(part)
            yield part

    @property
    def is_whole(self) -> bool:
        """Whether the last member has come to its end."""
        return self._machine.eof


def _explain_loss(error: Exception, exchange: Exchange) -> str:
    if isinstance(error, TooMuchError):
        return str(error)
    if exchange.is_over():
        return (
            f"the whole answer did not come within {exchange.deadline:g} s: is the server overloaded, is deadline "
            "under [source] too short?"
        )
    if isinstance(error, httpcore.TimeoutException):
        return "the server did not answer in time: is it up, is timeout too short?"
    return f"the connection failed after the request was sent: {explain_failure(error)}"


@cache
def make_context() -> ssl.SSLContext:
    """Return the certificates that are trusted: certifi's, or those that the environment names. Some 40 ms."""
    named = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    if named and not os.environ.get("SSL_CERT_FILE"):
        return ssl.create_default_context(cafile=named)
    return httpx.create_ssl_context()


def name_agent(contact: str = "") -> str:
    """Return the User-Agent: the program, its version, and whom to write to."""
    return f"socialcrawl/{version('socialcrawl')}" + (f" (+{contact})" if contact else "")
