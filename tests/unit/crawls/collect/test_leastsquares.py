"""The exact least squares against scikit-learn's LinearRegression, and against themselves in another order."""

import sys
from fractions import Fraction

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from socialcrawl.crawls.collect.estimators.leastsquares import Moments
from socialcrawl.graph.relevance import compute_worth


def fitted(x, y):
    moments = Moments(x.shape[1])
    moments.add(x, y)
    return moments.solve()


def crawl_like(kind, n, rng):
    """Rows as crawls really have them: w is 1 + ln(count) or 0, alpha mostly one value, k in-links."""
    w = np.array([compute_worth(int(c)) for c in rng.integers(1, 60, n)])
    mostly = np.where(rng.random(n) < 0.9, 1.0, compute_worth(2))
    k = rng.integers(1, 80, n).astype(float)
    noughts = np.where(rng.random(n) < 0.4, 0.0, w)
    return {
        "values": np.c_[w, mostly, w * mostly],
        "sums": np.c_[k * w, k * mostly, k * w * mostly],
        "with zeros": np.c_[noughts, mostly - 1.0, noughts * (mostly - 1.0)],
        "products to a million": np.c_[k * w, mostly * 10, k * w * 3_000],
        "tiny": np.c_[w / k, mostly / 512, w * mostly / k],
        "one alpha": np.c_[w, np.full(n, compute_worth(3)), w * compute_worth(3)],
        "counted links": np.c_[k * compute_worth(2), k, k * compute_worth(2)],
        "no links": np.c_[k, np.zeros(n), np.zeros(n)],
        "two alike": np.c_[w * 1_000, k, w * 1_000],
        "nearly alike": np.c_[k * w, k * w * mostly, k],
        "all constant": np.tile([2.0, 1.0, 2.0], (n, 1)),
        "sum of both": np.c_[w, k, w + k],
    }[kind]


KINDS = (
    "values", "sums", "with zeros", "products to a million", "tiny", "one alpha", "counted links", "no links",
    "two alike", "nearly alike", "all constant", "sum of both",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_scikit_learn_everywhere(kind):
    for trial in range(60):
        rng = np.random.default_rng([trial, KINDS.index(kind)])
        n = trial + 1 if trial < 50 else 400
        x = crawl_like(kind, n, rng)
        y = np.where(rng.random(n) < 0.5, 0.0, np.array([compute_worth(int(c)) for c in rng.integers(1, 60, n)]))
        weights, intercept = fitted(x, y)
        model = LinearRegression().fit(x, y)
        away = np.r_[x, x * rng.uniform(0.3, 3.0, (n, 1)), x * rng.uniform(0.3, 3.0, (n, 3)), np.zeros((1, 3))]
        wanted = model.predict(away)
        assert np.allclose(away @ weights + intercept, wanted, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(wanted).max()))
        if model.rank_ == 3:
            assert np.allclose(weights, model.coef_, rtol=1e-6, atol=1e-6 * np.abs(model.coef_).max())
            assert np.isclose(intercept, model.intercept_, rtol=1e-6, atol=1e-8 * max(1.0, np.abs(wanted).max()))


def test_the_kinds_cover_every_rank():
    rng = np.random.default_rng(5)
    ranks = {LinearRegression().fit(crawl_like(kind, 300, rng), np.arange(300.0)).rank_ for kind in KINDS}
    assert ranks == {0, 1, 2, 3}


@given(st.data(), st.integers(1, 4), st.integers(0, 12))
@settings(max_examples=many(200), deadline=None)
def test_small_whole_numbers_agree_with_numpy_whatever_the_rank(data, width, rows):
    number = st.integers(-3, 3).map(float)
    x = np.array(data.draw(st.lists(st.tuples(*[number] * width), min_size=rows, max_size=rows))).reshape(rows, width)
    y = np.array(data.draw(st.lists(number, min_size=rows, max_size=rows)))
    weights, intercept = fitted(x, y)
    if rows:
        wanted = np.linalg.lstsq(x - x.mean(axis=0), y - y.mean(), rcond=1e-6)[0]
        assert np.allclose(weights, wanted, atol=1e-9)
        assert np.isclose(intercept, y.mean() - x.mean(axis=0) @ wanted, atol=1e-9)
    else:
        assert (weights.tolist(), intercept) == ([0.0] * width, 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_adding_in_bulk_or_in_any_order_is_bit_for_bit_adding_one_by_one(kind):
    rng = np.random.default_rng(3)
    x, y = crawl_like(kind, 70, rng), rng.exponential(2.0, 70)
    one_by_one, in_parts = Moments(3), Moments(3)
    for row, value in zip(x, y, strict=True):
        one_by_one.add(row[None], np.array([value]))
    mixed = rng.permutation(70)
    for part in np.array_split(mixed, 6):
        in_parts.add(x[part], y[part])
    solutions = (fitted(x, y), one_by_one.solve(), in_parts.solve())
    bits = [(weights.tobytes(), intercept.hex()) for weights, intercept in solutions]
    assert bits[0] == bits[1] == bits[2]


def test_one_row_predicts_its_value_and_two_rows_lie_on_the_line():
    weights, intercept = fitted(np.array([[3.0, 1.0]]), np.array([5.0]))
    assert (weights.tolist(), intercept) == ([0.0, 0.0], 5.0)
    weights, intercept = fitted(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([0.0, 10.0]))
    assert np.allclose(weights, [1.0, 2.0], rtol=1e-15)  # minimum norm: along the rows, 10 / |(2, 4)|**2 times (2, 4)
    assert intercept == pytest.approx(-5.0, rel=1e-15)


def test_a_regular_system_is_solved_to_the_last_bit():
    # Columns that agree but for one row in a thousand parts: floats of X'X would lose half of the digits.
    w = np.array([compute_worth(c) for c in range(1, 41)])
    x = np.c_[w, w * np.where(np.arange(40) == 7, 1.001, 1.0)]
    y = 3.0 * x[:, 0] - 2.0 * x[:, 1] + np.arange(40) % 3
    exact = [[Fraction(v) for v in column] for column in (*x.T.tolist(), y.tolist())]
    a, b, c = ([v - sum(column) / 40 for v in column] for column in exact)

    def dot(p, q):
        return sum(i * j for i, j in zip(p, q, strict=True))

    determinant = dot(a, a) * dot(b, b) - dot(a, b) ** 2
    wanted = [(dot(a, c) * dot(b, b) - dot(b, c) * dot(a, b)), (dot(b, c) * dot(a, a) - dot(a, c) * dot(a, b))]
    assert fitted(x, y)[0].tolist() == [float(part / determinant) for part in wanted]


@pytest.mark.parametrize("kind", KINDS)
def test_another_unit_of_all_features_and_values_changes_no_bit_of_the_weights(kind):
    rows = crawl_like(kind, 60, np.random.default_rng(5))
    x, y = np.trunc(rows * 2.0**30) / 2.0**30, np.arange(60) % 7 * 1.0
    for unit in (2.0**-100, 2.0**90):
        weights, intercept = fitted(x * unit, y * unit)
        assert (weights.tolist(), intercept) == (fitted(x, y)[0].tolist(), fitted(x, y)[1] * unit)


def test_a_direction_below_the_tolerance_is_left_out_and_one_above_it_is_not():
    rng = np.random.default_rng(4)
    basis, turn = rng.normal(size=(40, 4)), np.linalg.qr(rng.normal(size=(3, 3)))[0]
    basis = np.linalg.qr(np.c_[np.ones(40), basis[:, 1:]])[0][:, 1:]  # centred, orthonormal
    y = rng.normal(size=40)
    for weakest, rank in ((3e-6, 3), (4e-7, 2), (1e-8, 2)):
        x = basis * [1.0, 1e-2, weakest] @ turn.T * 1_000
        model = LinearRegression().fit(x, y)
        assert model.rank_ == rank
        assert np.allclose(fitted(x, y)[0], model.coef_, rtol=1e-6, atol=1e-8 * np.abs(model.coef_).max())


def test_next_to_a_weak_second_direction_twins_share_their_weight_to_the_last_digits():
    rng = np.random.default_rng(5)  # where scikit-learn is off by 1e-6: the exact answer is half of the single column's
    k = rng.integers(1, 60, 38).astype(float)
    large, y = k * np.array([compute_worth(int(c)) for c in rng.integers(1, 30, 38)]) * 1e4, rng.exponential(1.0, 38)
    (first, middle, last), _ = fitted(np.c_[large, k, large], y)
    (single, alone), _ = fitted(np.c_[large, k], y)
    assert [first, middle, last] == pytest.approx([single / 2, alone, single / 2], rel=1e-14)


def test_a_column_that_varies_by_rounding_only_is_constant():
    w = compute_worth(2)
    averages = np.array([sum([w] * k) / k for k in range(1, 30)])
    assert len(set(averages.tolist())) > 1
    weights, intercept = fitted(np.c_[averages, averages, averages], np.arange(29.0))
    assert (weights.tolist(), intercept) == ([0.0] * 3, 14.0)


def test_equal_values_need_no_weights():
    x = crawl_like("sums", 50, np.random.default_rng(1))
    weights, intercept = fitted(x, np.full(50, compute_worth(5)))
    assert (weights.tolist(), intercept) == ([0.0] * 3, compute_worth(5))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_a_number_is_refused(bad):
    with pytest.raises((ValueError, OverflowError)):
        Moments(1).add(np.array([[bad]]), np.array([1.0]))


def lines_run(work):
    """The number of lines of Python that some work takes."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(former)
    return count


@pytest.mark.parametrize("kind", KINDS)
def test_a_refit_stays_cheap_however_many_rows_there_are(kind):
    rng, lines = np.random.default_rng(2), {}
    for rows in (100, 3_000):
        moments = Moments(3)
        moments.add(crawl_like(kind, rows, rng), rng.exponential(1.0, rows))
        lines[rows] = lines_run(moments.solve)
    assert 10 < lines[3_000] <= lines[100] + 10  # a sum or two more, where rows differ in rank
