"""The loop of every crawl. The pure part decides what to do; wire, store and clock do it. The loop decides nothing.

    decide    crawl.choose     which nodes next? (Wait and Stop are answers too)
    remember  store.open       before anything is sent
    converse  source.start_conversations: picks become conversations
    may we?   planner.take     windows, back-off, budgets
    remember  store.reserve    the slot and its dearest price, then send
    send      wire.send        the network: the only thing that runs in the pool
    remember  store.save       rows, cursor, cost: one transaction a request
    remember  store.finish     the outcomes
    learn     crawl.absorb     in pick order, whatever the order of arrival

What is imported while a batch is open comes after it: it is learned once that is finished, as in a fold. What another
campaign of the database brings (`Store.receive`) is stored and learned between two batches.

Returning with an open batch (Wait longer than `patience`, Stop, a crash) and coming back is one path: the conversations
are run again on the replies that were stored, and the first unknown request is sent.
"""

from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass

from socialcrawl.engine.model import Grant, Outcome, Reply, Request, Stop, StopKind, Wait
from socialcrawl.engine.protocols import (
    Batch,
    Clock,
    Conversation,
    Crawl,
    Hurried,
    LostRequestError,
    Planner,
    Source,
    Store,
    Watcher,
    Wire,
)

TICK = 0.2  # seconds between looks at the interrupt flag while requests are in flight
GRACE = 8.0  # seconds that an interrupted run waits for what is in flight; the rest counts as spent


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything a run is made of; `build` joins them."""

    crawl: Crawl
    source: Source
    store: Store
    wire: Wire
    planner: Planner
    clock: Clock
    pool: Executor
    watcher: Watcher


def run(
    parts: Parts,
    *,
    size: int | Callable[[], int] = 1,
    patience: float = float("inf"),
    folded: bool = False,
    counted: bool = False,
) -> Wait | Stop:
    """Return the reason a campaign ended or paused, after working through it.

    Going on takes parts made anew, or `folded`.

    Args:
        parts: what the run is made of.
        size: r, the picks decided together (the refresh rate of Algorithm 1; Gouriten et al., section 3), or what tells
            it when a batch is chosen.
        patience: the longest wait in seconds that is sat out here; a longer one is returned, the batch stays open.
        folded: whether the parts have come back from a run, and know all that is stored.
        counted: whether the planner knows the whole ledger.
    """
    if not folded:
        if not counted:
            parts.planner.fold(parts.store.ledger(), parts.clock.now())
        parts.crawl.fold(parts.store.history())
    batch = parts.store.unfinished()
    replies, later = parts.store.replies(batch), parts.store.imported(batch)
    while True:
        if parts.clock.interrupted():
            return Stop(StopKind.INTERRUPTED, "interrupted; everything is saved, run again to go on")
        if not batch:
            while brought := parts.store.receive(parts.clock.now()):
                parts.crawl.fold(brought)
            choice = parts.crawl.choose(size() if callable(size) else size, parts.clock.now())
            if isinstance(choice, Stop) or (isinstance(choice, Wait) and not _sit_out(parts, choice, patience)):
                return choice
            if isinstance(choice, Wait):
                continue
            batch, replies = choice, {}
            parts.store.open(batch)
        outcomes = _BatchRun(parts, batch, replies, patience).run()
        if isinstance(outcomes, Wait | Stop):
            return outcomes
        parts.store.finish(batch, outcomes)
        parts.crawl.absorb(batch, outcomes)
        parts.watcher.learned(batch, outcomes)
        if later:
            parts.crawl.fold(later)  # what was imported while the batch was open
        batch, later = (), ()


def _sit_out(parts: Parts, pause: Wait, patience: float) -> bool:
    if pause.until - parts.clock.now() > patience:
        return False
    parts.watcher.waits(pause)
    parts.clock.sleep(pause.until)
    return True


class _BatchRun:
    """One batch under way: its conversations, what is ready to leave and what is in flight."""

    def __init__(self, parts: Parts, batch: Batch, replies: Mapping[tuple[int, int], Reply], patience: float) -> None:
        self.parts, self.batch, self.replies, self.patience = parts, batch, replies, patience
        self.ready: deque[tuple[Conversation, Request]] = deque()
        self.flying: dict[Future[Reply], tuple[Conversation, Grant]] = {}
        self.known: dict[int, Outcome] = {}
        self.halt: Wait | Stop | None = None

    def run(self) -> list[Outcome] | Wait | Stop:
        """Return one outcome a pick, in pick order; or why the batch stays open. Nothing is in flight afterwards."""
        try:
            return self._collect_outcomes()
        finally:
            self._abandon()

    def _collect_outcomes(self) -> list[Outcome] | Wait | Stop:
        accounts = self.parts.store.accounts([pick.node for pick in self.batch])
        for conversation in self.parts.source.start_conversations(self.batch, accounts):
            self._go_on(conversation, None)
        while self.ready or self.flying:
            pause = None if self.halt else self._send()
            if self.flying:
                self._land(pause)
            elif self.halt:
                return self.halt
            elif pause and not _sit_out(self.parts, pause, self.patience):
                return pause
            if self.parts.clock.interrupted() and not self.halt:
                self._interrupt()
        return [self.known[pick.n] for pick in self.batch]

    def _go_on(self, conversation: Conversation, reply: Reply | None) -> None:
        """Carry a conversation to its next request that has to be sent, or to its outcomes."""
        try:
            request = next(conversation) if reply is None else conversation.send(reply)
            while kept := self.replies.get(request.key) or self.parts.store.held(request, self.parts.clock.now()):
                request = conversation.send(kept)
            self.ready.append((conversation, request))
        except StopIteration as end:
            self.known.update(end.value)

    def _send(self) -> Wait | None:
        """Send all that may leave now; return the earliest wait of what may not."""
        earliest: Wait | None = None
        for _ in range(len(self.ready)):
            conversation, request = self.ready.popleft()
            answer = self.parts.planner.take(request, self.parts.clock.now())
            if isinstance(answer, Grant):
                refused = self._fly(conversation, answer)
                if refused is None:
                    continue
                answer = refused
            self.ready.append((conversation, request))
            if isinstance(answer, Stop):
                # What is in flight is reserved at its dearest: when it has landed there may be budget left.
                self.halt = None if self.flying else answer
                return None
            if earliest is None or answer.until < earliest.until:
                earliest = answer
        return earliest

    def _fly(self, conversation: Conversation, grant: Grant) -> Wait | Stop | None:
        try:
            if (refused := self.parts.store.reserve(grant)) is not None:
                return refused
            self.flying[self.parts.pool.submit(self.parts.wire.send, grant)] = (conversation, grant)
        except BaseException:
            self.parts.planner.abandon(grant)
            raise
        self.parts.watcher.sent(grant)
        return None

    def _land(self, pause: Wait | None) -> None:
        """Settle and save what has arrived; look up now and then, for a slot that opens or an interrupt."""
        patience = TICK if pause is None else max(0.0, min(TICK, pause.until - self.parts.clock.now()))
        for future in wait(self.flying, patience, FIRST_COMPLETED).done:
            conversation, grant = self.flying[future]
            if isinstance(future.exception(), LostRequestError):  # its reservation stays spent, and it is asked again
                del self.flying[future]
                self.parts.planner.abandon(grant)
                self.ready.append((conversation, grant.request))
                continue
            reply = self.parts.store.save(grant, future.result())  # the store knows what was already paid today
            del self.flying[future]
            again = self.parts.planner.settle(grant, reply, self.parts.clock.now())
            self.parts.watcher.landed(grant, reply)
            if again is None:
                self._go_on(conversation, reply)
                continue
            self.ready.append((conversation, grant.request))
            if isinstance(again, Stop):
                self.halt = again

    def _interrupt(self) -> None:
        self.halt = Stop(StopKind.INTERRUPTED, "interrupted; everything is saved, run again to go on")
        if isinstance(self.parts.wire, Hurried):
            self.parts.wire.hurry()
        wait(self.flying, GRACE)
        self._land(None)
        self.ready.extend((conversation, grant.request) for conversation, grant in self.flying.values())  # to ask again
        self._abandon()

    def _abandon(self) -> None:
        """Wait no longer for what is in flight: it counts as spent."""
        for _, grant in self.flying.values():
            self.parts.planner.abandon(grant)
        self.flying.clear()
