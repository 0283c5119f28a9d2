"""The ways out of a crawl that waits for nobody: everything is allowed, done at once, and time stands still.

`VirtualClock` and `VirtualExecutor` are for campaigns with real limits: time passes only where they wait, and a day of
it is done in seconds.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import Any

from socialcrawl.engine.loop import Parts
from socialcrawl.engine.model import Grant, Node, Outcome, Reply, Request, Wait, Who
from socialcrawl.engine.protocols import Batch, Crawl, History, Ledger, Source, Store, Wire


class UnlimitedPlanner:
    """A planner without limits."""

    def take(self, request: Request, now: float) -> Grant:
        """Return the permission to send, always."""
        return Grant(request, "main", now)

    def settle(self, grant: Grant, reply: Reply, now: float) -> None:
        """Do nothing: the conversation continues with the reply."""

    def abandon(self, grant: Grant) -> None:
        """Do nothing: nobody counts."""

    def fold(self, ledger: Ledger, now: float) -> None:
        """Do nothing: there is no limit to count against."""


class NullWire:
    """A wire for sources that have their answers at hand."""

    def send(self, grant: Grant) -> Reply:
        """Return no reply.

        Raises:
            RuntimeError: always; who has the answers sends no requests.
        """
        raise RuntimeError(f"a request was sent though the source knows all answers: {grant.request}")


class StoppedClock:
    """A clock that does not tick: what is simulated takes no time, and a wait is over at once."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        """Return the seconds that were waited so far."""
        return self.time

    def sleep(self, until: float) -> None:
        """Be at that instant."""
        self.time = max(self.time, until)

    def interrupted(self) -> bool:
        """Return False: Ctrl-C ends the laboratory as any other program."""
        return False


class ImmediateExecutor(Executor):
    """An executor that does the work in the calling thread, before it returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return a future that is done."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class VirtualClock:
    """A clock whose time passes only where somebody waits.

    Attributes:
        at: its time, Unix seconds; it may be moved.
        set_by: by how much the clock of the machine was set; see `Steady.off`.
    """

    def __init__(self, at: float) -> None:
        self.at, self.set_by = at, 0.0

    def now(self) -> float:
        """Return Unix seconds, whole microseconds."""
        return round(self.at, 6)

    def wait(self, event: threading.Event, until: float) -> None:
        """Be at that instant, unless the event has happened."""
        if not event.is_set():
            self.at = max(self.at, until)
            while self.now() < until:  # rounded down
                self.at += 1e-6

    def off(self) -> float:
        """Return by how much the clock of the machine was set."""
        return self.set_by

    def follow(self) -> float:
        """Jump as the clock of the machine did, and return by how much."""
        by, self.set_by = self.set_by, 0.0
        self.at += by
        return by


class VirtualExecutor(ImmediateExecutor):
    """An executor whose work takes `latency` seconds of a virtual clock, half before and half after."""

    def __init__(self, time: VirtualClock, latency: float) -> None:
        self.time, self.latency = time, latency

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return a future that is done."""
        self.time.at += self.latency / 2
        future = super().submit(fn, *args, **kwargs)
        self.time.at += self.latency / 2
        return future


class SequenceStore:
    """A store that keeps the sequence of a crawl and nothing else: what is known as a whole need not be remembered.

    Attributes:
        nodes: the nodes asked, seeds first.
        values: their values.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.values: list[float] = []

    def open(self, batch: Batch) -> None:
        """Do nothing: a replay is not resumed."""

    def accounts(self, nodes: Sequence[Node]) -> Mapping[Node, Who]:
        """Return nobody: nodes are called by their numbers."""
        return {}

    def reserve(self, grant: Grant) -> None:
        """Do nothing: no request is sent."""

    def held(self, request: Request, now: float) -> None:
        """Return nothing: no answer is stored."""

    def save(self, grant: Grant, reply: Reply) -> Reply:
        """Return the reply as it is."""
        return reply

    def replies(self, batch: Batch) -> Mapping[tuple[int, int], Reply]:
        """Return none."""
        return {}

    def finish(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Keep who was asked and what he was worth."""
        self.nodes += [pick.node for pick in batch]
        self.values += [outcome.value for outcome in outcomes]

    def unfinished(self) -> Batch:
        """Return no batch."""
        return ()

    def history(self) -> History:
        """Return nothing: every replay starts from the beginning."""
        return []

    def imported(self, batch: Batch) -> History:
        """Return none."""
        return ()

    def receive(self, now: float) -> History:
        """Return none."""
        return ()

    def ledger(self) -> Ledger:
        """Return an empty ledger."""
        return []


class NullMonitor:
    """Nobody looks on."""

    def sent(self, grant: Grant) -> None:
        """See `protocols.Watcher.sent`."""

    def landed(self, grant: Grant, reply: Reply) -> None:
        """See `protocols.Watcher.landed`."""

    def learned(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """See `protocols.Watcher.learned`."""

    def waits(self, wait: Wait) -> None:
        """See `protocols.Watcher.waits`."""


def make_parts(crawl: Crawl, source: Source, store: Store, wire: Wire | None = None) -> Parts:
    """Return everything `run` needs to drive `crawl` over `source` without limits and without waiting."""
    return Parts(
        crawl, source, store, wire or NullWire(), UnlimitedPlanner(), StoppedClock(), ImmediateExecutor(), NullMonitor()
    )
