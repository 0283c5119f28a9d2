"""Greedy: the best first, and of equals the one discovered first."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.crawls.collect.strategies import choose_greedily

FEW = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-52, -1.0, np.inf, -np.inf, 1e300])
SCORES = st.lists(FEW | st.floats(allow_nan=False), max_size=60)


@given(SCORES, st.integers(1, 70))
@settings(deadline=None)
def test_greedy_is_a_stable_sort_cut_off(scores, size):
    best = sorted(range(len(scores)), key=lambda position: -scores[position])[:size]  # Python's sort is stable
    picked = choose_greedily(np.array(scores, np.float64), size)
    assert picked.tolist() == best
    assert picked.dtype == np.int64


@given(st.lists(FEW, min_size=1, max_size=60))
@settings(deadline=None)
def test_one_is_the_first_of_many(scores):
    assert (
        choose_greedily(np.array(scores), 1).tolist() == choose_greedily(np.array(scores), len(scores) + 5).tolist()[:1]
    )


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_equals_are_picked_in_order_of_discovery(size):
    assert choose_greedily(np.full(5, 3.25), size).tolist() == list(range(5))[:size]


@pytest.mark.parametrize("size", [1, 3])
def test_of_nobody_nobody_is_picked(size):
    assert choose_greedily(np.empty(0), size).tolist() == []


def test_picking_leaves_the_scores_alone():
    scores = np.array([2.0, 1.0, 3.0, 3.0])
    before = scores.copy()
    assert choose_greedily(scores, 3).tolist() == [2, 3, 0]
    assert np.array_equal(scores, before)
