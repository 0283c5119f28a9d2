"""What the tests of the command line share: a child process, a finished demo, posts and a mock for it."""

import json
import os
import subprocess
import sys
import tempfile
from functools import lru_cache
from types import SimpleNamespace

from x_crawls import TOPIC, posts_file, scratch

COMMAND = [sys.executable, "-m", "socialcrawl"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("X_BEARER_TOKEN", "SOCIALCRAWL_DB")}
DEMO = ("--window", "1s", "--per-window", "30", "--steps", "110", "--missing", "0.1", "--switch-after", "20")


def socialcrawl(*words, folder=None, within=600, token="a-token", given=None, **variables):
    """The finished child process of one command, with a text on stdin if one is given; it never shows a traceback."""
    more = {"X_BEARER_TOKEN": token} if token is not None else {}
    child = subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=folder or tempfile.gettempdir(),
        env={**ENVIRONMENT, **more, **variables},
        capture_output=True,
        text=True,
        timeout=within,
        input=given,
        check=False,
    )
    assert "Traceback" not in child.stderr + child.stdout, child.stderr
    assert "a-token" not in child.stderr + child.stdout
    return child


@lru_cache
def demo_with_seeds():
    """One demo as scripts run it: its folder, database, child process and the object that it printed."""
    folder = scratch()
    given = ("--posts", posts_file(), "--keyword", TOPIC, "--seed-size", 12, "--db", "demo.db", "--json")
    child = socialcrawl("demo", *given, *DEMO, folder=folder)
    assert child.returncode == 0, child.stderr
    told = json.loads(child.stdout)
    return SimpleNamespace(folder=folder, database=folder / "demo.db", child=child, told=told)


def campaign_file(folder, url, **more):
    """A campaign file in `folder` against the mock at `url`."""
    told = {"steps": 8, "keywords": [TOPIC], "most": 4, "timeout": 10.0, "budget": "", **more}
    file = folder / "mine.toml"
    file.write_text(
        f'name = "mine"\ndatabase = "mine.db"\n[topic]\nkeywords = {json.dumps(told["keywords"])}\n'
        f'[seeds]\nmost = {told["most"]}\n[crawl]\nestimator = "bfs"\nsteps = {told["steps"]}\n'
        f'[budget]\n{told["budget"]}\n[source]\nbase_url = "{url}"\ntimeout = {told["timeout"]}\n'
        "[limits]\npause = 0.01\n",
        "utf-8",
    )
    return file
