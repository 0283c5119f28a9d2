"""A live capture can be rehearsed as its page says: the mock's posts come to the present, and appear as time passes."""

import re
import signal
import sqlite3
import subprocess
import time
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from subprocess import PIPE

import numpy as np
import pytest
from archive_captures import reported
from commands import COMMAND, ENVIRONMENT, socialcrawl

from socialcrawl.lab.generators.generate import choose_topics, generate
from socialcrawl.mock.child_process import spawn

PAGE = (Path(__file__).parents[2] / "docs/how-to/capture.md").read_text("utf-8")
REHEARSAL = PAGE[PAGE.index("### A rehearsal") : PAGE.index("## Turn ids back")]
AHEAD = 600.0  # seconds; the page has an hour
QUICK = "\n[limits]\nk = 100000\nd = 1.0\n"
TOKENS = {"X_BEARER_TOKEN": "a-token", "MASTODON_TOKEN": "a-token"}
DATABASE = "socialcrawl.db"
TAGS = ", ".join(f'"#{word}"' for word in choose_topics().values())  # one of them alone is seldom used
PATIENCE = 300.0  # seconds that no test waits
MORE = {
    "x": "",
    "bluesky": 'platform = "bluesky"',
    "mastodon": 'platform = "mastodon"\ndomain = "home.example"\ntoken_env = "MASTODON_TOKEN"',
}


@pytest.fixture
def mock():
    with spawn("--port", "0", "--live", f"{AHEAD:.0f}s", command=[*COMMAND, "mock", "--with-stdin"]) as child:
        yield child


@pytest.mark.parametrize("platform", MORE)
def test_the_page_says_how_the_past_and_the_stream_are_rehearsed(platform, mock, tmp_path):
    [file] = re.findall(r"```toml\n(.*?)```", REHEARSAL, re.DOTALL)
    begin = datetime.fromtimestamp(time.time() - 10 * AHEAD, UTC)
    for old, new in (
        ("from = 2026-11-26", f"from = {begin:%Y-%m-%dT%H:%M:%SZ}"),
        ("live = true", 'live = true\nsegment = "100ms"'),
        ("http://127.0.0.1:8000", mock.url),
        ('"telescope"', TAGS if platform == "mastodon" else '"telescope"'),
    ):
        assert old in file
        file = file.replace(old, new)
    (tmp_path / "rehearsal.toml").write_text(file + MORE[platform] + QUICK, "utf-8")
    words = [*COMMAND, "run", "rehearsal.toml"]
    with subprocess.Popen(words, cwd=tmp_path, env=ENVIRONMENT | TOKENS, stdout=PIPE, stderr=PIPE, text=True) as child:
        until = time.monotonic() + PATIENCE
        while child.poll() is None and time.monotonic() < until and not count_streamed(tmp_path / DATABASE):
            time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        said, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 128 + signal.SIGINT, errors
    assert "requests that failed" not in said
    assert reported(tmp_path / DATABASE)["stream"]["posts"] > 0


def count_streamed(database):
    """How many parts of the stream have brought posts so far."""
    query = "select count(*) from pick join outcome using (campaign, n) where act = 'live' and outcome.posts > 0"
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        return opened.execute(query).fetchone()[0]
    return 0


def test_posts_that_are_spread_keep_their_order_and_fill_the_span():
    posts = generate(200, 1)
    moved = posts.spread(1_000, 1_600)
    assert (moved.schedule.time.min(), moved.schedule.time.max()) == (1_000, 1_599)
    assert np.all(np.diff(moved.schedule.time) >= 0)
    share = np.corrcoef(posts.schedule.time, moved.schedule.time)[0, 1]
    assert share > 0.9999


@pytest.mark.parametrize("option", [("--speed", "2"), ("--posts", "a.csv"), ("--now", "2026-11-26")])
def test_posts_that_are_moved_to_the_present_have_no_other_time(option):
    child = socialcrawl("mock", "--live", "1h", *option)
    assert child.returncode != 0
    assert f"leave out {option[0]}, or --live" in child.stderr


def test_a_number_without_a_unit_is_refused_with_what_to_write():
    child = socialcrawl("mock", "--live", "1")
    assert child.returncode != 0
    assert "with a unit, such as 1h" in child.stderr
