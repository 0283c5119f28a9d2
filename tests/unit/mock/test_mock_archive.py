"""X's full-archive search and counts on the mock: how far they reach, what they cost, and who may ask how often."""

from bisect import bisect_right
from collections import Counter
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from mock_judges import Clock
from test_mock_accounts import CAPPED, NO_ARCHIVE, signed
from test_mock_limits import bearer, client_of
from test_mock_world import START, build_world, posts_of

from socialcrawl.mock.rate_windows import LimitRule
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.server_settings import MockSettings
from socialcrawl.mock.world import SNOWFLAKE_EPOCH
from socialcrawl.mock.x.post_ids import PostIds

DAY = 86_400
ALL, RECENT = "/2/tweets/search/all", "/2/tweets/search/recent"
COUNTS_OF_ALL, COUNTS = "/2/tweets/counts/all", "/2/tweets/counts/recent"
# A post every half day for 100 days; every fifth has no rust in it, and every seventh is a retweet.
TIMES = [START + n * DAY // 2 for n in range(200)]
TEXTS = [
    f"RT @ann: post {n} about rust" if n % 7 == 3 else f"post {n} about {'iron' if n % 5 == 2 else 'Rust'}"
    for n in range(200)
]
POSTS = posts_of([("ann" if n % 2 else "bob", at, text) for n, (at, text) in enumerate(zip(TIMES, TEXTS, strict=True))])
END = TIMES[-1] + 1  # of the file; the mock stands half a minute later
RUST = [n for n, text in enumerate(TEXTS) if "rust" in text.lower() and not text.startswith("RT")]
IDS = [((at * 1_000 - SNOWFLAKE_EPOCH) << 22) for at in TIMES]


def stamp(second):
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture(scope="module")
def client():
    with serve_in_thread(POSTS, limit=100_000) as mock, client_of(mock) as client:
        yield client


def read_pages(client, path, **asked):
    """Every page of a search or of counts, with its status checked."""
    pages = []
    while True:
        answer = client.get(path, params=asked)
        assert answer.status_code == 200, answer.text
        pages.append(answer.json())
        if not (token := pages[-1]["meta"].get("next_token")):
            return pages
        asked = {**asked, "next_token": token}


def find(client, path=ALL, **asked):
    """The numbers of the posts found, newest first."""
    pages = read_pages(client, path, **{"query": "rust", "max_results": 100, **asked})
    return [IDS.index(int(post["id"])) for page in pages for post in page.get("data", ())]


def since(second):
    return [n for n in reversed(RUST) if TIMES[n] >= second]


def test_a_search_with_a_start_reaches_the_first_post_and_finds_each_once(client):
    assert find(client, start_time="2006-03-21T00:00:00Z", max_results=10) == since(0)
    assert find(client, start_time="2000-01-01T00:00:00Z", max_results=500) == since(0)


def test_a_search_without_a_start_finds_the_30_days_before_its_end(client):
    assert find(client) == since(END + 30 - 30 * DAY)
    end = START + 50 * DAY
    assert find(client, end_time=stamp(end)) == [n for n in since(end - 30 * DAY) if TIMES[n] < end]


def test_a_since_id_lets_it_reach_back_unless_the_settings_say_otherwise(client):
    assert find(client, since_id=IDS[10]) == since(TIMES[11])
    with serve_in_thread(POSTS, limit=100_000, since_id_reaches=False) as mock, client_of(mock) as other:
        assert find(other, since_id=IDS[10]) == since(END + 30 - 30 * DAY)


def test_keywords_find_no_retweets_and_an_account_alone_finds_its_own(client):
    own = [n for n in range(200) if n % 2]
    found = find(client, query="from:ann", start_time=stamp(START))
    assert found == own[::-1]
    assert find(client, query="from:ann is:retweet", start_time=stamp(START)) == [n for n in found if n % 7 == 3]
    assert find(client, query="from:ann about", start_time=stamp(START)) == [n for n in found if n % 7 != 3]


SECONDS = st.integers(-3, 199).map(lambda half: START + half * DAY // 2) | st.integers(START - DAY, END - 1)
BOUNDS = st.one_of(
    st.none(), st.tuples(st.just("time"), SECONDS), st.tuples(st.just("id"), st.integers(1, 199).map(IDS.__getitem__))
)


@given(BOUNDS, BOUNDS, st.sampled_from([10, 25, 500]))
@settings(deadline=None, max_examples=many(120))
def test_the_start_belongs_to_a_span_and_its_end_and_ids_do_not(client, start, end, size):
    names = {"time": ("start_time", "end_time"), "id": ("since_id", "until_id")}
    asked = {"max_results": size}
    kept = since(0)
    if start is None:
        last = end[1] if end is not None and end[0] == "time" else END + 30
        kept = [n for n in kept if TIMES[n] >= last - 30 * DAY]
    else:
        asked[names[start[0]][0]] = stamp(start[1]) if start[0] == "time" else start[1]
        kept = [n for n in kept if (TIMES[n] >= start[1] if start[0] == "time" else IDS[n] > start[1])]
    if end is not None:
        asked[names[end[0]][1]] = stamp(end[1]) if end[0] == "time" else end[1]
        kept = [n for n in kept if (TIMES[n] < end[1] if end[0] == "time" else IDS[n] < end[1])]
    if {"start_time", "end_time"} <= asked.keys() and asked["start_time"] >= asked["end_time"]:
        assert client.get(ALL, params={"query": "rust", **asked}).status_code == 400
    else:
        assert find(client, **asked) == kept


@pytest.mark.parametrize("path", [ALL, RECENT])
@pytest.mark.parametrize(
    "pair",
    [
        {"start_time": stamp(END - DAY), "since_id": IDS[-2]},
        {"end_time": stamp(END), "until_id": IDS[-1]},
        {"pagination_token": "a" * 24, "next_token": "a" * 24},
    ],
)
def test_two_parameters_for_one_bound_are_refused(client, path, pair):
    answer = client.get(path, params={"query": "rust", **pair})
    assert answer.status_code == 400
    first, second = pair
    assert answer.json()["errors"][0]["message"] == f"At most one of `{first}`, `{second}` may be provided."


@pytest.mark.parametrize(
    ("path", "asked", "said"),
    [
        (ALL, {"query": "x" * 1_025}, "longer than 1024 characters"),
        (COUNTS_OF_ALL, {"query": "x" * 1_025}, "longer than 1024 characters"),
        (ALL, {"max_results": 501}, "is not between 10 and 500"),
        (ALL, {"max_results": 9}, "is not between 10 and 500"),
        (ALL, {"sort_order": "oldest"}, "is not one of [recency,relevancy]"),
        (ALL, {"end_time": stamp(END + 21)}, f"must be on or before {stamp(END + 20)[:-1]}"),
        (ALL, {"start_time": stamp(END)}, f"must be before {stamp(END)[:-1]}"),
        (ALL, {"next_token": "x"}, "is not valid"),
        (RECENT, {"end_time": stamp(END - 8 * DAY)}, f"must be before {stamp(END - 8 * DAY)[:-1]}"),
        (
            ALL,
            {"query": "(rust"},
            "There were errors processing your request: Missing closing parenthesis (at position 6)",
        ),
        (COUNTS_OF_ALL, {"pagination_token": "a" * 24, "next_token": "a" * 24}, "At most one of"),
    ],
)
def test_what_the_archive_refuses(client, path, asked, said):
    answer = client.get(path, params={"query": "rust", **asked})
    assert answer.status_code == 400
    assert said in answer.json()["errors"][0]["message"]


def test_the_longest_query_is_answered(client):
    text = " OR ".join(["rust"] * 128) + "  x"
    assert len(text) <= 1_024
    assert client.get(ALL, params={"query": text.ljust(1_024, "x")}).status_code == 200
    assert client.get(RECENT, params={"query": text}).status_code == 400


def test_an_old_since_id_is_refused_by_the_search_for_recent_posts_with_the_smallest_that_is_not(client):
    week = END + 30 - 7 * DAY
    least = ((week * 1_000 - SNOWFLAKE_EPOCH) << 22) - 1
    old = max(n for n in range(200) if TIMES[n] < week)
    answer = client.get(RECENT, params={"query": "rust", "since_id": IDS[old]})
    assert answer.status_code == 400
    minute = datetime.fromtimestamp(week, UTC).strftime("%Y-%m-%dT%H:%MZ")
    assert answer.json()["errors"] == [
        {
            "parameters": {"since_id": [str(IDS[old])]},
            "message": f"'since_id' must be a tweet id created after {minute}. "
            f"Please use a 'since_id' that is larger than {least}",
        }
    ]
    assert client.get(RECENT, params={"query": "rust", "since_id": least}).status_code == 400
    assert find(client, RECENT, since_id=least + 1) == since(week)
    assert find(client, RECENT, start_time=stamp(week)) == since(week)


@pytest.mark.parametrize("own_ids", [False, True])
@given(
    st.lists(st.integers(1_000_000_000, 1_700_000_000), min_size=1, max_size=8), st.integers(999_999_990, 1_700_000_010)
)
@settings(deadline=None, max_examples=many(200))
def test_the_order_of_ids_is_that_of_seconds_also_where_ids_do_not_tell_the_time(own_ids, seconds, second):
    seconds = sorted(seconds)
    ids = [str(7 * n + 3) for n in range(len(seconds))] if own_ids else None
    world = build_world(posts_of([("ann", at, "x") for at in seconds], ids=ids))
    known = PostIds(world)
    least = known.find_id_before(second)
    assert [number > least for number in world.ids.tolist()] == [at >= second for at in world.created_at.tolist()]
    for number in {least, *world.ids.tolist()}:
        newer = world.created_at[world.ids > number]
        assert not len(newer) or newer.min() >= known.find_second_after(number)


def test_only_apps_may_search_the_archive_and_count_in_it():
    with serve_in_thread(POSTS, user_tokens=frozenset({"u"})) as mock, httpx.Client(base_url=mock.url) as client:
        for path in (ALL, COUNTS_OF_ALL):
            for header in (bearer("u"), signed(mock.url + path)):
                answer = client.get(path, params={"query": "rust"}, headers=header)
                assert (answer.status_code, answer.json()["title"]) == (403, "Unsupported Authentication")
            assert client.get(path, params={"query": "rust"}, headers=bearer("a")).status_code == 200
        assert mock.report()["forbidden"] == {ALL: 2, COUNTS_OF_ALL: 2}


def ask_at(seconds, **settings_):
    """The statuses of searches at these seconds of the mock's clock, and of as many counts."""
    clock = Clock()
    begin, statuses = clock.now, []
    with serve_in_thread(POSTS, time=clock.time, **settings_) as mock, client_of(mock) as client:
        for second in seconds:
            clock.now = begin + second
            statuses.append(client.get(ALL, params={"query": "rust"}).status_code)
        counts = [client.get(COUNTS_OF_ALL, params={"query": "rust"}).status_code for _ in range(3)]
    assert counts == [200] * 3
    return statuses


def test_a_token_may_search_the_archive_once_a_second_by_the_clock_of_the_mock():
    assert ask_at([0, 0.5, 0.99, 1, 1.5, 2.5, 2.6]) == [200, 429, 429, 200, 429, 200, 429]


def test_it_may_300_times_in_15_minutes():
    statuses = ask_at([*(1.25 * n for n in range(301)), 899, 900])
    assert statuses == [200] * 300 + [429, 429, 200]


@pytest.mark.parametrize("own", [{"limit": 1_000}, {"limit": {ALL: 1_000}}, {"window": 60.0}, {"rules": {ALL: ()}}])
def test_a_mock_with_limits_of_its_own_leaves_the_second_out(own):
    assert ask_at([0] * 5, **own) == [200] * 5


def test_its_rules_can_be_set_as_others_are():
    own = {"limit": 1_000, "rules": {ALL: (LimitRule(2, 10.0),)}}
    assert ask_at([0, 1, 2, 10, 11, 12], **own) == [200, 200, 429, 200, 200, 429]
    assert MockSettings(limit={COUNTS: 5}).make_rules() == MockSettings().make_rules() == {ALL: (LimitRule(1, 1.0),)}


def test_a_post_is_billed_once_a_utc_day_whichever_search_finds_it():
    clock = Clock()
    with serve_in_thread(POSTS, time=clock.time, limit=1_000) as mock, client_of(mock) as client:
        recent = find(client, RECENT)
        found = find(client)
        assert set(recent) < set(found)
        assert find(client) == found
        once = mock.report()["totals"]
        clock.now += DAY
        find(client)
        twice = mock.report()["totals"]
    price = round(len(found) * 0.005, 6)
    assert once == {"posts": len(found), "users": 0, "counts_requests": 0, **NO_ARCHIVE, "dollars": price}
    assert (twice["posts"], twice["dollars"]) == (2 * len(found), pytest.approx(2 * price))


def test_the_cap_and_the_credits_end_the_search_of_the_archive():
    with serve_in_thread(POSTS, cap=10, limit=1_000) as mock, client_of(mock) as client:
        assert client.get(ALL, params={"query": "rust"}).status_code == 200
        refused = client.get(ALL, params={"query": "rust"})
        assert (refused.status_code, refused.json()) == (429, CAPPED)
    with serve_in_thread(POSTS, credits=0.02, limit=1_000) as mock, client_of(mock) as client:
        statuses = [client.get(COUNTS_OF_ALL, params={"query": "rust"}).status_code for _ in range(3)]
    assert statuses == [200, 200, 402]


def second_of(text):
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("granularity", "start"),
    [("minute", END - 40 * DAY - 17), ("hour", START + 3_601), ("day", START - 40 * DAY - 17), ("day", START + 86_399)],
)
def test_counts_of_the_archive_have_31_days_a_page_from_the_newest_and_buckets_that_join(granularity, start):
    step = {"minute": 60, "hour": 3_600, "day": DAY}[granularity]
    with serve_in_thread(POSTS, limit=1_000) as mock, client_of(mock) as client:
        pages = read_pages(client, COUNTS_OF_ALL, query="rust", granularity=granularity, start_time=stamp(start))
        totals = mock.report()["totals"]
    spans = [(second_of(page["data"][0]["start"]), second_of(page["data"][-1]["end"])) for page in pages]
    assert all(0 < end - begin <= 31 * DAY for begin, end in spans)
    assert all(end - begin > 30 * DAY for begin, end in spans[:-1])
    buckets = [bucket for page in reversed(pages) for bucket in page["data"]]
    starts, ends = ([second_of(one[name]) for one in buckets] for name in ("start", "end"))
    assert (starts[0], ends[-1]) == (start, END)
    assert ends[:-1] == starts[1:]
    assert all(end % step == 0 for end in ends[:-1])
    wanted = [n for n in RUST if TIMES[n] >= start]
    assert sum(page["meta"]["total_tweet_count"] for page in pages) == len(wanted)
    inside = Counter(bisect_right(starts, TIMES[n]) - 1 for n in wanted)
    assert {number: one["tweet_count"] for number, one in enumerate(buckets) if one["tweet_count"]} == inside
    assert totals["archive_counts_requests"] == len(pages)
    assert totals["dollars"] == pytest.approx(0.010 * len(pages))


def test_counts_of_the_archive_without_a_start_are_those_of_30_days_in_one_page(client):
    (page,) = read_pages(client, COUNTS_OF_ALL, query="rust", granularity="day")
    assert page["meta"] == {"total_tweet_count": len(since(END + 30 - 30 * DAY))}
    pages = read_pages(client, COUNTS_OF_ALL, query="rust", granularity="day", since_id=IDS[10])
    assert sum(page["meta"]["total_tweet_count"] for page in pages) == len(since(TIMES[11]))


def test_a_token_of_counts_belongs_to_its_query(client):
    asked = {"query": "rust", "start_time": stamp(START)}
    token = client.get(COUNTS_OF_ALL, params=asked).json()["meta"]["next_token"]
    assert client.get(COUNTS_OF_ALL, params={**asked, "next_token": token}).status_code == 200
    assert client.get(COUNTS_OF_ALL, params={**asked, "pagination_token": token}).status_code == 200
    for wrong in ({"query": "iron"}, {"start_time": stamp(END - DAY)}):
        answer = client.get(COUNTS_OF_ALL, params={**asked, **wrong, "next_token": token})
        assert answer.status_code == 400
        assert f"`next_token` query parameter value [{token}] is not valid" in answer.json()["errors"][0]["message"]


def test_at_a_moment_of_the_file_the_archive_ends_there():
    moment = START + 20 * DAY + 31
    with serve_in_thread(POSTS, limit=1_000, moment=float(moment)) as mock, client_of(mock) as client:
        known = [n for n in since(0) if TIMES[n] < moment - 30]
        assert find(client, start_time=stamp(START)) == known
        mock_moment = stamp(moment + 10 * DAY)
        client.post("/_mock/moment", json={"moment": mock_moment})
        assert find(client, start_time=stamp(START)) == [n for n in since(0) if TIMES[n] < moment - 30 + 10 * DAY]


def test_relevancy_has_the_newest_first_as_well(client):
    begin = stamp(END - timedelta(days=20).total_seconds())
    assert find(client, start_time=begin, sort_order="relevancy") == find(
        client, start_time=begin, sort_order="recency"
    )
