"""The rule by which daemons share campaigns: every campaign once, near the weights, and moved only when it must be."""

from collections import Counter
from itertools import product
from math import floor

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.daemon.placement import DaemonShare, place_campaigns

DAEMONS, CAMPAIGNS = ["a", "b", "c", "d", "e"], [f"campaign{number}" for number in range(12)]
WEIGHTS = st.sampled_from([0.5, 1.0, 1.0, 2.0, 3.0])


@st.composite
def crews(draw, least=1):
    """Daemons of some weights that can all run some campaigns."""
    names = draw(st.lists(st.sampled_from(DAEMONS), min_size=least, max_size=5, unique=True))
    campaigns = frozenset(CAMPAIGNS[: draw(st.integers(0, len(CAMPAIGNS)))])
    return [DaemonShare(name, draw(WEIGHTS), campaigns) for name in names]


@st.composite
def mixed_crews(draw, most=5, weights=(0.0, 1.0, 2.0)):
    """Daemons that can each run some campaigns."""
    names = draw(st.lists(st.sampled_from(DAEMONS), min_size=1, max_size=most, unique=True))
    some = st.frozensets(st.sampled_from(CAMPAIGNS[:6]))
    return [DaemonShare(name, draw(st.sampled_from(weights)), draw(some)) for name in names]


def place(shares, owners=None, active=CAMPAIGNS):
    return place_campaigns(shares, owners or {}, active)


def loads(placed, shares):
    found = Counter(placed.values())
    return {one.daemon: found[one.daemon] for one in shares}


def assert_fair(placed, shares):
    """No daemon could give a campaign to another one that would have less to do even then."""
    found = loads(placed, shares)
    for one, other in product(shares, shares):
        assert found[one.daemon] / one.weight <= (found[other.daemon] + 1) / other.weight + 1e-6


@settings(max_examples=many(200))
@given(mixed_crews(), st.dictionaries(st.sampled_from(CAMPAIGNS), st.sampled_from(DAEMONS)), st.data())
def test_each_campaign_that_a_daemon_can_run_is_placed_with_one_that_can_run_it(shares, owners, data):
    active = data.draw(st.sets(st.sampled_from(CAMPAIGNS)))
    placed = place(shares, owners, active)
    able = {one.daemon: one.campaigns for one in shares}
    assert set(placed) == frozenset().union(*able.values())
    assert all(campaign in able[daemon] for campaign, daemon in placed.items())


@settings(max_examples=many(200))
@given(mixed_crews(), st.dictionaries(st.sampled_from(CAMPAIGNS), st.sampled_from(DAEMONS)))
def test_daemons_that_know_the_same_decide_the_same_and_what_they_decided_stays(shares, owners):
    placed = place(shares, owners)
    assert place(shares[::-1], owners) == placed
    assert place(shares, placed) == placed


@settings(max_examples=many(200))
@given(crews())
def test_shares_are_as_near_to_the_weights_as_whole_campaigns_can_be(shares):
    found, number = loads(place(shares), shares), len(shares[0].campaigns)
    whole = sum(one.weight for one in shares)
    for one in shares:
        ideal = number * one.weight / whole
        assert floor(ideal + 1e-9) <= found[one.daemon] <= ideal + (len(shares) - 1) * one.weight / whole + 1e-9
    assert_fair(place(shares), shares)


@settings(max_examples=many(200))
@given(crews(2))
def test_campaigns_move_only_to_a_daemon_that_joins_and_only_as_many_as_are_its_share(shares):
    *before, joins = shares
    old = place(before)
    new = place(shares, old)
    moved = {campaign for campaign in old if new[campaign] != old[campaign]}
    assert {new[campaign] for campaign in moved} <= {joins.daemon}
    assert len(moved) == loads(new, shares)[joins.daemon] <= loads(place(shares), shares)[joins.daemon]
    assert_fair(new, shares)


@settings(max_examples=many(200))
@given(crews(2))
def test_only_the_campaigns_of_a_daemon_that_is_gone_move(shares):
    gone, *left = shares
    old = place(shares)
    new = place(left, old)
    assert all(new[campaign] == daemon for campaign, daemon in old.items() if daemon != gone.daemon)


@settings(max_examples=many(200))
@given(crews(2), st.data())
def test_handing_over_one_campaign_after_the_other_ends_as_it_was_decided_at_first(shares, data):
    """Daemons look at different moments: who gave some campaigns away, and who took them, changes no decision."""
    *before, _ = shares
    owners = place(before)
    goal = place(shares, owners)
    moving = data.draw(st.permutations([name for name in owners if owners[name] != goal[name]]))
    for campaign in moving:
        owners[campaign] = goal[campaign]
        step = place(shares, owners)
        assert loads(step, shares) == loads(goal, shares)
        assert all(step[name] == owners[name] for name in owners if owners[name] == shares[-1].daemon)


@settings(max_examples=many(100), deadline=None)
@given(mixed_crews(3, weights=(1.0,)), st.dictionaries(st.sampled_from(CAMPAIGNS[:6]), st.sampled_from(DAEMONS)))
def test_work_is_divided_as_well_as_tokens_allow(shares, owners):
    """The oracle tries all ways to place the campaigns."""
    able = {name: [one.daemon for one in shares if name in one.campaigns] for name in CAMPAIGNS[:6]}
    choices = [found for found in able.values() if found]
    best = min(sorted((Counter(way)[one.daemon] for one in shares), reverse=True) for way in product(*choices))
    assert sorted(loads(place(shares, owners), shares).values(), reverse=True) == best


def test_a_campaign_at_rest_stays_and_counts_as_no_load():
    both = [DaemonShare(name, 1.0, frozenset(CAMPAIGNS[:4])) for name in ("a", "b")]
    owners = dict.fromkeys(CAMPAIGNS[:3], "a") | {CAMPAIGNS[3]: "b"}
    placed = place(both, owners, CAMPAIGNS[2:4])
    assert placed == owners


def test_a_daemon_of_weight_0_gets_only_what_no_other_can_run():
    first, spare = DaemonShare("a", 1.0, frozenset(CAMPAIGNS[:4])), DaemonShare("b", 0.0, frozenset(CAMPAIGNS[:5]))
    assert place([first, spare]) == dict.fromkeys(CAMPAIGNS[:4], "a") | {CAMPAIGNS[4]: "b"}
    alone = place([spare])
    assert set(alone.values()) == {"b"}
    assert place([first, spare], alone) == place([first, spare])


@pytest.mark.parametrize(("weights", "counts"), [((1.0, 1.0), (6, 6)), ((2.0, 1.0), (8, 4)), ((1.0, 3.0), (3, 9))])
def test_twelve_campaigns_are_divided_by_weight(weights, counts):
    shares = [DaemonShare(name, weight, frozenset(CAMPAIGNS)) for name, weight in zip("ab", weights, strict=True)]
    assert tuple(loads(place(shares), shares).values()) == counts
