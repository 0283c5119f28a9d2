"""Estimators and strategies of other packages: what is checked, what is passed on, and what is said if they fail."""

import json
import re
import sys
import warnings

import numpy as np
import pytest
from added_packages import install_package
from lab_graphs import known, random_world
from x_crawls import TOPIC

from socialcrawl.campaign.settings import check_settings
from socialcrawl.cli.choices import offer, offer_estimators
from socialcrawl.cli.commands.installed_plugins import show_plugins
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.collect.estimators.added import LOWEST, AddedEstimator, find_estimator_fault
from socialcrawl.crawls.collect.estimators.base import Estimator, ScoreTerms
from socialcrawl.crawls.collect.make import choose_policy, make_shadows
from socialcrawl.crawls.collect.strategies import AddedStrategy, make_strategy
from socialcrawl.engine.model import Node
from socialcrawl.errors import PluginError, SettingsError
from socialcrawl.graph.graph import COLUMNS, CrawlGraph
from socialcrawl.lab.simulation import ReplaySetup, simulate
from socialcrawl.render.console import make_console
from socialcrawl.system import plugins

MODULE = '''
"""Estimators and strategies of a package of somebody else."""

import numpy as np


class Late:
    """The row discovered last is the best."""

    def __init__(self, seed, factor=1.0):
        self.seed, self.factor = seed, factor

    def score(self, graph, rows, n):
        return rows * self.factor


class Learner(Late):
    def __init__(self, seed):
        super().__init__(seed)
        self.lessons = []

    def learn(self, x, y):
        self.lessons.append((x.shape, y.tolist()))


class Last:
    """The nodes discovered last."""

    def pick(self, frontier, size, n):
        rows, scores = frontier.list_all(n)
        return rows[::-1][:size], scores[::-1][:size]


class NoScore:
    pass


class WrongScore:
    def score(self, graph, rows):
        return rows


class Picky:
    def __init__(self):
        raise RuntimeError("no model here,\\nsorry")

    def score(self, graph, rows, n):
        return rows


Needy = Late(1)
'''


@pytest.fixture
def others(tmp_path, monkeypatch):
    """A package of somebody else on the path: estimators `late`, `learner` and broken ones, strategy `last`."""
    broken = [
        "gone = absent:Late",
        "moved = others_work:Away",
        "two = others_work:Late",
        "no-class = others_work:Needy",
    ]
    wrong = ["no-score = others_work:NoScore", "wrong-score = others_work:WrongScore", "picky = others_work:Picky"]
    found = ["late = others_work:Late", "learner = others_work:Learner"]
    groups = {"estimators": [*found, *broken, *wrong], "strategies": ["last = others_work:Last"]}
    install_package(tmp_path / "one", "others-work", groups, others_work=MODULE)
    install_package(tmp_path / "two", "more-work", {"estimators": ["two = others_work:Late"]})
    plugins._find_entries.cache_clear()
    monkeypatch.syspath_prepend(str(tmp_path / "one"))
    monkeypatch.syspath_prepend(str(tmp_path / "two"))
    yield
    plugins._find_entries.cache_clear()
    sys.modules.pop("others_work", None)


def grown():
    """A graph with a seed and three nodes in the frontier, in rows 1 to 3."""
    graph = CrawlGraph()
    graph.seed(Node(0))
    graph.add(Node(0), 2.0, np.array([1, 2, 3]), np.array([1.0, 2.0, 0.0]))
    return graph


def around(score, **methods):
    """An estimator of others with this method `score`."""
    return AddedEstimator("mine", type("Mine", (), {"score": score, **methods})())


def test_an_added_estimator_and_strategy_steer_and_take_their_options(others):
    crawl = {
        "estimator": "late", "estimator_options": {"factor": -1.0}, "strategy": "last", "shadows": ["others_work:Late"]
    }  # fmt: skip
    settings = check_settings({"name": "a", "seed": 5, "topic": {"keywords": [TOPIC]}, "crawl": crawl}, "test")
    estimator, strategy = choose_policy(settings)
    assert (estimator.made.seed, estimator.made.factor) == (5, -1.0)
    graph = grown()
    assert estimator.score(graph, graph.frontier(), 0).tolist() == [-1.0, -2.0, -3.0]
    assert isinstance(strategy, AddedStrategy)
    (shadow,) = make_shadows(settings).values()
    assert (type(shadow.made).__name__, shadow.made.seed, shadow.made.factor) == ("Late", 5, 1.0)


def test_a_replay_takes_an_added_estimator_and_strategy_by_name_or_path(others):
    graph, seeds = known(random_world(40, 4, 3)), [0, 1]
    by = {
        (one, other): simulate(graph, seeds, ReplaySetup(one, 10, strategy=other)).steps.tolist()
        for one in ("bfs", "late", "others_work:Late")
        for other in ("greedy", "last", "others_work:Last")
    }
    assert (
        by["late", "greedy"] == by["others_work:Late", "greedy"] == by["bfs", "last"] == by["bfs", "others_work:Last"]
    )
    assert by["late", "greedy"] != by["bfs", "greedy"]


def test_shells_complete_the_names_of_added_estimators_and_strategies(others):
    assert {"late", "learner", "hybrid-sum"} <= set(offer_estimators()["autocompletion"](""))
    assert offer("greedy", "socialcrawl.strategies")["autocompletion"]("la") == ["last"]


def test_a_hybrid_may_start_with_an_added_estimator(others):
    hybrid = make_estimator("hybrid-sum", seed=1, start="late", switch_after=1)
    graph = grown()
    assert hybrid.score(graph, graph.frontier(), 0).tolist() == [1.0, 2.0, 3.0]
    assert not hybrid.score(graph, graph.frontier(), 1).any()


def test_an_added_estimator_learns_row_by_row_and_only_if_it_can(others):
    learner, other = make_estimator("learner", seed=1), make_estimator("late", seed=1)
    assert (learner.learns(), other.learns()) == (True, False)
    learner.learn(np.zeros((3, len(COLUMNS))), np.array([1.0, 2.0, 3.0]))
    assert learner.made.lessons == [((1, len(COLUMNS)), [1.0]), ((1, len(COLUMNS)), [2.0]), ((1, len(COLUMNS)), [3.0])]
    assert not around(lambda self, graph, rows, n: rows, learn=Estimator.learn).learns()


def test_only_an_estimator_that_follows_fetched_nodes_is_told_of_each_in_turn():
    told = []
    score = lambda self, graph, rows, n: rows  # noqa: E731
    plain = around(score)
    follower = around(
        score,
        sow=lambda self, graph, rows: told.append(rows.tolist()),
        note_fetched=lambda self, graph, row: told.append(row),
    )
    assert (plain.is_sequential(), follower.is_sequential()) == (False, True)
    for one in (plain, follower):
        one.sow(grown(), np.array([0]))
        one.note_fetched(grown(), 0)
    assert told == [[0], 0]


def test_terms_of_an_added_estimator_rank_as_its_scores_do():
    class Near(Estimator):
        def score(self, graph, rows, n):
            return self.get_terms(n).combine(graph.columns(("e_sum", "n_sum"), rows))

        def get_terms(self, n):
            return ScoreTerms(self, (2.0, -1.0), 0.5, lambda graph, rows: graph.columns(("e_sum", "n_sum"), rows))

    graph = grown()
    terms = AddedEstimator("near", Near()).get_terms(3)
    assert terms.combine(terms.values(graph, graph.frontier())).tolist() == [0.5, 2.5, -1.5]
    assert AddedEstimator("near", Near()).score(graph, graph.frontier(), 3).tolist() == [0.5, 2.5, -1.5]


def test_what_is_no_number_is_the_lowest_score():
    graph = grown()
    scores = around(lambda self, graph, rows, n: [np.nan, 1, np.inf]).score(graph, graph.frontier(), 0)
    assert scores.tolist() == [LOWEST, 1.0, LOWEST]


def test_scores_of_which_none_is_finite_are_warned_of_once():
    graph, one = grown(), around(lambda self, graph, rows, n: np.full(len(rows), np.nan))
    assert one.score(graph, np.empty(0, np.int64), 0).tolist() == []
    with pytest.warns(RuntimeWarning, match="After 4 steps the estimator 'mine' returned no finite score for any of 3"):
        assert one.score(graph, graph.frontier(), 4).tolist() == [LOWEST] * 3
    with warnings.catch_warnings(action="error"):
        one.score(graph, graph.frontier(), 5)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("lern", "has a method lern that is never called. Did you mean learn(x, y)? If not, rename it to _lern"),
        ("note_fetchd", "has a method note_fetchd that is never called. Did you mean note_fetched(graph, row)?"),
        ("learn", ""),
        ("learns", ""),
        ("_lern", ""),
        ("show", ""),
    ],
)
def test_a_misspelt_optional_method_is_refused_with_the_nearest_name(name, fault):
    class Plain:
        def score(self, graph, rows, n):
            return rows

    class Mine(Plain):
        pass

    setattr(Plain, name, lambda self, *given: None)
    found = find_estimator_fault("mine", Mine)
    assert found.startswith(fault)
    assert bool(found) == bool(fault)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1.0, 2.0], "returned from score a list of shape (2,), where 3 numbers are needed"),
        (np.zeros((3, 1)), "a ndarray of shape (3, 1), where 3 numbers"),
        (None, "a NoneType of shape (), where 3 numbers"),
        (["a", "b", "c"], "a list of shape (3,), where 3 numbers"),
    ],
)
def test_scores_of_another_shape_are_refused_in_a_sentence(given, said):
    graph = grown()
    with pytest.raises(PluginError) as error:
        around(lambda self, graph, rows, n: given).score(graph, graph.frontier(), 0)
    assert said in str(error.value)
    assert "the estimator 'mine'" in str(error.value)


def test_what_an_added_estimator_raises_names_it_and_the_method():
    def fail(self, *given):
        raise KeyError("depht")

    place = rf"test_added_estimators\.py, line {fail.__code__.co_firstlineno + 1}"
    graph, one = grown(), around(fail, learn=fail, sow=fail, note_fetched=fail, get_terms=fail)
    for method, given in {
        "score": (graph, graph.frontier(), 0),
        "get_terms": (0,),
        "sow": (graph, graph.frontier()),
        "note_fetched": (graph, 0),
        "learn": (np.zeros((1, 8)), np.zeros(1)),
    }.items():
        with pytest.raises(PluginError, match=rf"'mine' failed in {method}: KeyError: 'depht' \({place}\)\."):
            getattr(one, method)(*given)


def test_an_unknown_column_is_named_with_the_nearest_one_and_the_line_that_asks():
    one, graph = around(lambda self, graph, rows, n: graph.columns(("depth", "link"), rows)), grown()
    said = (
        r"ValueError: Unknown column 'link'\. Did you mean 'links'\?.*n_avg.* \(test_added_estimators\.py, line \d+\)"
    )
    with pytest.raises(PluginError, match=said):
        one.score(graph, graph.frontier(), 0)


def test_a_class_that_only_inherits_score_is_refused(others):
    class Misspelt(Estimator):
        def scores(self, graph, rows, n):
            return rows

    fault = "does not define score(graph, rows, n)"
    assert find_estimator_fault("mine", Misspelt) == fault
    with pytest.raises(NotImplementedError, match="Misspelt does not define score"):
        Misspelt().score(grown(), np.array([1]), 0)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        (3, "returned from get_terms neither None nor ScoreTerms"),
        (ScoreTerms(None, (), 0.0, None), "neither None nor ScoreTerms with weights"),
        (ScoreTerms(None, (1.0,), 0.0, lambda graph, rows: rows), "a ndarray of shape (3,), where 1 x 3 numbers"),
        (
            ScoreTerms(None, (1.0,), 0.0, lambda graph, rows: [[1, np.nan, 2]]),
            "values of get_terms that are not finite",
        ),
        (ScoreTerms(None, (1.0,), 0.0, lambda graph, rows: rows / 0), "FloatingPointError"),
    ],
)
def test_terms_that_are_none_are_refused_in_a_sentence(terms, said):
    graph = grown()

    def read():
        found = around(lambda self, graph, rows, n: rows, get_terms=lambda self, n: terms).get_terms(0)
        return found.values(graph, graph.frontier())

    with pytest.raises(PluginError) as error, np.errstate(all="raise"):
        read()
    assert said in str(error.value)


def test_terms_whose_weights_have_left_the_numbers_are_left_to_the_scores():
    diverged = ScoreTerms(None, (np.inf,), 0.0, lambda graph, rows: rows[None])
    assert around(lambda self, graph, rows, n: rows, get_terms=lambda self, n: diverged).get_terms(0) is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gone", "'gone' that the package 'others-work' adds (entry point 'absent:Late' of socialcrawl.estimators) "),
        ("gone", " cannot be loaded: ModuleNotFoundError: No module named 'absent'. Repair or uninstall that package."),
        ("moved", "cannot be loaded: AttributeError: module 'others_work' has no attribute 'Away'. Repair"),
        ("two", "is added by the package 'more-work' and the package 'others-work'. Uninstall all but one of them."),
        ("no-class", "adds (entry point 'others_work:Needy' of socialcrawl.estimators) is no class but a Late."),
        ("no-score", "has no method score(graph, rows, n)."),
        ("wrong-score", "has a method score that cannot be called as score(graph, rows, n): too many positional"),
        ("picky", "the estimator 'picky' cannot be made: RuntimeError: no model here, sorry."),
        ("others_work:Picky", "the estimator 'others_work:Picky' cannot be made: RuntimeError"),
        ("others_work:Absent", "The estimator 'others_work:Absent' cannot be loaded: AttributeError: module"),
        ("others_work:Lat", "module 'others_work' has no attribute 'Lat'. Did you mean 'Late'?"),
        ("absent:Late", ") is called 'absent'."),
        ("os:system", "The estimator 'os:system' is no class but a builtin_function_or_method."),
        ("subprocess:Popen", "The estimator 'subprocess:Popen' has no method score(graph, rows, n)."),
        ("lat", "Unknown estimator 'lat'. Did you mean 'late'?"),
        ("others work:Late", "Unknown estimator 'others work:Late'."),
    ],
)  # fmt: skip
def test_a_class_that_is_no_estimator_is_refused_in_a_sentence(others, name, said):
    with pytest.raises(SettingsError) as error:
        make_estimator(name, seed=1)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "lost",
            "Unknown strategy 'lost'. Did you mean 'last'? Choose one of: greedy, altered-greedy, proportional, last",
        ),
        ("others_work:Late", "The strategy 'others_work:Late' has no method pick(frontier, size, n)."),
        ("others_work:Picky", "has no method pick"),
    ],
)
def test_a_class_that_is_no_strategy_is_refused_in_a_sentence(others, name, said):
    with pytest.raises(SettingsError) as error:
        make_strategy(name, seed=1)
    assert said in str(error.value)


def test_reading_a_campaign_file_imports_no_class_that_it_names(others):
    check_settings(
        {"name": "a", "topic": {"keywords": [TOPIC]}, "crawl": {"estimator": "late", "strategy": "others_work:Last"}},
        "a",
    )
    assert "others_work" not in sys.modules


def test_options_of_what_takes_none_are_refused_with_the_file():
    for key in ("estimator", "strategy"):
        given = {"name": "a", "topic": {"keywords": [TOPIC]}, "crawl": {f"{key}_options": {"a": 1}}}
        with pytest.raises(SettingsError, match=f"takes no {key}_options: remove them"):
            check_settings(given, "a.toml")


def test_an_option_that_a_class_does_not_take_is_refused_with_its_name(others):
    with pytest.raises(SettingsError, match=r"the estimator 'late' cannot be made: TypeError: .*'speed'"):
        make_estimator("late", seed=1, options={"speed": 3})


def test_a_class_beside_the_user_is_found_in_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "own_work.py").write_text(MODULE, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    assert make_estimator("own_work:Late", seed=2).made.seed == 2


def test_what_is_installed_is_listed_with_its_package_and_whether_it_loads(others, capsys):
    assert show_plugins(make_console(), as_json=True) == 1
    listed = {(row["group"], row["name"], row["value"]): row for row in json.loads(capsys.readouterr().out)["plugins"]}
    late = listed["socialcrawl.estimators", "late", "others_work:Late"]
    assert (late["package"], late["version"], late["problem"]) == ("others-work", "1.0", "")
    assert listed["socialcrawl.strategies", "last", "others_work:Last"]["problem"] == ""
    assert "No module named 'absent'" in listed["socialcrawl.estimators", "gone", "absent:Late"]["problem"]
    assert "is added by the package" in listed["socialcrawl.estimators", "two", "others_work:Late"]["problem"]
    assert sorted(name for (_, name, _), row in listed.items() if not row["problem"]) == [
        "last",
        "late",
        "learner",
        "picky",
    ]

    show_plugins(make_console(), as_json=False)
    said = capsys.readouterr().out
    assert re.search(r"late +others_work:Late +others-work 1\.0 +ok", said)
    assert re.search(r"gone +absent:Late +others-work 1\.0 +error", said)
    assert "gone: The estimator 'gone' that the package 'others-work' adds" in said
    assert "socialcrawl.platforms" not in said


def test_a_package_cannot_take_the_name_of_a_built_in_estimator(tmp_path, monkeypatch, capsys):
    install_package(tmp_path, "taker", {"estimators": ["bfs = others_work:Late"]}, others_work=MODULE)
    plugins._find_entries.cache_clear()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert type(make_estimator("bfs", seed=1)).__name__ == "BreadthFirst"
    show_plugins(make_console(), as_json=True)
    (row,) = json.loads(capsys.readouterr().out)["plugins"]
    assert row["problem"] == "The name 'bfs' belongs to socialcrawl: the package needs to choose another one."
    plugins._find_entries.cache_clear()


def test_where_nothing_is_installed_the_list_says_so(monkeypatch, capsys):
    monkeypatch.setattr(plugins, "_find_entries", lambda group: ())
    assert show_plugins(make_console(), as_json=False) == 0
    assert "No plug-ins are installed." in capsys.readouterr().out
    show_plugins(make_console(), as_json=True)
    assert json.loads(capsys.readouterr().out) == {"plugins": []}


def test_what_a_plug_in_prints_is_no_part_of_the_list(monkeypatch, capsys):
    loud = lambda self, load=None: print("hello") or []  # noqa: E731, T201
    monkeypatch.setattr(plugins.PluginGroup, "list_installed", loud)
    show_plugins(make_console(), as_json=True)
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {"plugins": []}
    assert "hello" in shown.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([], []), "returned 0 rows from pick: needed are 1 to 2, each once"),
        (([1, 1], [0, 0]), "returned 2 rows from pick: needed are 1 to 2, each once"),
        (([1, 2, 3], [0, 0, 0]), "returned 3 rows from pick"),
        (([0], [1.0]), "returned a row from pick that is not in the frontier"),
        (([99], [1.0]), "returned a row from pick that is not in the frontier"),
        (([-1], [1.0]), "returned a row from pick that is not in the frontier"),
        (([1], [1.0, 2.0]), "rows and scores that are not one integer and one number each"),
        (([1.5], [1.0]), "rows and scores that are not one integer and one number each"),
        (None, "returned from pick a NoneType, not (rows, scores)"),
        (3, "returned from pick a int, not (rows, scores)"),
        (([1], ["a"]), "not (rows, scores)"),
    ],
)
def test_picks_that_are_no_rows_of_the_frontier_are_refused_in_a_sentence(given, said):
    graph = grown()
    crawl = Collect(None, make_estimator("bfs", seed=1), None)
    crawl.ranking.graph = graph
    with pytest.raises(PluginError) as error:
        AddedStrategy("mine", type("Mine", (), {"pick": lambda *_: given})()).pick(crawl.ranking, 2, 0)
    assert said in str(error.value)
    assert "the strategy 'mine'" in str(error.value)
