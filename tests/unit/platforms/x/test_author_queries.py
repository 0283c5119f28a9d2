"""Queries for posts of some accounts only: within X's bounds, each account once, and they find what they say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import Topic
from socialcrawl.platforms.x.author_queries import MOST_NAMES, count_authors, join_authors, restrict_queries
from socialcrawl.platforms.x.entities import ENTITIES

NAMES = st.lists(st.from_regex(r"[A-Za-z0-9_]{1,15}", fullmatch=True), min_size=1, max_size=120)
SAYS = ' *"@#$'  # signs of which no keyword can be made
WORDS = st.lists(
    st.text(min_size=1, max_size=80).filter(lambda word: " ".join(word.split()).strip(SAYS)), min_size=1, max_size=12
)


def build(*words):
    return Topic(words, entities=ENTITIES).build_queries


def list_groups(queries):
    """The keywords of each query, and the accounts that it names."""
    pairs = [query.removesuffix(")").rsplit(") (", 1) for query in queries]
    return [(words.removeprefix("("), names.replace("from:", "").split(" OR ")) for words, names in pairs]


@given(words=WORDS, names=NAMES, longest=st.sampled_from([512, 1_024, 1_000]))
def test_queries_are_within_bounds_and_name_each_account_once_with_each_part_of_the_keywords(words, names, longest):
    queries = restrict_queries(build(*words), only=names, longest=longest)
    assert all(len(query) <= longest for query in queries)
    named = {}
    for part, group in list_groups(queries):
        assert len(group) <= MOST_NAMES
        named.setdefault(part, []).extend(group)
    assert list(named) == list(dict.fromkeys(build(*words)(longest - longest // 2)))
    once = [name.lower() for name in names]
    assert all([name.lower() for name in group] == list(dict.fromkeys(once)) for group in named.values())


def test_a_few_accounts_are_one_query_and_keywords_stay_together():
    assert restrict_queries(build("kernel", "boot"), only=["ann", "bob"], longest=512) == [
        "(kernel OR boot) (from:ann OR from:bob)"
    ]
    assert restrict_queries(build("kernel"), longest=512) == ["kernel"]
    assert restrict_queries(build("kernel"), without=["ann", "bob"], longest=512) == ["(kernel) -from:ann -from:bob"]


def test_as_many_names_of_fifteen_characters_share_a_query_as_were_seen_to_be_taken():
    names = [f"a_name_of_15_{i:02}" for i in range(100)]
    queries = restrict_queries(build("kernel"), only=names, longest=1_024)
    assert [len(names) for _, names in list_groups(queries)] == [MOST_NAMES, MOST_NAMES, 32]


@pytest.mark.parametrize("count", [MOST_NAMES + 1, 11])
def test_more_accounts_than_there_is_room_for_cannot_be_left_out(count):
    names = [f"{i:015}" if count < MOST_NAMES else str(i) for i in range(count)]
    with pytest.raises(SettingsError, match=f"{count} usernames under .* more than a query of X has room for"):
        restrict_queries(build("kernel"), without=names, longest=512 if count > MOST_NAMES else 400)


IDS = st.lists(st.integers(1, 10**19 - 1).map(str), min_size=17, max_size=17, unique=True)


@given(words=WORDS, names=NAMES, ids=IDS)
def test_as_many_accounts_as_are_said_fit_into_a_query_by_id_and_name_with_each_part_of_the_keywords(words, names, ids):
    queries = build(*words)(512)
    many = count_authors(queries, 1_024)
    assert 8 < many <= MOST_NAMES // 2
    terms = [
        term for key, name in zip(ids[:many], [*names, *["x" * 15] * 17][:many], strict=True) for term in (key, name)
    ]
    assert all(len(join_authors(query, terms)) <= 1_024 for query in queries)
