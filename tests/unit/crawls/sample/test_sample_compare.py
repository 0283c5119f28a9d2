"""A walk's distribution against the truth, and the gap that says how fast the walk forgets where it began."""

from math import inf

import networkx as nx
import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import chisquare

from socialcrawl.crawls.sample.estimates import Estimate, estimate_distribution
from socialcrawl.crawls.sample.law_comparison import compare_with_law, find_deviation
from socialcrawl.crawls.sample.spectral_gap import (
    compute_gap,
    compute_move_chance,
    estimate_mixing_time,
    make_regular_walk,
    make_simple_walk,
    restrict_links,
)


def counted(counts, effective=1.0):
    """Shares of independent visits, each worth `effective` of one."""
    n = sum(counts.values())
    return {name: Estimate(k / n, 0.0, 1.0, n * effective, n) for name, k in counts.items() if k}


def test_of_independent_visits_the_test_is_pearsons():
    counts, truth = {"a": 40, "b": 35, "c": 25}, {"a": 5, "b": 3, "c": 2}
    found = compare_with_law(counted(counts), truth)
    theirs = chisquare([40, 35, 25], [50, 30, 20])
    assert (found.statistic, found.p, found.freedom) == pytest.approx((*theirs, 2))
    assert (found.plain, found.plain_p) == pytest.approx(tuple(theirs))


def test_visits_that_are_worth_less_prove_less():
    counts, truth = {"a": 60, "b": 40}, {"a": 1, "b": 1}
    found = compare_with_law(counted(counts, 0.25), truth)
    assert found.effective == pytest.approx(25)
    assert found.statistic == pytest.approx(found.plain / 4)
    assert compare_with_law(counted(counts), truth).p < 0.05
    assert found.p >= 0.05


def test_rare_categories_are_tested_together():
    found = compare_with_law(counted({"a": 50, "b": 44, "c": 3, "d": 2, "odd": 1}), {"a": 50, "b": 44, "c": 3, "d": 3})
    theirs = chisquare([50, 44, 6], [50, 44, 6])
    assert (found.statistic, found.freedom, found.together) == pytest.approx((theirs.statistic, 2, 3))
    impossible = compare_with_law(counted({"a": 50, "odd": 50}), {"a": 1.0})
    assert impossible.statistic == inf
    assert impossible.p == 0.0


def test_nothing_to_compare_rejects_nothing():
    assert compare_with_law({}, {"a": 1.0}).p == 1.0
    assert compare_with_law(counted({"a": 9}), {"a": 2.0}).p == 1.0
    for truth in ({}, {"a": 0.0}, {"a": 2.0, "b": -1.0}):
        with pytest.raises(ValueError, match="distribution"):
            compare_with_law(counted({"a": 9}), truth)


def test_a_walk_of_the_right_law_is_rejected_about_once_in_twenty_and_the_plain_test_far_more_often():
    rng, rejected = np.random.default_rng(1), np.zeros(2)
    truth = {0: 0.4, 1: 0.3, 2: 0.2, 3: 0.1}
    for _ in range(150):
        drawn = rng.choice(4, 600, p=list(truth.values()))
        stays = rng.random(600) < 0.7
        stays[0] = False
        at = drawn[np.maximum.accumulate(np.where(stays, 0, np.arange(600)))]  # a walk that often stays where it is
        found = compare_with_law(estimate_distribution(at, np.ones(600)), truth)
        rejected += found.p < 0.05, found.plain_p < 0.05
    assert 0.01 < rejected[0] / 150 < 0.11
    assert rejected[1] / 150 > 0.4


def test_the_largest_categorys_deviation_is_relative_to_the_truth():
    found = counted({"a": 42, "b": 48, "x": 10})
    assert find_deviation(found, {"a": 50, "b": 40, "c": 10}) == ("a", pytest.approx(0.16))
    assert find_deviation({}, {"a": 1.0}) == ("a", 1.0)


@settings(deadline=None, max_examples=many(40))
@given(some.integers(2, 12), some.integers(0, 10_000))
def test_the_gap_is_that_of_the_eigenvalues_of_the_dense_matrix(n, seed):
    graph = nx.gnp_random_graph(n, 0.5, seed=seed)
    links = nx.to_numpy_array(graph)
    degree = links.sum(axis=1)
    most = max(1.0, degree.max())
    chain = np.eye(n) - (np.diag(degree) - links) / most
    sizes = np.sort(np.abs(np.linalg.eigvals(chain)))
    assert compute_gap(make_regular_walk(links)) == pytest.approx(max(0.0, sizes[-1] - sizes[-2]), abs=1e-9)
    if degree.all():
        plain = links / degree[:, None]
        sizes = np.sort(np.abs(np.linalg.eigvals(plain)))
        told = compute_gap(make_simple_walk(links), degree)
        assert told == pytest.approx(max(0.0, sizes[-1] - sizes[-2]), abs=1e-6)
        assert compute_gap(plain) == pytest.approx(told, abs=1e-6)


def test_gaps_of_graphs_that_are_known_by_heart():
    n = 10
    assert compute_gap(make_simple_walk(nx.to_numpy_array(nx.complete_graph(n)))) == pytest.approx(1 - 1 / (n - 1))
    assert compute_gap(make_simple_walk(nx.to_numpy_array(nx.cycle_graph(9)))) == pytest.approx(1 - np.cos(np.pi / 9))
    assert compute_gap(make_simple_walk(nx.to_numpy_array(nx.cycle_graph(8)))) == pytest.approx(
        0.0, abs=1e-12
    )  # in turn, for ever
    assert compute_gap(make_regular_walk(nx.to_numpy_array(nx.path_graph(2)), 2)) == pytest.approx(1.0)
    apart = nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(4))
    assert compute_gap(make_regular_walk(nx.to_numpy_array(apart))) == pytest.approx(0.0, abs=1e-12)
    assert compute_gap(np.ones((1, 1))) == 1.0


def test_a_large_graph_has_the_gap_that_all_its_eigenvalues_say():
    links = nx.to_scipy_sparse_array(nx.connected_watts_strogatz_graph(620, 8, 0.3, seed=1))
    sizes = np.sort(np.abs(np.linalg.eigvalsh(make_regular_walk(links).toarray())))
    assert compute_gap(make_regular_walk(links)) == pytest.approx(sizes[-1] - sizes[-2], abs=1e-8)


def test_more_loops_make_the_gap_smaller_by_as_much_as_they_take_time():
    links = nx.to_numpy_array(nx.gnp_random_graph(40, 0.2, seed=2))
    few, more = make_regular_walk(links, 100), make_regular_walk(links, 1000)
    assert compute_gap(few) == pytest.approx(10 * compute_gap(more))
    assert compute_move_chance(few) == pytest.approx(10 * compute_move_chance(more))
    with pytest.raises(ValueError, match="raise D"):
        make_regular_walk(links, 3)


def test_a_focus_is_the_graph_of_its_nodes():
    links = nx.to_numpy_array(nx.gnp_random_graph(12, 0.5, seed=4))
    topic = np.arange(12) % 2 == 0
    assert np.array_equal(restrict_links(links, topic).toarray(), links[np.ix_(topic, topic)])
    assert np.array_equal(restrict_links(links, [3, 1]).toarray(), links[np.ix_([3, 1], [3, 1])])


def test_a_matrix_that_is_no_chain_is_refused():
    for matrix, why in (([[0.5, 0.4], [0, 1]], "chances"), ([[2.0, -1.0], [0, 1]], "chances")):
        with pytest.raises(ValueError, match=why):
            compute_gap(np.array(matrix))
    with pytest.raises(ValueError, match="direction"):
        make_simple_walk(np.array([[0, 1], [0, 0]]))
    with pytest.raises(ValueError, match="not reversible"):
        compute_gap(np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]]), [1.0, 1.0, 1.0])


def test_the_papers_mixing_time_is_its_formula():
    assert estimate_mixing_time(1e-5, 10**10) == pytest.approx(2.3e6, rel=0.01)  # "at most 4 million steps"
    assert (estimate_mixing_time(0.0, 5), estimate_mixing_time(0.1, 1)) == (inf, 0.0)
