"""Forms of campaigns in a real browser: one is created, quoted, edited in two tabs, and nobody is asked anything."""

import re
import tomllib

import pytest
from web_pages import browsing, find_browser, served
from x_crawls import TOKEN_ENV

from socialcrawl import Campaign

WITHIN = 300_000  # milliseconds


def read_most(page):
    """The most requests that the quote beside the form says."""
    return int(page.locator(".needs tr", has_text="Requests").locator("td").nth(1).inner_text().replace(",", ""))


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium: apt-get install chromium")
def test_somebody_creates_a_campaign_sees_the_quote_change_and_edits_it_in_two_tabs(tmp_path):
    folder = tmp_path / "campaigns"
    folder.mkdir()
    with served(folder, state=tmp_path / "state", **{TOKEN_ENV: "A" * 40}) as pages, browsing() as page:
        page.set_default_timeout(WITHIN)
        page.goto(f"{pages.url}login#token={pages.token}")
        page.get_by_role("button", name="Log out").wait_for()
        page.get_by_role("link", name="Create one").click()
        page.get_by_role("button", name="Continue").click()
        page.locator("#quote li").first.wait_for()
        assert "needed" not in page.locator("#quote").inner_text()
        page.get_by_label("Name", exact=True).fill("moon")
        page.get_by_label("Keywords", exact=True).fill("moon\nlunar eclipse")
        page.get_by_label("Variable of the token", exact=True).fill(TOKEN_ENV)
        page.get_by_label("Accounts to read", exact=True).fill("100")
        page.get_by_label("Budget in dollars", exact=True).fill("5000")
        page.locator(".needs").wait_for()
        page.get_by_text(f"{TOKEN_ENV} is set for this server.").last.wait_for()
        until(page, lambda: read_most(page) > 200)
        first = read_most(page)
        page.get_by_label("Accounts to read", exact=True).fill("200")
        until(page, lambda: read_most(page) > first)
        assert read_most(page) - first == 200, "each step looks up one account and reads one timeline"
        page.get_by_label("Or paste posts").fill("The MOON is up\nRain all day")
        page.get_by_role("button", name="Try").click()
        page.locator("mark", has_text="MOON").wait_for()
        page.get_by_label("Accounts to read", exact=True).fill("many")
        page.get_by_role("button", name="Create the campaign file").click()
        page.locator(".summary a", has_text="Accounts to read").click()
        assert page.evaluate("document.activeElement.name") == "crawl.steps"
        assert page.get_by_label("Name", exact=True).input_value() == "moon"
        page.get_by_label("Accounts to read", exact=True).fill("200")
        page.get_by_role("button", name="Create the campaign file").click()
        page.get_by_text("The campaign file is written.").wait_for()
        file = folder / "moon.toml"
        settings = Campaign.load(file).settings
        assert (settings["topic"]["keywords"], settings["crawl"]["steps"]) == (["moon", "lunar eclipse"], 200)
        other = page.context.new_page()
        other.goto(page.url.partition("?")[0])
        other.get_by_label("Budget in dollars", exact=True).fill("10")
        other.get_by_role("button", name="Save").click()
        other.get_by_text("Saved.").wait_for()
        page.get_by_label("Accounts to read", exact=True).fill("50")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("heading", name="Somebody else has changed this file").wait_for()
        assert tomllib.loads(file.read_text("utf-8"))["crawl"]["steps"] == 200
        page.get_by_role("button", name="Save").click()
        page.get_by_text("Saved.").wait_for()
        given = tomllib.loads(file.read_text("utf-8"))
        assert (given["crawl"]["steps"], given["budget"]["max_money"]) == (50, 10)
        assert page.elsewhere == []
        assert [one for one in page.complaints if not re.search("status of (422|409)", one)] == []


def until(page, is_so):
    """Wait until something is so. Playwright's own waiting for a function needs eval, which the policy forbids."""
    for _ in range(WITHIN // 100):
        if is_so():
            return
        page.wait_for_timeout(100)
    raise AssertionError


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium: apt-get install chromium")
def test_without_a_script_the_forms_do_the_same(tmp_path):
    folder = tmp_path / "campaigns"
    folder.mkdir()
    with served(folder, state=tmp_path / "state") as pages, browsing(java_script_enabled=False) as page:
        page.set_default_timeout(WITHIN)
        page.goto(f"{pages.url}login")
        page.get_by_label("Token", exact=True).fill(pages.token)
        page.get_by_role("button", name="Log in").click()
        page.goto(f"{pages.url}new?kind=collect&platform=x")
        page.get_by_label("Name", exact=True).fill("moon")
        page.get_by_label("Keywords", exact=True).fill("moon")
        page.get_by_role("button", name="Calculate").click()
        page.locator(".needs").wait_for()
        assert page.get_by_label("Keywords", exact=True).input_value() == "moon"
        page.get_by_label("Or paste posts").fill("The MOON is up")
        page.get_by_role("button", name="Try").click()
        page.locator("mark", has_text="MOON").wait_for()
        page.get_by_role("button", name="Create the campaign file").click()
        page.get_by_text("The campaign file is written.").wait_for()
        assert (folder / "moon.toml").is_file()
