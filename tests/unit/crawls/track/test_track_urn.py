"""Trees of weights against lists that are summed and looked through; quick keyed draws."""

import math

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.crawls.track.weighted_tree import DrawTree, MaxTree
from socialcrawl.engine.draws import draw_chance

# Whole weights add up without rounding, so that the referee may add in any order.
CHANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), min_size=1, max_size=60)
BARRED = st.frozensets(st.integers(0, 40), max_size=5)


def drawn_by_list(weights, u):
    """The referee: rows lie one after the other, each as long as it weighs."""
    place = u * sum(weights.values())
    for row in sorted(weights):
        if place < weights[row]:
            return row
        place -= weights[row]
    return None


@settings(deadline=None, max_examples=many(60))
@given(CHANGES, st.lists(st.tuples(st.integers(0, 999), BARRED), min_size=1, max_size=5))
def test_an_urn_draws_whom_a_list_of_weights_says(changes, asked):
    weights = {}
    urn = DrawTree(lambda row: float(weights.get(row, 0)))
    for place, (row, weight) in enumerate(changes):
        weights[row] = weight
        urn.touch([row])
        u, barred = asked[place % len(asked)]
        left = {row: weight for row, weight in weights.items() if row not in barred}
        assert urn.draw(u / 1000, barred) == drawn_by_list(left, u / 1000)


@settings(deadline=None, max_examples=many(60))
@given(CHANGES, BARRED)
def test_the_heaviest_is_the_first_of_the_heaviest(changes, barred):
    weights = {}
    tops = MaxTree(lambda row: float(weights.get(row, MaxTree.NONE)))
    for row, weight in changes:
        weights[row] = weight
        tops.touch([row])
        left = [row for row in sorted(weights) if row not in barred]
        assert tops.find_best(barred) == max(left, key=lambda row: (weights[row], -row), default=None)


@settings(deadline=None, max_examples=many(60))
@given(st.dictionaries(st.integers(0, 70), st.floats(0, 1e9), min_size=1), st.data())
def test_the_same_weights_give_the_same_bits_however_they_came_to_be(weights, data):
    orders = [data.draw(st.permutations(list(weights))) for _ in range(2)]
    trees = []
    for order in orders:
        now = dict.fromkeys(order, 3.3)
        urn = DrawTree(lambda row, now=now: now.get(row, 0.0))
        for row in order:
            urn.touch([row])
            if data.draw(st.booleans()):
                urn.draw(0.5, frozenset(order[:2]))
            now[row] = weights[row]
            urn.touch([row])
        trees.append(list(urn.settle()))
    assert trees[0] == trees[1]
    assert trees[0][1] == pytest.approx(math.fsum(weights.values()))


def test_a_draw_never_falls_on_a_row_without_weight():
    weights = [0.08, 0.08, 0.26, 0.0, 0.0]  # rounding carries the largest draw beyond 0.26
    urn = DrawTree(lambda row: weights[row])
    urn.touch(range(5))
    assert [urn.draw(u) for u in (0.0, 0.2, 0.6, 1 - 2**-53)] == [0, 1, 2, 2]


def test_an_urn_without_weight_and_an_empty_tree_have_nobody():
    urn, tops = DrawTree(lambda _: 0.0), MaxTree(lambda _: MaxTree.NONE)
    assert urn.draw(0.5) is None
    assert tops.find_best() is None
    urn.touch(range(9))
    tops.touch(range(9))
    assert urn.draw(0.5) is None
    assert tops.find_best() is None


def test_all_weights_can_be_looked_at_at_once():
    weights = np.arange(100.0)
    quick, slow = DrawTree(lambda row: weights[row], lambda: weights), DrawTree(lambda row: weights[row])
    quick.touch(range(100))
    quick.draw(0.1)
    weights[:] = weights[::-1].copy()
    quick.touch_all()
    slow.touch(range(100))
    barred = frozenset({3, 99})
    assert quick.settle(barred) == slow.settle(barred)
    assert quick.settle() == slow.settle()


# -- Quick draws

THOUSANDTH = 148.2  # the value that chi-square of 99 degrees of freedom exceeds once in a thousand times


@pytest.mark.parametrize(("seed", "purpose"), [(0, "mix"), (1, "mix"), (0, "coin"), (2**70, "expand"), (-1, "recrawl")])
def test_quick_draws_are_uniform(seed, purpose):
    draws = np.array([draw_chance(seed, purpose, n) for n in range(20_000)])
    assert 0 <= draws.min() < draws.max() < 1
    for several in (draws, np.sort((draws * 2**20) % 1), (draws[1:] + draws[:-1]) % 1):  # high bits, low bits, pairs
        counts = np.histogram(several, 100, (0, 1))[0]
        expected = len(several) / 100
        assert ((counts - expected) ** 2 / expected).sum() < THOUSANDTH


def test_quick_draws_of_other_purposes_and_seeds_have_nothing_to_do_with_each_other():
    keys = [(0, "mix"), (0, "coin"), (1, "mix"), (1, "coin"), (0, "expand")]
    draws = np.array([[draw_chance(*key, n) for n in range(10_000)] for key in keys])
    correlated = np.corrcoef(draws) - np.eye(len(keys))
    assert np.abs(correlated).max() < 4 / math.sqrt(10_000)


def test_a_quick_draw_is_the_same_whenever_it_is_asked_for():
    assert draw_chance(3, "mix", 7) == draw_chance(3, "mix", 7)
    assert len({draw_chance(s, p, n) for s in (3, 4) for p in ("mix", "coin") for n in (7, 8)}) == 8
    # SplitMix64 itself: the first numbers of the stream whose state is 0 (Vigna's reference implementation).
    from socialcrawl.engine.draws import GOLDEN, _mix

    assert [_mix(n * GOLDEN) for n in (1, 2)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]
