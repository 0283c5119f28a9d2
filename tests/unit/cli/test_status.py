"""`socialcrawl status`: what a database, its locks and campaign files say of campaigns, in words that are true now."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stores import opened
from tiny_town import BEGIN, SETTINGS
from typer.testing import CliRunner

from socialcrawl.campaign.settings import check_settings
from socialcrawl.cli.main import app
from socialcrawl.storage import daemons
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.daemons import EXPIRY, CampaignHeartbeat, Pauser
from socialcrawl.storage.database.address import PostgresAddress
from socialcrawl.storage.database.lease import Lease

HERE = socket.gethostname()


@pytest.fixture
def two(place):
    """A connection to a database with the campaigns one and two."""
    with opened(place) as connection:
        for name in ("one", "two"):
            ensure_campaign(connection, SETTINGS | {"name": name}, {}, BEGIN)
        yield connection


def told(campaign, state, *, held=True, **more):
    given = {"why": f"so it is {state}", "until": None, "moved": None} | more
    return CampaignHeartbeat(campaign, state, held=held, **given)


def status(*words):
    done = CliRunner().invoke(app, ["status", *map(str, words)])
    assert done.exit_code == 0, done.output
    return done.stdout


def shown(place, *words):
    """What is shown of the campaigns of a database, by name."""
    where = place.url if isinstance(place, PostgresAddress) else place
    return {one["campaign"]: one for one in json.loads(status("--db", where, "--json", *words))}


def lines(place):
    return status("--db", place.url if isinstance(place, PostgresAddress) else place).splitlines()


def gone():
    """The number of a process that is no more."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_a_campaign_that_no_daemon_runs_is_running_while_a_process_has_it(two, place):
    """As `socialcrawl run` does: on SQLite by its lock, on PostgreSQL by that of its connection."""
    assert {one["state"] for one in shown(place).values()} == {"idle"}
    with opened(place) as other:
        lease = Lease(other, "one")
        one = shown(place)["one"]
        assert (one["state"], one["pid"], one["host"], one["alive"]) == ("running", os.getpid(), HERE, True)
        assert one["why"] == f"process {os.getpid()} on {HERE} works on it"
        assert shown(place)["two"]["state"] == "idle"
        lease.release()
    assert shown(place)["one"]["state"] == "idle"


def test_a_database_is_shown_while_somebody_writes_in_it(two, place):
    with opened(place) as other, other.begin():  # the right to write, which one has at a time
        assert set(shown(place)) == {"one", "two"}


@pytest.mark.parametrize("number", [gone, os.getpid], ids=["gone", "another's now"])
def test_a_lock_that_a_killed_process_has_left_is_none(tmp_path, number):
    place = tmp_path / "a.db"
    with opened(place) as connection:
        ensure_campaign(connection, SETTINGS | {"name": "one"}, {}, BEGIN)
    (tmp_path / "a.db-one.lock").write_text(str(number()))
    assert shown(place)["one"]["state"] == "idle"


def test_an_instant_that_has_passed_is_not_when_a_campaign_goes_on(two, place):
    now = time.time()
    daemons.enroll_daemon(two, "a", "a", 1, now)
    passed = [told("one", "waiting", until=now - 1.0), told("two", "waiting", until=now + 900.0)]
    daemons.write_heartbeat(two, "a", passed, now)
    assert shown(place)["one"]["until"] is None
    assert shown(place)["two"]["until"] is not None


@pytest.mark.parametrize("held", [True, False])
def test_whoever_was_lost_or_paused_goes_on_at_no_instant(two, place, held):
    now = time.time()
    daemons.enroll_daemon(two, "a", "a", 1, now - 2 * EXPIRY)
    both = [told(name, "waiting", until=now + 900.0, held=held) for name in ("one", "two")]
    daemons.write_heartbeat(two, "a", both, now - 2 * EXPIRY)
    daemons.pause_campaigns(two, ["two"], now)
    found = shown(place)
    assert [found[name]["until"] for name in found] == [None, None]
    assert found["one"]["state"] == ("lost" if held else "waiting")
    assert (found["two"]["state"], found["two"]["why"][:18]) == ("paused", "paused by a person")


def test_a_pause_says_for_which_command_it_is(two, place):
    daemons.pause_campaigns(two, ["one"], BEGIN, Pauser("backup", 1151, "crawler"))
    one = shown(place)["one"]
    assert one["state"] == "paused"
    assert one["why"] == "paused until `socialcrawl backup` is done (process 1151 on crawler)"
    assert one["paused_by"] == {"command": "backup", "pid": 1151, "host": "crawler"}


def test_a_daemon_watches_what_it_shows_though_an_earlier_one_ran_it_last(two, place):
    """A campaign that was done stays so, and is opened no more."""
    now = time.time()
    daemons.enroll_daemon(two, "a", "here", 1, now)
    daemons.write_heartbeat(two, "a", [told("one", "done", held=False), told("two", "waiting")], now)
    daemons.sign_off(two, "a", now)
    daemons.enroll_daemon(two, "b", "here", 2, now)
    daemons.write_heartbeat(two, "b", [told("one", "done", held=False), told("two", "waiting")], now)
    assert lines(place)[-1].startswith("process 2 on here watches 2 of them and has 1 open; ")
    assert [one["watched"] for one in shown(place).values()] == [True, True]
    assert shown(place)["one"]["released"] is not None


def test_a_daemon_stands_by_for_what_it_could_run(two, place):
    now, server = time.time(), not isinstance(place, Path)
    daemons.enroll_daemon(two, "a", "here", 1, now)
    daemons.write_heartbeat(two, "a", [told("one", "waiting"), told("two", "waiting")], now)
    daemons.enroll_daemon(two, "b", "here", 2, now)
    lacking = "can run none of them: it lacks their files or tokens, or another program of that machine uses the tokens"
    assert lines(place)[-1].startswith(f"process 2 on here {lacking if server else 'stands by'}; ")
    if server:
        daemons.write_share(two, "b", 1.0, ["two"])
        assert lines(place)[-1].startswith("process 2 on here stands by for 1 of them; ")


def test_a_daemon_that_was_killed_watches_nothing_once_another_does(two, place):
    now = time.time()
    daemons.enroll_daemon(two, "a", "here", 1, now - 2 * EXPIRY)
    daemons.write_heartbeat(two, "a", [told("one", "paused"), told("two", "waiting")], now - 2 * EXPIRY)
    daemons.enroll_daemon(two, "b", "here", 2, now)
    daemons.write_heartbeat(two, "b", [told("one", "paused", held=False), told("two", "waiting")], now)
    assert lines(place)[-1].startswith("process 2 on here watches 2 of them and has 1 open; ")
    assert (shown(place)["one"]["state"], shown(place)["one"]["alive"]) == ("paused", False)


def write_files(folder, **keywords):
    """Files of one campaign, by their stems: the keyword of each."""
    for name, keyword in keywords.items():
        text = f'name = "one"\ndatabase = "one.db"\n[topic]\nkeywords = ["{keyword}"]\n'
        (folder / f"{name}.toml").write_text(text, "utf-8")
    given = {"name": "one", "database": str(folder / "one.db"), "topic": {"keywords": [next(iter(keywords.values()))]}}
    return check_settings(given, "test")


def states_of(folder):
    return {Path(one["file"]).name: one["state"] for one in json.loads(status(folder, "--json"))}


def test_of_two_files_of_a_campaign_that_of_its_daemon_is_well_whatever_the_alphabet_says(tmp_path):
    settings = write_files(tmp_path, one="tea", another="tea")
    with opened(tmp_path / "one.db") as connection:
        ensure_campaign(connection, settings.model_dump(mode="json"), {}, BEGIN)
        daemons.enroll_daemon(connection, "a", "here", 1, time.time())
        file = str((tmp_path / "one.toml").resolve())
        daemons.write_heartbeat(connection, "a", [told("one", "waiting", file=file)], time.time())
    assert states_of(tmp_path) == {"one.toml": "waiting", "another.toml": "broken"}
    header, first, second = status(tmp_path).splitlines()[:3]
    assert header.split()[:3] == ["campaign", "file", "state"]
    assert first.split()[:3] == ["one", "one.toml", "waiting"]
    assert second.split()[:3] == ["another", "another.toml", "broken"]
    assert "watches 1 of them" in status(tmp_path).splitlines()[-1]


def test_of_two_files_that_no_daemon_ran_the_one_is_well_with_which_the_campaign_was_run(tmp_path):
    settings = write_files(tmp_path, one="tea", another="coffee")
    with opened(tmp_path / "one.db") as connection:
        ensure_campaign(connection, settings.model_dump(mode="json"), {}, BEGIN)
    assert states_of(tmp_path) == {"one.toml": "idle", "another.toml": "broken"}


def test_of_two_files_of_a_campaign_that_has_not_begun_the_first_is_well(tmp_path):
    write_files(tmp_path, one="tea", another="coffee")
    assert states_of(tmp_path) == {"another.toml": "idle", "one.toml": "broken"}


def test_files_are_not_shown_where_the_names_of_campaigns_tell_them(tmp_path):
    write_files(tmp_path, one="tea")
    assert status(tmp_path).split()[:2] == ["campaign", "state"]
    assert "it has not begun" in status(tmp_path)
