"""Jetstream: Bluesky's posts and deletions as they appear, over a WebSocket. Both versions of its protocol.

Facts: bluesky-social/jetstream, lexicons/network/bluesky/jetstream/subscribeEvents.json (version 2) and docs/README.md
(version 1, `/subscribe`). An event is delivered at least once; those of an account are in order.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

from websockets.sync.client import ClientConnection

from socialcrawl.engine.model import format_time
from socialcrawl.engine.stream_places import Place
from socialcrawl.platforms.json_reader import decode_json, parse_moment
from socialcrawl.platforms.stream_reader import StreamEvent, StreamRefusedError
from socialcrawl.platforms.websocket import complete_address, open_socket, receive

Json = Mapping[str, Any]

PUBLIC = "wss://jetstream.us-east.bsky.network"
FIRST, SECOND = "/subscribe", "/xrpc/network.bsky.jetstream.subscribeEvents"
POST = "app.bsky.feed.post"
KEPT = 36 * 3_600.0  # seconds for which version 1 replays; it begins with the oldest that it has, and does not say so
SLACK = 300.0  # seconds less than that, as clocks differ
GAP = 60.0  # seconds without any post on Bluesky that mean that the server has left some out of its replay
SAME = 5.0  # seconds that the times of events may be out of order
QUIET = 60.0  # seconds without an event after which it connects again: all of Bluesky always has events in between


class LostPlaceError(ConnectionError):
    """The server counts its events otherwise than the one that gave the cursor."""


class JetstreamConnection:
    """A connection to Jetstream.

    Args:
        socket: the connection.
        matches: whether a post is kept, as a view of it.
        first: whether it speaks version 1.
        asked: where it is to begin; None: it begins later than that, with its first event.
        expected: the place of the first event, if that is known.
    """

    def __init__(
        self,
        socket: ClientConnection,
        matches: Callable[[Json], bool],
        *,
        first: bool,
        asked: Place | None = None,
        expected: Place | None = None,
    ) -> None:
        self.socket, self.matches, self.asked, self.expected = socket, matches, asked, expected
        self._read = _choose_reader(first=first)
        self.begin: Place | None = None

    def __iter__(self) -> Iterator[StreamEvent]:
        """See `stream_reader.StreamConnection`.

        Raises:
            LostPlaceError: the server has something else in the place where it was to begin.
            ConnectionError: it was silent, or closed the connection.
        """
        begun = False
        while True:
            event = self._parse(self._receive())
            if event is None:
                continue
            if not begun:
                begun = True
                if self.expected is not None and not _goes_on(self.expected, event.place):
                    raise LostPlaceError("the server does not know the place where the stream is to go on")
                late = self.asked is None or event.place.at > self.asked.at + GAP
                self.begin = event.place if late else None
            yield event

    def _receive(self) -> bytes:
        text = receive(self.socket, QUIET)
        if text is None:
            raise ConnectionError(f"there was no event for {QUIET:.0f} s")
        return text

    def close(self) -> None:
        """See `stream_reader.StreamConnection.close`."""
        self.socket.close()

    def _parse(self, text: bytes) -> StreamEvent | None:
        """Return an event; None where it is none that tells a place."""
        try:
            place, kind, did, told = self._read(decode_json(text))
        except (KeyError, TypeError, AttributeError, ValueError):
            return None
        try:
            return self._read_event(place, kind, did, told, text)
        except (KeyError, TypeError, AttributeError, ValueError):
            return StreamEvent(place)  # a record is whatever its author's client wrote

    def _read_event(self, place: Place, kind: str, did: str, told: Json, text: bytes) -> StreamEvent:
        if kind == "account":
            gone = not told["active"] and told.get("status") == "deleted"
            return StreamEvent(place, account=did, size=len(text)) if gone else StreamEvent(place)
        if kind != "commit" or told["collection"] != POST:
            return StreamEvent(place)
        if told["operation"] == "delete":
            return StreamEvent(place, deleted=_name_post(did, told), size=len(text))
        view = make_view(did, told, place.at)
        return StreamEvent(place, post=text, size=len(text)) if self.matches(view) else StreamEvent(place)


def make_view(did: str, told: Json, at: float) -> Json:
    """Return a post of the stream as searches show posts: without counts, and its author without a handle."""
    record = told["record"]
    return {
        "uri": _name_post(did, told),
        "cid": told.get("cid"),
        "author": {"did": did, "handle": "handle.invalid"},
        "record": record,
        "labels": record.get("labels"),
        "indexedAt": format_time(at),
    }


def make_opener(address: str) -> Callable[[bytes], tuple[str, Json]]:
    """Return what opens a post that is held: returns its address, and a view of it, of the event that it came in.

    Args:
        address: of the server, see `make_connect`.
    """
    read = _choose_reader(first=_is_first(address))

    def open_post(text: bytes) -> tuple[str, Json]:
        place, _, did, told = read(decode_json(text))
        return _name_post(did, told), make_view(did, told, place.at)

    return open_post


def make_connect(
    address: str, matches: Callable[[Json], bool], now: Callable[[], float], timeout: float, contact: str
) -> Callable[[Place], AbstractContextManager[JetstreamConnection]]:
    """Return what connects to Jetstream.

    Args:
        address: of the server; its path is FIRST where it speaks version 1 only.
        matches: whether a post is kept, as a view of it.
        now: the clock, Unix seconds.
        timeout: seconds to wait for the connection.
        contact: whom the operator of the server may write to.
    """
    first = _is_first(address)
    base = complete_address(address, FIRST if first else SECOND)
    lost = set[str]()  # cursors that the server does not know

    @contextmanager
    def connecting(place: Place) -> Iterator[JetstreamConnection]:
        known = place if place.cursor and place.cursor not in lost else Place(place.at)
        with ExitStack() as opened:

            def connect(asked: Mapping[str, str]) -> ClientConnection:
                return opened.enter_context(open_socket(f"{base}?{urlencode(asked)}", timeout, contact))

            socket, begun, late = _open(connect, known, now(), first=first)
            exact = begun.cursor and not first and not late
            connection = JetstreamConnection(
                socket, matches, first=first, asked=None if late else place, expected=begun if exact else None
            )
            try:
                yield connection
            except LostPlaceError:
                lost.add(place.cursor)
                raise

    return connecting


def _open(
    connect: Callable[[Mapping[str, str]], ClientConnection], place: Place, now: float, *, first: bool
) -> tuple[ClientConnection, Place, bool]:
    """Return a connection, the place where it begins, and whether that is later than was asked for."""
    asked = {"wantedCollections" if first else "collections": POST}
    if first:
        late = now - place.at > KEPT - SLACK
        return connect(asked | {"cursor": place.cursor or format_cursor(place.at)}), place, late
    # By time it may know more than by a number, which another server gave or which is too old.
    for at in dict.fromkeys((place, Place(place.at))):
        try:
            return connect(asked | {"cursor": at.cursor or format_cursor(at.at)}), at, False
        except StreamRefusedError as error:
            if error.status != 400:
                raise
    return connect(asked), Place(now), True


def _goes_on(expected: Place, found: Place) -> bool:
    """Return whether a stream goes on at a place, or after it, where what was there is gone or comes later.

    Another server has other numbers: at this one something else happened at another time. The time of a place is that
    of the latest event up to there.
    """
    return found.number >= expected.number and abs(expected.at - found.at) <= SAME


def _is_first(address: str) -> bool:
    return urlsplit(address).path.rstrip("/") == FIRST


def _name_post(did: str, told: Json) -> str:
    return f"at://{did}/{POST}/{told['rkey']}"


def _choose_reader(*, first: bool) -> Callable[[Json], tuple[Place, str, str, Json]]:
    return _read_first if first else _read_second


def format_cursor(at: float) -> str:
    """Return the cursor of an instant: Unix microseconds, which both versions take."""
    return str(round(at * 1e6))


def _read_first(event: Json) -> tuple[Place, str, str, Json]:
    """Return the place of an event of version 1, its kind, whose it is, and what it tells."""
    place, kind = Place(event["time_us"] / 1e6, str(int(event["time_us"]))), event["kind"]
    return place, kind, _expect_did(event["did"]), event.get(kind) or {}


def _read_second(event: Json) -> tuple[Place, str, str, Json]:
    """Return the same of version 2.

    Raises:
        ConnectionError: the server ends the stream, and says why.
    """
    if event.get("$type") == "error":
        raise ConnectionError(f"the server ends the stream: {event.get('error')} {event.get('message') or ''}".strip())
    payload = event["payload"]
    at = parse_moment(payload["time"])
    if at is None:
        raise ValueError("an event without a time")
    kind = str(payload["$type"]).rpartition("#")[2]
    told = payload["account"] if kind == "account" else payload
    return Place(at.timestamp(), str(int(payload["seq"]))), kind, _expect_did(payload["did"]), told


def _expect_did(value: Any) -> str:
    if not isinstance(value, str) or not value.startswith("did:") or len(value) > 2_048:
        raise TypeError("the DID of an event is none")
    return value
