"""How busy a crawl of Bluesky at r = auto keeps its window: 3,000 requests in 5 minutes, answers after 150 ms."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figure import Figure, sized
from socialcrawl.lab.generators.generate import choose_topics, generate, write
from socialcrawl.lab.post_table import read_posts
from socialcrawl.mock.child_process import spawn

TITLE = "Bluesky at r = auto: the mock answers after 150 ms, one window of 3,000 requests in 300 s and what follows it"
TARGET = "at least 99 %"
K, D, LATENCY = sized(3_000, 12), float(sized(300, 1)), "150ms"
SEEDS = sized(40, 10)
USERS = sized(20_000, 200)
CAMPAIGN = """name = "busy"
database = "busy.db"
[topic]
keywords = ["{word}"]
[seeds]
search = false
usernames = {seeds}
[crawl]
estimator = "hybrid-sum"
refresh_rate = "auto"
[budget]
max_requests = {most}
[source]
platform = "bluesky"
base_url = "{url}"
[limits]
k = {k}
d = {d}
"""


def measure(k: int = K, d: float = D, windows: int = 2) -> list[Figure]:
    """Measure the used share of all windows except the last, as the mock counts it, and the chosen refresh rate.

    Args:
        k: requests in a window.
        d: its seconds.
        windows: how many are filled before the campaign ends.
    """
    word = next(iter(choose_topics().values()))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder / "posts.parquet", generate(USERS, 1, posts_per_user=6.0, weeks=1))
        authors = dict.fromkeys(read_posts(folder / "posts.parquet").authors)
        seeds = [f"{name.lower().replace('_', '-')}.mock.social" for name in list(authors)[:SEEDS]]
        options = "--platform", "bluesky", "--latency", LATENCY, "--platform-limit", f"bluesky {k}/{d:g}s"
        with spawn(folder / "posts.parquet", *options, "--report", str(folder / "count.json")) as mock:
            file = CAMPAIGN.format(
                word=word, seeds=json.dumps(seeds), url=mock.url, k=k, d=d, most=windows * k + k // 10
            )
            (folder / "busy.toml").write_text(file, "utf-8")
            command = [sys.executable, "-m", "socialcrawl", "run", str(folder / "busy.toml")]
            ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if ended.returncode != 3:
            raise RuntimeError(ended.stdout + ended.stderr)
        count = json.loads((folder / "count.json").read_text("utf-8"))["platforms"]["bluesky"]
        rate = _rate(folder / "busy.db")
    used = [window["requests"] for window in count["windows"]][:-1]
    share = sum(used) / (k * len(used))
    return [
        Figure(f"requests used of {k:,} in {d:g} s, {len(used)} windows", f"{share:.2%}", TARGET),
        Figure("requests that a window had no room for", f"{count['over']:,}", "0"),
        Figure("refresh rate chosen", f"{rate}", ""),
    ]


def _rate(database: Path) -> int:
    command = [sys.executable, "-m", "socialcrawl", "sql", "select refresh_rate from campaign", "--db", str(database)]
    told = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=True)
    return int(json.loads(told.stdout)[0]["refresh_rate"])
