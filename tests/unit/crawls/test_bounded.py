"""A budget of nodes around any crawl."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialcrawl.crawls.node_limit import FREE, NodeLimit
from socialcrawl.engine.model import Node, Outcome, Pick, Stop, Wait

ACTS = ["search", "resolve", "seed", "expand", "walk"]


class Script:
    """A crawl that answers from a list: batches of acts (as many as were asked for, or all), waits and stops."""

    def __init__(self, script, *, obedient):
        self.script, self.obedient, self.absorbed, self.folded = list(script), obedient, [], 0

    def choose(self, size, now):
        assert size >= 1
        if not self.script:
            return Stop("done", "all is asked")
        first = self.script[0]
        if isinstance(first, Wait | Stop):
            return first
        acts = first[:size] if self.obedient else first
        return tuple(Pick(n, Node(n), act) for n, act in enumerate(acts))

    def fold(self, history):
        for batch, outcomes in history:
            self.absorb(batch, outcomes)

    def absorb(self, batch, outcomes):
        self.absorbed.append(batch)
        rest = self.script[0][len(batch) :]
        self.script[:1] = [rest] if rest else []


SCRIPT = st.lists(st.one_of(st.lists(st.sampled_from(ACTS), min_size=1, max_size=6)), max_size=12)


def asked(batches):
    return sum(pick.act not in FREE for batch in batches for pick in batch)


@given(SCRIPT, st.integers(0, 20), st.integers(1, 8), st.booleans())
def test_no_more_nodes_are_asked_than_the_budget_allows_whatever_the_crawl_is(script, most, size, obedient):
    inner = Script(script, obedient=obedient)
    by, batches = NodeLimit(inner, most), []
    while not isinstance(choice := by.choose(size, 0.0), Stop):
        assert by.choose(size, 0.0) == choice, "asked twice, the same answer"
        outcomes = [Outcome(pick.n, pick.node, 0.0) for pick in choice]
        by.absorb(choice, outcomes)
        batches.append(choice)
        assert asked(batches) <= most
    assert inner.absorbed == batches
    assert by.asked == asked(batches)
    if choice.kind == "budget":
        assert "max_nodes" in choice.why
        assert f"{most:,}" in choice.why
        whole = asked([inner.choose(size, 0.0)])
        assert asked(batches) + (1 if obedient else whole) > most, "it stops only where there is no room for more"
    again = NodeLimit(Script(script, obedient=obedient), most)
    again.fold([(batch, [Outcome(pick.n, pick.node, 0.0) for pick in batch]) for batch in batches])
    assert again.asked == by.asked
    assert again.choose(size, 0.0) == by.choose(size, 0.0)


@given(st.integers(0, 3))
def test_searches_and_look_ups_are_free(most):
    inner = Script([["search"], ["resolve", "resolve"]] * 5, obedient=True)
    by = NodeLimit(inner, most)
    while not isinstance(choice := by.choose(2, 0.0), Stop):
        by.absorb(choice, [Outcome(pick.n, pick.node, 0.0) for pick in choice])
    assert (choice.kind, by.asked) == ("done", 0)


@pytest.mark.parametrize("answer", [Wait(5.0, "later"), Stop("failed", "no")])
def test_waits_and_stops_pass_through(answer):
    assert NodeLimit(Script([answer], obedient=True), 0).choose(3, 0.0) == answer
