"""Traps: the half-frequency rule over a window of visits, and jumps to the last pages of the last hosts."""

import numpy as np
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from walk_graphs import WalkRules, both, known, walk

from socialcrawl.crawls.sample.walker import HostTrap
from socialcrawl.engine.model import Outcome
from socialcrawl.graph.known_graph import KnownGraphSource

WINDOW, HOSTS = 6, 2


@settings(deadline=None, max_examples=many(150))
@given(st.lists(st.integers(0, 4), max_size=40))
def test_a_host_traps_when_it_would_be_more_than_half_of_the_last_visits(groups):
    trap = HostTrap(WINDOW, HOSTS, 0, 0)
    for place, group in enumerate(groups):
        trap.visit(place, group)
    ranked = [group for group in dict.fromkeys(reversed(groups)) if group][:HOSTS]  # the last distinct ones
    for group in range(5):
        often = [*groups, group][-WINDOW:].count(group) > WINDOW / 2
        assert trap.is_trapped(group) == bool(group and often and set(ranked) - {group})
    if ranked:
        last = {len(groups) - 1 - groups[::-1].index(group) for group in ranked}
        assert {trap.jump() for _ in range(60)} == last
        assert trap.jumps == 60


def world():
    """A clique of 30 nodes of one host that is left by one link, and a ring of 30 others, two to a host."""
    clique = [(a, b) for a in range(30) for b in range(a)]
    ring = [(30 + i, 30 + (i + 1) % 30) for i in range(30)]
    return known(60, both([*clique, (0, 30), *ring]), range(60))


class Hosted(KnownGraphSource):
    """A known graph that says of the first 30 nodes that they are at one place."""

    def _read_node(self, pick):
        found = yield from super()._read_node(pick)
        outcome = found[pick.n]
        mark = "trap.example" if pick.node < 30 else f"{(pick.node - 30) // 2}.example"
        return {pick.n: Outcome(pick.n, pick.node, 0.0, outcome.value, outcome.targets, outcome.alpha, mark=mark)}


def test_a_walk_leaves_a_host_that_would_keep_it_and_says_how_often_it_jumped():
    base = {"focus": "none", "length": 3_000, "trap_window": 10, "trap_hosts": 5, "seed": 3}
    free, _ = walk(world(), WalkRules(**base), seeds=(35,), source=Hosted)
    held, _ = walk(world(), WalkRules(**base, trap="host"), seeds=(35,), source=Hosted)
    visits = held.list_visits()
    assert visits.jumps.sum() == visits.jumped.sum() > 0 == free.list_visits().jumps.sum()
    assert (visits.node < 30).mean() < 0.8 * (free.list_visits().node < 30).mean()
    came = visits.node[visits.came] < 30
    jumped = visits.jumped[visits.came]
    for i in range(10, len(came)):
        if not jumped[i] and came[i]:  # it went there by a link
            assert came[i - 9 : i + 1].sum() <= 5
    held_rows = held.list_read()
    assert [held_rows.marks[group] for group in held_rows.group[:1]] == ["2.example"]


def test_where_there_is_no_other_host_the_walk_goes_on():
    class Alone(Hosted):
        def _read_node(self, pick):
            found = yield from KnownGraphSource._read_node(self, pick)
            return {
                n: Outcome(n, one.node, 0.0, one.value, one.targets, one.alpha, mark="x") for n, one in found.items()
            }

    crawl, _ = walk(world(), WalkRules("none", length=500, trap="host", trap_window=4), source=Alone)
    visits = crawl.list_visits()
    assert visits.jumps.tolist() == [0]
    assert visits.came.all()


def test_communities_trap_where_there_are_no_hosts():
    how = WalkRules("none", length=3_000, trap="community", trap_window=20, seed=5)
    crawl, _ = walk(world(), how, seeds=(45,))
    visits = crawl.list_visits()
    assert visits.jumps.sum() > 0
    groups = np.array(crawl.list_read().group)[visits.place]
    assert (groups > 0).all()
    inside = groups[visits.node < 30]
    assert np.bincount(inside).max() > 0.9 * len(inside)  # the clique is one community
    assert len(set(groups[visits.node >= 30].tolist())) > 20  # those met by one link only are none
