"""A crash anywhere costs at most the requests in flight, and the crawl goes on as if nothing had happened.

First every kill point of a small crawl, before and after each durable change; then real processes and real signals.
"""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import pytest
from postgres import a_place
from stores import rows
from tiny_town import Clock, Wire, close, parts_of, stored, story

from socialcrawl.engine.loop import run
from socialcrawl.lab.generators.generate import choose_topics, generate, write

CHANGES = ("enlist", "open", "reserve", "save", "finish")
STEPS = 5
EVERY = {"sqlite": 2, "postgres": 6}  # a server's databases take their time to be made


class KilledError(BaseException):
    """The process is gone."""


class Mortal:
    """A store whose process dies before or after durable change number `moment`."""

    def __init__(self, store, moment=-1, *, after=False):
        self.store, self.moment, self.after, self.changes = store, moment, after, 0

    def __getattr__(self, name):
        method = getattr(self.store, name)
        if name not in CHANGES:
            return method

        def mortal(*args):
            dies = self.changes == self.moment
            self.changes += 1
            if dies and not self.after:
                raise KilledError
            result = method(*args)
            if dies:
                raise KilledError
            return result

        return mortal


def live(path, wire, size, moment=-1, *, after=False):
    """One process: everything is built from the file. Its number of durable changes."""
    store = stored(path)
    mortal = Mortal(store, moment, after=after)
    with suppress(KilledError):
        assert run(parts_of(mortal, wire, steps=STEPS), size=size).kind == "done"
    close(store)
    return mortal.changes


def told(path):
    store = stored(path)
    result = story(store)
    assert store.unfinished() == ()
    close(store)
    return result


def lost(path):
    """Requests whose replies never came."""
    store = stored(path)
    (count,) = rows(store, "select count(*) from request where arrived_at is null")[0]
    close(store)
    return count


@pytest.mark.parametrize(("size", "after"), [(1, True), (4, False)], ids=["1-after", "4-before"])
def test_a_crawl_killed_at_any_durable_change_goes_on_to_the_same_end(database, size, after):
    calls = Wire(Clock())
    with a_place(database) as undisturbed:
        changes = live(undisturbed, calls, size)
        expected = told(undisturbed)
    assert {row[2] for row in expected} == {"search", "resolve", "seed", "expand"}
    assert any(len([call for call in calls.calls if call[1] == other[1]]) == 3 for other in calls.calls), "3 pages"
    for moment in range(0, changes, EVERY[database]):
        wire = Wire(Clock())
        with a_place(database) as path:
            assert live(path, wire, size, moment, after=after) == moment + 1
            live(path, wire, size)
            assert told(path) == expected
            twice = sum(count - 1 for count in Counter(wire.calls).values())
            assert twice <= lost(path) <= max(size, 2)  # a look-up by id and one by name fly together
        assert set(wire.calls) == set(calls.calls)
        assert all(received <= 6 for referee in wire.referees.values() for _, received in referee.windows)


def test_a_crawl_that_dies_again_and_again_arrives(database):
    wire, draw = Wire(Clock()), random.Random(5)
    with a_place(database) as undisturbed, a_place(database) as path:
        live(undisturbed, Wire(Clock()), 4)
        for _ in range(200):
            moment = draw.randrange(2, 9)
            if live(path, wire, 4, moment, after=draw.random() < 0.5) <= moment:
                break
        assert told(path) == told(undisturbed)


# --- real processes -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def posts(tmp_path_factory):
    path = tmp_path_factory.mktemp("posts") / "posts.parquet"
    write(path, generate(200, 3, posts_per_user=30.0, weeks=2, only=list(choose_topics())[:2]))
    return path


def command(posts, database):
    word = next(iter(choose_topics().values()))
    options = [
        "--keyword",
        word,
        "--seed-size",
        "10",
        "--steps",
        "60",
        "--window",
        "1s",
        "--per-window",
        "40",
        "--json",
    ]
    return [sys.executable, "-m", "socialcrawl", "demo", "--posts", str(posts), "--db", str(database), *options]


def start(posts, database):
    return subprocess.Popen(
        command(posts, database), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def finished(posts, database):
    with start(posts, database) as process:
        out, err = process.communicate()
    return process.returncode, out, err


def outcome(database):
    """The nodes in order by platform id, with what they were worth."""
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(
            "select p.n, p.act, p.score, coalesce(a.platform_id, a.username), o.value, o.occurrences, o.posts, "
            "o.missing from pick p join outcome o using (campaign, n) left join account a on a.node = p.node order by n"
        ).fetchall()


def steps(database):
    try:
        with closing(sqlite3.connect(database)) as connection:
            return connection.execute("select count(*) from outcome").fetchone()[0]
    except sqlite3.Error:
        return 0


def children(process):
    """The process ids of the children of a process."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if status.read_text().rpartition(")")[2].split()[1] == str(process.pid):
                found.append(int(status.parent.name))
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pids, within=60.0):
    """Those that outlive their parent; they are ended here."""
    limit = time.monotonic() + within
    while (left := [pid for pid in pids if alive(pid)]) and time.monotonic() < limit:
        time.sleep(0.02)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return left


@pytest.fixture(scope="module")
def undisturbed(posts, tmp_path_factory):
    database = tmp_path_factory.mktemp("whole") / "whole.db"
    code, out, err = finished(posts, database)
    assert (code, err) == (0, "")
    assert json.loads(out)["steps"] == 60
    return outcome(database)


def killed_once(posts, database, after):
    """Kill the demo `after` further outcomes (it may be done by then); what it left behind."""
    already = steps(database)
    with start(posts, database) as process:
        while process.poll() is None and steps(database) < already + after:
            time.sleep(0.005)
        mock = children(process)
        process.kill()
        process.communicate()
    return gone(mock)


def killed_and_run_again(posts, database, kills, undisturbed):
    draw = random.Random(kills)
    for _ in range(kills):
        assert killed_once(posts, database, draw.randrange(70 // min(kills, 10))) == [], "the mock outlived its demo"
    code, out, err = finished(posts, database)
    assert (code, err) == (0, "")
    assert set(json.loads(out)["statuses"]) <= {"200"}
    assert outcome(database) == undisturbed


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="children are found in /proc")
def test_a_process_killed_at_any_moment_goes_on_to_the_same_end(posts, tmp_path, undisturbed):
    killed_and_run_again(posts, tmp_path / "killed.db", 3, undisturbed)


@pytest.mark.chaos
def test_a_process_killed_thirty_times_goes_on_to_the_same_end(posts, tmp_path, undisturbed):
    killed_and_run_again(posts, tmp_path / "killed.db", 30, undisturbed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_process_says_so_and_goes_on(posts, tmp_path, undisturbed, number):
    database = tmp_path / "interrupted.db"
    with start(posts, database) as process:
        while process.poll() is None and steps(database) < 20:
            time.sleep(0.005)
        mock = children(process)
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, err) == (130, "")
    assert "run again to go on" in json.loads(out)["reason"]
    assert gone(mock) == []
    assert lost(database) == 0
    assert finished(posts, database)[0] == 0
    assert outcome(database) == undisturbed
