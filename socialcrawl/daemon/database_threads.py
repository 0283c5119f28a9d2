"""What the daemon itself does with its databases: for each of them in a thread of its own, one thing after the other.

A database that hangs holds up nobody but itself.
"""

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import structlog

from socialcrawl.storage.database.address import DatabaseAddress


def make_thread() -> Executor:
    """Return an executor that does one thing at a time."""
    return ThreadPoolExecutor(1, thread_name_prefix="database")


class DatabaseThreads:
    """An executor for each database, made when it is first needed.

    Args:
        made: makes an executor that does one thing at a time, in the order in which they were given.
    """

    def __init__(self, made: Callable[[], Executor] = make_thread) -> None:
        self._made = made
        self._executors: dict[DatabaseAddress, Executor] = {}
        self._last: dict[DatabaseAddress, Future[None]] = {}

    def do(self, where: DatabaseAddress, deed: Callable[[], object]) -> "Future[None]":
        """Have something done with a database after all that was given before; return when it is or was done."""
        if where not in self._executors:
            self._executors[where] = self._made()
        self._last[where] = self._executors[where].submit(_done, deed)
        return self._last[where]

    def is_busy(self, where: DatabaseAddress) -> bool:
        """Return whether something is still to be done with a database."""
        return where in self._last and not self._last[where].done()

    def shut_down(self) -> None:
        """Begin nothing more."""
        for executor in self._executors.values():
            executor.shutdown(wait=False, cancel_futures=True)


def _done(deed: Callable[[], object]) -> None:
    try:
        deed()
    except Exception as error:  # noqa: BLE001 - whatever it was, the next thing is done, and somebody can read of it
        structlog.get_logger().error("a look failed, an error of socialcrawl itself", exc_info=error)
