"""Messages of X's stream as events: what they cost, and what follows from those that nobody can read."""

import json

import pytest

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.model import Reply, ReplyKind
from socialcrawl.graph.relevance import Topic
from socialcrawl.platforms.stream_reader import StreamRefusedError
from socialcrawl.platforms.x import parse
from socialcrawl.platforms.x.live_stream import UNREADABLE, FilteredConnection, XStreamReader
from socialcrawl.platforms.x.vocabulary import POST

POLICY = load_policy("x")
POST_PRICE, USER_PRICE = POLICY.compute_price("post", 1), POLICY.compute_price("user", 1)
NOW = 1_700_000_000.0
WHEN = "2023-11-14T22:13:1{}.000Z"  # NOW is 22:13:20


def message(number, **changes):
    post = {"id": str(number), "text": "hello", "author_id": "7", "created_at": WHEN.format(number % 10)}
    post |= {"conversation_id": str(number), "edit_history_tweet_ids": [str(number)], "lang": "en"}
    counts = ("like_count", "reply_count", "quote_count", "repost_count", "bookmark_count", "impression_count")
    post["public_metrics"] = dict.fromkeys(counts, 0)
    users = [{"id": "7", "username": "ann", "name": "Ann"}]
    return json.dumps({"data": post | changes, "includes": {"users": users}, "matching_rules": []}).encode()


@pytest.fixture
def reader():
    hits = Topic(["hello"]).hits
    return XStreamReader(POST, POLICY, lambda body: parse.parse_posts(body, POST, hits, keep=False), lambda: NOW)


def connect(reader, lines, opening=None, begin=NOW - 60):
    class Stream:
        def read_lines(self, longest):
            yield from lines

    return FilteredConnection(Stream(), opening or Reply(ReplyKind.OK, NOW - 60, status=200), begin, reader)


def read(connection):
    """The events of a connection, and the error that ends it."""
    events = []
    try:
        events.extend(connection)
    except (ConnectionError, StreamRefusedError) as error:
        return events, error
    return events, None


WRONG = [
    message(3, created_at="yesterday"),
    message(3, created_at="99999-01-01T00:00:00Z"),
    message(3, text=[1]),
    b'{"data": [], "includes": {"users": [{"id": "7"}]}}',
    b'{"data": {"id": "3", "te',
    b"[1]",
    b"hello",
]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_message_that_cannot_be_read_costs_what_x_bills_and_ends_the_connection_before_it(wrong, reader):
    events, error = read(connect(reader, [message(1), b"", wrong, message(4)]))
    assert isinstance(error, ConnectionError), error
    first, alive, billed = events
    assert (first.cost, first.post) == (POST_PRICE + USER_PRICE, message(1))
    assert billed.post is None
    assert billed.cost == POST_PRICE + (USER_PRICE if b"users" in wrong else 0)
    assert billed.place == alive.place, "what came with it is searched"


def test_a_stream_of_which_several_messages_in_a_row_cannot_be_read_is_refused(reader):
    for _ in range(UNREADABLE - 1):
        assert isinstance(read(connect(reader, [b"hello"]))[1], ConnectionError)
    read(connect(reader, [message(1), b"hello"]))
    for _ in range(UNREADABLE - 2):
        assert isinstance(read(connect(reader, [b"hello"]))[1], ConnectionError)
    _, error = read(connect(reader, [b"hello"]))
    assert isinstance(error, StreamRefusedError)
    assert error.kind == ReplyKind.INVALID
    assert "ongoing = true" in str(error)


def test_posts_without_the_fields_that_were_requested_are_refused_and_cost_what_x_bills(reader):
    lacking = json.dumps({"data": {"id": "1", "text": "hello"}}).encode()
    [event], error = read(connect(reader, [lacking]))
    assert isinstance(error, StreamRefusedError)
    assert "vocabulary" in str(error)
    assert event.cost == POST_PRICE


def test_what_is_held_of_a_post_is_opened_as_it_came(reader):
    [event], _ = read(connect(reader, [message(1)]))
    key, told = reader.open_post(event.post)
    assert (key, [post.id for post in reader.parse([told]).posts]) == ("1", ["1"])


@pytest.mark.parametrize("ahead", [-600.0, 600.0])
def test_where_our_clock_differs_from_xs_a_connection_is_complete_from_the_later_to_the_earlier_instant(ahead, reader):
    opening = Reply(ReplyKind.OK, NOW - 60, status=200, date=NOW - 60 - ahead)
    connection = connect(reader, [b""], opening)
    [alive], _ = read(connection)
    assert connection.begin.at == NOW - 60 + max(0.0, -ahead)
    assert alive.place.at == NOW - max(0.0, ahead)
