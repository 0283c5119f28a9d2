"""What the mock does to be quick must not show: pages written from columns are those written post by post."""

import httpx
import numpy as np
import orjson
from example_counts import many
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_mock_world import START, posts_of, synthetic

from socialcrawl.mock.bounded_cache import BoundedCache
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.mock.world_changes import WorldChanges
from socialcrawl.mock.x.entities import find_tags, lower_text
from socialcrawl.mock.x.page_writer import XPageWriter
from socialcrawl.mock.x.render import XRenderer, format_stamp
from socialcrawl.mock.x.vocabulary import POST, TWEET, read_shown_fields

EVERYTHING = {words.name: words.fields for words in (TWEET, POST)}
BEARER = {"Authorization": "Bearer x"}
TWEETS = read_shown_fields({"tweet.fields": ",".join(EVERYTHING["tweet"])})
POSTS = read_shown_fields({"post.fields": ",".join(EVERYTHING["post"])})


def of(world, post, asked):
    """The JSON of a post as the slow way makes it."""
    return orjson.loads(XRenderer(world).post(post, asked))


PIECES = st.sampled_from(
    [
        *'@#_ .:/\n\t"\\İßÅ9é\u2028\x7f\x01',
        "@ann",
        "@Bob",
        "bob",
        "ann_",
        "#Tag",
        "#12",
        "##x",
        "a#b",
        "https://a.org/b?c=1.",
        "RT @ann: ",
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "Bob", "long.name-of_somebody", "İ"]),
        st.integers(0, 3_000_000_000),
        TEXTS,
        st.lists(st.sampled_from(["ann", "bob", "nobody", "long.name-of_somebody"]), max_size=3),
    ),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=many(60))
@given(ROWS, st.booleans(), st.floats(0, 1))
@example([("ann", START, "@bob " * 60, ["bob"])], True, 0.0)  # cut
def test_a_page_written_from_columns_is_the_one_written_post_by_post(rows, replies, missing):
    columns = {"ids": [f"p{n}" for n in range(len(rows))]}
    if replies:
        columns["reply_to"] = [None, *(["p0", "bob", None][n % 3] for n in range(len(rows) - 1))]
    world = build_world(posts_of(rows, **columns), missing)
    renderer = XRenderer(world)
    every = np.arange(len(rows))[::-1]
    for asked in (TWEETS, POSTS, read_shown_fields({}), read_shown_fields({"tweet.fields": "entities"})):
        assert (
            renderer.posts(every, asked)
            == b"[" + b",".join(XRenderer(world).post(post, asked) for post in every.tolist()) + b"]"
        )


def test_every_field_of_a_page_is_told_and_the_usual_one_is_not_made_the_slow_way():
    world, asked = build_world(synthetic()), []

    def slow(post, wanted):
        asked.append(post)
        return XRenderer(world).post(post, wanted)

    told = [orjson.loads(text) for text in XPageWriter(world, slow).posts(np.arange(len(world.ids)), TWEETS)]
    assert {key for post in told for key in post} >= {*EVERYTHING["tweet"], "edit_history_tweet_ids"}
    assert [len(world.texts[post]) > 280 for post in asked] == [True]
    assert told[3] == of(world, 3, TWEETS)


@given(st.integers(0, 4_000_000_000))
def test_a_whole_second_is_written_as_any_other(second):
    from socialcrawl.mock.x.page_writer import _format_stamp

    assert _format_stamp(second) == format_stamp(second)


@given(TEXTS)
def test_a_lowered_text_keeps_every_letter_at_its_place_and_tags_are_where_they_are_said_to_be(text):
    assert len(lower_text(text)) == len(text)
    for start, end, tag in find_tags(text):
        assert text[start:end] == "#" + tag
        assert not tag.isdigit()
        assert end == len(text) or not (text[end].isalnum() or text[end] == "_")


def test_what_is_held_is_never_more_than_there_is_room_for():
    held = BoundedCache(10)
    for n in range(20):
        held.put(n, str(n), 3)
        assert held.get(n) == str(n)
    assert [n for n in range(20) if held.get(n)] == [17, 18, 19]
    held.put(18, "again", 9)
    assert [n for n in range(20) if held.get(n)] == [18]
    held.put(5, "too large", 11)
    assert [n for n in range(20) if held.get(n)] == []


def test_an_answer_that_is_held_is_charged_counted_and_told_like_the_first():
    with serve_in_thread(synthetic()) as mock, httpx.Client(base_url=mock.url, headers=BEARER) as client:
        number = client.get("/2/users/by/username/ann").json()["data"]["id"]
        answers = [client.get(f"/2/users/{number}/tweets", params={"max_results": 50}) for _ in range(3)]
        report = mock.report()
    assert len({answer.content for answer in answers}) == 1
    assert [answer.headers["x-rate-limit-remaining"] for answer in answers] == ["299", "298", "297"]
    (day,) = report["billed"].values()
    assert day["posts"] == 50
    assert report["windows"][1]["answers"] == {"200": 3}


def test_a_refused_request_is_refused_again_though_the_same_one_was_answered():
    with serve_in_thread(synthetic(), credits=0.05) as mock, httpx.Client(base_url=mock.url, headers=BEARER) as client:
        number = client.get("/2/users/by/username/ann").json()["data"]["id"]
        statuses = [client.get(f"/2/users/{number}/tweets", params={"max_results": 50}).status_code for _ in range(2)]
    assert statuses == [200, 402]


def test_changes_of_names_and_fates_are_seen_at_once_though_answers_are_held():
    world = build_world(synthetic())
    changes = WorldChanges(world)
    renderer = XRenderer(world, changes)
    ann = changes.row("ann")
    before = renderer.user(ann, TWEETS)
    changes.rename(ann, "anna")
    assert orjson.loads(renderer.user(ann, TWEETS))["username"] == "anna"
    assert orjson.loads(before)["username"] == "Ann"


def test_a_page_is_the_same_whoever_asks_first():
    world = build_world(synthetic())
    told = []
    for first in ("tweet", "post"):
        with serve_in_thread(synthetic()) as mock, httpx.Client(base_url=mock.url, headers=BEARER) as client:
            number = str(world.accounts.ids[world.accounts.by_username["ann"]])
            asked = {word: {f"{word}.fields": ",".join(EVERYTHING[word]), "max_results": 100} for word in EVERYTHING}
            order = [first, *(word for word in EVERYTHING if word != first)]
            told.append({word: client.get(f"/2/users/{number}/tweets", params=asked[word]).content for word in order})
    assert told[0] == told[1]
    assert told[0]["tweet"] != told[0]["post"]
