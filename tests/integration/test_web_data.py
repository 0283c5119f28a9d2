"""Search, SQL and exports in a real browser: posts are found, a chart is drawn, files are downloaded and opened."""

import csv
import io
import zipfile
from pathlib import Path

import pytest
from api_campaigns import run_example
from test_web_browser import check_quiet
from web_pages import browsing, find_browser, served

import socialcrawl as sc

NO_BROWSER = pytest.mark.skipif(find_browser() is None, reason="there is no Chromium: apt-get install chromium")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("data")
    run_example(made)
    return made


def count_posts(folder, **options):
    with sc.open(folder / "example.db") as data:
        return len([*data.posts(**options)])


def read_download(page, press):
    """The bytes of the file that a press downloads."""
    with page.expect_download() as waiting:
        press()
    return Path(waiting.value.path()).read_bytes()


@NO_BROWSER
def test_somebody_searches_posts_asks_by_sql_and_downloads_an_export(folder, tmp_path):
    with served(folder, state=tmp_path / "state") as pages, browsing() as page:
        page.goto(pages.url)
        page.get_by_role("link", name="example").click()
        page.get_by_role("link", name="Search posts").click()
        page.locator("article").first.wait_for()
        assert page.locator("article").count() == min(50, count_posts(folder, on_topic=True))
        page.get_by_label("Words").fill("telescope")
        page.get_by_label("Topic").select_option("all posts")
        page.get_by_role("button", name="Search").click()
        page.locator("mark").first.wait_for()
        assert {one.lower() for one in page.locator("mark").all_text_contents()} == {"telescope"}
        check_quiet(page)
        page.go_back()
        page.go_back()
        page.get_by_role("link", name="SQL").click()
        page.get_by_role("link", name="When was the topic discussed?").click()
        page.locator("[data-query-chart] .lines").first.wait_for()
        shown = page.locator("table.answer tbody tr").count()
        assert int(page.locator("[data-query-chart]").get_attribute("data-drawn")) == 4
        before = page.evaluate("scrollY")
        page.locator("[data-query-chart]").hover()
        page.mouse.wheel(0, 200)
        page.wait_for_timeout(300)
        assert page.evaluate("scrollY") >= before, "a chart under the pointer keeps no page from being scrolled"
        check_quiet(page)
        answer = read_download(page, page.get_by_role("link", name="Download as CSV").click)
        rows = list(csv.DictReader(io.StringIO(answer.decode())))
        assert len(rows) == shown
        posts = sum(int(row["posts"]) + int(row["only_searched"]) for row in rows)
        assert posts == count_posts(folder, on_topic=True)
        page.go_back()
        page.go_back()
        page.get_by_role("link", name="Export").click()
        page.get_by_text("Choose files and options").click()
        page.get_by_text("CSV all tables").click()
        archive = read_download(page, page.get_by_role("button", name="Download").click)
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            names = {name.partition("/")[2] for name in opened.namelist()}
            posts = list(csv.DictReader(io.StringIO(opened.read("example-export/posts.csv").decode())))
        assert {"posts.csv", "posts.parquet", "datasheet.md", "datapackage.json"} <= names
        with sc.open(folder / "example.db") as data:
            stored = {row["id"] for row in data.posts(on_topic=True)}
        assert stored <= {row["id"] for row in posts}
        check_quiet(page)


@NO_BROWSER
def test_without_scripts_and_on_a_phone_all_but_the_chart_works(folder, tmp_path):
    size = {"width": 400, "height": 800}
    with served(folder, state=tmp_path / "state") as pages, browsing(java_script_enabled=False, viewport=size) as page:
        page.goto(pages.url)
        page.get_by_role("link", name="example").click()
        address = page.url
        for name, button in (("sql", "Run"), ("search", "Search"), ("export", "Download")):
            page.goto(f"{address}/{name}")
            assert page.get_by_role("button", name=button).is_visible()
            wide = page.locator("main").bounding_box()
            assert wide["x"] + wide["width"] <= 400
        page.goto(f"{address}/sql")
        page.get_by_label("One SELECT").fill("select count(*) as posts from post")
        page.get_by_role("button", name="Run").click()
        assert page.locator("table.answer td").inner_text() == str(count_posts(folder))
        page.get_by_label("One SELECT").fill("delete from post")
        page.get_by_role("button", name="Run").click()
        assert "only reads" in page.get_by_role("alert").inner_text()
        assert page.elsewhere == []


@NO_BROWSER
def test_a_wide_table_scrolls_in_its_box_on_a_phone_and_shows_that_it_goes_on(folder, tmp_path):
    size = {"width": 400, "height": 800}
    with served(folder, state=tmp_path / "state") as pages, browsing(viewport=size) as page:
        page.goto(pages.url)
        page.get_by_role("link", name="example").click()
        address = page.url
        for name in (
            "accounts",
            "sql?question=loudest_posts",
            "sql?question=topic_by_day",
            "search",
            "export",
            "label",
        ):
            page.goto(f"{address}/{name}")
            assert page.evaluate("document.documentElement.scrollWidth") <= 400, name
            assert page.evaluate("[...document.querySelectorAll('main table')].every((one) => one.closest('.wide'))")
        page.get_by_role("link", name="All accounts on topic").click()
        box = page.get_by_role("group", name="accounts")
        before = box.screenshot()
        assert box.evaluate("one => one.scrollWidth > one.clientWidth")
        assert box.evaluate("one => getComputedStyle(one).backgroundImage").count("linear-gradient") == 4
        box.focus()
        page.keyboard.press("ArrowRight")
        wait_until(page, lambda: box.evaluate("one => one.scrollLeft") > 0)
        assert box.screenshot() != before
        check_quiet(page)


@NO_BROWSER
def test_a_tab_that_nobody_sees_gives_its_connection_back_and_takes_one_when_it_is_shown_again(folder, tmp_path):
    show = "(hidden) => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true }); "
    show += "document.dispatchEvent(new Event('visibilitychange')); }"
    with served(folder, state=tmp_path / "state") as pages, browsing() as page:
        opened, ended = [], []
        page.on("request", lambda one: opened.append(one.url) if one.url.endswith("/events") else None)
        page.on("requestfailed", lambda one: ended.append(one.url) if one.url.endswith("/events") else None)
        page.goto(pages.url)
        page.get_by_text("Live: changes appear by themselves.").wait_for()
        assert (len(opened), len(ended)) == (1, 0)
        page.evaluate(show, True)
        wait_until(page, lambda: len(ended) == 1)
        assert len(opened) == 1
        page.evaluate(show, False)
        wait_until(page, lambda: len(opened) == 2)
        assert len(ended) == 1
        assert page.elsewhere == []


def wait_until(page, holds):
    """Wait until something holds; the test run ends a wait that is too long."""
    while not holds():
        page.wait_for_timeout(50)
