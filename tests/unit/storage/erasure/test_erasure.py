"""Whoever is forgotten is gone, from every table and from the file; the crawl goes on as if they had never answered."""

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import partial

import pytest
from erasure_towns import (
    LATER,
    Town,
    aged,
    agrees,
    crawled,
    derived,
    forgotten,
    gone_posts,
    node_of,
    order,
    read_of,
    replayed,
    stored,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from stores import a_place, rows
from tiny_town import PEOPLE, Clock, close, person

from socialcrawl.engine.model import format_time
from socialcrawl.errors import StoreError
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.platforms.x.source import SEARCH
from socialcrawl.storage.database.lease import Lease
from socialcrawl.storage.erasure import targets
from socialcrawl.storage.erasure.execution import erase
from socialcrawl.storage.erasure.forgetting import forget
from socialcrawl.storage.erasure.tombstones import find_forgotten
from socialcrawl.storage.schema.tables import metadata

BOTH = pytest.mark.parametrize("kind", ["sqlite", "postgres"])
PERSONAL = ("platform_id", "username", "handle", "name", "description", "created_at", "followers", "following",
            "posts", "listed", "protected", "verified", "url", "profile_at")  # fmt: skip


def everything(store):
    """Every row of every table, as text."""
    tables = [name for (name,) in rows(store, "select name from sqlite_master where type = 'table'")] if (
        store.connection.dialect.name == "sqlite"
    ) else [name for (name,) in rows(store, "select tablename from pg_tables where schemaname = 'public'")]  # fmt: skip
    return {name: sorted(map(str, rows(store, f"select * from {name}"))) for name in sorted(tables)}


@BOTH
@pytest.mark.parametrize("size", [1, 4])
def test_outcomes_and_links_are_those_of_the_town_without_the_forgotten(kind, size):
    with a_place(kind) as place:
        store, _ = crawled(place, size=size)
        assert agrees(store, (), ()) >= 14
        before = {row[0]: [to for to, _ in row[-1]] for row in derived(store)}
        forgotten(store, "1003", "@PERSON9", "1000")
        people = (0, 3, 9)
        gone = gone_posts(people)
        assert any(int(key.split("-")[0]) not in people for key in gone), "reposts by others"
        assert agrees(store, people, gone) >= 12
        for number, *_, links in derived(store):
            left = {to for to, _ in links}
            assert number is None or [to for to, _ in links] == [to for to in before[number] if to in left]
        held = {key for (key,) in rows(store, "select id from post")}
        assert held
        assert not held & gone
        close(store)


@settings(deadline=None, max_examples=12)
@given(
    st.sets(st.integers(0, PEOPLE - 1), max_size=4), st.sets(st.integers(0, PEOPLE - 1), max_size=6), st.integers(0, 9)
)
def test_any_people_and_posts_can_be_forgotten(people, authors, j):
    with a_place("sqlite") as place:
        store, _ = crawled(place, size=3)
        posts = {f"{number}-{j % ((number * 7 + 2) % 10)}" for number in authors if (number * 7 + 2) % 10}
        if not people | posts:
            return close(store)
        forgotten(store, *(person(number).id for number in sorted(people)), posts=sorted(posts))
        agrees(store, people, gone_posts(people, posts))
        once = everything(store)
        again = forgotten(store, *(person(number).id for number in sorted(people)), posts=sorted(posts))
        assert again.is_empty
        assert everything(store) == once
        return close(store)


def test_nothing_of_the_forgotten_is_left_in_the_files_of_the_database():
    with a_place("sqlite") as place:
        store, _ = crawled(place)
        words = [b"secret-of-1003", b"person3 ", b'person3"', b"person3/", b'"1003"', b"3-0", b"3-1"]
        before = b"".join(file.read_bytes() for file in place.parent.iterdir()).lower()
        assert all(before.count(word) for word in words)
        forgotten(store, "1003")
        files = [file for file in place.parent.iterdir() if file.is_file()]
        left = b"".join(file.read_bytes() for file in files).lower()
        assert [left.count(word) for word in (*words[:5], b"1003")] == [0] * 6
        assert rows(store, "select id from post where id in ('3-0', '13-0')") == [("13-0",)]
        assert b"secret-of-1007" in left
        close(store)


@BOTH
@pytest.mark.parametrize("crowd", [0, 30])
def test_no_row_of_any_table_names_the_forgotten(kind, crowd):
    with a_place(kind) as place:
        store, _ = crawled(place)
        gone = node_of(store, "1003")
        forgotten(store, "1003", *(f"@stranger{i}" for i in range(crowd)))
        whole = "\n".join(row for lines in everything(store).values() for row in lines).lower()
        assert "1003" not in whole
        assert "@forgotten" in whole
        assert not [word for word in whole.replace("'", " ").split() if word.strip('@",[]()/') == "person3"]
        assert rows(store, f"select {', '.join(PERSONAL)} from account where node = {gone}") == [
            (None,) * len(PERSONAL)
        ]
        assert rows(store, "select node, forgotten_at from account where forgotten_at is not null") == [
            (gone, format_time(LATER))
        ]
        assert rows(store, f"select 1 from mention where node = {gone}") == []
        cut = {f"3-{j}" for j in range(10)}
        for column in ("reply_to", "quote_of", "conversation_id", "repost_of", "id"):
            assert not {key for (key,) in rows(store, f"select {column} from post")} & cut
        close(store)


@BOTH
def test_a_dry_run_shows_every_row_that_is_stored_about_the_named_and_that_an_erasure_removes_or_empties(kind):
    def read_rows(table):
        found = store.connection.execute(select(table).order_by(*table.primary_key.columns)).mappings()
        rows = [dict(row) for row in found]
        store.connection.rollback()
        keys = [column.name for column in table.primary_key.columns]
        return {tuple(row[key] for key in keys): row for row in rows}

    with a_place(kind) as place:
        store, _ = crawled(place)
        mine, tables = node_of(store, "1003"), forgotten(store, "1003", posts=["7-0"], dry=True, shown=10_000).stored
        shown = {name: table.rows for name, table in tables.items()}
        assert all(table.total == len(table.rows) for table in tables.values())
        assert {name: {*table.columns} for name, table in tables.items()} == {
            name: {column for row in listed for column in row} for name, listed in shown.items()
        }
        assert {"account", "post", "mention", "hit", "pick", "outcome", "link"} <= set(shown)
        before = {name: read_rows(metadata.tables[name]) for name in metadata.tables}
        forgotten(store, "1003", posts=["7-0"])
        for name, old in before.items():
            keys = [column.name for column in metadata.tables[name].primary_key.columns]
            listed = {tuple(row[key] for key in keys): row for row in shown.get(name, ())}
            assert all(row == {k: v for k, v in old[key].items() if v is not None} for key, row in listed.items()), name
            new = read_rows(metadata.tables[name])
            removed = {key for key in old if key not in new}
            if name in ("account", "post", "mention", "hit", "follow"):
                assert removed <= set(listed), name
            if name in ("post", "mention", "hit", "follow"):
                assert removed == set(listed), name
        assert [row["node"] for row in shown["account"]] == [mine]
        assert {row["node"] for name in ("pick", "outcome") for row in shown[name]} == {mine}
        close(store)


def test_of_many_who_are_named_a_dry_run_shows_counts_only():
    with a_place("sqlite") as place:
        store, _ = crawled(place)
        assert forgotten(store, *(str(1000 + i) for i in range(21)), dry=True, shown=5).stored is None
        assert forgotten(store, "@not_there", dry=True, shown=5).stored == {}
        close(store)


def test_a_dry_run_reads_no_more_rows_than_are_shown_and_counts_the_others():
    with a_place("sqlite") as place:
        store, _ = crawled(place)
        every = forgotten(store, "1003", dry=True, shown=10_000).stored
        assert every["post"].total > 1
        first = forgotten(store, "1003", dry=True, shown=1).stored
        assert {name: (table.total, table.columns, table.rows) for name, table in first.items()} == {
            name: (table.total, table.columns, table.rows[:1]) for name, table in every.items()
        }
        assert forgotten(store, "1003", dry=True).stored is None, "nobody sees them"
        close(store)


def test_rows_of_picks_are_found_by_an_index():
    with a_place("sqlite") as place:
        store, _ = crawled(place)
        asked = []
        store.connection.connection.driver_connection.set_trace_callback(asked.append)
        forgotten(store, "1003", dry=True, shown=5)
        store.connection.connection.driver_connection.set_trace_callback(None)
        targets.create_key_tables(store.connection)
        for name in ("shadow", "outcome", "pick", "post", "mention"):
            statement = next(one for one in asked if f" count({name}." in one)
            plan = [row[-1] for row in store.connection.exec_driver_sql(f"explain query plan {statement}")]
            assert not [line for line in plan if re.match(rf"SCAN {name}\b", line)], plan
        close(store)


def test_a_dry_run_says_what_would_go_and_changes_nothing():
    with a_place("sqlite") as place:
        store, _ = crawled(place)
        before = everything(store)
        told = forgotten(store, "1003", "@nobody", "77", posts=["7-0", "no-such"], dry=True)
        assert everything(store) == before
        real = forgotten(store, "1003", "@nobody", "77", posts=["7-0", "no-such"])
        assert real == told
        after = everything(store)
        for table in ("post", "mention", "hit"):
            assert len(before[table]) - len(after[table]) == real.counts[table] > 0
        assert len(after["tombstone"]) == real.counts["tombstone"]
        assert real.counts["account"] == 2  # person 3, and the name nobody goes by
        assert real.unheld == ["user:77", "post:no-such"]
        assert forgotten(store, "77", posts=["7-0"]).before == ["user:77", "post:7-0"]
        close(store)


def test_nothing_is_forgotten_while_a_campaign_runs():
    with a_place("sqlite") as place:
        store, _ = crawled(place)
        before = everything(store)
        lease = Lease(store.connection, "tiny")
        with pytest.raises(StoreError, match="'tiny'"):
            forgotten(store, "1003")
        lease.release()
        assert everything(store) == before
        assert forgotten(store, "1003").counts["account"] == 1
        close(store)


@BOTH
@pytest.mark.parametrize("size", [1, 3])
def test_the_crawl_goes_on_without_the_forgotten_and_its_changed_history_gives_its_picks(kind, size):
    with a_place(kind) as place:
        store, wire = crawled(place, size=size, steps=6)
        people = {7, 3}
        forgotten(store, "1007", "@person3")
        ((number, first, why),) = rows(store, "select number, first, why from epoch where number > 0")
        assert (number, why) == (1, "forget")
        assert first == rows(store, "select max(n) + 1 from pick")[0][0]
        close(store)
        asked = len(wire.calls)
        store, wire = crawled(place, wire, size=size, steps=14)
        assert len(wire.calls) > asked
        assert not [
            call for call in wire.calls[asked:] if "1007" in call[1] or "1003" in call[1] or "person3" in call[1]
        ]
        chosen, kept = replayed(store, first, size=size)
        assert chosen == kept
        assert len(kept) >= 3
        nodes = {node for (node,) in rows(store, "select node from account where forgotten_at is not null")}
        assert not nodes & {pick.node for batch in kept for pick in batch}
        agrees(store, people, gone_posts(people))
        whole = "\n".join(row for lines in everything(store).values() for row in lines).lower()
        assert "1007" not in whole
        assert "1003" not in whole
        assert "secret-of-1007" not in whole
        close(store)


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("stop", range(0, 26, 2))
def test_whoever_is_forgotten_while_a_batch_is_open_is_not_asked_again(size, stop):
    """At any request: a search, a look-up of seeds, between two pages of a timeline."""
    with a_place("sqlite") as place:
        store, wire = crawled(place, size=size, stop=stop)
        open_before = store.unfinished()
        people = {0, 7, 4}
        forgotten(store, "1000", "@PERSON0", "@person7", "1004")
        assert [pick.node for pick in store.unfinished()] == [pick.node for pick in open_before]
        close(store)
        asked = len(wire.calls)
        store, wire = crawled(place, wire, size=size)
        for _, named, _ in wire.calls[asked:]:
            assert not any(
                word in named.lower().replace("'", ",").split(",") for word in ("1000", "1007", "person0", "person7")
            )
        agrees(store, people, gone_posts(people))
        first = rows(store, "select max(first) from epoch")[0][0]
        chosen, kept = replayed(store, first, size=size)
        assert chosen == kept
        assert kept
        assert all(row[3] == "forgotten" for number, *row in derived(store) if number is None)
        close(store)


class Silent(Town):
    """The town, whose search does not tell whom posts mention: who is named as a seed is known by that only."""

    def answer(self, endpoint, params, begin):
        page, cursor = super().answer(endpoint, params, begin)
        return (replace(page, mentions=[]) if endpoint == SEARCH else page), cursor


@BOTH
@pytest.mark.parametrize("town", [Town, Silent])
@pytest.mark.parametrize("stop", [None, 1, 2])
def test_whoever_was_forgotten_by_id_is_not_asked_when_a_name_turns_out_to_be_theirs(kind, town, stop):
    """The name, which the campaign file has, is told by a post that mentions them, or by the look-up itself."""
    with a_place(kind) as place:
        store = stored(place)
        forgotten(store, "1000", "1007")
        store, wire = crawled(place, town(Clock()), store=store, stop=stop)
        close(store)
        store, _ = crawled(place, wire)
        assert bool([call for call in wire.calls if "person0" in call[1].lower()]) == (town is Silent)
        assert not [call for call in wire.calls if "'1000'" in call[1]]
        (asked,) = rows(store, "select n, node from outcome where missing = 'forgotten'")
        assert (asked[1],) in rows(store, "select node from pick where act = 'resolve' order by n limit 1")
        assert "person0" not in str(rows(store, "select settings, identity from campaign")).lower()
        held = [rows(store, f"select * from {table}") for table in ("account", "request")]
        assert "person0" not in str(held).lower()
        with store.connection.begin():
            assert find_forgotten(store.connection, "x", "name", ["PERSON0", "person11"]) == {"PERSON0"}
        chosen, kept = replayed(store, 0)
        assert chosen == kept
        close(store)


def test_a_forgotten_seed_keeps_its_seat_whether_the_file_still_names_it_or_not():
    with a_place("sqlite") as place:
        store, _ = crawled(place, steps=3)
        node = node_of(store, "1000")
        forgotten(store, "@person0")
        (told,) = rows(store, "select settings, identity from campaign")
        assert "PERSON0" not in "".join(told)
        for names in (["PERSON0", "person11", "nobody"], ["person11", "nobody"]):
            seats = store.enlist(names, LATER)
            assert seats[0] == node
            assert len(seats) == 3
        assert rows(store, "select count(*) from account where handle = 'person0'") == [(0,)]
        close(store)


@BOTH
def test_what_was_fetched_long_ago_goes_and_its_accounts_stay_known(kind):
    with a_place(kind) as place:
        store, wire = crawled(place, steps=5)
        wire.clock.time += 5000.0
        close(store)
        middle = wire.clock.time - 100.0
        store, _ = crawled(place, wire, steps=10)
        old = {key for (key,) in rows(store, f"select id from post where fetched_at < '{format_time(middle)}'")}
        young = {key for (key,) in rows(store, "select id from post")} - old
        names = rows(store, "select node, platform_id, username, handle from account order by node")
        assert old
        assert young
        report = aged(store, middle)
        assert report.counts["post"] == len(old)
        assert {key for (key,) in rows(store, "select id from post")} == young
        assert rows(store, "select node, platform_id, username, handle from account order by node") == names
        assert rows(store, f"select 1 from account where profile_at < '{format_time(middle)}'") == []
        assert rows(store, "select 1 from account where description is not null and profile_at is null") == []
        for number, value, count, posts, missing, links in derived(store):
            if missing is None:
                hits, left, targets = read_of(number, (), old)
                assert (value, count, posts) == (compute_worth(hits), hits, left)
                assert links == [(to, compute_worth(many)) for to, many in targets.items()]
        assert rows(store, "select why from tombstone group by why") == [("retain",)]
        assert rows(store, "select why from epoch order by number") == [("begun",), ("retain",)]
        assert aged(store, middle).is_empty
        first = rows(store, "select max(first) from epoch")[0][0]
        close(store)
        store, _ = crawled(place, wire, steps=14)
        assert not old & {key for (key,) in rows(store, "select id from post")}
        chosen, kept = replayed(store, first)
        assert chosen == kept
        assert kept
        close(store)


def test_a_database_that_cannot_be_written_is_an_error_in_words_and_loses_nothing():
    with a_place("sqlite") as place:
        store, _ = crawled(place)
        before = everything(store)
        with closing(sqlite3.connect(place)) as other:
            other.execute("begin immediate")
            store.connection.connection.cursor().execute("pragma busy_timeout = 50").close()
            assert forgotten(store, "1003", dry=True).counts["account"] == 1, "to look is to write nothing"
            with pytest.raises(StoreError, match="locked"):
                erase(store.connection, partial(forget, order=order("1003"), now=format_time(LATER)))
            other.rollback()
        assert everything(store) == before
        close(store)
