"""Daemons that share the campaigns of one PostgreSQL database, as processes: they join, leave, are killed, and hang."""

import json
import signal
from contextlib import ExitStack
from urllib.request import urlopen

import psycopg
import pytest
from commands import socialcrawl
from postgres import a_server_database
from test_daemon_process import campaign_file, daemon, large
from x_crawls import TOKEN_ENV

from socialcrawl.mock.server import serve_in_thread

CAMPAIGNS = ["one", "two", "three", "four"]


class Crew:
    """Daemons with the same campaign files, each as on a machine of its own: with its own state folder and token."""

    def __init__(self, folder, place, mock, undo):
        self.folder, self.place, self.mock, self.undo = folder, place, mock, undo
        self.number = 0

    def begin(self, *options, files=None, **variables):
        self.number += 1
        state = self.folder.parent / f"state{self.number}"
        given = {"XDG_STATE_HOME": str(state), TOKEN_ENV: f"BBBB-the-token-of-machine-{self.number}"} | variables
        return self.undo.enter_context(daemon(files or self.folder, *options, **given))

    def ask(self, query, *given):
        with psycopg.connect(self.place.url) as raw:
            return raw.execute(query, given).fetchall()

    def shares(self, *crew):
        """How many campaigns each of these daemons has."""
        held = [
            pid
            for (pid,) in self.ask("select pid from lease l join daemon d on d.id = l.daemon where released_at is null")
        ]
        return [held.count(one.child.pid) for one in crew]

    def holders(self):
        return dict(
            self.ask(
                "select c.name, d.pid from lease l join daemon d on d.id = l.daemon "
                "join campaign c on c.id = l.campaign where released_at is null"
            )
        )

    def steps(self):
        found = dict.fromkeys(CAMPAIGNS, 0)
        return found | dict(
            self.ask("select c.name, count(*) from outcome o join campaign c on c.id = o.campaign group by c.name")
        )

    def until_all_move(self, one, by=10):
        """Wait until each campaign has taken some steps more."""
        before = self.steps()
        one.until(lambda: all(n >= before[name] + by for name, n in self.steps().items()))

    def asked_twice(self):
        """Requests that were answered more than once."""
        return self.ask(
            "select campaign, n, endpoint, cursor, count(*) from request where kind in ('ok', 'missing') "
            "group by campaign, n, endpoint, cursor having count(*) > 1"
        )


@pytest.fixture
def crew(tmp_path):
    folder = tmp_path / "campaigns"
    folder.mkdir()
    with a_server_database() as place, serve_in_thread(large(), limit=20, window=2.0) as mock, ExitStack() as undo:
        for name in CAMPAIGNS:
            file = campaign_file(folder, mock.url, name)
            file.write_text(file.read_text("utf-8").replace(f"{name}.db", place.url), "utf-8")
        yield Crew(folder, place, mock, undo)
        assert mock.report()["over"] == 0


def test_a_daemon_that_joins_takes_its_share_and_gives_it_back_when_it_stops(crew):
    first = crew.begin()
    first.until(lambda: crew.shares(first) == [4])
    crew.until_all_move(first)
    second = crew.begin()
    second.until(lambda: crew.shares(first, second) == [2, 2])
    crew.until_all_move(second)
    assert second.end()[0] == 0
    first.until(lambda: crew.shares(first) == [4])
    crew.until_all_move(first)
    assert first.end()[0] == 0
    assert crew.ask("select count(*) from request where arrived_at is null") == [(0,)]
    assert crew.asked_twice() == []
    for campaign, picks in crew.ask("select campaign, array_agg(n order by n) from pick group by campaign"):
        assert picks == list(range(len(picks))), campaign


def test_campaigns_of_a_daemon_that_is_killed_are_taken_over_and_each_is_run_by_one(crew):
    first, second = crew.begin(), crew.begin()
    first.until(lambda: crew.shares(first, second) == [2, 2])
    crew.until_all_move(first)
    lost = {name for name, pid in crew.holders().items() if pid == first.child.pid}
    first.child.kill()
    second.until(lambda: set(crew.holders().values()) == {second.child.pid})
    crew.until_all_move(second)
    assert {line["campaign"] for line in second.said("elsewhere")} >= lost
    assert crew.asked_twice() == []
    assert crew.ask("select count(*) from request where arrived_at is null")[0][0] <= 2 * 32
    assert second.end()[0] == 0


def test_campaigns_of_a_daemon_that_hangs_are_taken_over_and_it_can_write_nothing_when_it_wakes_up(crew):
    first, second = crew.begin(), crew.begin()
    first.until(lambda: crew.shares(first, second) == [2, 2])
    crew.until_all_move(first)
    first.child.send_signal(signal.SIGSTOP)
    try:
        second.until(lambda: set(crew.holders().values()) == {second.child.pid})
        crew.until_all_move(second)
        hung = second.said("a daemon hangs: its connections to the database were ended")
        assert hung
        assert str(first.child.pid) in hung[0]["daemon"]
        answered = crew.ask("select count(*) from request where arrived_at is not null")
    finally:
        first.child.send_signal(signal.SIGCONT)
    first.until(lambda: crew.shares(first, second) == [2, 2])
    crew.until_all_move(first)
    assert crew.ask("select count(*) from request where arrived_at is not null") > answered
    assert crew.asked_twice() == []
    for campaign, picks in crew.ask("select campaign, array_agg(n order by n) from pick group by campaign"):
        assert picks == list(range(len(picks))), campaign
    assert (first.end()[0], second.end()[0]) == (0, 0)


def test_a_daemon_without_the_token_of_a_campaign_does_not_count_for_it_and_status_and_metrics_show_all(crew):
    """Three campaigns need a token that only the first machine has."""
    for name in CAMPAIGNS[1:]:
        file = crew.folder / f"{name}.toml"
        file.write_text(file.read_text("utf-8").replace(TOKEN_ENV, "OTHER_VARIABLE"), "utf-8")
    first = crew.begin("--health", "127.0.0.1:0", OTHER_VARIABLE="BBBB-the-token-of-another")
    first.until(lambda: crew.shares(first) == [4])
    second = crew.begin("--weight", "2", "--health", "127.0.0.1:0")
    second.until(lambda: crew.shares(first, second) == [3, 1])
    assert crew.holders()["one"] == second.child.pid
    crew.until_all_move(first)
    assert crew.shares(first, second) == [3, 1]
    shown = socialcrawl("status", crew.folder)
    rows = {line.split()[0]: line for line in shown.stdout.splitlines() if line.strip()}
    assert f":{second.child.pid} " in rows["one"]
    assert all(f":{first.child.pid} " in rows[name] for name in CAMPAIGNS[1:])
    assert shown.stdout.count("watches") == 2
    told = {one["campaign"]: one["pid"] for one in json.loads(socialcrawl("status", crew.folder, "--json").stdout)}
    assert told == crew.holders()
    for one in (first, second):
        url = one.said("the health page is served")[0]["metrics"]
        samples = set(urlopen(url, timeout=10).read().decode().splitlines())
        weights = {line for line in samples if line.startswith("socialcrawl_shared_daemon_weight{")}
        assert sorted(line.split()[-1] for line in weights) == ["1.0", "2.0"]
        (its,) = [
            line for line in samples if line.startswith("socialcrawl_shared_daemon_campaign{") and '"one"' in line
        ]
        assert f':{second.child.pid}"' in its
    assert (first.end()[0], second.end()[0]) == (0, 0)
