"""Bots and hubs that are named, or meant by a pattern, are never asked: a pick of theirs ends at once, for nothing."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_town import Clock, Wire, close, parts_of, person, stored

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.policies import load_policy
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Node, Pick, Who
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.excluding import ExcludedAccounts, ExcludingSource
from socialcrawl.platforms.x.source import XSource
from socialcrawl.platforms.x.vocabulary import TWEET

LETTERS = st.text("aB_1", max_size=5)


def fits(pattern, name):
    """A pattern by the book: each star eats from the front until the rest fits."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(fits(pattern[1:], name[i:]) for i in range(len(name) + 1))
    return bool(name) and pattern[0].lower() == name[0].lower() and fits(pattern[1:], name[1:])


@given(
    st.lists(st.text("aB_*", min_size=1, max_size=4), max_size=3),
    st.lists(st.text("ab*", min_size=1, max_size=4), max_size=2),
    LETTERS,
)
@settings(deadline=None)
def test_a_name_is_excluded_by_a_pattern_and_kept_by_an_exception(exclude, include, name):
    found = ExcludedAccounts(exclude, include)
    out = any(fits(pattern, name) for pattern in exclude) and not any(fits(pattern, name) for pattern in include)
    assert found.excludes(name) == out
    why = found.find_reason(name)
    assert (why is not None) == out
    assert why is None or fits(why, name)


def test_names_may_be_written_with_an_at_sign():
    assert ExcludedAccounts(["@News_Bot"]).excludes("news_bot")
    assert not ExcludedAccounts(["*bot"], ["@Robot"]).excludes("robot")


@pytest.mark.parametrize("act", ["resolve", "seed", "expand", "search"])
def test_only_what_would_ask_an_account_is_excluded(act):
    source = ExcludingSource(XSource(load_policy("x"), TWEET, ["a query"]), ExcludedAccounts(["*bot"]))
    node = Node(-1 if act == "search" else 7)
    (talk,) = source.start_conversations((Pick(3, node, act),), {node: Who("42", "Chatbot")})
    if act == "search":
        assert next(talk).params["query"] == "a query"
        return
    with pytest.raises(StopIteration) as end:
        next(talk)
    outcome = end.value.value[3]
    assert (outcome.n, outcome.node, outcome.missing, outcome.value, len(outcome.targets)) == (3, 7, "excluded", 0.0, 0)


def test_the_others_of_a_batch_are_asked_as_if_they_were_alone():
    inner = XSource(load_policy("x"), TWEET, [])
    source = ExcludingSource(inner, ExcludedAccounts(["b*"]))
    batch = tuple(Pick(n, Node(n), "expand") for n in range(4))
    accounts = {Node(n): Who(str(n), name) for n, name in enumerate(["ann", "bob", None, "Bea"])}
    silent, *rest = source.start_conversations(batch, accounts)
    with pytest.raises(StopIteration) as end:
        next(silent)
    assert sorted(end.value.value) == [1, 3]
    assert [next(talk).params["id"] for talk in rest] == ["0", "2"]
    assert [next(talk).params["id"] for talk in inner.start_conversations(batch, accounts)] == ["0", "1", "2", "3"]
    assert source.width("resolve") == inner.width("resolve") == 100


def test_an_account_is_excluded_by_its_id_as_it_is_written_and_by_no_pattern_of_ids():
    accounts = ExcludedAccounts(["123", "did:plc:aBc", "4*"], ["ann"])
    assert [accounts.excludes_account(Who(one, None)) for one in ("123", "1234", "45", None)] == [True] + 3 * [False]
    assert accounts.excludes_account(Who("did:plc:aBc", "ann")), "an exception is a name, and the id says who is meant"
    assert not accounts.excludes_account(Who("did:plc:abc", None))
    assert accounts.excludes_account(Who("9", "4ever"))


def test_a_crawl_goes_around_the_excluded(tmp_path):
    plain, store = stored(tmp_path / "plain.db"), stored(tmp_path / "a.db")
    before = Wire(Clock())
    run(parts_of(plain, before), size=3)
    wire = Wire(Clock())
    parts = parts_of(store, wire)
    out = ExcludingSource(parts.source, ExcludedAccounts(["person3", "PERSON1*"], ["person12"]))
    run(replace(parts, source=out), size=3)

    def timelines(calls):
        return {re.search(r"'id': '(\d+)'", asked)[1] for endpoint, asked, _ in calls if endpoint.endswith("/tweets")}

    gone = {str(person(n).id) for n in (1, 3, 10, 11, 13, 14, 15, 16, 17)}
    assert timelines(before.calls) & gone
    assert timelines(wire.calls) - gone
    assert not timelines(wire.calls) & gone
    assert not [asked for _, asked, _ in wire.calls if "person11" in asked.lower()]  # named, and not even looked up
    missing = [outcome for _, outcomes in store.history() for outcome in outcomes if outcome.missing == "excluded"]
    assert {store.accounts([one.node])[one.node].username.lower() for one in missing} >= {"person11", "person3"}
    for one in (plain, store):
        close(one)


def settings_of(**sections):
    return check_settings({"name": "a", "topic": {"keywords": ["sky"]}, **sections}, "mine.toml")


@pytest.mark.parametrize("name", ["News_Bot", "@news_bot"])
def test_a_seed_that_is_excluded_is_refused_and_both_are_named(name):
    given = {"seeds": {"usernames": ["ann", name]}, "accounts": {"exclude": ["spam*", "*_bot"]}}
    with pytest.raises(SettingsError) as error:
        make_plan(settings_of(**given))
    assert "'*_bot' under [accounts]" in str(error.value)
    assert name.removeprefix("@") in str(error.value)
    given["accounts"]["include"] = ["news_bot"]
    assert make_plan(settings_of(**given)).accounts.excludes("old_bot")


@pytest.mark.parametrize(
    ("accounts", "said"),
    [
        ({"exclude": ["a b"]}, "[accounts] exclude.0 = 'a b': write a username"),
        ({"exclude": ["*_bot", ""]}, "[accounts] exclude.1 = ''"),
        ({"include": ["ann"]}, "[accounts]: include names exceptions"),
        ({"exclude": ["*"]}, "leaves no account"),
        ({"exclude": "ann"}, "[accounts] exclude = 'ann'"),
        ({"excluded": ["ann"]}, "Did you mean 'exclude'?"),
    ],
)
def test_what_names_no_account_is_refused(accounts, said):
    with pytest.raises(SettingsError) as error:
        settings_of(accounts=accounts)
    assert said in str(error.value)
    assert str(error.value).startswith("mine.toml: ")
    assert "[accounts]" in str(error.value)


def test_all_but_a_few_may_be_excluded():
    accounts = make_plan(settings_of(accounts={"exclude": ["*"], "include": ["ann", "b*"]})).accounts
    assert [accounts.excludes(name) for name in ("Ann", "bob", "carl")] == [False, False, True]
