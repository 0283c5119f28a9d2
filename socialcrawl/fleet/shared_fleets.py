"""The workers of a Dask scheduler, for all campaigns of a process; a thread looks after them.

Requests to one host with one credential go to one worker, as long as it answers: connections, sessions and what a
client knows of a host stay there. Which one is the largest of a hash of the host and each worker's name, so a worker
that comes or goes moves only its own share.
"""

import asyncio
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from hashlib import blake2b
from typing import Any, Protocol

from socialcrawl.engine.model import Grant, Reply
from socialcrawl.engine.protocols import LostRequestError
from socialcrawl.errors import SettingsError
from socialcrawl.fleet import dask_client
from socialcrawl.fleet.remote_workers import Call, Patience, RemoteWorker
from socialcrawl.fleet.worker_wires import WireSpec
from socialcrawl.ratelimit.policy import parse_host
from socialcrawl.system.plugins import describe_error

LOOK = 1.0  # seconds between two looks at the workers of a scheduler, and between two tries to reach it
PREPARED = "it is being prepared"
CLOSING = 3.0  # seconds for the thread to end


class Cluster(Protocol):
    """A scheduler that is reached."""

    async def list_workers(self) -> dict[str, str]:
        """Return the names of its workers by their addresses.

        Raises:
            OSError: it does not answer.
        """

    async def start(self, address: str) -> Call:
        """Make a `WorkerWires` in the worker at an address; return what calls its methods.

        Raises:
            OSError: the worker cannot make it, or is gone.
        """


Connect = Callable[[], AbstractAsyncContextManager[Cluster]]
"""Reaches a scheduler; raises OSError where none answers."""


class Fleet:
    """The workers of one scheduler.

    Args:
        address: the scheduler's, for people.
        connect: reaches it.
        now: our clock, Unix seconds.
        patience: how long workers are waited for.
        look: seconds between two looks at the scheduler.
    """

    def __init__(
        self,
        address: str,
        connect: Connect,
        now: Callable[[], float],
        patience: Patience | None = None,
        look: float = LOOK,
    ) -> None:
        self.address, self.now, self.patience, self.look = address, now, patience or Patience(), look
        self.workers: dict[str, RemoteWorker] = {}  # by address
        self.trouble = f"the Dask scheduler at {address} has not answered yet"
        self._connect, self._specs = connect, dict[str, bytes]()
        self._named = frozenset[str]()  # the workers that the scheduler knows
        self._faults: dict[str, str] = {}  # what went wrong with a worker last, by name
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._opening: set[asyncio.Task[None]] = set()
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._main: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name=f"fleet {address}", daemon=True)
        self._thread.start()

    def join(self, campaign: str, spec: WireSpec) -> None:
        """Have every worker make the client of a campaign, those that join later too."""
        self._specs[campaign] = pickle.dumps(spec, pickle.HIGHEST_PROTOCOL)
        self._call(self._open, campaign)

    def leave(self, campaign: str) -> None:
        """Have the workers let go of the client of a campaign."""
        if self._specs.pop(campaign, None) is not None:
            self._call(self._close, campaign)

    def submit(self, campaign: str, grant: Grant) -> "Future[Reply]":
        """Send a request by a worker; the future gets its reply, or LostRequestError."""
        future: Future[Reply] = Future()
        future.set_running_or_notify_cancel()
        if not self._call(self._submit, campaign, grant, future):
            future.set_exception(LostRequestError("the fleet is closed"))
        return future

    def explain_absence(self, campaign: str) -> str | None:
        """Return why no worker can send for a campaign; None: one can."""
        workers = list(self.workers.values())
        if any(worker.can_send(campaign) for worker in workers):
            return None
        if self.trouble:
            return self.trouble
        known = {worker.name: worker.trouble or worker.campaigns.get(campaign) or PREPARED for worker in workers}
        reasons = [f"{name}: {why}" for name, why in {**self._faults, **known}.items() if name in self._named]
        if not reasons:
            return f"no worker is connected to the Dask scheduler at {self.address}"
        return f"no worker of the Dask scheduler at {self.address} can be used ({'; '.join(reasons)})"

    def wait_for_change(self, seconds: float) -> None:
        """Wait until a worker can be used or no longer, at most some seconds."""
        with self._changed:
            self._changed.wait(seconds)

    def close(self) -> None:
        """End the thread; the workers stay with their scheduler."""
        self._call(self._stop)
        self._thread.join(CLOSING)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._main = self._loop.create_task(self._look_after())
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._main)
        self._loop.close()

    def _call(self, work: Callable[..., None], *given: Any) -> bool:
        """Return whether the thread is there to do some work; it does it soon."""
        try:
            self._loop.call_soon_threadsafe(work, *given)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def _stop(self) -> None:
        if self._main is not None:
            self._main.cancel()

    async def _look_after(self) -> None:
        """Reach the scheduler, again and again, and keep its workers."""
        while True:
            try:
                async with self._connect() as cluster:
                    await self._keep_workers(cluster)
            except (OSError, TimeoutError) as error:
                self.trouble = f"no Dask scheduler answers at {self.address} ({describe_error(error)})"
            await asyncio.sleep(self.look)

    async def _keep_workers(self, cluster: Cluster) -> None:
        try:
            while True:
                there = await asyncio.wait_for(cluster.list_workers(), self.patience.silence)
                self.trouble, self._named = "", frozenset(there.values())
                for address, task in list(self._tasks.items()):
                    if task.done():  # it could not be reached: it is tried again if it is still there
                        del self._tasks[address]
                    elif address not in there:
                        task.cancel()
                for address in there.keys() - self._tasks.keys():
                    self._tasks[address] = asyncio.ensure_future(self._keep_worker(cluster, address, there[address]))
                await asyncio.sleep(self.look)
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            self._tasks.clear()

    async def _keep_worker(self, cluster: Cluster, address: str, name: str) -> None:
        worker: RemoteWorker | None = None
        try:
            call = await asyncio.wait_for(cluster.start(address), 3 * self.patience.silence)
            worker = self.workers[address] = RemoteWorker(name, call, self.now, self.patience, self._specs)
            await worker.serve(self._tell)
        except Exception as error:  # noqa: BLE001 - what it had is lost; the next look finds it again or not
            self._faults[name] = describe_error(error)
        finally:
            if worker is not None and self.workers.get(address) is worker:
                del self.workers[address]

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _submit(self, campaign: str, grant: Grant, future: "Future[Reply]") -> None:
        usable = [worker for worker in self.workers.values() if worker.can_send(campaign)]
        if usable:
            choose_worker(grant, usable).submit(campaign, grant, future)
        else:
            future.set_exception(LostRequestError("no worker can send it"))

    def _open(self, campaign: str) -> None:
        for worker in self.workers.values():
            if worker.is_ready:  # others open it before they are
                self._do(worker.open(campaign))

    def _close(self, campaign: str) -> None:
        for worker in self.workers.values():
            self._do(worker.close(campaign))

    def _do(self, work: Any) -> None:
        async def attempt() -> None:
            with suppress(OSError, TimeoutError):  # whoever looks after the worker notices too
                await work
            self._tell()

        task = self._loop.create_task(attempt())
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)


def choose_worker(grant: Grant, workers: list[RemoteWorker]) -> RemoteWorker:
    """Return the worker that has the host and the credential of a request."""
    key = f"{parse_host(grant.request.endpoint)} {grant.credential} "
    return max(workers, key=lambda worker: blake2b(f"{key}{worker.name}".encode(), digest_size=8).digest())


class SharedFleets:
    """The fleets of a process, by the addresses of their schedulers; each is kept while a campaign uses it.

    Args:
        workers: how many worker processes of its own it has, for campaigns that name no scheduler; 0: none.
        patience: how long workers are waited for.
    """

    def __init__(self, workers: int = 0, patience: Patience | None = None) -> None:
        self.patience = patience
        self._workers, self._address = workers, ""
        self._fleets: dict[str, tuple[Fleet, int]] = {}  # and how many campaigns use them
        self._lock = threading.Lock()
        self._ends = ExitStack()

    def take(self, scheduler: str | None, now: Callable[[], float]) -> Fleet | None:
        """Return the fleet of a scheduler, or of this process's own workers; None where there is neither.

        Args:
            scheduler: its address, such as tcp://10.0.0.1:8786; None: the own workers.
            now: the clock, Unix seconds.

        Raises:
            SettingsError: Dask is not installed, or the own workers cannot be started.
        """
        if scheduler is None and not self._workers:
            return None
        dask_client.load_distributed()
        with self._lock:
            if scheduler is None and not self._address:
                self._address = self._start()
            address = scheduler or self._address
            fleet, users = self._fleets.get(address) or (self._make(address, now), 0)
            self._fleets[address] = fleet, users + 1
            return fleet

    def release(self, fleet: Fleet) -> None:
        """Note that a campaign uses a fleet no more, which `take` returned."""
        with self._lock:
            _, users = self._fleets.pop(fleet.address)
            if users > 1:
                self._fleets[fleet.address] = fleet, users - 1
                return
        fleet.close()

    def close(self) -> None:
        """End the own workers."""
        self._ends.close()

    def _make(self, address: str, now: Callable[[], float]) -> Fleet:
        return Fleet(address, lambda: dask_client.connect(address), now, self.patience)

    def _start(self) -> str:
        try:
            return self._ends.enter_context(dask_client.start_local_workers(self._workers))
        except (OSError, RuntimeError, TimeoutError) as error:
            raise SettingsError(f"The worker processes cannot be started: {describe_error(error)}.") from error
