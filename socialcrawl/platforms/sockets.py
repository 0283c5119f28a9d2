"""The network below `http_client`: each wait gets what is left of a request's time, each byte that comes is counted.

httpcore reads, writes and connects through the classes here, in the thread that sends the request; which request that
is, the thread knows (`use_exchange`).
"""

import errno
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote, urlsplit

import httpcore

from socialcrawl.system.bounds import MAX_PREFACE, Allowance, AllowanceShare
from socialcrawl.system.loopback import is_public

IDLE = 60.0  # seconds after which a silent connection is not used again: what stands in between may have forgotten it
MAX_ADDRESSES = 8  # addresses of one name that are tried
PRIVATE = "the address is one of this machine or its neighbourhood, and no page of the web"

FAILURES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    (ConnectionRefusedError, "the server refused it"),
    ((ConnectionResetError, ConnectionAbortedError, BrokenPipeError), "the server reset it"),
    (socket.gaierror, "the server's name was not found"),
    ((TimeoutError, httpcore.TimeoutException), "it was not made in time"),
)
"""What failed connections are called, by the error of the system."""
AWAY = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)

allowance = Allowance()
_here = threading.local()


class TooMuchError(Exception):
    """An answer is beyond its bounds; `str(error)` says which."""


class PrivateAddressError(httpcore.ConnectError):
    """A name leads to this machine or its neighbourhood, where nobody else may send us."""


class ProxyError(httpcore.UnsupportedProtocol):
    """The proxy that the environment names cannot be used; `str(error)` says why, and what to do."""


class Exchange:
    """One request under way: what is left of its time, how many bytes may still come, and whether it left.

    Args:
        timeout: seconds that one wait may take.
        deadline: seconds for all of it.
        share: where the memory of its answer is counted.
        public: whether it may only go to addresses that everybody can reach.
    """

    def __init__(self, timeout: float, deadline: float, share: AllowanceShare, *, public: bool) -> None:
        self.timeout, self.deadline, self.share, self.public = timeout, deadline, share, public
        self.sent = False
        self._ends = time.monotonic() + deadline
        self._raw = MAX_PREFACE

    def compute_remaining(self, timeout: float | None = None) -> float:
        """Return the seconds that one wait may take: `timeout`, or what is left of the deadline.

        Raises:
            ReadTimeout: the deadline is over.
        """
        left = self._ends - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the deadline is over")
        return left if timeout is None else min(timeout, left)

    def is_over(self) -> bool:
        """Return whether the deadline is over."""
        return time.monotonic() >= self._ends

    def end_within(self, seconds: float) -> None:
        """Let the deadline be over in so many seconds, or sooner."""
        self._ends = min(self._ends, time.monotonic() + seconds)

    def go_on_for(self, seconds: float) -> None:
        """Let the deadline be so many seconds from now."""
        self._ends = time.monotonic() + seconds

    def allow(self, size: int) -> None:
        """Let `size` more bytes come."""
        self._raw += size

    def count(self, size: int) -> None:
        """Count bytes that came.

        Raises:
            TooMuchError: they are more than may come.
        """
        self._raw -= size
        if self._raw < 0:
            raise TooMuchError("the server sent more than an answer can have")

    def hold(self, size: int) -> None:
        """Take memory for a part of the body; waits until others give theirs back.

        Raises:
            TooMuchError: there was none before the deadline.
        """
        if not allowance.take(self.share, size, self.compute_remaining()):
            raise TooMuchError("there was no memory for the answer before its deadline: fewer requests at a time help")


def explain_failure(error: Exception) -> str:
    """Return what happened to a connection that failed, and what to look at."""
    cause = error.__cause__ or error.__context__ or error
    what = next((words for kinds, words in FAILURES if isinstance(cause, kinds)), None)
    if isinstance(cause, OSError) and cause.errno in AWAY:
        what = "the network is away"
    if isinstance(error, httpcore.RemoteProtocolError):
        message = str(error)
        ends = {"without sending a response": "the server closed it without an answer"}
        ends["without sending complete"] = "it ended within the answer"
        what = next((words for part, words in ends.items() if part in message), "what came back is not HTTP")
    return f"{what or type(cause).__name__}; is the network up, and base_url right?"


def resolves_privately(host: str) -> bool:
    """Return whether a name stands for this machine or its neighbourhood; asks the system's resolver.

    A name that cannot be resolved does not: by a proxy it may.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return not all(_is_public(str(place[0])) for *_, place in found)
    except (OSError, ValueError):
        return False


@contextmanager
def use_exchange(exchange: Exchange) -> Iterator[None]:
    """Make `exchange` the one that this thread's network belongs to, for the length of a block."""
    _here.exchange = exchange
    try:
        yield
    finally:
        del _here.exchange


class Departure:
    """By when the first byte of a request has to leave; `is_missed`: it did not, and was held back."""

    def __init__(self, seconds: float) -> None:
        self.is_missed = False
        self._ends = time.monotonic() + seconds

    def check(self) -> None:
        """Hold a request back that is too late.

        Raises:
            WriteTimeout: it is.
        """
        if time.monotonic() > self._ends:
            self.is_missed = True
            raise httpcore.WriteTimeout("the request waited too long to be sent")


@contextmanager
def leave_within(seconds: float) -> Iterator[Departure]:
    """Send the requests that this thread makes in the block within so many seconds from now, or not at all."""
    _here.departure = Departure(seconds)
    try:
        yield _here.departure
    finally:
        del _here.departure


class _Stream(httpcore.NetworkStream):
    """A connection that waits no longer than its exchange has time, and counts what comes."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """See httpcore."""
        exchange: Exchange = _here.exchange
        data = self._inner.read(max_bytes, exchange.compute_remaining(timeout))
        exchange.count(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """See httpcore. From here on the request may be answered, and billed; one for a tunnel is not the request."""
        exchange: Exchange = _here.exchange
        left = exchange.compute_remaining(timeout)
        leaves = bool(buffer and not buffer.startswith(b"CONNECT "))
        if leaves and not exchange.sent and (departure := getattr(_here, "departure", None)) is not None:
            departure.check()
        exchange.sent = exchange.sent or leaves
        self._inner.write(buffer, left)

    def close(self) -> None:
        """See httpcore."""
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """See httpcore."""
        exchange: Exchange = _here.exchange
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, exchange.compute_remaining(timeout)))

    def get_extra_info(self, info: str) -> Any:
        """See httpcore."""
        return self._inner.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    """Connections to addresses that were looked up, and checked, once."""

    def __init__(self, *, checks: bool) -> None:
        self._inner, self._checks = httpcore.SyncBackend(), checks

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.NetworkStream:
        """See httpcore."""
        exchange: Exchange = _here.exchange
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, ValueError) as error:
            raise httpcore.ConnectError(str(error)) from error
        places = list(dict.fromkeys(str(place[0]) for *_, place in found))
        if self._checks and exchange.public and not all(map(_is_public, places)):
            raise PrivateAddressError(PRIVATE)
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for place in places[:MAX_ADDRESSES]:
            try:
                left = exchange.compute_remaining(timeout)
                return _Stream(self._inner.connect_tcp(place, port, left, local_address, socket_options))
            except (httpcore.ConnectError, httpcore.TimeoutException) as error:
                failure = error
        raise failure


def _is_public(place: str) -> bool:
    return is_public(ip_address(place.partition("%")[0]))


def make_pool(proxy: str, context: ssl.SSLContext) -> httpcore.ConnectionPool:
    """Return a pool of connections, direct ones or through a proxy.

    Args:
        proxy: its address; "": none.
        context: the certificates that are trusted.

    Raises:
        ProxyError: the proxy is of a kind that is not known.
    """
    options: dict[str, Any] = {
        "ssl_context": context,
        "max_connections": 64,
        "max_keepalive_connections": 32,
        "keepalive_expiry": IDLE,
    }
    if not proxy:
        return httpcore.ConnectionPool(network_backend=_Backend(checks=True), **options)
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if parts.scheme not in ("http", "https"):
        raise ProxyError(
            f"a proxy of the kind {parts.scheme!r} cannot be used: name an http:// proxy in the environment"
        )
    port = parts.port or (443 if parts.scheme == "https" else 80)
    who = (unquote(parts.username).encode(), unquote(parts.password or "").encode()) if parts.username else None
    place = httpcore.URL(scheme=parts.scheme, host=parts.hostname or "", port=port, target="/")
    return httpcore.HTTPProxy(place, proxy_auth=who, network_backend=_Backend(checks=False), **options)
