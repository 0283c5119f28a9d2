"""Exports that pages write while nobody waits: they are there for whoever comes back, bounded, and gone in the end."""

import io
import threading
import time
import zipfile

import pytest
from tiny_town import close, stored
from web_pages import TOKEN, log_in, serving

import socialcrawl as sc
from socialcrawl.web import export_downloads, kept_exports
from socialcrawl.web.data_models import PRESETS, ExportChoice
from socialcrawl.web.kept_exports import GONE, KEPT_FOR, KeptExports
from socialcrawl.web.work_slots import WorkSlots

BEARER = {"authorization": f"Bearer {TOKEN}"}
WITHIN = 60  # seconds


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a campaign; exports are written beside it."""
    (tmp_path / "written").mkdir()
    (tmp_path / "town").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "written"))
    close(stored(tmp_path / "town" / "town.db"))
    return tmp_path / "town"


@pytest.fixture
def client(folder):
    with serving(folder) as made:
        yield made


@pytest.fixture
def path(client):
    return f"/campaigns/{client.get('/api/v1/campaigns').json()['campaigns'][0]['key']}"


@pytest.fixture
def held(monkeypatch):
    """What lets exports go on that are being written; until it is set, they stand still."""
    go_on, real = threading.Event(), export_downloads.check_room

    def wait(folder):
        assert go_on.wait(WITHIN)
        real(folder)

    monkeypatch.setattr(export_downloads, "check_room", wait)
    yield go_on
    go_on.set()


def wait_until(done):
    ends = time.monotonic() + WITHIN
    while not done():
        assert time.monotonic() < ends
        time.sleep(0.02)


def list_exports(client, path):
    return client.get(f"/api/v1{path}/exports").json()["exports"]


def is_finished(client, path):
    return all(one["writing"] is None for one in list_exports(client, path))


def unzip(answer):
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def start(client, path, csrf, **fields):
    return client.post(f"{path}/exports", data={"csrf": csrf, **fields})


def test_whoever_left_while_an_export_was_written_comes_back_to_its_download(client, path, folder, held):
    csrf = log_in(client)
    before = (folder / "town.db").read_bytes()
    begun = start(client, path, csrf, preset="spreadsheet")
    assert (begun.status_code, begun.headers["location"]) == (303, f"{path}/export#exports")
    assert client.get(path).status_code == 200, "somewhere else meanwhile"
    wait_until(lambda: "Writing " in client.get(f"{path}/export").text)
    assert "data-writing" in client.get(f"{path}/exports").text
    held.set()
    wait_until(lambda: is_finished(client, path))
    page = client.get(f"{path}/export").text
    (one,) = list_exports(client, path)
    assert f'<a href="{path}/exports/{one["id"]}.zip" download>Spreadsheet (CSV)</a>' in page
    found = client.get(f"{path}/exports/{one['id']}.zip")
    assert found.headers["content-disposition"] == 'attachment; filename="tiny-export.zip"'
    assert len(found.content) == one["size"]
    direct = unzip(client.get(f"{path}/export.zip", params={"format": "csv", "safe_csv": True}))
    files = unzip(found)
    assert files.keys() == direct.keys()
    assert {name: files[name] for name in files if name.endswith(".csv")} == {
        name: direct[name] for name in direct if name.endswith(".csv")
    }
    assert (folder / "town.db").read_bytes() == before


def test_files_and_options_of_ones_own_are_exported_too_and_what_fails_says_why(client, path, tmp_path):
    csrf = log_in(client)
    start(client, path, csrf, preset="", format=["jsonl", "ids"])
    start(client, path, csrf, preset="responses")
    wait_until(lambda: is_finished(client, path))
    failed, made = list_exports(client, path)
    assert (made["title"], failed["title"]) == ("jsonl, ids", "Original responses (WARC)")
    names = {name.partition(".")[2] for name in unzip(client.get(f"{path}/exports/{made['id']}.zip"))}
    assert names >= {"jsonl", "txt"}
    assert "No answers were kept" in failed["why"]
    assert failed["why"].split(".")[0] in client.get(f"{path}/export").text
    missing = client.get(f"{path}/exports/{failed['id']}.zip")
    assert (missing.status_code, "No answers were kept" in missing.text) == (404, True)
    assert len(list((tmp_path / "written").iterdir())) == 1, "what failed has left nothing"
    assert start(client, path, csrf, preset="everything").status_code == 422


def test_an_export_is_deleted_by_its_button_also_while_it_is_written(client, path, tmp_path, held):
    csrf = log_in(client)
    start(client, path, csrf, preset="analysis")
    (one,) = list_exports(client, path)
    assert ">Cancel</button>" in client.get(f"{path}/export").text
    assert client.post(f"{path}/exports/{one['id']}/delete", data={"csrf": csrf}).status_code == 303
    assert list_exports(client, path) == []
    held.set()
    wait_until(lambda: list((tmp_path / "written").iterdir()) == [])
    made = client.post(f"/api/v1{path}/exports", json={"preset": "analysis"}, headers=BEARER).json()
    wait_until(lambda: is_finished(client, path))
    gone = f"/api/v1{path}/exports/{made['id']}"
    assert client.get(f"{gone}.zip").status_code == 200
    assert [client.delete(gone, headers=BEARER).json()["changed"] for _ in range(2)] == [True, False]
    assert list((tmp_path / "written").iterdir()) == []


def test_only_who_is_logged_in_has_exports_kept_and_others_download_them_at_once(client, path):
    assert start(client, path, "", preset="analysis").status_code == 401
    assert client.post(f"/api/v1{path}/exports", json={}).status_code == 401
    assert client.delete(f"/api/v1{path}/exports/0").status_code == 401
    page = client.get(f"{path}/export").text
    assert f'method="get" action="{path}/export.zip"' in page
    assert "keep this page open" in page
    log_in(client)
    assert start(client, path, "0" * 64, preset="analysis").status_code == 403
    assert list_exports(client, path) == []


def test_exports_are_gone_with_the_pages_and_a_kept_link_says_so(folder, tmp_path):
    with serving(folder) as client:
        path = f"/campaigns/{client.get('/api/v1/campaigns').json()['campaigns'][0]['key']}"
        one = client.post(f"/api/v1{path}/exports", json={}, headers=BEARER).json()
        wait_until(lambda: is_finished(client, path))
        link = f"{path}/exports/{one['id']}.zip"
        assert client.get(link).status_code == 200
    assert list((tmp_path / "written").iterdir()) == []
    with serving(folder) as client:
        gone = client.get(link)
        assert (gone.status_code, GONE in gone.text) == (404, True)
        assert GONE in client.get(f"/api/v1{link}").json()["detail"]


class Clock:
    """A clock that stands still."""

    now = 1_700_000_000.0

    def __call__(self):
        return self.now


def test_exports_are_kept_for_a_day_in_a_bounded_number_and_size(folder, tmp_path, monkeypatch):
    project, clock = sc.open_project(folder), Clock()
    (status,) = project.list_campaigns()
    kept = KeptExports(project, WorkSlots(1, "exports"), clock)
    monkeypatch.setattr(kept_exports, "MOST", 3)

    def write(many):
        for _ in range(many):
            clock.now += 1
            kept.start(status, {"formats": ["ids"]}, "ids")
            wait_until(lambda: all(one.writing is None for one in kept.list_exports(status)))
        wait_until(lambda: len(list((tmp_path / "written").iterdir())) == len(kept.list_exports(status)))
        return [one.begun - Clock.now for one in kept.list_exports(status)]

    assert write(5) == [5, 4, 3], "the oldest go"
    clock.now = Clock.now + 4 + KEPT_FOR
    assert [one.begun - Clock.now for one in kept.list_exports(status)] == [5]
    monkeypatch.setattr(kept_exports, "LARGEST", 10)
    assert len(write(3)) == 1, "the newest is kept though it is large"
    kept.close()
    assert list((tmp_path / "written").iterdir()) == []


def test_the_presets_are_choices_that_an_export_takes_and_name_all_formats_but_one():
    assert all(ExportChoice(preset=name).list_options()["formats"] for name in PRESETS)
    formats = [form for one in PRESETS.values() for form in one.options["formats"]]
    assert sorted(formats) == sorted(set(export_formats()) - {"graphml"})
    assert next(iter(PRESETS)) == "analysis", "what the command writes without options"
    assert ExportChoice().list_options()["formats"] == ExportChoice(preset="analysis").list_options()["formats"]


def export_formats():
    return ExportChoice.model_json_schema()["properties"]["format"]["items"]["enum"]
