"""Campaigns of a folder by Python: how they stand, pausing them, and what is said where that cannot be."""

import shutil
from datetime import UTC, datetime

import pytest
from api_campaigns import run_example
from stores import opened
from tiny_town import Clock, Wire, close, parts_of, stored

import socialcrawl as sc
from socialcrawl.engine.loop import run
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
    assert project.find("example").state == "idle"


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
    for act in (project.start, project.restart, project.load_file):
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
    assert [one.state for one in project.list_campaigns()] == ["idle", "paused"]
    assert [one.key for one in sc.open_project(folder).list_campaigns()] == [first.key, second.key], "keys stay"
    with pytest.raises(sc.SettingsError, match="there are: example"):
        project.find("other")


def test_a_budget_of_which_four_fifths_are_spent_is_an_alert_and_its_end_is_known(folder, made):
    (one,) = sc.open_project(folder).list_campaigns()
    assert one.requests >= 0.8 * one.max_requests == 40
    part = 100 * one.requests / one.max_requests
    assert one.alerts == (f"{part:.0f} % of the budget of 50 requests is spent.",)
    with sc.open(made) as data:
        (row,) = data.sql("select min(sent_at) as at from request")
    began, ends = (datetime.fromisoformat(text) for text in (row["at"], one.ends))
    assert (ends - began).days == 7


def test_what_a_daemon_that_is_there_says_is_shown_and_an_ill_state_is_an_alert(folder):
    now = datetime.now(UTC).timestamp()
    with opened(folder / "a.db") as connection:
        daemons.enroll_daemon(connection, "d", "here", 4711, now)
        beat = CampaignHeartbeat("example", "stalled", "nothing comes", None, now, held=True, since=now)
        daemons.write_heartbeat(connection, "d", [beat], now)
    (one,) = sc.open_project(folder).list_campaigns()
    assert (one.state, one.daemon) == ("stalled", "process 4711 on here")
    assert one.alerts[0] == "Stalled: nothing comes"


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
