"""One campaign, several workers: real processes of Dask that are killed, stopped, started and cut off."""

import importlib.util
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from commands import campaign_file, socialcrawl
from fleet_towns import CALM, WITHIN, await_true, process_town
from postgres import a_place
from x_crawls import TOKEN, TOKEN_ENV, campaign_of, crawl, posts, rows, sequence

from benchmarks.many_hosts import read_count, serve_hosts
from socialcrawl.campaign.build import ProcessContext, build
from socialcrawl.campaign.settings import check_settings
from socialcrawl.daemon.campaign_check import check_campaign
from socialcrawl.engine.clock import SteadyClock
from socialcrawl.engine.loop import run
from socialcrawl.errors import SettingsError
from socialcrawl.fleet.remote_workers import Patience
from socialcrawl.fleet.shared_fleets import SharedFleets
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.live_screen import CampaignView

pytest.importorskip("distributed")
RATE = 8
HASTY = Patience(silence=3.0, request=120.0)


@pytest.fixture(scope="module")
def town():
    """Four workers that have the token; their scheduler does not."""
    with process_town("a", "b", "c", "d", variables={TOKEN_ENV: TOKEN}) as made:
        yield made


def web_campaign(url, database, *, steps=60, scheduler=None):
    pages = [f"http://host{i}.example/page/0" for i in range(12)]
    given = {
        "name": "web",
        "database": database,
        "topic": {"keywords": ["telescope"]},
        "seeds": {"search": False, "usernames": pages},
        "crawl": {"estimator": "nh-ne-sum", "refresh_rate": RATE, "steps": steps},
        "source": {"platform": "web", "base_url": url, "hosts": ["*.example"]},
        "limits": {"k": 1000, "d": 1.0, "pause": 0.01},
        "fleet": {"scheduler": scheduler},
    }
    return check_settings(given, "test")


def watched(campaign):
    """Run an open campaign in a thread; what its end is put into."""
    found = []
    thread = threading.Thread(target=lambda: found.append(run(campaign.parts, size=campaign.together)))
    thread.start()
    return thread, found


@contextmanager
def opened(settings, patience=CALM):
    """A campaign whose workers are waited for so long, and the fleet that it uses."""
    process = ProcessContext(SteadyClock(), fleets=SharedFleets(patience=patience))
    with closing(build(settings, CampaignView(), process)) as campaign:
        yield campaign, campaign.parts.pool.fleet


def usable(fleet, count):
    return sum(worker.is_ready for worker in list(fleet.workers.values())) >= count


def finish(settings, town, act, *, names=2, patience=CALM):
    """Run a campaign of the web to its end; `act(url, fleet)` is called while it runs."""
    with opened(settings, patience) as (campaign, fleet):
        await_true(lambda: usable(fleet, names))
        thread, found = watched(campaign)
        try:
            act(fleet)
            thread.join(WITHIN * 3)
        finally:
            campaign.clock.interrupt()
            thread.join(WITHIN)
    assert [reason.kind for reason in found] == ["done"]


def picks_and_posts(database):
    """What was picked, with scores, and what is stored of each page."""
    query = "select p.id, lower(a.username), p.text from post p left join account a on a.node = p.author order by p.id"
    return sequence(database), rows(database, query)


def alone(url, folder, steps):
    """The same campaign in one process."""
    crawl(web_campaign(url, folder / "alone.db", steps=steps))
    return picks_and_posts(folder / "alone.db")


def test_four_workers_make_the_same_picks_as_one_process_on_x(town, tmp_path):
    with serve_in_thread(posts(), limit=100_000, window=60.0) as mock:
        for name, scheduler in (("one", None), ("four", town.address)):
            settings = campaign_of(
                mock.url, tmp_path / f"{name}.db", crawl={"refresh_rate": RATE}, fleet={"scheduler": scheduler}
            )
            crawl(settings)
    one, four = picks_and_posts(tmp_path / "one.db"), picks_and_posts(tmp_path / "four.db")
    assert len(one[0]) > 40
    assert four == one
    assert rows(tmp_path / "four.db", "select count(*) from request where arrived_at is null") == [(0,)]


def test_four_workers_make_the_same_picks_as_one_process_on_the_web_and_all_of_them_send(town, tmp_path):
    with serve_hosts(40, 0.02) as url:
        expected = alone(url, tmp_path, 80)
        with opened(web_campaign(url, tmp_path / "a.db", steps=80, scheduler=town.address)) as (campaign, fleet):
            await_true(lambda: usable(fleet, 4))
            run(campaign.parts, size=campaign.together)
            assert all(worker._number > 0 for worker in fleet.workers.values())
    assert picks_and_posts(tmp_path / "a.db") == expected


def test_workers_send_for_a_campaign_on_postgresql(town, tmp_path):
    with serve_hosts(40, 0.02) as url, a_place("postgres") as place:
        expected = alone(url, tmp_path, 30)
        crawl(web_campaign(url, str(place.url), steps=30, scheduler=town.address))
        with psycopg.connect(place.url) as raw:
            found = raw.execute(
                "select p.act, coalesce(lower(a.username), p.node::text), p.score from pick p "
                "left join account a using (node) order by p.n"
            ).fetchall()
    assert [(act, name) for act, name, _ in found] == [(act, str(name)) for act, name, _ in expected[0]]


def search_memory(pid, text):
    """Whether the memory of a process has a text in it."""
    wanted = text.encode()
    with Path(f"/proc/{pid}/maps").open() as maps, Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in maps:
            place, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            begin, end = (int(part, 16) for part in place.split("-"))
            memory.seek(begin)
            try:
                if wanted in memory.read(end - begin):
                    return True
            except OSError:
                continue
    return False


def test_neither_the_log_nor_the_memory_of_the_scheduler_has_the_token(tmp_path):
    log = tmp_path / "scheduler.log"
    with (
        log.open("wb") as out,
        process_town("a", variables={TOKEN_ENV: TOKEN}, log=out) as town,
        serve_in_thread(posts(), limit=100_000, window=60.0) as mock,
    ):
        settings = campaign_of(mock.url, tmp_path / "a.db", fleet={"scheduler": town.address})
        with opened(settings) as (campaign, _):
            assert run(campaign.parts, size=campaign.together).kind == "done"
            assert search_memory(town.scheduler.pid, "WorkerWires")  # so the search finds what is there
            assert search_memory(town.workers[0].pid, TOKEN)
            assert not search_memory(town.scheduler.pid, TOKEN)
    assert TOKEN not in log.read_text("utf-8", "replace")
    assert "Register worker" in log.read_text("utf-8", "replace")


def test_workers_that_are_killed_stopped_and_started_cost_requests_and_nothing_else(tmp_path):
    with serve_hosts(40, 0.05) as url, process_town("a", "b") as town:
        expected = alone(url, tmp_path, 90)
        before = read_count(url)["requests"]

        def trouble(fleet):
            await_true(lambda: read_count(url)["requests"] > before + 20)
            town.workers[0].send_signal(signal.SIGKILL)
            await_true(lambda: not any(worker.name == "a" for worker in list(fleet.workers.values())))
            town.start_worker("c")
            await_true(lambda: usable(fleet, 2))
            town.workers[1].send_signal(signal.SIGSTOP)
            await_true(
                lambda: any(worker.name == "b" and not worker.is_ready for worker in list(fleet.workers.values()))
            )
            town.workers[1].send_signal(signal.SIGCONT)

        finish(web_campaign(url, tmp_path / "a.db", steps=90, scheduler=town.address), town, trouble, patience=HASTY)
    assert picks_and_posts(tmp_path / "a.db") == expected


def test_without_its_scheduler_a_campaign_waits_and_goes_on_when_it_is_back(tmp_path):
    with serve_hosts(40, 0.05) as url, process_town("a") as town:
        expected = alone(url, tmp_path, 70)
        before = read_count(url)["requests"]

        def trouble(fleet):
            await_true(lambda: read_count(url)["requests"] > before + 20)
            town.end(town.scheduler)
            await_true(lambda: "no Dask scheduler answers" in (fleet.explain_absence(campaign_name(fleet)) or ""))
            town.end(town.workers[0])
            town.start_scheduler()
            town.start_worker("b")

        finish(web_campaign(url, tmp_path / "a.db", steps=70, scheduler=town.address), town, trouble, names=1)
    assert picks_and_posts(tmp_path / "a.db") == expected


def campaign_name(fleet):
    (name,) = fleet._specs
    return name


def find_processes(setting):
    """The processes that have a variable in their environment."""
    for place in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"{setting}\0".encode() in place.read_bytes():
                yield place


def test_run_with_workers_starts_them_and_leaves_none_behind(tmp_path):
    with serve_in_thread(posts(), limit=100_000, window=60.0) as mock:
        file = campaign_file(tmp_path, mock.url)
        done = socialcrawl("run", file, "--workers", 2, "--json", within=300, folder=tmp_path, FLEET_MARK=tmp_path)
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path / "mine.db", "select count(*) from pick where act = 'expand'") == [(8,)]
    await_true(lambda: not list(find_processes(f"FLEET_MARK={tmp_path}")))


def test_doctor_names_what_workers_lack(town, tmp_path):
    with serve_in_thread(posts(), limit=100_000, window=60.0) as mock:
        file = campaign_file(tmp_path, mock.url)
        text = file.read_text("utf-8")

        def examine(scheduler, variable):
            fleet = f'\n[fleet]\nscheduler = "{scheduler}"\n'
            file.write_text(text.replace("[source]", f'[source]\ntoken_env = "{variable}"') + fleet, "utf-8")
            return socialcrawl("doctor", file, within=300, folder=tmp_path, **{variable: "a-token"})

        good, lacking = examine(town.address, TOKEN_ENV), examine(town.address, "OTHER_TOKEN")
        away = examine("tcp://127.0.0.1:9", TOKEN_ENV)
    assert good.returncode == 0, good.stdout + good.stderr
    assert "4 workers of" in " ".join(good.stdout.split())
    assert "put the token into its environment variable OTHER_TOKEN" in " ".join(lacking.stdout.split())
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in " ".join(away.stdout.split())
    assert (lacking.returncode, away.returncode) == (1, 1)


def test_without_dask_a_scheduler_is_answered_with_what_to_install_before_anything_is_opened(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    settings = web_campaign("http://127.0.0.1:9", tmp_path / "a.db", scheduler="tcp://127.0.0.1:8786")
    with pytest.raises(SettingsError, match=r"pip install 'socialcrawl\[cluster\]'"):
        build(settings, CampaignView())
    assert not (tmp_path / "a.db").exists()


def test_campaigns_without_workers_do_not_import_dask():
    code = (
        "import sys, socialcrawl.campaign.build, socialcrawl.cli.commands.doctor; "
        "print([m for m in sys.modules if m.split('.')[0] in ('dask', 'distributed')])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert told.stdout.strip() == "[]"


def test_a_stream_is_not_read_by_workers(tmp_path):
    given = {
        "name": "sky",
        "database": tmp_path / "a.db",
        "kind": "capture",
        "topic": {"keywords": ["telescope"]},
        "capture": {"live": True, "from": "2026-03-01"},
        "source": {"platform": "bluesky", "base_url": "http://127.0.0.1:9"},
        "fleet": {"scheduler": "tcp://127.0.0.1:8786"},
    }
    with pytest.raises(SettingsError, match="A stream is read by one process"):
        build(check_settings(given, "test"), CampaignView())


def test_check_says_that_the_extra_of_workers_is_missing(tmp_path, monkeypatch):
    given = {
        "name": "sky",
        "database": tmp_path / "a.db",
        "topic": {"keywords": ["telescope"]},
        "source": {"platform": "bluesky", "base_url": "http://127.0.0.1:9"},
        "fleet": {"scheduler": "tcp://127.0.0.1:8786"},
    }
    check_campaign(check_settings(given, "test"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"pip install 'socialcrawl\[cluster\]'"):
        check_campaign(check_settings(given, "test"))


def test_a_daemon_sends_by_worker_processes(tmp_path):
    with serve_in_thread(posts(), limit=100_000, window=60.0) as mock:
        campaign_file(tmp_path, mock.url)
        words = ("daemon", tmp_path, "--worker-processes", 2, "--until-done")
        done = socialcrawl(*words, within=300, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path / "mine.db", "select count(*) from pick where act = 'expand'") == [(8,)]
