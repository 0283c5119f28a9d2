"""Importance on the graph seen so far: OPIC against a few dictionaries, Navigational Rank against dense solutions."""

import math

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.engine.model import Node
from socialcrawl.errors import SettingsError
from socialcrawl.graph.graph import CrawlGraph
from socialcrawl.importance.navigational import compute_navigational_rank
from socialcrawl.importance.opic import Cash

# -- OPIC

WEIGHTS = st.sampled_from([0.0, 1.0, 1e-3, 1e6]) | st.floats(0, 1e9, allow_subnormal=False)


@st.composite
def payments(draw):
    """Rows that pay, in any order and repeatedly, to any others, by any shares."""
    size = draw(st.integers(1, 30))
    row = st.integers(0, size - 1)
    targets = st.lists(row, unique=True, max_size=8)
    several = draw(st.lists(st.tuples(row, targets), max_size=60))
    paid = [(u, vs, draw(st.none() | st.lists(WEIGHTS, min_size=len(vs), max_size=len(vs)))) for u, vs in several]
    return size, draw(st.lists(row, min_size=1, unique=True)), paid


def rows(numbers):
    return np.array(numbers, np.int64)


class Ledger:
    """The referee: C, H, G and the sink, as section 5.3 writes them, with dictionaries."""

    def __init__(self, seeds):
        self.c, self.h, self.g, self.sink = dict.fromkeys(seeds, 1 / len(seeds)), {}, 0.0, 0.0

    def pay(self, v, to, shares):
        cash = self.c.get(v, 0.0)
        self.h[v] = self.h.get(v, 0.0) + cash
        self.g += cash
        self.c[v] = 0.0
        shares = shares if shares is not None and math.fsum(shares) > 0 else [1.0] * len(to)
        self.sink += 0.0 if to else cash
        for u, share in zip(to, shares, strict=True):
            self.c[u] = self.c.get(u, 0.0) + cash * share / math.fsum(shares)


@settings(deadline=None, max_examples=many(120))
@given(payments())
def test_cash_is_never_made_nor_lost_and_the_accounts_are_those_of_a_dictionary(made):
    size, seeds, paid = made
    cash, ledger, everybody = Cash(), Ledger(seeds), np.arange(size)
    cash.start(rows(seeds))
    for u, to, shares in paid:
        cash.pay(u, rows(to), None if shares is None else np.array(shares, np.float64))
        ledger.pay(u, to, shares)
        assert math.fsum(cash.get_cash(everybody)) + cash.sink == pytest.approx(1.0, abs=1e-9)
        assert math.fsum(cash.history) == pytest.approx(cash.paid, abs=1e-9)
    assert (cash.get_cash(everybody) >= 0).all()
    assert cash.get_cash(everybody) == pytest.approx([ledger.c.get(v, 0.0) for v in range(size)], abs=1e-12)
    assert cash.history[:size] == pytest.approx([ledger.h.get(v, 0.0) for v in range(size)], abs=1e-12)
    assert (cash.paid, cash.sink) == pytest.approx((ledger.g, ledger.sink), abs=1e-12)
    wanted = [(ledger.h.get(v, 0.0) + ledger.c.get(v, 0.0)) / (ledger.g + 1.0) for v in range(size)]
    assert cash.estimate(everybody) == pytest.approx(wanted, abs=1e-12)


def test_cash_is_conserved_over_many_payments_of_many_rows():
    rng, cash = np.random.default_rng(3), Cash()
    cash.start(np.arange(7))
    for step in range(6_000):
        to = rng.choice(5_000, rng.integers(0, 9) if step % 3 else 20, replace=False)
        cash.pay(int(rng.integers(0, 5_000)) if step % 2 else int(cash.cash.argmax()), to, rng.random(len(to)))
    assert math.fsum(cash.get_cash(np.arange(5_000))) + cash.sink == pytest.approx(1.0, abs=1e-9)
    assert math.fsum(cash.history) == pytest.approx(cash.paid, rel=1e-12)
    assert 0 < cash.sink < 1 < cash.paid


def test_one_payment_by_hand():
    cash = Cash()
    cash.start(rows([4, 2]))
    assert cash.get_cash(np.arange(6)).tolist() == [0, 0, 0.5, 0, 0.5, 0]
    cash.pay(4, rows([0, 2, 5]), np.array([3.0, 1.0, 0.0]))
    assert cash.get_cash(np.arange(6)).tolist() == [0.375, 0, 0.625, 0, 0, 0]
    cash.pay(2, rows([]))
    assert (cash.sink, cash.paid, cash.history[[2, 4]].tolist()) == (0.625, 1.125, [0.625, 0.5])
    assert cash.estimate(rows([0, 4])).tolist() == [0.375 / 2.125, 0.5 / 2.125]


@pytest.mark.parametrize("shares", [None, [0.0, 0.0, 0.0], [2.5, 2.5, 2.5]])
def test_without_shares_or_with_nothing_but_zeros_all_get_the_same(shares):
    cash = Cash()
    cash.start(rows([9]))
    cash.pay(9, rows([1, 2, 3]), None if shares is None else np.array(shares))
    assert cash.get_cash(rows([1, 2, 3])) == pytest.approx([1 / 3] * 3, rel=1e-15)


def test_who_links_to_himself_only_would_keep_his_cash_and_nobody_gets_negative():
    cash = Cash()
    cash.start(rows([0]))
    cash.pay(0, rows([0]))
    assert (cash.get_cash(rows([0])).tolist(), cash.paid, cash.history[0]) == ([1.0], 1.0, 1.0)


def test_rows_far_beyond_the_first_accounts_have_accounts_and_keep_what_there_was():
    cash = Cash()
    cash.start(rows([1]))
    cash.pay(1, rows([0, 50_000]))
    assert cash.get_cash(rows([90_000, 50_000, 0])).tolist() == [0.0, 0.5, 0.5]
    assert cash.estimate(rows([200_000, 1])).tolist() == [0.0, 0.5]


def test_nobody_has_nothing():
    cash = Cash()
    cash.start(rows([]))
    assert cash.get_cash(rows([])).tolist() == cash.estimate(rows([])).tolist() == []


def grown(name, *fetched, seeds=(0,)):
    """The graph, and the estimator that has followed it: `fetched` gives (node, value, {target: alpha})."""
    graph, estimator = CrawlGraph(), make_estimator(name, seed=1)
    for node in seeds:
        graph.seed(Node(node))
    estimator.sow(graph, rows([graph.row(Node(node)) for node in seeds]))
    for node, value, links in fetched:
        row = graph.add(Node(node), value, rows(list(links)), np.array(list(links.values()), np.float64))
        estimator.note_fetched(graph, row)
    return graph, estimator


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        # 1 has a part of 1 and pays it to 0 (fetched, value 4), 2 (known by 0 and 1: mean 3), 3 (known by 1: 2).
        ("opic", [1 / 2 + 1 / 6, 1 / 6]),
        ("opic-e", [3 / 4 + 1 / 4 * 1 / 5, 1 / 4 * 4 / 5]),
        ("opic-n", [1 / 2 + 1 / 2 * 3 / 9, 1 / 2 * 2 / 9]),
        ("opic-ne", [3 / 4 + 1 / 4 * 3 / 11, 1 / 4 * 8 / 11]),
    ],
)
def test_the_four_ways_to_pay_by_hand(name, wanted):
    graph, estimator = grown(name, (0, 4.0, {1: 1.0, 2: 3.0}), (1, 2.0, {0: 0.0, 2: 1.0, 3: 4.0}))
    scores = estimator.score(graph, graph.frontier(), 1)
    assert graph.nodes(graph.frontier()).tolist() == [2, 3]
    assert scores == pytest.approx(wanted, rel=1e-15)


@pytest.mark.parametrize("name", ["opic-e", "opic-n", "opic-ne"])
def test_where_neither_weights_nor_values_say_anything_the_links_share_equally(name):
    graph, estimator = grown(name, (0, 0.0, {1: 0.0, 2: 0.0, 3: 0.0, 4: 0.0}))
    assert estimator.score(graph, graph.frontier(), 0).tolist() == [0.25] * 4


def test_a_seed_is_paid_by_a_seed_before_it_pays_and_a_self_link_takes_no_share():
    graph, estimator = grown("opic", (7, 1.0, {3: 1.0, 7: 1.0, 5: 1.0}), (3, 1.0, {5: 1.0, 6: 1.0}), seeds=(7, 3))
    assert estimator.score(graph, graph.frontier(), 0).tolist() == [0.25 + 0.375, 0.375]


# -- Navigational Rank


@st.composite
def linked(draw):
    """Up to 40 nodes, distinct links, values, of which some are 0 as on a frontier."""
    n = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    a = rng.random((n, n)) < draw(st.sampled_from([0.0, 0.03, 0.1, 0.4, 1.0]))
    np.fill_diagonal(a, val=False)
    values = rng.choice([0.0, 1.0, 2.5, 7.0], n) * draw(st.sampled_from([1e-6, 1.0, 1e9]))
    return a, values


def dense(a, values, d):
    """The referee: both systems as they are written, solved; the average of nothing is 0."""
    n, a = len(values), a.astype(float)
    out, into = a.sum(axis=1), a.sum(axis=0)
    up = [[a[v, u] / out[v] / into[u] if a[v, u] else 0.0 for u in range(n)] for v in range(n)]
    down = [[a[u, v] / into[v] / out[u] if a[u, v] else 0.0 for u in range(n)] for v in range(n)]
    one = np.linalg.solve(np.eye(n) - (1 - d) * np.array(up), d * values)
    return one, np.linalg.solve(np.eye(n) - (1 - d) * np.array(down), d * one)


def iterated(a, values, d, rounds):
    """The same by the loops of the paper, node by node, from w."""
    n = len(values)
    children = [[u for u in range(n) if a[v, u]] for v in range(n)]
    parents = [[u for u in range(n) if a[u, v]] for v in range(n)]

    def spread(own, near, other):
        rank = list(own)
        for _ in range(rounds):
            parts = [[rank[u] / len(other[u]) for u in near[v]] for v in range(n)]
            rank = [d * own[v] + (1 - d) * (sum(parts[v]) / len(parts[v]) if parts[v] else 0.0) for v in range(n)]
        return rank

    one = spread(values.tolist(), children, parents)
    return one, spread(one, parents, children)


def ranked(a, values, d, **options):
    sources, targets = np.nonzero(a)
    return compute_navigational_rank(sources, targets, values, d, **options)


@settings(deadline=None, max_examples=many(150))
@given(linked(), st.sampled_from([1.0, 0.85, 0.5, 0.15, 0.01]) | st.floats(0.005, 1.0))
def test_ranks_solve_both_systems_to_the_tolerance(made, d):
    a, values = made
    close = 1e-12 * values.max() + 1e-13 * values.max() / d  # the tolerance, and the rounding of both ways
    for rank, wanted in zip(ranked(a, values, d), dense(a, values, d), strict=True):
        assert rank.dtype == np.float64
        assert np.abs(rank - wanted).max() <= close


@settings(deadline=None, max_examples=many(25))
@given(linked(), st.sampled_from([0.9, 0.5, 0.3]))
def test_ranks_are_where_the_papers_iteration_ends(made, d):
    a, values = made
    rounds = math.ceil(math.log(1e-14) / math.log(1 - d))
    for rank, wanted in zip(ranked(a, values, d), iterated(a, values, d, rounds), strict=True):
        assert np.allclose(rank, wanted, rtol=0, atol=1e-11 * values.max())


@settings(deadline=None, max_examples=many(60))
@given(linked(), st.sampled_from([0.5, 0.1, 0.02]), st.sampled_from([1e-1, 1e-3, 1e-6, 1e-9]))
def test_a_wider_tolerance_is_kept_too(made, d, tolerance):
    a, values = made
    largest = values.max() * (1 + 1e-9)
    for rank, wanted in zip(ranked(a, values, d, tolerance=tolerance), dense(a, values, d), strict=True):
        assert np.abs(rank - wanted).max() <= tolerance * largest


def test_a_wider_tolerance_takes_fewer_steps_so_that_it_is_really_used():
    a = np.ones((12, 12), bool) ^ np.eye(12, dtype=bool)
    values = np.arange(12.0)
    wide, narrow = (ranked(a, values, 0.1, tolerance=x)[1] for x in (1e-2, 1e-12))
    wanted = dense(a, values, 0.1)[1]
    assert 1e-7 < np.abs(wide - wanted).max() < 1e-2 * 11
    assert np.abs(narrow - wanted).max() < 1e-12 * 11


@settings(deadline=None)
@given(linked())
def test_with_d_1_a_rank_is_the_nodes_own_value(made):
    a, values = made
    one, two = ranked(a, values, 1.0)
    assert one.tolist() == two.tolist() == values.tolist()


def test_the_average_of_nothing_is_0_worked_out_by_hand():
    # 0 -> 1, 0 -> 2, 3 -> 2, and 4 alone; d = 1/2, w = (4, 2, 8, 0, 6).
    a = np.zeros((5, 5), bool)
    a[[0, 0, 3], [1, 2, 2]] = True
    one, two = ranked(a, np.array([4.0, 2.0, 8.0, 0.0, 6.0]), 0.5)
    # Without children: half of w. 0: 2 + 1/2 (1/1 + 4/2)/2; 3: 0 + 1/2 (4/2).
    assert one == pytest.approx([2.75, 1.0, 4.0, 1.0, 3.0], abs=1e-11)
    # Without parents: half of NR1. 1: 1/2 + 1/2 (1.375/2); 2: 2 + 1/2 (1.375/2 + 0.5/1)/2.
    assert two == pytest.approx([1.375, 0.84375, 2.296875, 0.5, 1.5], abs=1e-11)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_without_links_or_nodes_or_values_there_is_nothing_to_hand_on(n):
    values = np.arange(n, dtype=np.float64)
    one, two = ranked(np.zeros((n, n), bool), values, 0.5)
    assert (one.tolist(), two.tolist()) == ((values / 2).tolist(), (values / 4).tolist())
    one, two = ranked(np.ones((n, n), bool), np.zeros(n), 0.25)
    assert one.tolist() == two.tolist() == [0.0] * n


@pytest.mark.parametrize("d", [0.0, -0.5, 1.0000001, math.nan, math.inf])
def test_d_out_of_range_is_refused_by_both(d):
    with pytest.raises(ValueError, match="the weight of a node's own score must be above 0 and at most 1"):
        compute_navigational_rank(rows([0]), rows([1]), np.ones(2), d)
    with pytest.raises(SettingsError, match=r"give a number from 0.001 to 1"):
        make_estimator("nr", seed=1, nr_d=d)


def random_graph(seed, fetched=15, nodes=40):
    graph, rng, links = CrawlGraph(), np.random.default_rng(seed), []
    graph.seed(Node(0))
    for _ in range(fetched):
        node = int(rng.choice(graph.nodes(graph.frontier()))) if graph.left else 0
        to = rng.choice(nodes, rng.integers(1, 6), replace=False)
        graph.add(Node(node), float(rng.choice([0.0, 1.0, 3.5])), to, rng.random(len(to)))
        links += [(node, v) for v in to.tolist() if v != node]
    return graph, links


@pytest.mark.parametrize("d", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_the_estimator_ranks_all_that_is_known_with_w_0_on_the_frontier(seed, d):
    graph, links = random_graph(seed)
    a = np.zeros((graph.size, graph.size), bool)
    for u, v in links:
        a[graph.row(Node(u)), graph.row(Node(v))] = True
    values = np.zeros(graph.size)
    values[graph.list_fetched()] = graph.value(graph.list_fetched())
    scores = make_estimator("nr", seed=1, nr_d=d).score(graph, graph.frontier(), 3)
    assert scores == pytest.approx(dense(a, values, d)[1][graph.frontier()], abs=2e-10 * values.max())
    assert len(scores) > 5
    assert scores.any() == (d < 1)  # with d = 1 a frontier node has its own w = 0 only


@pytest.mark.parametrize("value", [1.0, 1e-12, 7e8])
@pytest.mark.parametrize("d", [0.05, 0.3, 0.7])
def test_nodes_that_cannot_be_told_apart_tie_to_the_last_bit(value, d):
    """0 links to 1 .. 6, each of them to one of 7 .. 12 and to its neighbour in the ring 1 .. 6."""
    for turn in range(6):
        order = [1 + (i + turn) % 6 for i in range(6)]  # another order of sums, the same ranks
        graph = CrawlGraph()
        graph.seed(Node(0))
        graph.add(Node(0), 3.0 * value, rows(order), np.ones(6))
        for i in order:
            graph.add(Node(i), value, rows([6 + i, 1 + i % 6]), np.ones(2))
        scores = make_estimator("nr", seed=1, nr_d=d).score(graph, graph.frontier(), 7)
        assert len(scores) == 6
        assert len(set(scores.tolist())) == 1
        assert scores[0] > 0
