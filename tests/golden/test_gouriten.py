"""The paper's experiments: their arithmetic against other libraries, their crawls against dumb loops, their files."""

import xml.etree.ElementTree as ET

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet
from scipy import stats
from sklearn.linear_model import LinearRegression
from typer.testing import CliRunner

from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.graph.relevance import Topic
from socialcrawl.lab import measures
from socialcrawl.lab.experiments.gouriten import features, precision
from socialcrawl.lab.experiments.gouriten.commands import CRAWLS, TABLES, gouriten_app
from socialcrawl.lab.experiments.gouriten.experiment_graphs import GraphOptions, StoredGraph, make_graphs, rescore_graph
from socialcrawl.lab.experiments.gouriten.replays import (
    CrawlPlan,
    Curves,
    ReplayOptions,
    compare_pairs,
    count_reachable,
    plan_crawls,
    replay_crawls,
    summarize_curves,
    summarize_shortfalls,
)
from socialcrawl.lab.experiments.gouriten.scorings import SCORINGS, replay_scorings, summarize_last_steps
from socialcrawl.lab.experiments.gouriten.setups import (
    EXPERIMENTS,
    Experiment,
    SeedDraw,
    choose_experiment,
    parse_variant,
)
from socialcrawl.lab.generators.twitterlike import generate_twitter_like
from socialcrawl.lab.graphs import build_mention_graph, read, write
from socialcrawl.lab.post_table import read_posts
from socialcrawl.lab.result_tables import join_tables
from socialcrawl.lab.simulation import ReplaySetup, simulate

NUMBERS = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40).map(np.array)
TINY = ["--users", "250", "--links", "1500", "--topic", "happy", "--seed-sets", "2", "--steps", "25", "--jobs", "1"]
FEW = {"fig2": ["refresh_rate=2", "refresh_rate=10"], "start": ["hybrid-sum start=bfs", "hybrid-sum switch_after=3"]}


def known(seed, size=30, links=90):
    """A random graph whose weights and values are no two alike, a third of them zero."""
    rng = np.random.default_rng(seed)
    pairs = {(int(u), int(v)) for u, v in rng.integers(0, size, (links, 2)) if u != v}
    lists = [sorted(v for w, v in pairs if w == u) for u in range(size)]
    ends = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    alpha = rng.random(len(pairs)) * (rng.random(len(pairs)) < 0.7)
    beta = rng.random(size) * (rng.random(size) < 0.7)
    return KnownGraph(ends, np.array([v for row in lists for v in row], np.int64), alpha, beta)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world") / "happy"
    write(generate_twitter_like(400, 2000, seed=3), folder)
    return StoredGraph("happy", "mentions", folder)


@pytest.fixture
def work(tmp_path):
    return ReplayOptions(tmp_path / "replays", 1, seed=5)


# --- arithmetic


@given(NUMBERS, st.integers(1, 50))
@settings(deadline=None)
def test_the_rolling_mean_is_that_of_the_last_values(values, window):
    slow = [values[max(0, end - window) : end].mean() for end in range(1, len(values) + 1)]
    assert measures.compute_rolling_mean(values, window) == pytest.approx(slow, abs=1e-9)


def test_a_mean_leaves_out_what_is_unknown_and_has_the_usual_standard_error():
    values = np.array([1.0, np.nan, 4.0, 2.5])
    found = measures.compute_mean(values)
    assert found.mean == pytest.approx(2.5)
    assert found.error == pytest.approx(stats.sem([1.0, 4.0, 2.5]))
    assert np.isnan(measures.compute_mean(values[:1]).error)
    assert np.isnan(measures.compute_mean(values[1:2]).mean)
    low, high = stats.t.interval(0.95, 2, loc=2.5, scale=found.error)
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))
    assert measures.make_cells("x", found) == pytest.approx(
        {"x": 2.5, "x_error": found.error, "x_low": low, "x_high": high}
    )
    assert np.isnan(measures.compute_mean(values[:1]).half)


def test_pairs_are_tested_set_by_set_and_corrected_for_all_pairs():
    x = np.array([0.5, 0.7, 0.4, 0.9, 0.6])
    groups = {"a": x, "b": x - np.array([0.1, 0.12, 0.09, 0.11, 0.1]), "c": x[::-1].copy()}
    found = measures.compare_groups("d", groups)
    assert list(found) == [("a", "b"), ("a", "c"), ("b", "c")]
    alone = {(one, other): stats.ttest_rel(groups[one], groups[other]).pvalue for one, other in found}
    assert {pair: told["d_p"] for pair, told in found.items()} == pytest.approx(alone)
    assert found["a", "b"]["d_holm"] == pytest.approx(3 * alone["a", "b"]), "the least of three"
    assert found["a", "b"]["d_holm"] < 0.05 < found["a", "c"]["d_holm"]
    assert found["a", "b"]["d_low"] > 0 > found["a", "c"]["d_low"]


def test_a_share_of_nothing_is_unknown():
    shares = measures.compute_share(np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 2.0]))
    assert np.isnan(shares[0])
    assert shares[1:].tolist() == [0.5, 1.5]


@given(st.integers(0, 10_000), st.integers(3, 60), st.floats(1e-3, 1e3))
@settings(deadline=None)
def test_correlations_are_those_of_scipy(seed, size, scale):
    rng = np.random.default_rng(seed)
    x, y = scale * rng.random(size) ** 4, rng.random(size)
    assert measures.compute_correlation(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)


def test_what_does_not_vary_has_no_correlation():
    assert np.isnan(measures.compute_correlation(np.full(7, 0.1), np.arange(7.0)))
    assert np.isnan(measures.compute_r_squared(np.arange(7.0)[None], np.full(7, 0.1)))


@given(st.integers(0, 10_000), st.integers(5, 60), st.floats(1e-3, 1e3))
@settings(deadline=None)
def test_r_squared_is_that_of_scikit_learn(seed, size, scale):
    rng = np.random.default_rng(seed)
    x, y = rng.random((3, size)) * [[1.0], [scale], [1.0]], rng.random(size)
    assert measures.compute_r_squared(x, y) == pytest.approx(LinearRegression().fit(x.T, y).score(x.T, y), abs=1e-8)


def test_r_squared_bears_features_that_depend_on_each_other_or_do_not_vary():
    rng = np.random.default_rng(4)
    one, y = rng.random(30), rng.random(30)
    alone = LinearRegression().fit(one[:, None], y).score(one[:, None], y)
    assert measures.compute_r_squared(np.stack([one, 3 * one, np.ones(30)]), y) == pytest.approx(alone, abs=1e-9)


@given(st.integers(1, 300_000))
@settings(deadline=None)
def test_the_points_of_a_curve_rise_to_the_last_step_through_all_rounds(steps):
    at = measures.choose_points(steps)
    assert (np.diff(at) > 0).all()
    assert at[-1] == steps
    assert at[0] == 1
    assert set(measures.choose_round_steps(steps).tolist()) <= set(at.tolist())
    assert len(at) <= 280


# --- tables 1 to 3


def test_features_of_both_sides_are_what_loops_over_all_links_give():
    graph = known(1)
    links = [
        (u, v, a) for u in range(graph.size) for v, a in zip(*(x.tolist() for x in graph.list_links(u)), strict=True)
    ]
    for kind in ("in", "out"):
        found = features.compute_sides(graph, kind)
        for node in range(graph.size):
            mine = [(u if kind == "in" else v, a) for u, v, a in links if (v if kind == "in" else u) == node]
            terms = [[graph.beta[other] for other, _ in mine], [a for _, a in mine]]
            terms.append([n * e for n, e in zip(*terms, strict=True)])
            slow = [sum(some) for some in terms] + [max(some, default=0.0) for some in terms]
            assert found.values[:, node] == pytest.approx(slow)
            assert found.links[node] == len(mine)


def test_links_are_looked_at_in_pieces_without_a_difference(monkeypatch):
    graph = known(2)
    whole = features.compute_sides(graph, "out").values
    monkeypatch.setattr(features, "CHUNK", 7)
    assert features.compute_sides(graph, "out").values == pytest.approx(whole)


def test_tables_2_and_3_are_those_of_numpy_and_scikit_learn_over_the_same_nodes(tmp_path):
    graph = known(3)
    write(graph, tmp_path / "g")
    there = [StoredGraph("g", "", tmp_path / "g")]
    correlated, fitted = features.compute_correlations(there), features.compute_fits(there)
    for kind in ("in", "out"):
        links, values = features.compute_sides(graph, kind)
        for over in ("all", "linked"):
            some = links >= (over == "linked")
            pick = (correlated["type"] == kind) & (correlated["over"] == over)
            slow = [np.corrcoef(one[some], graph.beta[some])[0, 1] for one in values]
            assert correlated["feature"][pick].tolist() == ["n_sum", "e_sum", "ne_sum", "n_max", "e_max", "ne_max"]
            assert correlated["pearson"][pick] == pytest.approx(slow)
            for h, three in (("sum", values[:3]), ("max", values[3:])):
                here = (fitted["type"] == kind) & (fitted["over"] == over) & (fitted["h"] == h)
                x, y = three[:, some].T, graph.beta[some]
                assert fitted["r2"][here] == pytest.approx([LinearRegression().fit(x, y).score(x, y)])
                assert fitted["nodes"][here].tolist() == [some.sum()]


def test_table_1_counts_what_is_not_zero(tmp_path):
    graph = known(4)
    write(graph, tmp_path / "g")
    found = features.count_statistics([StoredGraph("g", "", tmp_path / "g")])
    counts = sum(b > 0 for b in graph.beta.tolist()), sum(a > 0 for a in graph.alpha.tolist())
    assert (found["value_nodes"][0], found["weight_links"][0]) == counts
    assert found["value_share"][0] == pytest.approx(counts[0] / 30)


# --- set-ups


def test_the_set_ups_of_the_paper_are_the_defaults():
    rich, many = SeedDraw(10, 1000, 1.5), SeedDraw(100, 50, 0.0)
    assert (EXPERIMENTS["fig1"].draw, EXPERIMENTS["fig1"].steps) == (rich, 5_000)
    assert (EXPERIMENTS["fig2"].draw, EXPERIMENTS["fig2"].steps) == (rich, 100_000)
    assert [parse_variant(EXPERIMENTS["fig2"], v, 9, 1).refresh_rate for v in EXPERIMENTS["fig2"].variants] == [
        2,
        10,
        100,
        500,
    ]
    for name in ("fig4", "fig5", "count"):
        assert (EXPERIMENTS[name].draw, EXPERIMENTS[name].steps) == (many, 100_000)
        assert len(EXPERIMENTS[name].variants) == 2 + 9 + 3 + 3 + 4  # baselines, NH, LNH, hybrids, OPIC


def test_every_variant_of_every_experiment_is_a_set_up():
    for experiment in EXPERIMENTS.values():
        made = [parse_variant(experiment, variant, 10, 1) for variant in (experiment.reference, *experiment.variants)]
        assert len(set(made)) == len(made)
        for one in made:
            assert one.estimator == "oracle" or make_estimator(one.estimator, seed=1, start=one.start)


def test_a_variant_is_an_estimator_and_fields_of_a_set_up():
    made = parse_variant(EXPERIMENTS["start"], "hybrid-sum start=bfs switch_after=30", 77, 4)
    assert made == ReplaySetup("hybrid-sum", 77, seed=4, start="bfs", switch_after=30)
    assert parse_variant(EXPERIMENTS["fig1"], "q=0.5 zeta=1", 9, 4) == ReplaySetup(
        "oracle", 9, strategy="altered-greedy", seed=4, q=0.5, zeta=1.0
    )


@pytest.mark.parametrize("variant", ["refresh_rate=often", "speed=3", "seed=3", "refresh_rate=3", ""])
def test_a_variant_that_is_none_is_refused_with_a_sentence(variant):
    with pytest.raises(SettingsError, match=r"\w"):
        parse_variant(EXPERIMENTS["fig4"], variant, 9, 1)


@given(st.integers(0, 1000), st.integers(0, 29), st.integers(1, 40))
@settings(deadline=None)
def test_what_can_be_reached_is_what_networkx_finds(seed, start, enough):
    graph = known(seed, links=45)
    whole = nx.DiGraph([(u, int(v)) for u in range(graph.size) for v in graph.list_links(u)[0]])
    whole.add_nodes_from(range(graph.size))
    far = len(nx.descendants(whole, start) | {start}) - 1
    found = count_reachable(graph, [start], enough)
    assert found == far if far < enough else found >= enough
    assert count_reachable(graph, [start], 10**9) == far


def test_a_plan_takes_a_tenth_of_the_rich_unless_told_otherwise(world, work):
    rich = int((world.open().beta > 0).sum())
    usual = plan_crawls(world, SeedDraw(3, 50, 0.0), 10, work)
    assert rich // 10 < 50
    assert [len(seeds) for seeds in usual.sets] == [rich // 10] * 3
    insisting = plan_crawls(world, SeedDraw(3, 40, 0.0), 10, ReplayOptions(work.out, insist=True))
    assert [len(seeds) for seeds in insisting.sets] == [40] * 3
    assert all((world.open().beta[seeds] > 0).all() for seeds in usual.sets + insisting.sets)


def test_a_budget_beyond_the_graph_is_cut_to_what_some_set_can_reach(world, work):
    cut = plan_crawls(world, SeedDraw(3, 10, 0.0), 10**6, work)
    assert cut.budget == max(count_reachable(world.open(), seeds, 10**9) for seeds in cut.sets)
    assert plan_crawls(world, SeedDraw(3, 10, 0.0), 7, work).budget == 7


def test_seeds_that_lead_nowhere_are_refused(tmp_path, work):
    write(KnownGraph(np.zeros(13, np.int64), np.empty(0, np.int64), np.empty(0), np.ones(12)), tmp_path / "g")
    with pytest.raises(SettingsError, match="nothing to crawl"):
        plan_crawls(StoredGraph("g", "", tmp_path / "g"), SeedDraw(1, 1, 0.0), 5, work)


# --- crawls


def small(*variants, reference="oracle", objective="sum"):
    return Experiment("", reference, variants, SeedDraw(3, 5, 0.0), 40, {}, objective)


@pytest.mark.parametrize("objective", ["sum", "count"])
def test_curves_are_those_of_the_same_replays_and_shares_are_taken_set_by_set(world, work, objective):
    experiment = small("bfs", "nh-ne-sum", "random", objective=objective)
    there = plan_crawls(world, experiment.draw, 40, work)
    curves = Curves(replay_crawls(experiment, there, work))
    for number, seeds in enumerate(there.sets):
        best = simulate(world.open(), seeds, ReplaySetup("oracle", 40, objective=objective)).curve
        for name in ("oracle", *experiment.variants):
            plain = simulate(world.open(), seeds, ReplaySetup(name, 40, objective=objective, seed=5 + number)).curve
            at = curves.get_steps("happy") - 1
            assert curves.get_column("happy", name, "score")[number] == pytest.approx(plain[at])
            assert curves.get_column("happy", name, "relative")[number] == pytest.approx(
                (plain / best)[at], nan_ok=True
            )


def test_an_empty_frontier_holds_the_curve(world, work):
    graph = world.open()
    experiment = small("bfs")
    there = CrawlPlan(world, [[int(np.argmax(graph.beta))]], graph.size + 50)
    curves = Curves(replay_crawls(experiment, there, work))
    reached = count_reachable(graph, there.sets[0], 10**9)
    curve, steps = curves.get_column("happy", "bfs", "score")[0], curves.get_steps("happy")
    assert steps[-1] > reached
    assert set(curve[steps >= reached].tolist()) == {curve[-1]}
    assert curves.get_at("happy", "bfs", "relative", int(steps[-1]))[0] == pytest.approx(1.0)


def test_replays_that_are_there_are_not_made_again(world, work):
    experiment = small("bfs")
    there = plan_crawls(world, experiment.draw, 40, work)
    first = replay_crawls(experiment, there, work)
    stamps = {path: path.stat().st_mtime_ns for path in work.out.iterdir()}
    counted = replay_crawls(small("bfs", objective="count"), there, work)
    assert {path: path.stat().st_mtime_ns for path in work.out.iterdir()} == stamps
    assert len(stamps) == 6
    assert (counted["score"] <= first["score"] + 1e-9).all()  # f of a positive count is at least 1


def test_means_and_paired_differences_are_those_of_a_calculation_by_hand():
    rows = {
        "graph": np.full(8, "g"),
        "variant": np.repeat(["one", "other"], 4),
        "set": np.array([0, 0, 1, 1] * 2),
        "step": np.array([1, 2] * 4),
        "score": np.array([1.0, 2, 3, 6, 1, 1, 1, 1]),
        "relative": np.array([0.5, 1, 0.5, 0.8, 0.5, 0.5, 0.2, 0.2]),
        "seconds": np.array([1.0, 1, 3, 3, 2, 2, 2, 2]),
    }
    curves = Curves(rows)
    by_hand = measures.compute_mean(np.array([1.0 - 0.5, 0.8 - 0.2]))
    [(one, other)] = {*zip(*(compare_pairs(curves)[column].tolist() for column in ("one", "other")), strict=True)}
    assert (one, other) == ("one", "other")
    assert compare_pairs(curves)["difference"].tolist() == [by_hand.mean]
    assert compare_pairs(curves)["difference_error"].tolist() == [by_hand.error]
    assert compare_pairs(curves)["difference_high"].tolist() == pytest.approx([by_hand.mean + by_hand.half])
    assert compare_pairs(curves)["sets"].tolist() == [2]
    last = summarize_curves(curves)
    assert last["step"].tolist() == [2, 2]
    assert last["score"].tolist() == [4.0, 1.0]
    assert last["score_error"].tolist() == [2.0, 0.0]  # sd of 2 and 6 is sqrt(8), over sqrt(2)
    assert last["seconds"].tolist() == [2.0, 2.0]


# --- figure 3


def referee(graph, seeds, name, way):
    """The true value of what `name` ranks first before each step of `way`, from the definitions, all computed anew."""
    of, h = name.split("-")[-2:]
    rows, values, found = [], [], []
    for done in range(len(way)):
        asked = [*seeds, *way[:done]]
        seen = list(dict.fromkeys([*seeds, *(int(v) for u in asked for v in graph.list_links(u)[0])]))
        frontier = [v for v in seen if v not in asked]

        def feature(v, kind, asked=asked):
            into = [(graph.beta[u], a) for u in asked for to, a in zip(*graph.list_links(u), strict=True) if to == v]
            terms = {"n": [n for n, _ in into], "e": [e for _, e in into], "ne": [n * e for n, e in into]}[kind]
            return sum(terms) if h == "sum" else max(terms)

        if of != "lnh":
            scores = [feature(v, of) for v in frontier]
            best = frontier[int(np.argmax(scores))]
        else:
            x = np.array([[feature(v, kind) for kind in ("n", "e", "ne")] for v in frontier])
            scores = LinearRegression().fit(np.array(rows), values).predict(x) if rows else np.zeros(len(frontier))
            best = frontier[int(np.argmax(scores))]
            rows.append(x[frontier.index(way[done])])
            values.append(graph.beta[way[done]])
        found.append(graph.beta[best])
    return found


@pytest.mark.parametrize("name", ["nh-n-sum", "nh-e-max", "nh-ne-sum", "lnh-sum", "lnh-max"])
@pytest.mark.parametrize("seed", [6, 7])
def test_first_choices_along_the_oracles_crawl_are_those_of_the_definitions(name, seed):
    graph = known(seed)
    seeds = [3, 11]
    way = simulate(graph, seeds, ReplaySetup("oracle", 12)).steps.tolist()
    found = precision.find_first_choices(graph, seeds, make_estimator(name, seed=1), np.array(way))
    assert len(way) == 12
    assert found.tolist() == referee(graph, seeds, name, way)


def test_nothing_is_better_than_the_oracles_first_choice(world, work):
    experiment = small("nh-n-sum", "lnh-sum", "random")
    there = plan_crawls(world, experiment.draw, 30, work)
    smooth, parts = precision.measure_precision(experiment, there, work, window=4)
    assert (smooth["difference"] > -1e-12).all()
    assert (smooth["difference"] > 0).any()
    curves = Curves(parts)
    assert curves.get_steps("happy").tolist() == [10, 30]
    way = simulate(world.open(), there.sets[1], ReplaySetup("oracle", 30)).steps
    wished = precision.find_first_choices(world.open(), there.sets[1], make_estimator("nh-n-sum", seed=1), way)
    short = world.open().beta[way] - wished
    assert curves.get_column("happy", "nh-n-sum", "difference")[1] == pytest.approx(
        [short[:10].mean(), short[10:].mean()]
    )
    assert Curves(smooth).get_at("happy", "nh-n-sum", "difference", 30)[1] == pytest.approx(short[26:30].mean())
    assert curves.get_column("happy", precision.NOTHING, "difference")[1] == pytest.approx(
        [world.open().beta[way[:10]].mean(), world.open().beta[way[10:]].mean()]
    )
    assert len(summarize_shortfalls(curves)["step"]) == 2 * 4


def test_parts_of_a_crawl_that_ended_before_them_are_unknown():
    found = precision.average_between(np.arange(12.0), precision.split_crawl(2000))
    assert precision.split_crawl(2000).tolist() == [10, 100, 1000, 2000]
    assert found[:2].tolist() == [4.5, 10.5]
    assert np.isnan(found[2:]).all()


# --- scorings


POSTS = "author,created_at,text\n" + "".join(
    f"p{i % 7},{1_600_000_000 + i},{'tea ' * (i % 4)} to @p{(i * i + 1) % 9} and @p{(3 * i) % 11}\n" for i in range(60)
)


@pytest.mark.parametrize("name", SCORINGS)
def test_a_graph_scored_otherwise_is_the_one_built_so_from_the_posts(tmp_path, name):
    (tmp_path / "posts.csv").write_text(POSTS)
    posts, topic = read_posts(tmp_path / "posts.csv"), Topic(["tea"])
    direct = build_mention_graph(posts, topic, lambda count: float(SCORINGS[name](np.array([count]))[0]))
    again = rescore_graph(build_mention_graph(posts, topic), SCORINGS[name])
    assert again.alpha == pytest.approx(direct.alpha)
    assert again.beta == pytest.approx(direct.beta)
    assert again.beta.max() > 0


def test_values_that_are_no_scores_of_counts_are_not_scored_otherwise():
    with pytest.raises(SettingsError, match="counts are known"):
        rescore_graph(known(1), SCORINGS["raw"])


def test_crawls_under_other_scorings_are_also_judged_by_f(world, work, tmp_path):
    experiment = small("nh-n-sum")
    there = plan_crawls(world, experiment.draw, 40, work)
    table = replay_scorings(experiment, there, work, tmp_path / "graphs")
    plain = table["scoring"] == "f"
    assert set(table["as_f"][plain & (table["score"] > 0)].tolist()) == {1.0}
    raw = rescore_graph(world.open(), SCORINGS["raw"])
    steps = simulate(raw, there.sets[2], ReplaySetup("nh-n-sum", 40)).steps
    beta = world.open().beta
    usual = simulate(world.open(), there.sets[2], ReplaySetup("nh-n-sum", 40)).curve[-1]
    end = (table["set"] == 2) & (table["step"] == 40) & (table["variant"] == "nh-n-sum") & (table["scoring"] == "raw")
    assert table["as_f"][end] == pytest.approx([beta[steps].sum() / usual])
    assert len(summarize_last_steps(table)["graph"]) == 5 * 2


# --- graphs


def test_a_graph_is_made_once_and_again_when_its_file_has_changed(tmp_path):
    file = tmp_path / "posts.csv"
    file.write_text(POSTS)
    wanted = GraphOptions(posts=[file], keywords=["tea"])
    [first] = make_graphs(wanted, tmp_path / "graphs")
    stamp = (first.folder / "beta.npy").stat().st_ino
    [again] = make_graphs(wanted, tmp_path / "graphs")
    assert again == first
    assert (first.folder / "beta.npy").stat().st_ino == stamp
    file.write_text(POSTS + "p1,1600000900,tea tea tea tea tea tea @p2\n")
    before = first.open().beta.sum()
    [anew] = make_graphs(wanted, tmp_path / "graphs")
    assert anew.open().beta.sum() > before


def test_without_files_the_graphs_are_those_of_the_papers_topics(tmp_path):
    made = make_graphs(GraphOptions(users=2000, links=9000), tmp_path)
    assert {world.name for world in made} == {"happy", "weird", "jazz"}
    assert {world.open().links for world in made} == {9000}


def test_what_no_graph_can_be_made_of_is_refused_with_a_sentence(tmp_path):
    (tmp_path / "posts.csv").write_text(POSTS)
    for wanted, said in (
        (GraphOptions(posts=[tmp_path / "posts.csv"]), "--keyword"),
        (GraphOptions(keywords=["tea"]), "--posts or --pages"),
        (GraphOptions(topics=["sad"]), "Choose one of: happy"),
        (GraphOptions(graphs=[tmp_path / "none"]), "is not there"),
        (GraphOptions(posts=[tmp_path / "posts.csv"] * 2, keywords=["tea"]), "two graphs are called"),
    ):
        with pytest.raises(SettingsError, match=said):
            make_graphs(wanted, tmp_path / "graphs")


def test_a_graph_for_each_set_has_the_crawls_that_sets_have_on_graphs_of_these_seeds(tmp_path):
    made = ["--variant", "nh-n-sum", "--variant", "random", "--users", "250", "--links", "1500", "--jobs", "1"]
    made += ["--topic", "happy", "--topic", "weird", "--seed-size", "3", "--steps", "9"]

    def crawl(name, folder, *more):
        done = CliRunner().invoke(gouriten_app, [name, *made, *more, "--out", str(tmp_path / folder)])
        assert done.exit_code == 0, done.output
        columns = parquet.read_table(tmp_path / folder / f"{name}.parquet").to_pydict()
        column = "difference" if name == "fig3" else "score"
        keys = zip(*(columns[key] for key in ("graph", "variant", "set", "step")), strict=True)
        return dict(zip(keys, columns[column], strict=True)), done.output

    for name in ("fig4", "fig3"):
        several, said = crawl(name, "several", "--seed-sets", "2", "--graph-seed", "7", "--graph-per-set")
        assert "over 2 graphs" in said
        alone = {}
        for number in range(2):
            own, _ = crawl(name, f"alone-{number}", "--seed-sets", "2", "--graph-seed", str(7 + number))
            alone |= {key: value for key, value in own.items() if key[2] == number}
        assert several == pytest.approx(alone, nan_ok=True)
        assert len({several[key] for key in several if key[:2] == ("happy", "nh-n-sum")}) > 1


def test_a_graph_for_each_set_cannot_come_from_a_folder(tmp_path, world):
    words = ["fig4", "--graph", str(world.folder), "--graph-per-set", "--out", str(tmp_path)]
    failed = CliRunner().invoke(gouriten_app, words)
    assert "--graph-per-set is about generated graphs" in str(failed.exception)


# --- commands


def ran(*words):
    result = CliRunner().invoke(gouriten_app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def pages_file(folder):
    from pyarrow import table

    keys = [f"Page_{i}" for i in range(40)]
    texts = [" ".join(f"page {j} tea" for j in range(40) if (i * j) % 5 == 1) for i in range(40)]
    links = [[f"Page_{j}" for j in range(40) if (i * j) % 5 == 1 or j == i + 1] for i in range(40)]
    parquet.write_table(table({"key": keys, "text": texts, "links": links}), folder / "pages.parquet")
    return folder / "pages.parquet"


@pytest.mark.parametrize("name", [*CRAWLS, *TABLES, "fig3"])
def test_each_command_leaves_a_figure_and_data_that_can_be_read(name, tmp_path):
    words = TINY if name not in TABLES else TINY[:6]
    if name == "fig5":
        words = ["--pages", pages_file(tmp_path), "--keyword", "tea", *TINY[6:]]
    only = [] if name in ("fig1", "fig4", "fig5", *TABLES) else FEW.get(name, ["bfs", "lnh-max"])
    said = ran(name, "--out", tmp_path, *words, *(word for variant in only for word in ("--variant", variant)))
    assert (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    assert ET.parse(tmp_path / f"{name}.svg").getroot().tag.endswith("svg")
    table = csv.read_csv(tmp_path / f"{name}.csv")
    assert table.num_rows > 0
    assert "graph" in table.column_names
    assert f"{name}.csv" in said
    if name not in TABLES:
        curves = parquet.read_table(tmp_path / f"{name}.parquet")
        assert set(curves.column("set").to_pylist()) == {0, 1}
        assert set(only or choose_experiment(name).variants) <= set(curves.column("variant").to_pylist())
        assert (tmp_path / "replays").exists() == (name != "fig3")


def test_the_same_command_leaves_the_same_bytes(tmp_path):
    for folder in ("one", "other"):
        ran("fig3", "--out", tmp_path / folder, "--rolling", 5, "--variant", "nh-n-sum", "--variant", "lnh-sum", *TINY)
        ran("fig2", "--out", tmp_path / folder, "--variant", "refresh_rate=7", *TINY)
    for file in ("fig3.png", "fig3.svg", "fig3.csv", "fig3.parquet", "fig2.png", "fig2.svg"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "other" / file).read_bytes(), file


def test_what_is_less_than_the_paper_has_is_said(tmp_path):
    said = ran("fig1", "--out", tmp_path, "--variant", "q=0.5 zeta=0.5", *TINY[:6], "--seed-sets", 1, "--jobs", 1)
    assert "no set of seeds reaches more" in said
    assert "insist with --seed-size" in said


def test_a_crawl_of_one_step_can_be_drawn(tmp_path):
    ran("short", "--out", tmp_path, "--variant", "bfs", *TINY[:6], "--seed-sets", 1, "--steps", 1, "--jobs", 1)
    assert csv.read_csv(tmp_path / "short.csv").column("step").to_pylist() == [1, 1]


def test_figures_4_and_5_are_about_their_own_kind_of_graph(tmp_path):
    with pytest.raises(SettingsError, match="fig5 is about pages"):
        ran("fig5", "--out", tmp_path)
    with pytest.raises(SettingsError, match="fig4 is about mentions"):
        ran("fig4", "--out", tmp_path, "--pages", pages_file(tmp_path), "--keyword", "tea")


def test_graphs_that_are_there_are_used_where_they_are(tmp_path, world):
    ran("table1", "--out", tmp_path, "--graph", world.folder)
    assert csv.read_csv(tmp_path / "table1.csv").column("links").to_pylist() == [read(world.folder).links]
    assert not (tmp_path / "graphs").exists()


def test_tables_joined_keep_the_order_of_their_parts():
    assert join_tables([{"a": np.array([2])}, {"a": np.array([1, 3])}])["a"].tolist() == [2, 1, 3]
