"""A small version of `make coverage ONLY=costs`: ranges of what the rest of a crawl needs hold it."""

import numpy as np

from benchmarks.coverage import costs
from benchmarks.coverage.table import covered
from socialcrawl.graph.known_graph import KnownGraph


def a_place(size=2_500):
    """Accounts that mention others the likelier the more posts these have, in a graph with a heavy tail."""
    rng = np.random.default_rng(11)
    posts = np.minimum(rng.lognormal(2.5, 1.0, size).astype(np.int64), 700)
    begin = np.repeat(np.arange(size), 8)
    end = rng.choice(size, 8 * size, p=(posts + 1) / (posts + 1).sum())
    pairs = np.unique(np.stack([begin, end])[:, begin != end], axis=1)
    indptr = np.append(0, np.cumsum(np.bincount(pairs[0], minlength=size)))
    alpha = rng.integers(0, 3, pairs.shape[1]).astype(float)
    return costs.Place("generated", KnownGraph(indptr, pairs[1], alpha, rng.integers(0, 4, size).astype(float)), posts)


def test_ranges_of_a_quote_hold_what_the_rest_needs():
    place = a_place()
    found = [one for seed in range(12) for one in costs.find_ranges(place, seed, steps=500)]
    for interval in dict.fromkeys(one.interval for one in found):
        mine = covered(one for one in found if one.interval == interval)
        assert mine.runs == (48 if interval.startswith("requests") else 24)
        assert mine.shown > 0.8 * mine.runs
        assert mine.share >= 0.9, (interval, mine)


def test_the_truth_that_ranges_are_held_against_is_what_the_next_steps_needed():
    place = a_place(600)
    (one,) = (
        found
        for found in costs.find_ranges(place, 1, steps=150)
        if (found.interval, found.at) == ("requests, 8 pages an account", "100 done, 50 ahead")
    )
    rng = np.random.default_rng(1)
    seeds = rng.choice(np.flatnonzero(place.graph.beta > 0), 20, replace=False).tolist()
    visited = costs.simulate(place.graph, seeds, costs.ReplaySetup("bfs", 150, seed=2)).steps.tolist()
    requests = [max(1, -(-min(int(place.posts[node]), 800) // 100)) for node in visited]
    assert one.truth == sum(requests[100:]) / (sum(requests[50:100]))
