"""A small version of `make coverage ONLY=steering`: intervals of what steering gains hold what it gained."""

import numpy as np
import pytest

from benchmarks.coverage import steering
from benchmarks.coverage.costs import Place
from benchmarks.coverage.table import covered
from socialcrawl.sources.known import KnownGraph


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
