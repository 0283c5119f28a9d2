"""Every change of a campaign's settings is kept with its time; the forgotten are named in none of them."""

from dataclasses import replace
from functools import partial

import orjson
import pytest
from changed_campaigns import File, Sky, begun, crawled, epochs, parts_of, rows, told
from exported_towns import exported
from hypothesis import given
from hypothesis import strategies as st
from stores import a_database
from tiny_town import BEGIN

from socialcrawl.engine.model import Node, format_time
from socialcrawl.graph.relevance import Topic
from socialcrawl.storage.campaigns import ensure_campaign, read_query_history
from socialcrawl.storage.erasure.execution import erase
from socialcrawl.storage.erasure.forgetting import forget
from socialcrawl.storage.erasure.orders import read_order
from socialcrawl.storage.erasure.seed_slots import list_names, reassign_slots, remove_names
from socialcrawl.storage.identity import compare_identities, list_parts, read_queries, read_texts
from socialcrawl.storage.sql_store import SqlStore
from socialcrawl.storage.versions import compare_file, compare_settings, find_version


def test_a_campaign_begins_with_version_0_and_gets_one_with_each_change(database):
    with a_database(database) as connection:
        file = File(steps=5)
        store = begun(connection, file)
        begun(connection, file, BEGIN + 1)
        assert told(store) == [(0, format_time(BEGIN), 0, file.settings, [])]
        crawled(store, Sky(), file)
        following = rows(store, "select max(n) + 1 from pick")[0][0]
        more = replace(file, steps=7)
        begun(connection, more, BEGIN + 2)
        begun(connection, more, BEGIN + 3)
        other = replace(more, word="moon", most=3, estimator="bfs")
        begun(connection, other, BEGIN + 4, change=True)
        assert told(store)[1:] == [
            (1, format_time(BEGIN + 2), following, more.settings, ["budget.steps"]),
            (2, format_time(BEGIN + 4), following, other.settings, ["crawl.estimator", "seeds.most", "topic.keywords"]),
        ]
        assert epochs(store) == [(0, "begun"), (following, "topic,seeds,crawl")]
        identity = orjson.loads(rows(store, "select identity from campaign")[0][0])
        assert identity == other.identity | {"queries": ["anything"]}
        assert [find_version(told(store), n).number for n in (0, following - 1, following, 10**6)] == [0, 0, 2, 2]


def test_a_campaign_without_versions_gets_the_one_it_was_begun_with(database):
    with a_database(database) as connection:
        store = begun(connection, File())
        with connection.begin():
            connection.exec_driver_sql("delete from version")
        begun(connection, File(steps=8), BEGIN + 5)
        assert [one[:3] + one[4:] for one in told(store)] == [
            (0, format_time(BEGIN), 0, []), (1, format_time(BEGIN + 5), 0, ["budget.steps"])
        ]  # fmt: skip


def test_names_that_only_a_file_of_seeds_has_make_a_version_too():
    with a_database("sqlite") as connection:
        file = File(usernames=("Person1",))
        named = replace(file, usernames=("Person1", "Person2"))
        store = begun(connection, file)
        settings = named.settings | {"seeds": file.settings["seeds"]}
        ensure_campaign(connection, settings, named.identity, BEGIN, change=named.change)
        assert [one.changed for one in told(store)] == [[], ["seeds.usernames"]]


@pytest.mark.parametrize(
    ("before", "after", "keys"),
    [
        ({"a": {"b": 1, "c": {"d": 2}}}, {"a": {"b": 1, "c": {"d": 3}}, "e": []}, ["a.c.d"]),
        (
            {"database": "a/x.db", "seeds": {"file": "names"}},
            {"database": "../b/x.db", "seeds": {"file": "c\\names"}},
            [],
        ),
        ({"database": "x.db"}, {"database": "y.db"}, ["database"]),
        ({"seeds": {"usernames": ["ann", 5, None]}}, {"seeds": {"usernames": ["ann"]}}, []),
        ({"seeds": {"usernames": ["ann"]}}, {"seeds": {"usernames": ["ann", "bob"]}}, ["seeds.usernames"]),
        ({"z": 0, "y": False}, {"z": None}, ["y", "z"]),
        ({"z": "1"}, {"b": "1"}, ["b", "z"]),
    ],
)
def test_keys_that_changed_are_dotted_and_in_order(before, after, keys):
    assert compare_settings(before, after) == compare_settings(after, before) == keys


@pytest.mark.parametrize(
    ("given", "keys"),
    [({}, []), ({"model_checksum": None}, []), ({"model_checksum": "cd"}, ["topic.model_checksum"]),
     ({"model": "other.json"}, ["topic.model"])],
)  # fmt: skip
def test_a_file_that_leaves_out_the_checksum_of_its_model_differs_in_nothing(given, keys):
    stored = {"topic": {"model": "models/a.json", "model_checksum": "ab"}}
    assert compare_file(stored, {"topic": {"model": "a.json"} | given}) == keys


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.sampled_from(["", "a"]), st.just([])),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
)
TABLES = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


@given(TABLES, TABLES)
def test_nothing_changed_in_the_same_settings_and_each_key_that_did_has_two_values(one, other):
    def at(table, key):
        for part in key.split("."):
            table = table.get(part) if isinstance(table, dict) else None
        return table

    assert compare_settings(one, one) == []
    for key in compare_settings(one, other):
        assert at(one, key) != at(other, key)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_forgotten_are_named_in_no_version(kind):
    file = File(usernames=("PERSON0", "person11", "Person13"), more={"accounts": {"exclude": ["Person7", "*_bot"]}})
    with a_database(kind) as connection:
        store, wire = begun(connection, file), Sky()
        crawled(store, wire, file)
        later = replace(file, usernames=("person11", "Person16"), steps=11)
        begun(connection, later, change=True)
        order = read_order(["@person0", "@person13", "1007"], [], None, None)
        erase(connection, partial(forget, order=order, now=format_time(BEGIN + 9)))
        held = rows(store, "select settings, changed from version order by number")
        held += rows(store, "select settings, identity from campaign")
        for name in ("person0", "person13", "person7"):
            assert name not in str(held).lower()
        assert "person11" in str(held).lower()
        assert "*_bot" in str(held)
        numbers = [one.number for one in told(store)]
        begun(connection, later)
        assert [one.number for one in told(store)] == numbers, "the file may still name them"
        seats = parts_of(store, wire, later).crawl.seeds.unresolved
        assert rows(store, "select count(*) from account where handle in ('person0', 'person13')") == [(0,)]
        assert len(seats) == 4


def test_names_go_from_settings_wherever_they_stand():
    told_ = {
        "seeds": {"usernames": ["Ann", "@Bob"]},
        "accounts": {"exclude": ["@ANN", "x*"], "include": ["bob", "ann"]},
    }
    left = remove_names(told_, {"ann"}, {"ann": 3}.get)
    assert left == {"seeds": {"usernames": [3, "@Bob"]}, "accounts": {"exclude": ["x*"], "include": ["bob"]}}
    assert told_["seeds"]["usernames"] == ["Ann", "@Bob"]
    assert list_names(told_) == ["ann", "bob", "ann", "x*", "bob", "ann"]
    assert remove_names(left, {"ann"}, {}.get) is left


def test_seats_that_were_taken_stay_in_their_order():
    number = {"ann": 1, "Carl": 3}.__getitem__
    held = ["ann", 7, None, "@Bob", "Carl"]
    assert reassign_slots(held, ["dora", "bob"], set(), 4, number) == [1, 7, None, "@Bob", 3, "dora"]
    assert reassign_slots(held, ["dora", "bob"], set(), 1, number) == [1, 7, None, "@Bob", "dora"]
    assert reassign_slots(held, [], set(), -1, number) == [7, None]
    assert reassign_slots(held, ["ANN", "bob", "carl", "eve"], {"eve"}, 4, number) == held


def test_queries_keep_their_numbers_and_new_ones_come_last():
    identity = {"topic": {"keywords": ["b", "a b"], "patterns": []}, "seeds": {"search": True}}
    (own,) = Topic(["b", "a b"]).build_queries()
    assert read_texts(identity) == [own]
    assert read_queries(identity, [own]) == ([own], [-1])
    assert read_queries(identity, ["new", own, "new"]) == ([own, "new"], [-2, -1])
    assert read_texts(identity | {"seeds": {"search": False}}) == read_texts({}) == []
    kept = identity | {"queries": ["x", "y"]}
    assert read_queries(kept, ["z", "x"]) == (["x", "y", "z"], [-3, -1])


def test_what_says_nothing_is_the_same_as_what_is_not_there():
    held = {"seed": 1, "topic": {"keywords": ["a"]}, "crawl": {"strategy": "altered"}, "queries": ["q"]}
    given_ = {"seed": 1, "topic": {"keywords": ["a"], "languages": []}, "crawl": {}, "accounts": {"exclude": ["bob"]}}
    found = compare_identities(held, given_, set())
    assert [str(one) for one in found] == ["[crawl] strategy was 'altered'", "[accounts] exclude was not set"]
    assert [one.dotted_key for one in found] == ["crawl.strategy", "accounts.exclude"]
    assert list_parts(found) == ["crawl", "accounts"]
    assert [one.dotted_key for one in compare_identities(held, given_, {"bob"})] == ["crawl.strategy"]


def test_a_program_that_searches_the_same_topic_by_other_texts_gives_them_numbers_of_their_own(database):
    with a_database(database) as connection:
        file = File(queries=("star",))
        store, wire = begun(connection, file), Sky()
        crawled(store, wire, file)
        first = rows(store, "select max(n) + 1 from pick")[0][0]
        newer = replace(file, queries=("moon",))
        begun(connection, newer)
        begun(connection, newer)
        assert epochs(store)[1:] == [(first, "seeds")]
        assert read_query_history(connection, store.campaign, ["moon"]) == read_query_history(
            connection, store.campaign, ("moon",)
        )
        known = read_query_history(connection, store.campaign, ["moon"])
        assert (known.texts, known.queries, known.topics) == (["star", "moon"], [Node(-2)], [])


def test_an_export_tells_the_settings_as_they_are_now_and_a_rehearsal_is_one_from_first_to_last(database, tmp_path):
    def asking(file, url):
        return file.settings | {"source": file.settings["source"] | {"base_url": url}}

    with a_database(database) as connection:
        star, moon = File("star"), File("moon")
        number = ensure_campaign(connection, asking(star, "http://127.0.0.1:1"), star.identity, BEGIN)
        crawled(SqlStore(connection, number, "x"), Sky(), star)
        ensure_campaign(connection, asking(moon, "http://127.0.0.1:2"), moon.identity, BEGIN, change=moon.change)
        (found,) = exported(connection, tmp_path / "a", "csv")["campaigns"]
        assert (found["settings"]["topic"], found["rehearsal"]) == ({"keywords": ["moon"]}, True)
        assert [epoch["why"] for epoch in found["epochs"]] == ["begun", "topic"]
        ensure_campaign(connection, asking(moon, None), moon.identity, BEGIN)
        ensure_campaign(connection, asking(moon, "http://127.0.0.1:2"), moon.identity, BEGIN)
        (found,) = exported(connection, tmp_path / "b", "csv")["campaigns"]
        assert found["rehearsal"] is False
