"""The range of a forecast: against sums of draws, and where it has to be silent."""

from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_quote import shape

from socialcrawl.forecast.expected import TypicalNeeds, estimate_likely
from socialcrawl.forecast.quote import estimate_range, make_quote
from socialcrawl.forecast.shape import CampaignProgress
from socialcrawl.forecast.spread import CLUSTERED, DRIFT, ENOUGH, WIDEST, NeedSums, Spread, measure_spread
from socialcrawl.ratelimit.budget import Caps

numbers = st.lists(st.integers(0, 10_000), min_size=2, max_size=60)
DONE = CampaignProgress(requests=450, posts=9_000, queries=1, found=0, asked=400, steps=400)
NEEDS = ("requests", "posts", "money")


def summed(values):
    return NeedSums(len(values), float(sum(values)), float(sum(one * one for one in values)))


@given(numbers, numbers)
def test_variation_and_change_are_those_of_numpy(first, second):
    found, mean, before = measure_spread(summed(first), summed(second)), np.mean(second), np.mean(first)
    assert found.variation == pytest.approx(np.std(second, ddof=1) / mean if mean else 0.0, abs=1e-6)
    assert found.change == pytest.approx(log(mean / before) if mean and before else 0.0)
    assert (found.steps, found.used) == (len(first) + len(second), len(second))


def test_the_factors_are_by_the_formula_and_one_for_steps_that_are_all_alike_and_very_many():
    width = 1.96 * sqrt((CLUSTERED * 0.8) ** 2 * (1 / 200 + 1 / 100) + (DRIFT * log(1.25)) ** 2)
    assert Spread(400, 200, 0.8).compute_factors(100) == pytest.approx((exp(-width), exp(width)))
    assert Spread(10**9, 10**8, 0.0).compute_factors(1.0) == pytest.approx((1.0, 1.0), abs=1e-6)


def test_a_mean_that_fell_may_go_on_falling_and_one_that_rose_rising():
    low, high = Spread(400, 200, 0.3).compute_factors(200)
    fell, rose = (
        Spread(400, 200, 0.3, change=-0.5).compute_factors(200),
        Spread(400, 200, 0.3, change=0.5).compute_factors(200),
    )
    further = exp(
        0.5 * log(1000 / 600) / log(3)
    )  # the middle of the steps ahead is at 500, those of the halves at 100, 300
    assert fell == pytest.approx((low / further, high))
    assert rose == pytest.approx((low, high * further))


@given(st.integers(ENOUGH, 10_000), st.floats(0, 5), st.floats(-2, 2), st.floats(1, 1e6))
def test_more_steps_done_never_widen_a_range_and_none_is_wider_than_the_widest(steps, variation, change, ahead):
    here, later = Spread(steps, steps // 2, variation, change), Spread(2 * steps, steps, variation, change)
    if (found := here.compute_factors(ahead)) is not None:
        (low, high), (lower, higher) = found, later.compute_factors(ahead)
        assert low <= lower * (1 + 1e-9) <= 1.0 + 1e-9
        assert 1.0 - 1e-9 <= higher <= high * (1 + 1e-9)
        assert high / low <= WIDEST * (1 + 1e-9)


@pytest.mark.parametrize("ahead", [0.0, -1.0, float("inf")])
def test_there_are_no_factors_for_nothing_and_for_no_end(ahead):
    assert Spread(400, 200, 0.5).compute_factors(ahead) is None


def test_there_are_no_factors_from_few_steps_nor_where_most_bring_no_posts_nor_too_wide_ones():
    assert Spread(ENOUGH - 1, 25, 0.0).compute_factors(10) is None
    assert Spread(ENOUGH - 1, 25, 0.0, enough=50).compute_factors(10) is not None
    assert Spread(400, 200, 0.3, read=0.5).compute_factors(100) is not None
    assert Spread(400, 200, 0.3, read=0.49).compute_factors(100) is None
    assert Spread(ENOUGH, 100, 0.0).compute_factors(1e9) is None


def test_of_independent_draws_far_more_than_95_percent_of_the_means_lie_in_the_range():
    draw, held = np.random.default_rng(7), 0
    for _ in range(400):
        values = draw.lognormal(3.0, 0.5, 300)
        low, high = measure_spread(summed(values[:100]), summed(values[100:200])).compute_factors(100)
        held += low <= values[200:].mean() / values[100:200].mean() <= high
    assert held >= 0.97 * 400


def test_the_range_of_a_total_is_that_of_its_means_and_stops_at_the_budget():
    typical = TypicalNeeds(spreads=dict.fromkeys(NEEDS, Spread(400, 200, 0.3)))
    campaign = shape(steps=500)
    _, mean, _ = estimate_likely(campaign, typical, DONE)
    found, factors = estimate_range(campaign, typical, DONE), typical.spreads["posts"].compute_factors(100)
    assert found.keys() == {*NEEDS, "seconds"}
    for name, ends in found.items():
        assert ends == pytest.approx([getattr(mean, name) * factor for factor in factors])
    capped = shape(steps=500, caps=Caps(posts=DONE.posts + round(mean.posts) + 150))
    low, high = estimate_range(capped, typical, DONE)["posts"]
    assert low == pytest.approx(mean.posts * factors[0])
    assert mean.posts < high <= mean.posts + 150


def test_a_quote_shows_no_range_beyond_the_most_that_a_campaign_can_need():
    """Pages were nearly full and most accounts were looked up, so that there is hardly more than the mean to need."""
    meant = shape(steps=500)
    spreads = dict.fromkeys(NEEDS, Spread(400, 200, 0.5))
    mean = TypicalNeeds(posts_per_page=95.0, more=(0.95,), missing=0.0, named=0.9, spreads=spreads)
    beyond, found = estimate_range(meant, mean, DONE), make_quote(meant, mean, DONE)
    assert any(beyond[name][1] > getattr(found.most, name) for name in NEEDS)
    for name in NEEDS:
        low, high = found.ranges[name]
        assert (low, high) == tuple(min(end, getattr(found.most, name)) for end in beyond[name])
    assert found.ranges["seconds"] == beyond["seconds"]


def test_what_differed_too_much_has_no_range_and_takes_none_from_the_others():
    spreads = {"requests": Spread(400, 200, 0.3), "posts": Spread(400, 200, 9.0), "money": Spread(400, 200, 9.0)}
    assert estimate_range(shape(steps=500), TypicalNeeds(spreads=spreads), DONE).keys() == {"requests", "seconds"}


def test_a_total_has_no_range_before_the_searches_and_the_seeds_are_done():
    typical = TypicalNeeds(spreads=dict.fromkeys(NEEDS, Spread(400, 200, 0.3)))
    assert estimate_range(shape(steps=500), typical, replace(DONE, waiting=3)) == {}
    assert estimate_range(shape(steps=500), typical, CampaignProgress()) == {}
    assert estimate_range(shape(steps=500), TypicalNeeds(), DONE) == {}
