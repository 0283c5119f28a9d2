"""`socialcrawl ui` as a process: its start, its end by a signal or by kill -9, and what it refuses to do."""

import signal
import socket
import sqlite3
import struct
import sys
import threading
import time
from contextlib import closing, contextmanager

import httpx
import pytest
from api_campaigns import run_example
from commands import socialcrawl
from web_pages import served

from socialcrawl.cli.commands.ui import WebOptions, serve_pages
from socialcrawl.errors import SettingsError


def dump(path):
    with closing(sqlite3.connect(path)) as plain:
        return list(plain.iterdump())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("web")
    run_example(made)
    return made


def test_the_pages_end_by_a_signal_and_the_token_stays(folder, tmp_path):
    with served(folder, state=tmp_path) as first:
        assert httpx.get(first.url).status_code == 200
        with httpx.stream("GET", f"{first.url}events") as stream:
            assert next(stream.iter_lines()) == "event: fragment"
            first.child.send_signal(signal.SIGTERM)
            assert first.child.wait(60) == 0
    with served(folder, state=tmp_path) as second:
        assert second.token == first.token
    assert [file.name for file in folder.iterdir()] == ["example.db"]


def test_kill_9_of_the_pages_changes_nothing(folder, tmp_path):
    before = dump(folder / "example.db")
    with served(folder, state=tmp_path) as pages:
        for path in ("", "api/v1/campaigns"):
            assert httpx.get(f"{pages.url}{path}").status_code == 200
        with httpx.stream("GET", f"{pages.url}events") as stream:
            next(stream.iter_lines())
            pages.child.kill()
            pages.child.wait(60)
    assert dump(folder / "example.db") == before
    assert socialcrawl("status", folder / "example.db").returncode == 0


DECISIONS = """select p.n, p.act, p.score, p.node, o.value, o.occurrences, o.posts
from pick p left join outcome o on o.campaign = p.campaign and o.n = p.n order by p.n"""
AT_ONCE = struct.pack("ii", 1, 0)  # a connection is cut, not closed


def read_decisions(path):
    with closing(sqlite3.connect(path)) as plain:
        return plain.execute(DECISIONS).fetchall()


@contextmanager
def repeating(act):
    """Do something again and again in a thread until the block ends; at least once."""
    ended, failed = threading.Event(), []

    def run():
        while True:
            try:
                act()
            except Exception as error:  # noqa: BLE001  (the test raises it)
                failed.append(error)
            if ended.is_set() or failed:
                return

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert failed == []


def test_pages_that_a_laptop_puts_to_sleep_again_and_again_change_nothing_in_a_campaign_that_runs(folder, tmp_path):
    with served(tmp_path, state=tmp_path / "state") as pages, httpx.Client(timeout=300) as client:

        def look():
            for one in client.get(f"{pages.url}api/v1/campaigns").json()["campaigns"]:
                client.get(f"{pages.url}campaigns/{one['key']}")

        def sleep():
            pages.child.send_signal(signal.SIGSTOP)
            time.sleep(0.05)
            pages.child.send_signal(signal.SIGCONT)
            time.sleep(0.02)

        with client.stream("GET", f"{pages.url}events") as stream, repeating(look), repeating(sleep):
            next(stream.iter_lines())
            run_example(tmp_path)
        assert client.get(pages.url).status_code == 200
        pages.child.send_signal(signal.SIGSTOP)
        pages.child.kill()
        assert pages.child.wait(60) == -signal.SIGKILL
    assert read_decisions(tmp_path / "example.db") == read_decisions(folder / "example.db")
    with closing(sqlite3.connect(tmp_path / "example.db")) as plain:
        assert plain.execute("pragma integrity_check").fetchone() == ("ok",)


def test_viewers_whose_connection_is_lost_hold_up_nobody_and_make_room(folder, tmp_path):
    before = dump(folder / "example.db")
    with served(folder, state=tmp_path) as pages:
        url = httpx.URL(pages.url)
        for _ in range(3):
            lost = []
            for _ in range(40):  # more than half of those that are kept up to date
                one = socket.create_connection((url.host, url.port))
                one.sendall(f"GET /events HTTP/1.1\r\nhost: {url.host}:{url.port}\r\n\r\n".encode())
                assert one.recv(12) == b"HTTP/1.1 200"
                lost.append(one)
            assert httpx.get(pages.url, timeout=300).status_code == 200
            for one in lost:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
                one.close()
        with httpx.stream("GET", f"{pages.url}events", timeout=300) as stream:
            assert next(stream.iter_lines()) == "event: fragment"
    assert dump(folder / "example.db") == before


def test_open_to_other_machines_it_says_what_to_do_and_wants_the_token(folder, tmp_path):
    with served(folder, "--host", "0.0.0.0", "--allow-remote", state=tmp_path) as pages:
        port = httpx.URL(pages.url).port
        local = f"http://127.0.0.1:{port}/"
        assert httpx.get(local).status_code == 303
        given = {"authorization": f"Bearer {pages.token}"}
        assert httpx.get(f"{local}api/v1/campaigns", headers=given).status_code == 200


def test_what_cannot_be_served_is_told_in_a_sentence(tmp_path, monkeypatch):
    with pytest.raises(SettingsError, match=r"add --allow-remote"):
        serve_pages(WebOptions([str(tmp_path)], "0.0.0.0", 0))
    with pytest.raises(SettingsError, match=r"There is no .*none\.db"):
        serve_pages(WebOptions([str(tmp_path / "none.db")], "127.0.0.1", 0))
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SettingsError, match="--port"):
        serve_pages(WebOptions([str(tmp_path)], "127.0.0.1", taken.getsockname()[1], browser=False))
    with pytest.raises(SettingsError, match="is not a host"):
        serve_pages(WebOptions([str(tmp_path)], "127.0.0.1", 0, browser=False, allow_hosts=["a/b"]))
    monkeypatch.setattr("socialcrawl.cli.commands.ui.find_spec", lambda name: None if name == "plotly" else sys)
    with pytest.raises(SettingsError, match=r"ui needs plotly: pip install 'socialcrawl\[ui\]'"):
        serve_pages(WebOptions([str(tmp_path)], "127.0.0.1", 0))
