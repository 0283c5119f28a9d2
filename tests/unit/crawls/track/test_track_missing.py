"""Accounts that cannot be read: for a while, for good, under another name; each case on a few links."""

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from time_graphs import Timed, answer, drive, tell, track

from socialcrawl.crawls.track.crawl import REST
from socialcrawl.crawls.track.target import Target
from socialcrawl.crawls.track.tracked_graph import COLUMNS
from socialcrawl.crawls.track.visit_policies import PolicyMixture
from socialcrawl.engine.model import SameAs, Stop
from socialcrawl.graph.relevance import compute_worth

BACK = PolicyMixture("gai", "u", 1.0, 1)


def at(crawl, node, name):
    return crawl.graph.at(crawl.graph.row(node), name)


@pytest.mark.parametrize("why", ["suspended", "protected", "deleted", "unknown", "excluded", "opted-out"])
def test_who_is_gone_is_asked_no_more_but_stays_in_what_was_counted(why):
    crawl = track(0, 1, choice=BACK)
    tell(crawl, 0, "seed", links=[1, 5], value=compute_worth(2))
    tell(crawl, 1, "seed", links=[5])
    before = crawl.relevance + crawl.seed_relevance
    tell(crawl, 0, "recrawl", at=9.0, missing=why)
    assert crawl.gone == {0: why}
    assert not crawl.graph.is_crawled(0)
    assert [pick.node for pick in crawl.choose(5, 9.0)] == [1]
    assert at(crawl, 5, "indegree") == 2
    assert at(crawl, 0, "outlinks") == 2
    assert crawl.relevance + crawl.seed_relevance == before
    assert 0 not in [node for node, _ in crawl.rank_nodes()]


def test_a_frontier_node_that_is_gone_leaves_the_frontier():
    crawl = track(choice=PolicyMixture("gai", "u", 0.0, 1))
    tell(crawl, 0, "seed", links=[1, 2])
    assert crawl.graph.left == 2
    tell(crawl, 1, missing="protected")
    assert (crawl.graph.left, crawl.graph.size) == (1, 3)
    assert [pick.node for pick in crawl.choose(5, 0.0)] == [2]


def test_who_is_forgotten_leaves_no_trace():
    crawl = track(0, 1, choice=PolicyMixture("gai", "u", 0.5, 1), target=Target("importance"))
    tell(crawl, 0, "seed", links=[1, 5])
    tell(crawl, 5, missing="forgotten")
    assert crawl.gone == {}
    assert 5 not in {node for node, _ in crawl.rank_nodes()}
    assert [at(crawl, 5, name) for name in COLUMNS if name != "cash"] == [0.0] * 6
    assert crawl.graph.cash.sum_cash() == pytest.approx(1.0, abs=1e-12)


def test_who_fails_for_a_while_rests_and_is_given_up_after_three_times_in_a_row():
    crawl = track(0, 1, choice=BACK)
    for node in (0, 1):
        tell(crawl, node, "seed")
    for failures in (1, 2):
        tell(crawl, 0, "recrawl", missing="temporary")
        assert crawl.failures == {0: failures}
        assert crawl.resting == {0: crawl.picks - 1 + REST}
        while crawl.resting:
            assert [pick.node for pick in crawl.choose(5, 0.0)] == [1]
            tell(crawl, 1, "recrawl")
        assert {pick.node for pick in crawl.choose(5, 0.0)} == {0, 1}
    tell(crawl, 0, "recrawl", missing="temporary")
    assert crawl.gone == {0: "temporary"}
    assert [pick.node for pick in crawl.choose(5, 0.0)] == [1]


def test_an_answer_ends_a_row_of_failures():
    crawl = track(0, 1, choice=BACK)
    for missing in (None, "temporary", "temporary", None, "temporary", "temporary"):
        tell(crawl, 0, "recrawl", missing=missing)
    assert (crawl.failures, crawl.gone) == ({0: 2}, {})


def test_a_seed_that_fails_for_a_while_goes_back_in_line():
    crawl = track(choice=PolicyMixture("gai", "u", 0.5, 1))
    history = drive(crawl, Timed(2, 1, 0.0), 3, failing=lambda pick: "temporary" if pick.n < 2 else None)
    assert [batch[0].act for batch, _ in history] == ["seed", "seed", "seed"]
    assert crawl.graph.is_crawled(0)
    assert (crawl.failures, crawl.resting) == ({}, {})
    given_up = track(choice=PolicyMixture("gai", "u", 0.5, 1))
    drive(given_up, Timed(2, 1, 0.0), 9, failing=lambda pick: "temporary")
    assert given_up.picks == 3
    assert given_up.choose(1, 0.0).kind == "failed"


def test_where_only_those_are_left_who_failed_they_are_asked_before_their_time():
    crawl = track(choice=PolicyMixture("gai", "u", 0.0, 1))
    tell(crawl, 0, "seed", links=[1])
    tell(crawl, 1, missing="temporary")
    (pick,) = crawl.choose(3, 0.0)
    assert (pick.act, pick.node) == ("expand", 1)
    crawl.absorb((pick,), [answer(pick)])
    assert isinstance(crawl.choose(1, 0.0), Stop)
    back = track(choice=BACK)
    tell(back, 0, "seed")
    tell(back, 0, "recrawl", missing="temporary")
    assert [pick.act for pick in back.choose(3, 0.0)] == ["recrawl"]


def test_a_seed_that_was_visited_before_is_asked_since_its_mark():
    crawl = track(mark=repr, window=1000.0, choice=BACK)
    tell(crawl, 5, at=10.0, links=[6], mark="post 7")
    tell(crawl, 5, "recrawl", at=20.0, missing="suspended")
    crawl.seeds.ready = [5, 6]
    assert [pick.since for pick in crawl.choose(2, 30.0)] == ["post 7", "-970.0"]
    tell(crawl, 5, "seed", "post 7", at=30.0, links=[6])
    assert (crawl.gone, crawl.graph.is_crawled(5), at(crawl, 6, "indegree")) == ({}, True, 1)


# -- Two names of one account


def test_who_was_renamed_keeps_links_totals_and_visits_under_the_new_name():
    crawl = track(0, 1, choice=BACK, target=Target("importance"))
    tell(crawl, 0, "seed", at=1.0, links=[1, 7])
    tell(crawl, 1, "seed", at=2.0, links=[7, (8, compute_worth(3))], value=compute_worth(5), mark="post 4")
    tell(crawl, 7, links=[8])
    cash, (mine, other) = crawl.graph.cash, crawl.graph.column("cash")[[1, 3]]
    tell(crawl, 1, "recrawl", at=9.0, missing=SameAs(8))
    assert crawl.gone == {}
    assert crawl.graph.is_crawled(8)
    assert crawl.graph.row(1) == crawl.graph.row(8)
    row = crawl.graph.row(8)
    assert (crawl.graph.total[row], crawl.graph.mark[row], crawl.graph.last_at[row]) == (5, "post 4", 2.0)
    # The link from the one name to the other is none any more; 0 and 7 link there.
    assert crawl.graph.links[row] == {crawl.graph.row(7): 1}
    assert (at(crawl, 8, "indegree"), at(crawl, 7, "indegree")) == (2, 2)
    assert crawl.graph.column("cash")[row] == pytest.approx(mine + other)
    assert cash.size == cash.known.sum() == 3
    assert cash.sum_cash() == pytest.approx(1.0, abs=1e-12)
    assert {pick.node for pick in crawl.choose(5, 9.0)} == {0, 7, 8}
    tell(crawl, 0, "recrawl", at=9.0, links=[8, 1])
    assert at(crawl, 8, "indegree") == 2  # he had linked there


def test_a_name_that_turns_out_to_be_one_that_was_gone_is_asked_again():
    crawl = track(0, 1, choice=BACK)
    tell(crawl, 0, "seed", links=[3], mark="post 1")
    tell(crawl, 1, "seed", missing="suspended")
    tell(crawl, 0, "recrawl", missing=SameAs(1))
    assert crawl.gone == {}
    assert [(pick.node, pick.since) for pick in crawl.choose(5, 0.0)] == [(1, "post 1")]


def test_a_name_that_was_changed_back_is_asked_again():
    crawl = track(0, choice=BACK)
    tell(crawl, 0, "seed", links=[3])
    tell(crawl, 0, "recrawl", missing=SameAs(4))
    tell(crawl, 4, "recrawl", missing=SameAs(0))
    assert [pick.node for pick in crawl.choose(5, 0.0)] == [0]
    tell(crawl, 0, "recrawl", links=[3, 5])
    assert (at(crawl, 3, "indegree"), at(crawl, 5, "indegree")) == (1, 1)


VISITED = st.tuples(
    st.integers(0, 6),  # who
    st.integers(0, 3),  # occurrences
    st.dictionaries(st.integers(0, 6), st.integers(1, 3), max_size=4),  # links
)


@settings(deadline=None, max_examples=many(60))
@given(
    st.lists(VISITED, max_size=8, unique_by=lambda visit: visit[0]),
    st.integers(0, 6),
    st.integers(0, 6),
    st.sampled_from(["once", "each"]),
)
def test_after_a_renaming_all_is_as_if_there_had_been_one_name(visits, alias, node, parallel):
    crawl = track(target=Target(parallel=parallel))
    for u, value, links in visits:
        told = [(v, float(n) if parallel == "each" else compute_worth(n)) for v, n in links.items()]
        tell(crawl, u, links=told, value=compute_worth(value))
    tell(crawl, alias, "recrawl", missing=SameAs(node))
    totals, pairs = {}, {}
    one = lambda v: node if v == alias else v  # noqa: E731 (a word for it)
    for u, value, links in visits:
        totals[one(u)] = max(totals.get(one(u), 0), value)
        found = {}
        for v, n in links.items():
            if one(v) != one(u):
                found[one(v)] = found.get(one(v), 0) + n
        for v, n in found.items():
            pairs[one(u), v] = max(pairs.get((one(u), v), 0), n)
    for v in {one(v) for v in range(7)} & {one(int(v)) for v in crawl.graph.nodes}:
        into = [(compute_worth(totals.get(u, 0)), compute_worth(n), n) for (u, w), n in pairs.items() if w == v]
        assert at(crawl, v, "indegree") == (sum(n for *_, n in into) if parallel == "each" else len(into))
        assert at(crawl, v, "n_sum") == pytest.approx(sum(a for a, _, _ in into), abs=1e-12)
        assert at(crawl, v, "e_sum") == pytest.approx(sum(b for _, b, _ in into), abs=1e-12)
        assert at(crawl, v, "relevance") == pytest.approx(sum(a * b for a, b, _ in into), abs=1e-12)
        assert crawl.graph.total[crawl.graph.row(v)] == totals.get(v, 0)


def test_a_history_with_renamings_and_failures_folds_as_it_was_absorbed():
    def failing(pick):
        return {6: SameAs(50), 9: "temporary", 15: "suspended", 20: SameAs(3), 31: "forgotten"}.get(pick.n)

    made = lambda: track(choice=PolicyMixture("ai", "or", 0.5, 2), target=Target(cash=True))  # noqa: E731 (made twice)
    crawl, again = made(), made()
    again.fold(drive(crawl, Timed(30, 300, 900.0, seed=5), 60, failing=failing))
    assert again.choose(9, 1e4) == crawl.choose(9, 1e4)
    assert again.graph.lists == crawl.graph.lists
    assert np.array_equal(again.graph.column("cash"), crawl.graph.column("cash"))
