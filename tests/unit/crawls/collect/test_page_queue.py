"""Which timeline is read further: the order, the end of a timeline, failures, and that it follows from the history."""

from math import log1p

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from socialcrawl.crawls.collect.page_queue import NEARNESS, REST, TRIES, PageQueue
from socialcrawl.engine.model import Act, Node, Outcome, Pick, Reason
from socialcrawl.graph.graph import CrawlGraph

ACCOUNTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=8)  # value, pages read


def make(accounts, most=32):
    """A queue of accounts 0, 1, ... that have these values and pages, each of which links to the ones before it."""
    graph = CrawlGraph()
    queue = PageQueue(graph, most)
    for node, (value, _) in enumerate(accounts):
        graph.add(Node(node), float(value), np.arange(node), np.ones(node))
        queue.note_matched(Node(node))
    for node, (_, pages) in enumerate(accounts):
        for number in range(pages):
            queue.note_page(Pick(0, Node(node), Act.PAGE), Outcome(0, Node(node), 0.0, mark=f"{number}"))
    return graph, queue


@given(ACCOUNTS, st.integers(1, 9))
def test_the_next_page_is_that_of_the_highest_value_and_nearness_a_page(accounts, size):
    graph, queue = make(accounts)
    links = range(len(accounts) - 1, -1, -1)
    wanted = {
        node: (value + NEARNESS * log1p(many)) / (1 + pages)
        for node, ((value, pages), many) in enumerate(zip(accounts, links, strict=True))
    }
    found = queue.choose(size, 0)
    assert len(found) == min(size, len(accounts))
    chosen = [graph.node(row) for row, _, _ in found]
    assert len(set(chosen)) == len(chosen)
    scores = [score for _, score, _ in found]
    assert scores == sorted(scores, reverse=True)
    np.testing.assert_allclose(scores, [wanted[node] for node in chosen])
    left = [score for node, score in wanted.items() if node not in chosen]
    assert not left or max(left) <= min(scores) + 1e-12
    marks = ["" if not accounts[node][1] else f"{accounts[node][1] - 1}" for node in chosen]
    assert [mark for _, _, mark in found] == marks


def test_a_timeline_that_has_no_more_and_one_that_was_read_far_enough_are_left_alone():
    graph, queue = make([(5, 2), (4, 0), (3, 0)], most=2)
    assert [graph.node(row) for row, _, _ in queue.choose(9, 9)] == [1, 2]
    queue.note_page(Pick(1, Node(1), Act.PAGE), Outcome(1, Node(1), 0.0, mark=""))
    assert [graph.node(row) for row, _, _ in queue.choose(9, 9)] == [2]


def test_a_page_that_fails_is_tried_again_and_then_no_more():
    _, queue = make([(5, 0)])
    failed = Outcome(1, Node(0), 0.0, missing=Reason.TEMPORARY)
    for _ in range(TRIES - 1):
        queue.note_page(Pick(1, Node(0), Act.PAGE), failed)
        assert len(queue.choose(1, 9)) == 1
    queue.note_page(Pick(1, Node(0), Act.PAGE), failed)
    assert queue.choose(1, 9) == []


def test_while_one_rests_others_have_their_turn_and_who_is_gone_has_none():
    graph, queue = make([(5, 0), (4, 0), (3, 0)])
    queue.note_page(Pick(1, Node(0), Act.PAGE), Outcome(1, Node(0), 0.0, missing=Reason.TEMPORARY))
    queue.note_page(Pick(2, Node(2), Act.PAGE), Outcome(2, Node(2), 0.0, missing=Reason.SUSPENDED))
    assert [graph.node(row) for row, _, _ in queue.choose(9, 3)] == [1]
    assert [graph.node(row) for row, _, _ in queue.choose(9, 1 + REST)] == [0, 1]
    queue.note_page(Pick(3, Node(9), Act.PAGE), Outcome(3, Node(9), 0.0, missing=Reason.FORGOTTEN))
    assert [graph.node(row) for row, _, _ in queue.choose(9, 99)] == [0, 1], "nobody knows who that was"
