"""When a wanted fraction counts as found: what a random sample says of those left, and how often that is true."""

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from old_datasets import drive, order_of, refresh, said, web
from scipy.stats import hypergeom

from socialcrawl.crawls.refresh.active_estimate import (
    OUTSIDE,
    ActiveEstimate,
    Stratum,
    bound_above,
    bound_below,
    compute_tail,
    estimate,
    format_percent_floor,
    judge,
)
from socialcrawl.crawls.refresh.liveranks import DYNAMIC, LiveRanks
from socialcrawl.engine.model import Node, Pick, Stop
from socialcrawl.lab.experiments.liverank.follower_graphs import FollowerParameters, generate_followers

# -- Intervals


@settings(deadline=None, max_examples=many(100))
@given(st.data())
def test_the_chance_of_few_hits_is_that_of_drawing_without_replacement(data):
    size = data.draw(st.integers(1, 5_000))
    active, sampled = data.draw(st.integers(0, size)), data.draw(st.integers(0, size))
    hits = data.draw(st.integers(max(0, sampled + active - size), min(active, sampled)))
    assert compute_tail(hits, sampled, active, size) == pytest.approx(
        hypergeom(size, active, sampled).cdf(hits), abs=1e-8
    )


@pytest.mark.parametrize(("hits", "sampled", "size"), [(0, 10, 100), (10, 10, 100), (3, 50, 60), (1, 1, 2), (5, 9, 9)])
def test_the_bounds_are_the_first_numbers_under_which_the_sample_is_no_chance(hits, sampled, size):
    possible = range(hits, size - (sampled - hits) + 1)
    few = [active for active in possible if hypergeom(size, active, sampled).cdf(hits) >= OUTSIDE / 2]
    many_hits = [active for active in possible if hypergeom(size, active, sampled).sf(hits - 1) >= OUTSIDE / 2]
    assert (bound_below(hits, sampled, size), bound_above(hits, sampled, size)) == (min(many_hits), max(few))


@pytest.mark.parametrize("active", [1, 5, 60, 150, 299])
def test_an_interval_holds_the_truth_in_95_of_100_samples_whatever_the_truth(active):
    chances = hypergeom(300, active, 80)
    held = [hits for hits in range(81) if bound_below(hits, 80, 300) <= active <= bound_above(hits, 80, 300)]
    assert chances.pmf(held).sum() >= 0.95


def test_an_estimate_keeps_to_what_the_tests_leave_possible():
    whole = Stratum(100, active=50, sampled=20, hits=2, whole=True)
    known = estimate(100, tested=90, found=50, left=10, strata=[whole])
    assert (known.value, known.low, known.high, known.share, known.share_low) == (50.0, 50.0, 50.0, 1.0, 1.0)
    without = estimate(100, tested=30, found=12, left=70)
    assert (without.value, without.share, without.low, without.high) == (None, None, 12.0, 82.0)
    nobody = estimate(100, tested=20, found=0, left=80, strata=[Stratum(100, 0, 20, 0, whole=True)])
    assert (nobody.value, nobody.share, nobody.share_low, nobody.share_high) == (0.0, None, 0.0, 1.0)


def test_of_several_strata_the_one_tells_whose_sample_says_most_whatever_the_tests_leave_of_it():
    """There are 0 to 34 by the one, though 95 are found; of the last 400 there are 1 to 12 by the other."""
    whole, beyond = Stratum(1000, 95, 100, 0, whole=True), Stratum(400, 1, 150, 1)
    known = estimate(1000, tested=740, found=95, left=245, strata=[whole, beyond])
    assert (known.sampled, known.sample_active, known.whole) == (150, 1, False)
    assert (known.value, known.low, known.high) == (pytest.approx(95 + 400 / 150 - 1), 95, 95 + 12 - 1)
    assert estimate(1000, tested=740, found=95, left=245, strata=[whole, Stratum(400, 1, 20, 1)]).whole


def test_draws_that_show_many_outweigh_a_sample_of_all_that_shows_none(famous):
    """The first 100 have none of 200 active ones, and those found would soon be nine tenths of 36."""
    lots = LiveRanks(famous.make_old_dataset(), 3).order_static("random", "liverank check")
    active = famous.active.copy()
    active[lots[:100]] = False
    crawl = refresh(
        famous.make_old_dataset(), 3, width=40, rank="pa", training="pagerank", z=40, check=100, fraction=0.9
    )
    drive(crawl, active)
    assert crawl.relevance >= 0.9 * active.sum()


# -- Frontiers


@pytest.mark.parametrize("rank", ["random", "pagerank", "pa", "pa+-", "asf"])
@pytest.mark.parametrize(("check", "training"), [(30, "indegree"), (30, "random"), (0, "random")])
def test_the_sample_of_those_left_is_who_was_drawn_and_stands_behind_the_next_of_the_order(rank, check, training):
    old, active = web(200, 800, 4)
    crawl = refresh(old, rank=rank, training=training, z=20, check=check)
    ranks = LiveRanks(old, 1)
    trained = ranks.choose_training(training, 20).tolist()
    drawn = ranks.choose_training("random", check, purpose="liverank check").tolist()
    order = ranks.order(rank, np.array(trained), active[trained]).tolist()
    tested = set()
    while not isinstance(batch := crawl.choose(1, 0.0), Stop):
        if len(tested) >= len({*trained, *drawn}):
            strata = crawl.view.make_strata()
            first = next(place for place, row in enumerate(order) if row not in tested)
            behind, sample = order[first:], [row for row in order[first:] if row in drawn]
            assert strata[0] == Stratum(len(behind), active[sample].sum(), len(sample), active[sample].sum())
            first = drawn or trained
            whole = Stratum(200, active[[*tested]].sum(), len(first), active[first].sum(), whole=True)
            assert strata[1:] == ([] if sample else [whole])
        tested.add(batch[0].node)
        crawl.absorb(batch, [said(batch[0], float(active[batch[0].node]))])


@pytest.mark.parametrize("rank", DYNAMIC)
def test_an_order_that_learns_from_the_sample_has_no_frontier(rank):
    old, active = web(100, 400)
    crawl = refresh(old, rank=rank, z=10, check=20, fraction=0.9)
    order = order_of(drive(crawl, active, most=60))
    whole = [stratum.whole for stratum in crawl.view.make_strata()]
    assert whole == [True]
    plain = refresh(old, rank=rank, z=10, check=20)
    assert order_of(drive(plain, active, most=60)) == order, "nor are more drawn"


def test_what_was_tested_out_of_turn_behind_the_frontier_counts_as_known_and_is_no_sample():
    old, active = web(200, 800, 4)
    crawl = refresh(old, rank="pagerank", training="indegree", z=0, check=20)
    drive(crawl, active, most=20)
    (before,) = crawl.view.make_strata()
    ordered = LiveRanks(old, 1).order_static("pagerank").tolist()
    row = next(row for row in reversed(ordered) if active[row] and row not in crawl.view.check)
    pick = Pick(crawl.picks, Node(row), "probe")
    crawl.absorb((pick,), [said(pick, 1.0)])
    (after,) = crawl.view.make_strata()
    assert after == Stratum(before.size, before.active + 1, before.sampled, before.hits)


# -- Stops

SEEDS = range(21)


@pytest.fixture(scope="module")
def famous():
    """A generated follower graph of 2,000 accounts of which 200 are active, mostly the famous."""
    return generate_followers("famous", FollowerParameters(2_000, 8.0, 0.1, bond=3.0))


def ended(world, seed, **how):
    """What a crawl of 40 tests a request has found when it stops: the share of the active ones, and tests a node."""
    how = {"rank": "pa", "training": "pagerank", "z": 40, "check": 100, "fraction": 0.9, **how}
    crawl = refresh(world.make_old_dataset(), seed, width=40, **how)
    drive(crawl, world.active)
    return crawl.relevance / world.alive, crawl.taken / world.size


@pytest.fixture(scope="module")
def by_bound(famous):
    """Shares and tests of 21 campaigns, as they come."""
    return np.array([ended(famous, seed) for seed in SEEDS]).T


def test_nine_tenths_are_found_at_the_stop_in_nine_of_ten_campaigns_without_testing_all(by_bound):
    """By the plain estimate of the sample 8 of these 21 stopped below, the first of them at 54 %."""
    shares, tests = by_bound
    assert np.count_nonzero(shares < 0.9) <= 2
    assert shares.min() >= 0.8
    assert tests.max() < 0.8


def test_by_the_estimate_it_stops_earlier_and_about_as_often_below_as_above(famous, by_bound):
    shares, tests = np.array([ended(famous, seed, stop="estimate") for seed in SEEDS]).T
    assert 5 <= np.count_nonzero(shares < 0.9) <= 16
    assert tests.mean() < by_bound[1].mean()


def test_without_a_check_a_random_training_set_says_when_to_draw_the_sample(famous):
    shares, tests = np.array([ended(famous, seed, training="random", z=200, check=0) for seed in SEEDS]).T
    assert np.count_nonzero(shares < 0.9) <= 2
    assert np.median(tests) < 0.8


def test_more_are_drawn_where_the_estimate_says_found_and_the_bound_does_not(famous):
    crawl = refresh(famous.make_old_dataset(), 3, rank="pa", training="pagerank", z=40, check=100, fraction=0.9)
    lots = LiveRanks(famous.make_old_dataset(), 3).order_static("random", "liverank check").tolist()
    doubts, tested = [], set()
    while not isinstance(batch := crawl.choose(1, 0.0), Stop):
        ((pick,), verdict) = batch, crawl.verdict()
        if verdict is not None:
            known = crawl.estimate()
            assert verdict.reached is False
            assert known.found < 0.9 * known.high
            assert verdict.doubted == (known.found >= 0.9 * known.value)
            doubts.append(verdict.doubted)
            assert pick.node == next(row for row in lots if row not in tested) or not verdict.doubted
        tested.add(pick.node)
        crawl.absorb(batch, [said(pick, float(famous.active[pick.node]))])
    assert set(doubts) == {True, False}
    known = crawl.estimate()
    assert known.found >= 0.9 * known.high
    assert crawl.choose(1, 0.0).why.startswith(f"{known.found} active nodes found with {known.tested:,} tests, of ")


def test_one_of_several_workers_draws_nobody(famous):
    how = {"rank": "pa", "training": "pagerank", "z": 40, "check": 100, "worker": (0, 1)}
    wanting = refresh(famous.make_old_dataset(), 3, width=20, fraction=0.9, **how)
    plain = refresh(famous.make_old_dataset(), 3, width=20, **how)
    order = order_of(drive(wanting, famous.active))
    assert order_of(drive(plain, famous.active))[: len(order)] == order


def test_where_the_sample_has_nobody_active_only_the_estimate_gives_up():
    old, _ = web(100, 300)
    active = np.zeros(100, bool)
    crawl = refresh(old, z=40, fraction=0.5, stop="estimate")
    drive(crawl, active)
    assert crawl.taken == 40
    assert "none of 40 nodes drawn at random is active" in crawl.choose(1, 0.0).why
    sample = LiveRanks(old, 1).choose_training("random", 40)
    active[np.setdiff1d(np.arange(100), sample)[:5]] = True
    going = refresh(old, z=40, fraction=0.9)
    drive(going, active)
    assert going.relevance == 5


@pytest.mark.parametrize(
    ("stop", "found", "reached", "doubted", "words"),
    [
        (
            "bound",
            80,
            False,
            False,
            "80 active nodes found with 500 tests, of about 100 (85 to 120, 95% interval)",
        ),
        ("bound", 80, False, False, "95% interval) in all: at least 66.6% by that interval, and 90% are wanted"),
        ("bound", 95, False, True, "at least 79.1%"),
        ("bound", 108, True, False, "at least 90% by that interval, and 90% are wanted"),
        ("estimate", 89, False, False, "about 89% by the estimate, and 90% are wanted"),
        ("estimate", 90, True, False, "about 90% by the estimate"),
    ],
)
def test_a_verdict_says_what_it_goes_by(stop, found, reached, doubted, words):
    shares = {"share": found / 100, "share_low": found / 120, "share_high": min(1.0, found / 85)}
    known = ActiveEstimate(1000, 500, found, 50, 5, whole=False, value=100.0, low=85.0, high=120.0, **shares)
    verdict = judge(known, 0.9, stop)
    assert (verdict.reached, verdict.doubted) == (reached, doubted)
    assert words in verdict.why


@pytest.mark.parametrize(
    ("share", "shown"), [(0.9, "90%"), (0.89999, "89.9%"), (0.995, "99.5%"), (1.0, "100%"), (0.0, "0%"), (0.07, "7%")]
)
def test_a_share_is_rounded_down(share, shown):
    assert format_percent_floor(share) == shown
