"""What ways of reading find for more money: laws by hand, and ranges against posts that are drawn."""

from itertools import pairwise

import numpy as np
import pytest

from socialcrawl.forecast.reading_curve import (
    EVERYTHING,
    EXPECTED,
    IF_ENOUGH,
    MEASURED,
    ReadingRecord,
    SearchYield,
    explain_lack,
    forecast_relevance,
    make_reading_curve,
)

PRICE = 0.005  # dollars for each post


def sum_relevance(authors):
    """1 + ln x for each author of x posts."""
    counts = np.unique(authors, return_counts=True)[1]
    return float((1.0 + np.log(counts)).sum())


def a_search(authors, page=50, **more):
    """A record of searches that returned the posts of `authors` in pages."""
    pages = [authors[begin : begin + page] for begin in range(0, len(authors), page)]
    found = [np.unique(one, return_counts=True) for one in pages]
    place = np.repeat(np.arange(len(pages)), [len(who) for who, _ in found])
    yields = SearchYield(
        np.array([len(one) for one in pages]),
        place,
        np.concatenate([who for who, _ in found]),
        np.concatenate([many for _, many in found]),
    )
    ends = np.cumsum([len(one) for one in pages])
    relevance = np.array([sum_relevance(authors[:end]) for end in ends])
    return ReadingRecord("a", "search", 0.0, ends * PRICE, relevance, yields, **more)


def a_crawl(read, relevance, seeds=1.0, every=1.0):
    """A record of a crawl that found `relevance` by each dollar after its seeds."""
    spent = seeds + every * np.arange(1, len(relevance) + 1)
    return ReadingRecord("a", read, seeds, spent, np.array(relevance, np.float64))


def test_where_every_post_is_of_somebody_else_relevance_grows_with_the_posts():
    (one,) = forecast_relevance(a_search(np.arange(600)), [9.0], matching=10_000)
    assert one.value == pytest.approx(1_800.0, rel=1e-3)
    assert one.basis == EXPECTED
    assert one.low < 1_800.0 < one.high


def test_where_nobody_new_is_left_little_is_still_to_be_found():
    """Ten accounts post alike: their relevance is 10 (1 + ln(n / 10)) after n posts."""
    (one,) = forecast_relevance(a_search(np.tile(np.arange(10), 80)), [8.0], matching=10_000)
    truth = 10.0 * (1.0 + np.log(160.0))
    assert truth == pytest.approx(one.value, rel=0.05)


@pytest.mark.parametrize("weights", ["zipf", "few"])
def test_ranges_hold_the_relevance_of_posts_that_are_drawn_later(weights):
    rng, held, shown = np.random.default_rng(5), 0, 0
    for _ in range(20):
        size = 20_000 if weights == "zipf" else 400
        weight = 1.0 / np.arange(1, size + 1) ** rng.uniform(0.5, 1.1)
        drawn = rng.choice(size, 4_000, p=weight / weight.sum())
        for known in (500, 1_000):
            found = forecast_relevance(a_search(drawn[:known]), [10.0, 20.0], matching=4_000)
            for one, end in zip(found, (2_000, 4_000), strict=True):
                shown += one is not None
                held += one is not None and one.low <= sum_relevance(drawn[:end]) <= one.high
    assert shown == 80
    assert held >= 72


def test_what_was_spent_already_is_measured():
    found = forecast_relevance(a_search(np.arange(600)), [0.0, 0.3, 1.0, 3.0])
    assert [(one.value, one.low, one.high, one.basis) for one in found] == [
        (0.0, 0.0, 0.0, MEASURED),
        (50.0, 50.0, 50.0, MEASURED),
        (200.0, 200.0, 200.0, MEASURED),
        (600.0, 600.0, 600.0, MEASURED),
    ]


def test_a_search_finds_no_more_posts_than_match():
    found = forecast_relevance(a_search(np.arange(600)), [4.0, 5.0, 9.0, 500.0], matching=1_000)
    assert [one.basis for one in found] == [EXPECTED, EVERYTHING, EVERYTHING, EVERYTHING]
    assert found[1] == found[2] == found[3]
    assert found[1].value == pytest.approx(1_000.0, rel=1e-3)


def test_a_search_of_all_the_time_has_found_everything():
    (one,) = forecast_relevance(a_search(np.arange(20), is_complete=True), [50.0])
    assert one == (20.0, 20.0, 20.0, EVERYTHING)


def test_where_nobody_counted_the_posts_a_search_may_find_no_more():
    record = a_search(np.arange(600))
    (open_end,), (counted,) = forecast_relevance(record, [9.0]), forecast_relevance(record, [9.0], matching=10_000)
    assert open_end == (counted.value, 600.0, counted.high, IF_ENOUGH)


def test_what_was_paid_for_counts_finds_nothing():
    record = a_search(np.arange(600))._replace(seeds=2.0)
    record = record._replace(spent=record.spent + 2.0)
    (one,) = forecast_relevance(record, [8.0], matching=10_000)
    assert one.value == pytest.approx(1_200.0, rel=1e-3)


@pytest.mark.parametrize(
    ("record", "lack"),
    [
        (a_search(np.arange(150)), "250 more posts"),
        (a_search(np.arange(400), page=200), "more searches"),
        (a_search(np.arange(400)), ""),
        (a_crawl("match", [10.0] * 3), "$2.00 more, after the seeds"),
        (a_crawl("match", [10.0] * 5), "relevance of 20 or more"),
        (a_crawl("timeline", [10.0] * 5), ""),
    ],
)
def test_a_forecast_that_cannot_be_made_says_what_it_needs(record, lack):
    assert explain_lack(record) == lack
    (one,) = forecast_relevance(record, [record.dollars * 1.5], matching=10_000)
    assert (one is None) == bool(lack)


@pytest.mark.parametrize(("read", "usual", "own"), [("match", 0.5, 0.3), ("timeline", 0.7, 0.25)])
def test_crawls_grow_partly_as_their_last_dollars_did_and_partly_as_all_topics_do(read, usual, own):
    even = a_crawl(read, np.arange(1, 11) * 8.0)  # as much for each dollar: an exponent of 1
    (one,) = forecast_relevance(even, [21.0])
    assert one.value == pytest.approx(80.0 * 2.0 ** (usual + own))
    ended = a_crawl(read, [80.0] * 10)  # nothing since the first: an exponent of 0
    (one,) = forecast_relevance(ended, [21.0])
    assert one.value == pytest.approx(80.0 * 2.0**usual)


def test_ranges_widen_with_what_is_ahead_and_end_where_it_is_too_far():
    for record, price in ((a_search(np.arange(500)), 2.5), (a_crawl("match", np.arange(1, 11) * 8.0, seeds=0.0), 10.0)):
        reach = 10.0 if record.read == "search" else 3.0
        budgets = [price * times for times in (1.2, 1.7, 2.4, reach, reach * 1.01)]
        *near, far = forecast_relevance(record, budgets, matching=100_000)
        assert far is None
        widths = [one.high / one.low for one in near]
        assert all(one < other for one, other in pairwise(widths))
        values = [one.value for one in near]
        assert all(one < other for one, other in pairwise(values))


def test_ways_are_ranked_by_what_they_find_for_the_budget_of_the_campaign():
    records = {
        "search": a_search(np.arange(2_000)),
        "timeline": a_crawl("timeline", [20.0] * 40),
        "match": a_crawl("match", [1.0] * 4),
    }
    curve = make_reading_curve(records, 60.0, matching=5_000)
    assert curve.budgets == (10.0, 25.0, 50.0, 60.0, 100.0)
    assert [way for way, _ in curve.rank_ways()] == ["search", "timeline"]
    assert curve.expected["match"] == [None] * 5
    spent = make_reading_curve(records, 3.0)
    assert (spent.budget, spent.budgets[0]) == (10.0, 3.0), "the least that not all ways have spent"
    usual = make_reading_curve(records, None)
    assert (usual.budget, len(usual.budgets)) == (50.0, 4)
    assert make_reading_curve({}, 10.0).rank_ways() == []


def test_posts_that_match_by_the_search_but_not_by_us_give_no_forecast():
    record = a_search(np.arange(600))
    empty = record.searches._replace(occurrences=np.zeros(600, np.int64))
    record = record._replace(searches=empty, relevance=np.zeros(len(record.spent)))
    assert explain_lack(record) == "relevance of 1 or more"
    assert forecast_relevance(record, [9.0], matching=10_000) == [None]


def test_a_crawl_that_has_read_everything_in_reach_finds_no_more():
    record = a_crawl("match", np.arange(1, 11) * 8.0)._replace(is_complete=True)
    assert forecast_relevance(record, [9.5, 100.0]) == [(64.0, 64.0, 64.0, MEASURED), (80.0, 80.0, 80.0, EVERYTHING)]


def test_forecasts_end_at_the_budgets_up_to_which_their_coverage_was_measured():
    *shown, beyond = forecast_relevance(a_search(np.arange(4_000)), [50.0, 100.0, 101.0], matching=10**6)
    assert beyond is None
    assert all(shown)
    near, far = forecast_relevance(a_crawl("match", np.arange(1, 41) * 8.0), [50.0, 51.0])
    assert (near is None, far is None) == (False, True)
    (everything,) = forecast_relevance(a_search(np.arange(4_000)), [500.0], matching=6_000)
    assert everything.basis == EVERYTHING


def test_a_search_of_all_the_time_that_returned_nothing_finds_nothing():
    nothing = SearchYield(*(np.empty(0, np.int64) for _ in range(4)))
    record = ReadingRecord("a", "search", 0.0, np.zeros(64), np.zeros(64), nothing, is_complete=True)
    assert forecast_relevance(record, [10.0]) == [(0.0, 0.0, 0.0, EVERYTHING)]
    assert explain_lack(record._replace(is_complete=False)) == "400 more posts"
