"""When what a campaign knows of accounts is written to SQL: now and then, before long waits, and at its end.

Nothing is lost by writing seldom: all of it follows from picks and outcomes. A row of every known account is written
anew, as the importance, or the weight in a sample, of all of them moves with every visit.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from socialcrawl.engine.model import Grant, Outcome, Reply, Stop, Wait
from socialcrawl.engine.protocols import Batch, Watcher

EVERY = 600.0  # seconds between two writings, and of a wait before which it is worth one


class PickCounter(Protocol):
    """A crawl that counts its picks."""

    @property
    def picks(self) -> int:
        """The number of picks."""


class SnapshotWatcher:
    """A watcher that hands on what it sees, and writes standings when it is time.

    Args:
        watcher: who else looks on.
        crawl: whose knowledge is written.
        put: writes it, the whole of it.
        now: the clock, Unix seconds.
    """

    def __init__(self, watcher: Watcher, crawl: PickCounter, put: Callable[[], None], now: Callable[[], float]) -> None:
        self.watcher, self.crawl, self.put, self.now = watcher, crawl, put, now
        self._written = now()
        self._picks = -1  # that were known when it was last written

    def sent(self, grant: Grant) -> None:
        """See `protocols.Watcher.sent`."""
        self.watcher.sent(grant)

    def landed(self, grant: Grant, reply: Reply) -> None:
        """See `protocols.Watcher.landed`."""
        self.watcher.landed(grant, reply)

    def learned(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """See `protocols.Watcher.learned`; write if that was long ago."""
        self.watcher.learned(batch, outcomes)
        if self.now() - self._written >= EVERY:
            self.write()

    def waits(self, wait: Wait) -> None:
        """See `protocols.Watcher.waits`; write before a long one."""
        self.watcher.waits(wait)
        self.after(wait)

    def after(self, reason: Wait | Stop) -> None:
        """Write at an end, before a long wait, or if that was long ago."""
        now = self.now()
        long = isinstance(reason, Stop) or reason.until - now >= EVERY
        if long or now - self._written >= EVERY:
            self.write()

    def write(self) -> None:
        """Write what is known, if anything was decided since."""
        if self.crawl.picks != self._picks:
            self.put()
            self._picks = self.crawl.picks
        self._written = self.now()
