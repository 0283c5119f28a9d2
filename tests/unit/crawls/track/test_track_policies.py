"""Policies against brute force: exact probabilities, and chi-square on keyed draws; the best exactly."""

from collections import Counter

import numpy as np
import pytest
from time_graphs import Timed, drive, tell, track

from socialcrawl.crawls.track.target import Target
from socialcrawl.crawls.track.tracked_graph import CRAWLED, FRONTIER
from socialcrawl.crawls.track.visit_policies import NAMES, PolicyMixture
from socialcrawl.engine.model import Node
from socialcrawl.errors import SettingsError

DRAWS = 4_000
WORLD = Timed(size=60, links=500, end=1200.0, seed=3)


def explored(picks=60):
    """A graph with a frontier and crawled nodes of all kinds of scores, and the crawl that made it."""
    crawl = track(choice=PolicyMixture("ai", "u", 0.5, 1), target=Target(parallel="each"), mark=repr)
    drive(crawl, WORLD, picks)
    return crawl


CRAWL = explored()


def members(crawl, state, column=""):
    """The referee's reading: weight by node of those in a state."""
    graph = crawl.graph
    rows = [row for row in range(graph.size) if graph.state[row] == state]
    return {graph.nodes[row]: graph.lists[column][row] if column else 1.0 for row in rows}


def proportional(weights):
    total = sum(weights.values())
    return {node: weight / total for node, weight in weights.items() if weight}


def one(weights):
    return {max(weights, key=lambda node: (weights[node], -CRAWL.graph.row(node))): 1.0}


def half(first, second):
    return {node: (first.get(node, 0) + second.get(node, 0)) / 2 for node in {**first, **second}}


def expected(name):
    """The probabilities of each node by the words of the paper."""
    crawled = {column: members(CRAWL, CRAWLED, column) for column in ("", "outlinks", "yield", "link_score")}
    u, most = proportional(crawled[""]), {column: one(weights) for column, weights in crawled.items()}
    return {
        "ai": lambda: proportional(members(CRAWL, FRONTIER, "indegree")),
        "gai": lambda: one(members(CRAWL, FRONTIER, "indegree")),
        "u": lambda: u,
        "or": lambda: proportional(crawled["outlinks"]),
        "yr": lambda: proportional(crawled["yield"]),
        "yru": lambda: half(proportional(crawled["yield"]), u),
        "ldu": lambda: half(most["link_score"], u),
        "ydu": lambda: half(most["yield"], u),
        "oru": lambda: half(proportional(crawled["outlinks"]), u),
    }[name]()


def chosen(choice, crawl=CRAWL):
    """Whom a choice names for many numbers of picks."""
    aimed = choice.aim_at(crawl.target.column)
    return [aimed.pick(crawl.graph, n, frozenset()) for n in range(DRAWS)]


def test_the_picture_that_policies_are_tried_on_has_something_to_choose_from():
    crawled = {column: members(CRAWL, CRAWLED, column) for column in ("outlinks", "yield", "link_score")}
    assert len(members(CRAWL, FRONTIER)) >= 4
    assert all(len(set(weights.values())) >= 4 for weights in crawled.values())
    assert len({next(iter(one(weights))) for weights in crawled.values()}) >= 2
    assert 0.0 in crawled["yield"].values()


@pytest.mark.parametrize("name", ["ai", "gai", "u", "or", "yr", "yru", "ldu", "ydu", "oru"])
def test_a_policy_draws_with_the_probabilities_of_its_definition(name):
    choice = PolicyMixture(name, "u", 0.0, 5) if name in NAMES["expansion"] else PolicyMixture("ai", name, 1.0, 5)
    counts, exact = Counter(node for _, node, _ in chosen(choice)), expected(name)
    assert set(counts) <= set(exact)
    if len(exact) == 1:
        assert counts == dict.fromkeys(exact, DRAWS)
        return
    squares = sum((counts[node] - DRAWS * share) ** 2 / (DRAWS * share) for node, share in exact.items())
    freedom = len(exact) - 1
    assert squares < freedom + 4 * np.sqrt(2 * freedom)  # mean and deviations of chi-square


@pytest.mark.parametrize("name", [name for name in NAMES["recrawl"] if name != "opic"])
def test_where_nobody_has_a_positive_score_yet_a_recrawl_is_uniform(name):
    fresh = track(0, 1, 2, choice=PolicyMixture("ai", name, 1.0, 2))
    for node in range(3):
        tell(fresh, node, "seed")
    counts = Counter(node for _, node, _ in chosen(PolicyMixture("ai", name, 1.0, 2), fresh))
    assert set(counts) == {0, 1, 2}
    assert all(abs(count - DRAWS / 3) < 4 * np.sqrt(DRAWS * 2 / 9) for count in counts.values())


def test_the_score_of_a_pick_is_what_it_was_chosen_by():
    for name, column in (("or", "outlinks"), ("yr", "yield"), ("ldu", "link_score")):
        for _, node, score in chosen(PolicyMixture("ai", name, 1.0, 5))[:50]:
            assert score == CRAWL.graph.lists[column][CRAWL.graph.row(node)]


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 1.0])
def test_so_many_picks_go_back_as_p_says(p):
    acts = Counter(act for act, _, _ in chosen(PolicyMixture("gai", "or", p, 9)))
    assert abs(acts["recrawl"] - p * DRAWS) <= 4 * np.sqrt(DRAWS * p * (1 - p))


def test_where_the_frontier_is_empty_the_other_side_is_asked_but_for_one_without_probability():
    alone = track(choice=PolicyMixture("gai", "or", 0.5, 1))
    drive(alone, Timed(1, 0, 0.0), 20)
    assert (alone.picks, alone.taken) == (20, 19)
    never = track(choice=PolicyMixture("gai", "or", 0.0, 1))
    drive(never, Timed(1, 0, 0.0), 20)
    assert never.picks == 1
    assert never.choose(1, 0.0).kind == "done"


def test_a_crawl_that_only_goes_back_never_expands():
    crawl = track(choice=PolicyMixture("gai", "u", 1.0, 1))
    drive(crawl, WORLD, 20)
    assert crawl.graph.left > 0
    assert {node for node, weight in members(crawl, CRAWLED).items()} == {0}


def test_no_node_is_twice_in_a_batch_and_a_batch_takes_all_there_are():
    everybody = len(members(CRAWL, CRAWLED)) + len(members(CRAWL, FRONTIER))
    for size in (2, 7, everybody, everybody + 9):
        batch = CRAWL.choose(size, 900.0)
        assert len({pick.node for pick in batch}) == len(batch) == min(size, everybody)
        assert [pick.n for pick in batch] == list(range(CRAWL.picks, CRAWL.picks + len(batch)))


def test_the_second_of_a_batch_is_drawn_from_whom_the_first_left():
    aimed = PolicyMixture("ai", "u", 1.0, 4).aim_at("indegree")
    crawled = members(CRAWL, CRAWLED)
    first = next(iter(crawled))
    counts = Counter(aimed.pick(CRAWL.graph, n, frozenset({first}))[1] for n in range(DRAWS))
    exact = DRAWS / (len(crawled) - 1)
    assert set(counts) == set(crawled) - {first}
    assert sum((count - exact) ** 2 / exact for count in counts.values()) < len(crawled) + 4 * np.sqrt(2 * len(crawled))


def test_a_policy_of_ones_own_may_name_nodes_that_nobody_has_discovered():
    class Far:
        column = ""

        def pick(self, graph, draw, barred):
            return next(Node(node) for node in (77, 78) if node not in barred and not graph.is_crawled(node))

    crawl = track(choice=PolicyMixture(Far(), "u", 0.0, 1))
    drive(crawl, WORLD, 2)
    assert crawl.graph.is_crawled(77)
    assert [pick.node for pick in crawl.choose(1, 0.0)] == [78]


@pytest.mark.parametrize("wrong", [{"expansion": "best"}, {"recrawl": "ai"}, {"p": 1.5}, {"p": -0.1}])
def test_a_wrong_name_or_probability_is_said(wrong):
    with pytest.raises(SettingsError, match=r"Choose one of|between 0 and 1"):
        PolicyMixture(**wrong)
    with pytest.raises(SettingsError, match="Choose one of"):
        Target("fame")
