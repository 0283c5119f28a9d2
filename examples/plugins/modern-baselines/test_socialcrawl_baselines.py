"""The estimators and the walk keep the contract of socialcrawl, and decide as worked out by hand."""

from math import log, sqrt

import numpy as np
import pytest
from socialcrawl_baselines import D3TS, NOL, BoostedTrees, MetropolisHastings, SleepingBandit
from socialcrawl_baselines.d3ts import ARMS, Beliefs, Linear
from socialcrawl_baselines.lessons import FEATURES, Lessons, make_features
from socialcrawl_baselines.nol import fit_heavy_tails

from socialcrawl.contracts.estimators import COLUMNS, CrawlGraph
from socialcrawl.contracts.platforms import Node
from socialcrawl.testing import ESTIMATOR_CHECKS, KNOWN_GRAPHS, WALK_CHECKS, draw_random, replay

MAKERS = {
    "d3ts": lambda: D3TS(first=5, trees=3),
    "nol": NOL,
    "nol that jumps": lambda: NOL(epsilon=0.7),
    "sleeping-bandit": SleepingBandit,
    "boosted-trees": lambda: BoostedTrees(first=5, trees=3, leaf=1),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("check", ESTIMATOR_CHECKS, ids=lambda check: check.__name__)
def test_they_keep_the_contract(check, make):
    check(make)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_crawl_reads_every_account_in_reach_once(make):
    steps = replay(draw_random(size=80, seed=4), make())
    assert len(steps) == len(set(steps)) > 60


def make_columns(**given):
    """One account whose columns are zero, but for these."""
    return np.array([[given.get(name, 0.0) for name in COLUMNS]])


def make_graph():
    """A seed of relevance 3 that mentions node 1 with weight 1, and node 2 with weight 3."""
    graph = CrawlGraph()
    graph.seed(Node(0))
    graph.add(Node(0), 3.0, np.array([1, 2]), np.array([1.0, 3.0]))
    return graph


# Features and lessons


def test_features_are_logarithms_of_sums_maxima_and_means():
    columns = make_columns(depth=2, links=2, n_sum=6, n_max=5, e_sum=3, e_max=2, ne_sum=9, ne_max=8)
    expected = [log(3), log(7), log(4), log(10), 5, 2, 8, 3, 1.5, 4.5]
    assert make_features(columns.T)[:, 0] == pytest.approx(expected)


def test_a_fit_is_due_whenever_there_are_half_as_many_lessons_again():
    lessons = Lessons(first=4, growth=1.5)
    assert [n for n in range(1, 20) if lessons.add(np.zeros(len(FEATURES)), float(n))] == [4, 6, 9, 14]


def test_lessons_are_kept_in_order_beyond_the_room_that_was_made():
    lessons = Lessons(first=1, growth=2)
    for n in range(200):
        lessons.add(np.full(len(FEATURES), n), float(n))
    x, y = lessons.get_all()
    assert x[:, 3].tolist() == y.tolist() == list(range(200))


# D3TS


def test_beliefs_forget_once_they_are_as_strong_as_the_cap():
    beliefs = Beliefs(arms=2, cap=3.0)
    beliefs.credit(0, 1.0)  # 1 + 1 is below 3
    assert (beliefs.a[0], beliefs.b[0]) == (2.0, 1.0)
    beliefs.credit(0, 0.0)  # 2 + 1 is not: both shrink by 3 / 4
    assert (beliefs.a[0], beliefs.b[0]) == (1.5, 1.5)
    assert (beliefs.a[1], beliefs.b[1]) == (1.0, 1.0)


def test_the_arm_is_drawn_whose_belief_has_the_largest_quantile():
    beliefs = Beliefs(arms=2, cap=5.0)
    beliefs.credit(0, 1.0)  # Beta(2, 1), whose quantile of u is sqrt(u); that of the other arm is u
    assert beliefs.draw(np.array([0.64, 0.75])) == 0  # 0.8 > 0.75
    assert beliefs.draw(np.array([0.49, 0.75])) == 1  # 0.7 < 0.75


def test_the_linear_model_moves_along_a_lesson_by_its_error():
    linear = Linear()
    linear.learn(np.eye(len(FEATURES))[0], 2.99)  # x x = 2 with the intercept: the gain is x / (0.99 + 2)
    assert linear.weights[[0, -1]].tolist() == pytest.approx([1.0, 1.0])
    assert not linear.weights[1:-1].any()


def test_before_the_first_fit_d3ts_and_trees_prefer_mentions_by_relevant_accounts():
    by_mentions = [1, 2, 6, 7, 9, 3, 8, 4, 5]  # worked out in the docstring of the graph, for nh-n-sum
    assert list(replay(KNOWN_GRAPHS["market"], D3TS())) == by_mentions
    assert list(replay(KNOWN_GRAPHS["market"], BoostedTrees())) == by_mentions


def teach(estimator, lessons=40):
    """Teach that accounts are relevant (4) or not (0) as their links are heavy or light."""
    for n in range(lessons):
        heavy = n % 2
        x = make_columns(depth=1, links=1, n_sum=3, n_max=3, e_sum=1 + 2 * heavy, e_max=1 + 2 * heavy)
        estimator.learn(x, np.array([4.0 * heavy]))
    return estimator


def test_d3ts_scores_by_the_model_that_was_drawn():
    estimator, graph, rows = teach(D3TS()), make_graph(), np.array([1, 2])
    scores = {}
    for estimator.arm, arm in enumerate(ARMS):
        scores[arm] = estimator.score(graph, rows, 40).tolist()
    assert scores["mentions"] == [3.0, 3.0]
    assert scores["vote"] == pytest.approx([(3 + 3 * 2) / (1 + 3)] * 2)  # the mean relevance is 2
    assert scores["forest"][0] < scores["forest"][1]
    assert scores["linear"][0] < scores["linear"][1]


def test_d3ts_credits_the_model_that_was_drawn_and_no_other():
    estimator = teach(D3TS(cap=1000.0), lessons=20)  # the forest is there, nothing was drawn before it
    drawn = estimator.arm
    assert estimator.beliefs.a.tolist() == estimator.beliefs.b.tolist() == [1.0] * 4
    estimator.learn(make_columns(links=1), np.array([0.5]))  # any relevance is a success
    assert estimator.beliefs.a.tolist() == [2.0 if arm == drawn else 1.0 for arm in range(4)]
    assert estimator.beliefs.b.tolist() == [1.0] * 4


def test_d3ts_comes_to_use_the_models_that_succeed():
    estimator = teach(D3TS(cap=50.0), lessons=20)
    uses = [0] * len(ARMS)
    for _ in range(400):
        uses[estimator.arm] += 1
        estimator.learn(make_columns(links=1), np.array([1.0 if ARMS[estimator.arm] == "vote" else 0.0]))
    assert uses[ARMS.index("vote")] > 300


# NOL


def test_few_rows_are_fitted_by_least_squares_without_intercept():
    x = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])
    assert fit_heavy_tails(x, x @ [3.0, -0.5], np.arange(3)) == pytest.approx([3.0, -0.5])


def test_a_wild_value_spoils_the_fit_of_its_group_only():
    x = np.random.default_rng(3).random((60, 2))  # ln 60 = 4.1: four groups of 15
    y = x @ [2.0, 1.0]
    y[7] += 1e6
    assert fit_heavy_tails(x, y, np.arange(60)) == pytest.approx([2.0, 1.0])


def test_nol_scores_by_its_weights_except_at_random_steps():
    graph, rows = make_graph(), np.array([1, 2])
    by_weights = NOL(epsilon=0.0).score(graph, rows, 0)
    features = [[log(2), log(4), log(2), log(4), 3, 1, 3, 3, 1, 3], [log(2), log(4), log(4), log(10), 3, 3, 9, 3, 3, 9]]
    assert by_weights == pytest.approx([0.1 * sum(line) for line in features])
    first, second = (NOL(epsilon=1.0, horizon=1e9).score(graph, rows, n) for n in (1, 2))
    assert (first < 1).all()
    assert not np.array_equal(first, second)


def test_random_steps_are_as_frequent_as_epsilon_and_fade():
    estimator = NOL(epsilon=0.5, horizon=1000.0)
    early = sum(estimator.get_terms(n) is None for n in range(100))
    late = sum(estimator.get_terms(n) is None for n in range(3000, 4000))
    assert 35 < early < 60  # 0.5 (1 - e^-0.1) 1000 = 47.6
    assert 3 < late < 30  # 0.5 (e^-3 - e^-4) 1000 = 15.7


def test_nol_learns_what_makes_accounts_relevant():
    low, high = teach(NOL(epsilon=0.0)).score(make_graph(), np.array([1, 2]), 40)
    assert low < high


# The sleeping bandit


def test_the_score_is_the_upper_confidence_bound_of_the_group():
    estimator, graph = SleepingBandit(alpha=2.0), make_graph()
    light = make_columns(links=1, n_sum=3, e_sum=1)  # as node 1; node 2 has e_sum 3, another power of two
    heavy = make_columns(links=1, n_sum=3, e_sum=3)
    for x, relevance in ((light, 1.0), (light, 0.0), (light, 2.0), (heavy, 0.5)):
        estimator.learn(x, np.array([relevance]))
    expected = [1.0 + 2 * sqrt(log(4) / 3), 0.5 + 2 * sqrt(log(4) / 1)]
    assert estimator.score(graph, np.array([1, 2]), 4) == pytest.approx(expected, abs=1e-5)


def test_a_group_that_was_never_picked_comes_first():
    estimator = SleepingBandit(alpha=0.1)
    for _ in range(3):
        estimator.learn(make_columns(links=1, n_sum=3, e_sum=1), np.array([9.0]))
    known, unknown = estimator.score(make_graph(), np.array([1, 2]), 3)
    assert unknown > known > 9


def test_accounts_whose_links_have_the_same_powers_of_two_are_one_group():
    estimator = SleepingBandit()
    estimator.learn(
        make_columns(links=1, n_sum=3.5, e_sum=2.9), np.array([9.0])
    )  # 1 + 3.5 and 1 + 3; 1 + 2.9 and 1 + 1
    assert estimator.score(make_graph(), np.array([1]), 1)[0] == pytest.approx(9.0, abs=1e-6)  # ln 1 = 0


# Boosted trees


def test_boosted_trees_learn_which_accounts_are_relevant():
    low, high = teach(BoostedTrees()).score(make_graph(), np.array([1, 2]), 40)
    assert low == pytest.approx(0.0, abs=0.1)
    assert high == pytest.approx(4.0, abs=0.1)


def test_accounts_of_the_same_leaves_are_ordered_by_their_mentions():
    estimator, graph = teach(BoostedTrees()), make_graph()
    graph.add(Node(3), 5.0, np.array([4]), np.array([1.0]))
    one, four = graph.row(Node(1)), graph.row(Node(4))
    low, high = estimator.score(graph, np.array([one, four]), 40)
    assert 0 < high - low < 1e-5


# Metropolis-Hastings walks


@pytest.mark.parametrize("check", WALK_CHECKS, ids=lambda check: check.__name__)
def test_the_walk_keeps_its_contract(check):
    check(MetropolisHastings)


def test_it_always_goes_to_fewer_neighbours_and_seldom_to_many():
    walk = MetropolisHastings()
    assert [walk.accept(6, proposed) for proposed in (1, 6, 12, 60)] == [1.0, 1.0, 0.5, 0.1]
    assert walk.weigh(1) == walk.weigh(60) == 1.0


def test_on_a_star_each_account_is_as_likely_as_any_other():
    leaves = 4
    walk = MetropolisHastings()
    chances = np.zeros((leaves + 1, leaves + 1))  # the middle is number 0
    chances[0, 1:] = walk.accept(leaves, 1) / leaves
    chances[1:, 0] = walk.accept(1, leaves)
    chances += np.diag(1.0 - chances.sum(axis=1))
    assert chances[1, 1] == 0.75  # a leaf stays three times in four
    assert np.full(leaves + 1, 0.2) @ chances == pytest.approx(np.full(leaves + 1, 0.2))
