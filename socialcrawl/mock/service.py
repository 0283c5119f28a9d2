"""What a platform of the mock is: its endpoints, who may ask, what counts requests, and how it says so.

One world is served by several services at once, each under its own paths. The application (`app`) passes every request
through the same gate: visitor, fault, limits, answer. A service decides nothing about time or faults itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Protocol


@dataclass(frozen=True, slots=True)
class MockRequest:
    """A request as it came.

    Attributes:
        method: GET, HEAD, POST or PUT.
        endpoint: the template that its path fits, as `/2/users/:id/tweets`; the last part may be `*rest`.
        path: the parts of the path that the template names.
        query: the parameters in order, which may repeat.
        headers: by lower-case name.
        body: the bytes.
        host: the name in the Host header, without its port.
        server: the host and port at which it came in, as `127.0.0.1:8000`.
        now: the server's clock, Unix seconds.
        upgrade: whether it asks for a WebSocket.
        overlap: how many posts of the page before this one repeats at its beginning, though the cursor is behind them
            (a fault on request); less than the size of the page, and its own cursor goes on from its end.
    """

    method: str
    endpoint: str
    path: Mapping[str, str]
    query: Sequence[tuple[str, str]]
    headers: Mapping[str, str]
    now: float
    host: str = ""
    body: bytes = b""
    overlap: int = 0
    upgrade: bool = False
    server: str = ""

    def one(self, name: str) -> str | None:
        """Return the last value of a parameter; None where it is not there."""
        return next((value for key, value in reversed(self.query) if key == name), None)


@dataclass(frozen=True, slots=True)
class MockResponse:
    """An answer: status, body, the headers of its own, and how many posts it has."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json; charset=utf-8"
    posts: int = 0


Message = tuple[str | bytes, int]  # what is sent, and the position of the post that appears, or one of these
NO_POST = -1  # another event
NO_EVENT = -2  # none at all, as an answer to the client; no fault strikes it


class StreamEndedError(Exception):
    """The server ends a stream.

    Args:
        code: of the close frame of a WebSocket.
        reason: the same.
        last: what is sent before it closes.
    """

    def __init__(self, code: int = 1000, reason: str = "", last: Sequence[str | bytes] = ()) -> None:
        super().__init__(reason)
        self.code, self.reason, self.last = code, reason, last


class MockStream(Protocol):
    """What a stream sends, read as fast as its client takes it; nothing is held for who is slow.

    `receive`, `note_sent` and `close` do nothing where a platform has no need of them.

    Attributes:
        keepalive: seconds of silence after which `heartbeat` is sent; infinite: never.
        heartbeat: what is sent then.
    """

    keepalive: float = inf
    heartbeat: str | bytes = ""

    def pull(self, most: int) -> Sequence[Message] | None:
        """Return the next messages, at most `most` and perhaps none; None where nothing has happened since.

        Raises:
            StreamEndedError: the stream is over.
        """

    def receive(self, text: str) -> None:
        """Take a frame of the client of a WebSocket.

        Raises:
            StreamEndedError: that ends the stream.
        """
        return

    def note_sent(self, post: int, now: float) -> None:
        """Count a post (its position) that was sent at the server's second `now`."""
        return

    def make_ending(self, reason: str | None) -> StreamEndedError:
        """Return the end of a stream that is disconnected on purpose, for a reason of the platform's or its usual."""

    def close(self) -> None:
        """Forget the stream: its client has left."""
        return


@dataclass(frozen=True, slots=True)
class StreamResponse(MockResponse):
    """An answer that goes on as a stream: over a WebSocket (`subprotocol` is the one that was agreed on) or HTTP."""

    stream: MockStream | None = None
    is_socket: bool = False
    subprotocol: str | None = None


@dataclass(frozen=True, slots=True)
class Guest:
    """Who asks: a label from which no token can be read, and its kind (app, user, public)."""

    label: str
    kind: str


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """A window that counts a request: at most `k` in `period` seconds for everything with the same `key`.

    `kind`: fixed (opened by its first request) | aligned (begins at multiples of the period of the server's clock) |
    sliding. A refused request is counted too where `refused` says so.
    """

    key: tuple[str, ...]
    k: int
    period: float
    kind: str = "fixed"
    refused: bool = True


@dataclass(frozen=True, slots=True)
class WindowState:
    """How a window stands after a request: its limit, what is left of it (0 at least) and its end (Unix seconds)."""

    counting: WindowSpec
    left: int
    ends: float


class Service(Protocol):
    """One platform of the mock; made with `changes=`, its own `world_changes.WorldChanges` of the world."""

    name: str

    def endpoints(self) -> Sequence[tuple[str, str]]:
        """Return its (method, template)s, such as ("GET", "/xrpc/app.bsky.feed.getAuthorFeed")."""

    def guest(self, asked: MockRequest) -> Guest | MockResponse:
        """Return who asks, or the refusal of a token that is not let in."""

    def counted(self, asked: MockRequest, guest: Guest) -> Sequence[WindowSpec]:
        """Return the windows that count the request, all of which must have room."""

    def limits(self, asked: MockRequest, standing: Sequence[WindowState]) -> Mapping[str, str]:
        """Return the headers that tell how the windows stand, for answers of any status."""

    def too_many(self, asked: MockRequest, standing: Sequence[WindowState]) -> MockResponse:
        """Return the 429 of a request for which a window had no room."""

    def answer(self, asked: MockRequest, guest: Guest) -> MockResponse:
        """Return the answer to a request that was let in."""
