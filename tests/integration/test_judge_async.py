"""tweepy's AsyncClient (aiohttp) as a judge of the mock: many requests at once on one session."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import aiohttp
import pytest
import tweepy
from mock_judges import (
    DELETED,
    MISSING,
    PROTECTED,
    SUSPENDED,
    TWEET_EXPANSIONS,
    TWEET_FIELDS,
    UNHEARD,
    AsyncClock,
    Clock,
    Town,
    by_tweepy,
    requests_of,
)
from tweepy.asynchronous import AsyncClient, AsyncPaginator
from yarl import URL

from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread

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


@asynccontextmanager
async def client_of(mock, token="TOKEN", **options):
    """A client whose session asks the mock, whatever host is asked."""
    to = URL(mock.url)

    async def redirect(request, handler):
        request.url = request.url.with_scheme(to.scheme).with_host(to.host).with_port(to.port)
        return await handler(request)

    client = AsyncClient(token, **options)
    async with aiohttp.ClientSession(middlewares=(redirect,)) as client.session:
        yield client


async def _timeline(client, name, size):
    user = (await client.get_user(username=name)).data
    pages = [page async for page in AsyncPaginator(client.get_users_tweets, user.id, max_results=size, **SHOWN)]
    return [post for page in pages for post in by_tweepy(TOWN, page)], len(pages)


def test_users_are_found_suspended_protected_deleted_or_unknown(town):
    async def main():
        async with client_of(town) as client:
            found = await client.get_users(
                usernames=["EVE", "kim", SUSPENDED, PROTECTED, DELETED, UNHEARD], user_fields=["protected"]
            )
            closed = await client.get_users_tweets(found.data[-1].id)
            single = await asyncio.gather(*(client.get_user(username=name) for name in (SUSPENDED, DELETED, UNHEARD)))
            return found, closed, single

    found, closed, single = asyncio.run(main())
    assert [(user.username, user.protected) for user in found.data] == [
        ("Eve", False),
        ("kim", False),
        (PROTECTED, True),
    ]
    titles = [(SUSPENDED, "Forbidden"), (DELETED, "Not Found Error"), (UNHEARD, "Not Found Error")]
    assert [(one["value"], one["title"]) for one in found.errors] == titles
    assert [(one.data, one.errors[0]["value"], one.errors[0]["title"]) for one in single] == [
        (None, *title) for title in titles
    ]
    assert (closed.data, closed.errors[0]["title"]) == (None, "Authorization Error")


SIZES = {"eve": 7, "bob": 5, "cy": 100, "kim": 5}  # of the pages of each account's timeline


def test_timelines_searches_and_mentions_read_at_once_are_each_whole(town):
    async def main():
        async with client_of(town) as client:
            eve = (await client.get_user(username="eve")).data.id
            search = AsyncPaginator(client.search_recent_tweets, "harvest", max_results=10, **SHOWN)
            named = AsyncPaginator(client.get_users_mentions, eve, max_results=5, **SHOWN)

            async def posts(pages):
                return [post async for page in pages for post in by_tweepy(TOWN, page)]

            timelines = (_timeline(client, name, size) for name, size in SIZES.items())
            return await asyncio.gather(posts(search), posts(named), *timelines)

    found, named, *timelines = asyncio.run(main())
    assert found == TOWN.found("harvest") != []
    assert named == TOWN.mentions("eve") != []
    for (name, size), (posts, pages) in zip(SIZES.items(), timelines, strict=True):
        expected = TOWN.timeline(name)
        assert (posts, pages) == (expected, max(1, -(-len(expected) // size)))


def test_a_client_that_waits_at_a_limit_has_every_post_in_the_end(file, monkeypatch):
    clock = AsyncClock()
    monkeypatch.setattr(tweepy.asynchronous.client, "time", clock)
    monkeypatch.setattr(tweepy.asynchronous.client, "asyncio", clock)

    async def main():
        async with client_of(mock, wait_on_rate_limit=True) as client:
            return await _timeline(client, "eve", 5)

    with serve_in_thread(file, time=clock.time, limit={TIMELINE: 5}) as mock:
        posts, pages = asyncio.run(main())
    assert (posts, pages) == (TOWN.timeline("eve"), 12)
    assert clock.slept == [901, 901]
    assert requests_of(mock.report()) == {"app": (1 + 12 + 2, 2)}


def test_refusals_have_their_own_exceptions_and_a_time_to_come_back(file):
    clock = Clock()

    async def main():
        async with client_of(mock) as client, client_of(mock, "OTHER") as other:
            eve = (await client.get_user(username="eve")).data.id
            await client.get_users_tweets(eve)
            clock.now += 100
            with pytest.raises(tweepy.TooManyRequests, match="429 Too Many Requests") as refused:
                await client.get_users_tweets(eve)
            with pytest.raises(tweepy.Unauthorized, match="401 Unauthorized"):
                await other.get_user(username="eve")
            with pytest.raises(tweepy.BadRequest, match="`granularity` query parameter value"):
                await client.get_recent_tweets_count("harvest", granularity="week")
            with pytest.raises(tweepy.NotFound, match="404 Not Found"):
                await client.get_list(1)
            return refused.value

    with serve_in_thread(file, time=clock.time, limit={TIMELINE: 1}, tokens=frozenset({"TOKEN"})) as mock:
        error = asyncio.run(main())
    assert error.reset_time == int(clock.now - 100 + 900)


def test_a_page_of_html_from_the_edge_is_no_json_to_aiohttp_either(file):
    async def main():
        async with client_of(mock) as client:
            with pytest.raises(aiohttp.ContentTypeError, match="text/html"):
                await client.get_user(username="eve")
            return await client.get_user(username="eve")

    with serve_in_thread(file, fault=lambda endpoint, nth: faults.make_html_fault(503) if nth == 1 else None) as mock:
        assert asyncio.run(main()).data.username == "Eve"


def test_a_signed_request_is_one_of_a_user(file):
    keys = dict.fromkeys(("consumer_key", "consumer_secret", "access_token", "access_token_secret"), "secret")
    expected = TOWN.found("harvest")[:15]
    oldest = expected[-1]

    async def main():
        async with client_of(mock, None, **keys) as client:
            return await client.search_recent_tweets(
                "harvest", start_time=datetime.fromtimestamp(oldest.at, UTC), max_results=100, user_auth=True
            )

    with serve_in_thread(file, missing=MISSING, tokens=frozenset({"secret"})) as mock:
        found = asyncio.run(main())
    assert [str(post.id) for post in found.data] == [post.id for post in expected]
    assert requests_of(mock.report()) == {"user": (1, 0)}
