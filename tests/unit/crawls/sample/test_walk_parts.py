"""Parts of a topic that no link connects: which walks are in which, of which of them statistics are, and how well."""

from dataclasses import astuple

import networkx as nx
import numpy as np
import pytest
from walk_graphs import WalkRules, both, known, tangle, walk

from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.sample.estimates import estimate_share
from socialcrawl.crawls.sample.rules import FOCUSES
from socialcrawl.crawls.sample.snapshot import collect_draws
from socialcrawl.crawls.sample.walk_components import NONE, WalkComponent, find_walk_components
from socialcrawl.crawls.seeds import Seeds

HOW = {"focus": "hard", "burn_in": 10, "idle": 10**9}


def two(large, small, links=4):
    """A graph of two connected parts, the nodes of the large one first, and all of it on topic."""
    here = tangle(large, links * large, 1)
    there = [(a + large, b + large) for a, b in tangle(small, links * small, 2)]
    return known(large + small, both([*here, *there]), range(large + small))


def walked(graph, seeds, walkers, length, **more):
    return walk(graph, WalkRules(**{**HOW, "walkers": walkers, "length": length, **more}), seeds=seeds)[0]


def test_a_part_counts_by_its_accounts_and_not_by_its_walks():
    crawl = walked(two(80, 12), [0, 80, 81, 82], 8, 400)
    found = find_walk_components(crawl.walks)
    assert [(one.accounts, one.walks, one.whole, one.counts) for one in found.each] == [
        (80, 2, True, True),
        (12, 6, True, False),
    ]
    rows = crawl.list_visits()
    large = np.array(crawl.walks.lists.nodes) < 80
    assert found.counts.tolist() == large.tolist()
    assert found.out.tolist() == (~large).tolist()
    assert [one.draws for one in found.each] == [
        np.count_nonzero(rows.kept & large[rows.place]), np.count_nonzero(rows.kept & ~large[rows.place])
    ]  # fmt: skip


def test_the_interval_of_a_share_of_the_large_part_holds_its_truth_however_many_walks_are_in_the_small_one():
    graph, right, wrong = two(150, 12), 0, 0
    held = np.append(np.random.default_rng(4).random(150) < 0.6, np.zeros(12, bool))
    truth = held[:150].mean()
    for seed in range(30):
        crawl = walked(graph, [0, 150], 12, 120, seed=seed)
        rows = crawl.list_visits()
        weight = np.where(rows.kept, rows.weight, 0.0)
        inside = np.where(find_walk_components(crawl.walks, rows).counts[rows.place], weight, 0.0)
        right += estimate_share(held[rows.node], inside, rows.walker).contains(truth)
        wrong += estimate_share(held[rows.node], weight, rows.walker).contains(held.mean())
    assert right >= 27
    assert wrong <= 15  # all walks in one pot


def test_parts_that_were_not_read_whole_are_apart_once_their_walks_should_have_met():
    seeds = [*range(10), *range(1500, 1510)]
    found = find_walk_components(walked(two(1500, 800), seeds, 20, 100).walks)
    assert [(one.walks, one.whole, one.counts) for one in found.each] == [(10, False, True), (10, False, False)]


def test_walks_that_cannot_have_met_yet_are_taken_to_be_in_one_part():
    crawl = walked(known(30_000, both(tangle(30_000, 120_000, 3)), range(30_000)), range(0, 30_000, 6_000), 5, 40)
    found = find_walk_components(crawl.walks)
    assert len(found.each) > 1
    assert all(one.counts and not one.whole for one in found.each)
    assert found.counts.tolist() == [True] * len(crawl.walks.lists)


@pytest.mark.parametrize("consistency", ["symmetric", "printed"])
@pytest.mark.parametrize("length", [3, 40, 400])
def test_two_accounts_are_in_one_part_when_lists_of_accounts_on_topic_connect_them(length, consistency):
    topic = [node for node in range(120) if node % 3]
    graph = known(120, tangle(120, 60, 5), topic)
    crawl = walked(graph, topic[::20], 4, length, consistency=consistency)
    lists, found = crawl.walks.lists, find_walk_components(crawl.walks)
    on = {node for node, one in zip(lists.nodes, lists.on, strict=True) if one}
    links = nx.Graph()
    links.add_nodes_from(on)
    for place, node in enumerate(lists.nodes):
        near = {code >> 1 for code in lists.codes[lists.begins[place] : lists.begins[place + 1]]}
        links.add_edges_from((node, other) for other in near & on if node in on)
    held = {lists.nodes[walker.at] for walker in crawl.walks.walkers}
    expected = {frozenset(one) for one in nx.connected_components(links) if one & held}
    nodes = np.array(lists.nodes)
    assert {frozenset(nodes[found.of == i].tolist()) for i in range(len(found.each))} == expected
    assert sorted(one.accounts for one in found.each) == sorted(map(len, expected))
    assert sum(one.walks for one in found.each) == 4


@pytest.mark.parametrize("focus", FOCUSES)
def test_accounts_off_topic_connect_parts_for_walks_that_may_go_there(focus):
    here, there = tangle(30, 60, 1), [(a + 30, b + 30) for a, b in tangle(20, 40, 2)]
    graph = known(51, both([*here, *there, *((50, node) for node in range(0, 50, 5))]), range(50))
    graph.beta[50] = 0.5 if focus == "ancestor" else 0.0
    crawl = walked(graph, [1, 31], 4, 800, focus=focus, k=1)
    assert [one.accounts for one in find_walk_components(crawl.walks).each] == ([30, 20] if focus == "hard" else [50])


def test_an_account_alone_is_a_part_that_was_read_whole():
    graph = known(31, both(tangle(30, 60, 1)), range(31))
    found = find_walk_components(walked(graph, [30, 0], 2, 300).walks)
    assert found.each[1] == WalkComponent(accounts=1, walks=1, draws=0, whole=True, counts=False)


def test_before_a_walk_has_begun_there_is_no_part():
    crawl = Sample(Seeds(names=[], known=True), WalkRules(walkers=2), None)
    assert astuple(find_walk_components(crawl.walks))[1] == ()
    walks = walked(two(20, 5), [0], 1, 100).walks
    assert NONE not in find_walk_components(walks).of


def test_the_weights_in_sql_are_those_of_the_part_that_counts_and_add_up_to_one():
    rows = collect_draws(walked(two(80, 12), [0, 80], 8, 400))
    assert {row.node for row in rows} == set(range(80))
    assert sum(row.weight for row in rows) == pytest.approx(1.0)
