"""Databases that are not ours, places that cannot be written, locks, full disks: told in words, and nothing is lost."""

import os
import sqlite3
from contextlib import closing

import pytest
from stores import AT, opened
from tiny_town import Clock, Wire, close, parts_of, stored, story

from socialcrawl.engine.loop import run
from socialcrawl.errors import StoreError
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database import connection as database
from socialcrawl.storage.database.connection import close_connection, connect, read_unlocked
from socialcrawl.storage.sql_store import SqlStore


def test_a_database_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "a.db"
    with opened(path):
        pass
    with closing(sqlite3.connect(path)) as plain:
        plain.execute("update alembic_version set version_num = '9999'")
        plain.commit()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"schema 9999, which is newer than this socialcrawl.*Nothing was changed"):
        connect(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "bookmarks.db"
    with closing(sqlite3.connect(path)) as plain:
        plain.execute("create table bookmark (url text)")
        plain.commit()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"belongs to another program.*Nothing was changed"):
        connect(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "notes.db"
    path.write_text("these are my notes\n" * 100)
    with pytest.raises(StoreError, match=r"notes\.db is a file of another kind, not a database: give an SQLite file"):
        connect(path)
    assert path.read_text() == "these are my notes\n" * 100


def test_a_missing_folder_or_database_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"The folder .*nowhere does not exist"):
        connect(tmp_path / "nowhere" / "a.db")
    with pytest.raises(StoreError, match=r"There is no database .*a\.db: run a campaign first"):
        connect(tmp_path / "a.db", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="check the permissions"):
            connect(tmp_path / "a.db")
    finally:
        tmp_path.chmod(0o700)


def test_a_place_that_cannot_be_written_is_told_to_root_too(tmp_path):
    with pytest.raises(StoreError, match="is a folder, not a database: give an SQLite file"):
        connect(tmp_path)
    with opened(tmp_path / "a.db") as connection:
        number = ensure_campaign(connection, {"name": "a", "seed": 1, "source": {"platform": "x"}}, {}, AT)
        connection.connection.cursor().execute("pragma query_only = 1")
        with pytest.raises(StoreError, match="check the permissions"):
            SqlStore(connection, number, "x").enlist(["ann"], AT)


def test_a_database_that_another_program_keeps_locked_is_told_and_can_be_used_afterwards(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "BUSY", 0.1)
    store = stored(tmp_path / "a.db")
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
        other.execute("begin immediate")
        with pytest.raises(StoreError, match=r"a\.db is locked by another program for too long"):
            store.enlist(["ann"], AT)
        looking = connect(tmp_path / "a.db")  # whoever only looks need not wait
        with read_unlocked(looking):
            assert looking.exec_driver_sql("select count(*) from campaign").scalar() == 1
        close_connection(looking)
        other.execute("rollback")
    assert store.enlist(["ann"], AT) == [0]
    close(store)


def test_a_full_disk_loses_nothing_and_the_crawl_goes_on_when_there_is_room(tmp_path):
    whole, path = stored(tmp_path / "whole.db"), tmp_path / "full.db"
    run(parts_of(whole, Wire(Clock())))
    expected = story(whole)
    close(whole)
    store, wire = stored(path), Wire(Clock())
    run(parts_of(store, wire, caps=Caps(requests=8)))
    before = (story(store), [reply for _, reply in store.ledger()])
    pages = store.connection.exec_driver_sql("pragma page_count").scalar()
    store.connection.rollback()
    store.connection.connection.cursor().execute(f"pragma max_page_count = {pages}")
    with pytest.raises(
        StoreError, match=r"The disk is full.*Make room and run again; everything that was stored is safe"
    ):
        run(parts_of(store, wire))
    after = story(store)
    assert after[: len(before[0])] == before[0]
    assert [reply for _, reply in store.ledger()][: len(before[1])] == before[1]
    lost = [grant for grant, reply in store.ledger() if reply is None]
    assert len(lost) <= 2
    close(store)
    store = stored(path)
    assert run(parts_of(store, wire)).kind == "done"
    assert story(store) == expected
    assert len(wire.calls) <= len(set(wire.calls)) + 2
    close(store)
