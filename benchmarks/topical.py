"""Relevance found on real posts: the hybrid estimator against breadth-first (Gouriten et al., section 6)."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.figure import Figure

TITLE = "Topical crawl of real IRC posts (`kernel`), 50 drawn seeds, whole timelines, 1,000 steps, 5 seed sets"
SETS = range(1, 6)
ESTIMATORS = ("bfs", "nh-n-sum", "nh-e-sum", "nh-ne-sum", "lnh-sum", "hybrid-sum")


def measure() -> list[Figure]:
    """Mean relevance over the seed sets by estimator; empty where the posts are not beside the checkout."""
    posts = Path(os.environ.get("SOCIALCRAWL_SHARED") or "../shared") / "data" / "ubuntu_irc.parquet"
    if not posts.exists():
        return [Figure(f"not measured: {posts} is missing (set SOCIALCRAWL_SHARED)", "-")]
    found = {name: [_crawl(posts, name, number) for number in SETS] for name in ESTIMATORS}
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


def _crawl(posts: Path, estimator: str, number: int) -> dict[str, Any]:
    options = {
        "--posts": posts,
        "--keyword": "kernel",
        "--seed-count": 50,
        "--seed": number,
        "--steps": 1000,
        "--estimator": estimator,
        "--switch-after": 50,
        "--window": "3s",
        "--limit": 100_000,
    }
    with tempfile.TemporaryDirectory() as scratch:
        listed = [str(part) for pair in options.items() for part in pair]
        command = [sys.executable, "-m", "socialcrawl", "demo", *listed, "--db", f"{scratch}/crawl.db", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    run: dict[str, Any] = json.loads(done.stdout)
    return run
