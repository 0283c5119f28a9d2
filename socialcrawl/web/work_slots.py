"""How much work that takes long is done at once, so that it leaves threads and processors for other pages."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import HTTPException

Made = TypeVar("Made")


class WorkSlots:
    """Lets so much work of one sort be done at once; methods may be called from any thread.

    Args:
        most: how much.
        what: it is called.
        waiting: how much more may wait for its turn.
    """

    def __init__(self, most: int, what: str, waiting: int = 0) -> None:
        self._what, self._allowed, self._begun = f"{most} {what}", most + waiting, 0
        self._lock, self._free = threading.Lock(), threading.BoundedSemaphore(most)

    def take(self) -> None:
        """Take a slot, which `free` gives back; wait for one, where that is allowed.

        Raises:
            HTTPException: none is free, and no more may wait.
        """
        with self._lock:
            if self._begun >= self._allowed:
                raise HTTPException(503, f"{self._what} are running: try again in a moment.", {"retry-after": "5"})
            self._begun += 1
        self._free.acquire()

    def free(self) -> None:
        """Give a slot back."""
        self._free.release()
        with self._lock:
            self._begun -= 1

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold a slot until the end of the block.

        Raises:
            HTTPException: none is free, and no more may wait.
        """
        self.take()
        try:
            yield
        finally:
            self.free()

    async def run(self, work: Callable[[], Made]) -> Made:
        """Return what a function returns, which has a slot meanwhile, in a thread.

        Raises:
            HTTPException: none is free, and no more may wait.
        """

        def act() -> Made:
            with self.hold():
                return work()

        return await run_in_threadpool(act)
