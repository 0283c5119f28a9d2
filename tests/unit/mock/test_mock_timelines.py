import httpx
import numpy as np
import pytest
import requests
import tweepy
from test_mock_world import START, posts_of, synthetic

from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.x.parameters import Cursor, cut_page, read_token
from socialcrawl.mock.x.user_endpoints import REACH
from socialcrawl.testing.social_api import MockAdapter


@pytest.fixture(scope="module")
def town():
    with serve_in_thread(synthetic(), limit=100_000) as mock:
        yield mock


@pytest.fixture(scope="module")
def client(town):
    with httpx.Client(base_url=town.url, headers={"Authorization": "Bearer x"}) as client:
        yield client


@pytest.fixture
def tweets(town):
    client = tweepy.Client("TOKEN")
    with client.session:
        client.session.mount("https://api.twitter.com", MockAdapter(town.url))
        yield client


def _id(client, name):
    return client.get(f"/2/users/by/username/{name}").json()["data"]["id"]


def _pages(client, path, **params):
    while True:
        answer = client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        yield answer.json()
        if not (token := answer.json()["meta"].get("next_token")):
            return
        params["pagination_token"] = token


def test_tweepy_reads_whole_timelines_as_the_file_has_them(tweets):
    posts = synthetic()
    users = tweets.get_users(usernames=["ann", "bob", "cy", "nobody"]).data
    assert [user.username for user in users] == ["Ann", "bob", "cy", "nobody"]
    for user in users:
        pages = tweepy.Paginator(
            tweets.get_users_tweets, user.id, max_results=7, tweet_fields=["created_at", "note_tweet", "author_id"]
        )
        read = [
            (post.created_at.timestamp(), post.data.get("note_tweet", post)["text"])
            for page in pages
            for post in page.data or ()
        ]
        own = [row for row, name in enumerate(posts.authors) if name.lower() == user.username.lower()]
        assert read == [(posts.created_at[row], posts.texts[row]) for row in reversed(own)]


def test_tweepy_searches_counts_and_finds_mentions(tweets):
    found = tweepy.Paginator(tweets.search_recent_tweets, "rust -is:retweet", max_results=10).flatten()
    assert len({post.id for post in found}) == 57
    counts = tweets.get_recent_tweets_count("rust", granularity="day")
    assert counts.meta == {"total_tweet_count": 57}
    assert sum(bucket["tweet_count"] for bucket in counts.data) == 57
    ann = tweets.get_user(username="ANN").data
    assert ann.username == "Ann"
    mentions = tweets.get_users_mentions(ann.id, tweet_fields=["note_tweet"]).data
    assert len(mentions) == 3


def test_tweepy_is_told_of_limits_and_of_a_bad_token():
    with serve_in_thread(synthetic(), limit=1, tokens=frozenset({"TOKEN"})) as mock:
        for token, error in (("TOKEN", tweepy.TooManyRequests), ("other", tweepy.Unauthorized)):
            client = tweepy.Client(token)
            with client.session:
                client.session.mount("https://api.twitter.com", MockAdapter(mock.url))
                if token == "TOKEN":
                    assert client.get_user(username="ann").data.username == "Ann"
                with pytest.raises(error):
                    client.get_user(username="ann")


def test_pages_follow_each_other_forwards_and_back(client):
    path = f"/2/users/{_id(client, 'ann')}/tweets"
    pages = list(_pages(client, path, max_results=20))
    assert [page["meta"]["result_count"] for page in pages] == [20, 20, 18]
    assert "previous_token" not in pages[0]["meta"]
    assert "next_token" not in pages[-1]["meta"]
    for page in pages:
        ids = [int(post["id"]) for post in page["data"]]
        assert ids == sorted(ids, reverse=True)
        assert (page["meta"]["newest_id"], page["meta"]["oldest_id"]) == (str(ids[0]), str(ids[-1]))
    back = client.get(path, params={"max_results": 20, "pagination_token": pages[2]["meta"]["previous_token"]}).json()
    assert back["data"] == pages[1]["data"]
    assert len(pages[0]["meta"]["next_token"]) >= 16


def test_the_bounds_of_ids_and_times_are_as_documented(client):
    path = f"/2/users/{_id(client, 'ann')}/tweets"
    everything = client.get(path, params={"max_results": 100, "tweet.fields": "created_at"}).json()["data"]
    ids = [post["id"] for post in everything]

    def read(**params):
        return [post["id"] for post in client.get(path, params={"max_results": 100, **params}).json().get("data", [])]

    assert read(since_id=ids[3]) == ids[:3]
    assert read(until_id=ids[3]) == ids[4:]
    assert read(since_id=ids[9], until_id=ids[6]) == ids[7:9]
    assert read(start_time=everything[5]["created_at"]) == ids[:6]
    assert read(end_time=everything[5]["created_at"]) == ids[6:]
    assert read(since_id=ids[0]) == []


def test_nothing_found_is_an_answer_without_data(client):
    empty = {"meta": {"result_count": 0}}
    assert client.get(f"/2/users/{_id(client, 'nobody')}/tweets").json() == empty
    assert client.get("/2/tweets/search/recent", params={"query": "unheard"}).json() == empty


def test_replies_and_retweets_can_be_left_out(client):
    path = f"/2/users/{_id(client, 'bob')}/tweets"

    def texts(**params):
        return [post["text"][:8] for post in client.get(path, params=params).json()["data"]]

    assert texts() == ["the last", "RT @Ann:", "hey @ann"]
    assert texts(exclude="retweets") == ["the last", "hey @ann"]
    assert texts(exclude="replies") == ["the last", "RT @Ann:"]
    assert texts(exclude="replies,retweets") == ["the last"]


def test_a_timeline_reaches_3200_posts_and_800_without_replies_and_mentions():
    n = REACH + 150
    rows = [("ann", START + i, "hi @bob", ("bob",)) for i in range(n)]
    with (
        serve_in_thread(posts_of(rows), limit=1000) as mock,
        httpx.Client(base_url=mock.url, headers={"Authorization": "Bearer x"}) as client,
    ):
        ann, bob = f"/2/users/{_id(client, 'ann')}/tweets", f"/2/users/{_id(client, 'bob')}/mentions"
        for path, params, reach in ((ann, {}, 3200), (ann, {"exclude": "replies"}, 800), (bob, {}, 800)):
            ids = [post["id"] for page in _pages(client, path, max_results=100, **params) for post in page["data"]]
            assert len(ids) == len(set(ids)) == reach
        beyond = client.get(ann, params={"until_id": ids[-1], "end_time": "2023-11-14T22:13:40Z"}).json()
        assert beyond == {"meta": {"result_count": 0}}


def test_search_pages_reach_every_post_once(client):
    pages, params = [], {"query": "rust", "max_results": 10}
    while True:
        pages.append(client.get("/2/tweets/search/recent", params=params).json())
        if not (token := pages[-1]["meta"].get("next_token")):
            break
        params["next_token"] = token
    ids = [post["id"] for page in pages for post in page["data"]]
    assert len(ids) == len(set(ids)) == 57
    assert ids == sorted(ids, key=int, reverse=True)


def test_a_token_is_of_its_place_only():
    token = Cursor(older=True, post=2**62).token("tweets 1")
    assert len(token) >= 16
    assert read_token(token, "tweets 1") == Cursor(older=True, post=2**62)
    for wrong, place in ((token, "tweets 2"), (token[:-8], "tweets 1"), ("garbage!", "tweets 1"), ("", "tweets 1")):
        with pytest.raises(ValueError):  # noqa: PT011
            read_token(wrong, place)


def test_a_cursor_stays_valid_when_its_post_is_gone():
    ids = np.array([90, 70, 50, 30])
    older, newer = cut_page(ids, 2, Cursor(older=True, post=60)), cut_page(ids, 2, Cursor(older=False, post=60))
    assert (older.start, older.stop) == (2, 4)
    assert (newer.start, newer.stop) == (0, 2)


def test_one_token_reads_from_many_threads_at_once(town):
    from concurrent.futures import ThreadPoolExecutor

    def read(_):
        with requests.Session() as session:
            session.headers["Authorization"] = "Bearer many"
            return session.get(f"{town.url}/2/users/by", params={"usernames": "ann"}, timeout=20)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(read, range(40)))
    assert sorted(int(answer.headers["x-rate-limit-remaining"]) for answer in answers) == list(range(99_960, 100_000))
