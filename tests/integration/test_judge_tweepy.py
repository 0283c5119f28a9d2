"""tweepy.Client as a judge of the mock: what it makes of the answers is what the file of posts says."""

from email.utils import parsedate_to_datetime

import pytest
import requests
import tweepy
from mock_judges import (
    DELETED,
    MISSING,
    PROTECTED,
    SUSPENDED,
    TWEET_EXPANSIONS,
    TWEET_FIELDS,
    UNHEARD,
    Clock,
    Town,
    by_tweepy,
    requests_of,
)

from socialcrawl.mock.server import serve_in_thread
from socialcrawl.testing.social_api import MockAdapter

TOWN = Town()
TIMELINE = "/2/users/:id/tweets"
SHOWN = {"tweet_fields": TWEET_FIELDS, "expansions": TWEET_EXPANSIONS}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return TOWN.file(tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="module")
def town(file):
    with serve_in_thread(file, limit=100_000, missing=MISSING) as mock:
        yield mock


@pytest.fixture
def client_of():
    """A maker of clients that ask a mock; their sessions are closed at the end."""
    made = []

    def client(mock, *keys, **options):
        made.append(tweepy.Client(*keys or ("TOKEN",), **options))
        made[-1].session.mount("https://api.twitter.com", MockAdapter(mock.url))
        return made[-1]

    yield client
    for one in made:
        one.session.close()


def _pages(method, *args, **options):
    return list(tweepy.Paginator(method, *args, **SHOWN, **options))


def _posts(pages):
    return [post for page in pages for post in by_tweepy(TOWN, page)]


def test_users_are_found_suspended_protected_deleted_or_unknown(town, client_of):
    client = client_of(town)
    names = ["EVE", "bob", "kim", SUSPENDED, PROTECTED, DELETED, UNHEARD]
    answer = client.get_users(usernames=names, user_fields=["protected", "public_metrics", "created_at"])
    assert [(user.username, user.protected) for user in answer.data] == [
        ("Eve", False),
        ("bob", False),
        ("kim", False),
        (PROTECTED, True),
    ]
    eve = answer.data[0]
    assert eve.public_metrics["tweet_count"] == len(TOWN.timeline("eve"))
    assert eve.created_at.timestamp() == TOWN.timeline("eve")[-1].at
    assert [(one["value"], one["title"]) for one in answer.errors] == [
        (SUSPENDED, "Forbidden"),
        (DELETED, "Not Found Error"),
        (UNHEARD, "Not Found Error"),
    ]
    again = client.get_users(ids=[user.id for user in answer.data])
    assert [user.username for user in again.data] == ["Eve", "bob", "kim", PROTECTED]
    assert client.get_user(id=eve.id).data == client.get_user(username="eVe").data == eve
    for name in (SUSPENDED, DELETED, UNHEARD):
        missing = client.get_user(username=name)
        assert (missing.data, [one["value"] for one in missing.errors]) == (None, [name])


@pytest.mark.parametrize(("name", "size"), [("eve", 7), ("bob", 5), ("cy", 100), ("kim", 100)])
def test_a_timeline_is_read_to_its_end_with_every_post_once_and_in_order(town, client_of, name, size):
    client = client_of(town)
    expected = TOWN.timeline(name)
    pages = _pages(client.get_users_tweets, client.get_user(username=name).data.id, max_results=size)
    assert _posts(pages) == expected
    assert len(pages) == max(1, -(-len(expected) // size))


def test_a_timeline_is_read_backwards_from_its_end(town, client_of):
    client = client_of(town)
    eve = client.get_user(username="eve").data.id
    last = _pages(client.get_users_tweets, eve, max_results=7)[-1]
    back = tweepy.Paginator(client.get_users_tweets, eve, max_results=7, **SHOWN)
    back.kwargs["pagination_token"] = last.meta["previous_token"]
    newer = [by_tweepy(TOWN, page) for page in reversed(back)]
    assert [post for page in reversed(newer) for post in page] == TOWN.timeline("eve")[: -len(last.data)]


def test_replies_and_retweets_are_left_out_when_asked(town, client_of):
    client = client_of(town)
    bob = client.get_user(username="bob").data.id
    pages = _pages(client.get_users_tweets, bob, max_results=5, exclude=["replies", "retweets"])
    assert _posts(pages) == [post for post in TOWN.timeline("bob") if not (post.answered or post.repeats)] != []


def test_timelines_of_the_missing_are_errors_without_data(town, client_of):
    client = client_of(town)
    closed = client.get_users_tweets(client.get_user(username=PROTECTED).data.id)
    assert (closed.data, closed.meta, closed.errors[0]["title"]) == (None, {}, "Authorization Error")
    named = client.get_users_tweets(client.get_user(username="bob").data.id, max_results=100, **SHOWN)
    ids = {one["username"]: one.get("id") for post in named.data for one in (post.entities or {}).get("mentions", ())}
    assert ids[DELETED] is None
    suspended = client.get_users_tweets(ids[SUSPENDED])
    assert (suspended.data, suspended.errors[0]["title"]) == (None, "Forbidden")
    assert {one["value"] for one in named.errors if one["resource_type"] == "user"} == {
        SUSPENDED,
        DELETED,
        ids[SUSPENDED],
        *(str(post.in_reply_to_user_id) for post in named.data if DELETED in post.text and post.text[:3] == "and"),
    }


def test_included_posts_are_those_that_are_answered_and_repeated(town, client_of):
    client = client_of(town)
    page = client.get_users_tweets(client.get_user(username="bob").data.id, max_results=100, **SHOWN)
    gone = {post.id for name in (SUSPENDED, PROTECTED, DELETED) for post in TOWN.timeline(name)}
    meant = {one for post in TOWN.timeline("bob") for one in (post.answers, post.repeats) if one}
    assert {str(post.id) for post in page.includes["tweets"]} == meant - gone
    assert {one["value"] for one in page.errors if one["resource_type"] == "tweet"} == meant & gone


def test_posts_are_looked_up_by_their_ids_and_what_is_gone_is_an_error(town, client_of):
    client = client_of(town)
    here, hidden, gone = (TOWN.timeline(name) for name in ("bob", PROTECTED, DELETED))
    ids = [post.id for post in (*here[:60], *hidden[:2], *gone[:2])]
    page = client.get_tweets([*ids, "7"], **SHOWN)
    assert _posts([page]) == here[:60]
    titles = {one["value"]: one["title"] for one in page.errors if one.get("section") != "includes"}
    said = {post.id: "Authorization Error" for post in hidden[:2]} | {post.id: "Not Found Error" for post in gone[:2]}
    assert {key: title for key, title in titles.items() if key in said} == said
    assert titles["7"] == "Not Found Error"
    assert str(client.get_tweet(here[0].id).data.id) == here[0].id
    with pytest.raises(tweepy.BadRequest, match="must be between 1 and 100"):
        client.get_tweets([str(number) for number in range(1, 102)])


def test_a_search_is_read_to_its_end_and_counts_agree_with_it(town, client_of):
    client = client_of(town)
    expected = TOWN.found("harvest")
    assert len(expected) == 57
    pages = _pages(client.search_recent_tweets, "harvest", max_results=10)
    assert (_posts(pages), len(pages)) == (expected, 6)
    counts = client.get_recent_tweets_count("harvest -is:retweet", granularity="hour")
    assert counts.meta["total_tweet_count"] == sum(one["tweet_count"] for one in counts.data) == len(expected)
    nothing = client.search_recent_tweets("unheard")
    assert (nothing.data, nothing.meta) == (None, {"result_count": 0})
    retweets = _pages(client.search_recent_tweets, "from:bob is:retweet", max_results=10)
    assert _posts(retweets) == [post for post in TOWN.timeline("bob") if post.repeats]


def test_the_archive_is_searched_and_counted_to_its_beginning(town, client_of):
    client = client_of(town)
    expected = TOWN.archived("harvest")
    assert len(expected) == len(TOWN.found("harvest")) + 1
    begin = {"start_time": "2006-03-21T00:00:00Z"}
    pages = _pages(client.search_all_tweets, "harvest", max_results=10, **begin)
    assert (_posts(pages), len(pages)) == (expected, 6)
    assert _posts(_pages(client.search_all_tweets, "harvest", max_results=500, **begin)) == expected
    assert _posts(_pages(client.search_all_tweets, "harvest", max_results=500)) == TOWN.found("harvest")  # 30 days
    counts = list(
        tweepy.Paginator(client.get_all_tweets_count, "harvest", granularity="day", start_time="2023-01-01T00:00:00Z")
    )
    assert len(counts) == 11  # of 31 days each
    assert sum(one["tweet_count"] for page in counts for one in page.data) == len(expected)
    assert sum(page.meta["total_tweet_count"] for page in counts) == len(expected)


def test_a_query_that_is_wrong_an_old_since_id_and_two_starts_are_bad_requests(town, client_of):
    client = client_of(town)
    with pytest.raises(tweepy.BadRequest, match="Ambiguous use of and as a keyword"):
        client.search_all_tweets("harvest and home")
    with pytest.raises(tweepy.BadRequest, match="'since_id' must be a tweet id created after 2023-11-"):
        client.search_recent_tweets("harvest", since_id=1)
    with pytest.raises(tweepy.BadRequest, match="At most one of `start_time`, `since_id`"):
        client.search_all_tweets("harvest", since_id=1, start_time="2023-01-01T00:00:00Z")
    with pytest.raises(tweepy.BadRequest, match="longer than 1024 characters"):
        client.search_all_tweets("x" * 1_025)


def test_the_archive_is_for_apps_and_may_be_searched_once_a_second(file, client_of):
    clock = Clock()
    with serve_in_thread(file, time=clock.time, user_tokens=frozenset({"USER"})) as mock:
        with pytest.raises(tweepy.Forbidden, match="User Context is forbidden"):
            client_of(mock, "USER").search_all_tweets("harvest")
        client = client_of(mock)
        assert client.search_all_tweets("harvest").meta["result_count"] == 10
        clock.now += 0.5
        with pytest.raises(tweepy.TooManyRequests) as refused:
            client.search_all_tweets("harvest")
        assert refused.value.response.headers["x-rate-limit-remaining"] == "298"  # of the window nothing is wrong
        clock.now += 0.5
        assert client.search_all_tweets("harvest").meta["result_count"] == 10
        totals = mock.report()["totals"]
    assert (totals["posts"], totals["dollars"]) == (10, 0.05)


def test_mentions_are_those_by_people_who_are_here(town, client_of):
    client = client_of(town)
    for name in ("eve", "kim", "gus"):
        number = client.get_user(username=name).data.id
        assert _posts(_pages(client.get_users_mentions, number, max_results=5)) == TOWN.mentions(name) != []


def test_a_client_that_waits_at_a_limit_has_every_post_in_the_end(file, client_of, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(tweepy.client, "time", clock)
    with serve_in_thread(file, time=clock.time, limit={TIMELINE: 5}) as mock:
        client = client_of(mock, wait_on_rate_limit=True)
        eve = client.get_user(username="eve").data.id
        pages = _pages(client.get_users_tweets, eve, max_results=5)
    assert _posts(pages) == TOWN.timeline("eve")
    assert len(pages) == 12
    assert clock.slept == [901, 901]  # after 5 and 10 pages; a second more than the window, as tweepy adds one
    assert requests_of(mock.report()) == {"app": (1 + 12 + 2, 2)}


def test_a_client_that_does_not_wait_is_told_when_to_come_back(file, client_of):
    clock = Clock()
    with serve_in_thread(file, time=clock.time, limit={TIMELINE: 1}) as mock:
        client = client_of(mock)
        eve = client.get_user(username="eve").data.id
        client.get_users_tweets(eve)
        clock.now += 100
        with pytest.raises(tweepy.TooManyRequests, match="429 Too Many Requests") as refused:
            client.get_users_tweets(eve)
        clock.now += 800
        assert client.get_users_tweets(eve).meta["result_count"] == 10
    error, headers = refused.value, refused.value.response.headers
    assert error.reset_time - parsedate_to_datetime(headers["date"]).timestamp() == 800
    assert (headers["x-rate-limit-limit"], headers["x-rate-limit-remaining"]) == ("1", "0")


def test_bad_tokens_wrong_kinds_caps_and_mistakes_have_their_own_exceptions(file, client_of):
    with serve_in_thread(file, tokens=frozenset({"TOKEN"}), user_tokens=frozenset({"USER"}), cap=0) as mock:
        client = client_of(mock)
        eve = client.get_user(username="eve").data.id
        with pytest.raises(tweepy.Unauthorized, match="401 Unauthorized"):
            client_of(mock, "OTHER").get_user(username="eve")
        with pytest.raises(tweepy.Forbidden, match="User Context is forbidden"):
            client_of(mock, "USER").get_recent_tweets_count("harvest")
        with pytest.raises(tweepy.TooManyRequests, match="Usage cap exceeded"):
            client.get_users_tweets(eve)
        with pytest.raises(tweepy.BadRequest, match="`granularity` query parameter value"):
            client.get_recent_tweets_count("harvest", granularity="week")
        with pytest.raises(tweepy.NotFound, match="404 Not Found"):
            client.get_list(1)
    with (
        serve_in_thread(file, credits=0.0) as mock,
        pytest.raises(tweepy.HTTPException, match="402 Payment Required") as poor,
    ):
        client_of(mock).get_user(username="eve")
    assert "does not have any credits" in poor.value.response.text


def test_a_signed_request_is_one_of_a_user_with_limits_of_its_own(file, client_of):
    keys = dict.fromkeys(("consumer_key", "consumer_secret", "access_token", "access_token_secret"), "secret")
    with serve_in_thread(file, limit=1, user_limit=2, tokens=frozenset({"secret"})) as mock:
        client = client_of(mock, "secret", **keys, return_type=requests.Response)
        for _ in range(2):
            answer = client.get_user(username="eve", user_auth=True)
            assert answer.json()["data"]["username"] == "Eve"
        assert answer.headers["x-rate-limit-limit"] == "2"
        with pytest.raises(tweepy.TooManyRequests):
            client.get_user(username="eve", user_auth=True)
        assert client.get_user(username="eve").headers["x-rate-limit-limit"] == "1"
    assert requests_of(mock.report()) == {"app": (1, 0), "user": (3, 1)}
