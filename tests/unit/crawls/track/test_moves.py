"""Rises and falls against what chance alone would give: worlds whose rates of links are known."""

import numpy as np
import pytest

from socialcrawl.crawls.track.rank_changes import OUTSIDE, AccountRanks, compare, number_places


def rates_of(g, size):
    """How fast links to each account come: heavy-tailed, as a share of all."""
    rates = g.zipf(2.0, size).clip(1, 500).astype(float)
    return rates / rates.sum()


def seen(g, then, now, counts):
    """The orders of accounts whose links came at these rates, `counts` of them each time; known by their first link."""
    first, second = (g.poisson(rates * count) for rates, count in zip((then, now), counts, strict=True))
    found = [*np.flatnonzero(first), *np.flatnonzero((first == 0) & (second > 0))]
    known = np.count_nonzero(first)
    worth = g.lognormal(0.0, 0.5, len(then))[found]
    whole = (first + second)[found].astype(float)
    before, after = ((links, links * worth[: len(links)]) for links in (first[found][:known].astype(float), whole))
    return (AccountRanks(*one, number_places(one[1])) for one in (before, after)), found


@pytest.mark.parametrize(("size", "counts"), [(500, (2000, 2000)), (3000, (5000, 20_000)), (3000, (30_000, 5000))])
def test_where_no_rate_changes_at_most_a_tenth_moves_further_than_chance_though_most_places_change(size, counts):
    """Nominally a twentieth: the measure is over 20 worlds of some hundred compared accounts."""
    g, compared, moved, beyond = np.random.default_rng(5), 0, 0, 0
    for seed in range(20):
        rates = rates_of(g, size)
        orders, _ = seen(g, rates, rates, counts)
        moves = compare(*orders, seed)
        compared += len(moves.rows)
        moved += np.count_nonzero(moves.before != moves.now)
        beyond += len(moves.rose) + len(moves.fell)
        assert np.all((moves.low <= moves.before) & (moves.before <= moves.high))
    assert moved > 0.5 * compared
    assert beyond <= 2 * OUTSIDE * compared


def test_who_is_linked_to_ten_times_as_often_is_found_to_rise_and_who_is_a_tenth_as_often_to_fall():
    g = np.random.default_rng(11)
    rates = rates_of(g, 800)
    order = np.argsort(-rates)
    riser, faller = order[40], order[3]
    later = rates.copy()
    later[riser] *= 10.0
    later[faller] /= 10.0
    orders, found = seen(g, rates, later / later.sum(), (8000, 16_000))
    moves = compare(*orders, 1)
    assert riser in [found[moves.rows[at]] for at in moves.rose]
    assert faller in [found[moves.rows[at]] for at in moves.fell]
    assert (moves.now[moves.rose] < moves.before[moves.rose]).all()
    assert (moves.now[moves.fell] > moves.before[moves.fell]).all()


def test_the_range_of_two_accounts_is_that_of_their_draws():
    """Two accounts with as many links each: one is first in half of all draws, at both times."""
    links = np.array([50.0, 50.0])
    orders = [AccountRanks(links * part, links * part, np.array([1, 2])) for part in (1.0, 2.0)]
    moves = compare(*orders, 3)
    assert (moves.low.tolist(), moves.high.tolist()) == ([1, 1], [2, 4])
    assert not len(moves.rose)
    assert not len(moves.fell)


def test_nobody_is_compared_where_nobody_was_known_before_and_who_has_no_place_is_left_out():
    nobody = AccountRanks(np.empty(0), np.empty(0), np.empty(0, np.int64))
    now = AccountRanks(np.array([3.0, 1.0]), np.array([3.0, 1.0]), np.array([1, 0]))
    assert not len(compare(nobody, now, 0).rows)
    assert compare(now, now, 0).rows.tolist() == [0]


def test_accounts_that_nobody_links_to_are_not_compared_though_their_places_change():
    """Without a link there is no rate: their order is one of equals, in which every move would look unlikely."""
    nothing = np.zeros(10)
    before, now = (
        AccountRanks(nothing, 0.05 + 1e-9 * g.random(10), g.permutation(10) + 1)
        for g in map(np.random.default_rng, (1, 2))
    )
    assert not len(compare(before, now, 0).rows)
    links = np.where(np.arange(10) < 4, 5.0, 0.0)
    some = [AccountRanks(links * part, links * part, number_places(links)) for part in (1.0, 2.0)]
    assert compare(*some, 0).rows.tolist() == [0, 1, 2, 3]


def test_the_same_seed_gives_the_same_ranges():
    g = np.random.default_rng(2)
    rates = rates_of(g, 300)
    orders = [*seen(g, rates, rates, (900, 900))[0]]
    one, two, other = (compare(*orders, seed) for seed in (4, 4, 5))
    assert (one.low.tolist(), one.high.tolist()) == (two.low.tolist(), two.high.tolist())
    assert one.high.tolist() != other.high.tolist()
