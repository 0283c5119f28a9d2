"""Labelling in a real browser by keys, training, a daemon that goes on with the model; beside `socialcrawl label`."""

import csv
import re
import sqlite3
import threading
from contextlib import closing

import pytest
from api_campaigns import run_example
from commands import socialcrawl
from test_daemon_process import daemon
from test_web_browser import CAMPAIGN, WITHIN, check_quiet, wait_until
from verified_campaigns import differences
from web_pages import browsing, find_browser, log_in, served, serving
from x_crawls import TOKEN_ENV, TOPIC, posts_file, rows

import socialcrawl as sc
from socialcrawl.crawls.text_models.model_file import read_model
from socialcrawl.mock.server import serve_in_thread


def press(page, key):
    """Press a key, and wait for the next post."""
    before = page.locator(".counts").text_content()  # the inner text changes also when the style sheet comes
    page.keyboard.press(key)
    wait_until(page, lambda: page.locator(".counts").text_content() != before)


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium: apt-get install chromium")
def test_somebody_labels_ten_posts_by_keys_trains_a_model_and_a_daemon_goes_on_with_it(tmp_path):
    folder = tmp_path / "campaigns"
    folder.mkdir()
    database, file = folder / "town.db", folder / "town.toml"
    with serve_in_thread(posts_file(), limit=6, window=1.0) as mock:
        text = "# what we look for\n" + CAMPAIGN.format(topic=TOPIC, url=mock.url, token=TOKEN_ENV)
        file.write_text(text, "utf-8")
        with daemon(folder), served(folder, state=tmp_path / "state") as pages, browsing() as page:
            page.set_default_timeout(WITHIN)
            page.goto(f"{pages.url}login#token={pages.token}")
            page.get_by_role("link", name="town").click()
            wait_until(page, lambda: int(page.locator("[data-steps]").get_attribute("data-steps")) > 25)
            page.reload()
            page.get_by_role("link", name="Label posts").click()
            page.locator("#post:focus").wait_for()
            for _ in range(10):
                press(page, "y" if TOPIC in page.locator("#post .text").inner_text().lower() else "n")
            press(page, "u")
            press(page, "s")
            press(page, "u")
            press(page, "y" if TOPIC in page.locator("#post .text").inner_text().lower() else "n")
            assert re.findall(r"\d+", page.locator(".counts").inner_text()) == ["5", "5", "0"]
            page.keyboard.press("Control+y")  # is the browser's
            page.get_by_label("Words to leave out").press_sequentially("yns")
            assert page.locator(".counts").inner_text().startswith("5")
            page.get_by_label("Words to leave out").fill("")
            page.get_by_label("Decision tree").check()
            page.get_by_role("button", name="Train").click()
            page.get_by_text("each of 5 parts was judged by a model learned from the others").wait_for()
            page.get_by_role("button", name="Use this model").click()
            page.get_by_text("what would change sides").wait_for()
            page.get_by_role("button", name="Use this model").click()
            page.get_by_text("Then a new epoch begins").wait_for()
            page.get_by_text("names the model now").wait_for()
            page.locator(".badge", has_text="in use").wait_for()
            epochs = "select why from epoch order by number"
            wait_until(page, lambda: rows(database, epochs) == [("begun",), ("topic",)])
            (steps,) = rows(database, "select count(*) from outcome")[0]
            wait_until(page, lambda: rows(database, "select count(*) from outcome")[0][0] > steps + 5)
            check_quiet(page)
    assert file.read_text("utf-8").startswith("# what we look for\n")
    assert f'keywords = ["{TOPIC}"]' in file.read_text("utf-8")
    with (folder / "town-labels.csv").open(encoding="utf-8", newline="") as labels:
        assert [row["on_topic"] for row in csv.DictReader(labels)].count("yes") == 5
    model = read_model(folder / "town-model.json")
    texts = dict(rows(database, "select id, text from post"))
    matching = {post for (post,) in rows(database, "select post from hit")}
    assert matching == {post for post, text in texts.items() if model.hits(text)}
    assert len(matching) > 10
    assert differences(database) == []


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium: apt-get install chromium")
def test_without_scripts_buttons_label_and_take_back(tmp_path):
    run_example(tmp_path)
    with served(tmp_path, state=tmp_path / "state") as pages, browsing(java_script_enabled=False) as page:
        page.goto(f"{pages.url}login")
        page.get_by_label("Token").fill(pages.token)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("link", name="example").click()
        page.get_by_role("link", name="Label posts").click()
        first = page.locator("#post .text").inner_text()
        page.get_by_role("button", name="On topic").click()
        page.get_by_text("Last: on topic").wait_for()
        assert page.locator("#post .text").inner_text() != first
        page.get_by_role("button", name="Undo").click()
        assert page.locator("#post .text").inner_text() == first
        page.get_by_role("button", name="Train").click()
        page.get_by_text("label 5 more on topic and 5 more off topic").wait_for()
        assert page.elsewhere == []
    assert sc.LabelFile.load(tmp_path / "example-labels.csv").posts == []


def test_the_page_and_the_command_label_at_the_same_time_and_no_label_is_lost(tmp_path):
    run_example(tmp_path)
    labels = tmp_path / "example-labels.csv"
    done = []

    def use_command():
        words = ("label", "example.db", "--out", labels, "--count", 25, "--seed", 5)
        done.append(socialcrawl(*words, folder=tmp_path, given="y\n" * 25))

    with serving(tmp_path) as client:
        path = f"/campaigns/{sc.open_project(tmp_path).list_campaigns()[0].key}/label"
        fields, chosen = {"csrf": log_in(client)}, set()
        command = threading.Thread(target=use_command)
        command.start()
        while command.is_alive() or len(chosen) < 25:
            post = re.search(r'class="answers">.*?name="post" value="([^"]*)"', client.get(path).text, re.DOTALL)[1]
            assert client.post(path, data={**fields, "post": post, "answer": "off"}).status_code == 303
            chosen.add(post)
        command.join()
    assert done[0].returncode == 0, done[0].stderr
    told = {post["id"]: post["on_topic"] for post in sc.LabelFile.load(labels).posts}
    both = list(told.values()).count(True)
    assert chosen <= set(told)
    assert {post for post, on_topic in told.items() if on_topic is False} <= chosen
    assert 0 < both <= 25
    with closing(sqlite3.connect(tmp_path / "example.db")) as plain:
        assert set(told) <= {post for (post,) in plain.execute("select id from post")}
