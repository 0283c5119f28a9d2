"""One reader for each live stream: a thread that keeps the connection open, and holds what matches until it is asked.

    reader = StreamReader(connect, open_post, now)
    segment = reader.read(Place(at, cursor), seconds=20.0, most=1_000)     # a Segment, or a Reply that says why not

What was read is dropped when the next segment is asked for, not before: so a segment can be read again, and after a
crash a stream that can replay is connected to at the place of the last segment that was stored. A reader that is not
asked stops reading when its room is full, or after IDLE seconds, and goes on from the place that it is asked for next.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from time import monotonic
from typing import Any, Protocol

from socialcrawl.engine.model import Page, Reply, ReplyKind
from socialcrawl.engine.stream_places import Place, StreamPart, parse_place
from socialcrawl.system.secret import redact

ROOM = 20_000  # events that a reader holds at most ...
BYTES = 64 * 2**20  # ... and the bytes that they came in, which are held as they came
PART = 8 * 2**20  # bytes of a segment: unpacked, wild JSON takes some 25 times as much
IDLE = 60.0  # seconds after which nobody is read for
CLOSING = 2.0  # seconds for a connection to be closed
PATIENCE = 60.0  # seconds until a segment that is read again has come


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event.

    Attributes:
        place: when the server saw it, and its cursor.
        post: what is held of a post that matches, for `open_post`; None: none does.
        deleted: the id of a post that was deleted; "": none was.
        account: the id of an account that was deleted; "": none was.
        size: bytes that it came in, which `post` takes.
        cost: mills that the server bills for it.
    """

    place: Place
    post: Any = None
    deleted: str = ""
    account: str = ""
    size: int = 0
    cost: int = 0

    @property
    def is_kept(self) -> bool:
        """Whether anything of it has to be stored; else it only shows how far the stream is."""
        return self.post is not None or bool(self.deleted or self.account or self.cost)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a stream: all that came between two places.

    Attributes:
        begin: from when on it is complete, Unix seconds; later than the place that was asked for where the server
            could not replay.
        end: up to where it is complete.
        posts: those that match, in the order in which they came, without those that were deleted in the same segment.
        deleted: ids of posts that were deleted.
        accounts: ids of accounts that were deleted.
        cost: mills that are billed for it.
    """

    begin: float
    end: Place
    posts: list[Any] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    accounts: list[str] = field(default_factory=list)
    cost: int = 0


class StreamConnection(Protocol):
    """A connection to a stream, whose events come in order."""

    @property
    def begin(self) -> Place | None:
        """From where on it is complete; None: from the place on that was asked for.

        It is read once the connection is made, and again with the first event.
        """

    def __iter__(self) -> Iterator[StreamEvent]:
        """Yield events until the server closes the connection."""

    def close(self) -> None:
        """Close it, from another thread."""


Connect = Callable[[Place], AbstractContextManager[StreamConnection]]
OpenPost = Callable[[Any], tuple[str, Any]]


class StreamRefusedError(Exception):
    """The server does not let this stream be read.

    Attributes:
        kind: what the planner has to make of it.
        status: of the answer.
        after: seconds for which the server asks to be left alone; None: it did not say.
        reply: the reply to the request for the connection, where that is one of the ledger's.
    """

    def __init__(
        self, kind: ReplyKind, status: int, why: str, after: float | None = None, reply: Reply | None = None
    ) -> None:
        super().__init__(why)
        self.kind, self.status, self.after, self.reply = kind, status, after, reply


class StreamReader:
    """A stream, read in a separate thread while segments are requested.

    Args:
        connect: opens a connection that begins at a place.
        open_post: returns the id of a post, and the post as its parser wants it, of what an event holds of it.
        now: the clock, for the instants of replies.
        room: how many events are held at most.
    """

    def __init__(self, connect: Connect, open_post: OpenPost, now: Callable[[], float], room: int = ROOM) -> None:
        self.connect, self.open_post, self.now, self.room = connect, open_post, now, room
        self._changed = threading.Condition()
        self._run: StreamRun | None = None
        self._hurries = 0

    def read(self, place: Place, *, seconds: float, most: int, through: Place | None = None) -> Segment | Reply:
        """Return what came after a place; a Reply without rows where the stream cannot be read.

        Args:
            place: the end of the segment before, or where the last one began, to read it again.
            seconds: how long to wait for `most` posts; 0: what has come is returned.
            most: posts after which a segment ends.
            through: the end of the segment, where it is read again.
        """
        with self._changed:
            run = self._run
            if run is None or not run.go_on_from(place):
                run = self._start(place)
            self._wait(run, seconds, most, through)
            return self._take(run, place, most, through)

    def answer(self, asked: Mapping[str, str], parse: Callable[[list[Any]], Page]) -> Reply:
        """Return the reply to a request for a part of the stream; its cursor is that part.

        Args:
            asked: the parameters, see `live_reading.make_live_parameters`; `through` where the part is read again, of
                which the first reply told the deletions.
            parse: makes a page of posts.
        """
        through = parse_place(asked["through"]) if "through" in asked else None
        found = self.read(
            parse_place(asked["after"]), seconds=float(asked["seconds"]), most=int(asked["limit"]), through=through
        )
        if isinstance(found, Reply):
            return found
        page = parse(found.posts)
        if through is None:
            page = replace(page, deleted=found.deleted, deleted_accounts=found.accounts)
        part = str(StreamPart(found.begin, found.end))
        return Reply(ReplyKind.OK, self.now(), rows=page, cursor=part, cost=found.cost)

    def hurry(self) -> None:
        """Return to callers that wait for a segment what there is so far."""
        with self._changed:
            self._hurries += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Close the connection."""
        with self._changed:
            run, self._run = self._run, None
            if run is not None:
                run.stop()
            self._changed.notify_all()
        if run is not None and run.thread is not None:
            run.thread.join(CLOSING)

    def _start(self, place: Place) -> "StreamRun":
        if self._run is not None:
            self._run.stop()
        run = self._run = StreamRun(place)
        run.thread = threading.Thread(target=self._pump, args=(run,), name="stream", daemon=True)
        run.thread.start()
        return run

    def _wait(self, run: "StreamRun", seconds: float, most: int, through: Place | None) -> None:
        """Wait until a segment has come, or it is time to return what has."""
        until, hurries = monotonic() + (seconds if through is None else PATIENCE), self._hurries
        while not run.has(most, through) and run.error is None:
            run.asked_at = monotonic()
            self._changed.notify_all()
            # Of a connection that is being made nobody knows yet whether it is refused.
            left = 1.0 if not run.opened else until - monotonic()
            if left <= 0 or (hurries != self._hurries and through is None):
                return
            self._changed.wait(min(left, 1.0))

    def _pump(self, run: "StreamRun") -> None:
        """Read a connection until it ends, or nobody asks for it any more."""
        error: Exception = ConnectionError("the server closed the stream")
        try:
            with self.connect(run.place) as connection:
                with self._changed:
                    run.open(connection)
                    self._changed.notify_all()
                    if run.stopped:
                        return
                for event in connection:
                    with self._changed:
                        self._note(run, event)
                        self._changed.notify_all()
                        while run.is_full(self.room) and not run.is_idle():
                            self._changed.wait(1.0)
                        if run.is_idle():
                            return
        except Exception as found:  # noqa: BLE001 - any error of a connection becomes a reply
            error = found
        finally:
            with self._changed:
                run.error = error
                self._changed.notify_all()

    def _note(self, run: "StreamRun", event: StreamEvent) -> None:
        run.note(event)

    def _take(self, run: "StreamRun", place: Place, most: int, through: Place | None) -> Segment | Reply:
        run.asked_at = monotonic()
        if through is not None and not run.has(most, through):
            error = run.error or ConnectionError(f"the server was silent for {PATIENCE:.0f} s")
            return explain_error(error, self.now())
        events = self._list_events(run, most, through)
        end = through or run.find_end(events)
        if run.error is not None and not run.is_ended and end.is_same(place):
            return explain_error(run.error, self.now())
        deleted = {event.deleted for event in events if event.deleted}
        posts = dict(self.open_post(event.post) for event in events if event.post is not None)
        begin = place.at if run.begin is None else max(place.at, run.begin)
        run.cut, run.taken = Place(max(begin, end.at), end.cursor), len(events)
        return Segment(
            begin,
            run.cut,
            [post for key, post in posts.items() if key not in deleted],
            sorted(deleted),
            sorted({event.account for event in events if event.account}),
            sum(event.cost for event in events),
        )

    def _list_events(self, run: "StreamRun", most: int, through: Place | None) -> list[StreamEvent]:
        return run.list_events(most, through)


class StreamRun:
    """What one connection has brought since a place. The lock of its reader guards it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.thread: threading.Thread | None = None
        self.connection: StreamConnection | None = None
        self.begin: float | None = None
        self.held: deque[StreamEvent] = deque()
        self.posts = self.size = 0
        self.seen = place  # how far the stream is
        self.cut = place  # where the segment ended that was asked for last ...
        self.taken = 0  # ... and how many events it had: some servers number an event lower than the one before
        self.error: Exception | None = None
        self.stopped = self.begun = False
        self.is_ended = False  # on our side: that nothing more comes is no error
        self.unpaid = 0  # what is billed for events that are in no segment yet; see `metered_reader`
        self.asked_at = monotonic()

    @property
    def opened(self) -> bool:
        """Whether the connection is made."""
        return self.connection is not None

    def open(self, connection: StreamConnection) -> None:
        """Take note that the connection is made."""
        self.connection = connection
        if connection.begin is not None:
            self.begin, self.seen = connection.begin.at, connection.begin

    def stop(self) -> None:
        """Ask for it no more."""
        self.stopped = True
        if self.connection is not None:
            with suppress(Exception):
                self.connection.close()

    def go_on_from(self, place: Place) -> bool:
        """Return whether all that came after a place is held, or will come; what came before it is dropped."""
        if self.stopped or not (place.is_same(self.place) or place.is_same(self.cut)):
            return False
        if self.error is not None and place.is_same(self.seen):
            return False
        if not place.is_same(self.place):
            for _ in range(self.taken):
                self._drop(self.held.popleft())
            self.place, self.begin, self.taken = place, None, 0
        return True

    def note(self, event: StreamEvent) -> None:
        """Take an event."""
        if not self.begun and self.connection is not None and self.connection.begin is not None:
            self.begin = self.connection.begin.at  # which some know with the first event
        self.begun = True
        self.seen = Place(max(event.place.at, self.seen.at), event.place.cursor)
        if event.is_kept:
            self.held.append(event)
            self.posts += event.post is not None
            self.size += event.size

    def has(self, most: int, through: Place | None) -> bool:
        """Return whether a whole segment is held."""
        if through is not None:
            return self.seen.number >= through.number
        return self.posts >= most or self.size >= PART or self.is_full(ROOM)

    def is_full(self, room: int) -> bool:
        """Return whether no more is to be read before something is asked for."""
        return len(self.held) >= room or self.size >= BYTES

    def is_idle(self) -> bool:
        """Return whether nobody asks for it."""
        return self.stopped or monotonic() - self.asked_at > IDLE

    def list_events(self, most: int, through: Place | None) -> list[StreamEvent]:
        """Return the events of a segment."""
        if through is not None and through.is_same(self.cut):
            return list(islice(self.held, self.taken))
        if through is not None:
            return [event for event in self.held if event.place.number <= through.number]
        events: list[StreamEvent] = []
        posts = size = 0
        for event in self.held:
            if posts >= most or size >= PART:
                break
            events.append(event)
            posts, size = posts + (event.post is not None), size + event.size
        return events

    def find_end(self, events: list[StreamEvent]) -> Place:
        """Return the place at which a segment of these events ends."""
        if len(events) == len(self.held):
            return self.seen
        return Place(max([self.place.at, *(event.place.at for event in events)]), events[-1].place.cursor)

    def _drop(self, event: StreamEvent) -> None:
        self.posts -= event.post is not None
        self.size -= event.size


def explain_error(error: Exception, now: float) -> Reply:
    """Return the reply that says why a stream cannot be read."""
    why = redact(f"the stream: {str(error) or type(error).__name__}")
    if isinstance(error, StreamRefusedError) and error.reply is not None:
        return replace(error.reply, why=why)
    if isinstance(error, StreamRefusedError):
        return Reply(error.kind, now, status=error.status, date=now, why=why, after=error.after)
    return Reply(ReplyKind.BROKEN, now, why=why)
