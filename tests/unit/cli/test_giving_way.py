"""Campaigns that are in the way of a command: named, or paused and resumed; with daemons as processes, and without."""

import json
import os
import signal
import socket
import subprocess
import time

import pytest
from commands import COMMAND, ENVIRONMENT, socialcrawl
from import_files import NOW
from refresh_campaigns import revived
from test_daemon_process import a_mock, campaign_file, daemon, folder, steps, telling
from x_crawls import TOKEN, TOKEN_ENV, posts_file

from socialcrawl.cli import running_campaigns
from socialcrawl.cli.running_campaigns import give_way
from socialcrawl.errors import HeldError, StoreError
from socialcrawl.storage import daemons
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.daemons import CampaignHeartbeat, Pauser
from socialcrawl.storage.database.connection import open_database

__all__ = ["folder"]  # a fixture


@pytest.fixture
def in_the_way(folder):
    """A daemon whose campaign waits for its window, beside one of the same database that a person has paused."""
    with a_mock(window=3600.0) as mock, daemon(folder) as one:
        for name in ("one", "two"):
            file = campaign_file(folder, mock.url, name)
            text = file.read_text("utf-8").replace(f"{name}.db", "one.db").replace("d = 2.0", "d = 3600.0")
            file.write_text(text, "utf-8")
        one.until(lambda: steps(folder) and set(leases(folder).values()) == {"held"})
        assert socialcrawl("pause", folder / "two.toml").returncode == 0
        one.until(lambda: one.said("paused"))
        yield one
        assert one.end()[0] == 0


def leases(folder):
    """The campaigns of the database: whether they are paused, held by a daemon, or free."""
    with open_database(folder / "one.db") as connection:
        found = daemons.read_leases(connection)
    held = {one.campaign: "held" if one.is_alive(time.time()) else "free" for one in found}
    return held | {one.campaign: "paused" for one in found if one.paused is not None}


def test_what_a_daemon_is_in_the_way_of_says_so_or_pauses_and_resumes_it(folder, in_the_way, tmp_path):
    forget = ("forget", "--db", folder / "one.db", "--user", "@nobody", "--yes")
    refused = socialcrawl(*forget)
    assert refused.returncode == 1
    assert "The campaign 'one' is in the way" in refused.stderr
    assert f"process {in_the_way.child.pid}" in refused.stderr
    assert "--pause" in refused.stderr
    commands = (
        forget,
        ("retain", "90d", "--db", folder / "one.db", "--yes"),
        ("backup", "--out", tmp_path / "copy.db", "--db", folder / "one.db"),
        ("export", "--out", tmp_path / "out", "--all", "--db", folder / "one.db", "--format", "csv"),
        ("import", posts_file(), "--db", folder / "one.db"),
    )
    for command in commands:
        done = socialcrawl(*command, "--pause")
        assert done.returncode == 0, done.stderr
        assert "paused until this is done: one" in done.stderr
        assert "resumed: one" in done.stderr
        assert leases(folder)["two"] == "paused", "whoever was paused before stays so"
        in_the_way.until(lambda: leases(folder)["one"] == "held")


def test_a_campaign_that_was_paused_for_a_command_is_resumed_after_an_error_and_after_a_signal(folder, in_the_way):
    failed = socialcrawl("backup", "--out", folder / "none" / "copy.db", "--db", folder / "one.db", "--pause")
    assert (failed.returncode, "does not exist" in failed.stderr) == (1, True)
    in_the_way.until(lambda: leases(folder)["one"] == "held")
    for number in (signal.SIGINT, signal.SIGTERM):
        words = ["forget", "--db", str(folder / "one.db"), "--user", "@nobody", "--yes", "--pause"]
        child = subprocess.Popen([*COMMAND, *words], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
        assert "paused until this is done: one" in child.stderr.readline()
        child.send_signal(number)
        told = child.communicate(timeout=60)[1]
        assert "resumed: one" in told, told
        in_the_way.until(lambda: leases(folder)["one"] == "held")
    assert leases(folder)["two"] == "paused"


def test_what_would_be_forgotten_is_counted_while_a_daemon_runs_and_it_runs_on(folder, in_the_way):
    forget = ("forget", "--db", folder / "one.db", "--user", "@nobody", "--dry-run", "--json")
    retain = ("retain", "90d", "--db", folder / "one.db", "--dry-run", "--json")
    for command in (forget, retain):
        done = socialcrawl(*command)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["dry_run"]
    not_agreed = socialcrawl(*forget[:-2])
    assert (not_agreed.returncode, "agree to it with --yes" in not_agreed.stderr) == (2, True)
    assert leases(folder) == {"one": "held", "two": "paused"}
    assert len(in_the_way.said("paused")) == 1, "two, which a person has paused"


def test_nobody_is_told_of_a_pause_that_a_command_makes_and_ends(folder, tmp_path):
    """As a job of every night does: one line in the log, and status says what the campaign is paused for."""
    notes = tmp_path / "notes"
    with a_mock(window=3600.0) as mock, daemon(folder) as one:
        file = campaign_file(folder, mock.url, more=telling(notes, tmp_path))
        file.write_text(file.read_text("utf-8").replace("d = 2.0", "d = 3600.0"), "utf-8")
        one.until(lambda: steps(folder) and leases(folder) == {"one": "held"})
        assert socialcrawl("backup", folder / "one.db", "-o", tmp_path / "copy.db", "--pause").returncode == 0
        one.until(lambda: leases(folder) == {"one": "held"})
        (line,) = one.said("paused")
        assert line["why"].startswith("paused until `socialcrawl backup` is done (process ")
        assert not one.said("the campaign goes on")
        assert socialcrawl("pause", file).returncode == 0
        one.until(lambda: len(one.said("paused")) == 2)
        assert socialcrawl("resume", file).returncode == 0
        (back,) = one.until(lambda: one.said("the campaign goes on"))
        assert (back["campaign"], back["was"]) == ("one", "paused")
        told = one.until(lambda: notes.exists() and notes.read_text("utf-8").splitlines())
        assert one.end()[0] == 0
    (event,) = map(json.loads, told)
    assert (event["event"], "paused by a person" in event["text"]) == ("paused", True)


def test_what_a_command_had_paused_that_was_killed_is_resumed_by_the_daemon(folder, in_the_way):
    gone = subprocess.Popen(["true"])
    gone.wait()
    with open_database(folder / "one.db") as connection:
        by = Pauser("backup", gone.pid, socket.gethostname())
        assert daemons.pause_campaigns(connection, ["one"], time.time(), by) == ["one"]
    in_the_way.until(lambda: in_the_way.said("the command that paused the campaign is gone: it goes on"))
    in_the_way.until(lambda: leases(folder) == {"one": "held", "two": "paused"})


def test_a_campaign_that_a_person_runs_is_in_the_way_of_what_pauses_only_daemons(folder):
    with a_mock() as mock:
        file = campaign_file(folder, mock.url)
        words = [*COMMAND, "run", str(file)]
        child = subprocess.Popen(words, env={**ENVIRONMENT, TOKEN_ENV: TOKEN}, stdout=subprocess.DEVNULL)
        try:
            while steps(folder) < 5:
                assert child.poll() is None
                time.sleep(0.05)
            refused = socialcrawl("forget", "--db", folder / "one.db", "--user", "@nobody", "--yes", "--pause")
            (shown,) = json.loads(socialcrawl("status", file, "--json").stdout)
        finally:
            child.kill()
            child.wait(10)
    assert refused.returncode == 1
    assert f"pid {child.pid}" in refused.stderr
    assert "press Ctrl-C where it runs" in refused.stderr
    assert (shown["state"], shown["pid"]) == ("running", child.pid)
    assert json.loads(socialcrawl("status", file, "--json").stdout)[0]["state"] == "idle"


@pytest.fixture
def held(tmp_path):
    """A database of two campaigns, of which a daemon has one open, and a person has paused the other."""
    place = tmp_path / "a.db"
    with open_database(place) as connection:
        for name in ("one", "two"):
            settings = revived(name=name)
            ensure_campaign(connection, settings.model_dump(mode="json"), settings.identity([]), NOW)
        daemons.pause_campaigns(connection, ["two"], NOW)
    beat(place, held=True)
    return place


def beat(place, *, held):
    with open_database(place) as connection:
        daemons.enroll_daemon(connection, "there", "there", 9, time.time())
        daemons.write_heartbeat(
            connection, "there", [CampaignHeartbeat("one", "waiting", "", None, None, held)], time.time()
        )


def paused(place):
    with open_database(place) as connection:
        return [one.campaign for one in daemons.read_leases(connection) if one.paused is not None]


def test_work_is_done_while_it_is_paused_and_only_what_was_paused_for_it_is_resumed(held, monkeypatch):
    monkeypatch.setattr(running_campaigns.time, "sleep", lambda seconds: beat(held, held=False))
    assert give_way("backup", held, None, lambda: paused(held), pause=True) == ["one", "two"]
    assert paused(held) == ["two"]


def test_a_daemon_that_does_not_let_go_is_named_and_its_campaign_resumed(held, monkeypatch):
    monkeypatch.setattr(running_campaigns, "PATIENCE", -1.0)
    with pytest.raises(StoreError, match="The campaign 'one' is still open"):
        give_way("backup", held, None, lambda: pytest.fail("nothing is done"), pause=True)
    assert paused(held) == ["two"]


def test_a_campaign_that_is_opened_meanwhile_is_paused_too(held, monkeypatch):
    monkeypatch.setattr(running_campaigns.time, "sleep", lambda seconds: beat(held, held=False))
    beat(held, held=False)
    tries = []

    def work():
        tries.append(paused(held))
        if len(tries) == 1:
            beat(held, held=True)
            raise HeldError("busy")
        return "done"

    assert give_way("backup", held, None, work, pause=True) == "done"
    assert tries == [["two"], ["one", "two"]]
    assert paused(held) == ["two"]


def test_a_campaign_that_a_person_pauses_meanwhile_stays_paused(held, monkeypatch):
    monkeypatch.setattr(running_campaigns.time, "sleep", lambda seconds: beat(held, held=False))

    def work():
        with open_database(held) as connection:
            (one, two) = daemons.read_leases(connection)
            assert (one.paused_by.command, one.paused_by.pid, two.paused_by) == ("backup", os.getpid(), None)
            assert daemons.pause_campaigns(connection, ["one"], NOW) == ["one"]

    give_way("backup", held, None, work, pause=True)
    assert paused(held) == ["one", "two"]


def test_campaigns_that_cannot_be_in_the_way_are_left_alone(held):
    assert give_way("backup", held, ["other"], lambda: paused(held), pause=True) == ["two"]


def test_without_the_option_nothing_is_paused_and_the_message_says_what_is_in_the_way(held):
    def work():
        raise HeldError("busy")

    with pytest.raises(HeldError, match=r"'one' is in the way: a daemon runs it .process 9 on there.* --pause"):
        give_way("backup", held, None, work, pause=False)
    assert paused(held) == ["two"]
    beat(held, held=False)
    with pytest.raises(HeldError, match="busy No daemon runs it"):
        give_way("backup", held, None, work, pause=True)
