"""Mastodon's streaming: the posts with some hashtags as an instance sees them, over a WebSocket.

It needs a token, and replays nothing. Facts: documentation of Mastodon, methods/streaming.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import count

import orjson
from websockets.sync.client import ClientConnection

from socialcrawl.engine.model import ReplyKind
from socialcrawl.engine.stream_places import Place
from socialcrawl.platforms.json_reader import Json, decode_json
from socialcrawl.platforms.mastodon.parse import find_uri, is_open
from socialcrawl.platforms.stream_reader import StreamEvent, StreamRefusedError
from socialcrawl.platforms.websocket import complete_address, open_socket, receive

PATH = "/api/v1/streaming"
QUIET = 10.0  # seconds without an event after which the server is asked whether it is still there
ANSWER = 10.0  # seconds in which it has to answer
KNOWN = 100_000  # posts whose numbers on the instance are remembered, so that their deletion is understood

_epochs = count(1)


@dataclass(frozen=True, slots=True)
class StreamingTerms:
    """What is read of an instance's streaming, and by whom.

    Attributes:
        tags: the hashtags, without their sign.
        token: of a user of the instance.
        check: raises TypeError or ValueError for a status that is none of Mastodon's.
        now: the clock, Unix seconds, for the times of events, which tell none.
        timeout: seconds to wait for a connection.
        contact: whom the operator of the instance may write to.
    """

    tags: Sequence[str]
    token: str = field(repr=False)
    check: Callable[[Json], object]
    now: Callable[[], float]
    timeout: float
    contact: str


class StreamingConnection:
    """A connection to the streaming of an instance.

    Args:
        socket: the connection, on which the streams were asked for.
        terms: what is read.
        epoch: what tells the connection from others.
    """

    def __init__(self, socket: ClientConnection, terms: StreamingTerms, epoch: str) -> None:
        self.socket, self.now, self.check, self.epoch = socket, terms.now, terms.check, epoch
        self.begin: Place | None = Place(self.now(), f"{epoch}:0")
        self._numbers = count(1)
        self._known: dict[str, str] = {}

    def __iter__(self) -> Iterator[StreamEvent]:
        """See `stream_reader.StreamConnection`.

        Raises:
            StreamRefusedError: the server knows no such stream.
            ConnectionError: it closed the connection, or is not there any more.
        """
        while True:
            message = receive(self.socket, QUIET)
            yield self._check() if message is None else self._parse(message)

    def close(self) -> None:
        """See `stream_reader.StreamConnection.close`."""
        self.socket.close()

    def _check(self) -> StreamEvent:
        """Return an event that says that nothing came until now."""
        asked_at, answered = self.now(), self.socket.ping()
        if not answered.wait(ANSWER):
            raise ConnectionError(f"the server did not answer for {ANSWER:.0f} s")
        return StreamEvent(self._make_place(asked_at))

    def _make_place(self, at: float) -> Place:
        return Place(at, f"{self.epoch}:{next(self._numbers)}")

    def _parse(self, message: bytes) -> StreamEvent:
        place = self._make_place(self.now())
        try:
            told = decode_json(message)
            if "error" in told:
                status = told.get("status")
                kind = ReplyKind.REFUSED if status in (401, 403) else ReplyKind.INVALID
                raise StreamRefusedError(kind, int(status or 400), f"the server says: {str(told['error'])[:200]}")
            if told.get("event") in ("update", "status.update"):
                return self._read_post(place, told["payload"].encode())
            if told.get("event") == "delete":
                return StreamEvent(place, deleted=self._known.pop(str(told["payload"]), ""), size=len(message))
        except (AttributeError, KeyError, TypeError, ValueError):
            pass  # nothing that this version knows
        return StreamEvent(place)

    def _read_post(self, place: Place, payload: bytes) -> StreamEvent:
        uri, status = open_post(payload)
        number = status.get("id")
        if not is_open(status):
            return StreamEvent(place)
        self.check(status)
        if isinstance(number, str):
            self._known[number] = uri
            if len(self._known) > KNOWN:
                del self._known[next(iter(self._known))]
        return StreamEvent(place, post=payload, size=len(payload))


def open_post(payload: bytes) -> tuple[str, Json]:
    """Return what a post is called on every instance, and the post, of the payload of the message that it came in.

    Raises:
        TypeError: it is none of Mastodon's.
    """
    status = decode_json(payload)
    return find_uri(status), status


def make_connect(address: str, terms: StreamingTerms) -> Callable[[Place], AbstractContextManager[StreamingConnection]]:
    """Return what connects to the streaming of an instance.

    Args:
        address: scheme and host of the instance, or of its streaming server.
        terms: what is read, by whom.
    """
    base = complete_address(address, PATH)

    @contextmanager
    def connecting(place: Place) -> Iterator[StreamingConnection]:
        del place  # nothing is replayed
        headers = {"Authorization": f"Bearer {terms.token}"}
        with open_socket(base, terms.timeout, terms.contact, headers) as socket:
            for tag in terms.tags:
                socket.send(orjson.dumps({"type": "subscribe", "stream": "hashtag", "tag": tag}).decode())
            yield StreamingConnection(socket, terms, f"{terms.now():.3f}-{next(_epochs)}")

    return connecting
