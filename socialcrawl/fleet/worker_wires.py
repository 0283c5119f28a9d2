"""What a worker holds: the client of the platform of each campaign, and the answers that are still to be fetched.

It runs in a worker process, as a Dask actor. Everything it is given begins with a generation: after a silence the
deciding process begins another one, and what belongs to earlier ones is neither sent nor answered any more.
"""

import asyncio
import os
import pickle
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from socialcrawl.campaign.credentials import read_token
from socialcrawl.campaign.guarded_wire import GuardedWire, make_wire
from socialcrawl.campaign.plan import THREADS, Plan
from socialcrawl.campaign.prompt_wire import PromptWire
from socialcrawl.engine.clock import SteadyClock, Time
from socialcrawl.engine.model import Grant, Reply, ReplyKind
from socialcrawl.errors import SocialcrawlError
from socialcrawl.platforms.base import Terms, Variables, Wired
from socialcrawl.platforms.registry import platform_of
from socialcrawl.system.plugins import describe_error

Parcel = tuple[int, str, Grant]  # the number of a request, its campaign, and what is to be sent
GATHER = 0.005  # seconds for which answers, and requests, are gathered into one message


@dataclass(frozen=True, slots=True)
class WireSpec:
    """What a worker needs to make the client of a campaign.

    Attributes:
        terms: the campaign as its platform has to know it.
        variables: the environment variables that hold its tokens, by the names of the credentials; no token.
    """

    terms: Terms
    variables: Mapping[str, Variables]

    @classmethod
    def of(cls, plan: Plan) -> "WireSpec":
        """Return what a worker needs of a plan; where the database is does not belong to it."""
        terms = plan.terms
        settings = terms.settings.model_copy(update={"database": Path("none.db")})
        given = plan.platform.list_credentials(plan.settings)
        variables = {credential.name: names for credential, names in given if names is not None}
        return cls(replace(terms, settings=settings, names=()), variables)

    def list_names(self) -> list[str]:
        """Return the environment variables that a worker needs."""
        return [name for given in self.variables.values() for name in ((given,) if isinstance(given, str) else given)]

    def make_wire(self, now: Callable[[], float]) -> Wired:
        """Return the client, with the tokens of this process's environment.

        Raises:
            SettingsError: a variable is not set or holds no token.
        """
        secrets = {name: read_token(variables) for name, variables in self.variables.items()}
        return make_wire(platform_of(self.terms.settings), self.terms, secrets, now)


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """What a worker process has.

    Attributes:
        version: of socialcrawl; "": it is not there, or too old to say.
        python: the version of Python.
        lacking: environment variables that are not set there.
    """

    version: str
    python: str = ""
    lacking: tuple[str, ...] = ()

    def list_faults(self) -> list[str]:
        """Return what has to be done before it can send, in words."""
        if self.version != read_version():
            return [f"it has socialcrawl {self.version or '(none)'}: install {read_version()} there"]
        return [f"put the token into its environment variable {name}" for name in self.lacking]


def read_version() -> str:
    """Return the version of socialcrawl in this process."""
    return str(sys.modules["socialcrawl"].__version__)  # importing it would close a circle of the public names


def describe_worker(variables: Sequence[str]) -> WorkerFacts:
    """Return what this process has, without the values of the variables; runs in a worker."""
    lacking = [name for name in variables if not any(os.environ.get(name + end) for end in ("", "_FILE"))]
    return WorkerFacts(read_version(), platform.python_version(), tuple(lacking))


class WorkerWires:
    """The clients of a worker process, one for each campaign. Its methods run in the worker's event loop.

    Args:
        clock: the clock of this machine.
    """

    def __init__(self, clock: Time | None = None) -> None:
        self.clock = clock or SteadyClock()
        self.offset = 0.0  # seconds from this clock to that of the deciding process
        self.generation = 0
        self._wires: dict[str, PromptWire] = {}
        self._pools: dict[str, ThreadPoolExecutor] = {}
        self._done: list[tuple[int, bytes]] = []
        self._news = asyncio.Event()

    def now(self) -> float:
        """Return the time of the deciding process, as far as it is known; Unix seconds."""
        return self.clock.now() + self.offset

    async def begin(self, generation: int) -> float:
        """Drop what belongs to earlier generations; return what this clock shows."""
        self.generation = generation
        self._done.clear()
        self._wake()
        return self.clock.now()

    async def read_clock(self, offset: float) -> float:
        """Take over the distance to the clock of the deciding process; return what this clock shows."""
        self.offset = offset
        return self.clock.now()

    async def open(self, campaign: str, spec: bytes) -> str:
        """Make the client of a campaign; return why it cannot be made, "" if it was."""
        await self.close(campaign)
        try:
            wire = await asyncio.to_thread(self._make, spec)
        except SocialcrawlError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - of another version of the package, or of another package
            return describe_error(error)
        self._wires[campaign] = wire
        self._pools[campaign] = ThreadPoolExecutor(THREADS, thread_name_prefix="sends")
        return ""

    async def close(self, campaign: str) -> None:
        """Let go of the client of a campaign; what it has in flight is not waited for."""
        if (wire := self._wires.pop(campaign, None)) is not None:
            self._pools.pop(campaign).shutdown(wait=False, cancel_futures=True)
            wire.close()

    async def send(self, generation: int, parcels: bytes) -> None:
        """Begin to send some requests (pickled Parcels); their answers are fetched by `collect`."""
        loop = asyncio.get_running_loop()
        for number, campaign, grant in pickle.loads(parcels):  # noqa: S301 - of the deciding process
            if generation == self.generation and campaign in self._wires:
                wire, pool = self._wires[campaign], self._pools[campaign]
                pool.submit(self._send_one, loop, generation, number, wire, grant)

    async def collect(self, generation: int, patience: float) -> list[tuple[int, bytes]]:
        """Return the answers that have come: number, and a pickled Reply.

        Waits `patience` seconds at most for the first of them. Nothing where another generation has begun.
        """
        if not self._done and generation == self.generation:
            try:
                await asyncio.wait_for(self._news.wait(), patience)
            except TimeoutError:
                return []
            await asyncio.sleep(GATHER)  # a message costs more than what is in it
        if generation != self.generation:
            return []
        found, self._done = self._done, []
        self._news.clear()
        return found

    def _make(self, spec: bytes) -> PromptWire:
        given: WireSpec = pickle.loads(spec)  # noqa: S301 - of the deciding process
        wire = GuardedWire(given.make_wire(self.now), given.terms.settings.source.platform, self.now)
        return PromptWire(wire, self.now)

    def _send_one(
        self, loop: asyncio.AbstractEventLoop, generation: int, number: int, wire: PromptWire, grant: Grant
    ) -> None:
        if generation == self.generation:  # else it has waited here, and was given up
            loop.call_soon_threadsafe(self._put, generation, number, pack_reply(wire.send(grant), grant))

    def _put(self, generation: int, number: int, packed: bytes) -> None:
        if generation == self.generation:
            self._done.append((number, packed))
            self._news.set()

    def _wake(self) -> None:
        """Let whoever waits for answers of an earlier generation go."""
        former, self._news = self._news, asyncio.Event()
        former.set()


def pack_reply(reply: Reply, grant: Grant) -> bytes:
    """Return a reply as bytes; one that cannot be pickled is `lost`, at the highest price."""
    try:
        return pickle.dumps(reply, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - whatever another package put into it
        why = f"the reply cannot be sent by a worker: {describe_error(error)}"
        return pickle.dumps(Reply(ReplyKind.LOST, reply.at, cost=grant.request.most, why=why))
