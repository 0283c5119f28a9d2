"""A worker as the deciding process sees it: what it was given, whether it answers, how its clock stands.

All of it runs in the event loop of the fleet. Whatever goes wrong with a worker has one consequence: the requests that
it has are lost, they count as spent, and the loop asks again.
"""

import asyncio
import pickle
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from socialcrawl.engine.model import Grant, Reply
from socialcrawl.engine.protocols import LostRequestError
from socialcrawl.fleet.worker_clock import WorkerClock
from socialcrawl.fleet.worker_wires import GATHER, Parcel

PING = 1.0  # seconds between two questions for the time
FIRST_PINGS = 5  # questions for the time before a worker is used
JUMP = 0.1  # seconds by which our clock has to be set for a worker to be told before it sends again


class Call(Protocol):
    """Calls a method of `WorkerWires` in a worker process."""

    async def __call__(self, method: str, *given: Any) -> Any:
        """Return what the method returned.

        Raises:
            OSError: the worker cannot be reached.
        """


@dataclass(frozen=True, slots=True)
class Patience:
    """How long workers are waited for, in seconds.

    Attributes:
        silence: without an answer, after which a worker counts as hung.
        request: after which a request counts as lost that a worker has not answered.
    """

    silence: float = 10.0
    request: float = 300.0


class RemoteWorker:
    """A worker process.

    Args:
        name: what the scheduler calls it.
        call: calls methods of its `WorkerWires`.
        now: our clock, Unix seconds.
        patience: how long it is waited for.
        specs: what it needs of each campaign: pickled `WireSpec`s, kept up to date by the fleet.

    Attributes:
        is_ready: whether it answers.
        campaigns: why it cannot send for a campaign; "": it can.
    """

    def __init__(
        self, name: str, call: Call, now: Callable[[], float], patience: Patience, specs: Mapping[str, bytes]
    ) -> None:
        self.name, self.call, self.now, self.patience, self.specs = name, call, now, patience, specs
        self.is_ready = False
        self.trouble = "it has not answered yet"
        self.campaigns: dict[str, str] = {}
        self.clock = WorkerClock()
        self.lost = 0  # requests
        self._generation = self._number = 0
        self._lead = 0.0
        self._outbox: list[Parcel] = []
        self._filled = asyncio.Event()
        self._flying: dict[int, tuple[Future[Reply], float]] = {}

    def submit(self, campaign: str, grant: Grant, future: "Future[Reply]") -> None:
        """Send a request; the future gets its reply, or LostRequestError."""
        self._number += 1
        self._flying[self._number] = future, self.now()
        self._outbox.append((self._number, campaign, grant))
        self._filled.set()

    def can_send(self, campaign: str) -> bool:
        """Return whether it answers, and has the client of a campaign."""
        return self.is_ready and self.campaigns.get(campaign) == ""

    async def serve(self, changed: Callable[[], None]) -> None:
        """Work with it until it is gone; after a silence, from the beginning.

        Args:
            changed: called when it can be used, or no longer.

        Raises:
            OSError: it cannot be reached.
        """
        try:
            while True:
                try:
                    await self._begin()
                    changed()
                    await self._exchange()
                except TimeoutError:
                    self.lose(f"it has not answered for {self.patience.silence:g} s")
                    changed()
        finally:
            self.lose("it is gone")
            changed()

    def lose(self, why: str) -> None:
        """Give up what it has; it is not used until it answers."""
        self.is_ready, self.trouble = False, why
        self._outbox.clear()
        for number in list(self._flying):
            self._give_up(number)

    async def open(self, campaign: str) -> None:
        """Make the client of a campaign there."""
        if (spec := self.specs.get(campaign)) is not None:
            self.campaigns[campaign] = await self._ask("open", campaign, spec, longest=3 * self.patience.silence)

    async def close(self, campaign: str) -> None:
        """Let go of the client of a campaign there, if it answers."""
        self.campaigns.pop(campaign, None)
        with suppress(OSError, TimeoutError):
            await self._ask("close", campaign)

    async def _ask(self, method: str, *given: Any, longest: float | None = None) -> Any:
        return await asyncio.wait_for(self.call(method, *given), longest or self.patience.silence)

    async def _begin(self) -> None:
        self._generation += 1
        await self._ask("begin", self._generation)
        await self._learn_clock()
        self.campaigns = {campaign: why for campaign, why in self.campaigns.items() if not why}
        while missing := [campaign for campaign in self.specs if campaign not in self.campaigns]:
            await self.open(missing[0])
        self.is_ready, self.trouble = True, ""

    async def _exchange(self) -> None:
        tasks = [asyncio.ensure_future(work()) for work in (self._deliver, self._collect, self._ping)]
        try:
            await asyncio.gather(*tasks)  # none of them returns
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _deliver(self) -> None:
        while True:
            await self._filled.wait()
            await asyncio.sleep(GATHER)
            self._filled.clear()
            parcels, self._outbox = self._outbox, []
            if abs(self._measure_lead() - self._lead) > JUMP:  # our clock was set: what the worker knows of it is wrong
                await self._learn_clock()
            if parcels:
                await self._ask("send", self._generation, pickle.dumps(parcels, pickle.HIGHEST_PROTOCOL))

    async def _collect(self) -> None:
        while True:
            wait = self.patience.silence / 2
            for number, packed in await self._ask("collect", self._generation, wait):
                if (held := self._flying.pop(number, None)) is not None:
                    held[0].set_result(pickle.loads(packed))  # noqa: S301 - of a worker, which has the tokens too

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(PING)
            await self._read_clock()
            too_old = self.now() - self.patience.request
            for number in [number for number, (_, at) in self._flying.items() if at < too_old]:
                self._give_up(number)

    async def _learn_clock(self) -> None:
        self._lead = self._measure_lead()
        for _ in range(FIRST_PINGS):  # each takes what the one before has told to the worker
            await self._read_clock()

    def _measure_lead(self) -> float:
        """Return how far our clock is ahead of one that nobody sets."""
        return self.now() - asyncio.get_running_loop().time()

    async def _read_clock(self) -> None:
        sent = self.now()
        read = await self._ask("read_clock", self.clock.offset)
        self.clock.learn(sent, read, self.now())

    def _give_up(self, number: int) -> None:
        if (held := self._flying.pop(number, None)) is not None:
            self.lost += 1
            held[0].set_exception(LostRequestError(f"the worker {self.name} did not answer a request"))
