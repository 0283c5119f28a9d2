"""Small refreshes, each with its own seed: their 95% intervals hold the truth about as often as they say."""

import sys

import pytest
from test_house import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks.coverage import refresh
from benchmarks.coverage.table import covered
from socialcrawl.lab.experiments.liverank import follower_graphs

SEEDS = range(21)


def small(check):
    """A generated follower graph of 1,000 accounts of which 150 are active."""
    return refresh.make_pages(
        "small",
        follower_graphs.generate_followers("small", follower_graphs.FollowerParameters(1_000, 8.0, 0.15, bond=3.0)),
        check,
    )


@pytest.mark.parametrize("check", [0, 100])
def test_the_intervals_of_a_refresh_hold_the_truth_in_nine_of_ten_campaigns(check):
    """On their way and where they stop; 21 campaigns of each length."""
    one = small(check)
    shown = [interval for seed in SEEDS for interval in refresh.walk(one, seed)]
    stopped = [refresh.stop(one, seed) for seed in SEEDS]
    shown += [interval for crawl, _ in stopped for interval in refresh.find_intervals(one, crawl, "at the stop")]
    for quantity, at in dict.fromkeys((interval.interval, interval.at) for interval in shown):
        counted = covered(interval for interval in shown if (interval.interval, interval.at) == (quantity, at))
        assert counted.runs == len(SEEDS)
        assert counted.holding >= 19, (quantity, at)
    ends = [refresh.find_end(one, crawl) for crawl, _ in stopped]
    assert sum(end.found >= refresh.FRACTION for end in ends) >= 19
    said = refresh.describe_stops(one, ends, [early for _, early in stopped])
    assert f"least {min(end.found for end in ends):.1%}" in said
