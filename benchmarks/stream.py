"""A live capture on Jetstream with the topic in 1 of 100 posts: events per second, lag, memory.

A separate process sends events that were made before, so that making them is not measured. It sends as fast as it can,
and then at a steady rate. The whole campaign runs: reading, matching, storing.
"""

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import orjson

from benchmarks.figure import Figure, sized
from socialcrawl.campaign.build import build
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.clock import InterruptibleClock
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Act, Outcome
from socialcrawl.engine.protocols import Batch
from socialcrawl.engine.stream_places import parse_part
from socialcrawl.lab.generators.generate import generate, write
from socialcrawl.mock.child_process import spawn
from socialcrawl.render.live_screen import CampaignView

TITLE = "A live capture on Jetstream, the topic in 1 of 100 posts"
EVENTS, RATE, SECONDS = sized(200_000, 2_000), 5_000, sized(20, 1)
EACH = 100  # posts of which one matches
OTHER = "nobody broke a plate this morning, and we all went home by train number {} #mood https://example.org/{}"


def measure() -> list[Figure]:
    """Return events per second of processor time and of a clock, lag and memory."""
    fast = _capture(0, EVENTS)
    steady = _capture(RATE, RATE * SECONDS)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        Figure("events per second of processor time", f"{EVENTS / fast.processor:,.0f}", "at least 5,000"),
        Figure("events per second, sent as fast as possible", f"{EVENTS / fast.elapsed:,.0f}", ""),
        Figure(f"lag at {RATE:,} events a second, segments of 1 s: most", f"{max(steady.lags):.2f} s", ""),
        Figure(f"processor at {RATE:,} events a second", f"{100 * steady.processor / steady.elapsed:.0f}% of one", ""),
        Figure("memory of the process at most", f"{peak:,.0f} MB", ""),
    ]


class _Measured(CampaignView):
    """Ends the run when all posts are stored; notes how far behind the stream was when each segment was."""

    def __init__(self, posts: int, clock: InterruptibleClock) -> None:
        super().__init__()
        self.left, self.clock, self.lags = posts, clock, list[float]()
        self.begun = self.processor = self.elapsed = 0.0
        self._used = time.process_time()

    def learned(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """See `Watcher.learned`."""
        found = [one for pick, one in zip(batch, outcomes, strict=True) if pick.act == Act.LIVE and one.posts]
        if not found:
            self.begun, self._used = time.perf_counter(), time.process_time()  # as long as nothing has come
            return
        self.lags.append(time.time() - parse_part(found[-1].mark).end.at)
        self.left -= sum(one.posts for one in found)
        self.elapsed, self.processor = time.perf_counter() - self.begun, time.process_time() - self._used
        if self.left <= 0:
            self.clock.interrupt()


def _capture(rate: int, events: int) -> _Measured:
    """Return what a capture measured while `events` came, at a rate; 0: as fast as possible."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write(folder / "posts.parquet", generate(200, 1))
        with spawn(folder / "posts.parquet") as mock, _sending(rate, events) as address:
            clock = InterruptibleClock()
            view = _Measured(events // EACH, clock)
            now = datetime.fromtimestamp(time.time() - 3_600, UTC)
            given = {
                "name": "stream",
                "kind": "capture",
                "database": str(folder / "a.db"),
                "topic": {"keywords": ["telescope"]},
                "capture": {"from": f"{now:%Y-%m-%dT%H:%M:%SZ}", "live": True, "segment": "1s", "stream": address},
                "source": {"platform": "bluesky", "base_url": mock.url, "opt_outs": False},
            }
            campaign = build(check_settings(given, "the benchmark"), view, clock=clock)
            try:
                run(campaign.parts, size=campaign.together)
            finally:
                campaign.close()
            return view


@contextmanager
def _sending(rate: int, events: int) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.stream", str(rate), str(events)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as child:
        assert child.stdout is not None
        try:
            yield child.stdout.readline().strip()
        finally:
            child.terminate()


def _make_event(number: int, at: float) -> bytes:
    text = "a new telescope on the roof" if number % EACH == 0 else OTHER.format(number, number)
    stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    record = {"$type": "app.bsky.feed.post", "text": text, "createdAt": stamp, "langs": ["en"]}
    payload = {
        "$type": "network.bsky.jetstream.subscribeEvents#commit",
        "seq": number + 1,
        "did": f"did:plc:{number % 4_999:024d}",
        "time": stamp,
        "rev": "3k",
        "operation": "create",
        "collection": "app.bsky.feed.post",
        "rkey": f"3k{number:011d}",
        "cid": "bafyreib",
        "record": record,
    }
    return orjson.dumps({"$type": "message", "payload": payload})


async def _send(rate: int, events: int) -> None:
    from websockets.asyncio.server import ServerConnection, serve  # noqa: PLC0415 - the sender alone needs it

    begin = time.time()
    made = [_make_event(number, begin).decode() for number in range(events)] if not rate else []

    async def answer(socket: ServerConnection) -> None:
        began = time.time()
        for number in range(events):
            if rate and number % 50 == 0:
                await asyncio.sleep(max(0.0, began + number / rate - time.time()))
            await socket.send(made[number] if made else _make_event(number, time.time()).decode())
        await socket.wait_closed()

    async with serve(answer, "127.0.0.1", 0, compression=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        print(f"ws://127.0.0.1:{port}", flush=True)
        await asyncio.Future()


if __name__ == "__main__":
    asyncio.run(_send(int(sys.argv[1]), int(sys.argv[2])))
