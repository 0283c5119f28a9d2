"""X's own meters against the mock and against both official shapes; junk is a sentence and never a number."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_x_wire import BOTH, NOW, send, wire
from x_crawls import TOKEN, TOPIC, posts

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.model import Grant
from socialcrawl.errors import SourceError
from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.platforms.server_info import CountedSpan
from socialcrawl.platforms.x import meters
from socialcrawl.platforms.x.vocabulary import POST, TWEET

POLICY = load_policy("x")
KEY = (-1, 0)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda deeper: st.lists(deeper, max_size=3) | st.dictionaries(st.text(max_size=5), deeper, max_size=3),
)


def ask(url, request, words=TWEET):
    return wire(url, words).ask(Grant(request, "main", 0.0))


def search(words, **more):
    request = meters.make_probe_request(KEY, TOPIC, words, POLICY)
    return replace(request, params={**request.params, "max_results": "100", **more})


def found_by_searching(url, words):
    """How many posts the same search brings, page by page."""
    count, cursor = 0, {}
    while True:
        page = send(url, search(words, **cursor), words)
        count += len(page.rows.posts)
        if page.cursor is None:
            return count
        cursor = {"next_token": page.cursor}


@BOTH
def test_a_query_is_counted_with_one_request_at_its_own_price(words):
    with serve_in_thread(posts()) as mock:
        request = meters.make_counts_request(KEY, TOPIC, words, POLICY)
        reply, body = ask(mock.url, request, words)
        found = found_by_searching(mock.url, words)
    assert (reply.kind, reply.cost, request.most, request.items) == ("ok", 500, 500, 0)  # $0.005
    assert meters.parse_counts(body, words) == found > 20
    assert f"total_{words.name}_count" in body["meta"]


DAYS = 86_400


@given(begin=st.integers(0, 200 * DAYS), length=st.integers(1, 200 * DAYS))
def test_the_most_pages_of_a_span_are_one_for_each_31_days_that_it_touches(begin, length):
    touched = {second // DAYS for second in (*range(begin, begin + length, DAYS), begin + length - 1)}
    expected = -(-len(touched) // 31)
    assert meters.count_pages(CountedSpan(begin, begin + length, 0.0)) == expected
    assert meters.count_pages(CountedSpan(begin, begin + length, 0.0, archive=False)) == 1


@BOTH
def test_a_span_of_the_archive_is_counted_at_the_price_of_the_archive_page_by_page(words):
    span = CountedSpan(1_700_000_000.0, 1_700_086_400.0, NOW)
    first = meters.make_span_request(KEY, TOPIC, words, POLICY, span=span)
    assert (first.endpoint, first.most, first.items) == ("/2/tweets/counts/all", 1_000, 0)
    bounds = {"start_time": "2023-11-14T22:13:20Z", "end_time": "2023-11-15T22:13:20Z"}
    assert first.params.items() >= bounds.items()
    second = meters.make_span_request(KEY, TOPIC, words, POLICY, span=span, cursor="b26v")
    assert second.params == {**first.params, "next_token": "b26v"}


@pytest.mark.parametrize(("days", "bounded"), [(6.9, True), (7.0, False), (30.0, False)])
def test_recent_counts_begin_at_the_span_where_x_reaches_back_so_far(days, bounded):
    span = CountedSpan(NOW - days * DAYS, NOW - 60.0, NOW, archive=False)
    request = meters.make_span_request(KEY, TOPIC, TWEET, POLICY, span=span)
    assert (request.endpoint, request.most) == ("/2/tweets/counts/recent", 500)
    assert ("start_time" in request.params, "end_time" in request.params) == (bounded, True)


@pytest.mark.parametrize("body", [None, [], 3, {"meta": 3}, {"meta": {"next_token": 7}}])
def test_a_place_to_go_on_from_that_is_none_is_an_error(body):
    with pytest.raises(SourceError, match="counts of posts"):
        meters.XMeters(TWEET, POLICY).find_counts_cursor(body)


@BOTH
def test_the_probe_is_the_smallest_search_with_all_fields(words):
    with serve_in_thread(posts()) as mock:
        request = meters.make_probe_request(KEY, TOPIC, words, POLICY)
        reply = send(mock.url, request, words)
    assert reply.kind == "ok"
    assert len(reply.rows.posts) == request.items == 10
    assert request.most == 10 * 500 + (10 * 1_000 if words is POST else 0)
    assert 0 < reply.cost <= request.most


@pytest.mark.parametrize("as_text", [False, True])
def test_usage_is_what_was_billed_by_day(as_text):
    with serve_in_thread(posts(), time=lambda: NOW) as mock:
        searched = len(send(mock.url, search(TWEET)).rows.posts)
        request = meters.make_usage_request(KEY, 3, POLICY)
        if as_text:
            request = replace(request, params={**request.params, "post.fields": "id"})  # what this mock tells it by
        reply, body = ask(mock.url, request)
    found = meters.parse_usage(body)
    today = datetime.fromtimestamp(NOW, UTC).date()
    assert (reply.kind, reply.cost, request.most) == ("ok", 0, 0)
    assert isinstance(body["data"]["project_usage"], str) == as_text
    assert (sum(found.by_day.values()), found.used, found.cap) == (searched, searched, 3_000_000)
    assert set(found.by_day) <= {(today - timedelta(days=i)).isoformat() for i in range(4)}
    assert found.reset_day == 1


DAY = {"date": "2026-11-20T00:00:00.000Z", "usage": 7}
USAGES = {
    "2.166": (
        {"cap_reset_day": 3, "project_cap": 10, "project_usage": 9, "daily_project_usage": {"usage": [DAY]}},
        meters.Usage({"2026-11-20": 7}, 10, 3, 9),
    ),
    "2.167": (
        {
            "cap_reset_day": 3,
            "project_cap": "10",
            "project_usage": "9",
            "daily_project_usage": {"project_id": "1", "usage": [DAY | {"usage": "7"}]},
        },
        meters.Usage({"2026-11-20": 7}, 10, 3, 9),
    ),
    "nothing used": ({"project_cap": "10", "daily_project_usage": {"usage": None}}, meters.Usage({}, 10)),
    "no cap": ({"daily_project_usage": {}}, meters.Usage({})),
    "a day of which nothing is told": (
        {"daily_project_usage": {"usage": [DAY | {"usage": None}, {"date": "2026-11-19"}]}},
        meters.Usage({"2026-11-19": 0, "2026-11-20": 0}),
    ),
    "a day in parts, and out of order": (
        {"daily_project_usage": {"usage": [DAY, DAY | {"date": "2026-11-19T00:00:00Z"}, DAY | {"usage": "1"}]}},
        meters.Usage({"2026-11-19": 7, "2026-11-20": 8}),
    ),
}


@pytest.mark.parametrize(("data", "expected"), USAGES.values(), ids=USAGES)
def test_both_official_shapes_of_usage_are_read(data, expected):
    found = meters.parse_usage({"data": data})
    assert found == expected
    assert list(found.by_day) == sorted(found.by_day)


@pytest.mark.parametrize(
    ("meta", "words", "expected"),
    [
        ({"total_tweet_count": 5}, TWEET, 5),
        ({"total_post_count": 5}, POST, 5),
        ({"total_post_count": 5}, TWEET, 5),
        ({"total_tweet_count": "5"}, POST, 5),
        ({"total_tweet_count": 5, "total_post_count": 6}, POST, 6),
        ({"total_tweet_count": 5, "total_post_count": 6}, TWEET, 5),
        ({"total_tweet_count": 0}, TWEET, 0),
    ],
)
def test_counts_are_read_in_both_vocabularies(meta, words, expected):
    assert meters.parse_counts({"meta": meta, "data": []}, words) == expected


WRONG = [
    *(None, 5, [], "text", {}, {"data": None}, {"data": []}, {"data": {}}, {"data": "x"}, {"meta": None}, {"meta": []}),
    *({"meta": {}}, {"meta": {"total_tweet_count": -1}}, {"meta": {"total_tweet_count": True}}),
    *({"meta": {"total_tweet_count": "1.5"}}, {"meta": {"total_tweet_count": 1e9}}),
    *({"meta": {"total_tweet_count": "9" * 5000}}, {"meta": {"total_tweet_count": 2**63}}),
    *({"data": {"project_cap": "many"}}, {"data": {"daily_project_usage": 5}}, {"data": {"project_usage": "٣"}}),
    *({"data": {"daily_project_usage": {"usage": [5]}}}, {"data": {"daily_project_usage": {"usage": {"a": 1}}}}),
    *({"data": {"daily_project_usage": {"usage": [{"usage": 1}]}}}, {"data": {"cap_reset_day": 5}}),
    {"data": {"daily_project_usage": {"usage": [DAY | {"date": "soon"}]}}},
    {"data": {"daily_project_usage": {"usage": [DAY | {"date": 20261120}]}}},
]


@pytest.mark.parametrize("body", WRONG)
def test_a_body_that_does_not_say_is_a_sentence(body):
    with pytest.raises(SourceError, match="usage does not say it: is base_url right"):
        meters.parse_usage(body)
    with pytest.raises(SourceError, match="a count of posts does not say it: is base_url right"):
        meters.parse_counts(body, TWEET)


def test_the_sentence_has_what_x_said():
    body = {"errors": [{"detail": "Field\n [project_cap] is not yours."}]}
    with pytest.raises(SourceError, match=r"usage: Field \[project_cap\] is not yours\.$"):
        meters.parse_usage(body)
    for errors in (None, [], [5], [{}], "x"):
        with pytest.raises(SourceError, match="does not say it"):
            meters.parse_counts({"errors": errors}, POST)


@settings(deadline=None)
@given(JUNK, st.sampled_from(["data", "meta", "errors", "daily_project_usage", "usage", "total_tweet_count"]))
def test_any_json_is_numbers_or_a_sentence(junk, name):
    for body in (
        junk,
        {name: junk},
        {"data": {name: junk}},
        {"meta": {name: junk}},
        {"data": {"daily_project_usage": {name: junk}}},
    ):
        for read in (meters.parse_usage, lambda body: meters.parse_counts(body, TWEET)):
            try:
                found = read(body)
            except SourceError:
                continue
            numbers = (
                [found] if isinstance(found, int) else [*found.by_day.values(), found.cap, found.used, found.reset_day]
            )
            assert all(number is None or 0 <= number < 2**63 for number in numbers)


@pytest.mark.parametrize(
    ("fault", "kind"), [(faults.make_refusals(403), "refused"), (faults.make_html_fault(200), "lost")]
)
def test_a_meter_that_is_refused_is_a_reply_like_any_other(fault, kind):
    with serve_in_thread(posts(), fault=lambda endpoint, nth: fault) as mock:
        reply, body = ask(mock.url, meters.make_counts_request(KEY, TOPIC, TWEET, POLICY))
    assert reply.kind == kind
    assert reply.cost == (500 if kind == "lost" else 0)
    assert (body is None) == (kind == "lost")
    assert TOKEN not in reply.why
