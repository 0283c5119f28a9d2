"""Relevance found on real posts: the hybrid estimator against breadth-first (Gouriten et al., section 6)."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.figure import Figure, is_tiny, sized
from socialcrawl.lab.generators.generate import choose_topics, generate, write

TITLE = "Topical crawl of real IRC posts (`kernel`), 50 drawn seeds, whole timelines, 1,000 steps, 5 seed sets"
SETS = range(1, sized(6, 2))
STEPS, SEEDS = sized(1_000, 20), sized(50, 5)
WHOLE = ("bfs", "nh-n-sum", "nh-e-sum", "nh-ne-sum", "lnh-sum", "hybrid-sum")
ESTIMATORS = ("bfs", "hybrid-sum") if is_tiny() else WHOLE


def measure() -> list[Figure]:
    """Mean relevance over the seed sets by estimator; empty where the posts are not beside the checkout."""
    with tempfile.TemporaryDirectory() as scratch:
        if not is_tiny():
            return _measured(_irc(), "kernel")
        write(Path(scratch) / "posts.parquet", generate(200, 1, posts_per_user=12.0, weeks=2))
        return _measured(Path(scratch) / "posts.parquet", next(iter(choose_topics().values())))


def _irc() -> Path:
    return Path(os.environ.get("SOCIALCRAWL_SHARED") or "../shared") / "data" / "ubuntu_irc.parquet"


def _measured(posts: Path, word: str) -> list[Figure]:
    if not posts.exists():
        return [Figure(f"not measured: {posts} is missing (set SOCIALCRAWL_SHARED)", "-")]
    found = {name: [_crawl(posts, word, name, number) for number in SETS] for name in ESTIMATORS}
    means = {name: sum(run["relevance"] for run in runs) / len(runs) for name, runs in found.items()}
    refused = sum(run["statuses"].get("429", 0) for runs in found.values() for run in runs)
    return [
        *(Figure(f"relevance after 1,000 steps, {name}", _spread(found[name], means[name])) for name in ESTIMATORS),
        Figure("hybrid-sum / bfs", f"{means['hybrid-sum'] / means['bfs']:.2f}", "at least 1.5"),
        Figure("429 answers in all runs", str(refused), "0"),
    ]


def _spread(runs: list[dict[str, Any]], mean: float) -> str:
    values = [run["relevance"] for run in runs]
    return f"{mean:.0f} ({min(values):.0f} to {max(values):.0f})"


def _crawl(posts: Path, word: str, estimator: str, number: int) -> dict[str, Any]:
    options = {
        "--posts": posts,
        "--keyword": word,
        "--seed-size": SEEDS,
        "--seed": number,
        "--steps": STEPS,
        "--estimator": estimator,
        "--switch-after": 50,
        "--window": "3s",
        "--per-window": 100_000,
    }
    with tempfile.TemporaryDirectory() as scratch:
        listed = [str(part) for pair in options.items() for part in pair]
        command = [sys.executable, "-m", "socialcrawl", "demo", *listed, "--db", f"{scratch}/crawl.db", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    run: dict[str, Any] = json.loads(done.stdout)
    return run
