"""What is on the topic: by words, names, hosts, addresses and labels, and how a walk's outcomes tell it."""

import re

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.engine.model import Answer, Node, Outcome, Pick, Reply, Request, Who
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.focusing import FocusedSource, Predicate, find_host

ANN, PAGE = Who("ann@jazz.example", "ann@jazz.example"), Who("https://w.example/Jazz/a", "https://w.example/Jazz/a")


class Told:
    """A source whose every talk asks once and comes to the outcome of `outcomes` with its n."""

    def __init__(self, outcomes):
        self.outcomes = outcomes

    def width(self, act):
        return {"walk": 5}.get(act, 1)

    def start_conversations(self, batch, accounts):
        return [self._talk(pick) for pick in batch]

    def mark(self, at):
        return f"m{at}"

    def _talk(self, pick):
        reply = yield Request((pick.n, 0), "/it", {})
        assert reply.kind == "ok"
        return {pick.n: self.outcomes[pick.n]}


def outcome_of(pick, made, predicate, who):
    source = FocusedSource(Told({pick.n: made}), predicate)
    (talk,) = source.start_conversations((pick,), {} if who is None else {pick.node: who})
    assert next(talk).endpoint == "/it"
    with pytest.raises(StopIteration) as end:
        talk.send(Reply("ok", 1.0, Answer()))
    (found,) = end.value.value.values()
    return found


def walked(occurrences=0, missing=None, act="walk", who=ANN, **predicate):
    made = Outcome(
        4, Node(9), 2.0, 3.5, np.array([1, 2]), np.ones(2), missing, posts=8, occurrences=occurrences, mark="77"
    )
    return outcome_of(Pick(4, Node(9), act), made, Predicate(**predicate), who)


@pytest.mark.parametrize(("least", "occurrences", "value"), [(1, 0, 0.0), (1, 1, 1.0), (3, 2, 0.0), (3, 3, 1.0)])
def test_a_node_is_on_topic_that_has_enough_occurrences(least, occurrences, value):
    found = walked(occurrences, least=least)
    assert (found.value, found.mark, found.missing, found.at) == (value, "jazz.example", None, 2.0)
    assert (found.targets.tolist(), found.posts, found.occurrences) == ([1, 2], 8, occurrences)


def test_a_missing_node_is_not_on_topic_whatever_its_name_says():
    found = walked(9, missing="deleted", patterns=["*"])
    assert (found.value, found.missing) == (0.0, "deleted")


def judged(who, occurrences=0, missing=None, **wider):
    made = Outcome(0, Node(9), 2.0, 3.5, missing=missing, occurrences=occurrences)
    source = FocusedSource(Told({0: made}), Predicate(3, labels={"eve@jazz.example": False}), Predicate(**wider))
    (talk,) = source.start_conversations((Pick(0, Node(9), "walk"),), {Node(9): who})
    next(talk)
    with pytest.raises(StopIteration) as end:
        talk.send(Reply("ok", 1.0, Answer()))
    return end.value.value[0].value


def test_who_is_only_on_the_wider_topic_is_worth_a_half_and_whoever_is_on_topic_one_whatever_the_wider_one_says():
    assert [judged(ANN, n, least=1) for n in range(5)] == [0.0, 0.5, 0.5, 1.0, 1.0]
    assert [judged(ANN, n, least=0, patterns=["*.example"]) for n in (0, 3)] == [0.5, 1.0]
    assert [judged(ANN, n, least=0, patterns=["bob@*"]) for n in (0, 3)] == [0.0, 1.0]
    assert [judged(ANN, n, least=0, labels={"ann@jazz.example": False, "x": True}) for n in (0, 3)] == [0.0, 1.0]


def test_who_is_taken_off_the_topic_by_hand_may_be_on_the_wider_one_and_who_is_missing_is_on_neither():
    assert judged(Who(None, "eve@jazz.example"), 9, least=1) == 0.5
    assert judged(ANN, 9, missing="deleted", least=0, patterns=["*"]) == 0.0


@pytest.mark.parametrize("act", ["seed", "expand", "resolve", "probe", "inward", "recrawl"])
def test_other_acts_are_left_as_they_are(act):
    found = walked(9, act=act)
    assert (found.value, found.mark) == (3.5, "77")


def test_in_a_batch_of_several_acts_only_the_walks_are_judged():
    batch = (Pick(0, Node(5), "walk"), Pick(1, Node(6), "inward"))
    outcomes = {pick.n: Outcome(pick.n, pick.node, 0.0, value=0.25, occurrences=1) for pick in batch}
    talks = FocusedSource(Told(outcomes), Predicate()).start_conversations(batch, {Node(5): ANN, Node(6): ANN})
    found = {}
    for talk in talks:
        next(talk)
        with pytest.raises(StopIteration) as end:
            talk.send(Reply("ok", 1.0))
        found |= end.value.value
    assert [(found[n].value, found[n].mark) for n in (0, 1)] == [(1.0, "jazz.example"), (0.25, "")]


@pytest.mark.parametrize(
    ("who", "pattern", "on"),
    [
        (ANN, "ann@*", True),
        (ANN, "@Ann@Jazz.example", True),
        (ANN, "*.example", True),  # its host, or its name: both end so
        (ANN, "jazz.example", True),
        (ANN, "jazz", False),
        (ANN, "bob@*", False),
        (PAGE, "w.example", True),
        (PAGE, "*.test", False),
        (PAGE, "https://w.example/jazz/*", True),
        (PAGE, "https://w.example/rock/*", False),
        (Who("12", "Miles_D"), "miles*", True),
        (Who("12", None), "12", True),
        (None, "*x*", False),
    ],
)
def test_a_pattern_means_a_name_a_host_or_an_address(who, pattern, on):
    assert walked(0, who=who, least=0, patterns=[pattern]).value == float(on)


def test_an_expression_is_found_anywhere_in_a_name_in_any_case():
    assert walked(0, who=PAGE, least=0, expressions=[r"/jazz/[a-c]$"]).value == 1.0
    assert walked(0, who=PAGE, least=0, expressions=[r"/jazz/[b-c]$"]).value == 0.0
    assert walked(0, who=PAGE, least=0, expressions=[r"nowhere", r"^https://w\."], patterns=["none"]).value == 1.0


def test_words_and_names_have_to_hold_both_where_both_are_asked():
    told = [walked(n, least=1, patterns=[p]).value for n in (0, 1) for p in ("ann@*", "bob@*")]
    assert told == [0.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("name", ["ann@jazz.example", "@Ann@JAZZ.example", " ann@jazz.example "])
def test_a_label_by_hand_decides_against_everything_else(name):
    assert walked(9, labels={name: False}).value == 0.0
    assert walked(0, least=2, patterns=["bob"], labels={name: True}).value == 1.0


def test_who_has_no_label_is_judged_by_the_rest_and_off_topic_where_there_is_none():
    labels = {"bob@jazz.example": True}
    assert walked(1, labels=labels).value == 1.0
    assert walked(1, least=0, labels=labels).value == 0.0


def test_a_label_may_name_a_platform_id_and_addresses_keep_their_case():
    assert walked(0, who=Who("12", "miles"), labels={"12": True}).value == 1.0
    assert walked(0, who=PAGE, labels={"https://w.example/Jazz/a": True}).value == 1.0
    assert walked(0, who=PAGE, labels={"https://w.example/jazz/a": True}).value == 0.0


def test_the_platform_is_asked_as_before():
    source = FocusedSource(Told({}), Predicate())
    assert (source.width("walk"), source.width("seed"), source.mark(3.0)) == (5, 1, "m3.0")
    talks = source.start_conversations((Pick(0, Node(1), "seed"),), {})
    assert next(talks[0]).key == (0, 0)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("ann@Jazz.example", "jazz.example"),
        ("https://w.example:8080/a@b", "w.example"),
        ("http://[::1", ""),
        ("miles", ""),
        ("@miles", ""),
        ("ann.bsky.example", ""),
        ("", ""),
    ],
)
def test_a_node_lives_on_its_host_or_instance(name, where):
    assert find_host(name) == where


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"least": 0}, "Nothing tells what is on topic"),
        ({"least": -1, "patterns": ["a"]}, "Nothing tells"),
        ({"patterns": ["@"]}, "is empty"),
        ({"expressions": ["("]}, "is not valid"),
        ({"expressions": ["a*"]}, "fits the empty text"),
        ({"expressions": ["(?P<a>b)"]}, "names groups"),
        ({"expressions": [r"(a)\1"]}, "names groups"),
        ({"expressions": ["(?m)a"]}, "sets flags"),
    ],
)
def test_what_cannot_be_meant_is_refused(settings, said):
    with pytest.raises(SettingsError, match=re.escape(said)):
        Predicate(**settings)


def fits(pattern, name):
    """A pattern by the book: each star eats from the front until the rest fits."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(fits(pattern[1:], name[i:]) for i in range(len(name) + 1))
    return bool(name) and pattern[0].lower() == name[0].lower() and fits(pattern[1:], name[1:])


@given(
    st.lists(st.text("aB.*", min_size=1, max_size=4), min_size=1, max_size=3), st.text("Ab.", min_size=1, max_size=5)
)
@settings(deadline=None, max_examples=many(200))
def test_patterns_fit_as_stars_do(patterns, name):
    found = Predicate(0, patterns).holds(Who(None, name), 0)
    assert found == any(fits(pattern, name) for pattern in patterns)
