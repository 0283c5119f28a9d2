"""A small version of `make coverage` with ONLY=steering and ONLY=looks: what steering gains, and where it does not."""

import numpy as np
import pytest
from scipy.stats import chisquare

from benchmarks.coverage import looks, steering
from benchmarks.coverage.costs import Place
from benchmarks.coverage.table import covered
from socialcrawl.crawls.collect.steering import ControlComparison, Steering
from socialcrawl.forecast.intervals import Interval
from socialcrawl.graph.known_graph import KnownGraph


def a_place(size=1_500, relevant=0.08):
    """Accounts of which few are relevant, linked to others that are the likelier relevant if they are themselves."""
    rng = np.random.default_rng(5)
    beta = np.where(rng.random(size) < relevant, 1.0 + np.log(rng.geometric(0.3, size)), 0.0)
    ends = np.where(
        (rng.random(8 * size) < 0.3) & np.repeat(beta > 0, 8),
        rng.choice(np.flatnonzero(beta > 0), 8 * size),
        rng.integers(0, size, 8 * size),
    )
    pairs = np.unique(np.stack([np.repeat(np.arange(size), 8), ends]), axis=1)
    indptr = np.append(0, np.cumsum(np.bincount(pairs[0], minlength=size)))
    alpha = np.where(beta[pairs[1]] > 0, rng.integers(0, 3, pairs.shape[1]), 0).astype(float)
    return Place("generated", KnownGraph(indptr, pairs[1], alpha, beta), np.ones(size, np.int64))


@pytest.fixture(scope="module")
def gains():
    place = a_place()
    return [one for seed in range(20) for one in steering.find_gains(place, seed, (120, 240), control=0.2)]


def test_intervals_of_gains_hold_the_truth_in_nine_of_ten_crawls(gains):
    for interval in dict.fromkeys(one.interval for one in gains):
        mine = covered(one for one in gains if one.interval == interval)
        assert mine.runs == 40
        assert mine.shown >= 20, (interval, mine)
        assert mine.share >= 0.9, (interval, mine)


def test_the_three_ways_to_steer_are_better_and_worse_than_chance(gains):
    truths = {
        name: np.array([one.truth for one in gains if one.interval == f"{name} against chance"])
        for name in ("hybrid-sum", "least relevant accounts")
    }
    assert (truths["hybrid-sum"] > 0).all()
    assert (truths["least relevant accounts"] < 0).all()


def test_the_truth_is_what_drawn_steps_would_have_found_when_steered_ones_were_made():
    """Three accounts that the seed links to, worth 3, 2 and 1: the best first leaves 2 and 1, then 1."""
    beta = np.array([1.0, 3.0, 2.0, 1.0])
    place = Place("tiny", KnownGraph(np.array([0, 3, 3, 3, 3]), np.arange(1, 4), beta[1:], beta), np.ones(4, np.int64))
    expecting, values = steering.crawl(place, [0], steering.Worst(-beta), 3, seed=1, control=1e-9)
    assert values.tolist() == [3.0, 2.0, 1.0]
    assert expecting.chance == expecting.nearest == [2.0, 1.5, 1.0]


def test_a_report_that_is_looked_at_often_seldom_says_a_difference_where_there_is_none():
    """Steered steps that are drawn are neither better nor worse than the drawn steps: 0 has to be in every interval."""
    place = a_place(600, relevant=0.3)
    found = [one for seed in range(20) for one in looks.find_verdicts(place, seed, (200, 400), control=0.4)]
    for interval in dict.fromkeys(one.interval for one in found):
        mine = covered(one for one in found if (one.interval, one.at) == (interval, "400 steps"))
        assert (mine.runs, mine.shown) == (20, 20)
        assert mine.share >= 0.9, (interval, mine)


def test_a_false_difference_at_an_early_look_counts_at_all_later_ones(monkeypatch):
    told = {100: (0.2, 0.4), 200: (-0.1, 0.3), 300: (-0.3, -0.1)}

    def shown(values, *_):
        low, high = told[len(values)]
        gain = ControlComparison(40, 0.5, Interval((low + high) / 2, low, high, 40), None)
        return Steering("none", 9, 0.5, 0.1, gain, gain)

    monkeypatch.setattr(looks, "compare", shown)
    found = [*looks.find_verdicts(a_place(), 1, (200, 300))]
    assert [(one.low, one.high, one.holds) for one in found] == [(0.2, 0.4, False)] * 4
    told[100] = (-0.2, 0.4)
    assert [one.holds for one in looks.find_verdicts(a_place(), 1, (200, 300))] == [True, False] * 2


def test_accounts_are_drawn_alike_and_from_those_nearest_to_the_seeds_only_where_asked():
    class Frontier:
        def list_all(self, n):
            return np.arange(10, 16), np.zeros(6)

        def get_depth(self, rows):
            return np.where(rows < 12, 1.0, 2.0)

    draws = {nearest: [int(looks.Drawn(3, nearest).pick(Frontier(), 1, n)[0][0]) for n in range(600)]
             for nearest in (False, True)}  # fmt: skip
    assert chisquare(np.bincount(draws[False], minlength=16)[10:]).pvalue > 0.001
    assert chisquare(np.bincount(draws[True], minlength=12)[10:]).pvalue > 0.001
    assert set(draws[True]) == {10, 11}
