"""What X's full-archive search costs on shared posts: the mock's bill against a scan of the file."""

import re
from collections import Counter
from datetime import datetime
from math import ceil

import httpx
import pyarrow.parquet as pq
import pytest
from archive_captures import MANY, capturing, stamp, texts_of
from mock_judges import Clock
from shared_data import needed
from x_crawls import crawl

from socialcrawl.campaign.settings import check_settings
from socialcrawl.mock.server import serve_in_thread

ALL = "/2/tweets/search/all"
# Dollars for all posts with the word, reposts among them, as published for these files.
PRICES = {
    "ubuntu_irc.parquet": {"kernel": 9.45, "partition": 10.54},
    "congress2015_last12m.parquet": {"climate": 4.94, "immigration": 15.05},
}


def scan(path, word):
    """The posts with a word, any case, and those of them that are no reposts: [(second, text)] each."""
    table = pq.read_table(path, columns=["created_at", "text"]).to_pydict()
    rows = zip(table["created_at"], table["text"], strict=True)
    found = [(int(at), text) for at, text in rows if re.search(rf"(?<!\w){word}(?!\w)", text, re.IGNORECASE)]
    return found, [(at, text) for at, text in found if not re.match(r"RT @\S", text)]


def read_all(client, word):
    """Every post that the search finds, as [(second, text)], and how many pages they took."""
    asked = {"query": word, "start_time": "2000-01-01T00:00:00Z", "max_results": 500}
    asked["tweet.fields"] = "created_at,note_tweet"
    found, pages = [], 0
    while True:
        page = client.get(ALL, params=asked).json()
        pages += 1
        for post in page.get("data", ()):
            second = int(datetime.fromisoformat(post["created_at"]).timestamp())
            found.append((second, post.get("note_tweet", post)["text"]))
        if not (token := page["meta"].get("next_token")):
            return found, pages
        asked["next_token"] = token


@pytest.mark.parametrize("name", sorted(PRICES))
def test_all_matches_of_a_word_cost_half_a_cent_each_and_are_those_of_a_scan(name):
    path, clock = needed(f"data/{name}"), Clock()
    with (
        serve_in_thread(path, time=clock.time, limit=1_000) as mock,
        httpx.Client(base_url=mock.url, headers={"Authorization": "Bearer x"}, timeout=60) as client,
    ):
        for word, price in PRICES[name].items():
            clock.now += 86_400  # another day, so that what two words have in common is billed for both
            before = mock.report()["totals"]
            found, pages = read_all(client, word)
            after = mock.report()["totals"]
            matching, original = scan(path, word)
            assert Counter(found) == Counter(original)
            assert pages == ceil(len(original) / 500)
            assert after["posts"] - before["posts"] == len(original)
            dollars = after["dollars"] - before["dollars"]
            assert dollars == pytest.approx(0.005 * len(original))
            reposts = 0.005 * (len(matching) - len(original))  # which X's keyword search no longer finds
            assert dollars + reposts == pytest.approx(price, rel=0.05)
            if name == "ubuntu_irc.parquet":
                assert reposts == 0


def test_what_given_accounts_say_on_a_topic_costs_what_their_matching_posts_cost(tmp_path):
    """Of half of the accounts of a file: their timelines would cost all of their posts."""
    path = needed("data/congress2015_last12m.parquet")
    table, [word] = pq.read_table(path, columns=["author", "text", "created_at"]).to_pydict(), ["immigration"]
    names = sorted(set(table["author"]))[::2]
    chosen, said = set(names), re.compile(rf"(?<!\w){word}(?!\w)", re.IGNORECASE).search
    until = int(max(table["created_at"])) - 60  # a search ends half a minute before the last post
    told = zip(table["author"], table["text"], table["created_at"], strict=True)
    rows = [text for who, text, at in told if who in chosen and at < until]
    expected = [text for text in rows if said(text) and not re.match(r"RT @\S", text)]
    with serve_in_thread(path, limit=100_000) as mock:
        settings = capturing(mock.url, tmp_path / "a.db", limits=MANY, topic={"keywords": [word]})
        settings["accounts"] = {"exclude": ["*"], "include": names}
        settings["capture"] = {"from": "2000-01-01", "until": stamp(until), "parts": 1, "pages": 100}
        settings["source"].pop("policy")
        reason, _ = crawl(check_settings(settings, "test"))
        dollars = mock.report()["totals"]["dollars"]
    assert reason.kind == "done", reason.why
    assert texts_of(tmp_path / "a.db") == sorted(expected)
    assert dollars == pytest.approx(0.005 * len(expected))
    assert 0.005 * len(rows) > 50 * dollars
