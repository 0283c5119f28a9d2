"""Campaigns of a folder by Python: how they stand, pausing them, and what is said where that cannot be."""

import json
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from api_campaigns import run_example
from stores import opened
from tiny_town import Clock, Wire, close, parts_of, stored
from typer.testing import CliRunner

import socialcrawl as sc
from socialcrawl.cli.main import app
from socialcrawl.daemon import database_readings
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import format_time, parse_time
from socialcrawl.storage import daemons
from socialcrawl.storage.daemons import CampaignHeartbeat
from socialcrawl.storage.database.address import PostgresAddress


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    run_example(folder, budget={"max_requests": 50, "max_time": "7d"})
    return folder / "example.db"


@pytest.fixture
def folder(made, tmp_path):
    shutil.copy(made, tmp_path / "a.db")
    return tmp_path


def test_a_campaign_is_paused_once_and_resumed_once(folder):
    project = sc.open_project(folder)
    assert [project.pause("example"), project.pause("example")] == [True, False]
    assert project.find("example").state == "paused"
    assert [project.resume("example"), project.resume("example")] == [True, False]
    assert project.find("example").state == "done"


def test_who_must_know_it_now_reads_though_the_last_reading_is_good_enough_for_others(folder, monkeypatch):
    monkeypatch.setattr(database_readings, "REST", 1e9)
    project = sc.open_project(folder)
    assert project.find("example").state == "done"
    assert sc.open_project(folder).pause("example")
    assert project.find("example").state == "done"
    assert project.find("example", fresh=True).state == project.find("example").state == "paused"


def test_a_file_that_only_a_database_names_is_neither_run_nor_edited(folder, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SOCIALCRAWL_TEST_TOKEN", "a-token")
    other = tmp_path_factory.mktemp("elsewhere") / "example.toml"
    other.write_text(
        f'name = "example"\ndatabase = "{folder / "a.db"}"\n[topic]\nkeywords = ["telescope"]\n[source]\n'
        'token_env = "SOCIALCRAWL_TEST_TOKEN"\nbase_url = "http://127.0.0.1:9"\n',
        "utf-8",
    )
    with opened(folder / "a.db") as connection:
        daemons.enroll_daemon(connection, "d", "elsewhere", 4711, 1.0)
        beat = CampaignHeartbeat("example", "done", "its budget", None, 1.0, held=False, since=1.0, file=str(other))
        daemons.write_heartbeat(connection, "d", [beat], 1.0)
    project = sc.open_project(folder)
    assert project.find("example").file == str(other)
    for act in (project.start, project.restart, project.load_file, project.open_labels):
        with pytest.raises(sc.SettingsError, match="is not in a folder that is open here: open its folder"):
            act("example")
    assert sc.open_project(folder, other.parent).load_file("example").path == other


def test_of_two_campaigns_with_one_name_the_key_tells_which_is_meant(folder):
    shutil.copy(folder / "a.db", folder / "b.db")
    project = sc.open_project(folder)
    first, second = project.list_campaigns()
    with pytest.raises(sc.SettingsError, match=f"name one by its key: {first.key}"):
        project.pause("example")
    assert project.pause(second.key)
    assert [one.state for one in project.list_campaigns()] == ["done", "paused"]
    assert [one.key for one in sc.open_project(folder).list_campaigns()] == [first.key, second.key], "keys stay"
    with pytest.raises(sc.SettingsError, match="there are: example"):
        project.find("other")


def write_file(folder, budget="", *, more="", server="https://api.x.com"):
    """A file of the campaign, with more steps than it has done."""
    text = f"""name = "example"
database = "a.db"
[topic]
keywords = ["telescope"]
[crawl]
steps = 400
[source]
base_url = "{server}"
[budget]
{budget}
{more}"""
    (folder / "example.toml").write_text(text, "utf-8")


def beat(folder, state, why, until=None):
    """What a daemon says that is there."""
    now = datetime.now(UTC).timestamp()
    with opened(folder / "a.db") as connection:
        daemons.enroll_daemon(connection, "d", "here", 4711, now)
        daemons.write_heartbeat(
            connection, "d", [CampaignHeartbeat("example", state, why, until, now, held=True, since=now)], now
        )


def add_request(folder, at, **values):
    """A further request in the ledger, sent so many seconds after the last one."""
    with closing(sqlite3.connect(folder / "a.db")) as plain, plain:
        (last,) = plain.execute("select max(sent_at) from request").fetchone()
        row = {"campaign": 1, "n": 999, "part": 0, "endpoint": "/2/users/:id/tweets", "params": "{}", "items": 100,
               "credential": "main", "most": 50_000, "sent_at": format_time(parse_time(last) + at)}  # fmt: skip
        row |= values
        names = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)
        plain.execute(f"insert into request ({names}) values ({marks})", row)


def alerts_of(folder):
    return sc.open_project(folder).find("example").alerts


def test_a_run_that_has_done_its_steps_is_done_and_one_that_spent_its_budget_is_stopped(folder):
    (one,) = sc.open_project(folder).list_campaigns()
    assert (one.state, one.why) == ("done", "the limit of 30 steps is reached")
    assert one.alerts == (), "nothing is left to be spent"
    (told,) = json.loads(CliRunner().invoke(app, ["status", "--db", str(folder / "a.db"), "--json"]).stdout)
    assert (told["state"], told["why"]) == (one.state, one.why)
    with closing(sqlite3.connect(folder / "a.db")) as plain, plain:  # as if it had run years ago
        plain.execute("update request set sent_at = '2020' || substr(sent_at, 5)")
    for budget, state, why in (
        ("", "idle", "nobody runs it now"),
        (f"max_requests = {one.requests}", "stopped", f"the budget of {one.requests} requests is spent"),
        ('max_time = "1s"', "stopped", "the time of its budget is over"),
    ):
        write_file(folder, budget)
        begun = sc.open_project(folder).find("example")
        assert (begun.state, begun.why) == (state, why)
        (told,) = json.loads(CliRunner().invoke(app, ["status", str(folder / "example.toml"), "--json"]).stdout)
        assert (told["state"], told["why"]) == (state, why), "the command says the same"


def test_a_budget_of_which_four_fifths_are_spent_is_an_alert_and_its_end_is_known(folder, made):
    (one,) = sc.open_project(folder).list_campaigns()
    assert one.requests >= 0.8 * one.max_requests == 40
    with sc.open(made) as data:
        (posts,) = data.sql("select sum(posts) as all_posts from request")
        (accounts,) = data.sql(
            "select count(*) as read from outcome join pick using (campaign, n) where act in ('seed', 'expand')"
        )
    assert accounts["read"] > one.steps == 30
    for budget, words in (
        ("max_requests = 50", "50 requests"), (f"max_money = {one.dollars / 0.86}", f"${one.dollars / 0.86:,.2f}"),
        (f"max_posts = {int(posts['all_posts'] / 0.9)}", f"{int(posts['all_posts'] / 0.9):,} posts"),
        (f"max_nodes = {accounts['read'] + 3}", f"{accounts['read'] + 3} accounts"), ('max_time = "1s"', "1s of time"),
    ):  # fmt: skip
        write_file(folder, budget)
        (alert,) = alerts_of(folder)
        assert alert.endswith(f" % of the budget of {words} is spent.")
        assert 80 <= int(alert.split()[0]) <= 100
    write_file(folder, "max_requests = 5000\nmax_money = 900.0\nmax_posts = 1000000\nmax_nodes = 99")
    assert alerts_of(folder) == ()
    write_file(folder, f"max_money = {one.dollars / 0.86}", server="http://127.0.0.1:9")
    tested = sc.open_project(folder).find("example")
    assert (tested.alerts, tested.test_server) == ((), True), "nothing is paid to a server on this machine"
    with sc.open(made) as data:
        (row,) = data.sql("select min(sent_at) as at from request")
    began, ends = (datetime.fromisoformat(text) for text in (row["at"], one.ends))
    assert (ends - began).days == 7


@pytest.mark.parametrize(
    ("state", "why", "alert"),
    [("stalled", "nothing comes", "Stalled: nothing comes"), ("down", "X does not answer", "Down: X does not answer"),
     ("broken", "no token", "Broken: no token"), ("running", "it sends requests", None),
     ("stopped", "X said no; it is tried again", "Failed: X said no; it is tried again"),
     ("stopped", "the budget max_requests = 50 is reached", None)],
)  # fmt: skip
def test_what_a_daemon_that_is_there_says_is_shown_and_an_ill_state_is_an_alert(folder, state, why, alert):
    write_file(folder)
    beat(folder, state, why)
    (one,) = sc.open_project(folder).list_campaigns()
    shown = "waiting" if why.endswith("tried again") else state
    assert (one.state, one.why, one.daemon) == (shown, why, "process 4711 on here")
    assert one.alerts == (() if alert is None else (alert,))


def test_a_token_that_is_refused_is_an_alert_until_it_is_answered(folder):
    write_file(folder)
    add_request(folder, 1.0, kind="refused", status=401, credential="second", arrived_at="2026-01-01", cost=0)
    (alert,) = alerts_of(folder)
    assert alert.startswith("Token refused: X refuses the token 'second' since 20")
    assert alert.endswith("check the environment variable that holds it.")
    add_request(folder, 1.0, kind="ok", status=200, credential="main", cost=0)
    assert alerts_of(folder) == (alert,), "another token says nothing of it"
    add_request(folder, 1.0, kind="ok", status=200, credential="second", endpoint="/2/other", cost=0)
    assert alerts_of(folder) == ()
    add_request(folder, 1.0, kind="refused", status=403, cost=0)
    add_request(folder, 1.0, kind="ok", status=200, endpoint="/2/other", cost=0)
    (alert,) = alerts_of(folder)
    assert "the token 'main' /2/users/:id/tweets since" in alert, "it may do something else"
    add_request(folder, 1.0, kind="refused", status=403, credential="public", endpoint="/2/more", cost=0)
    assert alerts_of(folder) == (alert,), "who has no token is refused as everybody is"


def test_a_disk_without_room_is_an_alert_where_it_holds_up_a_campaign(folder):
    write_file(folder, more='[limits]\nmin_free_disk = "900000 TB"')
    assert alerts_of(folder) == (), "nobody runs it"
    for state, until, found in (("running", None, True), ("stopped", None, False), ("stopped", 4e9, True)):
        beat(folder, state, "why", until)
        said = alerts_of(folder)
        assert [one.startswith("Little room: less than 900,000,000 GB are free on the disk") for one in said] == (
            [True] if found else []
        )


def test_what_is_reserved_counts_as_spent_and_is_told_while_somebody_runs_it(folder):
    write_file(folder, "max_requests = 100\nmax_money = 5.0")
    before = sc.open_project(folder).find("example")
    assert before.remaining_requests == 100 - before.requests > 0
    assert before.remaining_dollars == pytest.approx(5.0 - before.dollars)
    add_request(folder, 1.0)
    left_behind = sc.open_project(folder).find("example")
    assert (left_behind.reserved_requests, left_behind.reserved_dollars) == (0, 0.0), "nobody waits for it"
    beat(folder, "running", "it sends requests")
    one = sc.open_project(folder).find("example")
    assert (one.reserved_requests, one.reserved_dollars) == (1, 0.5)
    assert one.remaining_requests == before.remaining_requests - 1
    assert one.remaining_dollars == pytest.approx(before.remaining_dollars - 0.5)
    add_request(folder, 121.0, kind="ok", cost=0, arrived_at="2026-01-01")
    later = sc.open_project(folder).find("example")
    assert later.reserved_requests == 0, "its deadline is over"


def test_a_place_that_is_not_there_or_something_else_is_named(folder):
    (folder / "text.txt").write_text("hello", "utf-8")
    for place in ("none.db", "text.txt"):
        with pytest.raises(sc.SettingsError, match=place):
            sc.open_project(folder / place)
    (folder / "new.toml").write_text('name = "new"\n[topic]\nkeywords = ["sky"]\n', "utf-8")
    project = sc.open_project(folder / "new.toml")
    assert project.find("new").why == "it has not begun"
    for act in (project.pause, project.open):
        with pytest.raises(sc.StoreError):
            act("new")
    assert not (folder / "new.db").exists()


def test_accounts_and_posts_go_on_after_a_row_in_both_orders(made):
    with sc.open(made) as data:
        places = [row["place"] for row in data.accounts()]
        assert [row["place"] for row in data.accounts(3, after=2)] == places[2:5]
        oldest = [row["id"] for row in data.posts(on_topic=True)]
        assert [row["id"] for row in data.posts(on_topic=True, newest_first=True)] == oldest[::-1]
        assert [row["id"] for row in data.posts(on_topic=True, after=oldest[9], limit=4)] == oldest[10:14]
        assert [row["id"] for row in data.posts(after="no such post")] == []


def test_the_ledger_adds_up_to_what_the_campaign_sent_and_cost(made):
    with sc.open(made) as data:
        rows, (one,) = [*data.ledger()], [*data.list_campaigns()]
    assert sum(row["requests"] for row in rows) == one["requests"]
    assert sum(row["dollars"] for row in rows) == pytest.approx(one["dollars"])


def test_changes_have_old_and_new_values(folder, made):
    with opened(folder / "a.db") as connection:
        from socialcrawl.storage.versions import read_latest_settings, store_changes

        settings = read_latest_settings(connection, "example")
        changed = {**settings, "crawl": {**settings["crawl"], "steps": 31}}
        with connection.begin():
            store_changes(connection, 1, changed, "2030-01-01T00:00:00.000000Z")
    with sc.open(made) as data:
        assert [*data.changes()] == []
    with sc.open(folder / "a.db") as data:
        (change,) = data.changes()
    assert (change["what"], change["changed"]) == ("settings", ["crawl.steps"])
    assert (change["before"], change["after"]) == (["30"], ["31"])


def test_what_pages_ask_is_understood_by_each_kind_of_database(place):
    """A tiny town is crawled into it; SQLite's answers are checked above."""
    store = stored(place)
    run(parts_of(store, Wire(Clock())))
    close(store)
    where = place.url if isinstance(place, PostgresAddress) else place
    (one,) = sc.open_project(where).list_campaigns()
    with sc.open(where) as data:
        assert one.steps == 14
        assert one.requests == sum(row["requests"] for row in data.ledger())
        assert one.posts_on_topic == len(posts := [row["id"] for row in data.posts(on_topic=True)])
        assert [row["id"] for row in data.posts(on_topic=True, after=posts[2], limit=3)] == posts[3:6]
        assert [row["id"] for row in data.posts(on_topic=True, after=posts[2], newest_first=True)] == posts[1::-1]
        assert [row["place"] for row in data.accounts(2, after=1)] == [2, 3]
        assert [*data.changes()] == []
        assert one.curve[-1] == pytest.approx([*data.score_curve()][-1]["relevance"])
    project = sc.open_project(where)
    assert [project.pause("tiny"), project.find("tiny").state] == [True, "paused"]
