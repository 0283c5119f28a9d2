"""Fleets for tests: workers in this process that can be cut off, and schedulers and workers as real processes."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager, contextmanager, suppress
from types import SimpleNamespace
from typing import ClassVar

from socialcrawl.engine.model import Grant, Reply, ReplyKind, Request
from socialcrawl.fleet.remote_workers import Patience
from socialcrawl.fleet.shared_fleets import Fleet
from socialcrawl.fleet.worker_wires import WorkerWires

CALM = Patience(silence=120.0, request=120.0)  # whatever the load of the machine, no worker counts as hung
HASTY = Patience(silence=0.3, request=120.0)
WITHIN = 60.0  # seconds for what is awaited in tests; nothing is measured


class ShiftedClock:
    """The clock of a machine that is some seconds ahead of ours."""

    def __init__(self, ahead=0.0):
        self.ahead = ahead

    def now(self):
        return time.time() + self.ahead


class EchoWire:
    """A wire that answers with the name of its worker's process, and notes what it has sent."""

    sent: ClassVar = []  # endpoints, of all wires of this process
    gate: ClassVar = threading.Event()  # until it is set, requests to /wait are not answered

    def __init__(self, now):
        self.now = now

    def send(self, grant):
        EchoWire.sent.append(grant.request.endpoint)
        if grant.request.endpoint.endswith("/wait"):
            EchoWire.gate.wait(WITHIN)
        return Reply(ReplyKind.OK, self.now(), cursor=grant.request.endpoint)

    def close(self):
        pass


class EchoSpec:
    """What makes an EchoWire; `why`: what it raises in place of that."""

    terms = SimpleNamespace(settings=SimpleNamespace(source=SimpleNamespace(platform="web")))

    def __init__(self, error=None):
        self.error = error

    def make_wire(self, now):
        if self.error is not None:
            raise self.error
        return EchoWire(now)


class LocalTown:
    """A scheduler in this process: `workers` are its workers by address; those in `cut` do not answer."""

    def __init__(self, *names, ahead=0.0):
        self.workers = {f"tcp://{name}": WorkerWires(ShiftedClock(ahead)) for name in names}
        self.cut, self.is_up = set(), True

    @asynccontextmanager
    async def connect(self):
        if not self.is_up:
            raise OSError("refused")
        yield self

    async def list_workers(self):
        if not self.is_up:
            raise OSError("refused")
        return {address: address.removeprefix("tcp://") for address in self.workers}

    async def start(self, address):
        wires = self.workers[address]

        async def call(method, *given):
            if self.workers.get(address) is not wires:
                raise OSError("the process is gone")
            while address in self.cut:  # noqa: ASYNC110 - tests set it from another thread
                await asyncio.sleep(0.01)
            return await getattr(wires, method)(*given)

        return call


@contextmanager
def local_fleet(town, patience=CALM, now=time.time):
    """The fleet of a LocalTown."""
    EchoWire.sent.clear()
    EchoWire.gate.clear()
    fleet = Fleet("tcp://scheduler:8786", town.connect, now, patience, 0.02)
    try:
        yield fleet
    finally:
        EchoWire.gate.set()
        fleet.close()


def await_true(condition, within=WITHIN):
    """Wait until a condition holds."""
    ends = time.monotonic() + within
    while not condition():
        assert time.monotonic() < ends, "it did not come true"
        time.sleep(0.01)


def grant_for(endpoint, at=None, key=(0, 1), credential="public"):
    return Grant(Request(key, endpoint, {}), credential, time.time() if at is None else at)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ProcessTown:
    """A scheduler and workers of Dask as processes of their own, on loopback.

    Args:
        variables: the environment of the workers; that of the scheduler has none of them.
    """

    def __init__(self, variables=None):
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.plain = {name: value for name, value in os.environ.items() if "TOKEN" not in name}
        self.environment = {**self.plain, **(variables or {})}
        self.scheduler, self.workers = None, []

    def start_scheduler(self, log=None):
        port = self.address.rpartition(":")[2]
        words = ["scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"]
        self.scheduler = self._run(words, self.plain, log)

    def start_worker(self, name):
        words = ["worker", self.address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        child = self._run([*words, "--name", name, "--death-timeout", "60"], self.environment)
        self.workers.append(child)
        return child

    def _run(self, words, environment, log=None):
        out = subprocess.DEVNULL if log is None else log
        command = [sys.executable, "-m", "distributed.cli." + f"dask_{words[0]}", *words[1:]]
        return subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)

    def end(self, child):
        with suppress(ProcessLookupError):
            child.send_signal(signal.SIGKILL)
        child.wait(WITHIN)

    def end_all(self):
        for child in [*self.workers, *filter(None, [self.scheduler])]:
            self.end(child)


@contextmanager
def process_town(*names, variables=None, log=None):
    """A ProcessTown with a scheduler and workers of these names."""
    town = ProcessTown(variables)
    try:
        town.start_scheduler(log)
        for name in names:
            town.start_worker(name)
        yield town
    finally:
        town.end_all()
