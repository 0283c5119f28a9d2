"""Wild bytes from every platform, through its own wire: whatever becomes a page can be stored, in both databases."""

import json
from itertools import count

import bluesky_posts
import hostile_servers
import httpx
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from mastodon_posts import status_of
from stores import a_store, rows
from test_parse import post_of

from socialcrawl.engine.model import Grant, Request
from socialcrawl.platforms.http_client import HttpAnswer, HttpClient
from socialcrawl.platforms.x.vocabulary import TWEET

KINDS = {"ok", "missing", "lost", "broken", "invalid", "refused", "backoff", "window", "day", "month", "money"}
TEXT = "word @bob #tag https://c.example/x"
FACETS = [bluesky_posts.naming(TEXT, "@bob", "bob")]
BODIES = {
    "x": {
        "data": [post_of(TWEET, text=TEXT, entities={"mentions": [{"username": "bob", "id": "2"}]})],
        "includes": {"users": [{"id": "1", "username": "ann", "public_metrics": {"followers_count": 3}}]},
        "errors": [{"resource_type": "user", "resource_id": "9", "title": "Not Found", "type": "about:blank"}],
        "meta": {"next_token": "t1"},
    },
    "bluesky": {"feed": [{"post": bluesky_posts.post("ann", TEXT, facets=FACETS, langs=["en"])}], "cursor": "c1"},
    "mastodon": [status_of(content=f"<p>{TEXT} <b>bold</b></p>", mentions=[{"acct": "bob@other.example", "id": "3"}])],
}
LETTERS = st.text(st.characters(exclude_categories=()), max_size=8)  # half characters and the character 0 among them
SCALARS = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | LETTERS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LETTERS, inner, max_size=3))
PIECES = [
    "<p>",
    "</p>",
    "<a href='/x'>",
    "</a>",
    "<title>",
    "word ",
    "\0",
    "<",
    "&#0;",
    "<meta name=robots content=none>",
]


@st.composite
def wild_json(draw, platform):
    """An answer in which some values are others, and of which some bytes may have become others."""
    whole = json.loads(json.dumps(BODIES[platform]).replace(bluesky_posts.did("ann"), hostile_servers.ANN))
    for _ in range(draw(st.integers(0, 3))):
        place = whole
        while isinstance(place, dict | list) and place:
            key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            if not isinstance(place[key], dict | list) or draw(st.integers(0, 3)) == 0:
                place[key] = draw(VALUES)
                break
            place = place[key]
    body = json.dumps(whole, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 4)) == 0:
        at = draw(st.integers(0, len(body)))
        body = body[:at] + draw(st.binary(max_size=6)) + body[at + draw(st.integers(0, 6)) :]
    return body


def wild(platform):
    """Answers of a platform, as bytes."""
    if platform in BODIES:
        return wild_json(platform)
    return st.lists(st.sampled_from(PIECES), max_size=20).map(lambda some: "".join(some).encode()) | st.binary(
        max_size=60
    )


@pytest.mark.parametrize("platform", hostile_servers.GOOD)
def test_whatever_bytes_come_the_wire_makes_a_reply_that_a_store_can_hold(database, platform, monkeypatch):
    made, request = hostile_servers.asking(platform, "http://127.0.0.1:1", 5.0)
    kind, numbers, pages, came = hostile_servers.GOOD[platform][0], count(), [], []
    monkeypatch.setattr(HttpClient, "fetch", lambda *_, **__: came[-1])

    with a_store(database) as store:

        @given(wild(platform), st.sampled_from([200] * 12 + [400, 403, 404, 429, 500]), st.sampled_from([kind, "x\0"]))
        @settings(deadline=None, max_examples=many(120))
        def check(body, status, told):
            came.append(HttpAnswer("http://h/", status, httpx.Headers({"Content-Type": told}), body, 1e9))
            reply = made.send(Grant(request, "main", 1e9))
            assert reply.kind in KINDS
            n = next(numbers)
            asked = Request((n, 0), request.endpoint, {**request.params, "n": str(n)}, 100, 50_000)
            grant = Grant(asked, "main", 1e9 + n)
            store.reserve(grant)
            store.save(grant, reply)
            pages.append(reply.rows is not None and bool(reply.rows.posts))

        check()
        assert platform == "robots" or any(pages)  # it would hold of a wire that loses all, too
        assert bool(rows(store, "select 1 from post")) is any(pages)
    made.close()
