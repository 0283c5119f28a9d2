"""Shares, means and distributions of a walk's sample, and intervals that know how alike its visits are."""

import networkx as nx
import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import binomtest

from socialcrawl.crawls.sample.estimates import (
    ALONE,
    EMPTY,
    SMALL,
    Series,
    compute_wilson,
    estimate_distribution,
    estimate_mean,
    estimate_share,
    list_doubling_edges,
    list_tenths,
    make_histogram,
)
from socialcrawl.crawls.sample.variance import estimate_variance


def walked(graph, steps, walks, seed):
    """Nodes int[walks, steps] that simple random walks visit, started from the law by degree."""
    rng = np.random.default_rng(seed)
    degree = np.array([graph.degree(u) for u in range(len(graph))])
    table = np.zeros((len(graph), degree.max()), int)
    for u in range(len(graph)):
        table[u, : degree[u]] = sorted(graph[u])
    at = rng.choice(len(graph), walks, p=degree / degree.sum())
    seen = [at]
    for _ in range(steps - 1):
        at = table[at, (rng.random(walks) * degree[at]).astype(int)]
        seen.append(at)
    return np.array(seen).T, degree


@pytest.fixture(scope="module")
def town():
    """Two communities of 60, with an edge between them for every twelve inside."""
    return nx.planted_partition_graph(2, 60, 0.15, 0.0125, seed=3)


@settings(deadline=None, max_examples=many(40))
@given(
    some.lists(some.tuples(some.booleans(), some.floats(0.0, 9.0), some.integers(0, 3)), min_size=2, max_size=40),
)
def test_a_share_is_the_weighted_average_and_lies_in_its_interval(rows):
    values, weights, walk = map(np.array, zip(*rows, strict=True))
    found = estimate_share(values, weights, walk)
    if not weights.sum():
        assert np.isnan(found.value)
        assert (found.low, found.high, found.effective, found.note) == (0.0, 1.0, 0.0, EMPTY)
        return
    assert found.value == pytest.approx(np.average(values, weights=weights))
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert 1.0 <= found.effective <= found.visits == (weights > 0).sum()
    assert found.width > 0.0


def test_wilsons_interval_is_that_of_scipy():
    for k, n in ((0, 9), (3, 20), (40, 41), (50, 50)):
        theirs = binomtest(k, n).proportion_ci(0.9, method="wilson")
        assert compute_wilson(k / n, n, np.inf, 0.9) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_independent_visits_have_nearly_the_interval_of_a_coin():
    values = np.random.default_rng(5).random(4000) < 0.3
    found = estimate_share(values, np.ones(4000))
    coin = binomtest(int(values.sum()), 4000).proportion_ci(method="wilson")
    assert found.width == pytest.approx(coin.high - coin.low, rel=0.15)
    assert found.note == ""


def test_the_variance_of_a_series_with_memory_is_the_one_that_is_known():
    rng, phi = np.random.default_rng(1), 0.8
    z = np.zeros(60_000)
    for i, noise in enumerate(rng.normal(size=len(z) - 1), 1):
        z[i] = phi * z[i - 1] + noise
    variance, freedom = estimate_variance(z, np.array([0, 20_000, 60_000]))
    assert variance == pytest.approx(1.0 / (1.0 - phi) ** 2, rel=0.1)
    assert 500 < freedom < 6000


@settings(deadline=None, max_examples=many(30))
@given(some.lists(some.lists(some.integers(-3, 3), min_size=1, max_size=9), min_size=1, max_size=4))
def test_pairs_of_visits_are_those_of_one_walk_only(walks):
    z = np.concatenate(walks).astype(float)
    n, longest = len(z), max(map(len, walks))
    pairs = [sum(x[i] * x[i + lag] for x in walks for i in range(len(x) - lag)) / n for lag in range(longest)]
    kept = []
    for i in range(0, longest - 1, 2):  # Geyer's sequence, in his words
        if round(pairs[i] + pairs[i + 1], 9) <= 0:
            break
        kept.append(min([pairs[i] + pairs[i + 1], *kept[-1:]]))
    freedom = max(1.0, n / (2.0 * max(0, 2 * len(kept) - 1) + 1.0))
    whole = 2.0 * sum(kept) - pairs[0] if kept else pairs[0]
    begins = np.cumsum([0, *map(len, walks)])
    assert estimate_variance(z, begins) == pytest.approx((whole / max(0.25, 1.0 - 1.0 / freedom), freedom), abs=1e-9)


def test_a_memory_too_long_to_be_summed_lag_by_lag_has_the_same_variance(monkeypatch):
    rng = np.random.default_rng(3)
    z = np.convolve(rng.normal(size=4000), np.ones(400), "valid")
    z -= z.mean()
    begins = np.array([0, 900, 2300, len(z)])
    found = estimate_variance(z, begins)
    monkeypatch.setattr("socialcrawl.crawls.sample.variance.NEAR", 3000)
    assert estimate_variance(z, begins) == pytest.approx(found)
    assert found[1] < len(z) / 257  # it reaches beyond the lags that are summed one by one


def test_visits_of_several_walks_may_be_mixed():
    rng = np.random.default_rng(2)
    values, weights, walk = rng.random(300) < 0.4, rng.random(300), np.repeat([0, 1, 2], 100)
    mixed = np.argsort(np.tile(np.arange(100), 3), kind="stable")
    assert estimate_share(values[mixed], weights[mixed], walk[mixed]) == estimate_share(values, weights, walk)


def test_walks_that_disagree_widen_the_interval():
    rng = np.random.default_rng(7)
    calm = np.concatenate([rng.random(500) < 0.5 for _ in range(4)])
    apart = np.concatenate([rng.random(500) < p for p in (0.05, 0.95, 0.05, 0.95)])
    walk = np.repeat(np.arange(4), 500)
    assert estimate_share(apart, np.ones(2000), walk).width > 10 * estimate_share(calm, np.ones(2000), walk).width
    assert estimate_share(apart, np.ones(2000), walk).effective < 10


def test_visits_without_weight_are_left_out_whatever_they_show():
    values, weights = np.array([1, 0, 1, 1, 0, 0, 1]), np.array([1.0, 0, 2, 1, 3, 0, 1])
    other = np.where(weights == 0, 1 - values, values)
    assert estimate_share(values, weights) == estimate_share(other, weights)
    assert estimate_share(values, weights).visits == 5
    shown = np.where(weights == 0, np.nan, values)
    assert estimate_mean(shown, weights).value == pytest.approx(np.average(values, weights=weights))


def test_a_sample_that_agrees_throughout_is_not_taken_for_certain():
    for value in (0, 1):
        few, more = estimate_share(np.full(30, value), np.ones(30)), estimate_share(np.full(3000, value), np.ones(3000))
        assert (few.value, more.value) == (value, value)
        assert few.width > 0.1
        assert 0.0012 < more.width < 0.0013  # the rule of three says 3/3000, Wilson somewhat more


def test_nothing_and_one_visit_tell_nothing():
    assert estimate_share([], []).note == EMPTY
    one = estimate_share([True], [0.2])
    assert (one.value, one.low, one.high, one.note) == (1.0, 0.0, 1.0, ALONE)
    assert (estimate_mean([7.0], [0.2]).value, estimate_mean([7.0], [0.2]).high, estimate_mean([], []).low) == (
        7.0,
        np.inf,
        -np.inf,
    )
    assert estimate_share([True, False, True], np.ones(3)).note == SMALL


def test_what_was_seldom_seen_is_as_alike_as_the_marks_of_the_visits():
    rng = np.random.default_rng(4)
    marks = np.repeat(rng.integers(0, 2, 20), 50)  # a walk that stays for fifty visits
    rare = np.zeros(1000, bool)
    rare[100:130] = True
    free, bound = estimate_share(rare, np.ones(1000)), estimate_share(rare, np.ones(1000), like=marks)
    assert bound.effective < 60
    assert bound.width > 1.5 * free.width
    assert (
        estimate_share(np.zeros(1000), np.ones(1000), like=marks).high
        > 5 * estimate_share(np.zeros(1000), np.ones(1000)).high
    )


def test_a_weight_or_a_walk_that_cannot_be_is_refused():
    for weights, walk in (([1.0, -1.0], None), ([1.0, np.nan], None), ([1.0, 1.0], [0])):
        with pytest.raises(ValueError, match=r"weight"):
            Series.of(weights, walk)


def test_a_distribution_tells_each_category_the_largest_first():
    names = ["org", "com", "com", "net", "org", "com", "edu"]
    weights = [1.0, 1.0, 1.0, 2.0, 2.0, 1.0, 0.0]
    found = estimate_distribution(names, weights)
    assert list(found) == ["com", "org", "net"]  # ties by name; no weight, no category
    assert [round(one.value, 9) for one in found.values()] == [0.375, 0.375, 0.25]
    assert list(estimate_distribution(np.array(names), weights, most=1)) == ["com"]
    assert estimate_distribution([], []) == {}


def test_a_histogram_has_the_shares_between_its_edges():
    bars = make_histogram([0, 1, 3, 4, 7, np.nan], list_doubling_edges(7), np.array([1.0, 1, 1, 1, 1, 9]))
    assert [(bar.begin, bar.end, round(bar.share.value, 9)) for bar in bars] == [
        (0.0, 1.0, 0.2), (1.0, 2.0, 0.2), (2.0, 4.0, 0.2), (4.0, 8.0, 0.4),
    ]  # fmt: skip
    part = make_histogram([0.0, 0.04, 0.5, 0.96, 1.0], list_tenths(), np.ones(5))
    assert [round(bar.share.value, 9) for bar in part] == [0.4, 0, 0, 0, 0, 0.2, 0, 0, 0, 0, 0.4]


@pytest.mark.parametrize(("steps", "walks"), [(1500, 1), (150, 10)])
def test_the_truth_lies_in_ninety_of_a_hundred_intervals(town, steps, walks):
    truth = np.arange(120) % 3 == 0
    low = np.array([town.degree(u) for u in range(120)]) < 8
    hits = {"community": 0, "spread": 0, "degree": 0, "mean": 0, "among": 0}
    nodes, degree = walked(town, steps, 100 * walks, steps)
    for at in nodes.reshape(100, walks * steps):
        walk = np.repeat(np.arange(walks), steps)
        weights = 1.0 / degree[at]
        hits["community"] += estimate_share(at < 60, weights, walk).contains(0.5)
        hits["spread"] += estimate_share(truth[at], weights, walk).contains(truth.mean())
        hits["degree"] += estimate_share(low[at], weights, walk).contains(low.mean())
        hits["mean"] += estimate_mean(degree[at], weights, walk).contains(degree.mean())
        # An unfocused walk that is filtered: the topic is every third, and half of it in the first community.
        hits["among"] += estimate_share(at < 60, np.where(truth[at], weights, 0.0), walk).contains(0.5)
    assert min(hits.values()) >= 90, hits


def test_what_changes_slowly_beneath_the_noise_is_seen_by_its_marks_or_by_pieces_of_the_walk():
    village = nx.planted_partition_graph(2, 60, 0.15, 0.003, seed=3)  # a walk stays for long in one half
    nodes, degree = walked(village, 1500, 100, 1)
    few = nodes < 6  # a tenth of one half, none of the other
    marked = sum(
        estimate_share(f, 1.0 / degree[at], like=at < 60).contains(0.05) for f, at in zip(few, nodes, strict=True)
    )
    bare = sum(estimate_share(f, 1.0 / degree[at]).contains(0.05) for f, at in zip(few, nodes, strict=True))
    assert min(marked, bare) >= 90


def test_holding_times_are_weights_as_good_as_degrees(town):
    nodes, degree = walked(town, 20_000, 1, 5)
    held = np.random.default_rng(6).geometric(degree[nodes[0]] / 1000.0)
    by_time, by_degree = estimate_share(nodes[0] < 60, held), estimate_share(nodes[0] < 60, 1.0 / degree[nodes[0]])
    assert by_time.contains(0.5)
    assert abs(by_time.value - by_degree.value) < 0.05
    assert by_time.effective <= by_degree.effective * 1.1
