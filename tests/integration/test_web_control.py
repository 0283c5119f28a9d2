"""Campaigns that pages start and stop: real processes, killed by real signals, and nothing is lost or paid twice."""

import os
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress

import httpx
import pytest
from commands import COMMAND, ENVIRONMENT
from test_daemon_process import daemon
from web_pages import served
from x_crawls import TOKEN, TOKEN_ENV, TOPIC, posts_file, rows

import socialcrawl as sc
from socialcrawl.mock.server import serve_in_thread

WITHIN = 300.0
TOWN = """name = "town"  # ours
database = "town.db"
[topic]
keywords = ["{topic}"]
[seeds]
most = 8
[crawl]
steps = {steps}
[source]
base_url = "{url}"
token_env = "{token}"
[limits]
k = 6
d = 1.0
pause = 0.05
"""


@pytest.fixture
def mock():
    with serve_in_thread(posts_file(), limit=6, window=1.0) as one:
        yield one
        assert one.report()["over"] == 0


@pytest.fixture
def folder(tmp_path, mock):
    made = tmp_path / "campaigns"
    made.mkdir()
    write(made, mock)
    yield made
    kill_all(made)


def write(folder, mock, steps=60):
    (folder / "town.toml").write_text(TOWN.format(topic=TOPIC, steps=steps, url=mock.url, token=TOKEN_ENV), "utf-8")


def kill_all(folder):
    """Kill the processes that pages started for campaigns of this folder, if a test left some behind."""
    if (folder / "town.db").exists():
        for host_pid in rows(folder / "town.db", "select pid from daemon where ended_at is null"):
            if str(folder) in read_command(host_pid[0]):
                os.kill(host_pid[0], signal.SIGKILL)


def read_command(pid):
    """The command line of a process of this machine; the empty text where it is gone."""
    done = subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout


@contextmanager
def control(folder, tmp_path, token=TOKEN):
    """The HTTP API of `socialcrawl ui` on a folder, with its token, and the process."""
    with ExitStack() as ends:
        pages = ends.enter_context(served(folder, state=tmp_path / "state", **{TOKEN_ENV: token}))
        headers = {"authorization": f"Bearer {pages.token}"}
        api = ends.enter_context(httpx.Client(base_url=f"{pages.url}api/v1/", headers=headers, timeout=WITHIN))
        api.key = api.get("campaigns").json()["campaigns"][0]["key"]
        api.process = pages.child
        yield api


def act(api, what, **body):
    return api.post(f"campaigns/{api.key}/{what}", json=body or None)


def raise_budget(api, **values):
    digest = api.get(f"campaigns/{api.key}/budget").json()["digest"]
    return act(api, "budget", digest=digest, **values).json()


def wait_for(folder, *states, steps=0, watched=False):
    """How the campaign stands, once it is in one of these states and that far, as its daemon says if it is watched."""
    project, ends = sc.open_project(folder), time.monotonic() + WITHIN
    while True:
        (one,) = project.list_campaigns()
        if one.state in states and one.steps >= steps and (one.watched or not watched):
            return one
        assert time.monotonic() < ends, one
        time.sleep(0.1)


def pid_of(status):
    return int(status.daemon.split()[1])


def wait_until_gone(pid):
    ends = time.monotonic() + WITHIN
    while "socialcrawl" in read_command(pid):
        assert time.monotonic() < ends
        time.sleep(0.1)


def check_paid_once(folder, mock, lost=0):
    """Check that no request was answered twice, and that the ledger has what the server has counted.

    `lost`: how many requests may have been in flight when their process was killed.
    """
    answered = "select digest from request where arrived_at is not null group by digest having count(*) > 1"
    assert rows(folder / "town.db", answered) == []
    counted = sum(window["requests"] for window in mock.report()["windows"])
    (sent,) = rows(folder / "town.db", "select count(*) from request")[0]
    assert counted <= sent <= counted + lost


def test_a_started_campaign_goes_on_when_the_pages_are_killed_and_leaves_no_process(folder, mock, tmp_path):
    with control(folder, tmp_path) as api:
        assert act(api, "start").status_code == 200
        one = wait_for(folder, "running", "waiting", steps=5)
        assert one.daemon
        os.kill(api.process.pid, signal.SIGKILL)
        api.process.wait()
        log = tmp_path / f"state/socialcrawl/{one.key}.log"
        assert log.stat().st_mode & 0o777 == 0o600
    done = wait_for(folder, "done")
    assert done.steps == 60
    wait_until_gone(pid_of(one))
    check_paid_once(folder, mock)
    assert TOKEN not in log.read_text("utf-8")


def test_a_killed_campaign_is_lost_and_start_continues_it_and_nothing_is_paid_twice(folder, mock, tmp_path):
    with control(folder, tmp_path) as api:
        assert act(api, "start").status_code == 200
        one = wait_for(folder, "running", "waiting", steps=8)
        os.kill(pid_of(one), signal.SIGKILL)
        lost = wait_for(folder, "lost")
        assert lost.alerts[0].startswith("Lost: ")
        assert act(api, "start").status_code == 200
        assert pid_of(wait_for(folder, "running", "waiting")) != pid_of(one)
    assert wait_for(folder, "done").steps == 60
    check_paid_once(folder, mock, lost=8)


def test_of_two_starts_at_once_one_begins_and_the_other_is_told_who_has_it(folder, mock, tmp_path):
    with control(folder, tmp_path) as api:
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(act(api, "start"))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(one.status_code for one in answers) == [200, 409]
        again = act(api, "start")
        assert again.status_code == 409
        assert f"Process {pid_of(wait_for(folder, 'running', 'waiting'))} on " in again.json()["detail"]
    assert len(rows(folder / "town.db", "select id from daemon")) == 1
    assert act_and_wait(folder) == "stopped"


def act_and_wait(folder):
    """The state of the campaign after it was stopped, once its process is gone."""
    project = sc.open_project(folder)
    pid = pid_of(wait_for(folder, "running", "waiting"))
    assert project.stop("town")
    wait_until_gone(pid)
    return wait_for(folder, "stopped").state


def test_without_the_token_in_its_environment_the_pages_start_nothing(folder, tmp_path):
    with control(folder, tmp_path, token="") as api:
        refused = act(api, "start")
        assert (refused.status_code, TOKEN_ENV in refused.json()["detail"]) == (409, True)
    assert not (folder / "town.db").exists()


def test_a_stopped_run_of_a_terminal_ends_and_start_continues_it(folder, mock, tmp_path):
    with control(folder, tmp_path) as api:
        child = subprocess.Popen(
            [*COMMAND, "run", str(folder / "town.toml"), "--yes"],
            env={**ENVIRONMENT, TOKEN_ENV: TOKEN},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        one = wait_for(folder, "running", steps=5)
        assert (one.daemon, one.watched) == (None, False)
        refused = act(api, "start")
        assert (refused.status_code, f"Process {child.pid} on " in refused.json()["detail"]) == (409, True)
        assert act(api, "stop").json()["changed"]
        said, _ = child.communicate(timeout=WITHIN)
        assert (child.returncode, "stopped through the database" in said) == (130, True)
        assert wait_for(folder, "stopped").why.startswith("stopped by a person")
        changed = raise_budget(api, steps=40)
        assert changed["effect"] == "This takes effect at the next start."
        assert act(api, "start").status_code == 200
    assert wait_for(folder, "done").steps == 40
    check_paid_once(folder, mock)


def test_a_daemon_takes_up_a_raised_budget_new_seeds_and_exclusions_while_it_runs(folder, mock, tmp_path):
    write(folder, mock, steps=12)
    with daemon(folder), control(folder, tmp_path) as api:
        wait_for(folder, "done", watched=True)
        raised = raise_budget(api, steps=20)
        assert "daemon takes this up within a few seconds" in raised["effect"]
        assert wait_for(folder, "done", steps=20).steps == 20
        unread = "select username from account where username is not null and node not in (select node from pick)"
        known = rows(folder / "town.db", f"{unread} order by node")
        (seed,), (other,) = known[:2]
        assert "new epoch" in act(api, "seeds", accounts=[seed]).json()["effect"]
        assert act(api, "exclude", accounts=[other]).json()["changed"]
        assert raise_budget(api, steps=len(known) + 60)["changed"]
        wait_for(folder, "running", "waiting", steps=40)
        assert act(api, "stop").json()["changed"]
        stopped = wait_for(folder, "stopped")
        time.sleep(5)
        assert wait_for(folder, "stopped").steps == stopped.steps, "a daemon leaves a stopped campaign alone"
        assert wait_for(folder, "stopped").watched
        assert act(api, "start").status_code == 200
        wait_for(folder, "running", "waiting", "done", steps=stopped.steps + 1)
    assert len(rows(folder / "town.db", "select id from daemon")) == 1, "the daemon went on: no process was begun"
    asked = (
        "select distinct a.username from request r join pick p on p.campaign = r.campaign and p.n = r.n "
        "join account a on a.node = p.node"
    )
    read = {name for (name,) in rows(folder / "town.db", asked)}
    assert seed in read
    assert other not in read
    with sc.open(folder / "town.db") as data:
        changed = [key for row in data.changes() for key in row["changed"]]
    assert {"crawl.steps", "seeds.usernames", "accounts.exclude"} <= set(changed)


def test_pages_beside_a_daemon_come_back_when_they_are_killed_and_end_with_the_daemon(folder, tmp_path):
    with closing_port() as port:
        pass
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    with daemon(folder, "--ui", f"127.0.0.1:{port}", **state) as process:
        url = f"http://127.0.0.1:{port}/api/v1/campaigns"
        first = wait_for_pages(process, url)
        os.kill(first, signal.SIGKILL)
        second = wait_for_pages(process, url, other_than=first)
        assert process.child.poll() is None
        assert process.said("the pages ended; campaigns go on")
        assert wait_for(folder, "running", "waiting", "done", steps=5)
        assert "#token" not in process.log.read_text("utf-8"), "a log is no place for the token"
        os.kill(process.child.pid, signal.SIGKILL)
        wait_until_gone(second)


@contextmanager
def closing_port():
    """A port that is free, or was a moment ago."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        yield listener.getsockname()[1]


def wait_for_pages(process, url, other_than=None):
    """The process of the pages, once they answer."""
    ends = time.monotonic() + WITHIN
    while True:
        assert time.monotonic() < ends, process.log.read_text("utf-8")
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(process.child.pid)], capture_output=True, text=True, check=False
        ).stdout.split()
        try:
            answers = httpx.get(url, timeout=30).status_code == 200
        except httpx.TransportError:
            answers = False
        pids = [int(pid) for pid in children if "--with-stdin" in read_command(int(pid)) and int(pid) != other_than]
        if answers and pids:
            return pids[0]
        time.sleep(0.1)


def test_the_demo_is_shown_live_and_ends_at_ctrl_c_without_leftovers(tmp_path):
    given = ["--ui", "--steps", "60", "--window", "1s", "--per-window", "12"]
    child = subprocess.Popen(
        [*COMMAND, "demo", *given],
        cwd=tmp_path,
        env={**ENVIRONMENT, "XDG_STATE_HOME": str(tmp_path / "state"), "BROWSER": "true", "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    said = ""
    while "served at " not in said:
        line = child.stderr.readline()
        assert line, said
        said += line
    url = f"{said.split('served at ')[1].split(';')[0]}api/v1/campaigns"
    ends, seen = time.monotonic() + WITHIN, []
    while not seen or seen[-1] < 60:
        assert time.monotonic() < ends
        with suppress(httpx.ConnectError):  # they are about to be served
            seen += [one["steps"] for one in httpx.get(url, timeout=60).json()["campaigns"]]
        time.sleep(0.2)
    assert len(set(seen)) > 5, "it moves"
    while "until you press Ctrl-C" not in said:
        line = child.stderr.readline()
        assert line, said
        said += line
    os.killpg(child.pid, signal.SIGINT)
    child.communicate(timeout=WITHIN)
    assert child.returncode == 0
    with pytest.raises(httpx.TransportError):
        httpx.get(url, timeout=5)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["demo-report.html", "demo.db", "demo.png", "state"]
    with closing(sqlite3.connect(tmp_path / "demo.db")) as plain:
        assert plain.execute("select count(*) from pick").fetchone()[0] >= 60
