"""The checks of the test kit find what is wrong with an estimator or a strategy, and say it; ours pass them."""

import itertools
import random

import numpy as np
import pytest

from socialcrawl.crawls.collect.estimators import BreadthFirst, Estimator, make_estimator
from socialcrawl.crawls.collect.estimators.base import ScoreTerms
from socialcrawl.crawls.collect.strategies import STRATEGIES, ControlledStrategy, Greedy, make_strategy
from socialcrawl.graph.graph import COLUMNS
from socialcrawl.testing import ESTIMATOR_CHECKS, GOLDEN_SEQUENCES, KNOWN_GRAPHS, STRATEGY_CHECKS, replay
from socialcrawl.testing.golden_sequences import DIGITS


class Sound:
    """Passes all checks."""

    def __init__(self):
        self.total = 0.0

    def score(self, graph, rows, n):
        return graph.column("n_sum", rows) * self.total + graph.column("links", rows)

    def learn(self, x, y):
        self.total += float(y.sum())


class NoScore:
    pass


class Shape(Sound):
    def score(self, graph, rows, n):
        return super().score(graph, rows, n)[:1]


class Undefined(Sound):
    def score(self, graph, rows, n):
        return super().score(graph, rows, n) / 0.0 if len(rows) else np.empty(0)


class Text(Sound):
    def score(self, graph, rows, n):
        return np.array(["best"] * len(rows))


class LearnsByScoring(Sound):
    def score(self, graph, rows, n):
        self.total += 1
        return super().score(graph, rows, n)


class GivesItselfAway(Sound):
    def score(self, graph, rows, n):
        self.kept = getattr(self, "kept", None) if getattr(self, "of", None) == rows.tolist() else None
        if self.kept is None:
            self.of, self.kept = rows.tolist(), super().score(graph, rows, n)
        return self.kept


class ChangesTheGraph(Sound):
    def score(self, graph, rows, n):
        graph._features[rows] += 1.0
        return super().score(graph, rows, n)


class ByPosition(Sound):
    def score(self, graph, rows, n):
        return np.arange(len(rows)) * 1.0


class Chance(Sound):
    def __init__(self):
        super().__init__()
        self.draws = random.Random()

    def score(self, graph, rows, n):
        if n not in self.__dict__.setdefault("by_step", {}):
            self.by_step[n] = self.draws.random()
        return (rows * 7919 * self.by_step[n]) % 1.0


class CountsItsLife(Sound):
    """What it learned depends on how often it was asked whether it may learn."""

    lives = itertools.count()

    def __init__(self):
        super().__init__()
        self.sign = -1.0 if next(self.lives) % 2 else 1.0

    def score(self, graph, rows, n):
        return self.sign * rows


class OtherTerms(Estimator):
    def score(self, graph, rows, n):
        return graph.column("n_sum", rows)

    def get_terms(self, n):
        return ScoreTerms(self, (1.0,), 0.0, lambda graph, rows: graph.columns(("e_sum",), rows))


def find_failed(checks, make):
    failed = {}
    for check in checks:
        try:
            check(make)
        except AssertionError as error:
            failed[check.__name__] = str(error)
        except Exception as error:  # noqa: BLE001 - what campaigns say of it
            failed[check.__name__] = f"{type(error).__name__}: {error}"
    return failed


def test_a_sound_estimator_passes_all_checks_with_and_without_inheriting():
    assert find_failed(ESTIMATOR_CHECKS, Sound) == {}
    assert find_failed(ESTIMATOR_CHECKS, type("Heir", (Sound, Estimator), {})) == {}


@pytest.mark.parametrize(
    ("make", "check", "said"),
    [
        (NoScore, "check_methods", "The class NoScore has no method score(graph, rows, n)."),
        (Shape, "check_scores", "Shape.score returns shape (1,) for "),
        (Undefined, "check_scores", "Undefined.score returns numbers that are not finite after 1 steps"),
        (Text, "check_scores", "Text.score returns <U4, not float64"),
        (LearnsByScoring, "check_scoring_changes_nothing", "LearnsByScoring.score says another thing the second time"),
        (GivesItselfAway, "check_scoring_changes_nothing", "GivesItselfAway.score says another thing the second time"),
        (ChangesTheGraph, "check_scoring_changes_nothing", "says another thing the second time"),
        (ByPosition, "check_scores_of_rows_alone", "ByPosition.score depends on the order of the rows"),
        (Chance, "check_repeating", "Two crawls with Chance differ. Draw random numbers with `draw_uniform`"),
        (CountsItsLife, "check_folding", "What is learned must depend on the history only"),
        (OtherTerms, "check_terms", "OtherTerms.get_terms says another score than OtherTerms.score"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_what_breaks_the_contract_of_an_estimator_is_found_by_its_check_and_said(make, check, said):
    assert said in find_failed(ESTIMATOR_CHECKS, make)[check]


@pytest.mark.parametrize("check", STRATEGY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", [*STRATEGIES, "controlled"])
def test_every_strategy_passes_the_checks_for_those_of_other_packages(name, check):
    if name == "controlled":
        check(lambda: ControlledStrategy(Greedy(), 0.5, 3))
    else:
        check(lambda: make_strategy(name, seed=3, q=0.5))


class Few:
    def pick(self, frontier, size, n):
        rows, scores = frontier.list_all(n)
        return rows[: max(1, size - 1)], scores[: max(1, size - 1)]


class Invents(Greedy):
    def pick(self, frontier, size, n):
        rows, scores = super().pick(frontier, size, n)
        return rows, scores + 1.0


class Dice:
    def pick(self, frontier, size, n):
        rows, scores = frontier.list_all(n)
        chosen = np.array(random.sample(range(len(rows)), min(size, len(rows))))
        return rows[chosen], scores[chosen]


@pytest.mark.parametrize(
    ("make", "check", "said"),
    [
        (NoScore, "check_method", "The class NoScore has no method pick(frontier, size, n)."),
        (Few, "check_picks", "Few.pick returns 1 rows where 2 are wanted and"),
        (Invents, "check_picks", "Invents.pick returns other scores than those of the rows that it picked"),
        (Dice, "check_picking_changes_nothing", "Dice.pick says another thing the second time"),
        (Dice, "check_folding_picks", "choosing must change nothing"),
    ],
)
def test_what_breaks_the_contract_of_a_strategy_is_found_by_its_check_and_said(make, check, said):
    assert said in find_failed(STRATEGY_CHECKS, make)[check]


@pytest.mark.parametrize("graph", KNOWN_GRAPHS)
@pytest.mark.parametrize("name", ["bfs", "nh-ne-sum", "lnh-sum", "opic"])
def test_a_crawl_by_hand_takes_the_golden_steps(graph, name):
    for size, place in ((1, 0), (3, 1)):
        steps = replay(KNOWN_GRAPHS[graph], make_estimator(name, seed=1, switch_after=3), size=size)
        assert "".join(DIGITS[node] for node in steps) == GOLDEN_SEQUENCES[graph, name][place]
    assert replay(KNOWN_GRAPHS[graph], BreadthFirst(), most=4) == replay(KNOWN_GRAPHS[graph], BreadthFirst())[:3] or (
        len(KNOWN_GRAPHS[graph].seeds) > 1
    )


def test_every_check_teaches_one_account_at_a_time():
    shapes = set()

    class Learner:
        def score(self, graph, rows, n):
            return graph.column("links", rows)

        def learn(self, x, y):
            shapes.add((x.shape, y.shape))

    for check in ESTIMATOR_CHECKS:
        check(Learner)
    assert shapes == {((1, len(COLUMNS)), (1,))}


def test_checks_of_a_method_or_constructor_that_raises_raise_assertions_only():
    class Broken:
        def score(self, graph, rows, n):
            return {}["no column"]

        def pick(self, frontier, size, n):
            raise ValueError("no picks here")

    def refuse():
        raise TypeError("no constructor here")

    for check in (*ESTIMATOR_CHECKS[1:], *STRATEGY_CHECKS[1:]):
        with pytest.raises(AssertionError, match=r"no column|no picks here"):
            check(Broken)
    for check in (*ESTIMATOR_CHECKS, *STRATEGY_CHECKS):
        with pytest.raises(AssertionError, match=f"{check.__name__}: TypeError: no constructor here"):
            check(refuse)
