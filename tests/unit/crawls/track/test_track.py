"""Track: what a visit changes against computing everything from scratch; replay; rest."""

import copy
from collections import defaultdict

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from time_graphs import Timed, answer, drive, tell, track

from socialcrawl.crawls.track.target import PARALLEL, Target, invert_worth
from socialcrawl.crawls.track.tracked_graph import COLUMNS, CRAWLED
from socialcrawl.crawls.track.visit_policies import PolicyMixture
from socialcrawl.engine.model import Node, Pick, SameAs, Stop, Wait
from socialcrawl.graph.relevance import compute_worth

# -- Totals and differences


class Referee:
    """All visits so far, and what follows from them, computed anew from the paper's words whenever it is asked."""

    def __init__(self, parallel):
        self.parallel = parallel
        self.totals, self.pairs = defaultdict(int), defaultdict(int)
        self.brought = defaultdict(list)  # of a node: (links new, their in-degrees before, at) of each visit
        self.indegree = defaultdict(int)

    def visit(self, u, at, value, links, since):
        self.totals[u] = self.totals[u] + value if since else max(self.totals[u], value)
        new = {}
        for v, n in links.items():
            if v == u:
                continue
            was, known = self.pairs[u, v], (u, v) in self.known()
            self.pairs[u, v] = was + n if since else max(was, n)
            more = self.pairs[u, v] - was
            new[v] = {"each": more, "once": int(not known), "visits": int(not known or since or more > 0)}[
                self.parallel
            ]
            self.seen.add((u, v))
        self.brought[u].append((sum(new.values()), sum(n * self.indegree[v] for v, n in new.items()), at))
        for v, n in new.items():
            self.indegree[v] += n

    seen = frozenset()

    def known(self):
        if not self.seen:
            self.seen = set()
        return self.seen

    def sums(self, v):
        into = [(u, n) for (u, w), n in self.pairs.items() if w == v and (u, w) in self.known()]
        values = [(compute_worth(self.totals[u]), compute_worth(n)) for u, n in into]
        return sum(a for a, _ in values), sum(b for _, b in values), sum(a * b for a, b in values)

    def pace(self, u):
        """(yield, link score) of the latest visit that was later than the one before."""
        visits = self.brought[u]
        score = visits[-1][1] if len(visits) > 1 else 0
        last, found = visits[0][2], 0.0
        for count, _, at in visits[1:]:
            if at > last:
                found = count / (at - last)
            last = max(last, at)
        return found, score


VISITS = st.lists(
    st.tuples(
        st.integers(0, 5),  # who
        st.booleans(),  # only what is new
        st.integers(0, 4),  # occurrences
        st.dictionaries(st.integers(0, 7), st.integers(0, 4), max_size=5),
        st.sampled_from([0.0, 1.0, 50.0]),  # seconds after the visit before
    ),
    max_size=14,
)


@settings(deadline=None, max_examples=many(60))
@given(VISITS, st.sampled_from(PARALLEL))
def test_what_a_visit_changes_is_what_computing_all_anew_says(visits, parallel):
    crawl, referee, at = track(target=Target(parallel=parallel)), Referee(parallel), 0.0
    for u, since, value, links, later in visits:
        at += later
        alpha = [(v, float(n) if parallel == "each" else compute_worth(n)) for v, n in links.items()]
        act = "recrawl" if crawl.graph.is_crawled(u) else "expand"
        tell(crawl, u, act, "mark" if since else "", at=at, links=alpha, value=compute_worth(value))
        referee.visit(u, at, value, links, since)
    graph, lists = crawl.graph, crawl.graph.lists
    for row, v in enumerate(graph.nodes):
        assert lists["indegree"][row] == referee.indegree[v]
        assert graph.total[row] == referee.totals[v]
        assert [lists[name][row] for name in ("n_sum", "e_sum", "relevance")] == pytest.approx(referee.sums(v))
        assert lists["outlinks"][row] == sum(count for count, _, _ in referee.brought[v])
        assert lists["visits"][row] == len(referee.brought[v])
        if referee.brought[v]:
            assert (lists["yield"][row], lists["link_score"][row]) == pytest.approx(referee.pace(v))
    assert crawl.relevance == pytest.approx(sum(compute_worth(total) for total in referee.totals.values()))


def test_counting_undoes_the_worth_of_any_number_of_occurrences():
    assert [invert_worth(compute_worth(n)) for n in range(5_000)] == list(range(5_000))
    assert invert_worth(compute_worth(10**9)) == 10**9
    assert invert_worth(1e6) > 2**50


def test_a_second_visit_that_asks_for_all_adds_only_what_is_new_and_one_that_asks_for_the_new_adds_it_all():
    crawl = track(target=Target(parallel="each"))
    tell(crawl, 0, at=0.0, links=[(1, 2.0), (2, 1.0)], value=compute_worth(3))
    tell(crawl, 0, "recrawl", at=10.0, links=[(1, 3.0)], value=compute_worth(4))
    graph = crawl.graph
    assert graph.links[0] == {1: 3, 2: 1}
    assert (graph.at(0, "yield"), graph.total[0]) == (0.1, 4)
    tell(crawl, 0, "recrawl", "m", at=20.0, links=[(1, 3.0)], value=compute_worth(4))
    assert graph.links[0] == {1: 6, 2: 1}
    assert (graph.at(0, "yield"), graph.total[0], graph.at(1, "indegree")) == (0.3, 8, 6.0)


def test_the_link_score_counts_the_in_links_from_before_the_visit_over_time_where_asked_so():
    for per_time, score in ((False, 2.0), (True, 0.2)):
        crawl = track(target=Target(per_time=per_time))
        tell(crawl, 0, at=0.0, links=[9])
        tell(crawl, 1, at=0.0, links=[7])
        tell(crawl, 2, at=0.0, links=[7])
        tell(crawl, 0, "recrawl", at=10.0, links=[9, 7, 8])
        assert crawl.graph.at(0, "link_score") == score
        assert crawl.graph.at(crawl.graph.row(7), "indegree") == 3


def test_a_visit_at_the_same_instant_leaves_the_yield_as_it_was():
    crawl = track()
    for at, links in ((0.0, [1]), (10.0, [1, 2]), (10.0, [1, 2, 3])):
        tell(crawl, 0, "recrawl", at=at, links=links)
    assert crawl.graph.at(0, "yield") == 0.1


def test_an_account_that_fell_silent_yields_nothing_and_is_known_to_be_looked_at():
    crawl = track()
    for at, links in ((0.0, [1]), (10.0, [1, 2]), (40.0, [])):
        tell(crawl, 0, "recrawl", at=at, links=links)
    assert crawl.graph.at(0, "yield") == crawl.graph.at(0, "link_score") == 0
    assert crawl.graph.last_at[0] == 40.0


# -- Marks


def test_a_recrawl_asks_since_its_mark_or_since_the_window_where_that_is_long_past():
    crawl = track(choice=PolicyMixture("gai", "u", 1.0, 1), mark=lambda at: f"at {at}", window=100.0)
    (first,) = crawl.choose(1, 1000.0)
    assert (first.act, first.since) == ("seed", "at 900.0")
    crawl.absorb((first,), [answer(first, 1010.0, mark="post 5")])
    assert [pick.since for pick in crawl.choose(1, 1110.0)] == ["post 5"]
    assert [pick.since for pick in crawl.choose(1, 1111.0)] == ["at 1011.0"]
    (second,) = crawl.choose(1, 1020.0)
    crawl.absorb((second,), [answer(second, 1020.0)])  # nothing new has no mark of its own
    assert [pick.since for pick in crawl.choose(1, 1050.0)] == ["post 5"]


def test_without_marks_and_window_everything_is_asked_for_every_time():
    crawl = track(choice=PolicyMixture("gai", "u", 1.0, 1))
    for _ in range(2):
        (pick,) = crawl.choose(1, 0.0)
        assert pick.since == ""
        crawl.absorb((pick,), [answer(pick)])


# -- Replay


def state_of(crawl):
    """Everything that a crawl has learned; trees are no more than an order of it."""
    graph = {key: value for key, value in vars(crawl.graph).items() if key not in ("_trees", "cash", "target")}
    cash = crawl.graph.cash
    money = (
        ()
        if cash is None
        else (cash.get_cash(np.arange(crawl.graph.size)).tolist(), cash.get_history(np.arange(9)).tolist())
    )
    rest = (crawl.picks, crawl.taken, crawl.relevance, crawl.gone, crawl.failures, crawl.resting)
    return copy.deepcopy((graph, money, rest))


def failing(pick):
    return {3: "temporary", 11: "suspended", 17: "temporary", 30: "protected"}.get(pick.n)


SETUPS = [
    ("ai", "or", Target(parallel="each"), 0.0),
    ("gai", "ldu", Target(parallel="visits"), 90.0),
    ("ai", "opic", Target("importance"), 0.0),
    ("gai", "yru", Target("relevance", cash=True), 50.0),
    ("opic", "opic", Target("importance", topical=True), 0.0),
]


@pytest.mark.parametrize(("expansion", "recrawl", "target", "rest"), SETUPS)
@pytest.mark.parametrize("size", [1, 4])
def test_folding_is_absorbing_and_the_next_choice_is_the_same(expansion, recrawl, target, rest, size):
    made = lambda: track(  # noqa: E731 (the same crawl anew)
        0, 1, choice=PolicyMixture(expansion, recrawl, 0.5, 3), mark=repr, window=400.0, target=target, rest=rest
    )
    crawl, world = made(), Timed(30, 200, 2000.0, seed=1, window=400.0)
    history = drive(crawl, world, 70, size, failing)
    assert crawl.picks >= 60
    again = made()
    again.fold(history)
    now = 2000.0
    assert again.choose(5, now) == crawl.choose(5, now)
    assert repr(state_of(again)) == repr(state_of(crawl))
    for tree, other in zip(again.graph._trees.items(), crawl.graph._trees.items(), strict=False):
        assert tree[0] in crawl.graph._trees
        assert other[1].settle() == other[1].settle()


@pytest.mark.parametrize(("expansion", "recrawl", "target", "rest"), SETUPS)
def test_choosing_changes_nothing(expansion, recrawl, target, rest):
    crawl = track(choice=PolicyMixture(expansion, recrawl, 0.5, 3), target=target, rest=rest, mark=repr)
    history = drive(crawl, Timed(30, 200, 2000.0, seed=2), 25)
    now = history[-1][1][-1].at
    # What sleeps and rests is looked at by the clock of who asks; asking for another time in between changes nothing.
    first = [crawl.choose(size, now) for size in (1, 3, 9)]
    for size, other in ((2, now + 1e6), (4, now), (1, now - 1e6), (50, now)):
        crawl.choose(size, other)
    assert [crawl.choose(size, now) for size in (1, 3, 9)] == first
    twin = track(choice=PolicyMixture(expansion, recrawl, 0.5, 3), target=target, rest=rest, mark=repr)
    twin.fold(history)
    assert [twin.choose(size, now) for size in (1, 3, 9)] == first


@pytest.mark.parametrize(("expansion", "recrawl", "target", "rest"), SETUPS)
def test_trees_hold_what_is_known_now_after_every_visit(expansion, recrawl, target, rest):
    crawl = track(choice=PolicyMixture(expansion, recrawl, 0.5, 3), target=target, rest=rest, mark=repr)
    world = Timed(30, 200, 2000.0, seed=6)
    failing = {7: "temporary", 12: SameAs(40), 19: "suspended", 25: "temporary"}
    for picks in range(1, 60):
        drive(crawl, world, picks, failing=lambda pick: failing.get(pick.n))
        if picks == 30:
            tell(crawl, 99, missing="temporary")  # nobody linked there
        crawl.graph.wake(20.0 * picks)
        for tree in crawl.graph._trees.values():
            leaves = tree.settle()[tree._leaves :]
            assert leaves[: crawl.graph.size] == [tree._weigh(row) for row in range(crawl.graph.size)]


def test_a_pick_carries_its_features_as_they_were():
    crawl = track(choice=PolicyMixture("gai", "u", 0.0, 1))
    tell(crawl, 0, "seed", at=5.0, links=[(1, 2.0), (2, 1.0)], value=compute_worth(3))
    crawl.seeds.ready.clear()
    (pick,) = crawl.choose(1, 10.0)
    features = dict(zip(COLUMNS, pick.x, strict=True))
    assert (pick.act, pick.node, pick.score) == ("expand", 1, 1.0)
    assert features["indegree"] == 1.0
    assert features["relevance"] == pytest.approx(compute_worth(3) * compute_worth(invert_worth(2.0)))


# -- Budget and rest


def test_steps_count_what_comes_after_the_seeds():
    crawl = track(0, 1, steps=5)
    history = drive(crawl, Timed(30, 100, 0.0), 100, size=2)
    acts = [pick.act for batch, _ in history for pick in batch]
    assert acts[:2] == ["seed", "seed"]
    assert (len(acts), crawl.taken) == (7, 5)
    assert crawl.choose(2, 0.0) == Stop("done", "the limit of 5 steps is reached")


def test_a_limit_of_one_step_is_told_in_the_singular():
    crawl = track(0, 1, steps=1)
    drive(crawl, Timed(30, 100, 0.0), 100, size=2)
    assert crawl.choose(2, 0.0) == Stop("done", "the limit of 1 step is reached")


def test_accounts_are_left_alone_after_a_visit_and_the_crawl_waits_for_the_first_of_them():
    crawl = track(10, 30, choice=PolicyMixture("gai", "u", 0.5, 1), rest=100.0)
    for at in (10.0, 30.0):
        tell(crawl, int(at), "seed", at=at)
    assert isinstance(crawl.choose(3, 40.0), Wait)
    assert crawl.choose(3, 40.0).until == 110.0
    assert [pick.node for pick in crawl.choose(3, 110.0)] == [10]
    assert {pick.node for pick in crawl.choose(3, 130.0)} == {10, 30}
    assert crawl.choose(3, 109.0).until == 110.0  # a clock that was set back
    (pick,) = crawl.choose(1, 110.0)
    crawl.absorb((pick,), [answer(pick, 110.0)])
    assert crawl.choose(3, 111.0).until == 130.0


def test_without_a_seed_that_can_be_read_the_crawl_says_so():
    crawl = track()
    tell(crawl, 0, "seed", missing="suspended")
    assert crawl.choose(1, 0.0).kind == "failed"
    empty = track()
    empty.seeds.ready.clear()
    assert empty.choose(1, 0.0).kind == "failed"


# -- Importance


def test_cash_is_neither_made_nor_lost_and_the_richest_is_visited_again():
    crawl = track(choice=PolicyMixture("gai", "opic", 0.5, 3), target=Target("importance"))
    world, cash = Timed(40, 300, 3000.0, seed=4), crawl.graph.cash
    for picks in range(1, 120):
        drive(crawl, world, picks)
        assert cash.sum_cash() == pytest.approx(1.0, abs=1e-9)
        (pick,) = crawl.choose(1, 20.0 * picks)
        of = crawl.graph.column("cash")
        there = [
            row for row in range(crawl.graph.size) if (crawl.graph.state[row] == CRAWLED) == (pick.act != "expand")
        ]
        assert of[crawl.graph.row(pick.node)] == pytest.approx(max(of[there]), abs=1e-15)
    estimates = crawl.compute_importance(np.arange(crawl.graph.size))
    assert estimates.sum() + (cash.virtual + cash.virtual_history) / (cash.paid + 1) == pytest.approx(1.0)
    node, weight = crawl.rank_nodes(1)[0]
    assert weight == max(estimates) == estimates[crawl.graph.row(node)]


def test_topical_cash_flows_along_relevant_links_by_their_weight():
    crawl = track(target=Target("importance", topical=True, small=0.5))
    tell(crawl, 0, "seed", links=[(1, 3.0), (2, 1.0), (3, 0.0)])
    one, two, three = crawl.graph.column("cash")[1:]
    share = compute_worth(invert_worth(3.0))
    assert (one - three) / (two - three) == pytest.approx(share)  # all have the same of the virtual page
    before = 1.0 * 2 / (2 + 0.5)  # all cash lay with the seed; half a link of two and a half is the virtual page's
    assert one - three == pytest.approx(before * share / (share + 1))


def test_standing_is_by_the_target_and_leaves_out_who_is_gone():
    crawl = track()
    tell(crawl, 0, "seed", links=[1, 2, 3])
    tell(crawl, 1, links=[2, 3])
    tell(crawl, 2, links=[3])
    assert crawl.rank_nodes(2) == [(3, 3.0), (2, 2.0)]
    tell(crawl, 3, missing="suspended")
    assert crawl.rank_nodes() == [(2, 2.0), (1, 1.0), (0, 0.0)]


def test_whole_histories_of_imports_and_searches_are_taken_in():
    crawl = track(9)
    crawl.seeds.queries = [Node(-1)]
    crawl.seeds.look_up = False
    (pick,) = crawl.choose(1, 0.0)
    assert pick.act == "search"
    crawl.absorb((pick,), [answer(pick, links=[4, 5])])
    imported = Pick(1, Node(4), "import")
    crawl.absorb((imported,), [answer(imported, 3.0, links=[9, 6], value=compute_worth(2))])
    assert (crawl.imported, crawl.relevance, crawl.graph.is_crawled(4)) == (1, 0.0, True)
    assert [pick.node for pick in crawl.choose(5, 3.0)] == [9, 5]
