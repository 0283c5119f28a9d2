"""Connections to a PostgreSQL server that may hang: stopped, or behind a network that drops what is sent.

Such a server neither answers nor closes a connection, and a long statement looks the same from here. So a connection
that has been silent for a while opens a second one. While the server lets that in, the statement may take as long as it
likes. When the second one gets no answer either, the first is closed and its statement fails.
"""

import logging
from collections.abc import Callable, Generator
from typing import Any

import psycopg
from sqlalchemy import Engine, event

# What fails is raised; nobody who has not asked for logs needs to read on stderr that a pipeline ended with it.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

INTERVAL = 0.1  # seconds after which psycopg wakes up where nothing comes


class WatchedConnection(psycopg.Connection[Any]):
    """A connection that finds out whether its server hangs.

    Attributes:
        silence: seconds without an answer after which it asks.
        hangs: whether the server lets nobody in.
    """

    silence: float
    hangs: Callable[[], bool]

    def wait(self, gen: Generator[Any, Any, Any], *given: Any, **more: Any) -> Any:
        """Wait for what `gen` waits for, as long as the server does not hang.

        Raises:
            psycopg.OperationalError: the server hangs; the connection is closed.
        """
        return super().wait(self._attend(gen), *given, **more)

    def _attend(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        silent = 0  # intervals without an answer: counted, so that no clock is needed
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                silent = 0 if ready else silent + 1
                if silent * INTERVAL >= self.silence:
                    silent = 0
                    self._check()
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value

    def _check(self) -> None:
        if self.hangs():
            self.pgconn.finish()
            raise psycopg.OperationalError(f"no answer for {self.silence:g} s, nor to a second connection")


def watch_engine(engine: Engine, silence: float) -> Engine:
    """Let the connections of `engine` find out whether their server hangs, after `silence` seconds."""

    @event.listens_for(engine, "do_connect")
    def connect(dialect: Any, record: Any, args: Any, named: Any) -> WatchedConnection:
        made = WatchedConnection.connect(*args, **named)
        made.silence, made.hangs = silence, lambda: _is_hanging(args, named)
        return made

    return engine


def _is_hanging(args: Any, named: Any) -> bool:
    """Return whether a server lets nobody in; one that refuses us is there, and one that is gone closes what it had."""
    try:
        psycopg.connect(*args, **named).close()
    except psycopg.errors.ConnectionTimeout:
        return True
    except psycopg.OperationalError:
        return False
    return False
