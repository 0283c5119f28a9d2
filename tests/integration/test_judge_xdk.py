"""xdk, X's own client, as a judge of the mock: it asks in the vocabulary of posts and reads with models of its own."""

import pydantic
import pytest
import requests
import xdk
from mock_judges import (
    DELETED,
    MISSING,
    POST_EXPANSIONS,
    POST_FIELDS,
    PROTECTED,
    SUSPENDED,
    UNHEARD,
    Clock,
    Town,
    requests_of,
)
from xdk.oauth1_auth import OAuth1

from socialcrawl.mock.server import serve_in_thread

TOWN = Town()
TIMELINE = "/2/users/:id/tweets"
SHOWN = {"post_fields": POST_FIELDS, "expansions": POST_EXPANSIONS}
POSTS = {"post_fields": ["id"]}  # enough to ask about users in the words of posts


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return TOWN.file(tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="module")
def town(file):
    with serve_in_thread(file, limit=100_000, missing=MISSING) as mock:
        yield mock


@pytest.fixture
def client_of():
    """A maker of clients of a mock; their sessions are closed at the end."""
    made = []

    def client(mock, **keys):
        made.append(xdk.Client(base_url=mock.url, **(keys or {"bearer_token": "TOKEN"})))
        return made[-1]

    yield client
    for one in made:
        one.session.close()


def _id(client, name):
    return client.users.get_by_username(name).data.id


def _posts(pages):
    """The posts of pages, each checked against the models and read from them."""
    posts = []
    for page in pages:
        told = page.model_dump(exclude_none=True)
        users = {user["id"]: user["username"] for user in told.get("includes", {}).get("users", ())}
        posts += [TOWN.told(post, users) for post in told.get("data", ())]
    return posts


def test_users_are_found_suspended_protected_deleted_or_unknown(town, client_of):
    users = client_of(town).users
    names = ["EVE", "kim", SUSPENDED, PROTECTED, DELETED, UNHEARD]
    answer = users.get_by_usernames(names, user_fields=["protected", "created_at", "public_metrics"], **POSTS)
    assert [(user.username, user.protected) for user in answer.data] == [
        ("Eve", False),
        ("kim", False),
        (PROTECTED, True),
    ]
    eve = answer.data[0].model_dump()
    assert eve["public_metrics"]["post_count"] == len(TOWN.timeline("eve"))
    titles = [(SUSPENDED, "Forbidden"), (DELETED, "Not Found Error"), (UNHEARD, "Not Found Error")]
    assert _titles(answer) == titles
    ids = [user.id for user in answer.data]
    assert [user.id for user in users.get_by_ids(ids).data] == ids
    assert users.get_by_id(ids[0]).data == users.get_by_username("eVe").data
    for name, title in titles:
        single = users.get_by_username(name, **POSTS)
        assert (single.data, _titles(single)) == (None, [(name, title)])


def _titles(answer):
    return [(one["value"], one["title"]) for one in answer.model_dump()["errors"]]


@pytest.mark.parametrize(("name", "size"), [("eve", 7), ("bob", 5), ("cy", 100), ("kim", 5)])
def test_a_timeline_is_read_to_its_end_with_every_post_once_and_in_order(town, client_of, name, size):
    client = client_of(town)
    expected = TOWN.timeline(name)
    pages = list(client.users.get_posts(_id(client, name), max_results=size, **SHOWN))
    assert _posts(pages) == expected
    assert len(pages) == max(1, -(-len(expected) // size))


def test_replies_and_retweets_are_left_out_when_asked(town, client_of):
    client = client_of(town)
    pages = client.users.get_posts(_id(client, "bob"), max_results=5, exclude=["replies", "retweets"], **SHOWN)
    assert _posts(pages) == [post for post in TOWN.timeline("bob") if not (post.answered or post.repeats)] != []


def test_a_timeline_of_the_protected_is_an_error_in_the_words_of_posts(town, client_of):
    client = client_of(town)
    (page,) = client.users.get_posts(_id(client, PROTECTED), **SHOWN)
    assert (page.data, page.meta) == (None, None)
    (error,) = page.model_dump()["errors"]
    assert error["type"] == "https://api.x.com/2/problems/not-authorized-for-resource"


def test_searches_and_mentions_are_read_to_their_end_and_counts_agree(town, client_of):
    client = client_of(town)
    expected = TOWN.found("harvest")
    assert _posts(client.posts.search_recent("harvest", max_results=10, **SHOWN)) == expected != []
    assert _posts(client.users.get_mentions(_id(client, "eve"), max_results=5, **SHOWN)) == TOWN.mentions("eve") != []
    fields = "start,end,post_count"
    (counts,) = client.posts.get_counts_recent("harvest -is:retweet", search_count_fields=fields)
    told = counts.model_dump(exclude_none=True)
    assert told["meta"]["total_post_count"] == sum(one["post_count"] for one in told["data"]) == len(expected)


def test_the_archive_is_searched_and_counted_to_its_beginning(town, client_of):
    posts, begin = client_of(town).posts, {"start_time": "2023-01-01T00:00:00Z"}
    expected = TOWN.archived("harvest")
    assert _posts(posts.search_all("harvest", max_results=10, **begin, **SHOWN)) == expected != []
    assert _posts(posts.search_all("harvest", max_results=500, **begin, **SHOWN)) == expected
    fields = "start,end,post_count"
    pages = [
        page.model_dump(exclude_none=True)
        for page in posts.get_counts_all("harvest", granularity="day", search_count_fields=fields, **begin)
    ]
    assert len(pages) == 11  # of 31 days each
    assert sum(one["post_count"] for page in pages for one in page["data"]) == len(expected)
    assert sum(page["meta"]["total_post_count"] for page in pages) == len(expected)


def test_usage_is_read_and_tells_what_was_billed(file, client_of):
    with serve_in_thread(file, cap=5_000) as mock:
        client = client_of(mock)
        list(client.users.get_posts(_id(client, "cy"), max_results=100))
        client.session.params = {"post.fields": "id"}  # xdk has no such parameter here, see the next test
        usage = client.usage.get(days=1).data
        report = mock.report()["totals"]
    assert int(usage.project_usage) == report["posts"] == len(TOWN.timeline("cy"))
    assert (int(usage.project_cap), int(usage.daily_project_usage.usage[0].usage)) == (5_000, report["posts"])


def test_what_names_no_words_is_told_in_those_of_tweets_which_xdk_cannot_read(town, client_of):
    """Who sends no fields at all (tweepy, twarc) expects the old words; there xdk has to send some."""
    client = client_of(town)
    with pytest.raises(pydantic.ValidationError, match="2/problems/resource-not-found"):
        client.users.get_by_username(UNHEARD)
    with pytest.raises(pydantic.ValidationError, match="post_count"):
        next(client.posts.get_counts_recent("harvest"))
    with pytest.raises(pydantic.ValidationError, match="valid string"):
        client.usage.get()


def test_it_meets_a_limit_and_reads_on_from_its_token_later(file, client_of):
    clock, pages = Clock(), []
    with serve_in_thread(file, time=clock.time, limit={TIMELINE: 2}) as mock:
        client = client_of(mock)
        eve = _id(client, "eve")
        with pytest.raises(requests.HTTPError, match="429 Client Error: Too Many Requests") as refused:
            pages.extend(client.users.get_posts(eve, max_results=25, **SHOWN))
        assert len(pages) == 2
        reset = int(refused.value.response.headers["x-rate-limit-reset"])
        assert reset == int(clock.now + 900)
        clock.now = reset + 1.0
        token = pages[-1].meta.next_token
        pages += client.users.get_posts(eve, max_results=25, pagination_token=token, **SHOWN)
    assert _posts(pages) == TOWN.timeline("eve")
    assert requests_of(mock.report()) == {"app": (1 + 3 + 1, 1)}


def test_refusals_are_errors_of_http_with_a_body_that_says_why(file, client_of):
    with serve_in_thread(file, tokens=frozenset({"TOKEN"}), cap=0) as mock:
        client = client_of(mock)
        eve = _id(client, "eve")
        for status, title, ask in (
            (401, "Unauthorized", lambda: client_of(mock, bearer_token="OTHER").users.get_by_username("eve")),
            (429, "UsageCapExceeded", lambda: next(client.users.get_posts(eve))),
            (400, "Invalid Request", lambda: next(client.posts.get_counts_recent("harvest", granularity="week"))),
            (404, "Not Found", lambda: client.lists.get_by_id("1")),
        ):
            with pytest.raises(requests.HTTPError, match=f"{status} Client Error") as refused:
                ask()
            assert refused.value.response.json()["title"] == title


def test_a_signed_request_and_an_access_token_are_users(file, client_of):
    signed = OAuth1("key", "secret", "oob", access_token="SIGNED", access_token_secret="secret")
    with serve_in_thread(file, tokens=frozenset({"SIGNED"}), user_tokens=frozenset({"USER"})) as mock:
        for keys in ({"auth": signed}, {"access_token": "USER"}):
            assert client_of(mock, **keys).users.get_by_username("eve").data.username == "Eve"
    assert requests_of(mock.report()) == {"user": (2, 0)}
