"""Jetstream: /subscribe (v1) and network.bsky.jetstream.subscribeEvents (v2), as streams from a cursor on.

Behaviour and sentences as in github.com/bluesky-social/jetstream (internal/subscribe, version 2 of August 2026); it
compresses nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from socialcrawl.mock.bluesky.jetstream_events import METHOD, STEP, JetstreamEvents, Wire, write_v1, write_v2
from socialcrawl.mock.bluesky.jetstream_filter import (
    JetstreamFilter,
    OptionsError,
    read_hello,
    read_v1,
    read_v2,
)
from socialcrawl.mock.bluesky.parameters import RefusalError
from socialcrawl.mock.event_reader import EventReader
from socialcrawl.mock.service import (
    NO_EVENT,
    NO_POST,
    Message,
    MockRequest,
    MockResponse,
    MockStream,
    StreamEndedError,
    StreamResponse,
)
from socialcrawl.mock.world_changes import WorldChanges

SUBSCRIBE, SUBSCRIBE_EVENTS = "/subscribe", f"/xrpc/{METHOD}"
KEPT = 36 * 3_600.0  # seconds that can be replayed
_TIMES = 10**15  # cursors from here on are Unix microseconds
_PROTOCOL = "xrpc.v1.json"
_POLICY, _BAD_DATA = 1008, 1007  # codes of close frames
_ADVICE = {"OutdatedCursor": "cursor is older than what is kept; resumed from seq {}",
           "FutureCursor": "cursor is ahead of the next seq; started at the live tip"}  # fmt: skip


@dataclass
class JetstreamStream(MockStream):
    """What one subscriber receives."""

    events: JetstreamEvents
    changes: WorldChanges
    reader: EventReader
    wire: Wire
    wanted: JetstreamFilter
    first: Sequence[str] = ()
    waits: bool = False  # for the first options of the client

    def pull(self, most: int) -> Sequence[Message] | None:
        """Return the next events that are wanted; posts of accounts that are gone are left out."""
        if self.first:
            first, self.first = self.first, ()
            return [(text, NO_EVENT) for text in first]
        items = () if self.waits else self.reader.read(most)
        if not items:
            return None
        found, visible, wants = [], self.changes.visible, self.wanted.wants
        for item in items:
            if isinstance(item, int):
                if visible[item] and wants(event := self.events.find_post(item, self.wire)):
                    found.append((event.text, item))
            elif (change := self.events.make_change(item, self.wire)) is not None and wants(change):
                found.append((change.text, NO_POST))
        return found

    def receive(self, text: str) -> None:
        """Take new options from a client of v1; v2 takes no frames."""
        if self.wire is write_v2:
            raise StreamEndedError(_POLICY, "unexpected data message")
        try:
            wanted = read_hello(text)
        except OptionsError as error:
            raise StreamEndedError(_POLICY, str(error)[:120]) from error
        except (ValueError, TypeError) as error:
            raise StreamEndedError(_BAD_DATA, "bad SubscriberSourcedMessage envelope") from error
        if wanted is not None:
            self.wanted, self.waits = wanted, False

    def make_ending(self, reason: str | None) -> StreamEndedError:
        """Return the end of the stream; v2 gives the reason, v1 closes."""
        if self.wire is write_v1:
            return StreamEndedError(1001, "server shutting down")
        error = {"$type": "error", "error": reason or "ConsumerTooSlow", "message": "the server ends this stream"}
        return StreamEndedError(1000, "", [orjson.dumps(error).decode()])


class Jetstream:
    """Both endpoints of one instance.

    Args:
        events: what happens.
        changes: the same, in the world.
        kept: seconds of the file that can be replayed; infinite: all.
    """

    def __init__(self, events: JetstreamEvents, changes: WorldChanges, kept: float = KEPT) -> None:
        self._events, self._changes, self._kept = events, changes, kept

    def subscribe(self, asked: MockRequest) -> MockResponse:
        """GET /subscribe: errors are sentences."""
        if asked.one("compress") == "true" or "zstd" in asked.headers.get("socket-encoding", ""):
            return _refuse("this mock does not compress: leave out compress=true and Socket-Encoding: zstd")
        try:
            wanted = read_v1(asked.query)
            reader, _ = self._find_start(asked.one("cursor") or "", strict=False)
        except (OptionsError, RefusalError) as error:
            return _refuse(str(error))
        hello = asked.one("requireHello") == "true"
        stream = JetstreamStream(self._events, self._changes, reader, write_v1, wanted, waits=hello)
        return StreamResponse(101, stream=stream, is_socket=True)

    def subscribe_events(self, asked: MockRequest) -> MockResponse:
        """GET network.bsky.jetstream.subscribeEvents: errors are named as in the lexicon."""
        if asked.one("compress") == "true" or "zstd" in asked.headers.get("socket-encoding", ""):
            raise RefusalError("InvalidRequest", "compress=true / Socket-Encoding: zstd is the /subscribe (v1) opt-in")
        if asked.one("zstdDictionary"):
            raise RefusalError("UnknownZstdDictionary", "this mock has no zstd dictionary; leave out zstdDictionary")
        try:
            wanted = read_v2(asked.query)
        except OptionsError as error:
            raise RefusalError("InvalidRequest", str(error)) from error
        reader, advice = self._find_start(asked.one("cursor") or "", strict=True)
        offered = [one.strip() for one in asked.headers.get("sec-websocket-protocol", "").split(",")]
        info = [_write_info(advice, self._events.last)] if advice else []
        return StreamResponse(
            101,
            stream=JetstreamStream(self._events, self._changes, reader, write_v2, wanted, info),
            is_socket=True,
            subprotocol=_PROTOCOL if _PROTOCOL in offered else None,
        )

    def _find_start(self, cursor: str, *, strict: bool) -> tuple[EventReader, str | None]:
        """Return where a stream begins, and the advice that v2 begins with.

        Args:
            cursor: the parameter.
            strict: whether a number that is too old is refused, as by v2; else the stream begins later.

        Raises:
            RefusalError: the cursor is no number, or too old.
        """
        live = EventReader(self._changes)
        if not cursor:
            return live, None
        if not cursor.removeprefix("-").isdecimal() or len(cursor) > 18:
            raise RefusalError("InvalidRequest", f'subscribe: invalid cursor: "{cursor}"')
        number = int(cursor)
        if number < 0:
            raise RefusalError("InvalidRequest", f"subscribe: invalid cursor: negative value {number}")
        events, floor = self._events, int(max(self._changes.second - self._kept, 0.0) * STEP)
        oldest = events.find_micros(floor)
        if number >= _TIMES:
            if number > self._changes.second * STEP:
                return live, None
            start, advice = events.find_micros(number), "OutdatedCursor" if number < floor else None
            return self._read_from(max(start, oldest)), advice
        if number > events.last:
            return live, "FutureCursor" if number > events.last + 1 else None
        start = events.find_number(number)
        if strict and start < oldest:
            first = events.number_post(oldest[0])
            sentence = f"subscribe: cursor too old: cursor {number} below lookback floor {first}"
            raise RefusalError("CursorTooOld", f"{sentence}; re-backfill from your last seq")
        return self._read_from(max(start, oldest)), None

    def _read_from(self, start: tuple[int, int]) -> EventReader:
        return EventReader(self._changes, *start)


def _refuse(sentence: str) -> MockResponse:
    """Return a 400 of v1."""
    return MockResponse(400, f"{sentence}\n".encode(), content_type="text/plain; charset=utf-8")


def _write_info(name: str, seq: int) -> str:
    payload = {"$type": f"{METHOD}#info", "name": name, "message": _ADVICE[name].format(seq)}
    return orjson.dumps({"$type": "message", "payload": payload}).decode()
