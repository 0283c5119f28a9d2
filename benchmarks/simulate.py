"""100,000 steps on graphs of the size of the paper's Twitter data, each replay in a process of its own."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figure import Figure, sized
from socialcrawl.lab.generators.twitterlike import TOPICS, generate_twitter_like
from socialcrawl.lab.graphs import read, write

TITLE = "Replayed crawls: 17 M nodes, 93 M links, 50 seeds, 100,000 steps at r = 1"
USERS, LINKS = sized(17_000_000, 5_000), sized(93_000_000, 30_000)
BUDGET, SEEDS = sized(100_000, 50), sized(50, 5)
WORLDS = {"happy": "many positive nodes", "jazz": "the positive frontier runs out, millions tie at 0"}
TARGETS = {"nh-ne-sum": "under 15 s", "hybrid-sum": "under 40 s", "adaptive": "under 120 s"}


def measure() -> list[Figure]:
    """Seconds without loading, peak memory with it; links and frontier are counted from the steps."""
    figures = []
    with tempfile.TemporaryDirectory() as scratch:
        for topic, what in WORLDS.items():
            folder, seeds = Path(scratch) / topic, Path(scratch) / f"{topic}.txt"
            begin = time.perf_counter()
            graph = generate_twitter_like(USERS, LINKS, *TOPICS[topic], seed=1)
            made = time.perf_counter() - begin
            figures.append(Figure(f"{topic}: generating the graph", f"{made:.0f} s", "under 60 s"))
            write(graph, folder)
            drawn = np.random.default_rng(3).choice(np.flatnonzero(graph.beta > 0), SEEDS, replace=False)
            seeds.write_text("\n".join(map(str, drawn.tolist())))
            del graph
            for estimator, target in TARGETS.items():
                done = _replayed(folder, seeds, estimator)
                name = f"{topic} ({what}), {estimator}"
                figures.append(Figure(f"{name}: time", f"{done['seconds']:.1f} s", target))
                figures.append(Figure(f"{name}: peak memory", f"{done['peak_rss_mb'] / 1024:.1f} GB", "under 6 GB"))
                figures.append(Figure(f"{name}: touched", _touched(folder, [*drawn.tolist(), *done["steps"]])))
    return figures


def _replayed(graph: Path, seeds: Path, estimator: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "socialcrawl", "simulate", "--graph", str(graph), "--seeds", str(seeds)]
    command += ["--estimator", estimator, "--steps", str(BUDGET), "--json"]
    done: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=900).stdout)
    return done


def _touched(folder: Path, asked: list[int]) -> str:
    graph = read(folder)
    targets = np.concatenate([graph.list_links(node)[0] for node in asked])
    frontier = len(np.setdiff1d(targets, asked))
    return f"{len(targets) / 1e6:.1f} M links, {frontier / 1e6:.1f} M nodes in the frontier"
