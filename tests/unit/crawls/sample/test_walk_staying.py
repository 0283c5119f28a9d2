"""How much of what on-topic nodes link to is on topic, against all links of a known graph, whatever a search shows."""

import numpy as np
import pytest
from walk_graphs import WalkRules

from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.sample.topic_stability import measure_stability
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Node, Outcome, Stop

SIZE, GRAPHS = 200, 10


def world(seed):
    """Links, bool[n, n], more of them among nodes on topic, and who is that; and twenty who cannot be read."""
    rng = np.random.default_rng(seed)
    on = rng.random(SIZE) < 0.3
    links = rng.random((SIZE, SIZE)) < np.where(on[:, None] & on, 0.12, 0.04)
    np.fill_diagonal(links, val=False)
    return links, on, rng.choice(SIZE, 20, replace=False)


def walked(how, links, on, gone, shown):
    """A walk on a graph of which the search shows these links."""
    starts = [Node(node) for node in np.flatnonzero(on).tolist() if node not in gone][:4]
    crawl = Sample(Seeds(names=starts, known=True), how, None)
    while not isinstance(batch := crawl.choose(8, 0.0), Stop):
        crawl.absorb(batch, [answer(pick, links, on, gone, shown) for pick in batch])
    return crawl


def answer(pick, links, on, gone, shown):
    if pick.node in gone:
        return Outcome(pick.n, pick.node, 0.0, missing="deleted")
    targets = np.flatnonzero(shown[:, pick.node] if pick.act == "inward" else links[pick.node])
    return Outcome(pick.n, pick.node, 0.0, float(on[pick.node]), targets, np.ones(len(targets)))


def compared(seed, part, **how):
    """The estimates (all links alike; each node's own share; links lost), each beside the truth of who was drawn."""
    links, on, gone = world(seed)
    shown = links & (np.random.default_rng(seed).random(links.shape) < part)
    rules = WalkRules(**{"walkers": 4, "length": 400, "burn_in": 5, "inward": part > 0.0, "seed": seed, **how})
    crawl = walked(rules, links, on, gone, shown)
    rows = crawl.list_visits()
    weight = np.where(rows.kept & rows.on_topic, rows.weight, 0.0)
    found = measure_stability(crawl.walks, rows, weight)
    own = links[np.unique(rows.node[weight > 0.0])]
    there = np.delete(own, gone, axis=1)
    hits, many = there[:, np.delete(on, gone)].sum(axis=1), there.sum(axis=1)
    lost = 1.0 - many.sum() / own.sum()
    return found, (found.staying, hits.sum() / many.sum()), (found.each, np.mean(hits / many)), (found.lost, lost)


@pytest.mark.parametrize("part", [1.0, 0.5, 0.0])
def test_all_links_of_a_node_count_whatever_the_search_shows_of_who_links_there(part):
    found = [compared(seed, part)[1:] for seed in range(GRAPHS)]
    for pairs in zip(*found, strict=True):
        off = [one.value - truth for one, truth in pairs]
        assert abs(np.mean(off)) < np.mean([one.width for one, _ in pairs]) / 5.0
        assert sum(one.contains(truth) for one, truth in pairs) >= GRAPHS - 2


@pytest.mark.parametrize("part", [1.0, 0.0])
def test_where_all_neighbours_are_judged_the_share_of_each_node_is_exact(part):
    found, alike, each, lost = compared(1, part, exact=True, length=4000)
    for one, truth in (alike, each, lost):
        assert abs(one.value - truth) < 0.01
    assert sum(bar.share.value for bar in found.bars) == pytest.approx(1.0)


@pytest.mark.parametrize("how", [{"focus": "none"}, {"focus": "trial"}, {"mutual": "twice"}])
def test_other_walks_tell_the_same(how):
    found = [compared(seed, 0.5, **how)[1] for seed in range(5)]
    assert abs(np.mean([one.value - truth for one, truth in found])) < np.mean([one.width for one, _ in found]) / 4.0


def test_nodes_that_link_to_nobody_say_nothing():
    links = np.zeros((SIZE, SIZE), np.bool_)
    links[1:, 0] = True  # all know node 0, and it knows nobody
    on, shown = np.ones(SIZE, np.bool_), links
    crawl = walked(WalkRules(walkers=2, length=200, inward=True), links, on, (), shown)
    rows = crawl.list_visits()
    found = measure_stability(crawl.walks, rows, rows.weight)
    assert (found.staying.value, found.each.value, found.lost.value) == (1.0, 1.0, 0.0)
    assert 0 < found.staying.visits < len(rows.node)
