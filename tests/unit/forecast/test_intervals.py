"""Intervals and corrections, against values that statsmodels 0.14 and scipy 1.17 gave, and against their meaning."""

from math import inf, isnan, nan

import numpy as np
import pytest
from scipy.stats import t, ttest_1samp

from socialcrawl.forecast.intervals import (
    Interval,
    apply_holm,
    compute_p_value,
    estimate_difference,
    estimate_mean,
    find_quantile,
)

X = np.array([4.1, 5.0, 3.6, 6.2, 5.5, 4.9])
Y = np.array([3.0, 5.4, 2.2, 4.8, 4.1])


def test_the_interval_of_a_mean_is_students():
    found = estimate_mean(X)
    # DescrStatsW(X).tconfint_mean(), then with alpha = 0.01
    assert (found.low, found.high) == pytest.approx((3.9001814592919084, 5.866485207374757))
    assert (found.value, found.n) == (pytest.approx(29.3 / 6), 6)
    found = estimate_mean(X, 0.99)
    assert (found.low, found.high) == pytest.approx((3.341188720106494, 6.4254779465601715))


def test_a_paired_difference_is_the_mean_of_the_differences():
    found = estimate_mean(X[:5] - Y)
    assert (found.low, found.high) == pytest.approx((0.008640929174777878, 1.9513590708252222))
    assert compute_p_value(X[:5] - Y) == pytest.approx(0.048754691924164636)  # ttest_rel(X[:5], Y)
    assert found.sign == 1


def test_values_that_are_no_number_are_left_out_and_one_value_has_no_interval():
    assert estimate_mean(np.array([nan, *X, nan])) == estimate_mean(X)
    assert (estimate_mean(np.array([2.0])).value, estimate_mean(np.array([2.0])).n) == (2.0, 1)
    for few in ([], [2.0], [nan, 2.0]):
        found = estimate_mean(np.array(few))
        assert isnan(found.low)
        assert isnan(found.high)
        assert found.sign == 0
        assert isnan(compute_p_value(np.array(few)))


@pytest.mark.parametrize(("low", "high", "sign"), [(0.1, 2.0, 1), (-2.0, -0.1, -1), (-0.1, 0.1, 0), (0.0, 1.0, 0)])
def test_an_interval_has_a_sign_where_it_does_not_hold_zero(low, high, sign):
    assert Interval((low + high) / 2, low, high, 9).sign == sign


def test_the_interval_of_a_difference_of_groups_is_never_narrower_than_welchs_or_the_pooled_one():
    found = estimate_difference(X, Y)
    assert (found.value, found.n) == (pytest.approx(X.mean() - Y.mean()), 5)
    # CompareMeans(...).tconfint_diff: usevar "unequal", "pooled"
    for low, high in ((-0.659672090988116, 2.626338757654782), (-0.5439511272657389, 2.510617793932405)):
        assert found.low < low < high < found.high
    error = max(X.var(ddof=1) / 6 + Y.var(ddof=1) / 5, (5 * X.var(ddof=1) + 4 * Y.var(ddof=1)) / 9 * (1 / 6 + 1 / 5))
    assert found.high - found.value == pytest.approx(t.ppf(0.975, 4) * error**0.5)


def test_a_small_group_of_equal_values_does_not_make_a_difference():
    """Of many steps one in ten finds 1; that 12 drawn ones find nothing has a probability of 28 %."""
    many, few = np.tile([0.0] * 9 + [1.0], 50), np.zeros(12)
    assert estimate_difference(many, few).sign == 0
    assert estimate_difference(many, np.zeros(400)).sign == 1
    assert estimate_difference(many, np.array([1.0])).sign == 0
    assert isnan(estimate_difference(many, np.empty(0)).value)


def test_p_values_are_those_of_the_t_test():
    for values in (X, -Y, X - 5.0):
        assert compute_p_value(values) == pytest.approx(ttest_1samp(values, 0.0).pvalue)
    assert (compute_p_value(np.full(4, 2.0)), compute_p_value(np.zeros(4))) == (0.0, 1.0)


def test_holms_correction_is_that_of_statsmodels():
    assert apply_holm([0.01, 0.04, 0.03, 0.005, 0.6]) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.6])
    assert apply_holm([0.02, 0.02, 0.9]) == pytest.approx([0.06, 0.06, 0.9])
    assert apply_holm([0.5, 0.6]) == [1.0, 1.0]
    assert apply_holm([]) == []
    assert apply_holm([0.02, nan, 0.04])[::2] == pytest.approx([0.04, 0.04])
    assert isnan(apply_holm([0.02, nan])[1])


def test_of_five_true_hypotheses_one_is_rejected_in_at_most_5_of_100_families():
    draws = np.random.default_rng(5).normal(size=(600, 5, 8))
    wrong = sum(min(apply_holm([compute_p_value(values) for values in family])) < 0.05 for family in draws)
    assert wrong <= 600 * 0.05 + 3 * (600 * 0.05 * 0.95) ** 0.5


def test_students_quantile_is_that_of_scipy():
    assert find_quantile(4.5, 0.99) == pytest.approx(t.ppf(0.995, 4.5))
    assert find_quantile(inf, 0.95) == pytest.approx(1.959963984540054)
