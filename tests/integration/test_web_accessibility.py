"""Every page, light and dark, as axe-core judges it: what people with disabilities could not use."""

import pytest
from api_campaigns import run_example
from axe_playwright_python.sync_playwright import Axe
from web_pages import browsing, find_browser, list_pages, open_settled, served

GRAVE = ("serious", "critical")
WITHIN = 300_000  # milliseconds


def list_violations(page):
    """What axe-core finds serious on a page: the rule, and the elements that break it."""
    found = Axe().run(page).response
    assert len(found["passes"]) > 10, "axe-core has looked"
    return [f"{one['id']}: {[node['html'][:120] for node in one['nodes'][:3]]}"
            for one in found["violations"] if one["impact"] in GRAVE]  # fmt: skip


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium: apt-get install chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_core_finds_nothing_serious_on_any_page(tmp_path, subtests, scheme):
    run_example(tmp_path)
    (tmp_path / "odd.toml").write_text('name = "odd"\n[topic]\nkeyword = ["telescope"]\n', "utf-8")
    with served(tmp_path, state=tmp_path / "state") as pages, browsing(color_scheme=scheme) as page:
        page.set_default_timeout(WITHIN)
        page.goto(f"{pages.url}login#token={pages.token}")
        page.get_by_role("button", name="Log out").wait_for()
        addresses = list_pages(page, pages.url)
        assert len(addresses) >= 6
        for address in addresses:
            open_settled(page, address)
            with subtests.test(address.removeprefix(pages.url)):
                assert list_violations(page) == []


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium: apt-get install chromium")
def test_axe_core_sees_what_is_wrong():
    with browsing() as page:
        page.set_content('<html lang="en"><title>x</title><main><h1>x</h1><button></button><img src="data:,"></main>')
        found = Axe().run(page).response["violations"]
        assert {"button-name", "image-alt"} <= {one["id"] for one in found if one["impact"] in GRAVE}
