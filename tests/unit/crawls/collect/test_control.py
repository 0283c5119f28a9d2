"""Steps that are drawn for comparison: how many, whom they may draw, and that all else stays as it was."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from socialcrawl.crawls.collect.strategies import AlteredGreedy, ControlledStrategy, Greedy, choose_greedily
from socialcrawl.engine.draws import CHANCE, NEAREST, STEERED, assign_arms


class Frontier:
    """Rows 100, 103, 106 ... with fixed scores and distances."""

    def __init__(self, scores, depth):
        self.scores, self.far = np.array(scores, np.float64), np.array(depth, np.float64)
        self.rows = 100 + 3 * np.arange(len(scores))

    def find_best(self, size, n):
        chosen = choose_greedily(self.scores, size)
        return self.rows[chosen], self.scores[chosen]

    def list_all(self, n):
        return self.rows, self.scores

    def get_depth(self, rows):
        return self.far[(rows - 100) // 3]


SCORES, DEPTH = [0.0, 5.0, 3.0, 4.0, 1.0, 2.0], [2.0, 3.0, 1.0, 2.0, 1.0, 1.0]
BEST = [1, 3, 2, 5, 4, 0]  # places by score
NEAR = {2, 4, 5}


def picks(chooser, size=1, n=0, scores=SCORES, depth=DEPTH):
    rows, said = chooser.pick(Frontier(scores, depth), size, n)
    places = ((rows - 100) // 3).tolist()
    assert said.tolist() == [scores[place] for place in places], "rows and scores belong together"
    return places


def test_a_share_of_the_steps_is_drawn_and_both_groups_are_equally_large():
    who = assign_arms(7, 0.2, 0, 20_000)
    for arm, share in ((CHANCE, 0.1), (NEAREST, 0.1), (STEERED, 0.8)):
        assert binomtest(int((who == arm).sum()), len(who), share).pvalue > 1e-3
    assert not assign_arms(7, 0.0, 0, 1000).any()
    assert assign_arms(7, 0.2, 500, 40).tolist() == who[500:540].tolist(), (
        "a step has its draw, however many are asked for"
    )
    assert assign_arms(8, 0.2, 0, 40).tolist() != who[:40].tolist()


def test_a_step_is_drawn_from_all_or_from_the_nearest_each_as_likely():
    chooser, seen = ControlledStrategy(Greedy(), 0.5, 3), {STEERED: Counter(), CHANCE: Counter(), NEAREST: Counter()}
    for n, arm in enumerate(assign_arms(3, 0.5, 0, 6000).tolist()):
        seen[arm].update(picks(chooser, n=n))
    assert set(seen[STEERED]) == {BEST[0]}
    assert set(seen[NEAREST]) == NEAR
    assert set(seen[CHANCE]) == set(range(6))
    for arm in (NEAREST, CHANCE):
        assert chisquare(list(seen[arm].values())).pvalue > 1e-3


def test_in_a_batch_nobody_is_picked_twice_and_the_others_stay_in_their_order():
    chooser = ControlledStrategy(Greedy(), 0.4, 5)
    for n in range(300):
        who, places = assign_arms(5, 0.4, n, 4).tolist(), picks(chooser, 4, n)
        assert len(set(places)) == 4
        left = list(BEST)
        for arm, place in zip(who, places, strict=True):
            if arm == STEERED:
                assert place == left[0]
            left.remove(place)


@pytest.mark.parametrize("size", [1, 6, 9])
def test_a_frontier_that_is_smaller_than_a_batch_is_picked_as_a_whole(size):
    chooser = ControlledStrategy(Greedy(), 0.5, 5)
    assert all(len(set(picks(chooser, size, n))) == min(size, 6) for n in range(50))


def test_steps_that_are_not_drawn_are_those_of_the_strategy():
    by_lot = AlteredGreedy(0.5, 10.0, 5)
    chooser = ControlledStrategy(by_lot, 0.3, 5)
    same = [n for n in range(200) if assign_arms(5, 0.3, n, 1)[0] == STEERED]
    assert [picks(chooser, n=n) for n in same] == [picks(by_lot, n=n) for n in same]
    assert [picks(chooser, n=n) for n in range(200)] == [picks(chooser, n=n) for n in range(200)]
