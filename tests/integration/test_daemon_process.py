"""The daemon as a process: signals, kill -9, other terminals, a second daemon, a disk that is full."""

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from urllib.error import HTTPError
from urllib.request import urlopen

import psycopg
import pytest
from commands import COMMAND, ENVIRONMENT, socialcrawl
from postgres import a_server_database
from postgres import stopped as server_stopped
from x_crawls import TOKEN, TOKEN_ENV, TOPIC, posts_file, rows, sequence

from socialcrawl.engine.loop import GRACE
from socialcrawl.mock.faults import make_hang
from socialcrawl.mock.server import serve_in_thread

SLOW = pytest.mark.chaos


def campaign_file(folder, url, name="one", more=""):
    file = folder / f"{name}.toml"
    file.write_text(
        f'name = "{name}"\ndatabase = "{name}.db"\n[topic]\nkeywords = ["{TOPIC}"]\n[seeds]\nmost = 8\n'
        f'[source]\nbase_url = "{url}"\ntoken_env = "{TOKEN_ENV}"\ntimeout = 20.0\n'
        f"[limits]\nk = 20\nd = 2.0\npause = 0.05\n{more}",
        "utf-8",
    )
    return file


class Process:
    """A daemon that was begun by the command line; its log is JSON."""

    def __init__(self, folder, *options, **variables):
        self.log = folder.parent / f"{folder.name}-{time.monotonic_ns()}.log"
        with self.log.open("wb") as stderr:
            self.child = subprocess.Popen(
                [*COMMAND, "daemon", str(folder), "--log", "json", *options],
                env={**ENVIRONMENT, TOKEN_ENV: TOKEN, **variables},
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )

    def lines(self):
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines() if line.startswith("{")]

    def said(self, *events):
        return [line for line in self.lines() if line["event"] in events]

    def until(self, found, within=300.0):
        ends = time.monotonic() + within
        while not (answer := found()):
            assert time.monotonic() < ends, self.log.read_text("utf-8")[-3000:]
            assert self.child.poll() is None, self.log.read_text("utf-8")[-3000:]
            time.sleep(0.05)
        return answer

    def end(self, number=signal.SIGTERM, within=300.0):
        began = time.monotonic()
        self.child.send_signal(number)
        code = self.child.wait(within)
        return code, time.monotonic() - began


@contextmanager
def daemon(folder, *options, **variables):
    made = Process(folder, *options, **variables)
    try:
        yield made
        text = made.log.read_text("utf-8")
        assert TOKEN not in text
        assert "Traceback" not in text, text[-3000:]
    finally:
        if made.child.poll() is None:
            made.child.kill()
            made.child.wait(300)


@contextmanager
def a_mock(fault=None, window=2.0, posts=None):
    with serve_in_thread(posts or posts_file(), fault, limit=20, window=window) as mock:
        yield mock


def large():
    """Posts of so many accounts that no campaign is done while a test looks on, however slow its commands are."""
    return posts_file(4000, 1, 8.0)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "campaigns"
    made.mkdir()
    return made


def steps(folder, name="one"):
    database = folder / f"{name}.db"
    if not database.exists():
        return 0
    try:
        return rows(database, "select count(*) from outcome")[0][0]
    except Exception:  # noqa: BLE001 (its tables may not be there yet)
        return 0


TELL = """
import json, os, sys
told = json.load(sys.stdin) | {name: os.environ[name] for name in os.environ if name.startswith("SOCIALCRAWL_")}
print(json.dumps(told | {"token": any("the-token" in value for value in os.environ.values())}), file=open(NAME, "a"))
"""


def telling(notes, folder):
    """The section of a campaign file by which every notice is written into a file, a line each."""
    script = folder / "tell.py"
    script.write_text(TELL.replace("NAME", repr(str(notes))), "utf-8")
    return f"[notify]\ncommand = [{json.dumps(sys.executable)}, {json.dumps(str(script))}]\n"


def test_a_daemon_is_looked_at_paused_resumed_and_stopped_from_another_terminal(folder):
    with a_mock(posts=large()) as mock, daemon(folder, "--health", "127.0.0.1:0") as one:
        campaign_file(folder, mock.url)
        one.until(lambda: steps(folder) > 30)
        shown = socialcrawl("status", folder, "--json")
        (told,) = json.loads(shown.stdout)
        assert (told["campaign"], told["alive"], told["pid"]) == ("one", True, one.child.pid)
        assert told["state"] in ("waiting", "running")
        assert told["watched"]
        assert "one" in socialcrawl("status", folder).stdout
        paused = socialcrawl("pause", folder / "one.toml")
        assert "one: is paused" in paused.stdout
        one.until(lambda: one.said("paused"))
        before = steps(folder)
        time.sleep(2.5)  # a window and more: who is not paused goes on
        assert steps(folder) == before
        assert json.loads(socialcrawl("status", folder, "--json").stdout)[0]["state"] == "paused"
        assert f"process {one.child.pid}" in socialcrawl("status", folder).stdout
        assert socialcrawl("run", folder / "one.toml", "--steps", "1", "--json", **{TOKEN_ENV: TOKEN}).returncode == 0
        assert "goes on" in socialcrawl("resume", folder).stdout
        one.until(lambda: steps(folder) > before + 20)
        stopped = socialcrawl("stop", folder)
        assert stopped.returncode == 0, stopped.stdout
        assert one.child.wait(300) == 0
        assert mock.report()["over"] == 0
    assert "no daemon runs" in socialcrawl("stop", folder).stdout
    assert json.loads(socialcrawl("status", folder, "--json").stdout)[0]["alive"] is False


def test_sigterm_waits_eight_seconds_for_what_is_in_flight_and_leaves(folder):
    """A reply that takes an hour is abandoned, and counts as spent; the campaign goes on where it was."""
    hung = []

    def fault(endpoint, nth):
        if "tweets" in endpoint and "search" not in endpoint and nth == 25:
            hung.append(nth)
            return make_hang(3600.0)
        return None

    with a_mock(fault, posts=large()) as mock:
        campaign_file(folder, mock.url)
        with daemon(folder) as one:
            one.until(lambda: hung)
            code, took = one.end()
        assert (code, took > GRACE - 1.0) == (0, True), took
        lost = "select count(*) from request where arrived_at is null"
        assert rows(folder / "one.db", lost) == [(1,)]
        with daemon(folder) as two:
            before = steps(folder)
            two.until(lambda: steps(folder) > before + 20)
            assert two.end()[0] == 0
    picks = [n for (n,) in rows(folder / "one.db", "select n from pick order by n")]
    assert picks == list(range(len(picks)))
    assert rows(folder / "one.db", lost) == [(1,)]


def test_a_restart_tells_nobody_again_and_status_shows_what_is_done_as_done(folder, tmp_path):
    notes = tmp_path / "notes"
    notify = telling(notes, tmp_path)

    def told():
        lines = notes.read_text("utf-8").splitlines() if notes.exists() else []
        return sorted((one["campaign"], one["event"]) for one in map(json.loads, lines))

    def shown():
        return {one["campaign"]: one["state"] for one in json.loads(socialcrawl("status", folder, "--json").stdout)}

    with a_mock() as mock:
        campaign_file(folder, mock.url, "brief", f"[crawl]\nsteps = 5\n{notify}")
        campaign_file(folder, mock.url, "poor", f"[budget]\nmax_requests = 30\n{notify}")
        campaign_file(folder, mock.url, "long")
        with daemon(folder) as first:
            first.until(lambda: len(told()) == 2 and steps(folder, "long") > 20)
            assert first.end()[0] == 0
        assert shown() == {"brief": "done", "long": "stopped", "poor": "stopped"}
        with daemon(folder) as second:
            before = steps(folder, "long")
            second.until(lambda: steps(folder, "long") > before + 20)
            second.until(lambda: shown()["brief"] == "done")
            assert "process" in socialcrawl("status", folder / "brief.toml").stdout
            assert second.end()[0] == 0
        assert (shown()["brief"], shown()["poor"]) == ("done", "stopped")
    assert told() == [("brief", "ended"), ("poor", "paused")]


def test_a_hangup_reads_the_files_again_and_people_are_told_of_what_stops(folder, tmp_path):
    notes = tmp_path / "notes"
    notify = telling(notes, tmp_path)
    with a_mock() as mock, daemon(folder, OTHER_VARIABLE="BBBB-the-token-of-another") as one:
        other = campaign_file(folder, mock.url, "other", "[schedule]\ncron = '0 0 1 1 *'\n")
        other.write_text(other.read_text("utf-8").replace(TOKEN_ENV, "OTHER_VARIABLE"), "utf-8")
        one.until(lambda: one.said("resting"))
        file = campaign_file(folder, mock.url, more=f"[budget]\nmax_requests = 25\n{notify}")
        one.until(lambda: one.said("stopped"))
        os.utime(file, ns=(1, 1))
        campaign_file(folder, mock.url, more="[budget]\nmax_requests = 45\n")
        one.child.send_signal(signal.SIGHUP)
        one.until(lambda: len(one.said("stopped")) == 2)
        assert rows(folder / "one.db", "select count(*) from request where kind <> 'held'") == [(45,)]
        told = json.loads(one.until(lambda: notes.exists() and notes.read_text("utf-8")).splitlines()[0])
        assert (told["SOCIALCRAWL_EVENT"], told["campaign"], told["requests"]) == ("paused", "one", 25)
        assert "max_requests" in told["SOCIALCRAWL_WHY"]
        assert not told["token"]
        one.child.send_signal(signal.SIGINT)
        assert one.child.wait(300) == 0


@SLOW
def test_a_daemon_that_is_killed_again_and_again_loses_nothing(folder, tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    steps_file = "[crawl]\nsteps = 120\n"
    with a_mock() as mock:
        campaign_file(whole, mock.url, more=steps_file)
        with daemon(whole) as calm:
            calm.until(lambda: calm.said("done"))
            calm.end()
        campaign_file(folder, mock.url, more=steps_file)
        for _ in range(8):
            with daemon(folder) as one:
                before = steps(folder)
                one.until(lambda before=before: steps(folder) > before + 5 or one.said("done"))
                one.child.kill()
                one.child.wait(300)
        with daemon(folder) as last:
            last.until(lambda: last.said("done"))
            last.end()
    assert sequence(folder / "one.db") == sequence(whole / "one.db")
    assert rows(folder / "one.db", "select count(*) from request where arrived_at is null")[0][0] <= 8


@SLOW
def test_a_second_daemon_takes_over_what_the_first_lets_go(folder):
    with a_mock(posts=large()) as mock:
        campaign_file(folder, mock.url)
        with daemon(folder) as first:
            first.until(lambda: steps(folder) > 20)
            with daemon(folder) as second:
                second.until(lambda: second.said("elsewhere"))
                assert first.child.pid in [
                    line["pid"] for line in json.loads(socialcrawl("status", folder, "--json").stdout)
                ]
                assert not second.said("running")
                first.end()
                before = steps(folder)
                second.until(lambda: steps(folder) > before + 20)
                first_again = json.loads(socialcrawl("status", folder, "--json").stdout)[0]
                assert first_again["pid"] == second.child.pid
                second.end()
        assert mock.report()["over"] == 0


@SLOW
def test_a_full_disk_is_said_and_waited_for(folder):
    with a_mock(posts=large()) as mock, daemon(folder) as one:
        campaign_file(folder, mock.url)
        one.until(lambda: steps(folder) > 20)
        size = max(file.stat().st_size for file in folder.glob("one.db*"))
        _, hard = resource.prlimit(one.child.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(one.child.pid, resource.RLIMIT_FSIZE, (size, hard))
        one.until(lambda: one.said("broken"))
        assert "full" in one.said("broken")[0]["why"]
        time.sleep(15.0)  # several tries
        resource.prlimit(one.child.pid, resource.RLIMIT_FSIZE, (hard, hard))
        before = steps(folder)
        one.until(lambda: steps(folder) > before + 20)
        for event in ("a database cannot be used: its campaigns wait for it", "the database is back"):
            assert len(one.said(event)) <= 1
        assert one.end()[0] == 0
    assert rows(folder / "one.db", "pragma integrity_check") == [("ok",)]
    picks = [n for (n,) in rows(folder / "one.db", "select n from pick order by n")]
    assert picks == list(range(len(picks)))


@SLOW
def test_a_server_that_hangs_holds_up_nobody_but_itself(folder):
    """PostgreSQL is stopped (SIGSTOP): the heartbeat, files and other databases are looked after as ever."""

    def shown():
        return {one["campaign"]: one["state"] for one in json.loads(socialcrawl("status", folder, "--json").stdout)}

    def picks(place):
        with psycopg.connect(place.url) as raw:
            return [n for (n,) in raw.execute("select n from pick order by n")]

    options = {"OTHER_VARIABLE": "BBBB-the-token-of-another"}  # its windows are its own, as its database is
    with a_server_database() as place, a_mock() as mock, daemon(folder, "--health", "127.0.0.1:0", **options) as one:
        campaign_file(folder, mock.url, "file")
        hung = campaign_file(folder, mock.url, "hung")
        text = hung.read_text("utf-8").replace("hung.db", place.url).replace(TOKEN_ENV, "OTHER_VARIABLE")
        hung.write_text(text, "utf-8")
        one.until(lambda: steps(folder, "file") > 20)
        one.until(lambda: len(picks(place)) > 20)
        before = picks(place)
        with server_stopped():
            one.until(lambda: one.said("broken"))
            assert "hung" in [line["campaign"] for line in one.said("broken")]
            campaign_file(folder, mock.url, "late")
            one.until(lambda: steps(folder, "late") > 20)
            assert [name for name, state in shown().items() if state == "broken"] == ["hung"]
            url = one.said("the health page is served")[0]["url"]
            with pytest.raises(HTTPError) as ill:
                urlopen(url, timeout=10)
            with ill.value as page:
                told = json.load(page)
            assert [line["campaign"] for line in told["campaigns"] if line["state"] == "broken"] == ["hung"]
            assert not [why for why in told["why"] if "heart" in why]
        one.until(lambda: len(picks(place)) > len(before), 90)
        one.until(lambda: shown()["hung"] != "broken", 30)
        assert one.end()[0] == 0
        after = picks(place)
        assert mock.report()["over"] == 0
    assert after[: len(before)] == before
    assert after == list(range(len(after)))


@SLOW
def test_a_locked_database_delays_neither_other_campaigns_nor_the_end(folder):
    with a_mock(posts=large()) as mock, daemon(folder) as one:
        campaign_file(folder, mock.url)
        campaign_file(folder, mock.url, "two")
        one.until(lambda: steps(folder) > 20 and steps(folder, "two") > 20)
        with closing(sqlite3.connect(folder / "one.db", isolation_level=None, timeout=20)) as other:
            other.execute("begin immediate")
            assert "is paused" in socialcrawl("pause", folder / "two.toml").stdout
            one.until(lambda: one.said("paused"))
            assert "one" in socialcrawl("status", folder).stdout
            code, _ = one.end()
            assert code == 1
            assert one.lines()[-1]["left_behind"] == ["one"]
            other.execute("rollback")
    assert rows(folder / "one.db", "pragma integrity_check") == [("ok",)]
