"""LiveRanks at the scale of the paper's datasets: PageRank and both adaptive ranks on 150 M links, time and memory."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.figure import Figure, sized
from socialcrawl.crawls.refresh.liveranks import LiveRanks
from socialcrawl.crawls.refresh.old_dataset import OldDataset
from socialcrawl.graph.links import find_distinct

TITLE = "LiveRanks on a generated graph of 10,000,000 nodes and 150,000,000 links"
NODES, LINKS = sized(10_000_000, 2_000), sized(150_000_000, 30_000)
DANGLING = 0.2  # share of nodes without links out
SAMPLE = sized(100_000, 200)  # z, at random
ACTIVE = 0.15  # share of these that are active
TOLERANCE = 1e-6  # L1 change
ROWS = 250_000  # made at a time
GIB = 2**30


def measure() -> list[Figure]:
    """Seconds and peak memory of a process of its own, which reads the graph from files; making it is not measured."""
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch)
        links = make(made, NODES, LINKS)
        command = [sys.executable, "-m", "benchmarks.liverank", scratch]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    ranks = found["ready"] + found["ranks"]
    return [
        Figure("links, distinct", f"{links:,}"),
        Figure("making ready: links turned round, blocks", f"{found['ready']:.0f} s"),
        Figure("P, Pa and Pa+/- to an L1 change below 1e-6, making ready included", f"{ranks:.0f} s", "under 240 s"),
        Figure("processor time of that, all threads", f"{found['work']:.0f} s"),
        Figure("their three orders", f"{found['orders']:.0f} s"),
        Figure("peak memory of the process, graph included", f"{found['peak'] / GIB:.1f} GiB", "under 5.6 GiB (6 GB)"),
    ]


def make(folder: Path, nodes: int, links: int, seed: int = 1) -> int:
    """Write a graph to `folder`: in-degrees by a power law, some dangling rows; return its number of links."""
    rng = np.random.default_rng(seed)
    mean = links / nodes / (1.0 - DANGLING)
    counts, parts = [np.zeros(1, np.int64)], []
    for begin in range(0, nodes, ROWS):
        size = min(ROWS, nodes - begin)
        degree = np.minimum(rng.pareto(2.5, size) * mean * 1.5 + 0.5, 5000.0).astype(np.int64)
        degree[rng.random(size) < DANGLING] = 0
        sources = np.repeat(np.arange(size), degree)
        hubs = (nodes * rng.random(len(sources)) ** 2.5).astype(np.int64)
        pairs = find_distinct(sources * nodes + hubs * 7_368_787 % nodes)  # a prime spreads the hubs over the rows
        pairs = pairs[pairs // nodes + begin != pairs % nodes]
        counts.append(np.bincount(pairs // nodes, minlength=size))
        parts.append((pairs % nodes).astype(np.int32))
    np.save(folder / "indptr.npy", np.cumsum(np.concatenate(counts)))
    np.save(folder / "indices.npy", np.concatenate(parts))
    return sum(map(len, parts))


def ranked(folder: Path) -> dict[str, float]:
    """Return what the three ranks of the graph in `folder` take: seconds, and bytes at the peak."""
    old = OldDataset(np.load(folder / "indptr.npy"), np.load(folder / "indices.npy"))
    ranks = LiveRanks(old, 1, tolerance=TOLERANCE)
    tested = ranks.choose_training("random", SAMPLE)
    active = np.random.default_rng(2).random(SAMPLE) < ACTIVE
    begin, busy = time.perf_counter(), time.process_time()
    _ = ranks.spread
    ready = time.perf_counter()
    scores: dict[str, NDArray[Any]] = ranks.score_all_adaptive(tested, active)
    done, work = time.perf_counter(), time.process_time() - busy
    for rank in ("pagerank", "pa", "pa+-"):
        ranks.order_by(rank, scores[rank], tested)
    ordered = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    return {"ready": ready - begin, "ranks": done - ready, "work": work, "orders": ordered - done, "peak": peak}


if __name__ == "__main__":
    print(json.dumps(ranked(Path(sys.argv[1]))))
