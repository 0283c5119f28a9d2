"""Answers that real instances gave, read by the source; each test has a twin that needs no recording."""

import json

import pytest
from mastodon_posts import account_of, mention_of, status_of
from shared_data import SHARED, needed

from socialcrawl.platforms.mastodon.classify import RequestContext, classify, parse_limits
from socialcrawl.platforms.mastodon.parse import PageParser
from socialcrawl.platforms.mastodon.post_text import parse_html
from socialcrawl.platforms.mastodon.wire import find_next_page

FOLDER = SHARED / "reference" / "samples"
# What the source never asks for: statuses that were just deleted, and what an instance says of itself.
OTHERS = [
    f"masto_{name}.json" for name in ("status_3", "status_reply_mentions_3", "timeline_disabled", "timeline_disabled_2")
]
SAMPLES = sorted({path.name for path in FOLDER.glob("masto_*.json")} - set(OTHERS)) or ["masto_account.json"]
MADE = {
    "account": account_of(),
    "accounts": [account_of(), account_of("bob@other.example", "22")],
    "status": status_of(mentions=[mention_of("bob@other.example", "22")], in_reply_to_account_id="22"),
    "statuses": [status_of("7"), status_of("8")],
    "search": {"accounts": [account_of()], "statuses": [status_of()], "hashtags": []},
}


def length(text, lang=None, created_at=None, urls=None, names=None):
    return len(text)


def recorded(name):
    """(headers by lower-case name, status, body) of a recording."""
    response = json.loads(needed(f"reference/samples/{name}").read_text("utf-8"))["response"]
    headers = {key.lower(): value for key, value in response["headers"].items()}
    return headers, response["status"]["code"], response["body"]


def read(body, domain="mastodon.social"):
    """All that is said about an answer of any kind: what is read is what stands in it."""
    reader = PageParser(domain, length, keep=True, opt_outs=False)
    if isinstance(body, dict) and "statuses" in body:
        body = body["statuses"]
    given = body if isinstance(body, list) else [body]
    if any("content" in one for one in given):
        page = reader.parse_found(given)
        shown_to_all = [one for one in given if one["visibility"] in ("public", "unlisted")]
        assert [row.id for row in page.posts] == list(dict.fromkeys(one["uri"] for one in shown_to_all))
        for row, one in zip(page.posts, shown_to_all, strict=True):
            agrees(row, one, [m.who.id for m in page.mentions if page.posts[m.post].id == row.id], domain)
    else:
        for one in given:
            page, number = reader.parse_profile(one)
            assert number == one["id"]
            assert page.answered[0].id.partition("@")[0] == one["username"].lower()
            assert (page.accounts[0].posts, page.accounts[0].created_at) == (one["statuses_count"], one["created_at"])


def agrees(row, one, named, domain):
    proper = one["reblog"] or one
    assert (row.created_at, row.lang) == (one["created_at"], proper["language"])
    assert (row.likes, row.replies) == (proper["favourites_count"], proper["replies_count"])
    assert json.loads(row.original) == one
    assert "<" not in parse_html(proper["content"]).text.replace("<3", "")
    assert {mention["acct"].lower() if "@" in mention["acct"] else f"{mention['acct'].lower()}@{domain}"
            for mention in proper["mentions"]} <= set(named)  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_a_recorded_answer_is_read_whole(name):
    headers, status, body = recorded(name)
    (limit,) = parse_limits(headers, 0.0)
    assert (limit.most, limit.left) == (300, int(headers["x-ratelimit-remaining"]))
    assert limit.resets % 300 < 1  # on the clock, but for the part of a second
    found = classify(status, body, [limit], 0.0, RequestContext(True, False, True))
    if status == 404:
        assert (found.kind, found.missing) == ("missing", "unknown")
        return
    if status >= 400:
        assert found.kind in ("missing", "invalid")
        return
    assert found.kind == "ok"
    read(body)


@pytest.mark.parametrize("name", MADE)
def test_an_answer_like_the_recorded_ones_is_read_whole(name):
    read(MADE[name])


def test_a_recorded_mention_is_of_the_account_that_it_leads_to():
    _, _, body = recorded("masto_real_statusmention.json")
    page = PageParser("mastodon.social", length).parse_found([body])
    assert [(m.who.id, m.kind) for m in page.mentions] == [("halcy@icosahedron.website", "mention")]
    assert page.posts[0].text.startswith("test post for mastodon.py stuff\n@halcy you're a doo-doo head\n\nedit: ")
    assert page.posts[0].text.endswith(":trans_heart: #ThisIsAHashtag")
    assert page.posts[0].hashtags == '["thisisahashtag"]'


def test_a_recorded_reply_names_whom_it_answers():
    _, _, body = recorded("masto_status_reply_mentions_2.json")
    page = PageParser("localhost:3000", length).parse_found([body])
    assert [(m.who.id, m.kind) for m in page.mentions] == [("mastodonpy_test_2@localhost:3000", "reply")]
    assert page.posts[0].text == "@mastodonpy_test_2 same!"


def test_recorded_link_headers_lead_to_the_next_page():
    links = {name: headers["link"] for name in SAMPLES if "link" in (headers := recorded(name)[0])}
    assert links
    for link in links.values():
        cursor = find_next_page(link)
        assert (cursor is not None) == ('rel="next"' in link)
        assert cursor is None or f"max_id={cursor}" in link
