"""Forgetting where rows are older, answers were held or kept whole, names changed hands."""

import json
import os
import re
import sqlite3
import zlib
from contextlib import closing, contextmanager, nullcontext

import orjson
import psycopg
import pytest
from erasure_towns import (
    LATER,
    aged,
    agrees,
    carried_out,
    crawled,
    derived,
    forgotten,
    gone_posts,
    node_of,
    order,
    stored,
)
from postgres import a_server_database
from stores import a_place, a_store, mentioning, profile, rows, save, timeline, users
from tiny_town import close, posts_of

from socialcrawl.engine.model import Mention, Node, Outcome, Page, Pick, PostRow, Request, SameAs, Who, format_time
from socialcrawl.errors import StoreError
from socialcrawl.ratelimit.policy import Tariff
from socialcrawl.storage.answer_reuse import AnswerReuse
from socialcrawl.storage.database.address import parse_address
from socialcrawl.storage.erasure.forgetting import forget as carry_out
from socialcrawl.storage.erasure.tombstones import find_forgotten, make_digest
from socialcrawl.storage.ledger.charges import SqlCharges

BOTH = pytest.mark.parametrize("kind", ["sqlite", "postgres"])


def write(store, *statements):
    with store.connection.begin():
        for statement in statements:
            store.connection.exec_driver_sql(statement)


def one_each(text, lang, created_at, urls=None):
    return text.count("secret-of")


@BOTH
def test_answers_that_a_second_campaign_took_from_the_database_count_without_the_forgotten_too(kind):
    with a_place(kind) as place:
        first, wire = crawled(place)
        close(first)
        paid = len(wire.calls)
        other = stored(place, "second", reuse=AnswerReuse(1000.0, one_each))
        store, _ = crawled(place, wire, store=other, steps=9)
        assert len(wire.calls) - paid < 8
        assert agrees(store, (), (), store.campaign, count=1) >= 9
        people, posts = (3,), ("9-1", "2-4")
        forgotten(store, "1003", posts=posts)
        gone = gone_posts(people, posts)
        assert agrees(store, people, gone, store.campaign, count=1) >= 9
        assert agrees(store, people, gone, 1) >= 12
        assert rows(store, "select campaign from epoch where number = 1 order by 1") == [(1,), (store.campaign,)]
        close(store)


@pytest.mark.parametrize("stop", range(1, 12))
def test_a_held_answer_of_an_open_batch_is_made_again_of_what_is_left(stop):
    with a_place("sqlite") as place:
        first, wire = crawled(place)
        close(first)
        reuse = AnswerReuse(1000.0, one_each)
        store, _ = crawled(place, wire, store=stored(place, "second", reuse=reuse), stop=len(wire.calls))
        held = stored(place, "second", reuse=reuse)
        picks = held.unfinished()
        forgotten(held, "1003", f"{1000 + stop}", posts=["9-1", "2-4"])
        close(store)
        store, _ = crawled(place, wire, store=held)
        people = {3, stop}
        agrees(store, people, gone_posts(people, ["9-1", "2-4"]), store.campaign, count=1)
        assert picks == () or store.unfinished() == ()
        close(store)


@BOTH
@pytest.mark.parametrize("without", ["post_ids", "requests"])
def test_where_the_ledger_does_not_know_the_posts_of_a_page_they_are_those_of_the_author(kind, without):
    with a_place(kind) as place:
        store, _ = crawled(place)
        if without == "post_ids":  # as an older program left them
            write(store, "update request set post_ids = null, nodes = null")
        else:  # as an import leaves them
            write(store, "delete from request", "update pick set act = 'import' where act in ('seed', 'expand')")
        posts = ["9-1", "2-4", "12-0"]
        forgotten(store, "1003", posts=posts)
        assert agrees(store, (3,), gone_posts((3,), posts)) >= 12
        close(store)


def test_a_page_that_lost_all_its_posts_still_says_so_and_can_lose_no_more():
    with a_place("sqlite") as place:
        store, _ = crawled(place)
        posts = [post.id for post, _, _ in posts_of(9)]
        assert len(posts) > 3
        forgotten(store, posts=posts)
        (row,) = [row for row in derived(store) if row[0] == 9]
        assert row == (9, 0.0, 0, 0, None, [])
        before = derived(store)
        assert forgotten(store, posts=[*posts, "not-here"]).counts["outcome"] == 0
        assert derived(store) == before
        close(store)


@BOTH
def test_original_answers_that_speak_of_the_forgotten_go_and_the_others_stay(kind):
    with a_place(kind) as place:
        store, _ = crawled(place)
        bodies = {1: '{"id":"1003"}', 2: '{"text":"hi @PERSON3"}', 3: '{"id":"10030","username":"person33"}',
                  4: '{"id":"3-0"}', 5: '{"username":"Person3","x":1}', 6: "{}", 7: "{}",
                  8: '{"text":"thanks @Zo\\u00eb."}', 9: '{"text":"@zoe, @ann"}', 10: '{"text":"ann.example.org"}',
                  11: '{"text":"(@ann.EXAMPLE.org)"}', 12: '{"author":"ZO\u00cb"}'}  # fmt: skip
        with store.connection.begin():
            for key, body in bodies.items():
                url = "https://h/2/users/1003/tweets" if key == 6 else "https://h/2"
                given = {"key": key, "url": url, "body": zlib.compress(body.encode())}
                statement = "insert into response values (:key, :url, '[]', :body)"
                store.connection.exec_driver_sql(statement, given) if kind == "sqlite" else (
                    store.connection.exec_driver_sql(
                        "insert into response values (%(key)s, %(url)s, '[]', %(body)s)", given
                    )
                )
        report = forgotten(store, "1003", "@zo\u00eb", "ann.example.org")
        assert [key for (key,) in rows(store, "select request from response order by request")] == [3, 7, 9, 10]
        assert report.counts["response"] == 8
        assert report.answers == {"id": 2, "text": 3, "name": 2, "request": 1}
        write(store, f"update request set arrived_at = '{format_time(LATER)}' where id = 7")
        aged(store, LATER - 1.0)
        assert rows(store, "select request from response") == [(7,)]
        close(store)


@BOTH
def test_what_was_billed_today_stays_billed_and_names_nobody(kind):
    with a_store(kind, Tariff(500, 1000)) as store:
        store.enlist(["seed"], LATER)
        at = 1_700_000_000.0
        first = save(store, Page([PostRow("77", "5", None, "t", *[None] * 14)], [1], [], [profile("5", "bob")]), 0, at,
                     cost=1500, date=at)  # fmt: skip
        assert first.cost == 1500
        report = forgotten(store, "5")
        assert report.counts["charge"] == 2
        resources = {key for (key,) in rows(store, "select resource from charge")}
        assert resources == {make_digest("x", "post", "77"), make_digest("x", "user", "5")}
        charges = SqlCharges(store.connection)
        with store.connection.begin():
            assert charges.count_new("2023-11-14", "main", "post", [make_digest("x", "post", "77"), "78"]) == 1


def test_only_the_places_of_posts_go_where_the_platform_says_so(tmp_path):
    with a_place("sqlite") as place:
        store, _ = crawled(place)
        file = tmp_path / "result.json"
        line = {"id": "9", "action": "delete", "reason": "scrub_geo"}
        file.write_text(json.dumps(line | {"id": "1003"}) + "\n" + json.dumps(line | {"id": "424242"}), "utf-8")
        before = derived(store)
        asked = order(file=file, compliance="users")
        report = carried_out(store.connection, lambda connection: carry_out(connection, asked, format_time(LATER)))
        counts = {table: count for table, count in report.counts.items() if count}
        assert counts == {"text": len(posts_of(3))}
        kept = {key: json.loads(told) for key, told in rows(store, "select id, original from post")}
        assert {key for key, told in kept.items() if "geo" not in told} == {post.id for post, _, _ in posts_of(3)}
        assert all(told["text"] for told in kept.values())
        assert derived(store) == before
        close(store)


@pytest.fixture
def store():
    with a_store("sqlite") as made:
        yield made


def everyone(store):
    return rows(store, "select node, platform_id, username from account order by node")


def test_whoever_a_name_turned_out_to_be_is_forgotten_with_it(store):
    name, alias = store.enlist(["bob", "old_bob"], LATER)
    save(store, users(profile("5", "bob")))
    store.open((Pick(0, alias, "resolve"),))
    store.finish((Pick(0, alias, "resolve"),), [Outcome(0, alias, LATER, missing=SameAs(name))])
    assert len(everyone(store)) == 2
    forgotten(store, "5")
    assert everyone(store) == [(name, None, None), (alias, None, None)]
    assert rows(store, "select missing from outcome") == [("forgotten",)]
    with store.connection.begin():
        assert find_forgotten(store.connection, "x", "name", ["BOB", "old_bob", "ann"]) == {"BOB", "old_bob"}
        assert find_forgotten(store.connection, "x", "user", ["5", "6"]) == {"5"}


def test_a_name_that_changed_hands_is_its_last_holders(store):
    save(store, users(profile("5", "bob")), 0, LATER)
    save(store, users(profile("6", "bob")), 1, LATER + 1.0)
    save(store, mentioning(Who("6", "bob"), Who("5", "bob")), 2, LATER + 2.0)
    before = {key: node for node, key, _ in everyone(store)}
    forgotten(store, "5")  # by id: the name is another's now
    assert {key: name for node, key, name in everyone(store) if node in (before["5"], before["6"])} == {
        None: None,
        "6": "bob",
    }
    with store.connection.begin():
        assert find_forgotten(store.connection, "x", "name", ["bob"]) == set()
    forgotten(store, "@bob")
    assert [row for row in everyone(store) if row[0] == before["6"]] == [(before["6"], None, None)]


def test_by_name_the_last_holder_goes_and_who_had_it_before_loses_it(store):
    save(store, users(profile("5", "bob")), 0, LATER)
    save(store, users(profile("6", "bob")), 1, LATER + 1.0)
    forgotten(store, "@BOB")
    assert [(key, name) for _, key, name in everyone(store)] == [("5", None), (None, None)]


def test_others_on_the_same_page_stay_and_look_ups_name_only_them(store):
    asked = store.enlist(["ann", "bob", "carl"], LATER)
    told = users(profile("5", "ann"), profile("6", "bob", description="with @CARL"), profile("7", "carl"))
    request = Request((0, 0), "/2/users/by", {"usernames": "ann,bob,carl", "user.fields": "x"}, 100, 100_000)
    save(store, told, 0, LATER, asked=request)
    forgotten(store, "@carl")
    ((params, hashed),) = rows(store, "select params, digest from request")
    assert orjson.loads(params)["usernames"] == "ann,bob"
    assert hashed is None
    assert rows(store, "select username, description from account order by node") == [
        ("ann", None), ("bob", "with @forgotten"), (None, None)]  # fmt: skip
    assert store.accounts(asked)[asked[2]] == Who(None, None)


def test_repeated_mentions_and_posts_on_two_pages_and_pages_that_came_twice_count_once(store):
    author, target = PostRow("1", "5", None, "a", *[None] * 14), Who("6", "ann")
    store.enlist(["seed"], LATER)
    page = Page(
        [author, author._replace(id="2")], [2, 3], [Mention(0, target, "mention"), Mention(1, target, "mention")]
    )
    for part in (0, 1, 1):
        save(store, page, 0, asked=timeline(0, part))
    node = node_of(store, "6")
    batch = (Pick(0, Node(0), "expand"),)
    store.open(batch)
    write(store, "insert into outcome values (1, 0, 0, '2026', 3.3, 10, 4, null, null)",
          f"insert into link values (1, 0, 0, {node}, 3.3)")  # fmt: skip
    forgotten(store, posts=["1"])
    assert rows(store, "select occurrences, posts from outcome") == [(3, 2)]
    ((value, alpha),) = rows(store, "select o.value, l.alpha from outcome o, link l")
    assert value == alpha == pytest.approx(2.09861228866811)  # 1 + ln 3


def test_readers_that_keep_old_pages_are_named():
    with a_place("sqlite") as place:
        store, _ = crawled(place)
        with closing(sqlite3.connect(place, isolation_level=None)) as other:
            other.execute("begin")
            other.execute("select count(*) from post").fetchall()
            store.connection.connection.cursor().execute("pragma busy_timeout = 30").close()
            with pytest.raises(StoreError, match=r"All of it was forgotten.*close the program"):
                forgotten(store, "1003")
            other.execute("rollback")
        forgotten(store, "1003")
        assert b"secret-of-1003" not in b"".join(file.read_bytes() for file in place.parent.iterdir())
        close(store)


@BOTH
def test_a_post_that_became_too_old_and_is_forgotten_then_takes_its_reposts_along(kind):
    with a_place(kind) as place:
        store, _ = crawled(place)
        copy, of = rows(store, "select id, repost_of from post where repost_of is not null and repost_of in "
                               "(select id from post) order by id limit 1")[0]  # fmt: skip
        write(store, "update post set fetched_at = '2000' where id = '" + of + "'")
        assert aged(store, 1e9).counts["post"] == 1
        assert rows(store, f"select count(*) from post where id = '{copy}'") == [(1,)]
        report = forgotten(store, posts=[of])
        assert (report.before, report.unheld) == ([], [f"post:{of}"])
        assert rows(store, f"select count(*) from post where id = '{copy}'") == [(0,)]
        assert report.counts["tombstone"] >= 2
        assert rows(store, "select why, count(*) from tombstone group by why") == [
            ("forget", report.counts["tombstone"])
        ]
        assert forgotten(store, posts=[of]).before == [f"post:{of}"]
        close(store)


@contextmanager
def a_plain_role(place):
    """The database for a role that owns nothing in it but the tables that it makes."""
    name = f"plain_{os.getpid()}"
    with psycopg.connect(place.url, autocommit=True) as raw:
        raw.execute(f"create role {name} login")
        raw.execute(f"grant create on schema public to {name}")
        try:
            yield parse_address(re.sub("//[^@]*@", f"//{name}@", place.url))
        finally:
            raw.execute(f"drop owned by {name}")
            raw.execute(f"drop role {name}")


@pytest.mark.parametrize("plain", [False, True])
def test_the_planner_of_a_server_knows_nothing_of_the_forgotten(plain):
    with a_server_database(empty=True) as whole, a_plain_role(whole) if plain else nullcontext(whole) as place:
        store, _ = crawled(place)
        with store.connection.begin():
            store.connection.exec_driver_sql("analyze")
        samples = "select tablename, attname, most_common_vals::text || histogram_bounds::text from pg_stats"
        seen = f"{samples} where schemaname = 'public'".replace("||", "||' '||")
        seen = seen.replace("most_common_vals::text", "coalesce(most_common_vals::text, '')")
        seen = seen.replace("histogram_bounds::text", "coalesce(histogram_bounds::text, '')")
        file = "select pg_relation_filenode('pg_statistic')"

        def known():
            return "\n".join(" ".join(row) for row in rows(store, seen)).lower()

        before = rows(store, file)
        assert all(word in known() for word in ("secret-of-1003", "person3", "1003", "3-0", "secret-of-1007"))
        forgotten(store, "1003")
        assert "secret-of-1007" in known()
        assert not [word for word in ("secret-of-1003", "1003") if word in known()]
        assert "person3" not in known().replace("person3_", "").split()
        assert (rows(store, file) == before) == plain  # written anew, by who may: no older copy is in it
        aged(store, LATER)
        assert rows(store, "select count(*) from post") == [(0,)]
        assert "secret-of" not in known()
        close(store)


@BOTH
def test_links_to_the_profile_and_names_of_other_letters_go_from_the_tables(kind):
    with a_place(kind) as place:
        store, _ = crawled(place)
        links = ["https://x.com/i/user/1003", "https://x.com/search?q=from%3Aperson3", "https://example.org/"]
        told = orjson.dumps(links).decode()
        keys = [key for (key,) in rows(store, "select id from post where author <> "
                                       f"{node_of(store, '1003')} order by id limit 2")]  # fmt: skip
        mark = "?" if kind == "sqlite" else "%s"
        with store.connection.begin():
            run = store.connection.exec_driver_sql
            run(f"update post set urls = {mark}, text = {mark} where id = {mark}", (told, "@ZO\u00cb @zoe", keys[0]))
            run(f"update post set text = {mark}, urls = null where id = {mark}", (links[0], keys[1]))
        forgotten(store, "1003", "@Zo\u00eb")
        assert rows(store, f"select text, urls from post where id = '{keys[0]}'") == [
            ("@forgotten @zoe", '["https://example.org/"]')
        ]
        assert rows(store, f"select text from post where id = '{keys[1]}'") == [("@forgotten",)]
        close(store)


@BOTH
def test_what_shadows_thought_of_the_forgotten_goes_and_of_others_stays(kind):
    with a_place(kind) as place:
        store, _ = crawled(place)
        asked = rows(store, "select n, node from pick where act = 'expand' order by n")
        write(store, *(f"insert into shadow values (1, {n}, 'bfs', 0.5)" for n, _ in asked))
        gone = asked[1][1]
        (key,) = rows(store, f"select platform_id from account where node = {gone}")[0]
        forgotten(store, key)
        left = [n for n, node in asked if node != gone]
        assert [n for (n,) in rows(store, "select n from shadow order by n")] == left
        close(store)
