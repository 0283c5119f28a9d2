"""The database in a browser: a real Datasette on this machine, asked over HTTP, ended by its own number."""

import json
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager

import httpx
import pytest
from alembic import command
from commands import COMMAND, ENVIRONMENT
from postgres import a_server_database
from stores import opened
from tiny_town import Clock, Wire, close, parts_of, stored

from socialcrawl.cli.commands.explore import explore, make_metadata
from socialcrawl.engine.loop import run
from socialcrawl.errors import SettingsError, SocialcrawlError
from socialcrawl.storage.database.connection import make_alembic_config
from socialcrawl.storage.database.readonly import run_query
from socialcrawl.storage.schema.questions import QUESTIONS
from socialcrawl.storage.schema.tables import metadata as tables
from socialcrawl.storage.schema.views import VIEWS


def crawled(path):
    store = stored(path)
    run(parts_of(store, Wire(Clock())))
    close(store)
    return path


@contextmanager
def explored(path, *words):
    """(the address, the child process, what it said) of `socialcrawl explore`, until it is interrupted."""
    asking = [*COMMAND, "explore", "--db", str(path), "--port", "0", "--no-open", *words]
    child = subprocess.Popen(asking, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=ENVIRONMENT, text=True)
    try:
        said = next(line for line in child.stderr if "http://127.0.0.1:" in line)  # an upgrade is told before
        url = next(word for word in said.split() if word.startswith("http://127.0.0.1:"))
        until = time.monotonic() + 300
        while time.monotonic() < until:
            try:
                httpx.get(url, timeout=5)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield url, child, said
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
        child.stderr.read()
        child.wait(20)
        child.stderr.close()


def rows_of(path):
    with closing(sqlite3.connect(path)) as plain:
        return list(plain.iterdump())


def as_an_older_one(path):
    with opened(path) as connection:
        config = make_alembic_config()
        config.attributes["connection"] = connection
        with connection.begin():
            command.downgrade(config, "0003")
    return path


def test_pages_tables_questions_and_views_are_shown_and_nothing_can_be_changed(tmp_path):
    before = rows_of(crawled(tmp_path / "my.town.db"))
    path = as_an_older_one(tmp_path / "my.town.db")
    with explored(path, "--timeout", "2s") as (url, child, said):
        assert str(path) in said
        base = f"{url}my~2Etown"
        home = httpx.get(base).text
        assert all(question.words in home for question in QUESTIONS)
        assert all(view.name in home for view in VIEWS)
        page = httpx.get(f"{base}/frontier_now").text
        assert next(view for view in VIEWS if view.name == "frontier_now").comment in page
        assert tables.tables["outcome"].columns["value"].comment in httpx.get(f"{base}/outcome").text
        for question in QUESTIONS:
            told = httpx.get(f"{base}/{question.name}.json?_shape=objects").json()
            with run_query(path, question.sql, 20.0, time.monotonic) as (columns, rows):
                assert [tuple(row.values()) for row in told["rows"]] == list(rows)
                assert told["columns"] == columns
        for name, rows in (("tiny", 14), ("", 14), ("other", 0)):
            told = httpx.get(f"{base}/view_campaign_progress.json", params={"campaign": name, "_shape": "array"})
            assert len([row for row in told.json() if row["step"]]) == rows
        slow = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"
        told = httpx.get(f"{base}.json", params={"sql": slow}, timeout=300)
        assert (told.status_code, "interrupted" in told.text.lower()) == (400, True)
        for write in (
            "delete from post",
            "drop table post",
            "pragma user_version = 3",
            "insert into hit values (1,1,1)",
        ):
            assert httpx.get(f"{base}.json", params={"sql": write}).status_code == 400
        told = httpx.get(f"{base}.json", params={"sql": "select hex(zeroblob(4e8))"}, timeout=300)
        assert (told.status_code, "too big" in told.text) == (400, True)
        assert httpx.get(f"{url}my~2Etown.db").status_code == 403
        for family, _, _, _, place in socket.getaddrinfo(socket.gethostname(), httpx.URL(url).port):
            if not place[0].startswith("127.") and place[0] != "::1":
                with socket.socket(family) as other:
                    assert other.connect_ex(place) != 0, "only this machine is let in"
        assert child.poll() is None
    assert child.returncode == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["my.town.db", "my.town.db.before-0021"]  # upgraded
    assert rows_of(path) == before


def test_what_cannot_be_explored_is_told_in_a_sentence(tmp_path, monkeypatch):
    path, odd = crawled(tmp_path / "a.db"), crawled(tmp_path / "50%.db")
    (tmp_path / "text.db").write_text("this is not a database, however long it may be" * 99)
    with a_server_database() as server, pytest.raises(SettingsError, match=r"on a server.*`socialcrawl export`"):
        explore(server, 0, 1.0, browser=False)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SettingsError, match="--port"):
            explore(path, taken.getsockname()[1], 1.0, browser=False)
    for wrong, words in ((tmp_path / "none.db", "There is no"), (tmp_path / "text.db", "not a database"), (odd, "50%")):
        with pytest.raises(SocialcrawlError, match=words):
            explore(wrong, 0, 1.0, browser=False)
    monkeypatch.setitem(sys.modules, "datasette.app", None)
    with pytest.raises(SettingsError, match=r"pip install 'socialcrawl\[explore\]'"):
        explore(path, 0, 1.0, browser=False)


def test_metadata_describes_every_table_view_and_column():
    told = json.loads(json.dumps(make_metadata("x")))["databases"]["x"]
    assert {name for name, table in told["tables"].items() if not table.get("hidden")} == {
        *tables.tables,
        *(view.name for view in VIEWS),
    }
    for name, table in tables.tables.items():
        assert told["tables"][name]["description"] == table.comment
        assert told["tables"][name]["columns"] == {column.name: column.comment for column in table.columns}
    assert set(told["queries"]) == {q.name for q in QUESTIONS} | {f"view_{view.name}" for view in VIEWS}
