"""The strategies that draw, against the chances that a few lines of plain Python give every possible answer."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from example_counts import many
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from socialcrawl.crawls.collect import strategies
from socialcrawl.crawls.collect.strategies import (
    STRATEGIES,
    AlteredGreedy,
    Greedy,
    Proportional,
    choose_greedily,
    make_strategy,
)
from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.graphs import check_graph
from socialcrawl.lab.simulation import ReplaySetup, simulate

DRAWS = 3000
EXACT = st.integers(-8, 8).map(lambda eighths: eighths / 8)  # differences and products of these have no rounding
ZETAS = st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 4.0])
SCORES = st.lists(EXACT, min_size=1, max_size=6)


class Frontier:
    """Rows 100, 110, 120 ... with fixed scores."""

    def __init__(self, *scores):
        self.scores, self.rows = np.array(scores, np.float64), 100 + 10 * np.arange(len(scores))

    def find_best(self, size, n):
        chosen = choose_greedily(self.scores, size)
        return self.rows[chosen], self.scores[chosen]

    def list_all(self, n):
        return self.rows, self.scores


def picks(chooser, scores, size=1, n=0):
    """Positions in `scores`; rows and scores have to belong together."""
    rows, said = chooser.pick(Frontier(*scores), size, n)
    places = ((rows - 100) // 10).tolist()
    assert said.tolist() == [scores[place] for place in places]
    assert (rows.dtype, said.dtype) == (np.int64, np.float64)
    return places


# -- the referees: the chance of every answer


def near(scores, zeta):
    """Definition 8's set, with exact numbers; the best if nothing is in it."""
    most = max(scores)
    found = [i for i, s in enumerate(scores) if Fraction(most) - Fraction(s) <= Fraction(zeta) * Fraction(most)]
    return found or [scores.index(most)]


def altered(q, zeta):
    def law(scores):
        chance = [(1 - q) * (i in near(scores, zeta)) / len(near(scores, zeta)) for i in range(len(scores))]
        chance[scores.index(max(scores))] += q
        return chance

    return law


def shares(scores):
    weights = [Fraction(max(s, 0.0)) for s in scores]
    return [float(w / sum(weights)) if sum(weights) else 1 / len(scores) for w in weights]


def chances(law, scores, size):
    """The chance of every ordered answer: one after the other, each from what the others left."""
    result = {(): 1.0}
    for _ in range(min(size, len(scores))):
        longer = {}
        for before, chance in result.items():
            left = [i for i in range(len(scores)) if i not in before]
            for i, share in zip(left, law([scores[i] for i in left]), strict=True):
                if share:
                    longer[*before, i] = chance * share
        result = longer
    return result


def agrees(chooser, law, scores, size=1, draws=DRAWS):
    """Whether what is picked at many n has these chances: what has none never comes, the rest passes a chi2 test."""
    expected = chances(law, scores, size)
    seen = Counter(tuple(picks(chooser, scores, size, n)) for n in range(0, draws * size, size))
    assert set(seen) <= set(expected)
    keys = sorted(expected)
    return len(keys) == 1 or chisquare([seen[k] for k in keys], [draws * expected[k] for k in keys]).pvalue > 1e-3


def test_the_chi2_test_notices_a_share_that_is_wrong_by_a_few_percent():
    assert agrees(Proportional(1), shares, [1.0, 1.0])
    assert not agrees(Proportional(1), lambda _: [0.55, 0.45], [1.0, 1.0])


# -- altered greedy


@settings(deadline=None, max_examples=many(60))
@given(SCORES, ZETAS)
def test_what_is_drawn_when_not_greedy_is_definition_8s_set_neither_more_nor_less(scores, zeta):
    assume(zeta > 0 or max(scores) >= 0)
    chooser = AlteredGreedy(0.0, zeta, 1)
    assert {picks(chooser, scores, n=n)[0] for n in range(150)} == set(near(scores, zeta))


@pytest.mark.parametrize(
    ("q", "zeta", "scores"),
    [
        (0.0, 0.5, [4.0, 2.0, 1.875, 3.0, 2.125]),  # half the best is near, just less is not
        (0.3, 0.5, [4.0, 2.0, 1.875, 3.0, 2.125]),
        (0.9, 0.25, [3.0, 4.0, 4.0, 1.0]),  # of two best the first has q and its share
        (0.5, 1.0, [0.0, 1.0, -0.5, 2.0]),
        (0.75, 4.0, [5.0, -15.0, -15.5]),
        (0.5, 0.5, [0.0, 0.0, -1.0, 0.0]),
    ],
)
@pytest.mark.parametrize("size", [1, 2])
def test_altered_greedy_draws_with_the_chances_of_definition_8(q, zeta, scores, size):
    assert agrees(AlteredGreedy(q, zeta, 7), altered(q, zeta), scores, size)


def test_with_probability_q_the_best_is_taken():
    for q in (0.1, 0.5, 0.9):
        best = sum(picks(AlteredGreedy(q, 1.0, 3), [1.0] * 1000 + [2.0], n=n) == [1000] for n in range(DRAWS))
        expected = q + (1 - q) / 1001
        assert abs(best / DRAWS - expected) < 3.5 * (expected * (1 - expected) / DRAWS) ** 0.5


@settings(deadline=None)
@given(SCORES, ZETAS, st.integers(0, 2**40), st.integers(1, 8), st.integers(0, 10**9))
def test_with_q_1_it_is_greedy(scores, zeta, seed, size, n):
    assert picks(AlteredGreedy(1.0, zeta, seed), scores, size, n) == picks(Greedy(), scores, size, n)


def test_with_q_0_and_zeta_0_the_ties_of_the_best_are_drawn_uniformly_and_nothing_else():
    """So that it is not greedy, which takes the tie discovered first: a consequence of Definition 8."""
    scores = [1.0, 3.0, 2.75, 3.0, 3.0]
    assert agrees(AlteredGreedy(0.0, 0.0, 1), lambda _: [0, 1 / 3, 0, 1 / 3, 1 / 3], scores)


@settings(deadline=None)
@given(
    st.lists(st.integers(-16, -1).map(lambda e: e / 8), min_size=1, max_size=6), ZETAS.filter(bool), st.integers(1, 7)
)
def test_where_all_scores_are_negative_the_best_is_taken(scores, zeta, size):
    chooser = AlteredGreedy(0.0, zeta, 1)
    assert all(picks(chooser, scores, size, n) == picks(Greedy(), scores, size) for n in range(20))


def test_with_zeta_1_every_score_that_is_not_negative_is_near_and_with_a_large_one_every_score():
    scores = [0.0, -0.125, 5.0, 1.0]
    assert agrees(AlteredGreedy(0.0, 1.0, 1), lambda _: [1 / 3, 0, 1 / 3, 1 / 3], scores)
    assert agrees(AlteredGreedy(0.0, 1e6, 1), lambda _: [1 / 4] * 4, scores)


def test_in_a_batch_what_is_near_is_measured_anew_from_the_best_that_is_left():
    chooser = AlteredGreedy(0.0, 0.5, 1)
    scores = [8.0, 3.0, 2.0, 1.0]  # one by one: 8 stands alone, then 3 and 2, never 1 before 2
    answers = {tuple(picks(chooser, scores, 4, n)) for n in range(0, 800, 4)}
    assert answers == set(chances(altered(0.0, 0.5), scores, 4))
    assert {answer[0] for answer in answers} == {0}
    assert {answer[1] for answer in answers} == {1, 2}


# -- proportional


@pytest.mark.parametrize(
    "scores",
    [[1.0, 2.0, 3.0, 4.0], [0.5, 0.0, 8.0, 0.5], [-3.0, 1.0, -0.125, 3.0], [0.0, 0.0, 0.0], [-1.0, -2.0, 0.0, -5.0]],
)
@pytest.mark.parametrize("size", [1, 2])
def test_proportional_draws_by_the_shares_of_the_scores(scores, size):
    assert agrees(Proportional(5), shares, scores, size)


@settings(deadline=None)
@given(SCORES, st.integers(0, 10**6))
def test_nothing_without_a_share_is_drawn_while_something_has_one(scores, n):
    places = picks(Proportional(2), scores, len(scores), n)
    values = [scores[place] > 0 for place in places]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("unit", [1e308, 1e300, 5e-324, 1e-320])
def test_neither_huge_nor_tiny_scores_distort_the_shares(unit):
    assert agrees(Proportional(1), lambda _: [1 / 4, 0, 1 / 4, 1 / 4, 1 / 4], [unit, -unit, unit, unit, unit])


def test_beside_a_huge_score_a_small_one_has_no_share_to_speak_of():
    assert {tuple(picks(Proportional(1), [1.0, 1.7e308, 0.0], n=n)) for n in range(300)} == {(1,)}


@pytest.mark.parametrize(("draw", "place"), [(0.0, 1), (0.5, 3), (np.nextafter(1.0, 0.0), 3)])
def test_at_the_ends_and_corners_of_the_draw_nothing_without_a_share_is_hit(monkeypatch, draw, place):
    monkeypatch.setattr(strategies, "draw_uniform", lambda *_: np.array([draw]))
    assert picks(Proportional(1), [0.0, 2.0, 0.0, 2.0, 0.0]) == [place]
    assert picks(Proportional(1), [0.0, 0.0, 0.0, 0.0]) == [int(4 * draw)]


# -- both

BOTH = [AlteredGreedy(0.4, 0.75, 1), AlteredGreedy(0.0, 1.0, 1), Proportional(1)]
NAMES = ["altered", "altered, never greedy", "proportional"]


@pytest.mark.parametrize("chooser", BOTH, ids=NAMES)
@settings(deadline=None)
@given(SCORES, st.integers(1, 9), st.integers(0, 10**6))
def test_a_batch_holds_every_row_once_and_all_of_them_if_it_is_large(chooser, scores, size, n):
    places = picks(chooser, scores, size, n)
    assert len(places) == len(set(places)) == min(size, len(scores))


@pytest.mark.parametrize("chooser", BOTH, ids=NAMES)
@pytest.mark.parametrize("size", [1, 3])
def test_of_nobody_nobody_is_drawn(chooser, size):
    assert picks(chooser, [], size) == []


@pytest.mark.parametrize("chooser", BOTH, ids=NAMES)
def test_asked_twice_it_says_the_same_and_leaves_the_scores_alone(chooser):
    frontier = Frontier(*[1.0, 2.0, 3.0] * 5)
    first = [chooser.pick(frontier, 3, n)[0].tolist() for n in range(50)]
    assert [chooser.pick(frontier, 3, n)[0].tolist() for n in reversed(range(50))] == first[::-1]
    assert frontier.scores.tolist() == [1.0, 2.0, 3.0] * 5


@pytest.mark.parametrize("name", ["altered-greedy", "proportional"])
def test_the_same_seed_draws_the_same_and_another_seed_or_step_otherwise(name):
    def run(seed, begin=0):
        return [picks(make_strategy(name, seed=seed, q=0.0), [1.0] * 50, n=n)[0] for n in range(begin, begin + 40)]

    assert run(1) == run(1)
    others = [run(2), run(2**40 + 1), run(1, begin=1), run(1, begin=40)]
    assert all(sum(a == b for a, b in zip(run(1), other, strict=True)) < 10 for other in others)


@pytest.mark.parametrize("name", ["altered-greedy", "proportional"])
def test_a_batch_begins_as_the_single_pick_at_its_n(name):
    chooser = make_strategy(name, seed=3, q=0.5)
    scores = [1.0, 3.0, 2.0, 3.0, 2.5]
    assert all(picks(chooser, scores, 3, n)[:1] == picks(chooser, scores, 1, n) for n in range(200))


def test_the_two_draw_from_different_streams():
    pairs = [
        (picks(AlteredGreedy(0.0, 1.0, 1), [1.0] * 50, n=n), picks(Proportional(1), [1.0] * 50, n=n))
        for n in range(100)
    ]
    assert sum(a == b for a, b in pairs) < 15


# -- by name


def test_every_strategy_has_a_name():
    made = {name: make_strategy(name, seed=4, q=0.25, zeta=2.0) for name in STRATEGIES}
    assert {name: type(one) for name, one in made.items()} == {
        "greedy": Greedy,
        "altered-greedy": AlteredGreedy,
        "proportional": Proportional,
    }
    assert (made["altered-greedy"].q, made["altered-greedy"].zeta, made["altered-greedy"].seed) == (0.25, 2.0, 4)
    assert made["proportional"].seed == 4


@pytest.mark.parametrize("q", [-0.1, 1.1, np.nan, np.inf])
def test_a_q_that_is_no_probability_is_refused(q):
    with pytest.raises(SettingsError, match=r"q = .* probability"):
        make_strategy("altered-greedy", seed=1, q=q)


@pytest.mark.parametrize("zeta", [-0.5, np.nan, np.inf])
def test_a_zeta_that_is_no_number_from_0_on_is_refused(zeta):
    with pytest.raises(SettingsError, match=r"zeta = .* number from 0"):
        make_strategy("altered-greedy", seed=1, zeta=zeta)


@pytest.mark.parametrize("name", ["", "Greedy", "random"])
def test_an_unknown_name_is_refused_and_the_known_ones_are_named(name):
    with pytest.raises(SettingsError, match=r"Unknown strategy .* greedy, altered-greedy, proportional"):
        make_strategy(name, seed=1)


# -- through a replayed crawl


def graph(links, beta):
    flat = [v for row in links for v in row]
    ends = np.cumsum([0, *map(len, links)], dtype=np.int64)
    return check_graph(KnownGraph(ends, np.array(flat, np.int64), np.ones(len(flat)), np.array(beta, np.float64)))


def random_graph(seed, size=60):
    rng = np.random.default_rng(seed)
    return graph([rng.integers(0, size, 4).tolist() for _ in range(size)], rng.integers(0, 5, size))


def steps(known, budget=30, **more):
    return simulate(known, [0, 1], ReplaySetup("oracle", budget, **more)).steps.tolist()


@pytest.mark.parametrize("name", ["altered-greedy", "proportional"])
@pytest.mark.parametrize("rate", [1, 7])
def test_a_crawl_is_repeated_by_its_seed_and_another_seed_crawls_otherwise(name, rate):
    known = random_graph(1)
    runs = [steps(known, strategy=name, q=0.5, refresh_rate=rate, seed=seed) for seed in (1, 1, 2, 3)]
    assert runs[0] == runs[1]
    assert len({tuple(run) for run in runs}) == 3


@settings(deadline=None, max_examples=many(40))
@given(
    st.integers(0, 10**6), st.integers(1, 9), st.sampled_from(["altered-greedy", "proportional"]), st.integers(1, 30)
)
def test_whatever_the_refresh_rate_a_batch_comes_from_the_frontier_before_it(seed, rate, name, budget):
    known = random_graph(seed, 25)
    crawled = steps(known, budget, strategy=name, refresh_rate=rate, seed=seed, q=0.3)
    asked, left = {0, 1}, list(crawled)
    while frontier := {v for u in asked for v in known.list_links(u)[0].tolist()} - asked:
        size = min(rate, len(frontier), budget - len(asked) + 2)
        batch, left = set(left[:size]), left[size:]
        assert len(batch & frontier) == size
        asked |= batch
        if len(asked) == budget + 2:
            break
    assert not left


@settings(deadline=None, max_examples=many(30))
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_a_crawl_with_q_1_is_the_greedy_one(seed, rate):
    known = random_graph(seed)
    assert steps(known, strategy="altered-greedy", q=1.0, refresh_rate=rate) == steps(known, refresh_rate=rate)


@pytest.mark.parametrize(
    ("name", "law"), [("altered-greedy", altered(0.5, 0.5)), ("proportional", shares)], ids=["altered", "proportional"]
)
def test_over_many_seeds_the_first_steps_of_a_crawl_have_the_chances_of_the_strategy(name, law):
    """A star: whatever is crawled leads no further. 0 -> 2(1), 0 -> 3(4), 0 -> 4(3), 0 -> 5(0)."""
    known = graph([[2, 3, 4, 5], [], [], [], [], []], [0, 0, 1, 4, 3, 0])
    setup = {"strategy": name, "q": 0.5, "zeta": 0.5}
    seen = Counter(tuple(steps(known, 2, seed=seed, **setup)) for seed in range(400))
    expected = {tuple(i + 2 for i in one): 400 * p for one, p in chances(law, [1.0, 4.0, 3.0, 0.0], 2).items()}
    assert set(seen) <= set(expected)
    assert chisquare([seen[one] for one in expected], list(expected.values())).pvalue > 1e-3
