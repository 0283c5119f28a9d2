"""A search finds the same posts on SQLite and PostgreSQL, with an index, without one, and with one that is behind."""

import random

import pytest
from example_counts import many
from found_posts import BEGIN, change_text, find, index_all, page_of_texts, post_row
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import a_place, a_store, rows, save
from tiny_town import close, stored

from socialcrawl.engine.model import Page
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.storage.post_search import index
from socialcrawl.storage.post_search.reading import PostFilter, PostKey, find_posts, parse_cursor
from socialcrawl.text.post_query import parse_query

BOTH = pytest.mark.parametrize("kind", ["sqlite", "postgres"])
WORDS = ("moon", "star", "sky", "café", "東京都", "#moon", "@ann", "moonlight", "clear")
QUERIES = ("moon", '"moon star"', "star -sky", "moon*", "#moon", "@ann", "京都", "京", "cafe OR clear",
           'star -"clear sky" -#moon', '"sky 東京都 moon"', "nothing", "東京 -moon OR @ann sky")  # fmt: skip


def drawn(number, seed=3):
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, 5))) for _ in range(number)]


@BOTH
def test_plain_words_find_the_posts_that_have_them_newest_first(kind):
    texts = drawn(120)
    has = [set(text.replace("#", "").replace("@", "").replace("é", "e").split()) for text in texts]
    with a_store(kind) as store:
        save(store, page_of_texts(texts))
        for made in (False, True):
            for word in ("moon", "star", "cafe"):
                expected = [str(place) for place in range(119, -1, -1) if word in has[place]]
                assert find(store, word) == expected, made
            assert find(store, "moon sky -star") == [
                str(place) for place in range(119, -1, -1) if {"moon", "sky"} <= has[place] and "star" not in has[place]
            ]
            index_all(store)


@BOTH
def test_an_index_finds_what_reading_every_text_finds_and_so_does_one_that_is_behind(kind, monkeypatch):
    monkeypatch.setattr(index, "CHUNK", 7)
    with a_store(kind) as store:
        save(store, page_of_texts(drawn(60)))
        assert index_all(store) == 60
        save(store, page_of_texts(drawn(40, 4), BEGIN - 1000, first=100), 1)
        change_text(store, "3", "nothing at all")
        next(index.update_index(store.connection))
        behind = {query: find(store, query) for query in QUERIES}
        assert index_all(store) > 0
        assert index_all(store) == 0
        newest = {query: find(store, query) for query in QUERIES}
        with store.connection.begin():
            index.drop_index(store.connection)
        assert behind == newest == {query: find(store, query) for query in QUERIES}
        assert newest["nothing"] == ["3"]


@BOTH
@pytest.mark.parametrize("indexed", [False, True])
def test_pages_follow_each_other_without_a_gap_or_a_repeat_also_among_posts_of_one_second(kind, indexed):
    with a_store(kind) as store:
        times = [BEGIN, BEGIN + 0.5, None, BEGIN + 1, BEGIN + 0.5]
        save(store, Page([post_row(key, "moon", times[key % 5]) for key in range(60)], [0] * 60, []))
        if indexed:
            index_all(store)
        whole = find(store, "moon")
        assert sorted(whole, key=int) == [str(key) for key in range(60)]
        assert [times[int(key) % 5] for key in whole] == sorted((times * 12), key=lambda at: -(at or 0))
        pages, after = [], None
        while page := list(find_posts(store.connection, parse_query("moon"), PostFilter(after=after), 7)):
            pages += [key.id for key in page]
            after = page[-1]
        assert pages == whole


@BOTH
@pytest.mark.parametrize("indexed", [False, True])
def test_a_search_is_limited_to_an_author_a_time_and_the_topic(kind, indexed):
    with a_store(kind) as store:
        rows_ = [post_row(key, "moon", BEGIN + key, author=str(1000 + key % 2)) for key in range(6)]
        save(store, Page(rows_, [1, 0, 0, 1, 0, 0], []))
        if indexed:
            index_all(store)
        assert find(store, "moon", author="1001") == ["5", "3", "1"]
        assert find(store, "moon", campaign=1) == ["3", "0"]
        second = 1_000_000
        assert find(store, "moon", since=(BEGIN + 2) * second, until=(BEGIN + 4) * second) == ["3", "2"]
        assert find(store, "moon", 1, until=(BEGIN + 4) * second + 1) == ["4"]
        with pytest.raises(StoreError, match=r"No account in this database has the username or id 'nobody'"):
            find(store, "moon", author="nobody")


@BOTH
def test_a_post_whose_text_changes_is_found_by_its_new_words_only(kind):
    with a_store(kind) as store:
        save(store, page_of_texts(["old words", "other words"]))
        index_all(store)
        change_text(store, "0", "new words")
        for _ in range(2):
            assert find(store, "old") == []
            assert find(store, "new") == ["0"]
            assert find(store, "words") == ["1", "0"]
            index_all(store)
        change_text(store, "0", "old words")
        change_text(store, "0", "third words")
        index_all(store)
        assert (find(store, "old"), find(store, "new"), find(store, "third")) == ([], [], ["0"])


@BOTH
def test_a_post_that_is_deleted_is_not_found_and_may_come_back(kind):
    with a_store(kind) as store:
        save(store, page_of_texts(["the moon", "the sky", "the star"]))
        index_all(store)
        for key in ("2", "0"):
            with store.connection.begin():
                store.connection.exec_driver_sql(f"delete from post where id = '{key}'")
            assert find(store, "the") == (["1", "0"] if key == "2" else ["1"])
        save(store, page_of_texts(["a moon"], first=7), 1)
        save(store, page_of_texts(["now a comet"]), 2)
        for _ in range(2):
            assert sorted(find(store, "moon OR the OR comet")) == ["0", "1", "7"]
            assert find(store, "comet") == ["0"]
            index_all(store)


def test_an_index_holds_after_sqlite_has_numbered_the_rows_anew():
    with a_store("sqlite") as store:
        save(store, page_of_texts(drawn(20)))
        index_all(store)
        with store.connection.begin():
            store.connection.exec_driver_sql("update post set rowid = rowid + 100")
        save(store, page_of_texts(["moon star"], first=50), 1)
        expected = [str(key) for key, text in enumerate(drawn(20)) if "star" in text.split()]
        for _ in range(2):
            assert sorted(find(store, "star")) == sorted([*expected, "50"])
            index_all(store)


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=30))
@settings(max_examples=many(60), deadline=None)
def test_no_query_is_an_error_of_the_database(searched, query):
    try:
        parse_query(query)
    except SettingsError:
        return
    found = [find(store, query) for store in searched]
    assert found[0] == found[1]


@pytest.fixture(scope="module")
def searched():
    texts = ["the moon", 'a "quoted" \\ text', "NEAR AND NOT", "x:* & y | !z", "東京", "ǅ ß ﬁ İ", "_a #_ @1 '"]
    with a_place("sqlite") as one, a_place("postgres") as other:
        stores = stored(one), stored(other)
        for store in stores:
            save(store, page_of_texts(texts))
            index_all(store)
        yield stores
        for store in stores:
            close(store)


@pytest.mark.parametrize("query", ["NEAR", '"quoted text"', "x* y*", "AND NOT", "NOT -NEAR", "'", "a'b", "\\", "a:b",
                                   "moon ^the", "東* OR 京*", "_a", "#_", "@1", "ss", "fi", "\x00moon"])  # fmt: skip
def test_the_operators_of_the_databases_are_words_like_others(searched, query):
    try:
        wanted = parse_query(query)
    except SettingsError:
        return
    texts = dict(rows(searched[0], "select id, text from post"))
    expected = sorted((key for key, text in texts.items() if wanted.matches(text)), key=int, reverse=True)
    assert [find(store, query) for store in searched] == [expected, expected]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_very_long_texts_and_words_are_found_by_what_counts_of_them(kind):
    with a_store(kind) as store:
        save(store, page_of_texts(["long " * 20_000 + "end", "w" * 5_000]))
        for _ in range(2):
            assert find(store, '"long long"') == ["0"]
            assert find(store, "end") == []
            assert find(store, "w" * 500) == ["1"]
            index_all(store)


@pytest.mark.parametrize("cursor", ["", "17", "yesterday/17", "2026-01-31/", "/"])
def test_what_is_no_place_in_a_search_is_refused(cursor):
    with pytest.raises(SettingsError, match="no place in a search"):
        parse_cursor(cursor)
    assert parse_cursor("1970-01-01T00:00:01.500Z/at://a/b") == PostKey(1_500_000, "at://a/b")
    assert parse_cursor("/17").moment < 0
