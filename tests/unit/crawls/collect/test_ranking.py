"""The fast frontier against a full rescan: the same rows, in the same order, with the same scores, at every step."""

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.crawls.collect import equal_rows, ranking
from socialcrawl.crawls.collect.estimators import NAMES, Estimator, make_estimator
from socialcrawl.crawls.collect.estimators.base import ScoreTerms
from socialcrawl.crawls.collect.ranking import Ranking
from socialcrawl.crawls.collect.strategies import choose_greedily
from socialcrawl.engine.model import Node
from socialcrawl.graph.graph import CrawlGraph
from socialcrawl.graph.relevance import compute_worth

FEATURES = ("n_sum", "e_sum", "ne_max")
MANY = 250


class Drifting(Estimator):
    """Weights that wander from step to step, sometimes far, sometimes not at all."""

    def __init__(self, seed: int, stride: float) -> None:
        self.seed, self.stride = seed, stride

    def get_terms(self, n):
        rng = np.random.default_rng(self.seed)
        steps = rng.normal(0, self.stride, (n + 1, 4)) * (rng.random((n + 1, 1)) < 0.7)
        weights = rng.normal(0, 1, 4) + steps.sum(axis=0)
        return ScoreTerms(
            self, tuple(weights[:3].tolist()), float(weights[3]), lambda g, rows: g.columns(FEATURES, rows)
        )

    def score(self, graph, rows, n):
        return self.get_terms(n).combine(graph.columns(FEATURES, rows))


def rescan(graph, estimator, size, n):
    rows = graph.frontier()
    scores = estimator.score(graph, rows, n)
    chosen = choose_greedily(scores, size)
    return rows[chosen], scores[chosen]


def live(seed, estimator, *, kept=2, size=1, steps=60, worths=(0, 0, 0, 1, 3), span=400, trouble=0.0):
    """Crawl a random graph by the fast frontier and compare every decision with a full rescan."""
    rng = np.random.default_rng(seed)
    graph = CrawlGraph()
    fast = Ranking(graph, estimator, kept)
    closed = []

    def fetch(node):
        targets = rng.choice(span, int(rng.integers(0, 25)), replace=False)
        alpha = np.array([compute_worth(int(x)) for x in rng.choice(worths, len(targets))], np.float64)
        x, value = graph.features(graph.row(node)), compute_worth(int(rng.choice(worths)))
        estimator.note_fetched(graph, graph.add(node, value, targets, alpha))
        return x, value

    seeds = [Node(int(node)) for node in rng.choice(span, 2, replace=False)]
    for node in seeds:
        graph.seed(node)
    estimator.sow(graph, np.array([graph.row(node) for node in seeds]))
    for node in seeds:
        fetch(node)
    for n in range(steps):
        for _ in range(2):  # asked twice, the same answer
            rows, scores = fast.find_best(size, n)
            wanted, values = rescan(graph, estimator, size, n)
            assert rows.tolist() == wanted.tolist()
            assert scores.tolist() == values.tolist()
        for row in rows.tolist():
            node = graph.node(row)
            fate = rng.random()
            if fate < trouble:
                graph.drop(node)
                closed.append(node)
            elif fate < trouble * 1.3:
                graph.drop(node)
                graph.merge(node, graph.node(int(rng.integers(graph.size))))
            else:
                x, value = fetch(node)
                estimator.learn(np.array([x]), np.array([value]))
        if closed and rng.random() < trouble:
            graph.set_open(closed.pop(int(rng.integers(len(closed)))), is_open=True)
        if trouble and graph.left and rng.random() < trouble:
            graph.set_open(graph.node(int(rng.choice(graph.frontier()))), is_open=False)
    return fast


@pytest.fixture(autouse=True)
def _small_crowds(monkeypatch):
    monkeypatch.setattr(equal_rows, "CROWD", 3)
    monkeypatch.setattr(equal_rows, "MOST", 4)
    monkeypatch.setattr(equal_rows, "LOOK", 2)
    monkeypatch.setattr(equal_rows, "FEW", 20)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("random", "nr")])
@pytest.mark.parametrize("size", [1, 5])
def test_every_estimator_is_ranked_as_by_a_rescan(name, size):
    for seed in range(6):
        live(seed, make_estimator(name, seed=1, switch_after=15), size=size)
        live(seed, make_estimator(name, seed=1, switch_after=15), size=size, worths=(0, 0, 0, 0, 0, 0, 1), trouble=0.2)


@given(
    st.integers(0, 10**6),
    st.sampled_from([1e-9, 1e-4, 1e-2, 0.3]),
    st.integers(1, 4),
    st.sampled_from([(0,), (0, 0, 0, 1), (1,), (0, 1, 2, 3, 4, 5, 6, 7)]),
    st.sampled_from([0.0, 0.3]),
)
@settings(deadline=None, max_examples=MANY)
def test_moving_weights_are_ranked_as_by_a_rescan(seed, stride, size, worths, trouble):
    live(seed, Drifting(seed, stride), size=size, worths=worths, trouble=trouble, steps=30)


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(30, 3000))
@settings(deadline=None, max_examples=many(60))
def test_the_size_of_the_world_and_of_the_candidates_changes_nothing(seed, kept, span):
    live(seed, make_estimator("hybrid-sum", seed=1, switch_after=10), kept=kept, span=max(span, 30), steps=30)


def test_few_steps_need_a_scan():
    fast = live(3, make_estimator("nh-n-sum", seed=1), kept=50, steps=400, span=30_000, worths=(0, 1, 2, 3, 5, 8))
    assert fast.scans < 40
    assert fast.graph.left > 2_000


def test_masses_of_ties_need_few_scans_though_the_weights_move():
    moving = Drifting(8, 1e-4)
    fast = live(3, moving, kept=50, steps=300, span=30_000, worths=(0, 0, 0, 0, 0, 0, 1))
    assert fast.scans < 100


def test_another_estimator_takes_its_turn_with_a_scan_of_its_own():
    fast = live(1, make_estimator("hybrid-sum", seed=1, switch_after=20), kept=1000, steps=40)
    assert fast.scans == 2


def test_ranking_defaults_leave_room_for_a_batch():
    assert ranking.KEPT >= 500
