"""Estimators that look on: they change nothing, and think what they would have thought had they steered these picks."""

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from known_worlds import World, collect, crawl, outcome
from test_collect import GRAPHS, worlds
from test_golden_sequences import EVERYBODY, TABLE, WAYS, spelled
from test_golden_sequences import GRAPHS as DRAWN

from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import NAMES, make_estimator
from socialcrawl.crawls.collect.strategies import make_strategy
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Stop
from socialcrawl.graph.known_graph import KnownGraphSource
from socialcrawl.lab.instant import SequenceStore, make_parts
from socialcrawl.lab.simulation import ReplaySetup, make_named_estimator

SGD = "sklearn.linear_model.SGDRegressor"
OTHERS = (*NAMES, SGD)
FEW = ("random", "lnh-sum", "opic-ne", "nh-e-max")


def fresh(names):
    return {name: make_estimator(name, seed=7, switch_after=3) for name in names}


def watched(name, seeds, steps=None, shadows=OTHERS):
    """The crawl of `known.collect` in company."""
    alone = collect(name, seeds, steps)
    return Collect(alone.seeds, alone.estimator, steps, shadows=fresh(shadows))


def bits(history):
    """The picks to the last bit, without what others thought of them."""
    return [(p.n, p.node, p.act, p.score.hex(), [x.hex() for x in p.x]) for batch, _ in history for p in batch]


def told(history):
    return [[(name, score.hex()) for name, score in pick.shadows] for batch, _ in history for pick in batch]


def thought(name, seeds, history):
    """The scores of all picks of the frontier by an estimator that is alone with the same history, by pick.n."""
    by, found = collect(name, seeds), {}
    for batch, outcomes in history:
        chosen = [pick for pick in batch if pick.act == "expand"]
        rows = np.array([by.graph.row(pick.node) for pick in chosen], np.int64)
        if chosen and by.graph.is_open(rows).all():
            scores = by.estimator.score(by.graph, rows, by.taken).tolist()
            found |= {pick.n: score.hex() for pick, score in zip(chosen, scores, strict=True)}
        by.absorb(batch, outcomes)
    return found


@pytest.mark.parametrize("name", EVERYBODY)
@pytest.mark.parametrize("graph", DRAWN)
def test_the_golden_steps_stay_when_others_look_on(graph, name):
    orders = []
    for way, rate in WAYS:
        graph_, seeds, tape = DRAWN[graph].make_known(), DRAWN[graph].seeds, SequenceStore()
        steering = make_named_estimator(graph_, ReplaySetup(name, 12, switch_after=3))
        how = {key: value for key, value in way.items() if key != "strategy"}
        line = Seeds()
        line.ready = list(seeds)
        choice = make_strategy(way["strategy"], seed=1, **how)
        by = Collect(line, steering, 12, strategy=choice, shadows=fresh(FEW))
        run(make_parts(by, KnownGraphSource(graph_), tape), size=rate)
        orders.append(spelled(tape.nodes[len(seeds) :]))
    assert orders == TABLE[graph, name]


@settings(max_examples=many(40), deadline=None)
@given(worlds(), st.sampled_from(NAMES), st.integers(1, 4))
def test_no_bit_of_a_pick_changes_in_company(made, name, size):
    world, seeds = made
    alone, _ = crawl(World(world.hits, world.links, world.missing), collect(name, seeds), size)
    together, _ = crawl(world, watched(name, seeds), size)
    assert bits(together) == bits(alone)
    assert not any(told(alone))


@settings(max_examples=many(40), deadline=None)
@given(worlds(), st.sampled_from(NAMES), st.integers(1, 4))
def test_each_of_them_thinks_what_it_thinks_alone_with_the_same_history(made, name, size):
    world, seeds = made
    history, _ = crawl(world, watched(name, seeds), size)
    alone = {other: thought(other, seeds, history) for other in OTHERS if other != SGD}
    for batch, _ in history:
        for pick in batch:
            scores = {other: score.hex() for other, score in pick.shadows if other != SGD}
            assert scores == {other: found[pick.n] for other, found in alone.items() if pick.n in found}


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", [name for name in OTHERS if name != "random"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_who_looks_on_at_himself_thinks_the_same(graph, name, size):
    make, seeds = GRAPHS[graph]
    history, _ = crawl(make(), watched(name, seeds, shadows=[name]), size)
    chosen = [pick for batch, _ in history for pick in batch if pick.act == "expand"]
    assert len(chosen) >= 6
    for pick in chosen:
        assert pick.shadows == ((name, pytest.approx(pick.score, rel=1e-12 if name == SGD else 0)),)


def test_seeds_and_those_who_are_asked_before_their_time_are_not_looked_at():
    world = World({0: 1, 1: 1, 2: 1}, {0: {1: 1, 2: 1}}, {2: ["temporary", None]})
    history, _ = crawl(world, watched("bfs", [0], shadows=["nh-n-sum", "bfs"]))
    told_ = [(pick.node, pick.act, [name for name, _ in pick.shadows]) for batch, _ in history for pick in batch]
    both = ["nh-n-sum", "bfs"]
    assert told_ == [(0, "seed", []), (1, "expand", both), (2, "expand", both), (2, "expand", [])]


def test_choosing_changes_nobody():
    make, seeds = GRAPHS["village"]
    by, lived = watched("hybrid-sum", seeds), watched("hybrid-sum", seeds)
    world = make()
    while not isinstance(batch := by.choose(2, 0.0), Stop):
        again = by.choose(2, 1.0)
        assert told([(again, ())]) == told([(batch, ())]) == told([(lived.choose(2, 0.0), ())])
        outcomes = [outcome(pick, world.ask(pick.node)) for pick in batch]
        for one in (by, lived):
            one.absorb(batch, outcomes)
    assert by.taken == 9


@settings(max_examples=many(60), deadline=None)
@given(worlds(), st.sampled_from(["bfs", "lnh-sum", "opic", "hybrid-sum"]), st.integers(1, 3), st.integers(1, 20))
def test_one_who_is_named_later_has_seen_the_whole_history(made, name, size, at_most):
    world, seeds = made
    lived = watched(name, seeds)
    alone = collect(name, seeds)
    history, _ = crawl(World(world.hits, world.links, world.missing), alone, size, at_most)
    for batch, outcomes in history:
        lived.absorb(batch, outcomes)
    for shadows in (OTHERS, ("lnh-max", "bfs"), FEW):
        folded = watched(name, seeds, shadows=shadows)
        folded.fold(history)
        batch, wanted = folded.choose(size, 0.0), lived.choose(size, 0.0)
        assert batch == wanted == alone.choose(size, 0.0)
        if not isinstance(batch, Stop):
            kept = [[(other, score) for other, score in line if other in shadows] for line in told([(wanted, ())])]
            assert list(map(sorted, told([(batch, ())]))) == list(map(sorted, kept))


def test_picks_that_differ_only_in_what_others_thought_are_equal():
    make, seeds = GRAPHS["diamond"]
    alone, together = (crawl(make(), by)[0] for by in (collect("bfs", seeds), watched("bfs", seeds, shadows=FEW)))
    assert [batch for batch, _ in together] == [batch for batch, _ in alone]
    assert [name for name, _ in together[-1][0][0].shadows] == list(FEW)
    assert repr(together) != repr(alone)
