"""Original answers of the forgotten go, and only those: fields that hold ids and names, @name, and addresses count."""

import json
import re
import zlib
from functools import partial

import orjson
import pytest
from erasure_towns import carried_out
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from x_crawls import campaign_of, crawl, posts, scratch

from socialcrawl.engine.model import format_time
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage.database.connection import open_database
from socialcrawl.storage.erasure.execution import erase
from socialcrawl.storage.erasure.forgetting import forget
from socialcrawl.storage.erasure.naming import OriginalAnswer, SearchKeys, find_match, find_numbers
from socialcrawl.storage.erasure.orders import read_order

BOB = "did:plc:bob"
HOME = "a.example"


def looked_for(platform, *keys, posts=(), numbers=()):
    ids = frozenset(key for key in keys if key.isdecimal() or ":" in key)
    ids |= {key for key in keys if "@" in key}  # an account of Mastodon is known by its name
    names = frozenset(key.lower() for key in {*keys} - ids | {key for key in keys if "@" in key})
    return SearchKeys(platform, ids, names, frozenset(posts), frozenset(numbers))


def kind(platform, body, *keys, url="https://host/path", headers="[]", of=None, **more):
    told = body if isinstance(body, str) else json.dumps(body)
    return find_match(OriginalAnswer(url, headers, told, of or platform, HOME), looked_for(platform, *keys, **more))


@pytest.mark.parametrize(
    ("told", "keys", "found"),
    [
        ({"data": [{"author_id": "12"}]}, ["12"], "id"),
        ({"data": {"id": 12}}, ["12"], "id"),
        ({"data": {"in_reply_to_user_id": "12"}}, ["12"], "id"),
        ({"includes": {"users": [{"username": "US"}]}}, ["us"], "name"),
        ({"errors": [{"value": "us", "detail": "Could not find user with username: [us]."}]}, ["us"], "name"),
        ({"errors": [{"resource_id": "12", "parameter": "ids"}]}, ["12"], "id"),
        ({"text": "thanks @Us!"}, ["us"], "text"),
        ({"text": "RT @us: more"}, ["us"], "text"),
        ({"name": "friend of @us"}, ["us"], "text"),
        ({"expanded_url": "https://x.com/us/status/1"}, ["us"], "link"),
        ({"expanded_url": "https://twitter.com/i/user/12"}, ["12"], "link"),
        ({"12": {"text": "a map by id"}}, ["12"], "id"),
        ({"text": "between us, 12 of us"}, ["us", "12"], None),
        ({"text": "@usa and @us_2 and us@example.org"}, ["us"], None),
        ({"entities": {"hashtags": [{"tag": "climate"}]}, "text": "#climate"}, ["climate"], None),
        ({"public_metrics": {"like_count": 12, "retweet_count": 12}}, ["12"], None),
        ({"start": 0, "end": 12}, ["12"], None),
        ({"context_annotations": [{"domain": {"id": "12", "name": "us"}}]}, ["12", "us"], None),
        ({"name": "us", "lang": "us", "location": "us"}, ["us"], None),
        ({"author_id": "120", "id": "112"}, ["12"], None),
        ({"expanded_url": "https://example.org/us/12"}, ["12", "us"], None),
        ({"expanded_url": "https://x.com/nasa/status/1?s=12"}, ["12"], None),
        ("[]", ["12", "us"], None),
        ('{"data":[{"author_id":"12","text":"cut he', ["12"], "id"),
        ('{"data":[{"username":"us","text":"cut he', ["us"], "name"),
        ("<html><p>Contact us, error 503</p></html>", ["us"], None),
        ('{"text":"\\u0040us"}', ["us"], "text"),
        ('{"text":"@Zo\\u00eb."}', ["zo\u00eb"], "text"),
    ],
)  # fmt: skip
def test_on_x_fields_mentions_and_links_count_and_words_and_numbers_do_not(told, keys, found):
    assert kind("x", told, *keys) == found


@pytest.mark.parametrize(
    ("url", "keys", "found"),
    [
        ("https://api/2/users/12/tweets?max_results=100", ["12"], "request"),
        ("https://api/2/users?ids=7,12,9&user.fields=id", ["12"], "request"),
        ("https://api/2/users/by/username/Us", ["us"], "request"),
        ("https://api/2/users/by?usernames=ann%2CUs", ["us"], "request"),
        ("https://api/2/tweets/search/recent?query=%28from%3Aus%20OR%20from%3Aann%29", ["us"], "request"),
        ("https://api/2/tweets/search/recent?query=climate%20%23us&max_results=12", ["climate", "us", "12"], None),
        ("https://api/2/users/by?usernames=ann&user.fields=username", ["search", "users", "username", "by"], None),
        ("https://api/2/users/112/tweets?max_results=12", ["12", "tweets"], None),
    ],
)
def test_the_address_that_was_asked_counts_where_it_names_them(url, keys, found):
    assert kind("x", "{}", *keys, url=url) == found


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({"author": {"did": BOB}}, "id"),
        ({"author": {"handle": "Bob.Example.org"}}, "name"),
        ({"uri": f"at://{BOB}/app.bsky.feed.post/1"}, "id"),
        ({"reason": {"uri": f"repost:did:plc:ann:at://{BOB}/app.bsky.feed.post/1"}}, "id"),
        ({"text": "hi @bob.example.org."}, "text"),
        ({"facets": [{"features": [{"uri": "https://bsky.app/profile/bob.example.org/post/1"}]}]}, "id"),
        ({"text": "see https://bsky.app/profile/did%3Aplc%3Abob"}, "link"),
        ({"text": "see https://bob.example.org/cv and bob.example.org"}, None),
        ({"author": {"did": "did:plc:bobby", "handle": "bob.example.org.uk"}}, None),
        ({"text": "hi @bob and @bob.other.example", "displayName": "bob.example.org"}, None),
    ],
)
def test_on_bluesky_dids_handles_and_records_count(told, found):
    assert kind("bluesky", told, BOB, "bob.example.org") == found


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({"acct": "bob", "username": "bob"}, "name"),  # a.example answers: it is its own
        ({"acct": "Bob@A.example"}, "name"),
        ({"uri": "https://a.example/users/bob"}, "id"),
        ({"url": "https://a.example/@bob"}, "link"),
        ({"uri": "https://a.example/users/bob/statuses/1"}, "id"),
        ({"content": '<p><a href="https://a.example/@bob">@<span>bob</span></a></p>'}, "link"),
        ({"content": "<p>ask @<span>bob@a.example</span></p>"}, "text"),
        ({"in_reply_to_account_id": "4711"}, "id"),
        ({"acct": "bob@b.example", "username": "bob", "url": "https://b.example/@bob"}, None),
        ({"content": '<a href="https://b.example/@bob">@<span>bob</span></a> bob'}, None),
        ({"id": "4711", "favourites_count": 4711, "in_reply_to_id": "4711"}, None),
        ({"tags": [{"name": "bob", "url": "https://a.example/tags/bob"}]}, None),
    ],
)
def test_on_mastodon_names_count_with_their_instance(told, found):
    assert kind("mastodon", told, "bob@a.example", numbers={(HOME, "4711")}) == found


def test_the_number_that_an_instance_gave_an_account_is_read_off_its_profile():
    told = {"account": {"id": "4711", "acct": "bob"}, "id": "1", "mentions": [{"id": "5", "acct": "bob@b.example"}]}
    sought = looked_for("mastodon", "bob@a.example")
    assert find_numbers(OriginalAnswer("", "[]", json.dumps(told), "mastodon", HOME), sought) == {(HOME, "4711")}
    address = "https://a.example/api/v1/accounts/4711/statuses"
    link = json.dumps([["link", f'<{address}?max_id=1>; rel="next"']])
    for number, found in (("4711", "request"), ("471", None)):
        assert kind("mastodon", "[]", "bob@a.example", numbers={(HOME, number)}, url=address) == found
    assert kind("mastodon", "[]", "bob@a.example", numbers={(HOME, "4711")}, headers=link) == "link"


@pytest.mark.parametrize(
    ("url", "told", "found"),
    [
        ("https://a.example/two", "<p>hi", "request"),
        ("https://a.example/one", '<a href="/two">', "link"),
        ("https://a.example/one", "<a href = 'two#top'>", "link"),
        ("https://a.example/one", "<a href=//A.example:443/two>", "link"),
        ("https://b.example/", "see https://a.example/two.", "link"),
        ("https://b.example/", '<a href="/two">two</a> a.example two', None),
        ("https://a.example/two/more", '<a href="/two/more">', None),
    ],
)
def test_on_the_web_pages_count_by_their_address_and_links_to_it(url, told, found):
    assert kind("web", told, "https://a.example/two", url=url) == found


def test_a_post_counts_by_its_id_and_by_each_of_its_addresses():
    status = "https://a.example/users/ann/statuses/17"
    record = "at://did:plc:ann/app.bsky.feed.post/k1"
    assert kind("x", {"referenced_tweets": [{"id": "77"}]}, posts=["77"]) == "id"
    assert kind("x", {"url": "https://x.com/i/web/status/77"}, posts=["77"]) == "link"
    assert kind("x", {"text": "77 of them", "like_count": 77}, posts=["77"]) is None
    assert kind("mastodon", {"content": '<a href="https://a.example/@ann/17">'}, posts=[status]) == "link"
    assert kind("mastodon", {"content": '<a href="https://a.example/@ann/18">'}, posts=[status]) is None
    assert kind("bluesky", {"embed": {"uri": record}}, posts=[record]) == "id"
    assert kind("bluesky", {"text": "https://bsky.app/profile/did:plc:ann/post/k1"}, posts=[record]) == "link"


def test_ids_and_names_of_another_platform_are_no_fields_but_texts_and_links_count_everywhere():
    assert kind("x", {"account": {"id": "12", "acct": "us"}}, "12", "us", of="mastodon") is None
    assert kind("x", {"content": "by @us"}, "us", of="mastodon") == "text"
    assert kind("x", {"content": "https://x.com/us"}, "us", of="mastodon") == "link"


WORDS = ["us", "climate", "12", "US", "@usa", "of us", "12 of us", "#climate", "us@example.org", "112", "x12"]
NAMED = ["by @us", "@US", "(@climate)", "https://x.com/us/status/5", "see https://twitter.com/Climate."]
TEXT_KEYS, NAME_KEYS, ID_KEYS = ["text", "name", "tag", "lang", "title"], ["username", "value"], ["author_id", "id"]
PLAIN = st.tuples(st.sampled_from(TEXT_KEYS), st.sampled_from(WORDS), st.just(None))
COUNT = st.tuples(st.sampled_from(["like_count", "start", "result_count"]), st.just(12), st.just(None))
OTHERS = st.tuples(st.sampled_from([*NAME_KEYS, *ID_KEYS]), st.sampled_from(["usa", "112", "ann", "1200"]),
                   st.just(None))  # fmt: skip
THEIRS = st.one_of(
    st.tuples(st.sampled_from(TEXT_KEYS), st.sampled_from(NAMED), st.just("said")),
    st.tuples(st.sampled_from(NAME_KEYS), st.sampled_from(["us", "Climate"]), st.just("named")),
    st.tuples(st.sampled_from(ID_KEYS), st.sampled_from(["12", 12]), st.just("known")),
)
LEAVES = st.lists(st.one_of(PLAIN, COUNT, OTHERS, PLAIN, COUNT, THEIRS), max_size=6)


@settings(deadline=None, max_examples=many(300))
@given(LEAVES, st.lists(st.sampled_from(["data", "list", "includes"]), max_size=4), st.booleans())
def test_an_answer_goes_if_and_only_if_something_of_them_was_put_into_it(leaves, around, escaped):
    told = [{key: value} for key, value, _ in leaves]
    for name in around:
        told = [told] if name == "list" else {name: told}
    body = json.dumps(told)
    if escaped:  # every letter as JSON may write it
        body = re.sub("[a-z@]", lambda found: f"\\u{ord(found[0]):04x}", body)
    planted = any(why for _, _, why in leaves)
    assert (kind("x", body, "us", "climate", "12") is not None) == planted
    many = looked_for("x", "us", "climate", "12", *(f"nobody{n}" for n in range(50)))
    assert (find_match(OriginalAnswer("https://h/2", "[]", body, "x", ""), many) is not None) == planted


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["at://", "https://[", "did:a:b", "<<@"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5) | st.sampled_from(["id", "uri"]),
                                                               inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(deadline=None)
@given(ANYTHING, st.text(), st.sampled_from(["x", "bluesky", "mastodon", "web"]))
def test_any_answer_can_be_looked_through(told, url, platform):
    keys = ["12", "us", "bob@a.example", BOB, "https://a.example/two", "\u6f22"]
    for body in (json.dumps(told), str(told)):
        kind(platform, body, *keys, url=url, headers=json.dumps([["link", url]]))
        kind(platform, body, *keys, url=f"https://h/2?{url}", posts=["77"])


def answers(database):
    with open_database(database) as connection, connection.begin():
        told = connection.exec_driver_sql("select request, url, body from response").all()
    return {key: (url, zlib.decompress(body).decode()) for key, url, body in told}


def erased(database, platform, *users, dry=False):
    order = read_order(users, (), None, None)
    with open_database(database) as connection:
        work = partial(forget, order=order, now=format_time(2e9), platform=platform)
        return erase(connection, work, dry=True) if dry else carried_out(connection, work)


@pytest.fixture(scope="module", params=["x", "bluesky", "mastodon"])
def kept(request):
    """The platform and the database of a campaign that kept its answers."""
    platform = request.param
    source = {"platform": platform, "keep_answers": True}
    source |= {"identifier": "me.mock.social"} if platform == "bluesky" else {}
    source |= {"hosts": ["*"], "domain": "home.example"} if platform == "mastodon" else {}
    database = scratch() / f"{platform}.db"
    with serve_in_thread(posts(), limit=100_000) as mock:
        crawl(campaign_of(mock.url, database, source=source, seeds={"search": True}, limits={"k": None, "d": None}))
    assert len(answers(database)) > 20
    return platform, database


def test_nobody_who_only_shares_a_word_with_answers_takes_them_along(kept):
    platform, database = kept
    names = {"x": "{}", "bluesky": "{}.mock.social", "mastodon": "{}@home.example"}[platform]
    strangers = [f"@{names.format(word)}" for word in ("us", "climate", "telescope", "statuses", "users", "en")]
    for users in (["12", "100", "0"] if platform == "x" else []) + strangers:
        report = erased(database, platform, users, dry=True)
        assert (report.counts["response"], report.answers) == (0, {}), users


def test_of_a_crawl_exactly_the_answers_that_name_them_go(kept):
    """By a search of the exact spellings of this mock, which knows nothing of fields."""
    platform, database = kept
    with open_database(database) as connection, connection.begin():
        told = "select platform_id, username from account where platform_id is not null and username is not null"
        people = connection.exec_driver_sql(f"{told} order by node").all()
    for key, name in people[3:12:5]:
        before = answers(database)
        spellings = [f'"{key}"', f"@{name}", f'"{name}"'] if platform == "x" else [key, name]
        if platform == "mastodon":
            own, _, domain = name.partition("@")
            spellings += [f"{domain}/@{own}", f"{domain}/users/{own}"]
            own_numbers = {str(found) for _, body in before.values() for found in _numbers(body, domain, own)}
        else:
            own_numbers = set()
        ends = "|".join(rf"(?<![\w-]){re.escape(one)}(?![\w-])" for one in spellings)
        names = re.compile(ends, re.IGNORECASE)
        paths = [f"/{key}/", *(f"accounts/{number}/" for number in own_numbers)]
        expected = {n for n, (url, body) in before.items()
                    if names.search(body) or any(path in url for path in paths)
                    or any(f'_account_id":"{number}"' in body for number in own_numbers)}  # fmt: skip
        dry = erased(database, platform, f"@{name}", dry=True)
        report = erased(database, platform, f"@{name}")
        after = answers(database)
        assert dry == report
        assert sum(report.answers.values()) == report.counts["response"] == len(before) - len(after)
        left_about = {n for n, (url, _) in after.items() if f"={key}" in url or f"={own_name(name)}&" in f"{url}&"}
        assert not left_about
        gone = before.keys() - after.keys()
        assert expected <= gone
        for n in gone - expected:  # asked about them, or about a post that went with them
            assert own_name(name) in before[n][0] or key in before[n][0] or "id" in report.answers, before[n]
        assert after


def own_name(name):
    return name.partition("@")[0]


def _numbers(body, domain, name):
    stack = [orjson.loads(body)]
    while stack:
        told = stack.pop()
        if isinstance(told, dict):
            if told.get("url") == f"https://{domain}/@{name}":
                yield told["id"]
            stack.extend(told.values())
        elif isinstance(told, list):
            stack.extend(told)


def test_a_dry_run_says_how_many_answers_go_and_why():
    from erasure_towns import crawled
    from stores import a_place
    from test_erasure_cli import command
    from tiny_town import close

    with a_place("sqlite") as place:
        store, _ = crawled(place)
        bodies = ['{"author_id":"1003"}', '{"author_id":"1003"}', '{"text":"@PERSON3"}', '{"text":"person3, 1003"}']
        with store.connection.begin():
            for key, body in enumerate(bodies, 1):
                row = (key, "https://h/2", "[]", zlib.compress(body.encode()))
                store.connection.exec_driver_sql("insert into response values (?, ?, ?, ?)", row)
        close(store)
        told = command("forget", "--db", place, "--user", "1003", "--dry-run").stdout
        lines = [line.strip() for line in told.splitlines()]
        at = lines.index("3  original answers removed")
        expected = ["2: a field holds their id or that of a post of theirs", "1: a text holds their @name"]
        assert lines[at + 1 : at + 3] == expected
        done = json.loads(command("forget", "--db", place, "--user", "1003", "--yes", "--json").stdout)
        assert (done["rows"]["response"], done["answers"]) == (3, {"id": 2, "text": 1})
        assert list(answers(place)) == [4]
