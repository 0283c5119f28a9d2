"""Databases that somebody looks at again and again: what is read, how often, and what of it stays true."""

import shutil
import sqlite3
import time
from contextlib import closing

import pytest
from alembic import command
from api_campaigns import run_example
from stores import opened

from socialcrawl.cli.commands.check import find_campaign_files
from socialcrawl.daemon import database_readings
from socialcrawl.daemon.campaign_folder import CampaignFolder
from socialcrawl.daemon.campaign_status import OUTDATED
from socialcrawl.daemon.database_readings import AGAIN, IDLE_AGAIN, DatabaseReadings
from socialcrawl.storage import daemons
from socialcrawl.storage.database.connection import make_alembic_config
from socialcrawl.storage.database.lease import Lease

NOW = time.time()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readings")
    run_example(folder)
    return folder / "example.db"


@pytest.fixture
def folder(made, tmp_path):
    shutil.copy(made, tmp_path / "example.db")
    return tmp_path


@pytest.fixture
def read(folder, monkeypatch):
    """Reads the folder at an instant; `read.count` says how often a database was read."""
    readings = DatabaseReadings([str(folder)])
    original = database_readings.read_status

    def count(*given):
        at_instant.count += 1
        return original(*given)

    def at_instant(seconds):
        (found,) = readings.read_all(NOW + seconds).readings
        return found

    at_instant.count = 0
    monkeypatch.setattr(database_readings, "read_status", count)
    return at_instant


def test_files_of_other_programs_are_no_broken_campaigns_but_misspelled_ones_are(tmp_path):
    texts = {
        "pyproject": '[build-system]\nrequires = []\n[project]\nname = "x"\n[tool.ruff]\nline-length = 99\n',
        "zensical": '[project]\nsite_name = "docs"\n',
        "misspelled": 'nmae = "x"\n[topic]\nkeyword = ["sky"]\n',
        "unfinished": '[topic\nkeywords = ["sky"]\n',
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(text, "utf-8")
    readings = DatabaseReadings([str(tmp_path)]).read_all(NOW).readings
    assert sorted(row.held.campaign for one in readings for row in one.rows) == ["misspelled", "unfinished"]
    named = [file.stem for file in CampaignFolder(tmp_path).list_files()]
    assert named == [file.stem for file in find_campaign_files([tmp_path])] == ["misspelled", "unfinished"]
    (tmp_path / "zensical.toml").write_text('[topic]\nkeywords = ["sky"]\n', "utf-8")
    assert [file.stem for file in find_campaign_files([tmp_path])][-1] == "zensical", "it is another file now"


def test_a_database_that_nobody_writes_or_runs_is_read_once_a_minute(read):
    read(0.0)
    first = read(IDLE_AGAIN)  # opening the file for the first time has put a write-ahead log beside it
    assert read(IDLE_AGAIN + 1.0) is read(2 * IDLE_AGAIN - 1.0) is first
    assert read.count == 2
    read(2 * IDLE_AGAIN)
    assert read.count == 3


def test_a_database_that_somebody_writes_is_read_again(read, folder):
    before = read(0.0)
    with opened(folder / "example.db") as connection:
        daemons.pause_campaigns(connection, ["example"], NOW)
    after = read(100.0 * before.took + 1.0)
    assert [row.held.state for row in (before.rows[0], after.rows[0])] == ["done", "paused"]


def test_a_lock_that_is_taken_and_left_without_a_word_is_seen(read, folder):
    assert read(0.0).rows[0].held.state == "done"
    with opened(folder / "example.db") as connection:
        lease = Lease(connection, "example")
        assert read(30.0).rows[0].held.state == "running"
        lease.release()
        assert read(30.0 + max(AGAIN, 60.0)).rows[0].held.state == "done"


def test_figures_are_those_of_the_tables(read, folder):
    found = read(0.0).figures["example"]
    with closing(sqlite3.connect(folder / "example.db")) as plain:
        ask = lambda query: plain.execute(query).fetchone()[0]  # noqa: E731
        assert found.requests == ask("select count(*) from request where coalesce(kind, '') <> 'held'")
        assert found.mills == ask("select sum(coalesce(cost, most)) from request")
        assert found.posts_on_topic == ask("select count(*) from hit")
        steps = "from outcome join pick using (campaign, n) where act = 'expand'"
        assert found.steps == ask(f"select count(*) {steps}") == 30
        assert found.curve[-1] == pytest.approx(ask(f"select sum(value) {steps}"))
    assert found.curve[0] == 0.0
    assert list(found.curve) == sorted(found.curve)
    assert len(found.curve) == 31
    assert not found.of_posts


def test_a_database_of_an_older_version_is_told_and_left_as_it_is(read, folder):
    with opened(folder / "example.db") as connection:
        config = make_alembic_config()
        config.attributes["connection"] = connection
        with connection.begin():
            command.downgrade(config, "0016")
    before = (folder / "example.db").read_bytes()
    found = read(0.0)
    assert [(row.held.state, "upgrades it" in row.held.why) for row in found.rows] == [(OUTDATED, True)]
    assert found.figures == {}
    assert (folder / "example.db").read_bytes() == before


def test_databases_with_running_campaigns_share_the_time_for_reading(read):
    first = read(0.0)
    running = first._replace(rows=[row._replace(held=row.held.__class__("a", None, state="running"))
                                   for row in first.rows], took=0.1)  # fmt: skip
    busy = 3 * running.took
    assert database_readings._find_rest(running, busy, NOW, unchanged=False) == pytest.approx(6.0)
    assert database_readings._find_rest(first._replace(took=0.1), busy, NOW, unchanged=False) == pytest.approx(6.0)
    assert database_readings._find_rest(first._replace(took=0.1), 0.0, NOW, unchanged=False) == pytest.approx(2.0)
    assert database_readings._find_rest(running, None, NOW, unchanged=False) == pytest.approx(1.0), "it is watched"


def test_a_watched_database_is_read_once_it_changed_though_many_others_are_busy(folder, monkeypatch):
    monkeypatch.setattr(database_readings, "REST", 1e9)
    readings = DatabaseReadings([str(folder)])

    def read_state(seconds, *watched):
        (found,) = readings.read_all(NOW + seconds, watched).readings
        return found.rows[0].held.state

    assert read_state(0.0) == "done"
    with opened(folder / "example.db") as connection:
        daemons.pause_campaigns(connection, ["example"], NOW)
    assert read_state(30.0) == "done"
    assert read_state(30.0, folder / "example.db") == "paused"


def test_a_file_that_is_no_database_and_one_that_vanishes_are_left_out(folder):
    (folder / "notes.db").write_text("no database at all", "utf-8")
    readings = DatabaseReadings([str(folder)])
    assert len(readings.read_all(NOW).readings) == 1
    (folder / "example.db").rename(folder / "other.db")
    (found,) = readings.read_all(NOW + 1.0).readings
    assert found.rows[0].where == folder / "other.db"
