"""A platform that is down, under a daemon on a virtual clock: what is said, how often it is asked, what is kept."""

import json
import re
from contextlib import ExitStack
from itertools import pairwise
from urllib.parse import urlsplit

import httpx
import pytest
from fleet_towns import process_town
from test_daemon import HOUR, World
from test_daemon_process import campaign_file, daemon, folder, rows, steps, telling
from virtual_weeks import BEGIN, WINDOW, K, Virtual
from x_crawls import TOKEN, TOKEN_ENV, posts_file

from socialcrawl.daemon.campaign_state import DONE, DOWN, RESTING, STOPPED
from socialcrawl.daemon.health_page import check_health
from socialcrawl.engine.model import format_time, parse_time
from socialcrawl.mock.faults import make_cut, make_error
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.ratelimit.retry import PROBE

__all__ = ["folder"]  # a fixture
WIDE = 5_000  # requests in a window: none is waited for
FAULTS = {"no answer": make_cut, "status 502": lambda: make_error("x", 502)}


class Falling(World):
    """A world whose platform is down between two instants, in seconds from the beginning."""

    def __init__(self, folder, time, mock, down):
        super().__init__(folder, time, mock)
        self.down, self.healths = down, []

    def write(self, name, more=""):
        super().write(name, more)
        file = self.folder / f"{name}.toml"
        file.write_text(file.read_text("utf-8").replace(f"k = {K}", f"k = {WIDE}"), "utf-8")

    def look_at(self, seconds):
        """Look at /healthz at an instant."""
        self.at(
            seconds / HOUR, lambda: self.healths.append(check_health(self.week.daemon.make_status(), self.time.now()))
        )

    def sent(self, since, until):
        """When requests left, in seconds from the beginning."""
        query = "select sent_at from request where kind <> 'held' and sent_at between ? and ? order by sent_at"
        return [
            parse_time(at) - BEGIN for (at,) in self.sql(query, format_time(BEGIN + since), format_time(BEGIN + until))
        ]


@pytest.fixture
def falling(tmp_path, request):
    begin, end, name = request.param
    time = Virtual()

    def fault(endpoint, nth):
        return FAULTS[name]() if begin <= time.now() - BEGIN < end else None

    with serve_in_thread(
        posts_file(), fault, time.now, limit=WIDE, window=WINDOW, held=1_000_000, platforms=("x",)
    ) as mock:
        yield Falling(tmp_path, time, mock, (begin, end))


@pytest.mark.parametrize("falling", [(10.0, 55.0, name) for name in FAULTS], indirect=True, ids=FAULTS)
def test_an_outage_of_45_s_is_told_and_over_within_a_minute_and_no_account_is_lost(falling):
    begin, end = falling.down
    falling.write("one")
    falling.look_at(40.0)
    falling.look_at(180.0)
    falling.live(0.2, look=2.0)
    states = falling.states("one")
    assert states.count(DOWN) == 1
    assert states[states.index(DOWN) + 1 :][-2:] == [DONE, STOPPED] or states[-1] == DONE
    assert begin < (falling.since("one", DOWN)[0]) * HOUR < begin + 20.0
    (why,) = set(falling.why("one", DOWN))
    assert why.startswith("X does not answer: ")
    during, after = falling.healths
    assert (during[0], after[0]) == (False, True)
    assert during[1]["why"] == [f"one is down: {why}"]
    assert min(falling.sent(end, HOUR)) <= end + PROBE
    lost = falling.sql("select count(*) from outcome where missing = 'temporary'")[0][0]
    assert lost <= 1, "the first account may be what fails; after it, it is the platform"


@pytest.mark.parametrize("falling", [(10.0, 3 * HOUR, "status 502")], indirect=True)
def test_an_outage_of_hours_is_waited_for_and_asked_about_every_minute(falling):
    begin, end = falling.down
    falling.write("one")
    falling.live(3.2, look=2.0)
    states = falling.states("one")
    assert STOPPED not in states[: states.index(DONE)]
    tries = falling.sent(begin, end)
    assert max(later - sooner for sooner, later in pairwise(tries)) <= PROBE + 5.0
    assert len(tries) < 1.7 * (end - begin) / PROBE, "and hardly more often"
    assert min(falling.sent(end, 4 * HOUR)) <= end + PROBE + 5.0


@pytest.mark.parametrize("falling", [(0.0, 600.0, name) for name in FAULTS], indirect=True, ids=FAULTS)
def test_a_daemon_that_begins_while_the_platform_is_down_waits_for_it(falling):
    end = falling.down[1]
    falling.write("one")
    falling.live(0.5, look=2.0)
    states = falling.states("one")
    assert DOWN in states
    assert STOPPED not in states[: states.index(DONE)]
    assert min(falling.sent(end, HOUR)) <= end + PROBE + 5.0


@pytest.mark.parametrize("falling", [(10.0, 1800.0, name) for name in FAULTS], indirect=True, ids=FAULTS)
def test_an_outage_is_told_once_however_often_the_daemon_is_begun_anew_meanwhile(falling):
    """The status keeps its beginning too; only an answer of the platform ends it."""
    falling.write("one")
    told, begun = [], []
    for hours in (0.1, 0.2, 0.3):
        falling.look_at(hours * HOUR - 60.0)
        week = falling.live(hours, look=2.0)
        told += week.told
        begun += falling.sql("select state, since from lease")
    assert told == [("one", DOWN)]
    assert begun == [(DOWN, begun[0][1])] * 3
    assert {page["campaigns"][0]["since"] for _, page in falling.healths} == {begun[0][1][:19] + "Z"}
    week = falling.live(1.0, look=2.0)
    assert week.told[0] == ("one", DONE)
    assert falling.states("one")[0] != DOWN, "a restart is no news"


@pytest.mark.parametrize("falling", [(10.0, 3 * HOUR, "no answer")], indirect=True)
def test_an_outage_is_told_once_though_turns_of_a_schedule_end_meanwhile(falling):
    falling.write("one", "[schedule]\nevery = '20m'\nlasting = '5m'\n")
    week = falling.live(2.9, look=2.0)
    states = falling.states("one")
    assert states.count(RESTING) > 3
    assert states.count(DOWN) > 3
    assert week.told == [("one", DOWN)]


def test_a_server_that_is_gone_and_comes_back_is_told_by_a_real_daemon(folder, tmp_path):
    """As it is in use: nobody listens, then somebody does again; log, /healthz, /metrics and a notice say so.

    The campaign file says that windows last 900 s, and one has fewer slots than the outage has attempts.
    """
    notes = tmp_path / "notes"
    with ExitStack() as first, daemon(folder, "--health", "127.0.0.1:0") as one:
        mock = first.enter_context(serve_in_thread(posts_file(), limit=4, window=1.0))
        file = campaign_file(folder, mock.url, more=telling(notes, tmp_path))
        file.write_text(file.read_text("utf-8").replace("k = 20\nd = 2.0\n", "k = 4\nd = 900.0\n"), "utf-8")
        one.until(lambda: steps(folder) > 5)
        first.close()
        (down,) = one.until(lambda: one.said("down"))
        assert (down["level"], down["why"].startswith("X does not answer: the connection")) == ("warning", True)
        (served,) = one.said("the health page is served")
        assert httpx.get(served["url"]).status_code == 503
        assert 'socialcrawl_campaign_state{campaign="one",state="down"} 1.0' in httpx.get(served["metrics"]).text
        told = one.until(lambda: notes.exists() and notes.read_text("utf-8"))
        assert json.loads(told.splitlines()[0])["event"] == "down"
        before = steps(folder)
        one.until(lambda: rows(folder / "one.db", "select count(*) from request where kind = 'broken'")[0][0] > 5)
        with serve_in_thread(posts_file(), limit=4, window=1.0, port=urlsplit(mock.url).port):
            one.until(lambda: steps(folder) > before)
            (back,) = one.until(lambda: [line for line in one.lines() if line.get("was") == "down"])
            assert (back["level"], back["event"], back["campaign"]) == ("info", "the platform answers again", "one")
            assert one.end()[0] == 0


def test_a_scheduler_of_workers_that_is_gone_and_comes_back_is_told(folder):
    pytest.importorskip("distributed")
    with (
        process_town("a", variables={TOKEN_ENV: TOKEN}) as town,
        daemon(folder, "--health", "127.0.0.1:0") as one,
        serve_in_thread(posts_file(4000, 1, 8.0), limit=20, window=2.0) as mock,
    ):
        campaign_file(folder, mock.url, more=f'[fleet]\nscheduler = "{town.address}"\n')
        one.until(lambda: steps(folder) > 3)
        town.end(town.scheduler)
        (gone,) = one.until(lambda: one.said("broken"))
        assert f"no Dask scheduler answers at {town.address}" in gone["why"]
        (served,) = one.said("the health page is served")
        assert httpx.get(served["url"]).status_code == 503
        town.end(town.workers[0])
        before = steps(folder)
        town.start_scheduler()
        town.start_worker("b")
        one.until(lambda: steps(folder) > before)
        one.until(lambda: httpx.get(served["url"]).status_code == 200)
        assert one.end()[0] == 0


def test_the_metrics_of_a_real_daemon_have_the_budgets_of_its_file_also_after_a_change(folder):
    with daemon(folder, "--health", "127.0.0.1:0") as one, serve_in_thread(posts_file(), limit=20, window=2.0) as mock:
        file = campaign_file(folder, mock.url, more="[budget]\nmax_requests = 12\nmax_money = 7.5\n")

        def shown(limit, unit):
            return f'socialcrawl_budget_limit_{unit}{{campaign="one"}} {limit}\n' in httpx.get(served["metrics"]).text

        (served,) = one.until(lambda: one.said("the health page is served"))
        one.until(lambda: shown(12.0, "requests"))
        assert shown(7.5, "dollars")
        assert "socialcrawl_budget_limit_posts{" not in httpx.get(served["metrics"]).text
        one.until(lambda: one.said("stopped"))
        answered = r'socialcrawl_requests_total\{campaign="one",endpoint="[^"]+",kind="ok",status="200"\} \d+'
        assert re.search(answered, httpx.get(served["metrics"]).text)  # alerts ask for kinds of reply
        file.write_text(file.read_text("utf-8").replace("max_requests = 12", "max_requests = 24"), "utf-8")
        one.until(lambda: shown(24.0, "requests"))
        assert one.end()[0] == 0
