"""Marks: what they tell of the newest post, how pages are cut by them, and how far they travel."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import orjson
import pytest
from bluesky_posts import AT, did, no_topic, repost
from bluesky_posts import POLICY as SKY
from bluesky_posts import post as bluesky_post
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from mastodon_posts import POLICY as FEDIVERSE
from mastodon_posts import status_of
from shared_data import needed

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.mark_order import find_newest, is_between
from socialcrawl.engine.model import Answer, Node, Page, Pick, Reason, Reply, Who, parse_time
from socialcrawl.graph.known_graph import KnownGraph, KnownGraphSource
from socialcrawl.platforms.bluesky import parse
from socialcrawl.platforms.bluesky.source import BlueskySource
from socialcrawl.platforms.bluesky.wire import make_address
from socialcrawl.platforms.excluding import ExcludedAccounts, ExcludingSource
from socialcrawl.platforms.mastodon import source as mastodon
from socialcrawl.platforms.mastodon.parse import PageParser
from socialcrawl.platforms.mastodon.source import MastodonSource
from socialcrawl.platforms.node_reading import Reading
from socialcrawl.platforms.x import source as x
from socialcrawl.platforms.x.source import XSource, make_time_bounds
from socialcrawl.platforms.x.vocabulary import TWEET
from socialcrawl.storage import answer_packing as answers

FLAKES = {"x": x.SNOWFLAKES, "mastodon": mastodon.SNOWFLAKES}
BOTH = pytest.mark.parametrize("name", FLAKES)
BEGAN = {"x": 1_288_834_974_657, "mastodon": 0}  # milliseconds
BITS = {"x": 22, "mastodon": 16}
NOW = 1_900_000_000.0
MOMENTS = st.integers(1_300_000_000_000, 2_000_000_000_000)  # milliseconds
ANN = Who("42", "ann")


def number(name, millisecond, rest=0):
    """A number that a platform gives in a millisecond."""
    return str((millisecond - BEGAN[name]) * 2 ** BITS[name] + rest)


@BOTH
@given(data=st.data(), millisecond=MOMENTS)
@settings(deadline=None, max_examples=many(50))
def test_the_mark_of_a_post_is_the_last_number_of_its_millisecond(name, data, millisecond):
    rest = data.draw(st.integers(0, 2 ** BITS[name] - 1))
    mark = FLAKES[name].mark(number(name, millisecond, rest))
    assert mark == number(name, millisecond + 1, -1)
    assert FLAKES[name].time(mark) == pytest.approx(millisecond / 1000, abs=1e-6)
    assert FLAKES[name].mark(mark) == mark


@BOTH
@given(millisecond=MOMENTS)
@settings(deadline=None, max_examples=many(50))
def test_since_the_mark_of_an_instant_comes_what_was_written_then_and_nothing_older(name, millisecond):
    mark = int(FLAKES[name].make_mark((millisecond + 0.5) / 1000))
    assert int(number(name, millisecond, -1)) == mark < int(number(name, millisecond))


def test_there_is_no_mark_of_an_instant_before_there_were_snowflakes():
    assert x.SNOWFLAKES.make_mark(parse_time("2010-11-04T00:00:00Z")) == mastodon.SNOWFLAKES.make_mark(-1.0) == ""
    assert x.SNOWFLAKES.make_mark(-1e9) == ""


@pytest.mark.parametrize(
    "key", ["20", "29700859247", "", "9zVC4XnCYY1QGC7XFo", "01H9ZJ6M6V7V3T3Z8Q4J5N6P7R", "1" * 20, "²"]
)
def test_what_is_no_snowflake_is_its_own_mark(key):
    assert [flakes.mark(key) for flakes in FLAKES.values()] == [key, key]
    assert [flakes.time(key) for flakes in FLAKES.values()] == [None, None]


def test_numbers_that_platforms_have_given_tell_when_it_was():
    body = json.loads(needed("reference/samples/masto_status.json").read_text("utf-8"))["response"]["body"]
    at = mastodon.SNOWFLAKES.time(mastodon.SNOWFLAKES.mark(body["id"]))
    assert at == pytest.approx(parse_time(body["created_at"]), abs=0.1)
    sample = json.loads(needed("reference/samples/x_v11_user_timeline.json").read_text("utf-8"))
    posts = sample["response"]["body"]
    for post in posts:
        written = datetime.strptime(post["created_at"], "%a %b %d %H:%M:%S %z %Y").timestamp()
        assert 0 <= x.SNOWFLAKES.time(x.SNOWFLAKES.mark(post["id_str"])) - written < 1
    assert posts


@pytest.mark.parametrize(
    ("marks", "found"),
    [
        ((), ""), (("", ""), ""), (("7", ""), "7"), (("9", "10"), "10"), (("10", "9"), "10"),
        (("2026-01-02T00:00:00.000Z", "2026-01-01T00:00:00.000Z"), "2026-01-02T00:00:00.000Z"),
        (("01H", "12345"), "12345"), (("12345", "01H"), "01H"),
    ],
)  # fmt: skip
def test_the_newest_of_marks_is_the_latest_that_can_be_compared_with_it(marks, found):
    assert find_newest(*marks) == found


def ok(cursor=None, **answer):
    return Reply("ok", 5.0, rows=Answer(**answer), cursor=cursor)


def converse(talk, *replies):
    """The requests of a talk that is sent `replies`, and its outcome."""
    requests = [next(talk), *(talk.send(reply) for reply in replies[:-1])]
    with pytest.raises(StopIteration) as end:
        talk.send(replies[-1])
    (outcome,) = end.value.value.values()
    return requests, outcome


def talk_of(source, pick, who=ANN):
    (talk,) = source.start_conversations((pick,), {pick.node: who})
    return talk


def test_a_visit_keeps_the_newest_mark_of_its_pages_or_the_one_that_it_had():
    def read(*marks, since=""):
        reading = Reading(Pick(1, Node(2), "recrawl", since=since))
        for mark in marks:
            reading.take(ok(mark=mark))
        return reading.make_outcome().mark

    assert read("120", "90") == "120"
    assert read("120", "130") == "130", "a list that was read anew from its start"
    assert read("", since="100") == read(since="100") == read("99", since="100") == "100"
    assert read("") == ""


@pytest.mark.parametrize("reply", [Reply("broken", 6.0), Reply("ok", 6.0, rows=Answer(missing={2: "suspended"}))])
def test_a_visit_that_failed_keeps_the_mark_that_it_had(reply):
    reading = Reading(Pick(1, Node(2), "recrawl", since="100"))
    reading.take(ok("more", posts=3, mark="120"))
    reading.take(reply)
    assert (reading.make_outcome().mark, len(reading.make_outcome().targets)) == ("100", 0)


START_OF_2026 = make_time_bounds(parse_time("2026-01-01T00:00:00Z"), None, NOW)


@pytest.mark.parametrize(
    ("since", "bounds"),
    [
        ("", START_OF_2026),
        (x.SNOWFLAKES.make_mark(parse_time("2026-02-01T00:00:00Z")), None),
        (x.SNOWFLAKES.make_mark(parse_time("2025-12-01T00:00:00Z")), START_OF_2026),
        ("29700859247", START_OF_2026),
    ],
)
@pytest.mark.parametrize("act", ["seed", "expand", "recrawl"])
def test_x_is_told_the_later_of_mark_and_bound_as_it_heeds_one_of_them(act, since, bounds):
    source = XSource(load_policy("x"), TWEET, [], 2, span={**START_OF_2026, "end_time": "2027-01-01T00:00:00Z"})
    requests, outcome = converse(talk_of(source, Pick(1, Node(2), act, since=since)), ok("b", mark="9"), ok())
    for request in requests:
        told = {name: at for name, at in request.params.items() if name in ("since_id", "start_time")}
        assert told == ({"since_id": since} if bounds is None else bounds)
        assert request.params["end_time"] == "2027-01-01T00:00:00Z"
    assert requests[1].params["pagination_token"] == "b"
    assert outcome.mark == find_newest(since, "9")


def test_x_is_asked_for_everything_where_there_is_no_mark():
    source = XSource(load_policy("x"), TWEET, [])
    asked = [next(talk_of(source, Pick(1, Node(2), act))) for act in ("expand", "recrawl")]
    assert asked[0] == asked[1]
    assert "since_id" not in asked[0].params


def feed(*items, after="", more="c"):
    """(keys of the posts, mark, whether reading ends) of a page of ann's feed."""
    body = {"feed": [item if "post" in item else {"post": item} for item in items], "cursor": more}
    page = parse.parse_feed(body, did("ann"), no_topic, after=after)
    return [row.id.rpartition("/")[2] for row in page.posts], page.mark, parse.meets(body, did("ann"), after)


def at(second):
    return f"2026-01-31T12:00:{second:06.3f}Z"


def test_a_feed_is_cut_at_the_mark_and_read_no_further():
    new, same, old = (bluesky_post("ann", key=key, at=at(s)) for key, s in (("new", 9), ("same", 5), ("old", 1)))
    assert feed(new, same, old) == (["new", "same", "old"], at(9), False)
    assert feed(new, same, old, after=at(5)) == (["new"], at(9), True)
    assert feed(new, after=at(5)) == (["new"], at(9), False)
    assert feed(old, after=at(5)) == ([], at(1), True)
    assert feed(after=at(5)) == ([], "", False)


def test_what_is_pinned_is_neither_the_newest_nor_the_end_of_what_is_new():
    pinned = {"post": bluesky_post("ann", key="pin", at=at(1)), "reason": {"$type": "app.bsky.feed.defs#reasonPin"}}
    late = {**pinned, "post": bluesky_post("ann", key="late", at=at(30))}
    new = bluesky_post("ann", key="new", at=at(9))
    assert feed(pinned, new, after=at(5)) == (["new"], at(9), False)
    assert feed(late, new, after=at(5)) == (["late", "new"], at(9), False), "it comes again where it belongs"
    assert feed(pinned)[1] == ""


def test_a_repost_is_as_new_as_its_repeating_and_a_post_as_its_arrival():
    again = {"post": bluesky_post("bob", at=at(1)), "reason": repost("ann", at(9), "again")}
    assert feed(again, after=at(5)) == (["again"], at(9), False)
    assert feed({**again, "reason": repost("ann", at(3), "again")}, after=at(5)) == ([], at(3), True)
    brought = bluesky_post("ann", key="brought", at=at(9))
    brought["record"]["createdAt"] = at(1)  # its author's client dates it back: nobody saw it before
    assert feed(brought, after=at(5)) == (["brought"], at(9), False)
    assert feed(bluesky_post("bob", at=at(1)), after=at(5)) == ([], "", False), "another's post tells nothing"


def test_times_are_compared_in_the_milliseconds_of_marks():
    fine = bluesky_post("ann", key="fine", at="2026-01-31T12:00:05.000999Z")
    assert feed(fine) == (["fine"], at(5), False)
    assert feed(fine, after=at(5)) == ([], at(5), True), "or it would come at every visit"
    timeless = bluesky_post("ann", key="timeless", at=None)
    assert feed(timeless) == (["timeless"], "", False)
    assert feed(timeless, after=at(5)) == ([], "", False)


@given(st.datetimes(datetime(2023, 1, 1), datetime(2030, 1, 1)))  # noqa: DTZ001  # hypothesis wants them without a zone
@settings(deadline=None, max_examples=many(60))
def test_the_mark_of_an_instant_on_bluesky_lets_its_millisecond_through(moment):
    moment = moment.replace(tzinfo=UTC)
    whole = moment - timedelta(microseconds=moment.microsecond % 1000)
    mark = BlueskySource(SKY, []).mark(whole.timestamp() + 0.0004)
    assert parse_time(mark) == pytest.approx(whole.timestamp() - 0.001, abs=2e-6)
    assert mark < parse.format_stamp(whole)


def test_bluesky_is_not_told_where_reading_ends_as_it_knows_no_such_thing():
    who = Who(did("ann"), "ann.test")
    request = next(
        talk_of(BlueskySource(SKY, [], begin=0.0, opt_outs=False), Pick(1, Node(2), "recrawl", since=at(5)), who)
    )
    assert (request.params["after"], request.params["since"]) == (at(5), "1970-01-01T00:00:00.000Z")
    assert "since" not in (told := make_address("https://sky.example", request))
    assert "after" not in told
    assert (
        next(talk_of(BlueskySource(SKY, [], opt_outs=False), Pick(1, Node(2), "recrawl"), who))
        .params.keys()
        .isdisjoint({"after"})
    )


def statuses(*keys, since="", author="ann@home.example"):
    """(ids of the posts, mark, whether reading ends) of a page of ann's statuses."""
    given_ = [status_of(key) for key in keys]
    reader = PageParser("home.example", no_topic, since=since)
    page = reader.parse_timeline(given_, author)
    return [row.id.rpartition("/")[2] for row in page.posts], page.mark, reader.is_over(given_)


def test_statuses_of_a_server_that_knows_no_since_id_are_cut_at_the_mark():
    new, old = (number("mastodon", 1_700_000_000_000 + s, 7) for s in (5, 0))
    mark = mastodon.SNOWFLAKES.mark(old)
    end = mastodon.SNOWFLAKES.mark(new)
    assert statuses(new, old) == ([new, old], end, False)
    assert statuses(new, old, since=mark) == ([new], end, True)
    assert statuses(new, since=mark) == ([new], end, False)
    assert statuses(old, since=mark) == ([], mark, True)
    assert statuses(new, "1234", since="1234") == ([new], end, True), "a server that counted, and gives snowflakes now"
    assert statuses("9", "10", since="9") == (["10"], "10", True)


def test_names_that_are_no_numbers_are_taken_as_the_server_gives_them():
    assert statuses("01HB", "01HA", since="01H9") == (["01HB", "01HA"], "01HB", False)
    assert statuses("01HB", "01H9", since="01H9") == (["01HB"], "01HB", True)


def test_where_another_server_answers_than_before_nothing_is_known_to_be_new():
    new = number("mastodon", 1_700_000_000_000)
    page = statuses(new, since="01H9")
    assert page == ([], mastodon.SNOWFLAKES.mark(new), True)
    assert find_newest("01H9", page[1]) == page[1], "the next visit goes on from here"


def test_mastodon_looks_up_again_and_counts_a_request_with_a_mark_as_it_is_counted():
    who = Who("ann@home.example", "ann@home.example")
    pick = Pick(7, Node(3), "recrawl", since="5")
    talk = talk_of(MastodonSource(FEDIVERSE, [], "home.example", 9, follows=1), pick, who)
    requests, outcome = converse(
        talk, ok("11", found={3: who.id}), ok("200", posts=40, mark="8"), ok(posts=2, mark="6")
    )
    mine = {"id": "11", "acct": who.id, "since_id": "5", "limit": "40"}
    assert [(request.endpoint, dict(request.params)) for request in requests] == [
        ("home.example/api/v1/accounts/lookup", {"acct": "ann"}),
        ("home.example/api/v1/accounts/:id/statuses?max_id", mine),
        ("home.example/api/v1/accounts/:id/statuses?max_id", {**mine, "max_id": "200"}),
    ]
    assert (outcome.mark, outcome.posts) == ("8", 42)
    gone = Reply("missing", 5.0, rows=Answer(missing={3: "opted-out"}))
    _, outcome = converse(talk_of(MastodonSource(FEDIVERSE, [], "home.example"), pick, who), gone)
    assert (outcome.missing, outcome.mark) == ("opted-out", "5"), "who wants to be left alone by now is"


def test_whoever_is_excluded_is_not_asked_again_and_marks_are_handed_on():
    source = ExcludingSource(XSource(load_policy("x"), TWEET, []), ExcludedAccounts(["ann"]))
    with pytest.raises(StopIteration) as end:
        next(talk_of(source, Pick(1, Node(2), "recrawl", since="5")))
    assert end.value.value[1].missing == Reason.EXCLUDED
    assert source.mark(NOW) == x.SNOWFLAKES.make_mark(NOW) != ""


def test_a_known_graph_has_no_marks_and_answers_every_visit_with_all():
    graph = KnownGraph(np.array([0, 1, 1]), np.array([1]), np.array([2.0]), np.array([3.0, 0.0]))
    assert KnownGraphSource(graph).mark(NOW) == ""
    with pytest.raises(StopIteration) as end:
        next(talk_of(KnownGraphSource(graph), Pick(4, Node(0), "recrawl")))
    assert (end.value.value[4].targets.tolist(), end.value.value[4].mark) == ([1], "")


@given(
    st.builds(
        Answer, st.integers(0, 9), st.integers(0, 9), st.just([1]), st.just([2]), st.just({1: "a"}),
        st.just({2: "deleted"}), st.lists(st.integers(0, 9)).map(tuple), st.sampled_from(["", "123", AT]),
    )
)  # fmt: skip
@settings(deadline=None, max_examples=many(40))
def test_answers_travel_with_their_marks_and_older_ones_are_read_still(answer):
    assert answers.unpack_answer(answers.pack_answer(answer)) == answer
    older = orjson.loads(answers.pack_answer(replace(answer, mark="")))
    assert len(older) == 6 + bool(answer.follows), "as the programs before wrote it"
    noted = answers.pack_nodes([(0, 5)], answer)
    page = answers.parse_page(SimpleNamespace(nodes=noted, post_ids='["7"]'))
    assert page == (["7"], [(0, 5)], [1], {2: "deleted"}, answer.follows, answer.mark)


def test_a_page_hands_its_mark_to_the_answer():
    assert answers.build_answer(Page(mark="5"), {}, {}, {}).mark == "5"


@pytest.mark.parametrize(
    ("mark", "after", "until", "between"),
    [
        ("9", "", "10", True),
        ("10", "9", "10", True),
        ("10", "10", "11", False),
        ("11", "", "10", False),
        ("5", "", "", False),
    ],
)
def test_a_mark_lies_after_one_and_not_after_another(mark, after, until, between):
    assert is_between(mark, after, until) == between
