"""Importance of sites: the sum of their nodes, and cash that flows between them, against dense matrices."""

import math
from collections import Counter

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.importance.site_importance import SiteFlow, sum_by_site


def rows(numbers):
    return np.array(numbers, np.int64)


def test_a_site_is_as_important_as_its_nodes_together():
    assert sum_by_site(rows([2, 0, 2, 4]), np.array([0.5, 0.25, 0.125, 0.0]), 6).tolist() == [0.25, 0, 0.625, 0, 0, 0]
    assert sum_by_site(rows([]), np.zeros(0), 2).tolist() == [0.0, 0.0]
    rng = np.random.default_rng(1)
    sites, importance = rng.integers(0, 9, 500), rng.random(500)
    wanted = [math.fsum(importance[sites == site]) for site in range(9)]
    assert sum_by_site(sites, importance, 9) == pytest.approx(wanted, rel=1e-12)


def network(seed, nodes=60, sites=8):
    """The site of each node, and its links to other nodes."""
    rng = np.random.default_rng(seed)
    site = rng.choice(sites, nodes, p=np.arange(1.0, sites + 1) / np.arange(1.0, sites + 1).sum())
    site[:sites] = np.arange(sites)
    return site, [rng.choice(nodes, rng.integers(0, 7), replace=False) for _ in range(nodes)]


def between(site, links, *, once, internal, sites=8):
    """The weights of links from site to site, counted link by link."""
    weights = np.zeros((sites, sites))
    for node, to in enumerate(links):
        for target in to:
            if internal or site[node] != site[target]:
                weights[site[node], site[target]] += 1.0
    return np.minimum(weights, 1.0) if once else weights


def fixpoint(weights, small=1.0):
    """The referee: where the walk over sites and the virtual page is after a thousand steps of a dense matrix."""
    n = len(weights)
    step = np.zeros((n + 1, n + 1))
    step[n, :n] = 1.0 / n
    for i in range(n):
        k = np.count_nonzero(weights[i])
        step[i, :n] = k / (k + small) * weights[i] / max(weights[i].sum(), 1.0)
        step[i, n] = 1.0 - step[i, :n].sum()
    x = np.full(n + 1, 1.0 / (n + 1))
    for _ in range(1_000):
        x = (x + x @ step) / 2
    return x[:n]


@pytest.mark.parametrize("internal", [False, True])
@pytest.mark.parametrize("once", [False, True])
def test_cash_between_sites_tends_to_the_fixpoint_of_the_graph_of_sites(once, internal):
    site, links = network(3)
    flow, everybody = SiteFlow(once=once, internal=internal), np.arange(8)
    flow.start(everybody)
    for step in range(4_000):
        node = step * 7 % 60
        flow.record_crawl(node, int(site[node]), site[links[node]])
    wanted = fixpoint(between(site, links, once=once, internal=internal))
    assert np.abs(flow.compute_importance(everybody) / wanted - 1.0).max() < 0.02
    assert flow.cash.sum_cash() == pytest.approx(1.0, abs=1e-9)
    others = [fixpoint(between(site, links, once=not once, internal=internal))]
    others += [fixpoint(between(site, links, once=once, internal=not internal))]
    assert all(np.abs(other / wanted - 1.0).max() > 0.05 for other in others)  # the four notions differ


crawls = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.lists(st.integers(0, 6), max_size=6)), max_size=40)


@settings(deadline=None, max_examples=many(60))
@given(crawls, st.booleans(), st.booleans())
def test_the_links_of_a_site_are_those_its_nodes_were_last_seen_with(made, once, internal):
    """Nodes may even move to another site."""
    flow, latest = SiteFlow(once=once, internal=internal), {}
    flow.start(np.arange(4))
    for node, site, targets in made:
        flow.record_crawl(node, site, rows(targets))
        latest[node] = (site, targets)
        assert flow.cash.sum_cash() == pytest.approx(1.0, abs=1e-9)
        assert (flow.cash.get_cash(np.arange(7)) > -1e-12).all()
    for site in range(4):
        seen = Counter(t for own, targets in latest.values() for t in targets if own == site and (internal or t != own))
        to, weights = flow.list_links(site)
        assert to.tolist() == sorted(seen)
        assert weights.tolist() == [1.0 if once else float(seen[target]) for target in sorted(seen)]


def test_a_crawl_by_hand():
    flow = SiteFlow(small=None)
    flow.start(rows([0, 1]))
    flow.record_crawl(10, 0, rows([1, 1, 0, 2]))  # two links to 1, one to 2; the one inside says nothing
    assert flow.cash.get_cash(np.arange(3)) == pytest.approx([0.0, 0.5 + 0.5 * 2 / 3, 0.5 / 3])
    flow.record_crawl(11, 1, rows([0]))
    flow.record_crawl(12, 0, rows([2]))  # now two links each
    assert flow.cash.get_cash(np.arange(3)) == pytest.approx([0.0, 5 / 12, 1 / 6 + 5 / 12])
    assert flow.compute_importance(rows([0])) == pytest.approx([(0.5 + 5 / 6) / (0.5 + 5 / 6 + 5 / 6 + 1)])
