"""The contracts between the loop and the rest. Pure: Crawl, Source, Planner. With side effects: Wire, Store, Clock.

The pure part decides and learns; it never waits, reads or writes. Only the others do.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.model import Act, Grant, Node, Outcome, Pick, Reply, Request, Stop, Wait, Who, parse_unavailable

Batch = tuple[Pick, ...]
"""Picks that were decided together, in order of n."""

Conversation = Generator[Request, Reply, Mapping[int, Outcome]]
"""A conversation: yields requests, is sent replies, returns {pick.n: outcome}. Deterministic: it can be replayed."""

Ledger = Iterable[tuple[Grant, Reply | None]]
"""Every request ever reserved, oldest first; None: never settled, counts as spent. A long one is better Summed."""

History = Iterable[tuple[Batch, Sequence[Outcome]]]
"""Finished batches in order of n. One that is also Columnar is read much faster."""

NEVER = 2**62
"""The number of a pick that no campaign gets to."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """m picks with their outcomes, in order of n, as columns; they begin and end with whole batches.

    Attributes:
        n: int64[m].
        batch: int64[m], the n of the first pick of the batch.
        node: int64[m].
        act: str[m].
        value: float64[m].
        missing: str[m], why, or "" where nothing is missing.
        offsets: int64[m + 1]; the links of pick i are places `offsets[i]` to `offsets[i + 1]`.
        targets: int64, the nodes that the links go to.
        alpha: float64, the weights of the links.
        x: float64[m, columns], the features as picked, NaN where a pick has none; None: they were not asked for.
        score: float64[m], at: float64[m] (Unix seconds), posts: int64[m], occurrences: int64[m]; None likewise.
        since, mark: str[m], where the pick went on from and the next one can; "" where there is none; None likewise.
    """

    n: NDArray[np.int64]
    batch: NDArray[np.int64]
    node: NDArray[np.int64]
    act: NDArray[np.str_]
    value: NDArray[np.float64]
    missing: NDArray[np.str_]
    offsets: NDArray[np.int64]
    targets: NDArray[np.int64]
    alpha: NDArray[np.float64]
    x: NDArray[np.float64] | None = None
    score: NDArray[np.float64] | None = None
    at: NDArray[np.float64] | None = None
    posts: NDArray[np.int64] | None = None
    occurrences: NDArray[np.int64] | None = None
    since: NDArray[np.str_] | None = None
    mark: NDArray[np.str_] | None = None

    def pick(self, i: int) -> Pick:
        """Pick number i of these, without what was not asked for."""
        x: tuple[float, ...] = () if self.x is None else tuple(self.x[i].tolist())
        given = x if not x or x[-1] == x[-1] else ()
        since = _get_at(self.since, i, "")
        return Pick(
            int(self.n[i]), Node(int(self.node[i])), Act(self.act[i]), _get_at(self.score, i, 0.0), given, since
        )

    def outcome(self, i: int) -> Outcome:
        """Return what pick number i of these found."""
        links = slice(self.offsets[i], self.offsets[i + 1])
        return Outcome(
            int(self.n[i]),
            Node(int(self.node[i])),
            _get_at(self.at, i, 0.0),
            float(self.value[i]),
            self.targets[links].copy(),  # so that one outcome does not keep the links of all
            self.alpha[links].copy(),
            parse_unavailable(why) if (why := str(self.missing[i])) else None,
            _get_at(self.posts, i, 0),
            _get_at(self.occurrences, i, 0),
            _get_at(self.mark, i, ""),
        )

    def between(self, first: int, end: int) -> "Columns":
        """Return the picks from number `first` on, before number `end`."""
        begin, last = np.searchsorted(self.n, [first, end]).tolist()
        if (begin, last) == (0, len(self.n)):
            return self
        links = slice(int(self.offsets[begin]), int(self.offsets[last]))
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        kept: dict[str, Any] = {name: None if column is None else column[begin:last] for name, column in given.items()}
        offsets = self.offsets[begin : last + 1] - links.start
        return Columns(**kept | {"offsets": offsets, "targets": self.targets[links], "alpha": self.alpha[links]})

    def ends(self) -> NDArray[np.int64]:
        """Return the place of the last pick of each batch."""
        return np.flatnonzero(np.append(self.batch[1:] != self.batch[:-1], True)[: len(self.n)])

    def batches(self) -> Iterator[tuple[Batch, list[Outcome]]]:
        """Yield the same, batch by batch."""
        begin = 0
        for end in (self.ends() + 1).tolist():
            places = range(begin, end)
            yield tuple(self.pick(i) for i in places), [self.outcome(i) for i in places]
            begin = end


def _get_at(column: NDArray[Any] | None, i: int, otherwise: Any) -> Any:
    return otherwise if column is None else column[i].item()


@runtime_checkable
class Columnar(Protocol):
    """A history that can also be read as columns."""

    def columns(self, *, features: bool = True, rest: bool = True) -> Iterator[Columns]:
        """Return all of it, some ten thousand picks at a time.

        Args:
            features: whether the features as picked are wanted.
            rest: whether scores, times and counts are.
        """


def skip_known(history: History, picks: int) -> History:
    """Return a history from pick number `picks` on, read as fast as the whole; what lies before was taken in."""
    return history if picks == 0 else _cut(history, picks, NEVER)


def cut_history(history: History, n: int) -> History:
    """Return the part of a history before pick number `n`, with which a batch begins, read as fast as the whole."""
    return _cut(history, 0, n)


def _cut(history: History, first: int, end: int) -> History:
    return _HistoryPart(history, first, end) if isinstance(history, Columnar) else _read_part(history, first, end)


def _read_part(history: History, first: int, end: int) -> History:
    for batch, outcomes in history:
        if batch[0].n >= end:
            return
        if batch[0].n >= first:
            yield batch, outcomes


@dataclass(frozen=True, slots=True)
class _HistoryPart:
    """The picks `first` to before `end` of a history in columns."""

    history: Columnar
    first: int
    end: int

    def __iter__(self) -> Iterator[tuple[Batch, Sequence[Outcome]]]:
        for columns in self.columns():
            yield from columns.batches()

    def columns(self, *, features: bool = True, rest: bool = True) -> Iterator[Columns]:
        for columns in self.history.columns(features=features, rest=rest):
            if len((kept := columns.between(self.first, self.end)).n):
                yield kept
            if columns.n[-1] >= self.end:
                return


@dataclass(frozen=True, slots=True)
class Sums:
    """What requests to one endpoint have used whose replies came on one UTC day (or that left then and were lost).

    Attributes:
        endpoint: the path.
        day: midnight, Unix seconds.
        requests: how many.
        began: when the first of them left, Unix seconds.
        posts: returned.
        items: that those could have returned whose reply was lost or never came.
        money: mills; those that were not settled at their dearest.
    """

    endpoint: str
    day: float
    requests: int
    began: float
    posts: int
    items: int
    money: int


@runtime_checkable
class Summed(Protocol):
    """A ledger of which what lies long back can be read as sums."""

    def last(self) -> float | None:
        """Return when the latest request left (Unix seconds); None if there is none."""

    def daily(self) -> float | None:
        """Return when the latest request left whose reply spoke of a window of 24 hours; None if none did."""

    def before(self, at: float) -> Iterable[Sums]:
        """Return the requests that left before `at`, summed, in order of the day."""

    def since(self, at: float) -> Ledger:
        """Return those that left at `at` or later, oldest first."""


class Crawl(Protocol):
    """A policy that decides what to ask next and learns from what came back."""

    def choose(self, size: int, now: float) -> Batch | Wait | Stop:
        """Return the next picks: `size` of them, or fewer where fewer are left.

        Changes nothing: asked twice, the same answer.
        """

    def absorb(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Learn, in pick order whatever the order of arrival. The only method that changes the crawl."""

    def fold(self, history: History) -> None:
        """Take in a history as if every finished batch had been absorbed in turn, bit for bit.

        What was taken in before is skipped, by its numbers: folding twice changes nothing.
        """


class Source(Protocol):
    """A platform seen as conversations; no input or output."""

    def width(self, act: Act) -> int:
        """Return how many picks one request can answer: 100 for a look-up of users, 1 for a timeline."""

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """Return the conversations that answer `batch`; `accounts` says how the platform calls its nodes."""

    def mark(self, at: float) -> str:
        """Return the mark of an instant (Unix seconds): since it, what was written then and later is asked for.

        "" where the platform knows no such thing, or has nothing older.
        """


class LostRequestError(Exception):
    """Who was to send a request is gone: it may have been sent, and its reply does not come.

    The future of an Executor that is no pool of threads raises it.
    """


class Wire(Protocol):
    """The network: the only thing that runs in the Executor. It keeps no state of the crawl and never raises."""

    def send(self, grant: Grant) -> Reply:
        """Return the reply to one request, parsed and classified; a failure is a reply of kind `broken`."""


@runtime_checkable
class Hurried(Protocol):
    """A wire of which some requests wait for what is still to come."""

    def hurry(self) -> None:
        """Have them answered with what there is."""


class Store(Protocol):
    """What is remembered: one transaction a request, nothing held back."""

    def open(self, batch: Batch) -> None:
        """Remember a decision before anything is sent."""

    def accounts(self, nodes: Sequence[Node]) -> Mapping[Node, Who]:
        """Return how the platform calls these nodes."""

    def reserve(self, grant: Grant) -> Wait | Stop | None:
        """Remember the slot and its dearest price, durably, before the request leaves.

        Returns None, or why it may not leave, as other processes have used the window: then nothing is remembered.
        """

    def save(self, grant: Grant, reply: Reply) -> Reply:
        """Store rows, cursor and cost of one request; return the reply with nodes for accounts (an Answer) and `items`.

        By these a conversation knows that a page was smaller than it asked for, and requests the rest: in the end it
        has read the same, if the budget allowed it.
        """

    def held(self, request: Request, now: float) -> Reply | None:
        """Return a recent stored answer to the same request, kept as if it had come now.

        Its kind is `held`; nothing is sent for it and nothing paid. None: the request has to be sent.
        """

    def replies(self, batch: Batch) -> Mapping[tuple[int, int], Reply]:
        """Return what `save` kept for an unfinished batch, by request key: replayed after a restart."""

    def finish(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Keep the outcomes; the batch is closed."""

    def unfinished(self) -> Batch:
        """Return the batch that was opened and not finished, or ()."""

    def history(self) -> History:
        """Return all finished batches in order, up to the one that is open."""

    def imported(self, batch: Batch) -> History:
        """Return what was imported while `batch` was open, which comes after it.

        Empty, or to be read once that is finished.

        () where nothing was.
        """

    def receive(self, now: float) -> History:
        """Return what another campaign of the database has brought since, stored as finished batches.

        Called while no batch is open. () where nothing was brought.
        """

    def ledger(self) -> Ledger:
        """Return all requests reserved so far, oldest first."""


class Planner(Protocol):
    """Windows of every credential x endpoint, back-off and budgets."""

    def take(self, request: Request, now: float) -> Grant | Wait | Stop:
        """Return the permission to send, or when to ask again, or why never.

        The request of the grant has the key of `request`, but asks for a smaller page where a budget leaves no more.
        """

    def settle(self, grant: Grant, reply: Reply, now: float) -> Wait | Stop | None:
        """Learn from a reply. Wait: send the request again; None: the conversation goes on with the reply."""

    def abandon(self, grant: Grant) -> None:
        """Wait for the reply no more: the request stays spent, and may be sent again."""

    def fold(self, ledger: Ledger, now: float) -> None:
        """Begin anew, as if every request of the ledger had been taken and settled in turn: twice changes nothing.

        What it dates later than `now` counts as of now: the clock was set back since.
        """


class Clock(Protocol):
    """Time: real in a campaign, virtual in tests and in the laboratory."""

    def now(self) -> float:
        """Return Unix seconds."""

    def sleep(self, until: float) -> None:
        """Wait until that instant, or until somebody interrupts."""

    def interrupted(self) -> bool:
        """Return whether somebody asked to stop."""


class Watcher(Protocol):
    """Somebody who looks on: the screen, a log. Nothing a watcher does changes the crawl."""

    def sent(self, grant: Grant) -> None:
        """Take note that a request left."""

    def landed(self, grant: Grant, reply: Reply) -> None:
        """Take note that a reply arrived and was saved."""

    def learned(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Take note that a batch was finished and absorbed."""

    def waits(self, wait: Wait) -> None:
        """Take note that nothing can be sent before `Wait.until`."""


@runtime_checkable
class Informed(Protocol):
    """A watcher that shows what a person should know although the run goes on."""

    def tell(self, text: str) -> None:
        """Show a sentence."""
