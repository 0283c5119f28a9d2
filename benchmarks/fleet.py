"""A web of 500 hosts that answer after 100 ms, crawled by one process alone and by 1, 2 and 4 workers."""

import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from benchmarks.figure import Figure, is_tiny, sized
from benchmarks.many_hosts import read_count, serve_hosts
from socialcrawl.campaign.build import OpenCampaign, ProcessContext, build
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.clock import SteadyClock
from socialcrawl.engine.loop import run
from socialcrawl.fleet.fleet_executor import FleetExecutor
from socialcrawl.fleet.shared_fleets import SharedFleets
from socialcrawl.ratelimit.batch_size import TOGETHER
from socialcrawl.render.live_screen import CampaignView

HOSTS, LATENCY = sized(500, 20), 0.1
STEPS = sized(6_000, 16)
D = 1.0  # seconds of a window of a host
WIDE, NARROW = (sized(512, 8), 5), (sized(64, 4), 1)  # accounts read together, and requests in a window of a host
WORKERS = (0, 1) if is_tiny() else (0, 1, 2, 4)
TITLE = f"A web of {HOSTS} hosts, 100 ms an answer: requests sent and stored with 0, 1, 2 and 4 workers"
TARGET = "at least 120"
BUSY = 0.85  # share of the time of one thread, or of one interpreter, from which on it is the bottleneck


class Measured(NamedTuple):
    """What a crawl took: requests that reached the server, seconds, CPU seconds, and the most in a window of a host.

    `workers`, `together` and `k` are how it was made.
    """

    workers: int
    together: int
    k: int
    requests: int
    seconds: float
    deciding: float
    process: float
    most: int

    def name_bottleneck(self) -> str:
        """Return what was busy all the time."""
        if self.deciding >= BUSY * self.seconds:
            return "the thread that decides and stores"
        if self.process >= BUSY * self.seconds:
            return "the interpreter of the deciding process (deciding, storing, messages)"
        threads = TOGETHER * max(1, self.workers)
        if self.requests / self.seconds >= BUSY * threads / LATENCY:
            return f"answers: {threads} requests are on their way at a time"
        return "waiting: for the host with most pages of a batch, for answers, for processors"


def measure() -> list[Figure]:
    """Measure requests a second, CPU time for each, and the use of windows, by the number of workers.

    First with few pages in a batch and narrow windows, where batches wait for hosts whatever sends.
    """
    return [
        *_list_figures(_crawl(0, *NARROW), ""),
        *(one for workers in WORKERS for one in _list_figures(_crawl(workers, *WIDE), TARGET)),
    ]


def _list_figures(found: Measured, target: str) -> list[Figure]:
    name = f"r = {found.together}, k = {found.k}, {found.workers} workers"
    rate = found.requests / found.seconds
    return [
        Figure(f"{name}: requests a second", f"{rate:.0f}", target),
        Figure(f"{name}: use of the windows of {HOSTS} hosts", f"{rate / (HOSTS * found.k / D):.0%}"),
        Figure(f"{name}: requests that a window had no room for", f"{max(0, found.most - found.k)}", "0"),
        Figure(f"{name}: CPU of the deciding thread for a request", _format_each(found.deciding, found.requests)),
        Figure(f"{name}: CPU of the deciding process for a request", _format_each(found.process, found.requests)),
        Figure(f"{name}: bottleneck", found.name_bottleneck()),
    ]


def _format_each(seconds: float, requests: int) -> str:
    return f"{1000 * seconds / requests:.2f} ms"


def _crawl(workers: int, together: int, k: int) -> Measured:
    fleets = SharedFleets(workers)
    with tempfile.TemporaryDirectory() as place, serve_hosts(HOSTS, LATENCY, D) as url, closing(fleets):
        pages = [f"http://host{i}.example/page/0" for i in range(min(together, HOSTS))]
        given = {
            "name": "web",
            "database": Path(place, "web.db"),
            "topic": {"keywords": ["telescope"]},
            "seeds": {"search": False, "usernames": pages},
            "crawl": {"estimator": "nh-ne-sum", "refresh_rate": together, "steps": STEPS},
            "source": {"platform": "web", "base_url": url, "hosts": ["*.example"]},
            "limits": {"k": k, "d": D},
        }
        process = ProcessContext(SteadyClock(), fleets=fleets)
        with closing(build(check_settings(given, "benchmark"), CampaignView(), process)) as campaign:
            _await_workers(campaign, workers)
            begin = time.monotonic(), time.thread_time(), time.process_time()
            reason = run(campaign.parts, size=campaign.together)
            ended = time.monotonic(), time.thread_time(), time.process_time()
        if f"{STEPS:,} steps" not in reason.why:
            raise RuntimeError(reason.why)
        count = read_count(url)
    seconds, deciding, whole = (after - before for before, after in zip(begin, ended, strict=True))
    return Measured(workers, together, k, count["requests"], seconds, deciding, whole, count["most"])


def _await_workers(campaign: OpenCampaign, workers: int) -> None:
    pool = campaign.parts.pool
    while isinstance(pool, FleetExecutor):
        if sum(worker.can_send(pool.campaign) for worker in list(pool.fleet.workers.values())) == workers:
            return
        pool.fleet.wait_for_change(0.1)
