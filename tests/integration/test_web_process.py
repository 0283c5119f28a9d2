"""`socialcrawl ui` as a process: its start, its end by a signal or by kill -9, and what it refuses to do."""

import signal
import socket
import sqlite3
import sys
from contextlib import closing

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
