"""OPIC where accounts are tracked: the expansion that goes by cash does so whatever the crawl is after."""

import numpy as np
import pytest
from time_graphs import Timed, drive, tell, track

from socialcrawl.crawls.track.target import TARGETS, Target
from socialcrawl.crawls.track.tracked_graph import FRONTIER
from socialcrawl.crawls.track.visit_policies import EXPANSIONS, PolicyMixture, make_expansion

WORLD = Timed(size=60, links=500, end=1200.0, seed=3)


def frontier(crawl):
    return [row for row in range(crawl.graph.size) if crawl.graph.state[row] == FRONTIER]


def held(crawl, rows):
    """The cash of rows, straight from the accounts."""
    return crawl.graph.cash.get_cash(np.array(rows, np.int64))


@pytest.mark.parametrize("target", TARGETS)
def test_opic_takes_whoever_of_the_frontier_has_most_cash_whatever_the_target_is(target):
    crawl = track(choice=PolicyMixture("opic", "u", 0.0, 1), target=Target(target), mark=repr)
    drive(crawl, WORLD, 1)
    for number in range(1, 30):
        rows = frontier(crawl)
        cash = held(crawl, rows)
        ((pick,), _) = drive(crawl, WORLD, number + 1)[0]
        assert pick.node == crawl.graph.nodes[rows[int(cash.argmax())]]  # the first of equals
        assert pick.score == pytest.approx(cash.max())


def test_cash_and_in_links_disagree_and_each_expansion_takes_its_own():
    crawl = track(0, choice=PolicyMixture("opic", "u", 0.0), target=Target("indegree"))
    tell(crawl, 0, links=[1, 2, 3])  # equally: a third less the small edge each
    tell(crawl, 1, links=[4])  # all that 1 had goes to 4
    tell(crawl, 2, links=[5, 6, 7, 8, 9, 10, 11])
    tell(crawl, 3, links=[5, 12, 13, 14, 15, 16, 17])  # 5 has two links, and little of either
    rows = frontier(crawl)
    nodes = [int(crawl.graph.nodes[row]) for row in rows]
    assert nodes[int(held(crawl, rows).argmax())] == 4
    best = {name: make_expansion(name, crawl.target.column).pick(crawl.graph, lambda _: 0.5, frozenset()) for name in
            EXPANSIONS if name != "ai"}  # fmt: skip
    assert best == {"gai": 5, "opic": 4}
    assert (make_expansion("opic", "indegree").column, make_expansion("gai", "indegree").column) == ("cash", "indegree")
