"""The adaptive estimator against other ways to the same numbers: records counted anew, a solver of scipy, a rescan."""

from math import log, sqrt

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from socialcrawl.crawls.collect.estimators.adaptive import (
    ANY_SIGN,
    DOUBT,
    DRAW,
    EARLY,
    FADE,
    FEATURES,
    GROWN,
    HOPE,
    START,
    Adaptive,
    compute_variance,
    solve_ridge,
    take_logarithm,
)
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

    With `pages`, that share of the steps reads more of a node that was fetched.
    """
    rng, graph, told = np.random.default_rng(seed), CrawlGraph(), Adaptive()
    graph.seed(Node(0))
    x, y = [], []
    for step in range(steps):
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
        features = told._read_features(graph, np.array([graph.row(node)]))[:, 0] if graph.is_known(node) else None
        value = draw_value(rng)
        told.note_fetched(graph, graph.add(node, value, *draw_links(rng)))
        if features is not None and step:
            told.learn(np.zeros((1, 8)), np.array([value]))
            x.append(features)
            y.append(value)
    return graph, told, np.array(x), np.array(y)


def count_records(graph, mean):
    """By row: the record of those who mention it, the flow, and how many mention it, counted over the whole graph."""
    record, flow, mentioners = np.zeros(graph.size), np.zeros(graph.size), np.zeros(graph.size)
    for row in graph.list_fetched().tolist():
        targets = graph.list_links(row)[0]
        values = graph.value(targets)
        values = values[~np.isnan(values)]
        record[targets] += (values.sum() + DOUBT * mean) / (len(values) + DOUBT)
        flow[targets] += float(graph.value(np.array([row]))[0]) / sqrt(max(len(targets), 1))
        mentioners[targets] += 1
    return np.where(mentioners > 0, record / np.maximum(mentioners, 1), mean), flow, mentioners


@settings(max_examples=many(20))
@given(st.integers(0, 10**6))
def test_records_that_are_told_at_once_are_those_of_the_whole_graph(seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("socialcrawl.crawls.collect.estimators.adaptive.GROWN", 1.0)
        graph, told, _, _ = crawl_some(seed, 80, pages=0.2)
    rows = np.arange(graph.size)
    record, flow, mentioners = count_records(graph, told.mean)
    known, unknown = told.records.average(rows)
    assert known + told.mean * unknown == pytest.approx(record)
    assert told.records.flow[rows] == pytest.approx(flow)
    assert told.records.mentioners[rows].tolist() == mentioners.tolist()


@settings(max_examples=many(20))
@given(st.integers(0, 10**6))
def test_a_record_counts_anew_when_it_has_grown_by_a_quarter(seed):
    graph, told, _, _ = crawl_some(seed, 80)
    for row in graph.list_fetched().tolist():
        values = graph.value(graph.list_links(row)[0])
        values = values[~np.isnan(values)]
        _, _, total, count, _, as_told = told.records._own[told.records._number[row]].tolist()
        assert (count, total) == (len(values), pytest.approx(values.sum()))
        assert count + DOUBT < GROWN * (as_told + DOUBT)


@settings(max_examples=many(20))
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


def test_without_any_value_the_start_is_what_is_left():
    spread = np.zeros((len(START), len(START) + 1)).tolist()
    assert solve_ridge(spread) == pytest.approx(START)
    assert compute_variance(spread, START) == 0.0


def test_before_the_first_fit_nodes_are_scored_by_hope_alone():
    graph, told, _, _ = crawl_some(1, 5)
    rows = graph.frontier()
    assert told.rows < EARLY
    assert told.score(graph, rows, 0) == pytest.approx(np.array(HOPE) @ told._read_features(graph, rows))


@given(st.floats(0, 1e12))
def test_the_logarithm_is_nearly_that_of_one_plus_x_and_rises(x):
    (found,) = take_logarithm(np.array([x]))
    assert found <= np.log1p(x) + 1e-9
    assert np.log1p(x) - found < 0.06
    assert take_logarithm(np.array([x * 1.01 + 1e-3]))[0] > found


@pytest.mark.parametrize("power", range(0, 40, 3))
def test_the_logarithm_of_powers_of_two_is_exact(power):
    assert take_logarithm(np.array([2.0**power - 1.0]))[0] == pytest.approx(power * log(2), rel=1e-15)
