"""The adaptive estimator against other ways to the same numbers: records counted anew, a solver of scipy, a rescan."""

from itertools import pairwise
from math import log, sqrt

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from socialcrawl.crawls.collect.estimators.adaptive import (
    ANY_SIGN,
    DRAW,
    EARLY,
    FADE,
    FEATURES,
    HOPE,
    START,
    Adaptive,
    compute_variance,
    solve_ridge,
    take_logarithm,
)
from socialcrawl.crawls.collect.estimators.base import FetchedNodes
from socialcrawl.crawls.collect.estimators.records import DOUBT, GROWN, KINDS
from socialcrawl.engine.model import Node
from socialcrawl.graph.graph import CrawlGraph

SPAN = 60


def draw_links(rng, most=12):
    targets = rng.choice(SPAN, int(rng.integers(0, most)), replace=False).astype(np.int64)
    return targets, rng.choice([0.0, 1.0, 1.0 + log(2)], len(targets))


def draw_value(rng):
    return float(rng.choice([0.0, 0.0, 1.0, 2.5]))


def crawl_some(seed, steps, *, pages=0.0):
    """A graph of random nodes that were fetched in random order, the estimator that was told, and the rows it learned.

    Of some nodes posts are held. With `pages`, that share of the steps reads more of a node that was fetched.
    """
    rng, graph, told = np.random.default_rng(seed), CrawlGraph(), Adaptive()
    graph.seed(Node(0))
    x, y = [], []
    for step in range(steps):
        if step % 4 == 0:
            graph.note_evidence(Node(step), None, 1.0 + draw_value(rng))
        fetched = graph.list_fetched()
        if step and len(fetched) and rng.random() < pages:
            node = graph.node(int(rng.choice(fetched)))
            value = float(graph.value(np.array([graph.row(node)]))[0]) + draw_value(rng)
            told.note_fetched(graph, graph.renew(node, value, *draw_links(rng)))
            continue
        frontier = graph.frontier()
        node = graph.node(int(rng.choice(frontier))) if len(frontier) else Node(step % SPAN)
        if graph.is_fetched(node):
            continue
        features = told.read_features(graph, np.array([graph.row(node)]))[:, 0] if graph.is_known(node) else None
        as_picked = graph.features(graph.row(node)) if features is not None else ()
        value = draw_value(rng)
        told.note_fetched(graph, graph.add(node, value, *draw_links(rng)))
        if features is not None and step:
            told.learn(np.array([as_picked]), np.array([value]))
            x.append(features)
            y.append(value)
    return graph, told, np.array(x), np.array(y)


def list_records(graph):
    """Of each fetched node twice, as (row, kind): its targets by links without and with weight, and values of these."""
    for row in graph.list_fetched().tolist():
        targets, alpha = graph.list_links(row)
        for kind, some in enumerate((targets[alpha == 0], targets[alpha > 0])):
            values = graph.value(some)
            yield row, kind, some, values[~np.isnan(values)]


def count_features(graph, told):
    """By row: flow, what is known, and mean of the records of links to it, counted over the whole graph."""
    known, records, flow, links = (np.zeros(graph.size) for _ in range(4))
    for row, kind, targets, values in list_records(graph):
        known[targets] += values.sum() / (len(values) + DOUBT)
        records[targets] += (values.sum() + DOUBT * told.means[kind]) / (len(values) + DOUBT)
        many = len(graph.list_links(row)[0])
        flow[targets] += float(graph.value(np.array([row]))[0]) / sqrt(max(many, 1))
        links[targets] += 1
    return flow, known, np.where(links > 0, records / np.maximum(links, 1), told.means[-1])


def tell_at_once(monkeypatch):
    monkeypatch.setattr("socialcrawl.crawls.collect.estimators.records.GROWN", 1.0)


@settings(deadline=None, max_examples=many(20))
@given(st.integers(0, 10**6))
def test_records_that_are_told_at_once_are_those_of_the_whole_graph(seed):
    with pytest.MonkeyPatch.context() as patch:
        tell_at_once(patch)
        graph, told, _, _ = crawl_some(seed, 80, pages=0.2)
    told._renew_at = 0
    told._go_on(told.records.total / told.records.fetched, told.records.sums, told.records.counts)
    features = told.read_features(graph, np.arange(graph.size))
    found = [features[FEATURES.index(name)] for name in ("log flow", "log known", "record")]
    flow, known, record = count_features(graph, told)
    for had, wanted in zip(found, (take_logarithm(flow), take_logarithm(known), record), strict=True):
        assert had == pytest.approx(wanted, abs=1e-9)


@settings(deadline=None, max_examples=many(20))
@given(st.integers(0, 10**6))
def test_mu_is_the_mean_of_what_links_of_a_kind_led_to_and_a_little_of_all(seed):
    graph, told, _, _ = crawl_some(seed, 80, pages=0.2)
    told._renew_at = 0
    told._go_on(told.records.total / told.records.fetched, told.records.sums, told.records.counts)
    mean = graph.value(graph.list_fetched()).mean()
    assert told.means[-1] == pytest.approx(mean)
    for kind in range(KINDS):
        values = np.concatenate([values for _, other, _, values in list_records(graph) if other == kind])
        assert told.means[kind] == pytest.approx((values.sum() + DOUBT * mean) / (len(values) + DOUBT))


@settings(deadline=None, max_examples=many(20))
@given(st.integers(0, 10**6))
def test_a_record_counts_anew_when_it_has_grown_by_a_quarter(seed):
    graph, told, _, _ = crawl_some(seed, 80)
    for row, kind, _, values in list_records(graph):
        record = KINDS * told.records._number[row] + kind
        total, count, _, as_told = told.records._own[record].tolist()
        assert (count, total) == (len(values), pytest.approx(values.sum()))
        assert count + DOUBT < GROWN * (as_told + DOUBT)


@settings(deadline=None, max_examples=many(20))
@given(st.integers(0, 10**6))
def test_the_weights_are_those_of_another_solver(seed):
    _, told, x, y = crawl_some(seed, 60)
    told._refit()
    assert told.rows == len(y) >= EARLY
    middle, about = x - x.mean(axis=0), y - y.mean()
    low = np.zeros(len(FEATURES))
    low[ANY_SIGN] = -np.inf
    drawn = np.concatenate([middle, sqrt(DRAW) * np.eye(len(START))])
    fit = lsq_linear(drawn, np.concatenate([about, sqrt(DRAW) * np.array(START)]), (low, np.inf), tol=1e-14).x
    fade = FADE / (FADE + len(y))
    whole = fit / (middle @ fit).std() + fade * np.array(HOPE) / (middle @ np.array(HOPE)).std()
    assert told.weights == pytest.approx(whole, abs=1e-4)


def test_of_two_accounts_that_are_mentioned_alike_the_one_with_more_posts_held_scores_higher():
    graph, told, _, _ = crawl_some(3, 60)
    source, first, second, third = map(Node, range(SPAN, SPAN + 4))
    told.note_fetched(graph, graph.add(source, 1.0, np.array([first, second, third]), np.zeros(3)))
    for node, value in ((first, 1.0), (second, 2.0)):
        graph.note_evidence(node, None, value)
    rows = np.array([graph.row(node) for node in (first, second, third)])
    assert told.rows >= EARLY
    assert told.read_features(graph, rows)[FEATURES.index("evidence")].tolist() == [1.0, 2.0, 0.0]
    low, high, none = told.score(graph, rows, 0).tolist()
    assert high > low > none


def test_posts_that_are_found_after_an_account_was_read_teach_nothing():
    graph, told = CrawlGraph(), Adaptive()
    graph.note_evidence(Node(1), None, 1.5)
    row = graph.add(Node(1), 3.0, np.array([2]), np.zeros(1))
    told.note_fetched(graph, row)
    graph.note_evidence(Node(1), 1.5, 9.0)
    assert told.read_features(graph, np.array([row]))[FEATURES.index("evidence")].tolist() == [1.5]


def test_without_any_value_the_start_is_what_is_left():
    spread = np.zeros((len(START), len(START) + 1)).tolist()
    assert solve_ridge(spread) == pytest.approx(START)
    assert compute_variance(spread, START) == 0.0


def test_before_the_first_fit_nodes_are_scored_by_hope_alone():
    graph, told, _, _ = crawl_some(1, 5)
    rows = graph.frontier()
    assert told.rows < EARLY
    assert told.score(graph, rows, 0) == pytest.approx(np.array(HOPE) @ told.read_features(graph, rows))


@given(st.floats(0, 1e12))
def test_the_logarithm_is_nearly_that_of_one_plus_x_and_rises(x):
    (found,) = take_logarithm(np.array([x]))
    assert found <= np.log1p(x) + 1e-9
    assert np.log1p(x) - found < 0.06
    assert take_logarithm(np.array([x * 1.01 + 1e-3]))[0] > found


@pytest.mark.parametrize("power", range(0, 40, 3))
def test_the_logarithm_of_powers_of_two_is_exact(power):
    assert take_logarithm(np.array([2.0**power - 1.0]))[0] == pytest.approx(power * log(2), rel=1e-15)


@settings(deadline=None, max_examples=many(20))
@given(st.integers(0, 10**6), st.integers(40, 300), st.lists(st.integers(0, 120), max_size=4))
def test_a_history_taken_in_at_once_is_the_same_bit_for_bit_as_node_by_node(seed, span, cuts):
    rng = np.random.default_rng(seed)
    nodes = [Node(int(node)) for node in rng.permutation(span)[:120]]
    graph, one_by_one, at_once, x = CrawlGraph(), Adaptive(), Adaptive(), []
    taught = rng.random(len(nodes)) < 0.9
    for node, teaches in zip(nodes, taught, strict=True):
        if node % 3 == 0:
            graph.note_evidence(node, None, 1.0 + draw_value(rng))
        graph.drop(node)
        x.append(graph.features(graph.row(node)))
        targets = rng.choice(span, int(rng.integers(0, 12)), replace=False).astype(np.int64)
        row = graph.add(node, draw_value(rng), targets, rng.choice([0.0, 1.0, 1.7], len(targets)))
        one_by_one.note_fetched(graph, row)
        if teaches:
            one_by_one.learn(np.array(x[-1:]), graph.value(np.array([row])))
    rows = np.array([graph.row(node) for node in nodes])
    bounds = sorted({0, len(nodes), *(cut % len(nodes) for cut in cuts)})
    for some in (slice(*pair) for pair in pairwise(bounds)):
        columns = np.array(x[some])[taught[some]]
        at_once.learn_all(graph, FetchedNodes(rows[some], graph.value(rows[some]), columns, taught[some]))
    assert at_once.weights == one_by_one.weights
    assert at_once.means == one_by_one.means
    assert list_state(at_once.records) == list_state(one_by_one.records)
    everybody = np.arange(graph.size)
    assert at_once.score(graph, everybody, 0).tolist() == one_by_one.score(graph, everybody, 0).tolist()


def list_state(records):
    """All that records know, without the room that they have for more."""
    sizes, apart = {"_number": -1, "_last": -1}, ("_targets", "_span", "_columns")
    by_name = {name: np.asarray(value) for name, value in vars(records).items() if name not in apart}
    found = {name: np.trim_zeros(value.ravel() - sizes.get(name, 0), "b").tolist() for name, value in by_name.items()}
    return found | {"_targets": [records.list_targets(one).tolist() for one in range(KINDS * records.fetched)]}
