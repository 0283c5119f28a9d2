"""What the loop needs to know of the rest. Pure: Crawl, Source, Planner. Doors: Wire, Store, Clock.

The pure part decides and learns; it never waits, reads or writes. The doors act.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Protocol

from socialcrawl.model import Grant, Node, Outcome, Pick, Reply, Request, Stop, Wait, Who

Batch = tuple[Pick, ...]
"""Picks that were decided together, in order of n."""

Talk = Generator[Request, Reply, Mapping[int, Outcome]]
"""A conversation: yields requests, is sent replies, returns {pick.n: outcome}. Deterministic: it can be replayed."""

Ledger = Iterable[tuple[Grant, Reply | None]]
"""Every request ever reserved, oldest first; None: never settled, counts as spent."""

History = Iterable[tuple[Batch, Sequence[Outcome]]]
"""Finished batches in order of n."""


class Crawl(Protocol):
    """A policy that decides what to ask next and learns from what came back."""

    def choose(self, size: int, now: float) -> Batch | Wait | Stop:
        """The next picks, `size` of them where so many are left. Changes nothing: asked twice, the same answer."""

    def absorb(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Learn, in pick order whatever the order of arrival. The only method that changes the crawl."""

    def fold(self, history: History) -> None:
        """As if every finished batch had been absorbed in turn, bit for bit."""


class Source(Protocol):
    """A platform seen as conversations; no input or output."""

    def width(self, act: str) -> int:
        """Picks that one request can answer: 100 for a look-up of users, 1 for a timeline."""

    def talks(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Talk]:
        """The conversations that answer `batch`; `accounts` says how the platform calls its nodes."""


class Wire(Protocol):
    """The network: the only thing that runs in the Executor. It keeps no state of the crawl and never raises."""

    def send(self, grant: Grant) -> Reply:
        """The reply to one request, parsed and classified; a failure is a reply of kind `broken`."""


class Store(Protocol):
    """What is remembered: one transaction a request, nothing held back."""

    def open(self, batch: Batch) -> None:
        """Remember a decision before anything is sent."""

    def accounts(self, nodes: Sequence[Node]) -> Mapping[Node, Who]:
        """How the platform calls these nodes."""

    def reserve(self, grant: Grant) -> None:
        """Remember the slot and its dearest price, durably, before the request leaves."""

    def save(self, grant: Grant, reply: Reply) -> Reply:
        """Keep rows, cursor and cost of one request; the same reply with its accounts as nodes (an Answer)."""

    def held(self, request: Request, now: float) -> Reply | None:
        """The answer to the same question that the database has from a short while ago, kept as if it had come now.

        Its kind is `held`; nothing is sent for it and nothing paid. None: it has to be asked.
        """

    def replies(self, batch: Batch) -> Mapping[tuple[int, int], Reply]:
        """What `save` kept for an unfinished batch, by request key: replayed after a restart."""

    def finish(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Keep the outcomes; the batch is closed."""

    def unfinished(self) -> Batch:
        """The batch that was opened and not finished, or ()."""

    def history(self) -> History:
        """All finished batches in order."""

    def ledger(self) -> Ledger:
        """All requests reserved so far, oldest first."""


class Planner(Protocol):
    """Windows of every credential x endpoint, back-off and budgets."""

    def take(self, request: Request, now: float) -> Grant | Wait | Stop:
        """The permission to send, or when to ask again, or why never."""

    def settle(self, grant: Grant, reply: Reply, now: float) -> Wait | Stop | None:
        """Learn from a reply. Wait: the request is to be asked again; None: the talk goes on with the reply."""

    def fold(self, ledger: Ledger) -> None:
        """As if every request of the ledger had been taken and settled in turn."""


class Clock(Protocol):
    """Time: real in a campaign, virtual in tests and in the laboratory."""

    def now(self) -> float:
        """Unix seconds."""

    def sleep(self, until: float) -> None:
        """Wait until that instant, or until somebody interrupts."""

    def interrupted(self) -> bool:
        """Whether somebody asked to stop."""


class Watcher(Protocol):
    """Somebody who looks on: the screen, a log. Nothing a watcher does changes the crawl."""

    def landed(self, grant: Grant, reply: Reply) -> None:
        """A reply arrived and was saved."""

    def learned(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """A batch was finished and absorbed."""

    def waits(self, wait: Wait) -> None:
        """Nothing can be sent before `wait.until`."""
