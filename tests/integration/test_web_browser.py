"""The web application in a real browser: a campaign that a daemon runs on the mock, watched, explained and paused."""

import re
import time

import httpx
import pytest
from test_daemon_process import daemon
from web_pages import browsing, find_browser, served
from x_crawls import TOKEN_ENV, TOPIC, posts_file

from socialcrawl.mock.server import serve_in_thread

WITHIN = 300_000  # milliseconds
CAMPAIGN = """name = "town"
database = "town.db"
[topic]
keywords = ["{topic}"]
[seeds]
most = 8
[crawl]
steps = 250
control = 0.1
[source]
base_url = "{url}"
token_env = "{token}"
[limits]
k = 6
d = 1.0
pause = 0.05
"""


def read_end(page):
    """How many steps the curve shows."""
    return int(page.locator('[data-chart="curve"]').get_attribute("data-end") or 0)


def wait_until(page, is_so):
    """Wait until something is so. Playwright's own waiting for a function needs eval, which the policy forbids."""
    until = time.monotonic() + WITHIN / 1000
    while not is_so():
        assert time.monotonic() < until
        page.wait_for_timeout(100)


def check_quiet(page):
    """Check that nothing went to another host, and that the console has no complaint, as of the policy."""
    assert page.elsewhere == []
    assert page.complaints == []


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium: apt-get install chromium")
def test_somebody_watches_a_campaign_has_an_account_explained_and_pauses_it(tmp_path):
    folder = tmp_path / "campaigns"
    folder.mkdir()
    with serve_in_thread(posts_file(), limit=6, window=1.0) as mock:
        text = CAMPAIGN.format(topic=TOPIC, url=mock.url, token=TOKEN_ENV)
        (folder / "town.toml").write_text(text, "utf-8")
        with daemon(folder), served(folder, state=tmp_path / "state") as pages, browsing() as page:
            page.set_default_timeout(WITHIN)
            page.goto(pages.url)
            page.locator(".badge", has_text=re.compile("running|waiting")).first.wait_for()
            assert page.get_by_role("button", name="Pause").count() == 0
            page.goto(f"{pages.url}login")
            page.goto(f"{pages.url}login#token={pages.token}")  # pasted where the page is open: only its end differs
            page.get_by_role("button", name="Log out").wait_for()
            assert pages.token not in page.content()
            page.get_by_role("link", name="town").click()
            wait_until(page, lambda: int(page.locator("[data-steps]").get_attribute("data-steps")) > 5)
            page.locator('[data-chart="curve"] .lines').first.wait_for()
            first = read_end(page)
            assert first >= 1
            wait_until(page, lambda: read_end(page) > first)
            check_quiet(page)
            page.locator("#accounts .account a").first.click()
            page.get_by_role("heading", name="What the campaign decided").wait_for()
            assert "occurrence" in page.content()
            page.go_back()
            page.get_by_role("button", name="Pause").click()
            page.locator(".badge", has_text="paused").wait_for()
            page.get_by_role("button", name="Resume").click()
            page.get_by_role("button", name="Pause").wait_for()
            check_quiet(page)


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium: apt-get install chromium")
def test_without_scripts_pages_show_all_but_charts_and_buttons_work(tmp_path):
    from api_campaigns import run_example

    run_example(tmp_path)
    with served(tmp_path, state=tmp_path / "state") as pages, browsing(java_script_enabled=False) as page:
        page.goto(f"{pages.url}login")
        page.get_by_label("Token").fill(pages.token)
        page.get_by_role("button", name="Log in").click()
        for one in httpx.get(f"{pages.url}api/v1/campaigns", timeout=WITHIN).json()["campaigns"]:
            httpx.get(
                f"{pages.url}api/v1/campaigns/{one['key']}/report", timeout=WITHIN
            )  # on a slow machine, once more
        page.get_by_role("link", name="example").click()
        page.get_by_text("The numbers").first.click()
        assert page.locator("#curve td").count() > 10
        (one,) = httpx.get(f"{pages.url}api/v1/campaigns", timeout=WITHIN).json()["campaigns"]
        bearer = {"authorization": f"Bearer {pages.token}"}
        httpx.post(f"{pages.url}api/v1/campaigns/{one['key']}/pause", headers=bearer, timeout=WITHIN)
        page.goto(f"{pages.url}?state=paused")
        page.get_by_role("button", name="Resume example").click()
        page.get_by_text("None of the 1 campaigns is like this").wait_for()
        page.get_by_role("link", name="Show all").first.click()
        page.locator(".badge", has_text="done").wait_for()
        page.get_by_role("link", name="example").click()
        page.get_by_label("Explain an account").fill("nobody")
        page.get_by_role("button", name="Explain").click()
        page.get_by_text("not in this database").wait_for()
        assert "404" in page.complaints.pop(), "the answer says so, too"
        check_quiet(page)
