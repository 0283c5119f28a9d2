"""A reader of a stream whose server bills each post that it sends, whether anybody reads it or not.

A connection is opened by a request that pays in advance for the posts that may come between two parts. Each part pays
for the messages that it has, and for those of connections that are over. So what is billed never exceeds what is paid
and reserved:

    unasked   as many posts may come as are paid in advance
    asked     as many more as the part may bring

Before that, the connection is ended; what is on its way by then is still read, and MARGIN of the advance is kept for
it. What appears while no connection is open has to be searched.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import accumulate, islice
from typing import Any, Protocol, cast

from socialcrawl.engine.model import Page, Reply, ReplyKind
from socialcrawl.engine.stream_places import Place, parse_place
from socialcrawl.platforms.stream_reader import (
    OpenPost,
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
        open_post: see `StreamReader`.
        now: the clock, Unix seconds.

    Attributes:
        advance: what is paid for posts that may come between two parts.
    """

    def __init__(self, open_post: OpenPost, now: Callable[[], float]) -> None:
        super().__init__(_refuse, open_post, now)
        self.advance = 0
        self._owed = 0  # what messages cost that no part can bring any more, and that none has paid
        self._asked = 0  # what the part may cost that is asked for; 0: none is
        self._rest = self._rests_until = 0.0

    @property
    def unpaid(self) -> int:
        """What the messages cost that have come, and that no part has paid."""
        return self._owed + (0 if self._run is None else self._run.unpaid)

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
        with self._changed:
            self.connect = connect
            run, hurries = self._start(place), self._hurries
            self._changed.wait_for(lambda: run.opened or run.error or run.stopped or hurries != self._hurries)
            self.connect = _refuse
            if run.connection is None:
                if run.error is None:
                    run.stop()
                    why = "the stream: the run ended before the server answered the request for it"
                    reply = Reply(ReplyKind.LOST, self.now(), why=why)
                else:
                    reply = explain_error(run.error, self.now())
                if reply.kind == ReplyKind.LOST:  # it may have been opened, so all of it counts
                    reply, self.advance = replace(reply, cost=most), max(most, self.advance)
                return reply
            self._rest = min(LONGEST, 2.0 * self._rest or REST)
            self._rests_until = now + self._rest
            cost, self.advance = max(0, most - self.advance), max(most, self.advance)
            return replace(cast("MeteredConnection", run.connection).opening, cost=cost)

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
                self._drop_run()
                if run is not None and isinstance(run.error, StreamRefusedError):
                    return replace(explain_error(run.error, self.now()), cost=self._pay(most))
                return Reply(ReplyKind.OK, self.now(), rows=Page(), cost=self._pay(most))
            self._asked = most
            return self.answer(asked, parse)  # who waits in it lets go of the lock

    def hurry(self) -> None:
        """End the connection, and return to who waits for a part what has come."""
        with self._changed:
            run = self._run
            if run is not None and run.connection is not None:
                run.is_ended = True
                _end(run)
                self._changed.wait_for(lambda: run.error is not None, DRAIN)
        super().hurry()

    def _start(self, place: Place) -> StreamRun:
        self._drop_run()
        return super()._start(place)

    def _drop_run(self) -> None:
        """Let go of the connection; what it has brought is owed."""
        run, self._run = self._run, None
        if run is not None:
            self._owed, run.unpaid = self._owed + run.unpaid, 0
            run.stop()

    def _note(self, run: StreamRun, event: StreamEvent) -> None:
        """Count what is billed, and end the connection before that is more than is paid."""
        super()._note(run, event)
        if run is not self._run:
            self._owed += event.cost
            return
        run.unpaid += event.cost
        if event.post is not None:
            self._rest = self._rests_until = 0.0
        if self.unpaid >= self.advance * (1.0 - MARGIN) + self._asked:
            _end(run)

    def _take(self, run: StreamRun, place: Place, most: int, through: Place | None) -> Segment | Reply:
        found = super()._take(run, place, most, through)
        if isinstance(found, Segment):
            self._owed += found.cost
            run.unpaid = sum(event.cost for event in islice(run.held, run.taken, None))
            found = replace(found, cost=self._pay(self._asked))
        self._asked = 0
        return found

    def _list_events(self, run: StreamRun, most: int, through: Place | None) -> list[StreamEvent]:
        """Return the events of a segment, as far as it can pay for them; one at least."""
        events = super()._list_events(run, most, through)
        if through is not None:
            return events
        costs = accumulate(event.cost for event in events)
        return events[: max(1, sum(cost <= self._asked - self._owed for cost in costs))]

    def _pay(self, most: int) -> int:
        """Return what of all that is owed is paid now."""
        paid = min(most, self._owed)
        self._owed -= paid
        return paid


def _end(run: StreamRun) -> None:
    if run.connection is not None:
        cast("MeteredConnection", run.connection).end(DRAIN)


def _refuse(place: Place) -> Any:
    raise ConnectionError(f"no connection was opened for {place}")
