"""Which timeline is read further: the order, the end of a timeline, failures, and that it follows from the history."""

from collections import Counter
from dataclasses import dataclass, field
from math import log1p

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from socialcrawl.crawls.collect.page_queue import DECLINE, NEARNESS, REST, TRIES, TRUST, PageQueue
from socialcrawl.engine.model import Act, Node, Outcome, Pick, Reason
from socialcrawl.graph.graph import CrawlGraph


def make(accounts, most=32):
    """A queue of accounts 0, 1, ... that have these values and pages, each of which links to the ones before it."""
    graph = CrawlGraph()
    queue = PageQueue(graph, most)
    for node, (value, _) in enumerate(accounts):
        graph.add(Node(node), float(value), np.arange(node), np.ones(node))
        queue.note_matched(Node(node), float(value))
    for node, (_, pages) in enumerate(accounts):
        for number in range(pages):
            queue.note_page(Pick(0, Node(node), Act.PAGE), Outcome(0, Node(node), 0.0, mark=f"{number}"))
    return graph, queue


@dataclass
class Story:
    """What happened, in plain values, and what is expected of the next pages by the definition."""

    values: dict = field(default_factory=dict)  # by account that was matched
    links: dict = field(default_factory=dict)  # whom each links to
    pages: Counter = field(default_factory=Counter)
    led: dict = field(default_factory=dict)  # by account, whose page led to it first
    expected: float = TRUST

    def known(self):
        return self.values.keys() | set().union(*self.links.values())

    def rated(self, node):
        many = sum(node in targets for targets in self.links.values())
        return self.values[node] + NEARNESS * log1p(many)

    def found(self, node=None):
        return sum(self.values.get(to, 0.0) for to, by in self.led.items() if node in (None, by))

    def scores(self):
        rate = (TRUST + self.found()) / self.expected
        return {
            node: (rate * self.rated(node) + self.found(node)) / (1 + self.pages[node]) ** DECLINE
            for node in self.values
        }


PAGES = st.lists(st.tuples(st.integers(0, 11), st.sets(st.integers(0, 11), max_size=4), st.integers(0, 9)), max_size=12)


@given(PAGES, st.integers(1, 9))
def test_the_next_page_is_the_one_that_is_expected_to_lead_to_most_relevance(history, size):
    graph, story = CrawlGraph(), Story()
    queue = PageQueue(graph, 32)

    def match(node, value):
        graph.add(Node(node), float(value), np.empty(0, np.int64), np.empty(0))
        queue.note_matched(Node(node), float(value))
        story.values[node] = float(value)
        story.links.setdefault(node, set())

    match(0, 4)
    for number, (place, targets, value) in enumerate(history):
        reader = list(story.values)[place % len(story.values)]
        story.expected += story.rated(reader)
        story.led |= dict.fromkeys(targets - story.known(), reader)
        story.pages[reader] += 1
        ends, weights = np.array(sorted(targets), np.int64), np.ones(len(targets))
        outcome = Outcome(number, Node(reader), 0.0, graph_value(graph, reader), ends, weights, mark=f"{number}")
        queue.note_page(Pick(number, Node(reader), Act.PAGE), outcome)
        graph.renew(Node(reader), outcome.value, ends, weights)
        story.links[reader] |= targets - {reader}
        waiting = sorted(story.known() - story.values.keys())
        if waiting and value:
            match(waiting[place % len(waiting)], value - 1)
    wanted = story.scores()
    found = queue.choose(size, 0)
    assert len(found) == min(size, len(wanted))
    chosen = [graph.node(row) for row, _, _ in found]
    assert len(set(chosen)) == len(chosen)
    scores = [score for _, score, _ in found]
    assert scores == sorted(scores, reverse=True)
    np.testing.assert_allclose(scores, [wanted[node] for node in chosen])
    left = [score for node, score in wanted.items() if node not in chosen]
    assert not left or max(left) <= min(scores) + 1e-9


def graph_value(graph, node):
    return float(graph.value(np.array([graph.row(Node(node))]))[0])


def test_the_next_page_of_a_timeline_begins_where_the_last_one_ended():
    graph, queue = make([(5, 2), (4, 0), (3, 1)])
    assert {graph.node(row): mark for row, _, mark in queue.choose(9, 9)} == {0: "1", 1: "", 2: "0"}


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
