"""The full-text index: what it keeps, what an erasure leaves of it, and who waits for it."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from erasure_towns import crawled, forgotten
from found_posts import BEGIN, change_text, find, index_all, page_of_texts, post_row
from stores import a_place, a_store, rows, save
from tiny_town import close, stored

from socialcrawl.engine.model import Page, format_time
from socialcrawl.errors import StoreError
from socialcrawl.storage.database.health import open_existing
from socialcrawl.storage.database.readonly import run_query
from socialcrawl.storage.erasure import execution
from socialcrawl.storage.erasure.forgetting import forget, forget_deleted, retain
from socialcrawl.storage.erasure.orders import read_order
from socialcrawl.storage.post_search import index
from socialcrawl.storage.schema.tables import metadata

BOTH = pytest.mark.parametrize("kind", ["sqlite", "postgres"])
QUERY = "select * from nosuchtable"
LATER = format_time(BEGIN + 10**6)


def index_text(store):
    """All that the tables of the index hold, as text; of FTS5 its blocks as they are."""
    if store.connection.dialect.name == "postgresql":
        names = index.list_tables(store.connection)
        return "".join(str(rows(store, f"select * from {name}")) for name in names)
    names = [name for (name,) in rows(store, "select name from sqlite_master where type = 'table' and rootpage > 0")]
    found = [row for name in names if name.startswith("search_") for row in rows(store, f"select * from {name}")]
    return "".join(one.decode("latin-1") if isinstance(one, bytes) else str(one) for row in found for one in row)


@BOTH
@pytest.mark.parametrize("way", ["forget", "forget_deleted", "retain"])
def test_what_is_erased_is_out_of_the_index_in_the_same_transaction(kind, way):
    with a_store(kind) as store:
        save(store, page_of_texts(["a harmless moon", "the unspeakablesecret moon"]))
        index_all(store)
        save(store, page_of_texts(["an unspeakablerumour moon"], first=5), 1)
        assert "speakablesecret" in index_text(store)
        with store.connection.begin():
            if way == "forget":
                forget(store.connection, read_order([], ["1", "5"], None, None), LATER)
            elif way == "forget_deleted":
                forget_deleted(store.connection, ["1", "5"], [], LATER, "x")
            else:
                retain(store.connection, LATER, LATER)
            if store.connection.dialect.name == "postgresql":
                left = store.connection.exec_driver_sql("select post from search_post").scalars().all()
                assert left == ([] if way == "retain" else ["0"])
        text = index_text(store)
        assert "speakablesecret" not in text
        assert "speakablerumour" not in text
        assert find(store, "unspeakable*") == []
        assert find(store, "harmless") == ([] if way == "retain" else ["0"])
        index_all(store)
        assert find(store, "moon") == ([] if way == "retain" else ["0"])


@BOTH
def test_a_name_that_is_replaced_in_the_text_of_others_is_out_of_the_index(kind):
    with a_place(kind) as place:
        store, _ = crawled(place)
        change_text(store, rows(store, "select id from post where author <> 3 limit 1")[0][0], "moon by @person3 here")
        index_all(store)
        assert len(find(store, "moon")) == 1
        assert find(store, "@person3") != []
        forgotten(store, "1003")
        assert "person3" not in index_text(store).replace("person30", "")
        index_all(store)
        assert find(store, "@person3") == []
        assert len(find(store, "moon @forgotten")) == 1
        close(store)


@pytest.mark.parametrize("erases", [False, pytest.param(True, marks=pytest.mark.skipif(
    not index.ERASES, reason="FTS5 of this SQLite cannot remove words: 3.42 can"))])  # fmt: skip
def test_after_an_erasure_no_file_of_the_database_has_a_word_of_what_went(erases, monkeypatch):
    monkeypatch.setattr(index, "ERASES", erases)
    with a_store("sqlite") as store:
        texts = [f"unspeakable{number}secret moon" for number in range(300)]
        save(store, page_of_texts(texts))
        index_all(store)
        order = read_order([], list(map(str, range(0, 300, 2))), None, None)
        execution.erase(store.connection, lambda connection: forget(connection, order, LATER))
        assert index.has_index(store.connection) == erases
        (file,) = {row[2] for row in rows(store, "pragma database_list") if row[2]}
        data = b"".join(part.read_bytes() for part in Path(file).parent.glob(Path(file).name + "*"))
        assert data.count(b"unspeakable") >= 150
        assert [number for number in range(0, 300, 2) if b"unspeakable%dsecret" % number in data] == []
        index_all(store)
        assert len(find(store, "moon")) == 150


@BOTH
def test_a_dry_run_of_an_erasure_leaves_the_index_as_it_is(kind):
    with a_store(kind) as store:
        save(store, page_of_texts(["the moon"]))
        index_all(store)
        before = index_text(store)
        order = read_order([], ["0"], None, None)
        execution.erase(store.connection, lambda connection: forget(connection, order, LATER), dry=True)
        assert index_text(store) == before
        assert find(store, "moon") == ["0"]


@BOTH
def test_the_index_is_filled_in_small_transactions_between_which_others_write(kind, monkeypatch):
    monkeypatch.setattr(index, "CHUNK", 10)
    with a_store(kind) as store:
        save(store, page_of_texts(["the moon"] * 35))
        counts = []
        for count in index.update_index(store.connection):
            counts.append(count)
            if len(counts) == 2:
                save(store, page_of_texts(["a new moon"], first=99), 1)  # would fail within a transaction
        assert counts[:2] == [10, 20]
        assert counts[-1] in (36, 37)  # the new one is both noted and read on PostgreSQL
        assert all(after - before <= 10 for before, after in pairwise(counts))
        assert len(find(store, "moon")) == 36


@BOTH
def test_an_index_changes_nothing_that_is_stored_and_is_no_table_of_the_schema(kind):
    with a_store(kind) as store:
        save(store, page_of_texts(["the moon"] * 3))
        before = {name: rows(store, f"select * from {name}") for name in metadata.tables}
        index_all(store)
        assert index.list_tables(store.connection)
        assert not {*index.TABLES} & {*metadata.tables}
        assert {name: rows(store, f"select * from {name}") for name in metadata.tables} == before
        with store.connection.begin():
            index.drop_index(store.connection)
        assert index.list_tables(store.connection) == []


def test_an_index_that_lost_a_trigger_is_made_anew():
    with a_store("sqlite") as store:
        save(store, page_of_texts(["the moon"]))
        index_all(store)
        with store.connection.begin():
            store.connection.exec_driver_sql("drop trigger search_delete")
        assert find(store, "moon") == ["0"]
        assert index_all(store) == 1
        assert find(store, "moon") == ["0"]


def test_a_second_that_is_full_goes_on_in_the_next(monkeypatch):
    monkeypatch.setattr(index, "BITS", 1)
    with a_store("sqlite") as store:
        save(store, Page([post_row(key, "moon") for key in range(5)], [0] * 5, []))
        assert index_all(store) == 5
        keys = [key for (key,) in rows(store, "select key from search_post order by key")]
        assert keys == [2 * BEGIN + place for place in range(5)]


def test_a_connection_that_may_not_write_finds_the_same_and_queries_are_not_offered_its_tables(tmp_path):
    with a_place("sqlite", tmp_path) as place:
        store = stored(place)
        save(store, page_of_texts(["the moon"]))
        index_all(store)
        save(store, page_of_texts(["a late moon"], first=7), 1)
        with open_existing(place) as reader:
            assert find(SimpleNamespace(connection=reader), "moon") == ["7", "0"]
        close(store)
        with pytest.raises(StoreError, match="Tables are") as found, run_query(place, QUERY, 5.0, lambda: 0.0):
            pass
        assert "search_" not in str(found.value)
