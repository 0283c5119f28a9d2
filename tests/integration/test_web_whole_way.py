"""The whole way through the pages in a real browser: from a new campaign to its exported data, by clicking only."""

import csv
import io
import os
import re
import signal
import sqlite3
import tomllib
import zipfile
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import pytest
from test_web_browser import WITHIN, check_quiet, read_end, wait_until
from test_web_control import pid_of, read_command, wait_until_gone
from test_web_data import read_download
from web_pages import browsing, find_browser, open_page, served
from x_crawls import TOKEN, TOKEN_ENV, TOPIC, posts_file, rows

import socialcrawl as sc
from socialcrawl.crawls.text_models.model_file import read_model
from socialcrawl.mock.server import serve_in_thread

STEPS, MORE_STEPS = 180, 260
STRANGE = "pages.localhost"
"""A name that browsers take for this machine, as a page with a rebound name of its own would have it."""


@contextmanager
def campaign_folder(path):
    """A folder for campaigns; whatever still runs one at the end is ended."""
    path.mkdir()
    try:
        yield path
    finally:
        for (pid,) in rows(path / "town.db", "select pid from daemon") if (path / "town.db").exists() else ():
            if str(path) in read_command(pid):
                os.kill(pid, signal.SIGKILL)


def create(page, folder, mock):
    """Create a campaign by the form, and see what it would cost."""
    page.get_by_role("link", name="New campaign").click()
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Name", exact=True).fill("town")
    page.get_by_label("Keywords", exact=True).fill(TOPIC)
    page.get_by_label("Variable of the token", exact=True).fill(TOKEN_ENV)
    page.get_by_label("Accounts to read", exact=True).fill(str(STEPS))
    page.get_by_label("Budget in dollars", exact=True).fill("100")
    page.locator("summary", has_text=re.compile("^\\s*Source")).click()
    page.get_by_label("Server", exact=True).fill(mock.url)
    page.locator("summary", has_text=re.compile("^\\s*Limits")).click()
    page.get_by_label("Requests in a window", exact=True).fill("4")
    page.get_by_label("Length of a window, in seconds", exact=True).fill("1.0")
    page.locator("#quote").get_by_text(f"{TOKEN_ENV} is set for this server.").wait_for()
    most = page.locator(".needs tr", has_text="Requests").locator("td").nth(1)
    wait_until(page, lambda: int(most.inner_text().replace(",", "")) > 2 * STEPS)
    assert list(folder.iterdir()) == []
    page.get_by_role("button", name="Create the campaign file").click()
    page.get_by_text("The campaign file is written.").wait_for()
    given = tomllib.loads((folder / "town.toml").read_text("utf-8"))
    assert (given["topic"]["keywords"], given["crawl"]["steps"]) == ([TOPIC], STEPS)
    assert given["source"]["base_url"] == mock.url
    assert given["source"]["token_env"] == TOKEN_ENV
    assert TOKEN not in (folder / "town.toml").read_text("utf-8")
    assert not any(mock.report()["received"].values()), "nothing is requested before it is started"


def read_steps(page):
    """How many steps the page of a campaign shows."""
    return int(page.locator("[data-steps]").get_attribute("data-steps"))


def watch(page):
    """Start the campaign, watch its curve rise without a reload, and have an account explained."""
    page.locator(".crumbs a").click()
    page.get_by_text("Nothing to show yet").wait_for()
    page.get_by_role("button", name="Start", exact=True).click()
    page.locator(".badge", has_text=re.compile("running|waiting")).wait_for()
    page.locator('[data-chart="curve"] .lines').first.wait_for()
    first, steps = read_end(page), read_steps(page)
    wait_until(page, lambda: read_end(page) > first and read_steps(page) > steps)
    page.locator("#accounts .account a").first.click()
    page.get_by_role("heading", name="What the campaign decided").wait_for()
    assert re.search(r"\d+ occurrences?", page.locator(".story").inner_text())
    page.locator(".crumbs a").click()


def pause(page):
    """Pause the campaign by a press that lasts while the page has news."""
    other = page.context.new_page()
    other.goto(page.url)
    page.bring_to_front()
    page.get_by_role("button", name="Pause").hover()
    page.mouse.down()
    steps = read_steps(other)
    wait_until(page, lambda: read_steps(other) > steps + 4)
    page.mouse.up()
    page.locator(".badge", has_text="paused").wait_for()
    other.close()
    page.get_by_role("button", name="Resume").wait_for()
    return read_steps(page)


def raise_budget(page, folder):
    """Raise the budget of the paused campaign, and resume it where the page offers that."""
    page.locator("#control").get_by_label("Accounts to read").fill(str(MORE_STEPS))
    page.locator("#control").get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("the campaign is paused until you resume it").wait_for()
    assert tomllib.loads((folder / "town.toml").read_text("utf-8"))["crawl"]["steps"] == MORE_STEPS
    page.get_by_role("button", name="Resume it").click()
    page.get_by_role("button", name="Pause").wait_for()


def label_and_use(page, folder):
    """Label ten posts by buttons, train a model, and have the campaign use it."""
    page.get_by_role("link", name="Label posts").click()
    counts = page.locator(".counts")
    for _ in range(10):
        before = counts.text_content()  # the inner text changes also when the style sheet comes
        is_on_topic = TOPIC in page.locator("#post .text").inner_text().lower()
        page.get_by_role("button", name="On topic" if is_on_topic else "Off topic").click()
        wait_until(page, lambda before=before: counts.text_content() != before)
    assert re.findall(r"\d+", counts.inner_text()) == ["5", "5", "0"]
    page.get_by_label("Decision tree").check()
    page.get_by_role("button", name="Train").click()
    page.get_by_role("button", name="Use this model").click()
    page.get_by_text("what would change sides").wait_for()
    page.get_by_role("button", name="Use this model").click()
    page.get_by_text("The campaign file names the model now.").wait_for()
    page.locator(".badge", has_text="in use").wait_for()
    epochs = "select why from epoch order by number"
    wait_until(page, lambda: rows(folder / "town.db", epochs) == [("begun",), ("topic",)])
    page.locator(".crumbs a").click()


def export(page):
    """The posts of an export that is downloaded, by id; its datasheet says what decides about the topic."""
    page.get_by_role("link", name="Export").click()
    page.get_by_label("Spreadsheet (CSV)").check()
    page.get_by_role("button", name="Make the export").click()
    page.locator(".crumbs a").click()  # the page may be left meanwhile
    page.get_by_role("link", name="Export").click()
    archive = read_download(page, page.get_by_role("link", name="Spreadsheet (CSV)").click)
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        posts = list(csv.DictReader(io.StringIO(opened.read("town-export/posts.csv").decode())))
        datasheet = opened.read("town-export/datasheet.md").decode()
    assert "a model of texts" in datasheet
    page.locator(".crumbs a").click()
    return {row["id"]: row for row in posts}


def check_without_token(browser, url, campaign):
    """Check that whoever has no token reads all of it and changes nothing."""
    page = open_page(browser)
    page.set_default_timeout(WITHIN)
    page.goto(url)
    page.get_by_role("link", name="town").click()
    page.get_by_role("heading", name="Relevance found").wait_for()
    for inside in ("", "/network", "/next", "/accounts", "/posts", "/edit", "/label", "/control"):
        assert page.goto(f"{campaign}{inside}").ok
        page.locator("[data-later]").wait_for(state="detached")  # then it reloads itself no more
        page.get_by_role("link", name="Log in").first.wait_for()
        offered = page.locator('form[method="post"] button:enabled, form[method="post"] input:enabled')
        assert offered.count() == 0, inside
    check_quiet(page)
    for what in ("start", "pause", "stop", "budget", "label", "edit"):
        assert page.request.post(f"{campaign}/{what}", form={"steps": "1"}).status in (401, 403)
    api = campaign.replace("/campaigns/", "/api/v1/campaigns/")
    assert page.request.get(api).ok
    assert page.request.post(f"{api}/stop").status == 401
    page.context.close()


def check_strange_host(browser, url):
    """Check that a page with another name gets nothing, not even to read."""
    page = browser.new_context().new_page()  # not guarded: this name stays on this machine
    page.set_default_timeout(WITHIN)
    for path in ("", "login", "api/v1/campaigns", "static/ui.css"):
        answer = page.goto(f"http://{STRANGE}:{urlsplit(url).port}/{path}")
        assert answer.status == 421
        assert "town" not in answer.text()
    page.context.close()


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium: apt-get install chromium")
def test_somebody_goes_the_whole_way_by_clicking_and_others_only_look_on(tmp_path):
    with (
        serve_in_thread(posts_file(), limit=4, window=1.0) as mock,
        campaign_folder(tmp_path / "campaigns") as folder,
        served(folder, state=tmp_path / "state", **{TOKEN_ENV: TOKEN}) as pages,
        browsing() as page,
    ):
        page.set_default_timeout(WITHIN)
        page.goto(f"{pages.url}login#token={pages.token}")
        page.get_by_role("button", name="Log out").wait_for()
        create(page, folder, mock)
        watch(page)
        steps = pause(page)
        raise_budget(page, folder)
        wait_until(page, lambda: read_steps(page) > steps)
        label_and_use(page, folder)
        campaign = page.url
        exported = export(page)
        check_without_token(page.context.browser, pages.url, campaign)
        check_strange_host(page.context.browser, pages.url)
        (status,) = sc.open_project(folder).list_campaigns()
        assert status.watched, "neither reading nor what was refused stops it"
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("button", name="Start", exact=True).wait_for()
        wait_until_gone(pid_of(status))
        check_quiet(page)
        assert mock.report()["over"] == 0
    texts = dict(rows(folder / "town.db", "select id, text from post"))
    assert exported
    # A spreadsheet would take what begins with @ for a formula: there an apostrophe stands before it.
    assert {key: row["text"].removeprefix("'") for key, row in exported.items()}.items() <= texts.items()
    model = read_model(folder / "town-model.json")
    assert {post for (post,) in rows(folder / "town.db", "select post from hit")} == {
        post for post, text in texts.items() if model.hits(text)
    }
    with closing(sqlite3.connect(folder / "town.db")) as plain:
        assert plain.execute("select count(*) from outcome").fetchone()[0] > steps
