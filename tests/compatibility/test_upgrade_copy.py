"""A database of an older version is not upgraded in silence: stderr says so, and a copy of it is kept beside it."""

import shutil
import sqlite3
import stat
from contextlib import closing
from typing import NamedTuple

import pytest
from stores import a_place, opened
from test_migrations import at
from typer.testing import CliRunner

from socialcrawl.cli.main import app
from socialcrawl.storage.database.connection import make_engine
from socialcrawl.storage.schema import upgrade_copy


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def old():
    """The file of a database with the schema of the version before."""
    with a_place("sqlite") as place:
        with opened(place):
            pass
        downgrade(place)
        yield place


def downgrade(place, version="0007"):
    made = make_engine(place)
    with made.connect() as connection:
        at(connection, version)
    made.dispose()


def version_of(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("select version_num from alembic_version").fetchone()[0]


def copies(place):
    return sorted(path for path in place.parent.iterdir() if ".before-" in path.name)


def newest():
    with a_place("sqlite") as place, opened(place):
        return version_of(place)


def test_an_upgrade_says_from_which_version_to_which_and_keeps_a_private_copy(old, capsys):
    head = newest()
    capsys.readouterr()
    with opened(old):
        pass
    told = capsys.readouterr()
    (copy,) = copies(old)
    assert copy.name == f"{old.name}.before-{head}"
    assert told.out == ""
    assert f"{old}: updating the schema from version 0007 to {head}." in told.err
    assert f"kept in {copy}" in told.err
    assert (version_of(copy), version_of(old)) == ("0007", head)
    assert stat.S_IMODE(copy.stat().st_mode) & 0o077 == 0
    with opened(old):
        pass
    assert capsys.readouterr().err == ""
    assert copies(old) == [copy]


def test_a_copy_that_is_there_is_never_overwritten(old):
    with opened(old):
        pass
    (first,) = copies(old)
    before = first.read_bytes()
    downgrade(old, "0006")
    with opened(old):
        pass
    one, two = copies(old)
    assert (one, two.name) == (first, f"{first.name}-2")
    assert first.read_bytes() == before
    assert version_of(two) == "0006"


def test_where_the_disk_has_no_room_that_is_said_and_the_upgrade_goes_on(old, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9, 4_000))
    with opened(old):
        pass
    told = capsys.readouterr().err
    assert "updating the schema from version 0007" in told
    assert "No backup was made: that takes " in told
    assert "0.0 MB are free" in told
    assert copies(old) == []
    assert version_of(old) == newest()


def test_a_copy_that_fails_does_not_keep_the_upgrade_from_happening(old, capsys, monkeypatch):
    def fail(where, file):
        raise OSError("no way")

    monkeypatch.setattr(upgrade_copy, "back_up", fail)
    with opened(old):
        pass
    assert "No backup was made: no way" in capsys.readouterr().err
    assert version_of(old) == newest()


def test_a_new_database_and_one_of_this_version_are_opened_in_silence(capsys):
    with a_place("sqlite") as place:
        for _ in range(2):
            with opened(place):
                pass
        assert capsys.readouterr().err == ""
        assert copies(place) == []


def test_a_database_on_a_server_is_upgraded_with_a_word_on_how_to_back_it_up(capsys):
    with a_place("postgres") as place:
        with opened(place):
            pass
        downgrade(place)
        capsys.readouterr()
        with opened(place):
            pass
        told = capsys.readouterr().err
        assert f"{place}: updating the schema from version 0007 to {newest()}." in told
        assert "No backup of a database on a server is made" in told
        assert "pg_dump" in told


def test_report_says_that_it_upgrades_and_sql_leaves_the_schema_alone(old):
    done = CliRunner().invoke(app, ["sql", "--db", str(old), "select count(*) as n from campaign"])
    assert version_of(old) == "0007", done.output
    assert copies(old) == []
    done = CliRunner().invoke(app, ["report", "--db", str(old)])
    assert "updating the schema from version 0007" in done.stderr
    assert len(copies(old)) == 1
