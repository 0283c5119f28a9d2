"""Lists of neighbours: fixed at the first visit, as printed or symmetric, held against a referee of a few lines."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from example_counts import many
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from walk_graphs import rows

from socialcrawl.crawls.sample import neighbour_lists as module
from socialcrawl.crawls.sample.neighbour_lists import GONE, UNREAD, NeighbourLists

NODES = 9


def ragged(columns):
    return (
        np.cumsum([0, *map(len, columns)]).astype(np.int64),
        np.array([node for column in columns for node in column], np.int64),
    )


def hold(lists, some, out, inward, marks=None):
    """Fix the lists of `some`, whose links and known in-links are those of the two mappings."""
    lists.hold(
        np.array(some, np.int64),
        np.array([node % 2 == 0 for node in some]),
        [(marks or {}).get(node, "") for node in some],
        ragged([out[node] for node in some]),
        ragged([inward[node] for node in some]),
    )


def referee(order, out, inward, *, symmetric, twice):
    """What the paper says, node by node: a side of a link is (whether the other one is linked to, the other one)."""
    lists = {}
    for node in order:
        own = {(True, v) for v in out[node] if v != node} | {(False, v) for v in inward[node] if v != node}
        mirror = Counter()
        for earlier, sides in lists.items():
            mirror.update({(not linked, earlier): count for (linked, v), count in sides.items() if v == node})
        if symmetric:
            own = {(linked, v) for linked, v in own if v not in lists}
        if not twice:
            own = {(linked, v) for linked, v in own if linked or (True, v) not in own}
        sides = mirror + Counter(own) if symmetric else Counter({*mirror, *own})
        if not symmetric and not twice:
            sides = Counter({(linked, v): 1 for linked, v in sides if linked or (True, v) not in sides})
        lists[node] = sides
    return {node: sorted(v for (_, v), n in sides.items() for _ in range(n)) for node, sides in lists.items()}


LINKS = st.lists(st.lists(st.integers(0, NODES - 1), max_size=5), min_size=NODES, max_size=NODES)


@pytest.fixture(params=["one by one", "all together"])
def _way(request, monkeypatch):
    """Both ways of making lists: few are made one by one, many in numpy."""
    monkeypatch.setattr(module, "FEW_NODES", 100 if request.param == "one by one" else -1)


@pytest.mark.usefixtures("_way")
@settings(deadline=None, max_examples=many(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    LINKS,
    LINKS,
    st.permutations(range(NODES)),
    st.lists(st.integers(0, NODES), max_size=3),
    st.fixed_dictionaries({"symmetric": st.booleans(), "twice": st.booleans()}),
)
def test_lists_are_what_the_paper_says_however_the_nodes_come_in_batches(out, inward, order, cuts, kind):
    lists = NeighbourLists(**kind)
    bounds = sorted({0, *cuts, NODES})
    for begin, end in pairwise(bounds):
        hold(lists, order[begin:end], out, inward)
    assert rows(lists) == referee(order, out, inward, **kind)
    assert list(lists.outs) == [len({*out[node]} - {node}) for node in order]
    before = [{*out[node]} & {*order[:i]} for i, node in enumerate(order)]
    assert list(lists.back) == [len(some) for some in before]
    assert list(lists.back_on) == [sum(node % 2 == 0 for node in some) for some in before]
    assert bytes(lists.on) == bytes(node % 2 == 0 for node in order)
    assert lists.known_count == len({*range(NODES)})


@settings(deadline=None, max_examples=many(60))
@given(LINKS, LINKS, st.permutations(range(NODES)), st.booleans())
def test_symmetric_lists_are_of_an_undirected_graph(out, inward, order, twice):
    lists = NeighbourLists(symmetric=True, twice=twice)
    hold(lists, order, out, inward)
    found = rows(lists)
    for node, others in found.items():
        for other in others:
            assert found[other].count(node) == others.count(other)


def test_a_link_that_only_the_later_node_knows_of_is_kept_on_one_side_as_printed_and_dropped_for_uniformity():
    out, nobody = {0: [1], 1: [0], 2: [0, 1]}, {0: [], 1: [], 2: []}
    printed, symmetric = NeighbourLists(symmetric=False), NeighbourLists(symmetric=True)
    for lists in (printed, symmetric):
        for node in (0, 1, 2):
            hold(lists, [node], out, nobody)
    assert rows(printed) == {0: [1], 1: [0], 2: [0, 1]}
    assert rows(symmetric) == {0: [1], 1: [0], 2: []}


@pytest.mark.parametrize("symmetric", [True, False])
def test_mutual_links_count_once_or_on_each_side_and_a_code_says_which_way_they_go(symmetric):
    out, inward = {3: [5], 5: [3], 7: [3]}, {3: [5, 7], 5: [3], 7: []}
    twice, once = NeighbourLists(symmetric=symmetric, twice=True), NeighbourLists(symmetric=symmetric)
    for lists in (twice, once):
        hold(lists, [3], out, inward)
        hold(lists, [5, 7], out, inward)
    assert rows(twice) == {3: [5, 5, 7], 5: [3, 3], 7: [3]}
    assert rows(once) == {3: [5, 7], 5: [3], 7: [3]}
    assert list(once.codes) == [5 * 2, 7 * 2 + 1, 3 * 2, 3 * 2]  # 5 links to 3 also; 3 is not linked to by its list


def test_who_cannot_be_read_stays_in_lists_and_has_no_place():
    lists = NeighbourLists()
    hold(lists, [0], {0: [1, 2]}, {0: []})
    lists.lose(1)
    assert [lists.place(node) for node in (0, 1, 2, 10**6)] == [0, GONE, UNREAD, UNREAD]
    assert lists.find_places(np.array([2, 1, 0])).tolist() == [UNREAD, GONE, 0]
    assert rows(lists) == {0: [1, 2]}


def test_another_name_of_somebody_who_is_not_read_yet_is_the_same_neighbour():
    lists = NeighbourLists()
    out, nobody = {0: [8], 1: [4], 2: [8, 4], 4: [0]}, dict.fromkeys(range(5), ())
    hold(lists, [0, 1], out, nobody)
    lists.add_alias(8, 4)
    hold(lists, [2], out, nobody)
    hold(lists, [4], out, nobody)
    assert lists.place(8) == lists.place(4) == 3
    assert rows(lists) == {0: [8], 1: [4], 2: [4], 4: [0, 1, 2]}  # 0's entry is called 8 and means 4


def test_another_name_of_somebody_who_was_read_is_one_sided_if_lists_are_symmetric():
    out, nobody = {0: [8], 4: [1]}, {0: [], 4: []}
    for symmetric, place in ((True, GONE), (False, 0)):
        lists = NeighbourLists(symmetric=symmetric)
        hold(lists, [4], out, nobody)
        hold(lists, [0], out, nobody)
        lists.add_alias(8, 4)
        assert lists.place(8) == place
        assert lists.find_topical(np.array([8, 4, 0, 1])).tolist() == [1, 1, 1, UNREAD]  # whoever it is, it is on topic
    lists.lose(6)
    lists.add_alias(7, 6)
    assert lists.place(7) == GONE


def test_names_that_go_round_in_a_circle_are_nobodys():
    lists = NeighbourLists()
    lists.add_alias(1, 2)
    assert lists.place(1) == UNREAD
    lists.add_alias(2, 1)
    assert lists.place(1) == lists.place(2) == GONE


def test_a_community_is_that_of_most_neighbours_read_before_the_smallest_of_equals_a_new_one_below_two():
    lists = NeighbourLists(communities=True)
    out = {0: [], 1: [], 2: [0, 1], 3: [0, 1, 2], 4: [1], 5: [4, 1, 0], 6: []}
    nobody = dict.fromkeys(range(7), ())
    back = {**nobody, 0: (2, 3, 5), 1: (2, 3, 4, 5), 2: (3,), 4: (5,)}
    hold(lists, [0, 1, 2, 3], out, back)
    hold(lists, [4, 5, 6], out, back)
    assert list(lists.group) == [1, 2, 1, 1, 3, 1, 4]
    assert lists.marks == ["", "community 1", "community 2", "community 3", "community 4"]


def test_marks_are_numbered_in_the_order_in_which_they_are_met():
    lists = NeighbourLists()
    hold(lists, [0, 1, 2, 3], dict.fromkeys(range(4), ()), dict.fromkeys(range(4), ()), {0: "b", 2: "a", 3: "b"})
    assert list(lists.group) == [1, 0, 2, 1]
    assert lists.marks == ["", "b", "a"]


def test_nodes_may_have_large_numbers():
    lists = NeighbourLists()
    hold(lists, [10**6], {10**6: [3 * 10**6]}, {10**6: [5 * 10**5]})
    hold(lists, [3 * 10**6], {3 * 10**6: []}, {3 * 10**6: []})
    assert rows(lists) == {10**6: [5 * 10**5, 3 * 10**6], 3 * 10**6: [10**6]}
    assert lists.known_count == 3
