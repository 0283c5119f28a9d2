"""What a LiveRank costs: the definition of the paper, written out."""

import math
from fractions import Fraction

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.crawls.refresh.cost import (
    ALPHAS,
    assign_workers,
    compute_cost,
    compute_found_cost,
)


@settings(deadline=None, max_examples=many(60))
@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.integers(1, 100), st.booleans())
def test_cost_is_the_least_number_of_fetches_over_the_active_nodes_wanted(n, seed, hundredths, whole):
    rng = np.random.default_rng(seed)
    active = rng.random(n) < 0.4
    order = rng.permutation(n)[: n if whole else n // 2]
    n_active, alpha = int(active.sum()), Fraction(hundredths, 100)
    found = compute_cost(order, active, np.array([hundredths / 100]))[0]
    enough = [i for i in range(len(order) + 1) if active[order[:i]].sum() >= alpha * n_active]
    if n_active == 0:
        assert math.isnan(found)
    elif not enough:
        assert found == math.inf
    else:
        assert found == pytest.approx(enough[0] / float(alpha * n_active))


def test_at_the_end_every_whole_order_costs_at_most_n_over_the_active_and_the_ideal_one_1():
    active = np.arange(100) < 20
    assert compute_cost(np.arange(100), active) == pytest.approx(np.ceil(np.round(ALPHAS * 20, 9)) / (ALPHAS * 20))
    assert compute_cost(np.arange(100), active, np.array([0.5, 1.0])).tolist() == [1.0, 1.0]
    assert compute_cost(np.arange(100)[::-1], active, np.array([1.0])).tolist() == [100 / 20]


def test_random_orders_cost_n_over_the_active_on_average():
    rng = np.random.default_rng(1)
    active = np.arange(400) < 100
    costs = [compute_cost(rng.permutation(400), active, np.array([0.25, 0.5, 0.9])) for _ in range(200)]
    assert np.mean(costs, axis=0) == pytest.approx([400 / 100] * 3, rel=0.03)


def test_the_training_set_counts_since_it_stands_first():
    active = np.array([False, False, True, True])
    assert compute_cost(np.array([0, 2, 3, 1]), active, np.array([0.5])).tolist() == [2.0]
    assert compute_cost(np.arange(100), np.ones(100, bool), np.array([0.07]))[0] * 7 == pytest.approx(
        7
    )  # 0.07 * 100 > 7
    assert compute_found_cost(np.array([False, True]), 2, np.array([0.5, 1.0])).tolist() == [2.0, math.inf]


def test_node_i_of_an_order_is_tested_by_worker_i_modulo_their_number():
    assert assign_workers(np.arange(7), 3).tolist() == [1, 2, 0, 1, 2, 0, 1]
    with pytest.raises(ValueError, match="it takes at least 1"):
        assign_workers(np.arange(7), 0)


@pytest.mark.parametrize("alpha", [0.0, -0.1, 1.1, math.nan])
def test_a_fraction_out_of_range_is_refused(alpha):
    with pytest.raises(ValueError, match="above 0, and are at most 1"):
        compute_cost(np.arange(2), np.array([True, False]), np.array([alpha]))
