"""What the tests of the command line share: a child process, a finished demo, posts and a mock for it."""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from threading import Lock
from types import SimpleNamespace

from killed_campaigns import nursery
from x_crawls import TOPIC, posts_file, scratch

COMMAND = [sys.executable, "-m", "socialcrawl"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("X_BEARER_TOKEN", "SOCIALCRAWL_DB")}
DEMO = ("--window", "1s", "--per-window", "30", "--steps", "110", "--missing", "0.1", "--switch-after", "20")


BUSY = Lock()  # one command at a time is forked; those of other threads begin as any process does


def socialcrawl(*words, folder=None, within=None, token="a-token", given=None, **variables):
    """The finished child process of one command, with a text on stdin if one is given; it never shows a traceback.

    It is forked from a process that has imported the command line, but where Python itself reads `variables` as it
    starts, or where it has to end `within` so many seconds.
    """
    more = {"X_BEARER_TOKEN": token} if token is not None else {}
    words = [*map(str, words)]
    forked = within is None and not any(name.startswith("PYTHON") for name in variables.keys() - {"PYTHONPATH"})
    folder = folder or tempfile.gettempdir()
    variables = {name: str(value) for name, value in {**ENVIRONMENT, **more, **variables}.items()}
    if forked and BUSY.acquire(blocking=False):
        try:
            child = run_forked(words, folder, variables, given)
        finally:
            BUSY.release()
    else:
        child = subprocess.run(
            [*COMMAND, *words],
            cwd=folder,
            env=variables,
            capture_output=True,
            text=True,
            timeout=within or 600,
            input=given,
            check=False,
        )
    assert "Traceback" not in child.stderr + child.stdout, child.stderr
    assert "a-token" not in child.stderr + child.stdout
    return child


@lru_cache
def find_nursery():
    """Where commands are forked: it ends with this process."""
    open_until_the_end = ExitStack()
    atexit.register(open_until_the_end.close)
    return open_until_the_end.enter_context(nursery(scratch() / "errors", "forked_commands"))


def run_forked(words, folder, variables, given):
    """The finished command, of a child that was forked."""
    with tempfile.TemporaryDirectory() as place:
        streams = [Path(place, name) for name in ("in", "out", "error")]
        for file, text in zip(streams, (given or "", "", ""), strict=True):
            file.write_text(text)
        code = find_nursery().run(words, str(folder), variables, [*map(str, streams)])
        said, complaints = (file.read_text() for file in streams[1:])
    return subprocess.CompletedProcess(words, code, said, complaints)


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
