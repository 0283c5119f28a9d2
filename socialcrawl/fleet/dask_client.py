"""Dask: the only module that imports it. A scheduler that is reached, and worker processes of our own.

Requests and replies go from this process to a worker and back, not through the scheduler. It has the description of
each campaign's client, which names the environment variables of the tokens, and no token.
"""

import asyncio
import importlib.util
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from types import ModuleType
from typing import Any

from socialcrawl.errors import SettingsError
from socialcrawl.fleet.remote_workers import Call
from socialcrawl.fleet.worker_wires import WorkerFacts, WorkerWires, describe_worker

ANSWER = 15.0  # seconds for all workers to say what they have
TIMEOUT = 5.0  # seconds to reach a scheduler
MISSING = "Workers need Dask: pip install 'socialcrawl[cluster]', or remove scheduler under [fleet] and --workers."


def require_dask() -> None:
    """Check that Dask is installed, without importing it.

    Raises:
        SettingsError: it is not.
    """
    if importlib.util.find_spec("distributed") is None:
        raise SettingsError(MISSING)


def load_distributed() -> ModuleType:
    """Return the package `distributed`; what it logs is shown from errors on.

    Raises:
        SettingsError: it is not installed.
    """
    try:
        import distributed  # noqa: PLC0415 - optional, and half a second
    except ImportError as error:
        raise SettingsError(MISSING) from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    return distributed


class DaskCluster:
    """A scheduler that is reached; see `shared_fleets.Cluster`."""

    def __init__(self, distributed: ModuleType, client: Any) -> None:
        self.distributed, self.client = distributed, client
        self._actors: dict[str, Any] = {}  # the futures that keep the actors, by the addresses of their workers

    async def list_workers(self) -> dict[str, str]:
        """See `Cluster.list_workers`."""
        found = await self.client.scheduler.identity(n_workers=-1)
        return {address: str(worker.get("name", address)) for address, worker in found["workers"].items()}

    async def start(self, address: str) -> Call:
        """See `Cluster.start`."""
        self._actors.pop(address, None)
        made = self.client.submit(WorkerWires, workers=[address], allow_other_workers=False, actor=True, pure=False)
        self._actors[address] = made
        with self.client.as_current():
            await self.distributed.wait([made])
        if made.status != "finished":
            raise OSError(f"the worker {address} made no client: {made.status}")
        worker, serialize = self.client.rpc(address), self.distributed.protocol.to_serialize

        async def call(method: str, *given: Any) -> Any:
            told = await worker.actor_execute(
                function=method, actor=made.key, args=[serialize(one) for one in given], kwargs={}
            )
            if told["status"] != "OK":
                raise OSError(f"the worker {address} failed: {told.get('exception')!r}")
            return told["result"]

        return call


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[DaskCluster]:
    """Yield the scheduler at an address, such as tcp://10.0.0.1:8786.

    Raises:
        SettingsError: Dask is not installed.
        OSError: no scheduler answers there.
    """
    distributed = load_distributed()
    client = distributed.Client(
        address,
        asynchronous=True,
        direct_to_workers=True,  # what was asked and answered does not pass the scheduler
        set_as_default=False,
        timeout=TIMEOUT,
        name="socialcrawl",
    )
    try:
        await client
        yield DaskCluster(distributed, client)
    finally:
        await client.close(timeout=1)


async def inspect_workers(address: str, variables: Sequence[str]) -> dict[str, WorkerFacts]:
    """Return what the workers of a scheduler have, by their names.

    Args:
        address: the scheduler's.
        variables: the environment variables that they need.

    Raises:
        SettingsError: Dask is not installed.
        OSError: no scheduler answers there, or a worker does not within some seconds.
    """
    async with connect(address) as cluster:
        names = await cluster.list_workers()
        asking = cluster.client.run(describe_worker, list(variables), on_error="return")
        found = await asyncio.wait_for(asking, ANSWER) if names else {}
    return {
        names.get(where, where): facts if isinstance(facts, WorkerFacts) else WorkerFacts("")
        for where, facts in found.items()
    }


@contextmanager
def start_local_workers(count: int) -> Iterator[str]:
    """Run a scheduler in this process and worker processes beside it; yield the scheduler's address.

    Raises:
        SettingsError: Dask is not installed.
        OSError: they cannot be started.
    """
    distributed = load_distributed()
    with distributed.LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",  # any free port: another cluster may have the usual one
        silence_logs=logging.CRITICAL,
        preload=["socialcrawl.fleet.quiet_worker"],
    ) as cluster:
        yield str(cluster.scheduler_address)
