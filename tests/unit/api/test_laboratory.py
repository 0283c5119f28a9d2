import warnings
from xml.etree import ElementTree as ET

import matplotlib as mpl
import networkx as nx
import numpy as np
import pytest
from x_crawls import TOPIC, posts_file

import socialcrawl as sc

mpl.use("Agg")


def town(size=200, seed=1):
    """A graph in which the accounts with even numbers are relevant, each by its number of links."""
    graph = nx.barabasi_albert_graph(size, 3, seed=seed)
    values = {node: float(graph.degree(node) if node % 2 == 0 else 0) for node in graph}
    nx.set_node_attributes(graph, values, "relevance")
    return graph


class ByLinks(sc.Estimator):
    """Scores an account by the number of links to it that the crawl has seen; counts how often it was made."""

    name = "by-links"
    made = 0

    def __init__(self):
        type(self).made += 1

    def score(self, graph, rows, n):
        return graph.column("links", rows)


def test_a_networkx_graph_keeps_its_links_and_values():
    graph = sc.Graph.from_networkx(town())
    assert graph.known.size == 200
    assert graph.known.links == 2 * town().number_of_edges()
    assert graph.known.beta.tolist() == [town().nodes[node]["relevance"] for node in range(200)]
    assert "200 accounts" in repr(graph)


def test_nodes_of_the_same_name_are_refused():
    twins = nx.DiGraph([(1, "1")])
    with pytest.raises(sc.SocialcrawlError, match="the same name"):
        sc.Graph.from_networkx(twins)


def test_links_of_posts_are_mentions_and_written_graphs_are_read_again(tmp_path):
    graph = sc.Graph.from_posts(posts_file(), keywords=[TOPIC])
    assert np.count_nonzero(graph.known.beta) > 0
    graph.write(tmp_path / "graph")
    again = sc.Graph.read(tmp_path / "graph")
    assert again.known.indices.tolist() == graph.known.indices.tolist()
    assert again.known.beta.tolist() == graph.known.beta.tolist()
    with pytest.raises(sc.SocialcrawlError, match="list of texts"):
        sc.Graph.from_posts(posts_file(), keywords=TOPIC)


def test_links_of_a_file_of_edges(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\na,b\n")
    graph = sc.Graph.from_edges(tmp_path / "edges.csv", {"a": 1.0, "c": 2.5})
    assert (graph.known.size, graph.known.links) == (3, 2)
    assert sorted(graph.known.beta.tolist()) == [0.0, 1.0, 2.5]


def test_links_of_a_list_of_edges_are_those_of_a_file_of_them(tmp_path):
    edges, values = [("a", "b", 2.0), ("b", "c", 1.0), ("a", "b", 0.5), ("c", "c", 9.0)], {"a": 1.0, "c": 2.5}
    (tmp_path / "edges.csv").write_text("source,target,weight\n" + "".join(f"{a},{b},{w}\n" for a, b, w in edges))
    written, given = sc.Graph.from_edges(tmp_path / "edges.csv", values), sc.Graph.from_edges(edges, values)
    for part in ("indptr", "indices", "alpha", "beta"):
        assert getattr(given.known, part).tolist() == getattr(written.known, part).tolist()
    assert sc.Graph.from_edges([(1, 2)]).known.beta.tolist() == [1.0, 1.0]


def test_the_oracle_finds_at_least_as_much_as_any_other_and_results_are_the_same_again():
    graph = sc.Graph.from_networkx(town())
    first, again = (
        sc.simulate(graph, ["oracle", "bfs", "random"], steps=20, seeds=3, seeds_per_set=4, seed=5) for _ in range(2)
    )
    assert {name: curve.tolist() for name, curve in first.curves.items()} == {
        name: curve.tolist() for name, curve in again.curves.items()
    }
    rows = list(first.compare())
    assert rows[0]["estimator"] == "oracle"
    for row in rows:
        last = first.curves[row["estimator"]][:, -1]
        assert (row["mean"], row["lowest"], row["highest"]) == pytest.approx((last.mean(), last.min(), last.max()))
        assert row["sd"] == pytest.approx(np.std(last, ddof=1))


def simulated(estimators, seeds=2, seeds_per_set=3, steps=20, **options):
    graph = sc.Graph.from_networkx(town())
    return sc.simulate(graph, estimators, steps=steps, seeds=seeds, seeds_per_set=seeds_per_set, **options).curves


def test_a_hybrid_that_switches_chooses_otherwise_than_its_start():
    curves = simulated(["hybrid-sum", "nh-ne-sum", "lnh-sum"], switch_after=0)
    assert curves["hybrid-sum"].tolist() == curves["lnh-sum"].tolist() != curves["nh-ne-sum"].tolist()


def test_a_hybrid_starts_with_the_estimator_that_is_named():
    with pytest.warns(UserWarning, match="hybrid-sum chooses as bfs in all 20 steps, because it switches after 1,000"):
        curves = simulated(["hybrid-sum", "bfs"], start="bfs")
    assert curves["hybrid-sum"].tolist() == curves["bfs"].tolist()


def test_the_weight_of_an_own_score_counts_in_navigational_rank_and_has_bounds():
    assert simulated(["nr"], nr_d=1.0)["nr"].tolist() != simulated(["nr"], nr_d=0.001)["nr"].tolist()
    with pytest.raises(sc.SettingsError, match=r"nr: d = 2.*from 0.001 to 1"):
        simulated(["nr"], nr_d=2)
    with pytest.raises(sc.SettingsError, match=r"simulate\(nr_d='much'\): give a number"):
        simulated(["nr"], nr_d="much")


@pytest.mark.parametrize(("switch_after", "warned"), [(20, True), (19, False)])
def test_a_hybrid_that_never_learns_is_warned_of_where_simulate_is_called(switch_after, warned):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        simulated(["hybrid-max", "bfs"], switch_after=switch_after)
    assert [(str(one.message).split(",")[0], one.filename) for one in seen] == (
        [("hybrid-max chooses as nh-ne-max in all 20 steps", __file__)] if warned else []
    )


def test_seeds_are_one_list_of_names_for_each_set():
    edges = [("ann", "ben"), ("ben", "cleo"), ("dora", "ann")]
    graph = sc.Graph.from_edges(edges, {"ben": 1.0, "cleo": 2.0, "ann": 4.0})
    result = sc.simulate(graph, ["bfs"], steps=2, seeds=[["ann"], ("dora",)])
    assert result.curves["bfs"].tolist() == [[1.0, 3.0], [4.0, 5.0]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seeds": [["ann", "nobody"]]}, r"simulate\(seeds\), set 1: no node is called 'nobody'"),
        ({"seeds": ["ann", "ben"]}, r'or a list of names for each set, such as \[\["ann", "ben"\]\]'),
        ({"seeds": []}, "or a list of names for each set"),
        ({}, "has 1 relevant account, fewer than seeds_per_set=20: pass seeds_per_set=1 or fewer, or name the seeds"),
    ],
)
def test_seeds_that_the_graph_lacks_are_refused_with_what_to_give(options, said):
    graph = sc.Graph.from_edges([("ann", "ben"), ("ben", "cleo")], {"ben": 1.0})
    with pytest.raises(sc.SettingsError, match=said):
        sc.simulate(graph, ["bfs"], steps=1, **options)


def test_steps_for_which_the_graph_has_no_accounts_are_explained():
    graph = sc.Graph.from_edges([("ann", "ben"), ("ben", "cleo")])
    sc.simulate(graph, ["bfs"], steps=2, seeds=[["ann"]])
    with pytest.warns(UserWarning, match="the graph has 3 accounts, so nothing is left to read after at most 2 steps"):
        sc.simulate(graph, ["bfs"], steps=3, seeds=[["ann"]])


def test_a_graph_without_a_relevant_account_says_that_no_post_matches(tmp_path):
    (tmp_path / "posts.csv").write_text("author,created_at,text\nann,2026-11-01T00:00:00Z,hello\n")
    with pytest.warns(UserWarning, match=r"No post in .*posts.csv matches 'telescope', so no account .* is relevant"):
        sc.Graph.from_posts(tmp_path / "posts.csv", keywords=["telescope"])


def test_scores_have_a_row_for_each_estimator_seed_set_and_step():
    result = sc.simulate(sc.Graph.from_networkx(town()), ["bfs"], steps=4, seeds=2, seeds_per_set=3)
    rows = list(result.scores())
    assert [(row["seed_set"], row["step"]) for row in rows] == [(a, b) for a in range(2) for b in range(1, 5)]
    assert [row["score"] for row in rows] == result.curves["bfs"].ravel().tolist()


def test_a_plot_has_a_curve_with_a_label_for_each_estimator():
    result = sc.simulate(sc.Graph.from_networkx(town()), ["bfs", "random"], steps=5, seeds=2, seeds_per_set=3)
    axes = result.plot()
    assert [line.get_label() for line in axes.get_lines()] == ["bfs", "random"]
    assert axes.get_lines()[0].get_ydata().tolist() == pytest.approx(result.curves["bfs"].mean(axis=0).tolist())
    assert axes.get_xlabel()
    assert axes.get_ylabel()


@pytest.mark.parametrize(
    ("estimators", "said"),
    [
        ("bfs", "are a list"),
        ([], "are a list"),
        (["bfs", "bfs"], "named twice: give each object its own attribute `name`"),
        (["hybird-sum"], "hybrid-sum"),
        ([3], "no estimator"),
    ],
)
def test_estimators_that_are_none_are_refused(estimators, said):
    with pytest.raises(sc.SocialcrawlError, match=said):
        sc.simulate(sc.Graph.from_networkx(town()), estimators, steps=3, seeds=1, seeds_per_set=2)


def test_an_estimator_of_ones_own_runs_as_a_class_and_as_an_object_fresh_in_each_replay():
    graph, ByLinks.made = sc.Graph.from_networkx(town()), 0
    of_class = sc.simulate(graph, [ByLinks], steps=10, seeds=3, seeds_per_set=4)
    assert ByLinks.made == 3
    of_object = sc.simulate(graph, [ByLinks()], steps=10, seeds=3, seeds_per_set=4)
    assert of_class.curves["by-links"].tolist() == of_object.curves["by-links"].tolist()
    assert [row["estimator"] for row in of_class.compare()] == ["by-links"]


def test_an_estimator_that_fails_is_named():
    class Failing(sc.Estimator):
        def score(self, graph, rows, n):
            raise ZeroDivisionError("no luck")

    with pytest.raises(sc.SocialcrawlError, match=r"Failing.* failed in score.*no luck"):
        sc.simulate(sc.Graph.from_networkx(town()), [Failing], steps=3, seeds=1, seeds_per_set=2)


def test_a_result_shows_its_comparison_and_no_arrays():
    result = sc.SimulationResult({
        "a<b": np.array([[1.0, 2.0], [3.0, 4.0]]), "best": np.array([[1.0, 9.0], [2.0, 9.5]])
    })  # fmt: skip
    assert repr(result) == "<SimulationResult, mean score at the end: best 9.2, a<b 3.0>"
    page = ET.fromstring(result._repr_html_())
    cells = [[cell.text for cell in row] for row in page.iter("tr")]
    assert cells[0] == ["estimator", "mean", "sd", "lowest", "highest", "seed_sets"]
    assert cells[1:] == [["best", "9.2", "0.4", "9.0", "9.5", "2"], ["a<b", "3.0", "1.4", "2.0", "4.0", "2"]]
