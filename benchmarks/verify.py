"""How long `socialcrawl verify` takes for a database and for its export, a 100,000 picks."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figure import Figure, sized
from socialcrawl.exporters.export import ExportOptions, export
from socialcrawl.lab.generators.generate import choose_topics, generate, write
from socialcrawl.mock.child_process import spawn
from socialcrawl.storage.database.connection import open_database
from socialcrawl.storage.database.snapshot import open_snapshot
from socialcrawl.verify.exported import verify_export
from socialcrawl.verify.findings import Check, CheckResults
from socialcrawl.verify.verification import verify

STEPS = sized(3_000, 20)
USERS = sized(6_000, 200)
TITLE = f"`verify` of a campaign of {STEPS:,} steps on X, 20 posts a user; reckoned for 100,000 picks"
ESTIMATORS = ("nh-ne-sum", "hybrid-sum")
TOKEN = "SOCIALCRAWL_BENCH_TOKEN"  # the environment variable
CAMPAIGN = """name = "verified"
database = "{estimator}.db"
[topic]
keywords = ["{word}"]
[crawl]
estimator = "{estimator}"
refresh_rate = 10
steps = {steps}
[budget]
confirm_above = 1e6
[source]
base_url = "{url}"
token_env = "{token}"
[limits]
k = 1000000
d = 60.0
"""


def measure() -> list[Figure]:
    """Processor seconds, reckoned for 100,000 picks, of each estimator's database and of its export."""
    figures = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder / "posts.parquet", generate(USERS, 1, posts_per_user=20.0, weeks=2))
        for estimator in ESTIMATORS:
            database, data = folder / f"{estimator}.db", folder / estimator
            _crawl(folder, estimator)
            with open_snapshot(database) as connection:
                checks, seconds = _timed(verify(connection))
            picks = checks["picks"].proved
            figures.append(Figure(f"{estimator}: database", _each(picks, seconds)))
            with open_database(database) as connection:
                export(connection, data, ExportOptions(), time.time())
            found, seconds = _timed(verify_export(data))
            assert all(found[name].proved == checks[name].proved for name in ("picks", "outcomes"))
            figures.append(Figure(f"{estimator}: export as Parquet", _each(picks, seconds)))
            sizes = ("picks", "posts of the ledger", "link weights", "costs of requests")
            counted = ", ".join(f"{checks[name].proved:,} {name}" for name in sizes)
            figures.append(Figure(f"{estimator}: proved", counted))
    return figures


def _crawl(folder: Path, estimator: str) -> None:
    """Run a campaign to its end."""
    with spawn(folder / "posts.parquet", "--per-window", "1000000", "--window", "60s") as mock:
        word, file = next(iter(choose_topics().values())), folder / "campaign.toml"
        file.write_text(
            CAMPAIGN.format(word=word, estimator=estimator, steps=STEPS, url=mock.url, token=TOKEN), "utf-8"
        )
        command = [sys.executable, "-m", "socialcrawl", "run", str(file), "--yes"]
        env = {**os.environ, TOKEN: "a-token-of-the-mock"}
        subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)


def _timed(parts: Iterator[CheckResults]) -> tuple[dict[str, Check], float]:
    """Verify: the checks by name, and seconds of a processor, which wait for nobody."""
    begin = time.process_time()
    found = list(parts)
    assert not any(one.differing for one in found)
    checks = {check.name: check for one in found for check in one.checks}
    return checks, time.process_time() - begin


def _each(picks: int, seconds: float) -> str:
    return f"{seconds * 100_000 / picks:,.0f} s of a processor"
