"""Forgetting on Bluesky, Mastodon and the web: the person is in the ids of posts, and in short forms of names."""

import zlib
from contextlib import contextmanager
from functools import partial

import orjson
import pytest
import typer
from erasure_towns import carried_out
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import a_place, a_store, profile, rows, save
from tiny_town import close, stored
from typer.testing import CliRunner

from socialcrawl.cli.definitions.maintenance import forget
from socialcrawl.engine.model import Mention, Page, PostRow, Request, Who
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.facts import PlatformFacts, list_platform_facts
from socialcrawl.storage.erasure import naming, ownership
from socialcrawl.storage.erasure.forgetting import forget as carry_out
from socialcrawl.storage.erasure.orders import read_order
from socialcrawl.storage.erasure.ownership import find_owners, find_similar_names, is_owned, shorten_name
from socialcrawl.storage.erasure.tombstones import find_forgotten
from socialcrawl.storage.sql_store import SqlStore

BOTH = pytest.mark.parametrize("kind", ["sqlite", "postgres"])
BOB, ANN, EVE = "did:plc:bob", "did:plc:ann", "did:web:eve.example"
LATER = "2030-01-01T00:00:00.000000Z"


def at(did, key, kind="post"):
    return f"at://{did}/app.bsky.feed.{kind}/{key}"


def post(key, author, text="text", **more):
    return PostRow(key, author, None, text, *[None] * 14)._replace(**more)


@contextmanager
def a_store_of(kind, platform):
    with a_store(kind) as made:
        yield SqlStore(made.connection, made.campaign, platform)


def forgotten(store, platform, *users, posts=()):
    order = read_order(users, posts, None, None)
    return carried_out(store.connection, partial(carry_out, order=order, now=LATER, platform=platform))


def everything(store):
    tables = ("account", "post", "mention", "follow", "request", "response", "tombstone", "campaign")
    return "\n".join(str(row) for table in tables for row in rows(store, f"select * from {table}")).lower()


@pytest.mark.parametrize(
    ("key", "whose"),
    [
        (at(BOB, 1), {BOB}),
        (at(EVE, 1), {EVE}),
        (at("bob.example.org", 1), {"bob.example.org"}),
        (at(BOB, 1, "repost"), {BOB}),
        (f"repost:{ANN}:{at(BOB, 1)}", {ANN, BOB}),
        ("https://a.example/users/Bob/statuses/1/activity", {"bob@a.example"}),
        ("https://a.example/@bob/1", {"bob@a.example"}),
        ("https://a.example/@bob", set()),
        ("https://a.example/page", set()),
        ("local:a.example/17", set()),
        ("1234567890", set()),
        (None, set()),
        ("", set()),
    ],
)
def test_ids_of_posts_say_whose_they_are(key, whose):
    assert find_owners(key) - {key} == whose
    assert (key in find_owners(key)) == bool(key and key.startswith("https"))  # a page is its own account
    assert all(is_owned(key, {one}, ()) and is_owned(key, (), {one.lower()}) for one in whose)
    assert not is_owned(key, {"did:plc:bo", "bob", "a.example"}, {"did:plc:bo", "bob", "ob@a.example"})


@pytest.mark.parametrize(
    ("name", "left"),
    [("bob.example.org", "bob"), ("Bob@a.example", "bob"), ("bob.b@a.example", "bob.b"), ("bob", None), (None, None),
     ("https://a.example/x", None), ("did:plc:bob", None), ("@a", None), (".a", None)],
)  # fmt: skip
def test_names_have_a_short_form_where_they_have_a_domain(name, left):
    assert shorten_name(name) == left


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_id_and_any_name_can_be_looked_at(text):
    assert all(
        isinstance(one, str)
        for one in find_owners(text) | find_owners(f"at://{text}/x") | find_owners(f"https://{text}")
    )
    assert shorten_name(text) is None or shorten_name(text) in text.lower()


def test_a_platform_that_another_package_adds_says_whose_its_posts_and_addresses_are(monkeypatch):
    def find_holders(address):
        return {address.rpartition("/")[2]} if address.startswith("https://forum.example/") else None

    forum = PlatformFacts(
        "forum",
        "the forum",
        find_owners=lambda key: {key.partition("/")[0]} if key.startswith("member") else None,
        find_holders=find_holders,
        parse_post_address=lambda address: ("eve", "7") if address.endswith("/eve/7") else None,
    )
    whole = (forum, *list_platform_facts())
    monkeypatch.setattr(naming, "list_platform_facts", lambda: whole)
    monkeypatch.setattr(ownership, "list_owner_finders", lambda: [facts.find_owners for facts in whole])
    assert find_owners("member7/12") == {"member7"}
    assert find_owners(at(BOB, 1)) == {BOB}
    assert naming.find_holders("https://forum.example/@eve") == {"@eve"}
    assert naming.find_holders("https://a.example/@eve") == {"eve@a.example"}
    assert naming.find_holders("https://bsky.app/profile/Eve.example/post/1") == {"Eve.example", "eve.example"}
    assert naming.parse_post_address("https://forum.example/eve/7") == ("eve", "7")
    assert naming.parse_post_address("https://a.example/@Eve/7") == ("eve@a.example", "7")
    assert naming.parse_post_address(at(BOB, 1)) == (BOB, "1")


@BOTH
def test_references_to_posts_of_the_forgotten_are_cut_though_no_such_post_was_held(kind):
    with a_store_of(kind, "bluesky") as store:
        told = [
            post(at(ANN, 1), ANN, reply_to=at(BOB, 1), conversation_id=at(BOB, 0), original="{}"),
            post(at(ANN, 2), ANN, quote_of=at(BOB, 2), conversation_id=at(ANN, 2), original="{}"),
            post(at(ANN, 3), ANN, reply_to=at("did:plc:bobby", 1), original="{}"),
            post(f"repost:{ANN}:{at(BOB, 3)}", ANN, "RT @bob: text", repost_of=at(BOB, 3)),
        ]
        save(store, Page(told, [1] * 4, [], [profile(ANN, "ann.example"), profile(BOB, "bob.example")]))
        report = forgotten(store, "bluesky", BOB)
        assert (report.counts["post"], report.counts["text"]) == (1, 2)
        kept = "select id, reply_to, quote_of, conversation_id, original from post order by id"
        assert rows(store, kept) == [
            (at(ANN, 1), None, None, None, None),
            (at(ANN, 2), None, None, at(ANN, 2), None),
            (at(ANN, 3), at("did:plc:bobby", 1), None, None, "{}"),
        ]
        assert f"{BOB}/" not in everything(store)


def test_references_of_many_forgotten_are_cut_as_those_of_a_few():
    with a_store_of("sqlite", "mastodon") as store:
        people = [f"p{number}@a.example" for number in range(30)]
        told = [post(f"https://b.example/users/ann/statuses/{i}", "ann@b.example",
                     reply_to=f"https://a.example/{form}{name.partition('@')[0].upper()}/{i}")
                for i, name in enumerate(people) for form in ("users/" if i % 2 else "@",)]  # fmt: skip
        told[1] = told[1]._replace(reply_to="https://a.example/users/p1/statuses/1")
        save(store, Page(told, [1] * 30, [], [profile("ann@b.example", "ann@b.example")]))
        assert len(rows(store, "select 1 from post where reply_to is not null")) == 30
        forgotten(store, "mastodon", *(f"@{name}" for name in people[1:]))
        assert rows(store, "select reply_to from post where reply_to is not null") == [("https://a.example/@P0/0",)]


@BOTH
def test_short_forms_go_from_posts_that_mention_the_forgotten_and_from_no_others(kind):
    with a_store_of(kind, "bluesky") as store:
        told = [post(at(ANN, n), ANN, "hi @Bob, @bobby and @bob.other.example") for n in (1, 2)]
        told.append(post(at(ANN, 3), ANN, "hi @bob.example.org"))
        names = [profile(ANN, "ann.example"), profile(BOB, "bob.example.org")]
        save(store, Page(told, [1] * 3, [Mention(0, Who(BOB, None), "mention")], names))
        assert forgotten(store, "bluesky", BOB).counts["text"] == 2
        assert rows(store, "select text from post order by id") == [
            ("hi @forgotten, @bobby and @bob.other.example",),
            ("hi @Bob, @bobby and @bob.other.example",),
            ("hi @forgotten",),
        ]


def test_on_x_names_have_no_short_form():
    with a_store_of("sqlite", "x") as store:
        page = Page([post("1", "5", "hi @bob")], [1], [Mention(0, Who("6", "bob.example"), "mention")])
        save(store, page)
        forgotten(store, "x", "6")
        assert rows(store, "select text from post") == [("hi @bob",)]


@BOTH
@pytest.mark.parametrize("platform", ["bluesky", "mastodon"])
def test_later_answers_come_in_without_references_to_the_forgotten(kind, platform):
    with a_store_of(kind, platform) as store:
        ann, bob = (ANN, BOB) if platform == "bluesky" else ("ann@b.example", "bob@a.example")

        def key(who, n):
            name, _, host = who.partition("@")
            return at(who, n) if platform == "bluesky" else f"https://{host}/users/{name}/statuses/{n}"

        handle = "bob.example" if platform == "bluesky" else bob
        save(store, Page(accounts=[profile(bob, handle)]))
        forgotten(store, platform, f"@{handle}")
        told = [
            post(key(ann, 1), ann, "to @bob", reply_to=key(bob, 1), conversation_id=key(bob, 0), original="{}"),
            post(key(ann, 2), ann, "not @bob", quote_of=key(ann, 1), original="{}"),
            post(key(ann, 3), ann, "RT @bob: text", repost_of=key(bob, 2)),
        ]
        later = SqlStore(store.connection, store.campaign, platform)
        save(later, Page(told, [1] * 3, [Mention(0, Who(bob, None), "reply")]), 1)
        kept = "select id, text, reply_to, conversation_id, quote_of, original from post order by id"
        assert rows(store, kept) == [
            (key(ann, 1), "to @forgotten", None, None, None, None),
            (key(ann, 2), "not @bob", None, None, key(ann, 1), "{}"),
        ]


def test_an_instances_own_name_and_number_of_the_forgotten_leave_the_ledger_and_original_answers():
    with a_store_of("sqlite", "mastodon") as store:
        look_up, lists = "a.example/api/v1/accounts/lookup", "a.example/api/v1/accounts/:id/statuses"
        asked = [
            Request((0, 0), look_up, {"acct": "bob"}, 1),
            Request((1, 0), lists, {"id": "4711", "acct": "bob@a.example", "limit": "40"}, 40),
            Request((2, 0), "b.example/api/v1/accounts/lookup", {"acct": "bob"}, 1),
        ]
        for n, request in enumerate(asked):
            save(store, Page(accounts=[profile(f"bob@{'ab'[n == 2]}.example", f"bob@{'ab'[n == 2]}.example")]), n,
                 asked=request, cursor="4711")  # fmt: skip
        bodies = ['{"acct":"bob","uri":"https://a.example/users/bob"}', '{"acct":"ann"}']
        with store.connection.begin():
            for n, body in enumerate(bodies):
                given_ = (n + 1, "https://a.example/", "[]", zlib.compress(body.encode()))
                store.connection.exec_driver_sql("insert into response values (?, ?, ?, ?)", given_)
        forgotten(store, "mastodon", "@bob@a.example")
        params = [orjson.loads(told) for (told,) in rows(store, "select params from request order by id")]
        assert params == [{}, {"limit": "40"}, {"acct": "bob"}]
        assert [c for (c,) in rows(store, "select cursor from request order by id")] == [None, None, "4711"]
        assert rows(store, "select request from response") == [(2,)]


def test_links_of_pages_to_a_forgotten_page_go_and_do_not_come_back():
    with a_store_of("sqlite", "web") as store:
        one, two = "https://a.example/one", "https://a.example/two"
        links = orjson.dumps([two, f"{two}/more"]).decode()
        page = Page([post(one, one, urls=links)], [1], [Mention(0, Who(two, two), "mention")])
        save(store, page)
        forgotten(store, "web", two)
        assert rows(store, "select urls from post") == [(f'["{two}/more"]',)]
        later = SqlStore(store.connection, store.campaign, "web")
        save(later, Page([post(f"{one}/b", one, urls=links)], [1]), 1)
        assert rows(store, "select distinct urls from post") == [(f'["{two}/more"]',)]


def command(*words):
    app = typer.Typer()
    app.command()(forget)
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


@contextmanager
def a_database_of(platform, *accounts):
    """A database of one platform, with accounts (id, username)."""
    with a_place("sqlite") as place:
        store = stored(place)
        with store.connection.begin():
            store.connection.exec_driver_sql(f"update campaign set platform = '{platform}'")
        save(SqlStore(store.connection, store.campaign, platform), Page(accounts=[profile(*one) for one in accounts]))
        yield place, store
        close(store)


@pytest.mark.parametrize(
    ("platform", "accounts", "why", "may_be"),
    [
        ("mastodon", [("bob@a.example",) * 2, ("bobby@a.example",) * 2, ("bob@b.example",) * 2],
         "write it with its instance, as name@domain", "bob@a.example, bob@b.example"),
        ("bluesky", [(BOB, "bob.a.example"), (ANN, "bobby.a.example")], "with its domain", "bob.a.example"),
        ("web", [("https://bob/",) * 2], "write the address of a page in full", "https://bob/"),
    ],
)  # fmt: skip
def test_a_name_without_its_domain_is_refused_and_those_it_may_mean_are_named(platform, accounts, why, may_be):
    with a_database_of(platform, *accounts) as (place, store):
        before = everything(store)
        with pytest.raises(SettingsError, match=f"'bob' is not a whole name.*{why}.* it may be {may_be}\\.$"):
            command("--db", place, "--user", "@Bob", "--yes")
        with pytest.raises(SettingsError, match=f"'nobody' is not a whole name(?!.*may be).*{why}"):
            command("--db", place, "--user", "nobody", "--yes")
        assert everything(store) == before
        assert (
            find_similar_names(store.connection, "x", "bob") == find_similar_names(store.connection, platform, "") == []
        )


def test_a_name_of_mastodon_may_come_as_the_address_of_its_page():
    with a_database_of("mastodon", ("bob@a.example", "bob@a.example")) as (place, store):
        told = command("--db", place, "--user", "https://a.example/@Bob", "--yes")
        assert "1  account emptied" in told
        with store.connection.begin():
            assert find_forgotten(store.connection, "mastodon", "user", ["bob@a.example"])


def test_a_page_is_found_by_any_spelling_of_its_address_and_called_a_page():
    page = "https://a.example/wiki/One"
    with a_database_of("web", (page, page)) as (place, store):
        told = command("--db", place, "--user", "HTTPS://A.example:443/wiki/../wiki/One#top",
                       "--user", "@https://b.example", "--yes")  # fmt: skip
        assert "1  account emptied" in told
        assert "kept out: page:https://b.example/\n" in told
        assert rows(store, "select username from account where forgotten_at is not null") == [(None,)]
