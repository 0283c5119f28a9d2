"""Campaigns that an earlier program counted otherwise: an epoch where keywords are touched, none elsewhere."""

import re
import sqlite3

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_mock_world import START, posts_of
from x_crawls import campaign_of, crawl, rows

from socialcrawl.graph.relevance import Topic
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.platforms.x.entities import ENTITIES
from socialcrawl.storage.counting_rule import COUNTING, RULE, CountingRule

TEXTS = {
    "ann": ["the sun", "#sun rises, @bob", "a⭐b and c"],
    "bob": ["#sunset", "#sun again", "⭐ said @ann"],
    "cat": ["sun sun", "no star", "see https://example.org/sun/1"],
    "dan": ["$SUN up", "https://example.org/sunny", "@cat"],
}


@pytest.fixture(scope="module")
def mock():
    written = [
        (name, START + place, texts[place], re.findall(r"@(\w+)", texts[place]))
        for place in range(3)
        for name, texts in TEXTS.items()
    ]
    with serve_in_thread(posts_of(written), limit=100_000) as found:
        yield found


def mine(mock, place, *keywords, **more):
    """The settings of a campaign about some keywords."""
    return campaign_of(mock.url, place / "a.db", topic={"keywords": list(keywords)}, **more)


def matched(place):
    """The texts of the posts that count, and how often."""
    return dict(rows(place / "a.db", "select text, occurrences from hit join post on post.id = hit.post"))


def epochs(place):
    return [why for (why,) in rows(place / "a.db", "select why from epoch order by number")]


def identity(place):
    return orjson.loads(rows(place / "a.db", "select identity from campaign")[0][0])


def made_earlier(place, *statements, queries=None):
    """Have a campaign look as a program with rule 1 left it."""
    was = {key: value for key, value in identity(place).items() if key != COUNTING}
    was |= {} if queries is None else {"queries": queries}
    connection = sqlite3.connect(place / "a.db")
    with connection:
        connection.execute("update campaign set identity = ?", [orjson.dumps(was).decode()])
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("keyword", "query", "found"),
    [
        ("#sun", "#sun", {"#sun rises, @bob": 1, "#sun again": 1}),
        ("$sun", "$sun", {"$SUN up": 1}),
        ("@cat", "@cat", {"@cat": 1}),
        ("https://example.org/sun", 'url:"example.org/sun"', {"see https://example.org/sun/1": 1}),
        ("sun", "sun", {"the sun": 1, "#sun rises, @bob": 1, "#sun again": 1, "sun sun": 2, "$SUN up": 1,
                        "see https://example.org/sun/1": 1}),
    ],
)  # fmt: skip
def test_what_a_keyword_finds_and_counts_on_x_is_what_x_takes_it_for(mock, tmp_path, keyword, query, found):
    crawl(mine(mock, tmp_path, keyword, crawl={"steps": 20}))
    (asked,) = rows(tmp_path / "a.db", "select distinct params from request where endpoint like '%search%'")
    assert orjson.loads(asked[0])["query"] == query
    assert matched(tmp_path) == found
    assert identity(tmp_path)[COUNTING] == RULE


def test_a_campaign_whose_keyword_is_touched_counts_its_posts_anew_in_a_new_epoch(mock, tmp_path):
    settings = mine(mock, tmp_path, "⭐", seeds={"usernames": list(TEXTS)})
    crawl(settings)
    right, known = matched(tmp_path), rows(tmp_path / "a.db", "select count(*) from post")
    assert right == {"a⭐b and c": 1, "⭐ said @ann": 1}
    outcomes = rows(tmp_path / "a.db", "select n, value, occurrences from outcome order by n")
    made_earlier(
        tmp_path,
        "delete from hit where post in (select id from post where text like 'a%')",
        "update outcome set value = 0, occurrences = 0 where value > 0",
    )
    crawl(settings)
    assert epochs(tmp_path) == ["begun", "topic"]
    assert matched(tmp_path) == right
    assert rows(tmp_path / "a.db", "select n, value, occurrences from outcome order by n")[: len(outcomes)] == outcomes
    assert rows(tmp_path / "a.db", "select count(*) from post") == known
    crawl(settings)
    assert epochs(tmp_path) == ["begun", "topic"]


def test_a_campaign_that_searched_a_hashtag_in_quotes_searches_it_as_one_and_keeps_its_query(mock, tmp_path):
    settings = mine(mock, tmp_path, "#sun")
    crawl(settings)
    made_earlier(tmp_path, queries=['"#sun"'])
    crawl(settings)
    assert epochs(tmp_path) == ["begun", "topic,seeds"]
    assert identity(tmp_path)["queries"] == ['"#sun"', "#sun"]


@pytest.mark.parametrize("keyword", ["sun", "sun*", "☀", "no star"])
def test_a_campaign_whose_keywords_are_not_touched_gets_no_epoch(mock, tmp_path, keyword):
    settings = mine(mock, tmp_path, keyword, seeds={"usernames": ["ann"]})
    crawl(settings)
    made_earlier(tmp_path)
    before = rows(tmp_path / "a.db", "select * from outcome"), rows(tmp_path / "a.db", "select * from hit")
    crawl(settings)
    assert epochs(tmp_path) == ["begun"]
    assert identity(tmp_path)[COUNTING] == RULE
    assert (rows(tmp_path / "a.db", "select * from outcome"), rows(tmp_path / "a.db", "select * from hit")) == before


@pytest.mark.parametrize(
    ("keyword", "differs"),
    [
        ("climate", False), ("climate*", False), ("内核", False), ("กิน", False), ("☀", False), ("🐧", False),
        ("c++", False), ("#2026", False), ("#climate strike", False), ("⭐", True), ("a⭐", True),
        ("⭐*", True), ("ꦱꦼ", True), ("ㄅ", True), ("#climate", True), ("$tsla", True), ("@ann", True),
        ("https://example.org", True), ("#clim*", True),
    ],
)  # fmt: skip
def test_a_keyword_is_touched_where_one_of_its_ends_is_another_or_it_is_an_entity(keyword, differs):
    since = 2 if differs else 1
    assert CountingRule.from_topic(Topic([keyword], entities=ENTITIES)).since == since
    assert CountingRule.from_topic(Topic(["plain", keyword], entities=ENTITIES)).since == since
    assert CountingRule.from_topic(Topic([keyword], judge=len, entities=ENTITIES)).since == 1


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1))
def test_words_in_ascii_are_never_touched(keyword):
    assert CountingRule.from_topic(Topic([keyword], entities=ENTITIES)).since == 1
