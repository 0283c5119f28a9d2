"""A reader of a stream whose server bills each post that it sends, whether anybody reads it or not.

A connection is opened by a request that pays in advance for the posts that may come between two parts. Each part pays
for the posts that it has. So what is billed never exceeds what is paid and reserved:

    unasked   as many posts may come as are paid in advance
    asked     as many more as the part may bring

Before that, the connection is ended; what is on its way by then is still read, and MARGIN of the advance is kept for
it. What appears while no connection is open has to be searched.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Protocol

from socialcrawl.engine.model import Page, Reply, ReplyKind
from socialcrawl.engine.stream_places import Place, parse_place
from socialcrawl.platforms.stream_reader import (
    Segment,
    StreamConnection,
    StreamEvent,
    StreamReader,
    StreamRefusedError,
    StreamRun,
    explain_error,
)

MARGIN = 5 / 6  # of the advance: for posts that may be on their way when a connection is ended
DRAIN = 2.0  # seconds in which they may come
REST, LONGEST = 1.0, 320.0  # seconds after which a connection is opened again that brought nothing; doubled each time


class MeteredConnection(StreamConnection, Protocol):
    """A connection to a stream that is billed."""

    @property
    def opening(self) -> Reply:
        """The reply to the request that opened it."""

    def end(self, seconds: float) -> None:
        """Ask the server to close it, from another thread; what it has sent is read for some seconds yet."""


ConnectMetered = Callable[[Place], AbstractContextManager[MeteredConnection]]


class MeteredReader(StreamReader):
    """See the module. What is billed is counted in mills.

    Args:
        name_post: see `StreamReader`.
        now: the clock, Unix seconds.

    Attributes:
        advance: what is paid for posts that may come between two parts.
        unpaid: what the posts cost that have come and are in no part yet.
    """

    def __init__(self, name_post: Callable[[Any], str], now: Callable[[], float]) -> None:
        super().__init__(_refuse, name_post, now)
        self.advance = self.unpaid = 0
        self._asked = 0  # what the part may cost that is asked for; 0: none is
        self._rest = self._rests_until = 0.0
        self._connection: MeteredConnection | None = None

    def open(self, place: Place, connect: ConnectMetered, most: int) -> Reply:
        """Return the reply to the request for a connection, which costs what of `most` is not paid in advance yet.

        Args:
            place: where the capture goes on.
            connect: opens the connection.
            most: mills that have to be paid in advance.
        """
        now = self.now()
        if now < self._rests_until:
            rest = self._rests_until - now
            why = f"the stream ended before anything came: it is opened again in {rest:.0f} s"
            return Reply(ReplyKind.BACKOFF, now, why=why, after=rest)

        @contextmanager
        def opening(place: Place) -> Iterator[MeteredConnection]:
            with connect(place) as self._connection:
                yield self._connection

        with self._changed:
            self.connect = opening
            run = self._start(place)
            self._changed.wait_for(lambda: run.opened or run.error is not None)
            self.connect = _refuse
            made = self._connection if run.opened else None
            if made is None:
                reply = explain_error(run.error or ConnectionError("it was closed"), self.now())
                if reply.kind == ReplyKind.LOST:  # it may have been opened, so all of it counts
                    reply, self.advance = replace(reply, cost=most), max(most, self.advance)
                return reply
            self._rest = min(LONGEST, 2.0 * self._rest or REST)
            self._rests_until = now + self._rest
            cost, self.advance = max(0, most - self.advance), max(most, self.advance)
            return replace(made.opening, cost=cost)

    def take(self, asked: Mapping[str, str], parse: Callable[[list[Any]], Page], most: int) -> Reply:
        """Return the reply to the request for a part; without a cursor where no connection is open.

        Args:
            asked: see `StreamReader.answer`.
            parse: makes a page of posts.
            most: mills that the part may cost.
        """
        with self._changed:
            run = self._run
            if run is None or not run.go_on_from(parse_place(asked["after"])):
                self._run = None
                if run is not None and isinstance(run.error, StreamRefusedError):
                    return explain_error(run.error, self.now())
                return Reply(ReplyKind.OK, self.now(), rows=Page())
            self._asked = most
        return self.answer(asked, parse)

    def hurry(self) -> None:
        """End the connection, and return to who waits for a part what has come."""
        with self._changed:
            run = self._run
            if run is not None and self._connection is not None:
                run.is_ended = True
                self._connection.end(DRAIN)
                self._changed.wait_for(lambda: run.error is not None, DRAIN)
        super().hurry()

    def _note(self, run: StreamRun, event: StreamEvent) -> None:
        """Count what is billed, and end the connection before that is more than is paid."""
        super()._note(run, event)
        self._rest = self._rests_until = 0.0
        self.unpaid += event.cost
        if self.unpaid >= self.advance * (1.0 - MARGIN) + self._asked and self._connection is not None:
            self._connection.end(DRAIN)

    def _take(self, run: StreamRun, place: Place, most: int, through: Place | None) -> Segment | Reply:
        found = super()._take(run, place, most, through)
        self._asked = 0
        if isinstance(found, Segment):
            self.unpaid -= found.cost
        return found


def _refuse(place: Place) -> Any:
    raise ConnectionError(f"no connection was opened for {place}")
