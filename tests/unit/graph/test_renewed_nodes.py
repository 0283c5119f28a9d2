"""A node of which more was read: its features are those of a graph in which all of it was read at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialcrawl.engine.model import Node
from socialcrawl.graph.graph import COLUMNS, CrawlGraph

NODES = 8
LINKS = st.dictionaries(st.integers(0, NODES - 1), st.integers(0, 5), max_size=5)
READINGS = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, 9), LINKS), max_size=12)


def as_arrays(links):
    return np.array(list(links), np.int64), np.array(list(links.values()), np.float64)


def features(graph):
    """By node: the features, the value, and the links."""
    found = {}
    for row in range(graph.size):
        rows, alpha = graph.list_links(row)
        links = {graph.node(int(one)): weight for one, weight in zip(rows, alpha.tolist(), strict=True)}
        found[graph.node(row)] = (graph.features(row), float(graph.value(np.array([row]))[0]), links)
    return found


@given(READINGS)
def test_a_node_that_is_read_in_pieces_is_as_one_that_was_read_at_once(readings):
    graph = CrawlGraph()
    graph.seed(Node(0))
    sums = {}
    for node, more, links in readings:
        value, known = sums.get(node, (0, {}))
        known = known | {other: known.get(other, 0) + weight for other, weight in links.items()}
        first = node not in sums
        sums[node] = (value + more, known)
        (graph.add if first else graph.renew)(Node(node), float(value + more), *as_arrays(known))
    whole = CrawlGraph()
    whole.seed(Node(0))
    for node, (value, links) in sums.items():
        whole.add(Node(node), float(value), *as_arrays(links))
    got, wanted = features(graph), features(whole)
    assert got.keys() == wanted.keys()
    for node, (numbers, value, links) in wanted.items():
        assert dict(zip(COLUMNS, got[node][0], strict=True)) == dict(zip(COLUMNS, numbers, strict=True))
        assert (got[node][2], np.isnan(value) or got[node][1] == value) == (links, True)
    assert graph.left == whole.left


def test_links_that_are_not_read_again_stay():
    graph = CrawlGraph()
    graph.add(Node(0), 2.0, *as_arrays({1: 3, 2: 0}))
    graph.renew(Node(0), 4.0, *as_arrays({2: 5}))
    assert features(graph)[0][2] == {1: 3.0, 2: 5.0}
    assert graph.column("ne_sum", np.array([graph.row(Node(1))])).tolist() == [12.0]
    changed = set(graph.take_changes().tolist())
    assert {graph.row(Node(1)), graph.row(Node(2))} <= changed


def test_a_node_that_was_read_again_with_a_negative_value_is_refused():
    graph = CrawlGraph()
    graph.add(Node(0), 2.0, *as_arrays({}))
    with pytest.raises(ValueError, match="value"):
        graph.renew(Node(0), -1.0, *as_arrays({}))
