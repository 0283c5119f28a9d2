"""Who is whom, in memory and in SQL: by id, by name without case, by a name that turns out to be somebody known."""

from dataclasses import replace

import pytest
from example_counts import many
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores import AT, a_store, mentioning, profile, reopened, save, users

from socialcrawl.engine.model import Mention, Node, Page, Pick, PostRow, SameAs, Who


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request):
    with a_store(request.param) as made:
        yield made


def test_named_accounts_get_numbers_without_regard_to_case(store):
    assert store.enlist(["Ann", "bob", "ANN"], AT) == [0, 1, 0]
    assert reopened(store).enlist(["carl", "BOB"], AT) == [2, 1]
    assert store.accounts([Node(1), Node(0), Node(-1), Node(99)]) == {0: Who(None, "Ann"), 1: Who(None, "bob")}


def test_an_id_that_comes_with_a_name_takes_over_the_account_known_by_that_name(store):
    (ann,) = store.enlist(["ann"], AT)
    reply = save(store, mentioning(Who("5", "Ann"), Who(None, "ANN")))
    assert reply.rows.targets == [ann]
    assert store.accounts([ann]) == {ann: Who("5", "ann")}


def test_a_second_id_does_not_take_over_an_account_that_has_one(store):
    save(store, mentioning(Who("5", "ann")))
    reply = save(store, mentioning(Who("6", "ann"), post="2"), n=1)
    assert store.accounts(reply.rows.targets) == {reply.rows.targets[0]: Who("6", "ann")}


def test_a_renamed_account_keeps_its_number_and_its_old_name_is_free(store):
    found = save(store, users(profile("5", "ann"))).rows.found
    (ann,) = found
    assert store.enlist(["ann"], AT) == [ann]
    assert save(store, users(profile("5", "Anna")), n=1).rows.found == {ann: "5"}
    assert store.accounts([ann]) == {ann: Who("5", "Anna")}
    assert store.enlist(["anna"], AT) == [ann]
    assert store.enlist(["ann"], AT) != [ann]
    assert reopened(store).enlist(["anna"], AT) == [ann]


def test_a_name_belongs_to_whom_a_profile_last_showed_with_it(store):
    first, second = save(store, users(profile("5", "ann"), profile("6", "bob"))).rows.found
    save(store, users(profile("6", "ann")), n=1, at=AT + 1)
    assert store.enlist(["ann"], AT) == [second]
    assert reopened(store).enlist(["ann"], AT) == [second]
    save(store, users(profile("5", "ann")), n=2, at=AT + 2)
    assert store.enlist(["ann"], AT) == [first]
    assert reopened(store).enlist(["ann"], AT) == [first]


def test_a_name_that_turns_out_to_be_a_known_account_is_the_same_as_that(store):
    save(store, mentioning(Who("5", "old")))
    (typed,) = store.enlist(["ann"], AT)
    answer = save(store, users(profile("5", "Ann")), n=1).rows
    (known,) = answer.found
    assert known != typed
    assert answer.missing == {typed: SameAs(known)}
    again = save(reopened(store), users(profile("5", "Ann")), n=2).rows
    assert again == answer, "asked again, it is still the same"


def test_an_account_known_by_id_only_gets_its_name_with_the_first_that_comes(store):
    page = mentioning(Who("7", None), author="8")
    (node,) = save(store, page).rows.targets
    store = reopened(store)
    assert save(store, mentioning(Who("7", "Greta"), post="2"), n=1).rows.targets == [node]
    assert store.accounts([node]) == {node: Who("7", "Greta")}
    save(store, mentioning(Who("7", "Other"), post="3"), n=2)
    assert store.accounts([node]) == {node: Who("7", "Greta")}
    assert store.enlist(["greta"], AT) == [node]


def test_missing_accounts_and_found_ones_are_named_by_number(store):
    ann, bob, eve = store.enlist(["ann", "bob", "eve"], AT)
    page = replace(users(profile("5", "ann")), missing=[(Who(None, "bob"), "suspended"), (Who("9", None), "deleted")])
    answer = save(store, page).rows
    assert answer.found == {ann: "5"}
    assert answer.missing == {bob: "suspended", eve + 1: "deleted"}


NAMES = st.sampled_from(["ann", "Ann", "bob", "eve", "Old"])
IDS = st.sampled_from(["1", "2", "3", "4"])
WHO = st.one_of(
    st.builds(Who, IDS, NAMES), st.builds(Who, IDS, st.none()), st.builds(Who, st.none(), NAMES),
)  # fmt: skip


@st.composite
def pages(draw):
    if draw(st.booleans()):
        rows = draw(
            st.lists(st.builds(profile, IDS, NAMES), max_size=3, unique_by=(lambda r: r.id, lambda r: r[1].lower()))
        )
        missing = draw(st.lists(st.tuples(WHO, st.sampled_from(["suspended", "unknown"])), max_size=2))
        return replace(users(*rows), missing=missing)
    authors = draw(st.lists(IDS, max_size=3))
    posts = [PostRow(f"{draw(IDS)}{i}", author, None, "", *[None] * 14) for i, author in enumerate(authors)]
    mentions = [Mention(i, who, "reply") for i in range(len(posts)) for who in draw(st.lists(WHO, max_size=3))]
    answered = [Who(author, None) for author in dict.fromkeys(authors)]
    return Page(posts, [draw(st.integers(0, 3)) for _ in posts], mentions, (), answered)


@settings(deadline=None, max_examples=many(30), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(pages(), st.booleans()), min_size=1, max_size=8), st.lists(NAMES, max_size=2))
def test_both_stores_answer_alike_and_so_does_one_that_was_opened_anew(database, moves, names):
    with a_store("memory") as memory, a_store(database) as sql:
        alike(memory, sql, moves, names)


def alike(memory, sql, moves, names):
    assert memory.enlist(names, AT) == sql.enlist(names, AT)
    sql.open(tuple(Pick(n, Node(0), "expand") for n in range(len(moves))))
    for n, (page, restart) in enumerate(moves):
        sql = reopened(sql) if restart else sql
        ours, theirs = save(memory, page, n, AT + n), save(sql, page, n, AT + n)
        assert ours == theirs
        everyone = [Node(i) for i in range(12)]
        assert memory.accounts(everyone) == sql.accounts(everyone)
    assert {key: reply.rows for key, reply in sql.replies(sql.unfinished()).items()} == {
        (n, 0): reply.rows for n, (_, reply) in enumerate(memory.ledger())
    }


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_a_name_that_was_enlisted_stands_for_the_same_node_also_when_it_turns_out_to_be_another_account(kind):
    with a_store(kind) as store:
        met = save(store, mentioning(Who("77", None))).rows.targets[0]  # known by id, without a name
        (ann,) = store.enlist(["Ann"], AT)
        told = save(store, users(profile("77", "ann")), 1).rows
        assert told.missing == {ann: SameAs(met)}
        assert reopened(store).enlist(["ANN", "bob"], AT)[0] == ann != met
