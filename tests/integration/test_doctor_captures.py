"""What the doctor tries of a capture: the search that it will use, the search of texts, and the stream."""

import json

import httpx
import pytest
from stream_clients import rows_of, streaming
from test_capture_bluesky_v2 import SEARCH_V2
from test_doctor import page_of_fediverse, seen
from x_crawls import TOKEN, TOKEN_ENV, posts

from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.platforms import live_reading

ARCHIVE = "/2/tweets/search/all"


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch):
    monkeypatch.setattr(live_reading, "PROBED", 0.2)


def page(url, folder, platform, capture="", source=""):
    """A campaign file of a capture."""
    file = page_of_fediverse(platform, url, folder)
    text = file.read_text().replace('name = "mine"', 'name = "mine"\nkind = "capture"')
    file.write_text(f"{text}{source}\n[capture]\nfrom = 2018-01-01\n{capture}\n".replace("[seeds]\n", ""))
    return file


def archived(url, folder):
    """A campaign file of a capture of X's archive."""
    return page(url, folder, "x", source=f"token_env = {json.dumps(TOKEN_ENV)}\n[budget]\nmax_money = 5.0")


def test_the_archive_is_tried_where_a_capture_reads_it(tmp_path):
    with serve_in_thread(posts()) as mock:
        code, checks = seen(archived(mock.url, tmp_path), 400)
        assert (code, checks["answer"][0]) == (0, "ok")
        assert f"one request to {ARCHIVE}, outside" in checks["request"][1]
        assert {window["endpoint"] for window in mock.report()["windows"]} == {ARCHIVE}


@pytest.mark.parametrize("enabled", [True, False])
def test_the_newer_search_of_bluesky_is_tried_and_where_it_is_not_enabled_the_doctor_says_so(enabled, tmp_path):
    with serve_in_thread(posts(), search_v2=enabled) as mock:
        code, checks = seen(page(mock.url, tmp_path, "bluesky", 'search = "v2"'), 400)
    assert f"one request to {SEARCH_V2}, outside" in checks["request"][1]
    if enabled:
        assert (code, checks["answer"][1]) == (0, "it answers without a token, all fields arrived in 10 posts")
    else:
        assert (code, checks["answer"][0]) == (1, "FAIL")
        assert 'this server has not enabled searchPostsV2: set search = "v1"' in checks["answer"][1]


@pytest.mark.parametrize("works", [True, False])
def test_the_search_of_texts_is_tried_and_a_silent_one_fails(works, tmp_path):
    settings = {} if works else {"full_text": "silent"}
    with serve_in_thread(posts(), **settings) as mock:
        source = f"token_env = {json.dumps(TOKEN_ENV)}"
        code, checks = seen(page(mock.url, tmp_path, "mastodon", "full_text = true", source), 400)
    for endpoint in ("/api/v1/timelines/tag/:hashtag", "/api/v2/search"):
        assert f"one request to home.example{endpoint}" in checks["request"][1]
    if works:
        assert (code, checks["search"]) == (0, ("ok", "the search of texts finds posts"))
    else:
        assert (code, checks["search"][0]) == (1, "FAIL")
        assert "this instance finds no posts, whatever is searched" in checks["search"][1]


@pytest.mark.parametrize("version", ["", "/subscribe"])
def test_a_jetstream_is_connected_to(version, tmp_path):
    with streaming() as streamed:
        stream = f'stream = "{streamed.socket_url}{version}"'
        code, checks = seen(page(streamed.url, tmp_path, "bluesky", f"live = true\n{stream}"), 400)
    assert (code, checks["stream"]) == (0, ("ok", f"{streamed.socket_url}{version} streams"))
    assert "one request to /xrpc/network.bsky.jetstream.subscribeEvents" in checks["request"][1]


def test_a_jetstream_that_is_not_there_fails_and_says_what_to_do(tmp_path):
    with streaming() as streamed:
        capture = 'live = true\nstream = "ws://127.0.0.1:1"'
        code, checks = seen(page(streamed.url, tmp_path, "bluesky", capture), 400)
    assert (code, checks["answer"][0], checks["stream"][0]) == (1, "warn", "FAIL")
    assert checks["stream"][1].startswith("the stream: ")
    assert checks["stream"][1].endswith("name another Jetstream")


def test_the_stream_of_an_instance_is_read_with_the_token(tmp_path):
    source = f'token_env = "{TOKEN_ENV}"'
    with streaming(rows_of()) as streamed:
        code, checks = seen(page(streamed.url, tmp_path, "mastodon", "live = true", source), 400)
        assert (code, checks["stream"]) == (0, ("ok", f"{streamed.url} streams"))
        httpx.post(f"{streamed.url}/_mock/faults", json={"fault": []})
    refusing = lambda endpoint, nth: faults.make_refusals(401) if "streaming" in endpoint else None  # noqa: E731
    with serve_in_thread(posts(), fault=refusing) as mock:
        code, checks = seen(page(mock.url, tmp_path, "mastodon", "live = true", source), 400)
    assert (code, checks["answer"][0]) == (1, "ok")
    assert checks["stream"][0] == "FAIL"
    assert "401" in checks["stream"][1]
    assert "set stream under [capture]" in checks["stream"][1]


@pytest.mark.parametrize("others", [False, True])
def test_the_rules_of_xs_stream_are_read_and_those_of_others_fail(others, tmp_path):
    with streaming() as streamed:
        if others:
            shown = {"Authorization": f"Bearer {TOKEN}"}
            streamed.admin.post("/2/tweets/search/stream/rules", json={"add": [{"value": "tea"}]}, headers=shown)
        file = page(
            streamed.url,
            tmp_path,
            "x",
            "live = true",
            f'token_env = "{TOKEN_ENV}"\n[budget]\nmax_money = 5.0',
        )
        code, checks = seen(file, 400)
        assert streamed.mock.report()["streamed"] == {}
    assert (code, checks["stream"][0]) == ((1, "FAIL") if others else (0, "ok"))
    if others:
        assert "has 1 rule that this campaign did not make" in checks["stream"][1]
