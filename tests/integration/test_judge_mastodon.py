"""Mastodon.py, a client written by others, judges the mock's Mastodon; so do recorded answers of real instances."""

import json
from contextlib import contextmanager, nullcontext
from datetime import UTC, date, datetime
from functools import cache
from time import time as wall

import pytest
import requests
from mastodon import (
    Mastodon,
    MastodonAPIError,
    MastodonNotFoundError,
    MastodonRatelimitError,
    MastodonUnauthorizedError,
)
from mastodon.errors import MastodonWarning
from shared_data import needed
from test_mock_mastodon import text_of
from test_mock_world import START, posts_of

from socialcrawl.mock.server import serve_in_thread
from socialcrawl.testing.social_api import MockAdapter

HOME = "home.example"
# author, text, mentioned, the number of the post that is answered, or of the one that is repeated
TOWN = [
    *(("ann", f"note {i} of ann\nwith <b> & 'signs' #Harvest", (), None, None) for i in range(45)),
    ("bob@b.example", "hello @ann@home.example, see https://example.org/a?b=1&c=2.", ("ann",), 4, None),
    ("bob@b.example", "RT @ann: note 3 of ann\nwith <b> & 'signs' #Harvest", ("ann",), None, 3),
    ("cy", "@bob@b.example and @ann, the harvest is in 🌾 #harvest", ("bob@b.example", "ann"), 45, None),
    (
        "cy",
        "RT @bob@b.example: hello @ann@home.example, see https://example.org/a?b=1&c=2.",
        ("bob@b.example",),
        None,
        45,
    ),
    *(("bob@b.example", f"pumpkin {i} for @cy@home.example", ("cy",), None, None) for i in range(21)),
]
AUTHORS = list(dict.fromkeys(row[0] for row in TOWN))


def acct(author, at):
    name, _, domain = author.partition("@")
    return name if (domain or HOME) == at else f"{name}@{domain or HOME}"


def posts():
    rows = [(author, START + 60 * i, text, mentioned) for i, (author, text, mentioned, _, _) in enumerate(TOWN)]
    answers = [None if answered is None else f"p{answered}" for *_, answered, _ in TOWN]
    return posts_of(rows, ids=[f"p{i}" for i in range(len(TOWN))], reply_to=answers)


def expected(wanted, at=HOME):
    """The posts that `wanted` (of a number and a row of TOWN) chooses, newest first, as an instance shows them."""
    return [
        (
            datetime.fromtimestamp(START + 60 * number, UTC),
            acct(row[0], at),
            "" if row[4] is not None else row[1],
            () if row[4] is not None else tuple(acct(name, at) for name in row[2]),
            None if row[3] is None else TOWN[row[3]][1],
            None if row[4] is None else TOWN[row[4]][1],
        )
        for number, row in reversed(list(enumerate(TOWN)))
        if wanted(number, row)
    ]


def read(status, client):
    """The same of a status that the client returned; what is answered is asked for."""
    answered = status.in_reply_to_id
    return (
        status.created_at,
        status.account.acct,
        text_of(status.content),
        tuple(mention.acct for mention in status.mentions),
        None if answered is None else text_of(client.status(answered).content),
        None if status.reblog is None else text_of(status.reblog.content),
    )


@contextmanager
def serving(time=wall, **settings):
    """The town as Mastodon alone: its address, and its report."""
    with serve_in_thread(posts(), time=time, platforms=("mastodon",), home=HOME, **settings) as mock:
        yield mock.url, lambda: mock.report()["platforms"]["mastodon"]


def client_of(base, instance=None, token="t", method="throw"):
    """Mastodon.py at the mock, as an instance that it asks by its own name."""
    session = requests.Session()
    session.mount("https://", MockAdapter(base))
    place = base if instance is None else f"https://{instance}"
    return Mastodon(access_token=token, api_base_url=place, ratelimit_method=method, session=session)


@pytest.fixture(scope="module")
def mock():
    with serving(mastodon_limit=100_000, paged_limit=100_000) as (url, _):
        yield url


@pytest.fixture(scope="module")
def client(mock):
    return client_of(mock)


@pytest.mark.parametrize("author", AUTHORS)
@pytest.mark.parametrize("at", [HOME, "b.example"])
def test_it_looks_accounts_up_on_every_instance(mock, author, at):
    client = client_of(mock, at)
    account = client.account_lookup(acct(author, at))
    assert account.acct == acct(author, at)
    assert account.username == author.partition("@")[0]
    assert account.statuses_count == sum(row[0] == author for row in TOWN)
    assert account.created_at == datetime(2023, 11, 14, tzinfo=UTC)
    last = max(number for number, row in enumerate(TOWN) if row[0] == author)
    assert account.last_status_at.date() == datetime.fromtimestamp(START + 60 * last, UTC).date()
    assert client.account(account.id) == account


def test_it_is_told_who_is_not_there_and_which_token_is_none(mock, client):
    with pytest.raises(MastodonNotFoundError, match="Record not found"):
        client.account_lookup("zoe")
    with pytest.raises(MastodonNotFoundError):
        client.status(1)
    with pytest.raises(MastodonUnauthorizedError, match="The access token is invalid"):
        client_of(mock, token=None).account_verify_credentials()
    assert client.account_verify_credentials().source.privacy == "public"


@pytest.mark.parametrize("author", AUTHORS)
def test_it_reads_every_timeline_to_its_end(client, author):
    number = client.account_lookup(acct(author, HOME)).id
    wanted = expected(lambda _, row: row[0] == author)
    told = client.fetch_remaining(client.account_statuses(number, limit=20))
    assert [read(status, client) for status in told] == wanted
    assert [client.status(status.id).uri for status in told[:3]] == [status.uri for status in told[:3]]
    page, pages = client.account_statuses(number, limit=12), []
    while page:
        pages.append(page)
        page = client.fetch_next(page)
    assert [status.uri for page in pages for status in page] == [status.uri for status in told]
    back, found = pages[-1], list(pages[-1])
    while back := client.fetch_previous(back):
        found = [*back, *found]
    assert [status.uri for status in found] == [status.uri for status in told]


def test_it_reads_a_timeline_on_the_author_s_own_instance(mock):
    client = client_of(mock, "b.example")
    told = client.fetch_remaining(client.account_statuses(client.account_lookup("bob").id, limit=40))
    assert [read(s, client)[:4] for s in told] == [
        e[:4] for e in expected(lambda _, row: row[0][:3] == "bob", "b.example")
    ]


def test_it_reads_a_hashtag_to_its_end(client):
    told = client.fetch_remaining(client.timeline_hashtag("harvest", limit=40))
    wanted = expected(lambda _, row: "#harvest" in row[1].lower() and row[4] is None)
    assert [read(status, client) for status in told] == wanted
    assert {tag.name for status in told for tag in status.tags} == {"harvest"}


def harvest():
    return expected(lambda _, row: "#harvest" in row[1].lower() and row[4] is None)


def test_it_reads_a_hashtag_between_two_ids_both_ways(client):
    told = client.fetch_remaining(client.timeline_hashtag("harvest", limit=40))
    newest, oldest = told[4].id, told[-4].id
    down, page = [], client.timeline_hashtag("harvest", max_id=newest, since_id=oldest, limit=7)
    while page:
        down += page
        page = client.timeline_hashtag("harvest", max_id=page[-1].id, since_id=oldest, limit=7)
    assert [status.id for status in down] == [status.id for status in told[5:-4]]
    up, page = [], client.timeline_hashtag("harvest", min_id=oldest, max_id=newest, limit=7)
    while page:
        up = [*page, *up]
        page = client.timeline_hashtag("harvest", min_id=page[0].id, max_id=newest, limit=7)
    assert [status.id for status in up] == [status.id for status in down]


def test_ids_of_statuses_are_of_their_time(client):
    """The milliseconds since 1970, and 16 bits that tell nothing: what bounds a hashtag by time."""
    at = START + 60 * 20
    told = client.timeline_hashtag("harvest", max_id=(at * 1000) << 16, limit=40)
    assert [status.created_at.timestamp() for status in told] == [START + 60 * i for i in range(19, -1, -1)]
    told = client.timeline_hashtag("harvest", max_id=(at * 1000) << 16, since_id=(at - 300) * 1000 << 16, limit=40)
    assert [text_of(status.content).split()[1] for status in told] == ["19", "18", "17", "16", "15"]


def test_it_asks_for_the_posts_of_some_instances_only(client):
    local = client.fetch_remaining(client.timeline_hashtag("harvest", local=True, limit=40))
    assert [read(status, client) for status in local] == harvest(), "no other instance wrote any"
    assert client.timeline_hashtag("harvest", remote=True) == []
    assert client.timeline_hashtag("harvest", only_media=True) == []


@pytest.mark.parametrize(("access", "shown"), [("public", 20), ("authenticated", 20), ("disabled", 0)])
def test_it_is_told_who_is_shown_hashtags(access, shown):
    with serving(hashtag_feeds=access) as (url, _):
        client, stranger = client_of(url), client_of(url, token=None)
        assert client.timeline_is_available("hashtag", with_auth=True, fail_hard=True) == bool(shown)
        assert stranger.timeline_is_available("hashtag", fail_hard=True) == (access == "public")
        with pytest.warns(MastodonWarning) if not shown else nullcontext():
            assert len(client.timeline_hashtag("harvest")) == shown
        if access == "public":
            assert len(stranger.timeline_hashtag("harvest")) == shown
            return
        with pytest.warns(MastodonWarning), pytest.raises(MastodonAPIError, match="422"):
            stranger.timeline_hashtag("harvest")


def test_it_searches_statuses_and_accounts(client):
    page, found = client.search_v2("pumpkin for", result_type="statuses", limit=20), []
    while page is not None and page.statuses:
        found += page.statuses
        page = client.fetch_next(page)
    assert [read(status, client) for status in found] == expected(lambda _, row: row[1].startswith("pumpkin"))
    assert [account.acct for account in client.search_v2("b").accounts] == ["bob@b.example"]


def test_it_searches_statuses_of_a_span_of_time(client):
    begin, end = (datetime.fromtimestamp(START + 60 * number, UTC) for number in (50, 55))
    times = f'after:"{begin:%Y-%m-%dT%H:%M:%SZ}" before:"{end:%Y-%m-%dT%H:%M:%SZ}"'
    found = client.search_v2(f"pumpkin {times}", result_type="statuses", limit=20).statuses
    assert [read(status, client) for status in found] == expected(
        lambda number, row: row[1].startswith("pumpkin") and 50 < number < 55
    )
    assert len(found) == 4


def test_it_reads_who_follows_whom(client):
    bob = client.account_lookup("bob@b.example").id
    told = client.fetch_remaining(client.account_following(bob, limit=1))
    assert [account.acct for account in told] == ["ann", "cy"]
    ann = client.account_lookup("ann").id
    assert [account.acct for account in client.account_followers(ann)] == ["bob@b.example", "cy"]


def test_it_knows_the_version_of_the_instance(client):
    assert client.retrieve_mastodon_version(fail_hard=True) == "4.6.4"
    assert client.instance().domain == HOME
    assert client.timeline_is_available("hashtag", fail_hard=True)


def test_it_meets_the_limit_where_it_is():
    with serving(lambda: START, mastodon_limit=5, windows={"mastodon": 600.0}) as (url, report):
        client = client_of(url)
        for left in range(4, -1, -1):
            client.account_lookup("ann")
            assert (client.ratelimit_limit, client.ratelimit_remaining) == (5, left)
        with pytest.raises(MastodonRatelimitError):
            client.account_lookup("ann")
        assert 0 < client.ratelimit_reset - wall() < 603
        assert client_of(url, "b.example").account_lookup("bob").acct == "bob"  # an instance counts for itself
        client_of(url, token="another").account_lookup("ann")  # and so does a token
    assert report()["over"] == 1


def test_it_meets_the_limit_of_pages_before_that_of_requests():
    with serving(lambda: START, paged_limit=2) as (url, _):
        client = client_of(url)
        page = client.account_statuses(client.account_lookup("ann").id, limit=10)
        assert (client.ratelimit_limit, client.ratelimit_remaining) == (300, 298)
        for left in (1, 0):
            page = client.fetch_next(page)
            assert (client.ratelimit_limit, client.ratelimit_remaining) == (2, left)
        with pytest.raises(MastodonRatelimitError):
            client.fetch_next(page)
        client.account_lookup("ann")  # what is not paged goes on


class Clock:
    """A clock for both the client and the server, which the client's sleep moves on."""

    def __init__(self):
        self.now = START + 0.125

    def time(self):
        return self.now

    def sleep(self, seconds):
        assert 0 < seconds <= 302  # to the end of the window, to the second that Date tells
        self.now += seconds


@pytest.mark.parametrize("method", ["wait", "pace"])
def test_it_waits_for_windows_and_loses_nothing(monkeypatch, method):
    clock = Clock()
    monkeypatch.setattr("mastodon.internals.time", clock)
    with serving(clock.time, mastodon_limit=3) as (url, report):
        client = client_of(url, method=method)
        number = client.account_lookup("bob@b.example").id
        told = client.fetch_remaining(client.account_statuses(number, limit=5))
    assert [text_of(status.content) for status in told[:21]] == [
        f"pumpkin {i} for @cy@home.example" for i in range(20, -1, -1)
    ]
    assert len(told) == 23
    every = [window for window in report()["windows"] if window["limit"] == 3]
    answered = [window["requests"] - window["over"] for window in every]
    assert sum(answered) == 6  # the lookup and five pages
    assert max(answered) <= 3
    # who paces never asks in vain; who waits has a 429 at the end of every window that it fills
    assert report()["over"] == (0 if method == "pace" else len(every) - 1)
    assert all(window["opened"] % 300 == 0 for window in every)


# Recorded answers ----------------------------------------------------------------------------------------------------

TEXT, NUMBER, YES, LIST, TABLE = str, int, bool, list, dict
ACCOUNT = {  # https://docs.joinmastodon.org/entities/Account/, and what 4.6 adds
    **dict.fromkeys(["id", "username", "acct", "display_name", "created_at", "note", "url", "uri"], TEXT),
    **dict.fromkeys(["avatar", "avatar_static", "avatar_description"], TEXT),
    **dict.fromkeys(["header", "header_static", "header_description", "last_status_at"], TEXT),
    **dict.fromkeys(["locked", "bot", "group", "discoverable", "indexable", "hide_collections"], YES),
    **dict.fromkeys(["show_media", "show_media_replies", "show_featured"], YES),
    **dict.fromkeys(["followers_count", "following_count", "statuses_count"], NUMBER),
    **dict.fromkeys(["emojis", "fields"], LIST),
}
ACCOUNT_HERE = {**ACCOUNT, "noindex": YES, "roles": LIST, "feature_approval": TABLE}
STATUS = {  # https://docs.joinmastodon.org/entities/Status/, and what 4.6 adds
    **dict.fromkeys(["id", "created_at", "spoiler_text", "visibility", "language", "uri", "url", "content"], TEXT),
    **dict.fromkeys(["in_reply_to_id", "in_reply_to_account_id", "edited_at"], TEXT),
    "sensitive": YES,
    **dict.fromkeys(["replies_count", "reblogs_count", "favourites_count", "quotes_count"], NUMBER),
    **dict.fromkeys(["media_attachments", "mentions", "tags", "emojis", "tagged_collections"], LIST),
    **dict.fromkeys(["account", "reblog", "quote", "card", "poll", "quote_approval"], TABLE),
}
OF_A_TOKEN = {**dict.fromkeys(["favourited", "reblogged", "muted", "bookmarked"], YES), "filtered": LIST}
HERE = {"application": TABLE}
MENTION = dict.fromkeys(["id", "username", "url", "acct"], TEXT)
TAG = dict.fromkeys(["name", "url"], TEXT)


def fits(value, table):
    assert value.keys() == table.keys()
    wrong = {name: part for name, part in value.items() if part is not None and type(part) is not table[name]}
    assert not wrong


@cache
def answers(url):
    """Statuses as the mock tells them: of home's own accounts and of others, with and without a token."""
    found = {}
    for token in ("t", None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        for name in ("ann", "bob@b.example", "cy"):
            account = requests.get(f"{url}/api/v1/accounts/lookup?acct={name}", headers=headers, timeout=9).json()
            address = f"{url}/api/v1/accounts/{account['id']}/statuses?limit=40"
            pages = [requests.get(address, headers=headers, timeout=9)]
            while "next" in pages[-1].links:
                pages.append(requests.get(pages[-1].links["next"]["url"], headers=headers, timeout=9))
            found[name, token] = (account, [status for page in pages for status in page.json()])
    return found


def test_every_answer_has_the_members_that_the_documentation_names(mock):
    for (name, token), (account, statuses) in answers(mock).items():
        here = "@" not in name
        fits(account, ACCOUNT_HERE if here else ACCOUNT)
        for status in statuses:
            own = HERE if here and status["reblog"] is None else {}
            fits(status, {**STATUS, **own, **(OF_A_TOKEN if token else {})})
            fits(status["account"], ACCOUNT_HERE if here else ACCOUNT)
            for mention in status["mentions"]:
                fits(mention, MENTION)
            for tag in status["tags"]:
                fits(tag, TAG)
            assert date.fromisoformat(status["account"]["last_status_at"])


def recorded(name):
    body = json.loads(needed(f"reference/samples/masto_{name}.json").read_text("utf-8"))["response"]["body"]
    return body[0] if isinstance(body, list) else body


def same_shape(told, sample, without=frozenset()):
    """The same members, in the same order, of the same types wherever both have a value."""
    assert list(told) == [name for name in sample if name not in without]
    for name, value in told.items():
        if value is not None and sample[name] is not None:
            assert type(value) is type(sample[name]), name
        if isinstance(value, dict) and sample[name] and name != "account":
            assert value.keys() == sample[name].keys(), name
        if isinstance(value, list) and value and sample[name] and isinstance(value[0], dict):
            assert value[0].keys() == sample[name][0].keys(), name


def test_an_account_of_the_instance_has_the_shape_of_the_recorded_one(mock):
    same_shape(answers(mock)["ann", "t"][0], recorded("account_lookup_2"))
    same_shape(answers(mock)["ann", "t"][0], recorded("account_search"))


def test_an_account_from_elsewhere_has_the_shape_of_the_recorded_one(mock):
    same_shape(answers(mock)["bob@b.example", "t"][0], recorded("real_account"))


def test_a_status_of_the_instance_has_the_shape_of_the_recorded_one(mock):
    status = answers(mock)["ann", "t"][1][0]
    sample = recorded("timelines_tag")
    same_shape(status, sample, without={"pinned"})  # only the author is told what is pinned
    same_shape(status["account"], sample["account"])


def test_a_status_from_elsewhere_has_the_shape_of_the_recorded_one(mock):
    status = answers(mock)["bob@b.example", "t"][1][0]
    same_shape(status, recorded("real_status"))


def test_the_instance_and_the_owner_of_a_token_have_the_shape_of_the_recorded_ones(mock):
    headers = {"Authorization": "Bearer t"}
    same_shape(requests.get(f"{mock}/api/v2/instance", timeout=9).json(), recorded("timeline_disabled"))
    owner = requests.get(f"{mock}/api/v1/accounts/verify_credentials", headers=headers, timeout=9).json()
    sample = recorded("account")
    assert owner.keys() == sample.keys()
    assert owner["source"].keys() == sample["source"].keys()
    assert owner["role"].keys() == sample["role"].keys()


def test_errors_and_empty_searches_are_those_recorded(mock):
    for name, address in (
        ("account_lookup", "accounts/lookup?acct=kljadklajsdkljlkjlkjlkjasdasd"),
        ("status_missing_404", "statuses/0"),
    ):
        assert requests.get(f"{mock}/api/v1/{address}", timeout=9).json() == recorded(name)
    found = requests.get(f"{mock}/api/v2/search?q=mastodonpy_test&type=statuses", timeout=9).json()
    assert found == recorded("search_3")


def test_the_headers_of_limits_and_links_are_written_as_recorded(mock):
    sample = json.loads(needed("reference/samples/masto_timelines_tag.json").read_text("utf-8"))["response"]
    told = requests.get(f"{mock}/api/v1/timelines/tag/harvest?limit=1", timeout=9)
    headers = {name.lower() for name in told.headers}
    wanted = {"link", "content-type", *(name for name in sample["headers"] if name.startswith("x-ratelimit"))}
    assert wanted <= headers
    assert told.headers["content-type"] == sample["headers"]["content-type"]
    assert len(told.headers["x-ratelimit-reset"]) == len(sample["headers"]["x-ratelimit-reset"])
    assert [link["rel"] for link in told.links.values()] == ["next", "prev"]
