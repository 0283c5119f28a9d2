"""The laws of the walks: what they see in the long run is what the matrix of the chain says."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from walk_graphs import WalkRules, both, known, law, lazy, moves, rows, seen, tangle, walk

from socialcrawl.crawls.sample.crawl import Sample

SIZE = 14
LINKS = tangle(SIZE, 16, 1)
GRAPH = both(LINKS)
TOPIC = frozenset(range(9))
STEPS = 40_000
LONG = WalkRules("none", length=STEPS, idle=10**9)
NEAR = 0.015  # what chance leaves after so many steps: a few standard deviations of a share of 1/14


def uniform(nodes: Iterable[int]) -> np.ndarray:
    shares = np.zeros(SIZE)
    shares[list(nodes)] = 1.0
    return shares / shares.sum()


def reach(within: Iterable[int], start: int = 0) -> set[int]:
    """Who is connected with `start` through nodes of `within`."""
    found, new, allowed = {start}, [start], set(within)
    while new:
        node = new.pop()
        fresh = {b for a, b in GRAPH if a == node and b in allowed} - found
        found |= fresh
        new += fresh
    return found


def weighed(crawl: Sample, within: Iterable[int]) -> np.ndarray:
    """The weights of the links of the graph walked on: the lists, without who may not be gone to."""
    mask = np.zeros(SIZE)
    mask[list(within)] = 1.0
    return moves(rows(crawl.walks.lists), SIZE) * mask * mask[:, None]


def wandering(neighbours: dict[int, list[int]], topic: Iterable[int], k: int, start: int) -> np.ndarray:
    """How often trial and error is at each node, by the matrix of its states (u, C, p); self-loops apart."""
    topic = set(topic)
    states = [(start, 0, start)]
    chances: dict[tuple[int, int], float] = {}
    for i, (u, c, p) in enumerate(states):  # grows while it is read
        for v in neighbours[u]:
            then = (v, 0, v) if v in topic else (v, c + 1, p) if c < k else (p, 0, p)
            if then not in states:
                states.append(then)
            chances[i, states.index(then)] = chances.get((i, states.index(then)), 0.0) + 1 / len(neighbours[u])
    matrix = np.zeros((len(states), len(states)))
    for (i, j), chance in chances.items():
        matrix[i, j] = chance
    return np.bincount([u for u, _, _ in states], law(matrix), minlength=SIZE)


def test_an_unfocused_walk_is_uniform_on_all_that_is_connected() -> None:
    for mutual in ("once", "twice"):
        crawl, _ = walk(known(SIZE, GRAPH, TOPIC), replace(LONG, mutual=mutual))
        assert law(lazy(weighed(crawl, range(SIZE)), 40)) == pytest.approx(uniform(range(SIZE)))
        assert np.abs(seen(crawl, SIZE) - uniform(range(SIZE))).max() < NEAR


def test_without_its_weights_it_would_be_proportional_to_degree() -> None:
    crawl, _ = walk(known(SIZE, GRAPH, TOPIC), LONG)
    shares = np.bincount(crawl.list_visits().node, minlength=SIZE) / STEPS
    degree = weighed(crawl, range(SIZE)).sum(axis=1)
    assert np.abs(shares - degree / degree.sum()).max() < NEAR < np.abs(shares - 1 / SIZE).max()


def test_hard_focus_is_uniform_on_the_part_of_the_topic_in_reach() -> None:
    crawl, _ = walk(known(SIZE, GRAPH, TOPIC), replace(LONG, focus="hard"))
    expected = uniform(reach(TOPIC))
    chain = lazy(weighed(crawl, reach(TOPIC)), 40)
    assert expected @ chain == pytest.approx(expected)  # whoever cannot be reached from the start is a class of its own
    assert np.abs(seen(crawl, SIZE) - expected).max() < NEAR
    assert crawl.list_visits().precision == 1.0


def test_hard_focus_that_tests_all_neighbours_is_the_same_chain_with_the_topics_degrees() -> None:
    crawl, _ = walk(known(SIZE, GRAPH, TOPIC), replace(LONG, focus="hard", exact=True))
    visits = crawl.list_visits()
    assert np.abs(seen(crawl, SIZE) - uniform(reach(TOPIC))).max() < NEAR
    assert set(visits.proposal_on_topic.tolist()) == {1}
    assert visits.degree.tolist() == weighed(crawl, TOPIC).sum(axis=1)[visits.node].tolist()


def test_on_a_wider_topic_the_walk_is_uniform_and_what_is_left_of_it_is_uniform_on_the_topic() -> None:
    topic, wider = {0, 1, 2, 3}, set(range(11))
    graph = known(SIZE, GRAPH, sorted(topic))
    graph.beta[sorted(wider - topic)] = 0.5
    crawl, _ = walk(graph, replace(LONG, focus="ancestor"))
    visits, there = crawl.list_visits(), reach(wider)
    assert topic & there > topic & reach(topic)  # the wider topic leads to those whom the topic alone does not
    expected = uniform(there)
    assert expected @ lazy(weighed(crawl, there), 40) == pytest.approx(expected)
    assert np.abs(seen(crawl, SIZE) - expected).max() < NEAR
    on = np.bincount(visits.node, np.where(visits.on_topic, visits.weight, 0.0), minlength=SIZE)
    assert np.abs(on / on.sum() - uniform(topic & there)).max() < 2 * NEAR
    assert visits.on_topic.tolist() == [node in topic for node in visits.node.tolist()]
    assert visits.precision == pytest.approx(np.mean([node in topic for node in visits.node[visits.came].tolist()]))
    assert 0.0 < visits.precision < 0.9
    held = crawl.list_read()
    assert held.on_topic.tolist() == [node in topic for node in held.node.tolist()]


def test_without_anybody_else_on_the_wider_topic_its_walk_is_that_of_hard_focus() -> None:
    short = replace(LONG, length=500)
    hard, wide = (walk(known(SIZE, GRAPH, TOPIC), replace(short, focus=focus))[0] for focus in ("hard", "ancestor"))
    assert hard.list_visits().node.tolist() == wide.list_visits().node.tolist()


def test_hard_focus_does_not_go_where_only_the_wider_topic_is() -> None:
    graph = known(SIZE, GRAPH, TOPIC)
    graph.beta[sorted({*range(SIZE)} - TOPIC)] = 0.5
    crawl, _ = walk(graph, replace(LONG, focus="hard", length=500))
    assert set(crawl.list_visits().node.tolist()) <= TOPIC


def test_the_neighbourhood_is_uniform_on_the_nodes_found_to_be_near() -> None:
    for k, mutual, topic in ((1, "once", {0, 1, 2}), (2, "twice", {0})):
        how = replace(LONG, focus="neighbourhood", k=k, b=2, mutual=mutual)
        crawl, _ = walk(known(SIZE, GRAPH, sorted(topic)), how)
        near = {crawl.walks.lists.nodes[place] for place, hits in crawl.walks.near.hits.items() if hits} | topic
        assert topic < near < set(range(SIZE))
        assert np.abs(seen(crawl, SIZE) - uniform(reach(near))).max() < NEAR


def test_many_short_walks_find_all_that_is_within_k_links_and_nobody_else() -> None:
    for k in (1, 2):
        crawl, _ = walk(known(SIZE, GRAPH, (0, 1)), replace(LONG, focus="neighbourhood", k=k, b=60, length=3_000))
        near = {0, 1}
        for _ in range(k):
            near |= {b for a, b in GRAPH if a in near}
        lists, hits = crawl.walks.lists, crawl.walks.near.hits
        assert {lists.nodes[place]: found > 0 for place, found in hits.items()} == {
            lists.nodes[place]: lists.nodes[place] in near for place in hits
        }
        assert set(crawl.list_visits().node.tolist()) == reach(near)


def test_the_neighbourhood_as_printed_weighs_by_its_crude_estimate_of_the_degree() -> None:
    crawl, _ = walk(known(SIZE, GRAPH, (0, 1, 2)), replace(LONG, focus="neighbourhood", b=4, crude=True))
    lists, hits = crawl.walks.lists, crawl.walks.near.hits
    near = {lists.nodes[place] for place, found in hits.items() if found} | {0, 1, 2}
    links = weighed(crawl, reach(near))
    there = links.sum(axis=1)  # proportional to how often a walk comes to a node, if it draws until one will do
    whole = {node: len(others) for node, others in rows(lists).items()}
    estimate = np.array(
        [
            whole.get(node, 0) * (1.0 if node in (0, 1, 2) else hits.get(lists.place(node), 0) / 4)
            for node in range(SIZE)
        ]
    )
    expected = np.divide(there, estimate, out=np.zeros(SIZE), where=there > 0)
    expected /= expected.sum()
    assert np.abs(expected - uniform(reach(near))).max() > 2 * NEAR  # crude, indeed
    assert np.abs(seen(crawl, SIZE) - expected).max() < 2 * NEAR


@pytest.mark.parametrize("k", [0, 1, 3])
def test_trial_and_error_has_the_law_of_its_states_and_as_printed_favours_high_degrees(k: int) -> None:
    topic = (0, 1, 2, 3, 4, 5)
    crawl, _ = walk(known(SIZE, GRAPH, topic), replace(LONG, focus="trial", k=k))
    neighbours = rows(crawl.walks.lists)
    visited = wandering(neighbours, topic, k, 0)
    degree = np.array([len(neighbours.get(node, (0,))) for node in range(SIZE)])
    corrected = visited / degree / (visited / degree).sum()
    assert np.abs(seen(crawl, SIZE) - corrected).max() < NEAR
    crawl.walks.rules = replace(crawl.rules, corrected=False)
    assert np.abs(seen(crawl, SIZE) - visited).max() < NEAR
    assert np.abs(visited - corrected).max() > NEAR


def test_the_printed_lists_are_one_sided_and_bend_the_law_the_symmetric_ones_do_not() -> None:
    graph = known(SIZE, LINKS, TOPIC)
    printed, _ = walk(graph, replace(LONG, consistency="printed"))
    symmetric, _ = walk(graph, LONG)
    biased = law(lazy(weighed(printed, range(SIZE)), 40))
    assert np.abs(seen(printed, SIZE) - biased).max() < NEAR
    visited = set(symmetric.list_visits().node.tolist())
    assert np.abs(seen(symmetric, SIZE) - uniform(visited)).max() < NEAR
    assert biased[sorted(visited)].max() > 2.0 * biased[sorted(visited)].min()


def test_with_in_neighbours_from_the_search_the_walk_is_on_the_whole_undirected_graph() -> None:
    for consistency in ("symmetric", "printed"):
        how = replace(LONG, inward=True, consistency=consistency, length=500)
        crawl, _ = walk(known(SIZE, LINKS, TOPIC), how)
        undirected: dict[int, set[int]] = {node: set() for node in range(SIZE)}
        for a, b in GRAPH:
            undirected[a].add(b)
        assert rows(crawl.walks.lists) == {node: sorted(others) for node, others in undirected.items()}


def test_the_time_that_a_walk_stays_is_geometric_and_makes_the_same_law() -> None:
    crawl, _ = walk(known(SIZE, GRAPH, TOPIC), replace(LONG, weights="holding", degree=30))
    visits = crawl.list_visits()
    assert np.abs(seen(crawl, SIZE) - uniform(range(SIZE))).max() < NEAR
    for degree in np.unique(visits.degree):
        times = visits.weight[visits.degree == degree]
        assert times.mean() == pytest.approx(30 / degree, rel=0.1)
        assert (times == 1).mean() == pytest.approx(degree / 30, rel=0.1)
    assert times.min() == 1.0
    crawl.walks.rules = replace(crawl.rules, degree=int(visits.degree.max()))
    assert (crawl.list_visits().weight[visits.degree == visits.degree.max()] == 1.0).all()


def test_several_walks_have_the_law_of_one() -> None:
    crawl, _ = walk(known(SIZE, GRAPH, TOPIC), replace(LONG, walkers=8, length=STEPS // 8), seeds=(0, 5, 3), size=4)
    assert np.abs(seen(crawl, SIZE) - uniform(range(SIZE))).max() < NEAR
    assert [walker.places[0] for walker in crawl.walks.walkers] == [0, 1, 2, 0, 1, 2, 0, 1]
    assert len({bytes(walker.codes[:50]) for walker in crawl.walks.walkers}) == 8
