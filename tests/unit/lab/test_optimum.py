"""The best crawl of all against dumb enumeration, Proposition 1 against all subtrees, and what greedy reaches of it."""

import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from example_counts import many
from hypothesis import event, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from socialcrawl.crawls.collect.strategies import STRATEGIES
from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.experiments.gouriten import optimum as module
from socialcrawl.lab.experiments.gouriten.commands import gouriten_app
from socialcrawl.lab.experiments.gouriten.optima import (
    SmallCrawls,
    SmallGraphs,
    crawl_beside_optimum,
    solve_by_crawling,
)
from socialcrawl.lab.experiments.gouriten.optimum import find_optimum as optimum
from socialcrawl.lab.experiments.gouriten.tree_problem import reduce_tree_problem as reduction
from socialcrawl.lab.generators.twitterlike import generate_twitter_like
from socialcrawl.lab.graphs import check_graph, write
from socialcrawl.lab.grid import draw_seed_sets
from socialcrawl.lab.simulation import ReplaySetup, simulate

VALUES = [0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 0.1, 0.2, 0.1 + 0.2, 1e-300, 1e16]
WHOLE = [0.0, 0.0, 1.0, 2.0, 5.0]


def graph(links, beta) -> KnownGraph:
    """`links[u]` lists targets."""
    flat = [v for row in links for v in row]
    ends = np.cumsum([0, *map(len, links)], dtype=np.int64)
    return KnownGraph(ends, np.array(flat, np.int64), np.ones(len(flat)), np.array(beta, np.float64))


def targets(known):
    return [known.list_links(u)[0].tolist() for u in range(known.size)]


def drawn(size, *edges, **values):
    """A graph of the drawings below: `edges` such as "0>1", the values as n1=2."""
    links = [[] for _ in range(size)]
    for edge in edges:
        *_, (u, v) = [map(int, edge.split(">"))]
        links[u].append(v)
    return graph(links, [values.get(f"n{u}", 0) for u in range(size)])


@st.composite
def graphs(draw, most=7, values=VALUES):
    """Any digraph, self-links and duplicates included; sparse or dense, as lists drawn one by one seldom are."""
    n, rng = draw(st.integers(1, most) | st.just(most)), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    degree = draw(st.sampled_from([0.5, 1, 2, 3]))
    links = [rng.integers(0, n, rng.poisson(degree)).tolist() for _ in range(n)]
    return graph(links, rng.choice(draw(st.lists(st.sampled_from(values), min_size=3, max_size=5)), n))


@st.composite
def crawls(draw, most=7, values=VALUES):
    known = draw(graphs(most, values))
    seeds = draw(st.lists(st.integers(0, known.size - 1), min_size=1, max_size=2, unique=True))
    return known, seeds, draw(st.integers(1, most + 1))


def sequences(links, known, budget):
    """All crawl sequences from the set `known` that have `budget` nodes, or end because the frontier is empty."""
    frontier = {v for u in known for v in links[u]} - known
    if not budget or not frontier:
        yield []
        return
    for v in frontier:
        for rest in sequences(links, known | {v}, budget - 1):
            yield [v, *rest]


def worth(known, nodes, objective):
    values = [Fraction(float(known.beta[node])) for node in nodes]
    return sum(values, Fraction(0)) if objective == "sum" else Fraction(sum(value > 0 for value in values))


# -- Definition 6


@settings(deadline=None, max_examples=many(250))
@given(crawls(), st.sampled_from(["sum", "count"]))
def test_the_optimum_is_the_best_of_all_sequences_and_of_the_best_the_first(crawl, objective):
    known, seeds, budget = crawl
    score, best = min(
        (-worth(known, one, objective), one) for one in sequences(targets(known), frozenset(seeds), budget)
    )
    assert optimum(known, seeds, budget, objective) == (float(-score), best)


@settings(deadline=None, max_examples=many(60))
@given(crawls(most=11, values=WHOLE), st.sampled_from(["sum", "count"]))
def test_the_optimum_is_the_best_of_all_sets_whose_nodes_are_reached_within_the_set(crawl, objective):
    known, seeds, budget = crawl
    whole = nx.DiGraph([(u, v) for u, row in enumerate(targets(known)) for v in row])
    whole.add_nodes_from(range(known.size))
    others = [u for u in whole if u not in seeds]
    best = Fraction(0)
    for size in range(1, min(budget, len(others)) + 1):
        for chosen in itertools.combinations(others, size):
            if worth(known, chosen, objective) > best:
                part = whole.subgraph([*chosen, *seeds])
                reached = {v for seed in seeds for v in nx.descendants(part, seed)}
                if reached >= set(chosen):
                    best = worth(known, chosen, objective)
    assert optimum(known, seeds, budget, objective)[0] == float(best)


def test_a_bridge_of_no_value_is_crossed_for_what_lies_behind():
    """The seed 0, the values in brackets.

    0 -> 1(4) -> 2(3)
    |
    +--> 3(0) -> 4(0) -> 5(9)
    """
    known = drawn(6, "0>1", "1>2", "0>3", "3>4", "4>5", n1=4, n2=3, n5=9)
    assert optimum(known, [0], 1, "sum") == (4.0, [1])
    assert optimum(known, [0], 2, "sum") == (7.0, [1, 2])
    assert optimum(known, [0], 3, "sum") == (9.0, [3, 4, 5])
    assert optimum(known, [0], 4, "sum") == (13.0, [1, 3, 4, 5])
    assert optimum(known, [0], 99, "sum") == (16.0, [1, 2, 3, 4, 5])
    assert optimum(known, [0], 3, "count") == (2.0, [1, 2, 3])


def test_the_seeds_score_is_left_out_and_a_seed_is_never_crawled():
    known = drawn(3, "0>1", "1>0", "1>2", n0=5, n1=7, n2=1)
    assert optimum(known, [0, 1], 3, "sum") == (1.0, [2])
    assert optimum(known, np.array([2, 2]), 3, "sum") == (0.0, [])


def test_sums_are_exact_where_floats_would_lose_one_of_two_equals():
    """1e16 + 1 + 1 is 1e16 when added one by one, 1e16 + 2 when not."""
    known = drawn(5, "0>1", "0>2", "0>3", "0>4", n1=1e16, n2=1, n3=0.5, n4=1)
    assert optimum(known, [0], 3, "sum") == (1e16 + 2, [1, 2, 4])


def ladder(steps, size=3):
    """Layers of `size` nodes of little value, each linked to all of the next layer: many sets, nearly equal."""
    nodes = 1 + size * steps
    layers = [[0], *(list(range(begin, begin + size)) for begin in range(1, nodes, size)), []]
    links = [layers[depth + 1] for depth, layer in enumerate(layers[:-1]) for _ in layer]
    return graph(links, [0.0, *np.random.default_rng(3).random(nodes - 1)])


def test_only_what_the_budget_can_reach_has_to_be_small(monkeypatch):
    monkeypatch.setattr(module, "NODES", 12)
    known = ladder(40)
    assert len(optimum(known, [0], 4, "sum")[1]) == 4
    with pytest.raises(SettingsError, match=r"more than 12 nodes lie within 5 links of the seeds: .* smaller"):
        optimum(known, [0], 5, "sum")


def test_a_graph_of_the_largest_size_is_searched_and_a_larger_one_refused():
    wide = graph([range(1, module.NODES + 1), *[[]] * (module.NODES + 1)], [0.0, *range(module.NODES + 1)])
    assert optimum(wide, [0], 3, "sum")[1] == [module.NODES - 2, module.NODES - 1, module.NODES]
    with pytest.raises(SettingsError, match=f"more than {module.NODES} nodes"):
        optimum(graph([range(1, module.NODES + 2), *[[]] * (module.NODES + 1)], wide.beta), [0], 3, "sum")


def test_a_search_that_takes_too_long_says_so(monkeypatch):
    monkeypatch.setattr(module, "STATES", 20)
    with pytest.raises(SettingsError, match=r"not found among 20 sets of nodes; take a smaller"):
        optimum(ladder(8), [0], 10, "sum")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seeds": []}, "needs seeds"),
        ({"seeds": [2]}, "each a node of the graph: 0 to 1"),
        ({"seeds": [-1]}, "each a node of the graph"),
        ({"budget": 0}, "budget"),
        ({"objective": "avg"}, "Unknown objective 'avg'"),
    ],
)
def test_what_is_no_crawl_is_refused(change, said):
    good = {"graph": drawn(2, "0>1", n1=1), "seeds": [0], "budget": 1, "objective": "sum"}
    assert optimum(**good) == (1.0, [1])
    with pytest.raises(SettingsError, match=said):
        optimum(**good | change)


def test_values_that_add_up_to_infinity_are_refused():
    known = drawn(3, "0>1", "0>2", n1=1.7e308, n2=1.7e308)
    assert optimum(known, [0], 1, "sum") == (1.7e308, [1])
    with pytest.raises(SettingsError, match="more than a float64 holds"):
        optimum(known, [0], 2, "sum")


@pytest.mark.parametrize("objective", ["sum", "count"])
def test_crawls_are_compared_with_the_best_of_all_sequences_of_each_length(objective, tmp_path):
    known = check_graph(drawn(6, "0>1", "0>2", "2>3", "1>4", "4>0", "3>5", n0=3, n1=2, n2=1, n3=9, n5=4))
    write(known, tmp_path / "g")
    crawls = SmallCrawls(("oracle", "bfs"), 4, 1, 5, objective, 2)
    rows = crawl_beside_optimum(SmallGraphs(tmp_path / "g"), crawls)
    for number, seeds in enumerate(draw_seed_sets(known, 4, 1, 2)):
        here = {name: column[rows["set"] == number] for name, column in rows.items()}
        score = {
            variant: here["score"][here["variant"] == variant].tolist() for variant in ("optimum", "oracle", "bfs")
        }
        best = [
            float(max(worth(known, one, objective) for one in sequences(targets(known), frozenset(seeds), steps)))
            for steps in range(6)
        ]
        assert score["optimum"] == best
        for variant in ("oracle", "bfs"):
            setup = ReplaySetup(variant, 5, objective=objective, seed=2 + number)
            assert score[variant] == [0.0, *simulate(known, seeds, setup).curve]
            share = here["relative"][here["variant"] == variant]
            assert share == pytest.approx(
                np.array(score[variant]) / np.where(np.array(best) > 0, best, np.nan), nan_ok=True
            )


def test_each_set_of_seeds_has_its_own_generated_graph():
    small = SmallGraphs(None, 20, 40, 0.5, 6)
    assert [small.open(number).indices.tolist() for number in (0, 1)] == [
        generate_twitter_like(20, 40, 0.5, 0.25, seed).indices.tolist() for seed in (6, 7)
    ]


@pytest.mark.parametrize(
    ("words", "files", "said"),
    [
        (("optimum", "--seed-sets", "2", "--steps", "4"), {"csv", "parquet", "png", "svg"}, "over 2 graphs"),
        (("hardness", "--most", "2", "--counted", "nodes"), {"csv", "png", "svg"}, "L = 2: weight"),
    ],
)
def test_each_command_writes_its_files_and_says_what_it_found(words, files, said, tmp_path):
    done = CliRunner().invoke(gouriten_app, [*words, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert said in done.output
    assert {path.suffix[1:] for path in tmp_path.iterdir() if path.stem == words[0]} == files


# -- Proposition 1


def heaviest_tree(known, most, counted):
    """The weight of the heaviest subtree: all sets of edges that networkx calls an arborescence, and single nodes."""
    edges = sorted({(u, v) for u, row in enumerate(targets(known)) for v in row if u != v})
    limit = most - 1 if counted == "nodes" else most
    best = max(known.beta)
    for size in range(1, limit + 1):
        for chosen in itertools.combinations(edges, size):
            nodes = {u for edge in chosen for u in edge}
            weight = sum(known.beta[u] for u in nodes)
            if len(nodes) == size + 1 and weight > best and nx.is_arborescence(nx.DiGraph(chosen)):
                best = weight
    return best


@settings(deadline=None, max_examples=many(150))
@given(graphs(most=5, values=WHOLE), st.integers(1, 4), st.sampled_from(["nodes", "edges"]), st.integers(0, 15))
def test_a_tree_of_size_l_and_weight_w_is_there_exactly_if_the_crawl_reaches_w(known, size, counted, weight):
    problem = reduction(known, size, counted)
    yes = heaviest_tree(known, size, counted) >= weight
    event(f"yes: {yes}")
    score, _ = optimum(problem.graph, problem.seeds, problem.budget, "sum")
    assert (score >= weight) == yes


@settings(deadline=None, max_examples=many(100))
@given(graphs(most=5, values=WHOLE), st.integers(1, 9), st.sampled_from(["nodes", "edges"]))
def test_the_optimal_score_is_the_weight_of_the_heaviest_tree_whatever_w_is(known, size, counted):
    problem = reduction(known, size, counted)
    score, _ = optimum(problem.graph, problem.seeds, problem.budget, "sum")
    assert score == heaviest_tree(known, min(size, known.size), counted)


@settings(deadline=None, max_examples=many(20))
@given(graphs(most=5, values=WHOLE), st.sampled_from(["nodes", "edges"]))
def test_the_command_finds_the_heaviest_tree_of_each_size_and_its_nodes(known, counted):
    table = solve_by_crawling(known, counted, 3)
    assert table["size"].tolist() == [1, 2, 3]
    assert table["weight"].tolist() == [heaviest_tree(known, size, counted) for size in (1, 2, 3)]
    for tree, weight in zip(table["tree"].tolist(), table["weight"].tolist(), strict=True):
        assert sum(known.beta[int(node)] for node in tree.split()) == weight


def test_two_chains_do_not_fit_into_the_budget_and_one_with_its_tree_does():
    """A star, whose leaves are worth more than any tree of two nodes: 0(1) -> 1(5), 0 -> 2(5), 0 -> 3(5)."""
    known = drawn(4, "0>1", "0>2", "0>3", n0=1, n1=5, n2=5, n3=5)
    for counted, budget, best in (("nodes", 5, 6.0), ("edges", 6, 11.0)):
        problem = reduction(known, 2, counted)
        assert problem.budget == budget
        assert optimum(problem.graph, problem.seeds, budget, "sum")[0] == best


def test_the_papers_budget_is_one_too_small_where_l_counts_edges_and_the_other_one_too_large_for_nodes():
    known = drawn(2, "0>1", n0=1, n1=1)
    edges = reduction(known, 1, "edges")  # the tree 0 -> 1 has one edge and weighs 2
    assert edges.budget == 4
    assert [optimum(edges.graph, edges.seeds, budget, "sum")[0] for budget in (3, 4)] == [1.0, 2.0]
    nodes = reduction(known, 1, "nodes")  # a tree of one node weighs 1
    assert nodes.budget == 3
    assert [optimum(nodes.graph, nodes.seeds, budget, "sum")[0] for budget in (3, 4)] == [1.0, 2.0]


def test_the_construction_is_the_papers():
    """G is 0 -> 1; L = 1; r is 2. The chains: r -> 3 -> 4 -> 0 and r -> 5 -> 6 -> 1."""
    problem = reduction(drawn(2, "0>1", n0=3, n1=4), 1, "edges")
    assert targets(problem.graph) == [[1], [], [3, 5], [4], [0], [6], [1]]
    assert problem.graph.beta.tolist() == [3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert (problem.seeds, problem.budget) == ([2], 4)
    assert problem.graph.links == len(problem.graph.alpha) == 7


def test_a_larger_l_than_any_tree_makes_no_larger_graph():
    known = drawn(3, "0>1", n1=1)
    assert reduction(known, 10**9, "nodes").budget == 7
    assert reduction(known, 10**9, "edges").budget == 6
    assert reduction(known, 10**9, "nodes").graph.size == 3 + 1 + 3 * 4


@pytest.mark.parametrize(
    ("size", "counted", "said"),
    [(0, "nodes", "at least 1 nodes"), (-1, "edges", "at least 0 edges"), (1, "links", "write nodes or edges")],
)
def test_an_l_that_no_tree_has_is_refused(size, counted, said):
    with pytest.raises(SettingsError, match=said):
        reduction(drawn(2, "0>1"), size, counted)


# -- what greedy reaches


def greedily(known, seeds, budget, objective, **more):
    return simulate(check_graph(known), seeds, ReplaySetup("oracle", budget, objective=objective, **more))


def test_greedy_with_the_oracle_is_not_optimal_for_sum():
    """Two steps from 0; the richest neighbour leads nowhere.

    0 -> 1(2)
    |
    +--> 2(1) -> 3(9)
    """
    known = drawn(4, "0>1", "0>2", "2>3", n1=2, n2=1, n3=9)
    replay = greedily(known, [0], 2, "sum")
    assert replay.steps.tolist() == [1, 2]
    assert replay.curve.tolist() == [2.0, 3.0]
    assert optimum(known, [0], 2, "sum") == (10.0, [2, 3])


def test_greedy_is_not_optimal_for_count_where_the_frontier_runs_out_of_nodes_with_value():
    """Four steps from 0; after 1 only zeros are left, and greedy takes 2, found before 3.

    0 -> 1(9)
    |
    +--> 2(0)
    |
    +--> 3(0) -> 4(1) -> 5(1)
    """
    known = drawn(6, "0>1", "0>2", "0>3", "3>4", "4>5", n1=9, n4=1, n5=1)
    replay = greedily(known, [0], 4, "count")
    assert replay.steps.tolist() == [1, 2, 3, 4]
    assert replay.curve.tolist() == [1.0, 1.0, 1.0, 2.0]
    assert optimum(known, [0], 4, "count") == (3.0, [1, 3, 4, 5])


def test_for_count_the_oracle_still_ranks_by_value_and_loses_nothing_by_it():
    """Three steps from 0, to whose frontier 1 adds nothing of value.

    0 -> 1(9) -> 2(0)
    |
    +--> 3(1) -> 4(1) -> 5(1)
    """
    known = drawn(6, "0>1", "1>2", "0>3", "3>4", "4>5", n1=9, n3=1, n4=1, n5=1)
    replay = greedily(known, [0], 3, "count")
    assert replay.steps.tolist() == [1, 3, 4]
    assert replay.curve.tolist() == [1.0, 2.0, 3.0]
    assert optimum(known, [0], 3, "count") == (3.0, [1, 3, 4])


@settings(deadline=None, max_examples=many(150))
@given(crawls(most=9, values=[0.0, 0.5, 1.0, 2.0, 3.0]))
def test_greedy_is_optimal_for_count_as_long_as_the_frontier_holds_a_node_with_value(crawl):
    known, seeds, budget = crawl
    replay = greedily(known, seeds, budget, "count")
    links, asked, rich = targets(known), set(seeds), 0
    for node in replay.steps.tolist():
        if not any(known.beta[v] > 0 for u in asked for v in links[u] if v not in asked):
            break
        asked.add(node)
        rich += 1
    event(f"steps with a choice: {rich}")
    for step in range(1, rich + 1):
        assert replay.curve[step - 1] == optimum(known, seeds, step, "count")[0] == step


@settings(deadline=None, max_examples=many(80))
@given(crawls(most=9, values=WHOLE), st.sampled_from(STRATEGIES), st.sampled_from(["sum", "count"]), st.integers(1, 3))
def test_no_strategy_beats_the_optimum_at_any_step(crawl, name, objective, rate):
    known, seeds, budget = crawl
    replay = greedily(known, seeds, budget, objective, strategy=name, refresh_rate=rate, q=0.3)
    for step, score in enumerate(replay.curve.tolist(), 1):
        assert score <= optimum(known, seeds, step, objective)[0]
    assert len(replay.steps) == len(optimum(known, seeds, budget, objective)[1])
