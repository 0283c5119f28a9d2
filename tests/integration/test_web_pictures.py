"""The mention network of 5,000 accounts in a real browser: drawn, moved, zoomed, searched, and clicked."""

import pytest
from test_web_browser import WITHIN, check_quiet, wait_until
from web_pages import browsing, find_browser, served

from benchmarks.network import make_database


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("network")
    make_database(made / "large.db", 6_000, 120_000, 18_000)
    return made


def read_pixels(page):
    """What the canvas shows, as text."""
    return page.locator("canvas").evaluate("canvas => canvas.toDataURL()")


def wait_for_change(page, before):
    wait_until(page, lambda: read_pixels(page) != before)
    return read_pixels(page)


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium: apt-get install chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_map_of_5000_accounts_is_moved_zoomed_searched_and_asked(folder, tmp_path, scheme):
    size = {"width": 1280, "height": 900}
    with served(folder, state=tmp_path) as pages, browsing(color_scheme=scheme, viewport=size) as page:
        page.set_default_timeout(WITHIN)
        page.goto(pages.url)
        page.locator("th a").first.click()
        page.get_by_role("link", name="Network").click()
        place = page.locator("[data-network]")
        wait_until(page, lambda: place.get_attribute("data-drawn") == "5000")
        page.wait_for_timeout(500)
        shown = read_pixels(page)
        box = page.locator("canvas").bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(*middle)
        page.mouse.down()
        page.mouse.move(middle[0] + 80, middle[1] + 40, steps=8)
        page.mouse.up()
        shown = wait_for_change(page, shown)
        page.mouse.wheel(0, -300)
        shown = wait_for_change(page, shown)
        page.locator("canvas").focus()
        page.keyboard.press("ArrowLeft")
        shown = wait_for_change(page, shown)
        page.get_by_role("button", name="Show all").click()
        shown = wait_for_change(page, shown)

        name = page.locator("table .account a").first.inner_text()
        page.get_by_label("Find an account").fill(name)
        page.get_by_role("button", name="Find", exact=True).click()
        panel = page.locator(".map-panel")
        assert name in panel.inner_text()
        panel.get_by_role("button", name="Close").click()
        page.wait_for_timeout(500)
        page.locator("canvas").click()  # in the middle, where the account is that was found
        assert name in panel.inner_text()
        assert "Mentioned by" in panel.inner_text()
        outside = panel.get_by_role("link", name="Open on the platform").get_attribute("href")
        assert outside == f"https://x.com/{name}"
        panel.get_by_role("link", name="Explain").click()
        page.wait_for_url("**/account?name=*")
        assert name in page.locator("h1").inner_text()
        check_quiet(page)
