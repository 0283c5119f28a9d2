"""Pages with pictures of a campaign: the mention network, what comes next, windows and charts."""

import re
import shutil
import sqlite3
import threading
import time
from contextlib import closing
from xml.etree import ElementTree as ET

import pytest
from api_campaigns import run_example
from fastapi.exceptions import HTTPException
from web_pages import PageShape, serving

import socialcrawl as sc
from socialcrawl.web.window_strip import describe_windows, draw_window_strip
from socialcrawl.web.work_slots import WorkSlots

HOSTILE = "<script>alert(1)</script> \"'><img src=x onerror=alert(2)>"
JAVASCRIPT = "javascript:alert(1)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("pictures")
    run_example(made, crawl={"steps": 12})
    return made


@pytest.fixture(scope="module")
def client(folder):
    with serving(folder) as made:
        yield made


@pytest.fixture(scope="module")
def key(client):
    return client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]


def test_the_network_of_the_api_is_that_of_the_database(client, key, folder):
    found = client.get(f"/api/v1/campaigns/{key}/network").json()
    with sc.open(folder / "example.db") as data:
        drawn = data.network().compute_map()
        assert found["nodes"] == [*drawn.nodes]
    assert [tuple(edge) for edge in found["edges"]] == drawn.edges
    assert (found["read"], found["unread"]) == (drawn.read, drawn.unread)
    few = client.get(f"/api/v1/campaigns/{key}/network?limit=10").json()
    assert 0 < len(few["nodes"]) <= 10
    assert client.get(f"/api/v1/campaigns/{key}/network?limit=5001").status_code == 422


def test_the_page_of_the_network_lists_its_first_accounts_and_says_which_are_drawn(client, key):
    found = client.get(f"/api/v1/campaigns/{key}/network").json()
    page = PageShape(client.get(f"/campaigns/{key}/network").text)
    read = sum(node["act"] is not None for node in found["nodes"])
    text = " ".join(page.text.split())
    assert f"{read} of {found['read']:,} accounts that were read" in text
    for node in found["nodes"][:25]:
        assert f"/campaigns/{key}/account?name={node['account']}" in page.links
    assert [names for tag, names in page.tags if tag == "canvas"]
    assert all("src" in names for tag, names in page.tags if tag == "script")


def test_the_page_of_what_comes_next_is_that_of_the_api(client, key, folder):
    found = client.get(f"/api/v1/campaigns/{key}/next").json()
    with sc.open(folder / "example.db") as data:
        assert found["accounts"] == [*data.frontier().accounts]
    page = " ".join(PageShape(client.get(f"/campaigns/{key}/next").text).text.split())
    assert "as of step 12" in page
    assert "The limit of 12 steps is reached" in page
    for row in found["accounts"]:
        assert row["account"] in page
        assert row["why"] in page


def test_no_other_site_has_a_browser_ask_for_what_takes_long(client, key):
    paths = ("network", "next", "account?name=a", "report.html", "datasheet.md")
    api = ("network", "next", "explain?account=a", "report", "charts")
    for path in (*(f"/campaigns/{key}/{one}" for one in paths), *(f"/api/v1/campaigns/{key}/{one}" for one in api)):
        assert client.get(path, headers={"sec-fetch-site": "cross-site"}).status_code == 403, path


def test_what_takes_long_to_read_is_shown_when_it_was_read(folder):
    with serving(folder, patience=0.0) as client:
        (key,) = [one["key"] for one in client.get("/api/v1/campaigns").json()["campaigns"]]
        name = client.get(f"/api/v1/campaigns/{key}/accounts").json()["accounts"][0]["account"]
        for path, shown in (("network", "canvas"), ("next", "as of step 12"), (f"account?name={name}", "occurrences")):
            page = client.get(f"/campaigns/{key}/{path}").text
            (later,) = re.findall(r'data-later="([^"]*)"', page)
            assert shown not in page
            assert client.get(later.replace("&amp;", "&")).status_code == 200
            page = client.get(f"/campaigns/{key}/{path}").text
            assert shown in page
            assert "data-later" not in page


def test_so_much_is_done_at_once_so_much_waits_and_more_is_refused():
    slots, done = WorkSlots(1, "readings", waiting=1), []
    slots.take()

    def act():
        with slots.hold():
            done.append(True)

    waiting = threading.Thread(target=act)
    waiting.start()
    while slots._begun < 2:
        time.sleep(0.001)
    with pytest.raises(HTTPException) as refused:
        slots.take()
    assert (refused.value.status_code, done) == (503, [])
    slots.free()
    waiting.join()
    assert done == [True]
    slots.take()


def test_charts_of_requests_and_of_posts_by_the_hour_add_up(client, key, folder):
    charts = client.get(f"/api/v1/campaigns/{key}/charts").json()
    with closing(sqlite3.connect(folder / "example.db")) as plain:
        sent, mills = plain.execute("select count(*), sum(cost) from request where kind <> 'held'").fetchone()
    assert sum(bar[1] for bar in charts["spending"]["bars"]) == sent
    assert sum(bar[2] for bar in charts["spending"]["bars"]) == pytest.approx(mills / 100_000)
    assert charts["hours"] is None  # of two weeks
    page = client.get(f"/campaigns/{key}").text
    assert 'data-chart="spending"' in page
    assert 'data-chart="hours"' not in page


def test_windows_are_drawn_and_told_in_words(client, key):
    status = client.get(f"/api/v1/campaigns/{key}").json()
    assert sum(status["windows"]) > 12
    assert (status["window_limit"], status["window_length"]) == (100_000, 60.0)
    for path in ("/", f"/campaigns/{key}"):
        shown = re.search(r'<svg class="strip".*?</svg>', client.get(path).text, re.DOTALL)[0]
        assert f"{status['windows'][-1]} sent" in ET.fromstring(shown).get("aria-label")


def make_status(windows, begins, limit=10):
    at = [f"2026-01-01T{begin // 60:02}:{begin % 60:02}:00.000000Z" for begin in begins]
    return sc.CampaignStatus(
        "k", "n", "collect", "x", "idle", "", None, None, None, "a.db", None,
        windows=tuple(windows), window_begins=tuple(at), window_limit=limit, window_length=900.0,
    )  # fmt: skip


def test_bars_of_windows_are_as_high_as_they_were_used_and_full_ones_stand_out():
    status = make_status([5, 10, 0, 2], [0, 15, 30, 120])
    picture = ET.fromstring(draw_window_strip(status))
    bars = [one for one in picture if one.get("class").startswith("strip-bar")]
    heights = [float(one.get("height")) for one in bars]
    assert heights[0] == pytest.approx(heights[1] / 2)
    assert [one.get("class") for one in bars] == ["strip-bar", "strip-bar full", "strip-bar", "strip-bar"]
    left = [float(one.get("x")) for one in bars]
    assert left[3] - left[2] > left[1] - left[0]  # a pause lies between them
    assert describe_windows(status) == picture.get("aria-label")
    assert "The latest 4 windows of 15 min, 10 requests allowed with one token: 5, 10, 0, 2 sent" in describe_windows(
        status
    )
    assert draw_window_strip(make_status([], [])) == ""


def test_hostile_names_are_text_in_each_picture_and_link_nowhere(folder, tmp_path):
    shutil.copy(folder / "example.db", tmp_path / "example.db")
    with closing(sqlite3.connect(tmp_path / "example.db")) as plain, plain:
        plain.execute("update account set username = node || ?, name = ?", (HOSTILE, HOSTILE))
        plain.execute("update account set username = ?, platform_id = ? where node = 3", (JAVASCRIPT, JAVASCRIPT))
        plain.execute("update account set handle = lower(username)")
    with serving(tmp_path) as client:
        key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        for path in ("network", "next"):
            page = PageShape(client.get(f"/campaigns/{key}/{path}").text)
            assert "alert(1)" in page.text
            assert "img" not in [tag for tag, _ in page.tags]
            assert not [names for _, names in page.tags if any(name.startswith(("on", "style")) for name in names)]
            assert all(link.startswith(("/", "#", "https://")) for link in page.links)
        found = client.get(f"/api/v1/campaigns/{key}/network")
        assert found.headers["content-type"] == "application/json"
        assert all(node["page"] is None or node["page"].startswith("https://") for node in found.json()["nodes"])


def test_a_campaign_without_links_and_one_that_has_not_begun_say_so(tmp_path):
    (tmp_path / "new.toml").write_text('name = "new"\n[topic]\nkeywords = ["telescope"]\n', "utf-8")
    with serving(tmp_path) as client:
        key = client.get("/api/v1/campaigns").json()["campaigns"][0]["key"]
        for path in ("network", "next"):
            answer = client.get(f"/campaigns/{key}/{path}")
            assert answer.status_code == 409
            assert "has not begun" in PageShape(answer.text).text
            assert client.get(f"/api/v1/campaigns/{key}/{path}").status_code == 409
