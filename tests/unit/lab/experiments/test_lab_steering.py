"""The numbers of `lab steering` against numbers by hand and by scipy, and how often its intervals hold the truth."""

import json
import math
import re

import numpy as np
import pytest
from html_pages import check_page
from scipy.stats import rankdata, t, ttest_1samp, ttest_rel

from socialcrawl.engine.draws import make_generator
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.steering.board import Leaderboard, format_board, list_graph_rows, list_standings
from socialcrawl.lab.experiments.steering.leaderboard_page import draw_page
from socialcrawl.lab.experiments.steering.runs import SteeringOptions, list_graphs
from socialcrawl.lab.experiments.steering.standings import Entrants, make_standings, measure_curve, rank_rows


def entrants(graphs, *names, baseline="b", references=("a", "b")):
    return Entrants([f"g{place}" for place in range(graphs)], names, references, baseline)


def stand(values, *names, **more):
    """The standings by name; values[graph][estimator][set]."""
    values = np.array(values, float)
    return {one.estimator: one for one in make_standings(entrants(len(values), *names, **more), values)}


def test_the_measures_of_a_curve_are_its_mean_its_end_and_the_mean_of_its_first_100_steps():
    assert measure_curve(np.array([1.0, 3.0, 8.0])) == {"area": 4.0, "end": 8.0, "first": 4.0}
    long = np.arange(1.0, 301.0)
    assert measure_curve(long) == {"area": 150.5, "end": 300.0, "first": 50.5}


def test_ranks_begin_at_the_largest_and_equal_ones_share_the_mean_of_their_places():
    values = make_generator(1, "ranks", 0).integers(0, 4, (50, 6)).astype(float)
    assert (rank_rows(values) == rankdata(-values, axis=1)).all()
    assert rank_rows(np.array([[5.0, 7.0, 5.0]])).tolist() == [[2.5, 1.0, 2.5]]


def test_a_share_is_of_the_best_reference_of_each_graph_whoever_else_found_more():
    found = stand([[[2, 4], [1, 3], [6, 6]], [[10, 10], [20, 20], [10, 20]]], "a", "b", "new")
    # the means are 3, 2, 6 and 10, 20, 15: the best references are a (3) and b (20)
    assert found["a"].shares.tolist() == [1.0, 0.5]
    assert found["b"].shares.tolist() == pytest.approx([2 / 3, 1.0])
    assert found["new"].shares.tolist() == [2.0, 0.75]
    assert list(found) == ["new", "b", "a"], "the largest mean share first"
    assert [found[name].share for name in ("a", "b", "new")] == pytest.approx([0.75, 5 / 6, 1.375])
    assert [found[name].least for name in ("a", "b", "new")] == pytest.approx([0.5, 2 / 3, 0.75])
    assert [found[name].wins for name in ("a", "b", "new")] == [1, 1, 1]
    assert [found[name].rank for name in ("a", "b", "new")] == [2.5, 2.0, 1.5]


def test_who_finds_more_on_every_graph_has_the_larger_share_on_every_graph():
    values = make_generator(2, "dominance", 0).random((20, 3, 4))
    values[:, 2] = values[:, :2].max(axis=1) + 0.1
    found = stand(values, "a", "b", "new")
    assert (found["new"].shares > np.maximum(found["a"].shares, found["b"].shares)).all()


def by_hand(values, base, k):
    """The ratio to the baseline, its interval at 1 - 0.05 / k, and the p of it alone, by scipy."""
    logs = np.log(values.mean(axis=1) / base.mean(axis=1))
    half = t.ppf(1 - 0.025 / k, len(logs) - 1) * logs.std(ddof=1) / math.sqrt(len(logs))
    return np.exp([logs.mean(), logs.mean() - half, logs.mean() + half]), ttest_1samp(logs, 0).pvalue


def correct(p):
    """Holm's correction as its definition says: the i-th smallest of k times k - i, never below those before."""
    order, found, highest = sorted(range(len(p)), key=p.__getitem__), [0.0] * len(p), 0.0
    for i, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - i) * p[place]))
        found[place] = highest
    return found


def draw_values(draw, graphs, effects, sets=10, spread=None):
    """What each estimator finds; the last one is the baseline. Graphs differ more than estimators, sets less."""
    apart = 0.3 * draw.standard_normal((graphs, len(effects))) if spread is None else spread(draw, graphs, len(effects))
    own = np.concatenate([np.log(effects) + apart, np.zeros((graphs, 1))], axis=1)
    noise = 0.3 * draw.standard_normal((graphs, len(effects) + 1, sets)) + 0.3 * draw.standard_normal((graphs, 1, sets))
    return np.exp(draw.standard_normal((graphs, 1, 1)) + own[:, :, None] + noise)


def test_ratios_intervals_and_corrected_p_values_are_those_of_scipy_and_of_holms_definition():
    values = draw_values(make_generator(3, "ratios", 0), 7, [1.5, 1.1, 0.8])
    found = stand(values, "a", "c", "d", "b")
    expected = {name: by_hand(values[:, place], values[:, 3], 3) for place, name in enumerate("acd")}
    holm = dict(zip("acd", correct([p for _, p in expected.values()]), strict=True))
    for name, (ratio, _) in expected.items():
        one = found[name].against
        assert (one.value, one.low, one.high) == pytest.approx(tuple(ratio))
        assert one.p == pytest.approx(holm[name])
        assert one.graphs == 7
        assert one.p < 0.05 or one.low <= 1 <= one.high, "an interval without 1 has a small p"
    assert found["b"].against is None


def test_graphs_on_which_the_sets_of_seeds_show_a_difference_are_counted_by_corrected_paired_tests():
    values = draw_values(make_generator(4, "counts", 0), 6, [1.6, 1.0])
    found = stand(values, "a", "c", "b")
    p = [[ttest_rel(row[place], row[2]).pvalue for place in (0, 1)] for row in values]
    shown = np.array(correct(np.ravel(p).tolist())).reshape(6, 2) < 0.05
    more = values[:, :2].mean(axis=2) > values[:, [2]].mean(axis=2)
    assert shown.any()
    assert not shown.all()
    for place, name in enumerate("ac"):
        assert found[name].against.above == (shown & more)[:, place].sum()
        assert found[name].against.below == (shown & ~more)[:, place].sum()


def test_few_graphs_have_no_interval_and_few_sets_of_seeds_no_count():
    values = draw_values(make_generator(5, "few", 0), 4, [1.5])
    found = stand(values, "a", "b")["a"].against
    assert math.isnan(found.low)
    assert math.isnan(found.p)
    assert found.value > 1
    assert found.above is not None
    assert stand(values[:, :, :4], "a", "b")["a"].against.above is None


def test_who_finds_nothing_on_a_graph_has_the_ratio_0_and_who_is_the_same_has_1():
    values = draw_values(make_generator(6, "nothing", 0), 6, [1.5, 1.0])
    values[2, 0] = 0.0
    values[:, 1] = values[:, 2]
    found = stand(values, "a", "c", "b")
    assert found["a"].against.value == 0.0
    assert math.isnan(found["a"].against.low)
    assert found["a"].least == 0.0
    same = found["c"].against
    assert (same.value, same.low, same.high, same.p, same.above, same.below) == (1.0, 1.0, 1.0, 1.0, 0, 0)


def test_a_graph_on_which_nobody_finds_anything_counts_for_nobody():
    values = draw_values(make_generator(7, "empty", 0), 6, [1.5])
    usual = stand(values, "a", "b")
    found = stand(np.concatenate([values, np.zeros((1, 2, 10))]), "a", "b")
    assert [found["a"].share, found["a"].rank] == pytest.approx([usual["a"].share, usual["a"].rank])
    assert found["a"].against.graphs == 6
    assert found["a"].against.low == pytest.approx(usual["a"].against.low)
    assert math.isnan(found["a"].shares[6])


SPREADS = {
    "normal": lambda draw, graphs, k: 0.3 * draw.standard_normal((graphs, k)),
    "skewed": lambda draw, graphs, k: 0.3 * (draw.exponential(size=(graphs, k)) - 1),
    "outliers": lambda draw, graphs, k: (
        0.1 * (1 + draw.standard_normal((graphs, k))) - (draw.random((graphs, k)) < 0.1)
    ),
}
HELD = {"normal": (0.92, 0.98), "skewed": (0.86, 0.94), "outliers": (0.72, 0.93)}  # the page, give or take 3 %


@pytest.mark.parametrize("graphs", [5, 16])
@pytest.mark.parametrize("kind", SPREADS)
def test_all_intervals_hold_the_truth_at_once_as_often_as_the_page_says(kind, graphs):
    runs, held, alarms = 800, 0, 0
    for i in range(runs):
        draw = make_generator(1, f"coverage {kind} {graphs}", i)
        for truth in (1.2, 1.0):
            values = draw_values(draw, graphs, [truth] * 5, spread=SPREADS[kind])
            found = [one.against for one in stand(values, *"acdefb").values() if one.against]
            held += all(one.low <= truth <= one.high for one in found) if truth != 1 else 0
            alarms += any(one.p < 0.05 for one in found) if truth == 1 else 0
    low, high = HELD[kind]
    assert low <= held / runs <= high
    assert 1 - high <= alarms / runs <= 1 - low, "where no estimator differs, Holm's method errs as often"


def board(values, names, references, late=None):
    """A leaderboard by hand: the same values by all measures."""
    given = Entrants([f"g{place}" for place in range(len(values))], names, references, names[0])
    facts = [
        {"graph": g, "nodes": 90, "links": 800, "positive": 40, "seeds": 10, "steps": 60, "sha256": "ab" * 32}
        for g in given.graphs
    ]
    about = [
        {"estimator": name, "reference": name in references, "added": ":" in name, "package": "", "code": "c0de"}
        for name in names
    ]
    standings = {measure: make_standings(given, np.array(values, float)) for measure in ("area", "end", "first")}
    return Leaderboard(
        given,
        standings,
        facts,
        about,
        1,
        3,
        1000,
        "socialcrawl lab steering",
        late or {},
        "2026-01-02T03:04:05.000000Z",
    )


OWN = "socialcrawl.crawls.collect.estimators.baseline:BreadthFirst"  # a class that is there, named by its path
ODD = ["b", "a", "my<b>:Class"]
VALUES = [[[2, 4, 3], [1, 3, 2], [6, 6, 6]], [[10, 10, 10], [20, 20, 20], [0, 0, 0]]]


def test_the_page_needs_nothing_but_itself_and_shows_the_numbers_of_the_standings():
    given = board(VALUES, ODD, ["b", "a"], {"b": ["g1"]})
    source = draw_page(given)
    page = check_page(source)
    assert draw_page(given) == source
    table = page.tables["estimators by their mean share, area"]
    assert table[1][:7] == ["1", "my<b>:Class", "1.00", "0.00", "g1", "1 of 2", "2.0"]
    assert table[2][:8] == ["2", "a", "0.83", "0.67", "g0", "1 of 2", "2.0", "1.15"]
    assert table[3][7:] == ["-", "-", "-"], "the baseline is not compared with itself"
    assert page.tables["share by graph, area"][1:] == [["g0", "2.00", "0.67", "1.00"], ["g1", "0.00", "1.00", "0.50"]]
    assert page.tables["the graphs"][1] == ["g0", "90", "800", "40", "10", "60"]
    limits = page.sections["limits"]
    for said in (
        "Fewer than 5 graphs",
        "Fewer than 5 sets",
        "b never left the estimator that it starts with on 1 graph",
    ):
        assert said in limits
    assert "fewer than 100 steps on g0, g1" in page.sections["first"]
    assert "added by you" in page.sections["repeat"]
    defined = [text for tag, text in re.findall(r"<(dt)>(.*?)</dt>", source)]
    assert all(name in " ".join(defined) for name in table[0] if name and name != "estimator")


def test_the_terminal_and_the_tables_show_the_same_numbers():
    given = board(VALUES, ODD, ["b", "a"])
    lines = list(format_board(given))
    assert lines[2].split() == ["my<b>:Class", "1.00", "0.00", "1", "of", "2", "2.0", "1.00", "1.00", "0.00"]
    rows = list_standings(given, "end")
    assert [row["estimator"] for row in rows] == ["my<b>:Class", "a", "b"]
    assert [row["reference"] for row in rows] == [False, True, True]
    assert rows[1]["share"] == pytest.approx((2 / 3 + 1) / 2)
    assert rows[1]["ratio"] == pytest.approx(math.sqrt(2 / 3 * 2))
    cells = {(row["graph"], row["estimator"]): row["mean"] for row in list_graph_rows(given) if row["measure"] == "end"}
    assert cells == {
        ("g0", "b"): 3, ("g0", "a"): 2, ("g0", "my<b>:Class"): 6, ("g1", "b"): 10, ("g1", "a"): 20,
        ("g1", "my<b>:Class"): 0,
    }  # fmt: skip


def test_a_measure_by_which_nobody_found_anything_is_said_and_has_no_picture():
    nothing = board(np.zeros((2, 2, 3)), ["b", "a"], ["b", "a"])
    page = check_page(draw_page(nothing))
    assert not [tag for tag, _ in page.tags if tag == "svg"]
    assert "No reference estimator found anything by area on g0, g1" in page.sections["limits"]
    assert "nan" not in page.text
    assert json.dumps(nothing.notes)


def test_all_stands_for_adaptive_and_those_of_the_paper_and_the_baseline_is_always_there(tmp_path):
    every = SteeringOptions([tmp_path / "G"], ["all", OWN], baseline="bfs")
    assert every.names[0] == "adaptive"
    assert every.names[-1] == OWN
    assert "nr" not in every.names
    assert {"opic", "lnh-wide", "hybrid-max", "random"} < set(every.names)
    assert every.names.count("bfs") == 1
    assert not {"adaptive", OWN} & set(every.references)
    assert SteeringOptions([tmp_path / "G"], ["adaptive"]).names == ["adaptive", "hybrid-sum"]
    assert SteeringOptions([tmp_path / "G"], [], baseline="adaptive").references == ["adaptive"]


def test_what_cannot_be_compared_is_refused(tmp_path):
    for given, why in (
        (([],), "give graphs with --graph, or a folder"),
        (([tmp_path / "a/G.npz", tmp_path / "b/G.npz"],), "Two graphs are called G"),
        (([tmp_path / "a/G.npz", tmp_path / "a/G.npz"],), "is given twice; give it once"),
        (([tmp_path / "G"], ["nh-ne-sun"]), "Did you mean 'nh-ne-sum'"),
        (([tmp_path / "G"], ["bfs"], "hybrid"), "Unknown estimator 'hybrid'"),
    ):
        with pytest.raises(SettingsError, match=why):
            SteeringOptions(*given)
    with pytest.raises(SettingsError, match="There is no graph in"):
        list_graphs(tmp_path)
    with pytest.raises(SettingsError, match="There is no folder"):
        list_graphs(tmp_path / "none")
