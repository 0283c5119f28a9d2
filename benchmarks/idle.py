"""What a daemon takes whose campaigns all rest: processor and memory of the process, over a minute."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figure import Figure, sized
from socialcrawl.lab.generators.generate import choose_topics, generate, write
from socialcrawl.lab.post_table import Posts, read_posts
from socialcrawl.mock.server import serve_in_thread

TITLE = "Idle daemon: three campaigns that have worked and rest, health page served, over 60 s"
SECONDS = sized(60, 1)
SETTLED = sized(2, 0)  # seconds from the last campaign's rest to the first look
CAMPAIGN = """name = "{name}"
database = "{name}.db"
[topic]
keywords = ["{word}"]
[seeds]
most = 8
[source]
base_url = "{url}"
[limits]
k = 20
d = 900
[schedule]
every = "9h"
"""


def measure() -> list[Figure]:
    """Measure the share of a core and the resident memory."""
    word = next(iter(choose_topics().values()))
    with tempfile.TemporaryDirectory() as place, serve_in_thread(_posts(Path(place)), limit=20, window=900.0) as mock:
        folder = Path(place) / "campaigns"
        folder.mkdir()
        for name in ("one", "two", "three"):
            (folder / f"{name}.toml").write_text(CAMPAIGN.format(name=name, word=word, url=mock.url), "utf-8")
        command = [
            sys.executable,
            "-m",
            "socialcrawl",
            "daemon",
            str(folder),
            "--log",
            "json",
            "--health",
            "127.0.0.1:0",
        ]
        with (Path(place) / "log").open("wb") as log:
            child = subprocess.Popen(command, stderr=log, env={**os.environ, "X_BEARER_TOKEN": "bench"})
        try:
            _rest(Path(place) / "log", child)
            time.sleep(SETTLED)
            before = read_seconds(child.pid)
            time.sleep(SECONDS)
            share = (read_seconds(child.pid) - before) / SECONDS
            memory = _resident(child.pid)
        finally:
            child.terminate()
            child.wait(15)
    return [
        Figure("of one core", f"{100 * share:.2f} %", "under 1 %"),
        Figure("resident memory", f"{memory:.0f} MB", "under 200 MB"),
    ]


def _posts(folder: Path) -> Posts:
    write(folder / "posts.parquet", generate(300, 1, posts_per_user=12.0, weeks=2, only=list(choose_topics())[:2]))
    return read_posts(folder / "posts.parquet")


def _rest(log: Path, child: "subprocess.Popen[bytes]") -> None:
    ends = time.monotonic() + 60.0
    while log.read_text("utf-8").count('"event": "resting"') < 3:
        if time.monotonic() > ends or child.poll() is not None:
            raise SystemExit(log.read_text("utf-8")[-2000:])
        time.sleep(0.2)


def read_seconds(pid: int) -> float:
    """Return the processor time of a process so far, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> float:
    return int(Path(f"/proc/{pid}/status").read_text("ascii").split("VmRSS:")[1].split()[0]) / 1024
