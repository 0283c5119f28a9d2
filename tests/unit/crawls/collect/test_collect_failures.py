"""What Algorithm 1 does about accounts that cannot be read, and how searches and names become seeds."""

import numpy as np
import pytest
from known_worlds import World, collect, crawl, diamond, sequence

from socialcrawl.crawls.collect.crawl import REST, TRIES, Collect
from socialcrawl.crawls.collect.estimators import NAMES, make_estimator
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Node, Outcome, SameAs, Stop
from socialcrawl.graph.relevance import compute_worth


@pytest.mark.parametrize("name", NAMES)
def test_when_nobody_can_be_read_the_crawl_ends_without_learning(name):
    world = diamond()
    world.missing = {node: ["protected"] for node in (1, 2)}
    by = collect(name, [0])
    history, end = crawl(world, by)
    assert sorted(sequence(history)) == [0, 1, 2]
    assert (end.kind, by.taken, by.relevance) == ("done", 2, 0.0)
    world.missing[0] = ["deleted"]
    history, end = crawl(world, collect(name, [0]))
    assert (sequence(history), end.kind) == ([0], "failed")  # no seed could be read: no work was done
    assert "deleted" in end.why


def test_an_account_that_is_another_one_leaves_the_frontier_without_links():
    world = diamond()
    world.missing = {1: [SameAs(2)]}
    by = collect("bfs", [0])
    assert sequence(crawl(world, by)[0]) == [0, 1, 2, 4, 5, 6]
    assert by.graph.left == 0


def chain(length: int) -> World:
    """0 -> 1 and 0 -> 2 -> 3 -> ... -> length."""
    links = {0: {1: 0, 2: 0}} | {i: {i + 1: 0} for i in range(2, length)}
    return World(dict.fromkeys(range(length + 1), 0), links)


def test_a_node_that_fails_for_a_while_is_offered_again_later_and_the_third_time_it_is_missing():
    world = chain(70)
    world.missing = {1: ["temporary"]}
    history, end = crawl(world, collect("bfs", [0]))
    order = sequence(history)
    assert [n for n, node in enumerate(order) if node == 1] == [1, 1 + REST, 1 + 2 * REST]
    assert sorted(set(order)) == list(range(71))
    assert end.kind == "done"


def test_with_nothing_else_to_do_a_resting_node_is_asked_at_once_but_not_for_ever():
    world = World({0: 1, 1: 1}, {0: {1: 1}}, {1: ["temporary"]})
    history, end = crawl(world, collect("bfs", [0]), at_most=50)
    assert sequence(history) == [0] + [1] * TRIES
    assert end.kind == "done"


def test_a_node_read_before_its_time_is_never_asked_again():
    world = chain(60)
    world.links = {0: {1: 0}, 1: {2: 0}} | {i: {i + 1: 0} for i in range(2, 60)}
    world.missing = {1: ["temporary", None]}
    assert sequence(crawl(world, collect("bfs", [0]))[0]) == [0, 1, 1, *range(2, 61)]


def test_a_seed_that_fails_for_a_while_is_asked_again_as_a_seed():
    world = chain(40)
    world.hits[50] = 6
    world.missing = {50: ["temporary", None]}
    by = collect("bfs", [50, 0])
    history, _ = crawl(world, by)
    picks = [pick for batch, _ in history for pick in batch if pick.node == 50]
    assert [(pick.n, pick.act) for pick in picks] == [(0, "seed"), (REST, "seed")]
    assert by.seed_relevance == compute_worth(6)
    assert (by.taken, by.relevance) == (40, 0.0)
    alone = World({0: 1}, {}, {0: ["temporary", "temporary", None]})
    assert sequence(crawl(alone, collect("bfs", [0]))[0]) == [0, 0, 0]


def test_searches_and_names_become_seeds_once_each_in_order():
    by = Collect(Seeds([Node(-1), Node(-2)], [Node(3), Node(4)], most=2), make_estimator("bfs", seed=1), None)
    reply = {
        ("search", -1): {"targets": np.array([3, 8]), "alpha": np.zeros(2)},
        ("search", -2): {"targets": np.array([8, 9, 7]), "alpha": np.zeros(3)},
        ("resolve", 4): {"missing": SameAs(9)},
        ("resolve", 3): {"missing": "suspended"},
    }
    asked = []
    while not isinstance(batch := by.choose(9, 0.0), Stop):
        asked.append((batch[0].act, [pick.node for pick in batch]))
        by.absorb(batch, [Outcome(p.n, p.node, 0.0, **reply.get((p.act, p.node), {})) for p in batch])
    assert asked == [("search", [-1, -2]), ("resolve", [3, 4, 8, 9]), ("seed", [9, 8])]


def test_nothing_to_start_from_is_said_with_a_remedy():
    by = collect("bfs", [])
    assert by.choose(1, 0.0) == Stop("failed", by.seeds.explain_empty())
    by = Collect(Seeds(names=[Node(1)]), make_estimator("bfs", seed=1), 5)
    by.absorb(by.choose(1, 0.0), [Outcome(0, Node(1), 0.0, missing="suspended")])
    assert "suspended" in by.choose(1, 0.0).why
    assert "usernames" in by.choose(1, 0.0).why


def test_a_search_that_found_nothing_is_told_from_seeds_that_cannot_be_read():
    by = Collect(Seeds([Node(-1)], [Node(3), Node(4)]), make_estimator("bfs", seed=1), None)
    while not isinstance(batch := by.choose(9, 0.0), Stop):
        missing = None if batch[0].act == "search" else "unknown"
        by.absorb(batch, [Outcome(pick.n, pick.node, 0.0, missing=missing) for pick in batch])
    assert batch.why == (
        "the search found no posts, and none of the 2 seeds can be read (unknown): use other keywords, or check the "
        "usernames"
    )
