"""The pages of a campaign whose database is on a PostgreSQL server: what buttons, forms and links do there."""

import io
import re
import zipfile
from urllib.parse import quote

import httpx
import psycopg
import pytest
import test_web_control
from campaign_forms import read_fields
from postgres import a_server_database
from test_web_control import WITHIN, pid_of, wait_for, wait_until_gone, write
from web_pages import log_in, served
from x_crawls import TOKEN, TOKEN_ENV, TOPIC

mock = test_web_control.mock


@pytest.fixture
def place():
    with a_server_database() as one:
        yield one


@pytest.fixture
def folder(tmp_path, mock, place):
    made = tmp_path / "campaigns"
    made.mkdir()
    write(made, mock)
    file = made / "town.toml"
    file.write_text(file.read_text("utf-8").replace("town.db", place.url), "utf-8")
    return made


def read(place, query):
    with psycopg.connect(place.url) as raw:
        return raw.execute(query).fetchall()


def press(client, path, csrf, **fields):
    """Send a form of a page; the page that it leads to."""
    done = client.post(path, data={"csrf": csrf, **fields})
    assert done.status_code == 303, done.text
    return open_page(client, done.headers["location"])


def open_page(client, path):
    page = client.get(path)
    assert page.status_code == 200, (path, page.text)
    return page


def test_somebody_runs_edits_labels_searches_and_exports_a_campaign_on_a_server(folder, mock, place, tmp_path):
    with (
        served(folder, state=tmp_path / "state", **{TOKEN_ENV: TOKEN}) as pages,
        httpx.Client(base_url=pages.url.removesuffix("/"), timeout=WITHIN) as client,
    ):
        csrf = log_in(client, pages.token)
        key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        path = f"/campaigns/{key}"
        press(client, f"{path}/start", csrf)
        running = wait_for(folder, "running", "waiting", steps=5)
        press(client, f"{path}/pause", csrf)
        wait_for(folder, "paused")
        press(client, f"{path}/resume", csrf)
        wait_for(folder, "running", "waiting", steps=8)
        press(client, f"{path}/stop", csrf)
        wait_until_gone(pid_of(running))
        stopped = wait_for(folder, "stopped")
        assert 8 <= stopped.steps < 60
        check_edit(client, path, folder)
        check_labels(client, path, csrf, folder)
        check_data(client, path, csrf, place)
        check_pictures(client, path, place)
        press(client, f"{path}/start", csrf)
        assert wait_for(folder, "done").steps == 45
        ((last,),) = read(place, "select pid from daemon order by id desc limit 1")
        wait_until_gone(last)
    counted = sum(window["requests"] for window in mock.report()["windows"])
    assert read(place, "select count(*) from request") == [(counted,)]
    twice = "select digest from request where arrived_at is not null group by digest having count(*) > 1"
    assert read(place, twice) == []


def check_edit(client, path, folder):
    values = read_fields(open_page(client, f"{path}/edit")).values | {"crawl.steps": "45", "-do": "save"}
    done = client.post(f"{path}/edit", data=values)
    assert done.status_code == 303, done.text
    assert "Saved." in open_page(client, done.headers["location"]).text
    text = (folder / "town.toml").read_text("utf-8")
    assert "steps = 45" in text
    assert "# ours" in text


def check_labels(client, path, csrf, folder):
    post = read_fields(open_page(client, f"{path}/label")).values["post"]
    press(client, f"{path}/label", csrf, post=post, answer="on")
    assert post in (folder / "town-labels.csv").read_text("utf-8")


def check_data(client, path, csrf, place):
    before = open_page(client, f"{path}/search?query={TOPIC}&topic=all")
    press(client, f"{path}/search-index", csrf)
    word = quote(TOPIC)
    found = client.get(f"/api/v1{path}/search?query={word}&topic=all&count=true").json()
    assert found["posts"]
    assert "<mark>" in before.text
    number = read(place, "select count(*) from post")[0][0]
    answer = client.get(f"/api/v1{path}/sql", params={"query": "select count(*) as n from post"}).json()
    assert (answer["status"], "--allow-superuser" in answer["detail"]) == (409, True), "the test's role is a superuser"
    packed = open_page(client, f"{path}/export.zip?format=csv")
    with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
        assert archive.testzip() is None
        (posts,) = [name for name in archive.namelist() if re.search(r"(^|/)posts?\.csv$", name)]
        assert len(archive.read(posts).splitlines()) > number
    for name in ("report.html", "datasheet.md"):
        assert len(open_page(client, f"{path}/{name}").content) > 1000


def check_pictures(client, path, place):
    assert 'data-chart="curve"' in open_page(client, path).text
    read_query = (
        "select a.username from pick p join account a using (node) where p.act = 'expand' "
        "and a.username is not null order by p.n limit 1"
    )
    ((name,),) = read(place, read_query)
    assert "What the campaign decided" in open_page(client, f"{path}/account?name={name}").text
    assert client.get(f"{path}/account?name=nobody").status_code == 404
    for page in ("accounts", "posts", "network", "next", "control", "export", "sql"):
        open_page(client, f"{path}/{page}")
    assert client.get(f"/api/v1{path}/network?limit=100").json()["nodes"]
    assert client.get(f"/api/v1{path}/next?limit=5").json()["accounts"]
