"""The selections of OPIC: against a look at all accounts, step by step, with newcomers, ties and loans between."""

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.importance import static_opic as selections
from socialcrawl.importance.link_matrix import make_out_links
from socialcrawl.importance.opic import Cash
from socialcrawl.importance.static_opic import SELECTIONS, StaticGraph, make_visit_order


def rows(numbers):
    return np.array(numbers, np.int64)


def richest(cash):
    """The referee: the first of the known rows with most cash."""
    known = np.flatnonzero(cash.known)
    return int(known[cash.cash[known].argmax()])


@pytest.mark.parametrize("most", [1, 3, 4096])
@settings(deadline=None, max_examples=many(40))
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 1.0]), st.sampled_from([0.0, 0.01, 0.2]))
def test_greedy_is_the_first_row_with_most_cash_at_every_step(most, seed, small, threshold):
    before, selections.RICHEST = selections.RICHEST, most
    try:
        rng, cash = np.random.default_rng(seed), Cash(small, threshold)
        order = make_visit_order("greedy", cash)
        cash.start(rng.choice(40, 5, replace=False))
        for step in range(70):
            row = order.choose_next()
            assert row == order.choose_next() == richest(cash)
            if step % 9 == 4:
                cash.join(int(rng.integers(0, 60)))
            elif step % 9 == 6:
                cash.lend(rng.choice(60, 3, replace=False), 0.01)
            elif step % 9 == 7:  # two of the known turn out to be one, or one goes away
                left, other = rng.choice(np.flatnonzero(cash.known), 2, replace=False).tolist()
                cash.merge(left, other) if step % 2 else cash.leave(left)
            elif step % 9 == 8:  # somebody else's turn
                cash.pay(int(rng.integers(0, 60)), rng.choice(60, 2, replace=False))
            else:
                cash.pay(row, rng.choice(40, rng.integers(1, 5), replace=False))
    finally:
        selections.RICHEST = before


def test_greedy_ties_go_to_the_smaller_row():
    cash = Cash(1.0)
    order = make_visit_order("greedy", cash)
    cash.start(rows([9, 4, 6]))
    chosen = []
    for _ in range(3):
        chosen.append(order.choose_next())
        cash.pay(chosen[-1], rows([]))
    assert chosen == [4, 6, 9]


def test_greedy_knows_of_cash_that_came_by_a_merger(monkeypatch):
    monkeypatch.setattr(selections, "RICHEST", 1)
    cash = Cash()
    order = make_visit_order("greedy", cash)
    cash.start(np.arange(5))
    cash.pay(0, rows([3]))  # 3 has two fifths
    assert order.choose_next() == 3  # the only one in order
    cash.pay(3, rows([4]))  # and now 4 three fifths
    assert order.choose_next() == 4
    cash.pay(4, rows([0, 1, 2, 3]))  # .15, .35, .35, .15
    cash.merge(1, 3)  # .5
    assert order.choose_next() == 3


@pytest.mark.parametrize("small", [None, 1.0])
def test_who_left_is_chosen_no_more_and_who_came_instead_is(small):
    for name in SELECTIONS:
        cash = Cash(small)
        order = make_visit_order(name, cash, 3)
        cash.start(rows([0, 1, 2]))
        for row in (0, 1, 2):
            cash.pay(row, rows([]))  # without a virtual page nobody has anything any more
        order.choose_next()
        cash.leave(0)
        assert order.choose_next() != 0
        cash.join(7)  # as many as before
        chosen = []
        for _ in range(40):
            chosen.append(order.choose_next())
            cash.pay(chosen[-1], rows([7]) if chosen[-1] != 7 else rows([1]))
        assert 7 in chosen or (name, small) == ("greedy", None)  # where nobody has anything, it is the lowest row
        assert 0 not in chosen, name


def test_greedy_takes_a_newcomer_as_soon_as_it_is_no_poorer_than_the_richest():
    cash = Cash(1.0, threshold=1.0)
    order = make_visit_order("greedy", cash)
    cash.start(rows([5]))
    cash.pay(5, rows([]))  # the virtual page has everything now
    assert order.choose_next() == 5
    cash.join(2)
    assert order.choose_next() == 2


def test_greedy_keeps_no_more_entries_than_it_may_and_is_still_right(monkeypatch):
    monkeypatch.setattr(selections, "RICHEST", 2)
    cash = Cash()
    order = make_visit_order("greedy", cash)
    cash.start(np.arange(6))
    for step in range(400):  # everybody grows all the time: entries pile up
        for row in (0, 1, 2, 3):
            cash.cash[row] += 0.01
            order.note_growth(rows([row]))
        assert order.choose_next() == richest(cash)
        assert len(order.heap) <= order.bound + 4, step


def test_cycle_goes_through_the_known_rows_by_number_and_newcomers_take_their_place():
    cash = Cash(1.0)
    order = make_visit_order("cycle", cash)
    cash.start(rows([5, 2, 9]))
    assert [order.choose_next() for _ in range(5)] == [2, 5, 9, 2, 5]
    cash.join(rows([3, 7]))
    assert [order.choose_next() for _ in range(6)] == [7, 9, 2, 3, 5, 7]


def test_random_takes_every_known_row_about_as_often_and_the_same_ones_again_by_the_same_seed():
    def chosen(seed):
        cash = Cash(1.0)
        order = make_visit_order("random", cash, seed)
        cash.start(rows([1, 4, 5, 30, 31]))
        return [order.choose_next() for _ in range(10_000)]

    one = chosen(8)
    found, counts = np.unique(one, return_counts=True)
    assert found.tolist() == [1, 4, 5, 30, 31]
    assert ((counts - 2000) ** 2 / 2000).sum() < 23.5  # chi square, 4 degrees of freedom: p = 0.0001
    assert one == chosen(8)
    assert one != chosen(9)


def test_random_takes_newcomers_too():
    cash = Cash(1.0)
    order = make_visit_order("random", cash, 1)
    cash.start(rows([0]))
    assert {order.choose_next() for _ in range(20)} == {0}
    cash.join(rows([6]))
    assert {order.choose_next() for _ in range(40)} == {0, 6}


@pytest.mark.parametrize("name", SELECTIONS)
def test_where_nobody_is_known_nobody_can_be_chosen(name):
    with pytest.raises(ValueError, match="start the accounts first"):
        make_visit_order(name, Cash(1.0)).choose_next()


def test_an_unknown_selection_is_refused_by_name():
    with pytest.raises(ValueError, match=r"Unknown selection 'best'. Choose one of: random, greedy, cycle"):
        make_visit_order("best", Cash())


@pytest.mark.parametrize("small", [None, 1.0])
def test_a_fast_run_is_cash_and_the_richest_row_looked_for_every_time(small):
    rng = np.random.default_rng(6)
    sources, targets = rng.integers(0, 180, 1_500), rng.integers(0, 200, 1_500)
    graph = StaticGraph(make_out_links(sources, targets, 200))
    fast = graph.start(small)
    graph.run(fast, make_visit_order("greedy", fast), 1_000)
    slow, children = Cash(small), [np.unique(targets[sources == v]) for v in range(200)]
    slow.start(np.arange(200))
    for _ in range(1_000):
        row = richest(slow)
        slow.pay(row, children[row])
    assert (fast.get_cash(np.arange(200)) == slow.get_cash(np.arange(200))).all()
    assert (fast.history == slow.history).all()
    assert (fast.paid, fast.sink, fast.virtual) == (slow.paid, slow.sink, slow.virtual)
