"""The graph against recomputation from scratch: features by brute force, distances by networkx."""

import networkx as nx
import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from known_worlds import added

from socialcrawl.engine.model import Node
from socialcrawl.graph.graph import COLUMNS, CrawlGraph
from socialcrawl.graph.links import order_stably
from socialcrawl.graph.relevance import compute_worth

WEIGHT = st.integers(0, 5).map(compute_worth)


def add(graph, node, value, links):
    graph.add(Node(node), value, np.array(list(links), np.int64), np.array(list(links.values()), np.float64))


@st.composite
def additions(draw):
    """Fetched nodes in any order: (node, value, {target: alpha}); self-links are among them."""
    size = draw(st.integers(1, 12))
    node = st.integers(0, size - 1)
    order = draw(st.permutations(range(size)))[: draw(st.integers(1, size))]
    links = st.lists(st.tuples(node, WEIGHT), max_size=6, unique_by=lambda link: link[0]).map(dict)
    return [(u, draw(WEIGHT), draw(links)) for u in order], draw(st.lists(node, max_size=3, unique=True))


@given(additions())
@settings(max_examples=many(200), deadline=None)
def test_features_are_those_of_all_known_in_links_after_every_addition(made):
    story, _ = made
    graph, into, discovered = CrawlGraph(), {}, {}
    for node, value, links in story:
        add(graph, node, value, links)
        others = {v: alpha for v, alpha in links.items() if v != node}
        discovered |= dict.fromkeys([node, *others])
        for v, alpha in others.items():
            into.setdefault(v, []).append((value, alpha, value * alpha))
        assert graph.nodes().tolist() == list(discovered)
        for v in discovered:
            row = graph.row(v)
            columns = list(zip(*into.get(v, []), strict=True)) or [(), (), ()]
            brute = [len(columns[0]), *(part for x in columns for part in (added(x), max(x, default=0.0)))]
            assert list(graph.features(row)[1:]) == brute
            for of, x in zip(("n", "e", "ne"), columns, strict=True):
                average = added(x) / len(x) if x else 0.0
                assert graph.column(f"{of}_avg", np.array([row])).tolist() == [average]


@given(additions())
@settings(max_examples=many(200), deadline=None)
def test_distance_is_the_shortest_known_path_from_the_seeds_after_every_addition(made):
    added, seeds = made
    graph, whole = CrawlGraph(), nx.DiGraph()
    for seed in seeds:
        graph.seed(Node(seed))
    whole.add_nodes_from(seeds)
    for node, value, links in added:
        add(graph, node, value, links)
        whole.add_node(node)
        whole.add_edges_from((node, v) for v in links)
        far = nx.multi_source_dijkstra_path_length(whole, set(seeds), weight=None) if seeds else {}
        known = {v: graph.features(graph.row(v))[0] for v in whole}
        assert known == {v: far.get(v, np.inf) for v in whole}


@given(additions())
@settings(max_examples=many(200), deadline=None)
def test_the_frontier_is_what_was_linked_to_and_not_fetched_in_order_of_discovery(made):
    added, seeds = made
    graph, discovered = CrawlGraph(), dict.fromkeys(seeds)
    for seed in seeds:
        graph.seed(Node(seed))
    closed = set(seeds)
    for node, value, links in added:
        add(graph, node, value, links)
        closed.add(node)
        discovered |= dict.fromkeys([node, *(v for v in links if v != node)])
        frontier = [graph.node(row) for row in graph.frontier()]
        assert frontier == [v for v in discovered if v not in closed]
        assert graph.left == len(frontier)


def test_a_shorter_path_is_handed_on_through_fetched_nodes():
    graph = CrawlGraph()
    graph.seed(Node(0))
    for node, links in [(0, {1: 0, 9: 0}), (1, {2: 0}), (2, {3: 0}), (3, {4: 0, 2: 0}), (9, {3: 0})]:
        add(graph, node, 0.0, links)
    assert [graph.features(graph.row(v))[0] for v in (0, 1, 9, 2, 3, 4)] == [0, 1, 1, 2, 2, 3]
    graph.seed(Node(3))
    assert [graph.features(graph.row(v))[0] for v in (3, 2, 4)] == [0, 1, 1]


def test_a_link_to_itself_is_ignored_even_when_it_comes_twice():
    graph = CrawlGraph()
    graph.add(Node(4), 2.0, np.array([4, 5, 4]), np.array([1.0, 3.0, 1.0]))
    assert graph.features(graph.row(4))[1:] == (0.0,) * 7
    assert graph.features(graph.row(5))[1:] == (1.0, 2.0, 2.0, 3.0, 3.0, 6.0, 6.0)
    assert graph.left == 1


@pytest.mark.parametrize(
    ("value", "targets", "alpha", "why"),
    [
        (-1.0, [1], [1.0], "not negative"),
        (np.nan, [1], [1.0], "finite"),
        (np.inf, [1], [1.0], "finite"),
        (1.0, [1, 2], [1.0, -0.5], "not negative"),
        (1.0, [1, 2], [np.nan, 1.0], "finite"),
        (1.0, [1], [np.inf], "finite"),
        (1.0, [1, 2, 1], [1.0, 1.0, 1.0], "given once"),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_no_trace(value, targets, alpha, why):
    graph = CrawlGraph()
    add(graph, 5, 1.0, {7: 1.0})
    with pytest.raises(ValueError, match=why):
        graph.add(Node(7), value, np.array(targets), np.array(alpha))
    assert graph.nodes().tolist() == [5, 7]
    assert graph.frontier().tolist() == [1]
    assert graph.left == 1


def test_seeds_are_never_in_the_frontier():
    graph = CrawlGraph()
    graph.seed(Node(1))
    add(graph, 1, 1.0, {2: 1.0, 3: 1.0})
    graph.seed(Node(2))
    add(graph, 3, 1.0, {1: 1.0, 2: 1.0, 4: 1.0})
    assert [graph.node(row) for row in graph.frontier()] == [4]


def test_a_dropped_node_leaves_the_frontier_and_may_be_put_back_where_it_was():
    graph = CrawlGraph()
    add(graph, 0, 1.0, {1: 1.0, 2: 1.0, 3: 1.0})
    graph.drop(Node(2))
    add(graph, 1, 1.0, {2: 1.0})  # a new link does not open it again
    assert [graph.node(row) for row in graph.frontier()] == [3]
    for _ in range(2):  # opening what is open changes nothing
        graph.set_open(Node(2), is_open=True)
        assert ([graph.node(row) for row in graph.frontier()], graph.left) == ([2, 3], 2)
    graph.set_open(Node(2), is_open=False)
    graph.drop(Node(77))  # a node nobody has heard of
    assert ([graph.node(row) for row in graph.frontier()], graph.left) == ([3], 1)
    assert graph.features(graph.row(2))[1] == 2.0


def test_the_graph_grows_past_its_first_room_and_forgets_nothing():
    graph, star = CrawlGraph(), {v: float(v % 7) for v in range(1, 5_000)}
    add(graph, 0, 2.0, star)
    add(graph, 9_999, 3.0, dict.fromkeys(range(4000, 6000), 1.0))
    assert graph.size == 6_001
    assert graph.left == 5_999
    rows = np.array([graph.row(v) for v in (1, 4_500, 5_999)])
    assert graph.column("n_sum", rows).tolist() == [2.0, 5.0, 3.0]
    assert graph.column("ne_max", rows).tolist() == [2.0, max(2.0 * (4_500 % 7), 3.0), 3.0]
    assert graph.nodes().tolist() == [0, *star, 9_999, *range(5_000, 6_000)]


def test_columns_are_float64_and_features_follow_their_names():
    graph = CrawlGraph()
    add(graph, 0, 1.5, {3: 2.0})
    assert dict(zip(COLUMNS, graph.features(graph.row(3)), strict=True)) == {
        "depth": np.inf, "links": 1, "n_sum": 1.5, "n_max": 1.5, "e_sum": 2, "e_max": 2, "ne_sum": 3, "ne_max": 3,
    }  # fmt: skip
    assert all(graph.column(name, graph.frontier()).dtype == np.float64 for name in (*COLUMNS, "n_avg", "ne_avg"))


def test_a_node_that_turns_out_to_be_another_hands_over_its_links():
    graph = CrawlGraph()
    graph.seed(Node(0))
    graph.add(Node(0), 2.0, np.array([1, 2]), np.array([1.0, 3.0]))
    graph.add(Node(2), 1.0, np.array([1]), np.array([4.0]))
    graph.drop(Node(1))  # asked under its old name ...
    graph.merge(Node(1), Node(2))  # ... it is node 2, which was fetched already
    row = graph.row(Node(1))
    assert row == graph.row(Node(2))
    assert not len(graph.frontier())
    assert graph.features(row) == (1.0, 3.0, 2.0 + 2.0 + 1.0, 2.0, 3.0 + 1.0 + 4.0, 4.0, 6.0 + 2.0 + 4.0, 6.0)


def test_a_node_that_turns_out_to_be_an_unknown_one_brings_it_into_the_frontier():
    graph = CrawlGraph()
    graph.seed(Node(0))
    graph.add(Node(0), 2.0, np.array([1]), np.array([1.5]))
    graph.drop(Node(1))
    graph.merge(Node(1), Node(9))
    assert [graph.node(row) for row in graph.frontier()] == [9]
    assert graph.features(graph.row(Node(9))) == (1.0, 1.0, 2.0, 2.0, 1.5, 1.5, 3.0, 3.0)
    graph.add(Node(9), 1.0, np.array([0, 3]), np.array([0.0, 0.0]))
    graph.add(Node(3), 1.0, np.array([1, 9, 4]), np.array([1.0, 2.0, 0.0]))  # both names in one go: one link
    assert graph.features(graph.row(Node(1)))[1:5] == (2.0, 3.0, 2.0, 4.5)


def test_evidence_is_one_link_of_the_value_of_what_is_held_and_keeps_the_node_in_the_frontier():
    graph = CrawlGraph()
    add(graph, 0, 2.0, {1: 1.0, 2: 1.5})
    graph.note_evidence(Node(2), None, 3.0)
    graph.note_evidence(Node(7), None, 0.0)
    before = graph.features(graph.row(Node(7)))
    assert before == (0.0, 1.0, *[0.0] * 6), "known, at distance 0, and worth nothing yet"
    assert graph.features(graph.row(Node(2))) == (0.0, 2.0, 5.0, 3.0, 4.5, 3.0, 12.0, 9.0)
    graph.note_evidence(Node(2), 3.0, 4.0)
    assert graph.features(graph.row(Node(2))) == (0.0, 2.0, 6.0, 4.0, 5.5, 4.0, 19.0, 16.0), "in place of the last"
    assert [graph.node(row) for row in graph.frontier()] == [1, 2, 7]
    add(graph, 2, 1.0, {3: 1.0})
    assert graph.features(graph.row(Node(3)))[0] == 1.0, "one step from an account to begin with"
    read = graph.features(graph.row(Node(2)))
    graph.note_evidence(Node(2), 4.0, 9.0)
    assert graph.features(graph.row(Node(2))) == read, "it was read: what was held says nothing more"
    assert graph.value(np.array([graph.row(Node(2))])).tolist() == [1.0]


def list_evidence(graph, *nodes):
    return graph.get_evidence(np.array([graph.row(Node(node)) for node in nodes])).tolist()


def test_the_evidence_of_a_node_is_the_latest_before_it_was_read():
    graph = CrawlGraph()
    add(graph, 0, 2.0, {1: 1.0, 2: 1.5})
    graph.note_evidence(Node(2), None, 3.0)
    graph.note_evidence(Node(2), 3.0, 4.0)
    assert list_evidence(graph, 0, 1, 2) == [0.0, 0.0, 4.0]
    add(graph, 2, 1.0, {})
    graph.note_evidence(Node(2), 4.0, 9.0)
    assert list_evidence(graph, 2) == [4.0]


def test_evidence_of_a_node_that_rests_counts_once_it_is_back():
    graph = CrawlGraph()
    add(graph, 0, 2.0, {1: 1.0})
    graph.set_open(Node(1), is_open=False)
    graph.note_evidence(Node(1), None, 3.0)
    graph.set_open(Node(1), is_open=True)
    graph.note_evidence(Node(1), 3.0, 4.0)
    assert graph.features(graph.row(Node(1))) == (0.0, 2.0, 6.0, 4.0, 5.0, 4.0, 18.0, 16.0)


def test_evidence_of_another_name_counts_until_a_node_is_read():
    graph = CrawlGraph()
    add(graph, 0, 2.0, {1: 1.0, 2: 1.0, 3: 1.0})
    graph.note_evidence(Node(1), None, 3.0)
    graph.note_evidence(Node(3), None, 5.0)
    graph.merge(Node(1), Node(2))
    assert list_evidence(graph, 2) == [3.0]
    add(graph, 2, 1.0, {})
    graph.merge(Node(3), Node(2))
    assert list_evidence(graph, 2) == [3.0], "what was learned of it stays as it was"


@given(st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 3)))
def test_places_are_ordered_by_number_and_then_as_they_were(numbers):
    ordered = order_stably(np.array(numbers, np.int64))
    assert ordered.tolist() == sorted(range(len(numbers)), key=numbers.__getitem__)
