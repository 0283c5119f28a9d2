"""What is kept of an answer: the answer as it came, on request, without the token; texts that every database takes."""

import zlib
from dataclasses import replace

import orjson
import pytest
from stores import a_store, one, rows
from test_x_wire import send, timeline, wire
from x_crawls import TOKEN

from socialcrawl.engine.model import Grant
from socialcrawl.platforms.x.vocabulary import TWEET

pytest_plugins = ["test_x_wire_door"]

POST = {"id": "1", "author_id": "7", "created_at": "2026-01-01T00:00:00.000Z", "conversation_id": "1", "lang": "en"}


def saying(text):
    metrics = dict.fromkeys(("like_count", "reply_count", "retweet_count", "quote_count"), 0)
    return orjson.dumps({"data": [{**POST, "text": text, "public_metrics": metrics}], "meta": {"result_count": 1}})


def kept(url, **more):
    made = replace(wire(url, TWEET), **more)
    grant = Grant(timeline(), "main", 0.0)
    return grant, made.send(grant)


def test_an_answer_is_kept_as_it_came_where_that_is_wanted(door, database):
    shown = {"X-Rate-Limit-Remaining": "6", "Content-Type": "application/json"}
    door.says = (200, {**shown, "Set-Cookie": "guest=1"}, saying("a"))
    grant, reply = kept(door.url, whole=True)
    assert reply.received.body == door.says[2]
    assert reply.received.url == door.url + door.asked[0][0]
    assert dict(reply.received.headers) == shown
    with a_store(database) as store:
        store.reserve(grant)
        store.save(grant, reply)
        ((number, url, headers, body),) = rows(store, "select request, url, headers, body from response")
        assert (number, url) == (one(store, "select id from request"), reply.received.url)
        assert orjson.loads(headers) == [list(pair) for pair in reply.received.headers]
        assert zlib.decompress(body) == door.says[2]


@pytest.mark.parametrize("status", [200, 429, 500])
def test_an_answer_that_repeats_the_token_is_kept_without_it(door, status):
    door.says = (status, {"X-Echo": f"Bearer {TOKEN}"}, saying(f"your token is {TOKEN}"))
    _, reply = kept(door.url, whole=True)
    assert TOKEN not in str(reply.received)
    assert b"your token is (kept secret)" in reply.received.body
    assert ("X-Echo", "Bearer (kept secret)") in reply.received.headers


def test_nothing_is_kept_where_nobody_asked_for_it(door, database):
    door.says = (200, {}, saying("a"))
    grant, reply = kept(door.url)
    assert reply.received is None
    with a_store(database) as store:
        store.reserve(grant)
        store.save(grant, reply)
        assert one(store, "select count(*) from response") == 0


def test_a_text_with_the_character_nought_is_stored_by_every_database(door, database):
    door.says = (200, {}, saying("one\0two \\u0000 three"))
    request = timeline()
    reply = send(door.url, request)
    grant = Grant(request, "main", 0.0)
    with a_store(database) as store:
        store.reserve(grant)
        store.save(grant, reply)
        assert one(store, "select text from post") == "one\ufffdtwo \\u0000 three"
