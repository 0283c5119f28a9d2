"""Static OPIC with a virtual page: against a ledger of dictionaries, its three laws at every step, and the fixpoint."""

import math

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.importance.link_matrix import MATRICES, add_virtual_page, compute_reference, make_out_links
from socialcrawl.importance.opic import Cash
from socialcrawl.importance.static_opic import SELECTIONS, StaticGraph, make_visit_order


def rows(numbers):
    return np.array(numbers, np.int64)


class Ledger:
    """The referee: every account by name, a virtual page that really pays to one after the other."""

    def __init__(self, small, threshold, seeds):
        self.small, self.threshold = small, threshold
        self.c = dict.fromkeys([*seeds, "virtual"], 1 / (len(seeds) + 1))
        self.h, self.g, self.granted = dict.fromkeys(self.c, 0.0), 0.0, 0.0
        self.settle()

    def join(self, v, history):
        if v not in self.c:
            self.c[v], self.h[v] = 0.0, history
            self.granted += history

    def pay(self, v, to, shares):
        for u in [*to, v]:
            self.join(u, 0.0)
        shares = shares if shares is not None and math.fsum(shares) > 0 else [1.0] * len(to)
        cash, whole = self.spend(v), math.fsum(shares)
        links = cash * len(to) / (len(to) + self.small) if to else 0.0
        for u, share in zip(to, shares, strict=True):
            self.c[u] += links * share / whole
        self.c["virtual"] += cash - links
        self.settle()

    def spend(self, v):
        cash, self.c[v] = self.c[v], 0.0
        self.h[v] += cash
        self.g += cash
        return cash

    def settle(self):
        if self.c["virtual"] > self.threshold:
            everybody = [v for v in self.c if v != "virtual"]
            cash = self.spend("virtual")
            for v in everybody:
                self.c[v] += cash / len(everybody)

    def lend(self, to, amount):
        moved = min(amount, self.c["virtual"])
        for v in to:
            self.join(v, 0.0)
            self.c[v] += moved / len(to)
        self.c["virtual"] -= moved if to else 0.0
        return moved if to else 0.0


@st.composite
def doings(draw):
    """Payments, newcomers, loans and changes of the small edge, in any order."""
    row = st.integers(0, 29)
    several = st.lists(row, unique=True, max_size=7)
    some = st.one_of(
        st.tuples(st.just("pay"), row, several, st.none() | st.lists(st.floats(0, 9), min_size=7, max_size=7)),
        st.tuples(st.just("join"), row, st.sampled_from([0.0, 0.25])),
        st.tuples(st.just("lend"), several, st.sampled_from([1e-4, 0.02, 2.0])),
        st.tuples(st.just("small"), st.sampled_from([0.0, 0.5, 1.0, 7.0])),
    )
    seeds = draw(st.lists(row, min_size=1, max_size=9, unique=True))
    return draw(st.sampled_from([0.1, 1.0, 3.0])), draw(st.sampled_from([0.0, 0.01, 0.3])), seeds, draw(st.lists(some))


@settings(deadline=None, max_examples=many(60))
@given(doings())
def test_the_accounts_are_those_of_a_virtual_page_that_pays_to_one_after_the_other(made):
    small, threshold, seeds, doing = made
    cash, ledger, everybody = Cash(small, threshold), Ledger(small, threshold, seeds), np.arange(30)
    cash.start(rows(seeds))
    for what, *with_ in doing:
        if what == "pay":
            row, to, shares = with_
            given_ = None if shares is None else shares[: len(to)]
            cash.pay(row, rows(to), None if given_ is None else np.array(given_, np.float64))
            ledger.pay(row, to, given_)
        elif what == "join":
            cash.join(*with_)
            ledger.join(*with_)
        elif what == "lend":
            assert cash.lend(rows(with_[0]), with_[1]) == pytest.approx(ledger.lend(*with_), abs=1e-12)
        else:
            cash.small = ledger.small = with_[0]
        wanted = [ledger.c.get(v, 0.0) for v in everybody.tolist()]
        assert cash.get_cash(everybody) == pytest.approx(wanted, abs=1e-11)
        assert cash.get_history(everybody) == pytest.approx(
            [ledger.h.get(v, 0.0) for v in everybody.tolist()], abs=1e-11
        )
        assert cash.virtual == pytest.approx(ledger.c["virtual"], abs=1e-11)
        assert cash.virtual_history == pytest.approx(ledger.h["virtual"], abs=1e-11)
        assert (cash.paid, cash.granted) == pytest.approx((ledger.g, ledger.granted), abs=1e-11)
        assert (cash.get_cash(everybody) >= 0).all()
        assert cash.sum_cash() == pytest.approx(1.0, abs=1e-9)
        assert (cash.sink, cash.size) == (0.0, len(ledger.c) - 1)
        assert math.fsum(cash.history) + cash.virtual_history == pytest.approx(cash.paid + cash.granted, abs=1e-9)
        whole = cash.estimate(everybody).sum() + (cash.virtual + cash.virtual_history) / (cash.paid + cash.granted + 1)
        assert whole == pytest.approx(1.0, abs=1e-9)


def drawn(seed, size, links, *, weighted=False):
    """A graph with a few popular rows, some without links and some that link to themselves."""
    rng = np.random.default_rng(seed)
    sources = rng.integers(0, max(1, size - size // 5), links)
    targets = (size * rng.random(links) ** 2.5).astype(np.int64)
    return make_out_links(sources, targets, size, rng.integers(1, 6, links).astype(float) if weighted else None)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("small", [1.0, 0.2])
@pytest.mark.parametrize("name", SELECTIONS)
def test_the_three_laws_and_the_error_factor_hold_after_every_step(name, small, weighted):
    links = drawn(5, 25, 90, weighted=weighted)
    walk = add_virtual_page(links, small).toarray()
    graph, everybody = StaticGraph(links), np.arange(25)
    cash = graph.start(small)
    order, first = make_visit_order(name, cash, 3), np.full(26, 1 / 26)
    for _ in range(400):
        graph.run(cash, order, 1)
        c, h = (
            np.append(cash.get_cash(everybody), cash.virtual),
            np.append(cash.get_history(everybody), cash.virtual_history),
        )
        assert math.fsum(c) == pytest.approx(1.0, abs=1e-9)
        assert cash.sum_cash() == pytest.approx(1.0, abs=1e-9)
        assert math.fsum(h) == pytest.approx(cash.paid, abs=1e-9)
        assert h + c == pytest.approx(first + walk.T @ h, abs=1e-9)
        x = h / cash.paid
        assert np.abs(walk.T @ x - x).max() <= 1 / cash.paid + 1e-9
    assert cash.compute_rough(everybody) == pytest.approx(x[:25], rel=1e-12)
    assert cash.paid > 10


def test_total_cash_and_history_stay_right_over_many_steps_of_many_rows():
    graph = StaticGraph(drawn(1, 3_000, 20_000))
    cash = graph.start(1.0)
    order = make_visit_order("greedy", cash)
    for _ in range(30):
        graph.run(cash, order, 400)
        assert math.fsum(cash.get_cash(np.arange(3_000))) + cash.virtual == pytest.approx(1.0, abs=1e-9)
        assert math.fsum(cash.history) + cash.virtual_history == pytest.approx(cash.paid, abs=1e-9)


@pytest.mark.parametrize("name", SELECTIONS)
def test_the_estimates_tend_to_the_fixpoint_of_the_same_graph_with_the_virtual_page(name):
    links, everybody = drawn(8, 60, 350), np.arange(60)
    wanted = compute_reference(links, 1.0)
    graph = StaticGraph(links)
    cash = graph.start(1.0)
    order, errors = make_visit_order(name, cash, 1), []
    for _ in range(2):
        graph.run(cash, order, 60 * 40 if not errors else 60 * 360)
        sides = cash.estimate(everybody), cash.compute_rough(everybody)
        errors.append([float(np.abs(side - wanted[:60]).sum()) * cash.paid for side in sides])
        virtual = (cash.virtual + cash.virtual_history) / (cash.paid + 1)
        assert abs(virtual - wanted[60]) < 2 / cash.paid
    # The error falls as 1/G does: ten times the steps, and error * G is still of the same size.
    assert 0 < np.max(errors) < 3
    assert cash.paid > 300
    assert np.abs(cash.estimate(everybody) - wanted[:60]).max() < 0.002 < wanted.max() / 10


@pytest.mark.parametrize("name", MATRICES)
def test_any_link_matrix_that_is_read_row_by_row_has_its_fixpoint(name):
    matrix, everybody = MATRICES[name](drawn(3, 40, 150, weighted=True)), np.arange(40)
    graph = StaticGraph(matrix)
    cash = graph.start(0.5)
    graph.run(cash, make_visit_order("greedy", cash), 8_000)
    assert cash.paid > 300
    assert np.abs(cash.estimate(everybody) - compute_reference(matrix, 0.5)[:40]).sum() < 3 / cash.paid


def gain(name, size=500):
    """Mean of n times the cash of the rows that were visited, after a warm-up; the virtual page apart."""
    graph = StaticGraph(drawn(2, size, 12 * size))
    cash = graph.start(1.0)
    order = make_visit_order(name, cash, 7)
    graph.run(cash, order, 3 * size)
    before = cash.history.sum()
    graph.run(cash, order, 20 * size)
    return (cash.history.sum() - before) / 20


def test_a_random_step_gains_1_n_th_and_a_greedy_one_nearly_twice_as_much():
    assert gain("random") == pytest.approx(1.0, abs=0.05)
    assert gain("greedy") == pytest.approx(2.0, abs=0.35)


def test_the_virtual_page_by_hand():
    cash = Cash(1.0, threshold=0.3)
    cash.start(rows([0, 1, 2]))
    assert (cash.virtual, cash.get_cash(np.arange(4)).tolist()) == (0.25, [0.25, 0.25, 0.25, 0.0])
    cash.pay(0, rows([1, 3]))  # a third to each of 1, 3 and the virtual page, which has 1/3 then and pays it to four
    assert cash.get_cash(np.arange(5)) == pytest.approx([1 / 12, 5 / 12, 1 / 3, 1 / 6, 0], abs=1e-15)
    assert (cash.virtual, cash.virtual_history, cash.paid) == pytest.approx((0, 1 / 3, 7 / 12), abs=1e-15)
    assert cash.get_cash(rows([0])) == cash.offset == pytest.approx(1 / 12, rel=1e-15)


def test_a_settlement_is_one_number_however_many_rows_there_are():
    cash = Cash(1.0, threshold=1.0)
    cash.start(np.arange(50_000))
    cash.pay(7, rows([]))
    accounts = cash.cash.copy()
    cash.settle()
    assert (cash.cash == accounts).all()
    assert cash.get_cash(rows([7, 8])) == pytest.approx(
        [2 / 50_001 / 50_000, 1 / 50_001 + 2 / 50_001 / 50_000], rel=1e-12
    )


def test_a_newcomer_has_no_part_in_what_was_paid_to_all_before_and_brings_its_default_history():
    cash = Cash(1.0, threshold=0.0)
    cash.start(rows([0, 1]))
    cash.pay(0, rows([1]))
    assert cash.offset > 0
    cash.join(rows([2, 0]), history=np.array([0.5, 99.0]))  # 0 is known already and stays as it is
    assert cash.get_cash(rows([2])).tolist() == [0.0]
    assert cash.get_history(rows([0, 2, 5_000])).tolist() == [0.5, 0.5, 0.0]
    assert (cash.granted, cash.size) == (0.5, 3)
    assert cash.sum_cash() == pytest.approx(1.0, abs=1e-12)
    assert cash.compute_rough(rows([2])) == pytest.approx([0.5 / (cash.paid + 0.5)], rel=1e-15)
    before = cash.offset
    cash.pay(1, rows([]))
    assert cash.get_cash(rows([2])) == pytest.approx([cash.offset - before], rel=1e-12)


@pytest.mark.parametrize("weight", [0.0, 1.0, 4.0])
def test_the_weight_of_the_small_edge_is_what_the_virtual_page_gets(weight):
    cash = Cash(1.0, threshold=1.0)
    cash.start(rows([0, 1, 2]))
    cash.small = weight
    cash.pay(0, rows([1, 2]), np.array([5.0, 15.0]))
    links = 0.25 * 2 / (2 + weight)
    assert cash.virtual == pytest.approx(0.25 + 0.25 - links, rel=1e-15)
    assert cash.get_cash(rows([1, 2])) == pytest.approx([0.25 + links / 4, 0.25 + links * 3 / 4], rel=1e-15)


def test_a_loan_is_no_more_than_the_virtual_page_has_and_no_visit():
    cash = Cash(1.0, threshold=1.0)
    cash.start(rows([0, 1, 2]))
    assert cash.lend(rows([]), 0.1) == cash.lend(rows([1]), -1.0) == 0.0
    assert cash.lend(rows([1, 8]), 0.1) == 0.1
    assert cash.lend(rows([2]), 9.0) == pytest.approx(0.15)
    assert cash.get_cash(rows([0, 1, 2, 8])) == pytest.approx([0.25, 0.3, 0.4, 0.05])
    assert (cash.virtual, cash.paid, cash.sum_cash()) == pytest.approx((0.0, 0.0, 1.0))


def test_before_the_first_payment_nobody_has_a_rough_importance():
    cash = Cash(1.0)
    cash.start(rows([3]))
    assert Cash().compute_rough(rows([0, 3])).tolist() == [0.0, 0.0]
    assert Cash().sum_cash() == 0.0


def test_the_same_calls_give_the_same_bits():
    def accounts():
        graph = StaticGraph(drawn(4, 300, 2_000, weighted=True))
        cash = graph.start(0.7)
        graph.run(cash, make_visit_order("random", cash, 5), 900)
        graph.run(cash, make_visit_order("greedy", cash), 900)
        return cash

    one, two = accounts(), accounts()
    assert (one.cash == two.cash).all()
    assert (one.history == two.history).all()
    assert (one.paid, one.virtual, one.offset) == (two.paid, two.virtual, two.offset)
