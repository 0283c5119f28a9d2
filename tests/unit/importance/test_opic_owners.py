"""OPIC by several owners: cash is never lost between them, and what they find is what one alone finds."""

import subprocess
import sys

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.importance.adaptive_opic import AdaptiveOpic
from socialcrawl.importance.distributed_opic import VIRTUAL, Owner, Owners, Transfer, find_owner
from socialcrawl.importance.history_windows import (
    FixedHistory,
    ImprovedFixedHistory,
    InterpolatedHistory,
    VariableHistory,
)
from socialcrawl.importance.opic import Cash
from socialcrawl.importance.static_opic import GreedyOrder

NAMES = [f"account-{number}" for number in range(200)]


def drawn(size, seed, degree=5):
    """Out-links of each node; low numbers are linked to most, and every seventh links to nobody."""
    rng = np.random.default_rng(seed)
    chance = (np.arange(size) + 3.0) ** -0.8
    return [
        rng.choice(size, degree, replace=False, p=chance / chance.sum()) if i % 7 else np.empty(0, np.int64)
        for i in range(size)
    ]


def named(numbers):
    return [NAMES[number] for number in numbers]


# -- Who owns what


def test_the_owner_of_a_name_is_the_same_in_every_process_and_all_get_about_as_much():
    owners = f"[find_owner(n, 7) for n in {NAMES[:20]!r}]"
    code = f"from socialcrawl.importance.distributed_opic import find_owner; print({owners})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([find_owner(name, 7) for name in NAMES[:20]])
    counts = np.bincount([find_owner(f"https://example.org/{i}", 5) for i in range(5_000)], minlength=5)
    assert counts.sum() == 5_000
    assert ((counts - 1_000) ** 2 / 1_000).sum() < 18.5  # chi-square, 4 degrees of freedom, p = 0.001
    assert {find_owner(name, 1) for name in NAMES} == {0}


# -- The undivided run


@pytest.mark.parametrize("threshold", [0.01, 0.3])
@pytest.mark.parametrize("owners", [1, 2, 5])
def test_owners_without_buffers_find_what_one_alone_finds(owners, threshold):
    links, cash = drawn(200, 1), Cash(small=1.0, threshold=threshold)
    several = Owners(owners, lambda number, count: Owner(number, count, threshold=threshold, buffer=1))
    cash.start(np.arange(200))
    several.start(NAMES)
    several.deliver()
    rng = np.random.default_rng(2)
    for row in rng.integers(0, 200, 1_500).tolist():
        shares = rng.random(len(links[row])) if row % 3 else None
        cash.pay(row, links[row], shares)
        several.pay(NAMES[row], named(links[row]), None if shares is None else shares.tolist())
        several.deliver()
    several.flush()
    assert cash.virtual_history > 0.2
    bank = several.parts[find_owner(VIRTUAL, owners)]
    assert (bank.virtual, bank.virtual_history) == pytest.approx((cash.virtual, cash.virtual_history), abs=1e-11)
    assert sum(part.paid for part in several.parts) == pytest.approx(cash.paid, rel=1e-11)
    held = {
        name: float(part.cash.get_cash(np.array([row]))[0]) for part in several.parts for name, row in part.rows.items()
    }
    assert [held[name] for name in NAMES] == pytest.approx(cash.get_cash(np.arange(200)), abs=1e-13)
    past = {
        name: float(part.cash.get_history(np.array([row]))[0])
        for part in several.parts
        for name, row in part.rows.items()
    }
    assert [past[name] for name in NAMES] == pytest.approx(cash.get_history(np.arange(200)), rel=1e-10)
    known = [name for part in several.parts for name in part.rows]
    assert sorted(known) == sorted(NAMES)


def test_with_one_owner_estimates_and_clock_are_those_of_the_accounts():
    links, cash, alone = drawn(200, 4), Cash(small=1.0), Owners(1)
    cash.start(np.arange(200))
    alone.start(NAMES)
    for row in np.random.default_rng(5).integers(0, 200, 800).tolist():
        cash.pay(row, links[row])
        alone.pay(NAMES[row], named(links[row]))
    assert not alone.way
    assert alone.compute_importance(NAMES) == pytest.approx(cash.estimate(np.arange(200)), rel=1e-10)
    assert alone.compute_importance(["nobody", NAMES[3]]) == pytest.approx(
        [0.0, cash.estimate(np.array([3]))[0]], rel=1e-10
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: FixedHistory(6.0),
        lambda: VariableHistory(4),
        lambda: ImprovedFixedHistory(6.0),
        lambda: InterpolatedHistory(6.0),
    ],
)
def test_windows_run_on_the_clock_that_owners_have_heard_of(make):
    links, cash = drawn(200, 6), Cash(small=1.0)
    adaptive = AdaptiveOpic(cash, make())
    several = Owners(3, lambda number, count: Owner(number, count, buffer=20, window=make()))
    adaptive.start(np.arange(200))
    several.start(NAMES)
    order = [row for turn in range(10) for row in np.random.default_rng(turn).permutation(200).tolist()]
    for row in order:
        adaptive.pay(row, links[row])
        several.pay(NAMES[row], named(links[row]))
        several.deliver()
    several.flush()
    one, divided = adaptive.compute_importance(np.arange(200)), several.compute_importance(NAMES)
    assert np.abs(divided / one - 1.0).mean() < 0.06
    assert divided.sum() == pytest.approx(one.sum(), rel=0.02)
    assert max(part.cash.paid for part in several.parts) <= sum(part.paid for part in several.parts) * (1 + 1e-12)


def test_buffered_owners_tend_to_the_importance_of_the_undivided_run():
    links, cash = drawn(200, 8), Cash(small=1.0)
    several = Owners(4, lambda number, count: Owner(number, count, buffer=50))
    cash.start(np.arange(200))
    several.start(NAMES)
    errors = []
    for turn in range(30):
        for row in np.random.default_rng(turn).permutation(200).tolist():
            cash.pay(row, links[row])
            several.pay(NAMES[row], named(links[row]))
            if row % 10 == 0:
                several.deliver()
        if turn in (2, 29):
            several.flush()
            one = cash.estimate(np.arange(200))
            errors.append(float(np.abs(several.compute_importance(NAMES) / one - 1.0).mean()))
            assert several.sum_cash() == pytest.approx(1.0, abs=1e-9)
    assert errors[1] < 0.02
    assert errors[1] < errors[0] / 3


def test_each_owner_may_choose_its_richest_node_greedily():
    links, several = drawn(200, 9), Owners(3, lambda number, count: Owner(number, count, buffer=10))
    queues = [GreedyOrder(part.cash) for part in several.parts]
    several.start(NAMES)
    for step in range(600):
        part, queue = several.parts[step % 3], queues[step % 3]
        row = queue.choose_next()
        assert part.cash.get_cash(np.arange(part.cash.size)).argmax() == row
        name = list(part.rows)[row]
        several.pay(name, named(links[NAMES.index(name)]))
        several.deliver()
    assert sum(part.paid for part in several.parts) > 3


# -- Cash on its way


@st.composite
def doings(draw):
    """Payments, arrivals of any transfer that is on its way, and flushes, in any order; also to nodes nobody knows."""
    node = st.integers(0, 30)
    pay = st.tuples(st.just("pay"), node, st.lists(node, unique=True, max_size=5), st.booleans())
    arrive = st.tuples(st.just("arrive"), st.integers(0, 1_000), st.just([]), st.just(value=False))
    flush = st.tuples(st.just("flush"), st.just(0), st.just([]), st.just(value=False))
    return draw(st.lists(st.one_of(pay, pay, arrive, arrive, flush), max_size=60))


@settings(deadline=None, max_examples=many(60))
@given(doings(), st.integers(1, 4), st.sampled_from([1, 3, 100]), st.sampled_from([0.005, 0.1, 1.0]), st.integers(1, 9))
def test_no_cash_is_lost_in_buffers_or_on_the_way_and_transfers_may_overtake_each_other(
    made, owners, buffer, threshold, known
):
    several = Owners(owners, lambda number, count: Owner(number, count, threshold=threshold, buffer=buffer))
    several.start(NAMES[:known])
    assert several.sum_cash() == pytest.approx(1.0, abs=1e-9)
    for what, number, targets, weighed in made:
        if what == "pay":
            shares = [float(i) for i in range(len(targets))] if weighed else None
            several.pay(NAMES[number], named(targets), shares)
        elif what == "arrive" and several.way:
            place = number % len(several.way)
            transfer = several.way[place]
            del several.way[place]
            several.arrive(transfer)
        elif what == "flush":
            several.flush()
            assert not several.way
            assert sum(len(amounts) for part in several.parts for amounts in part._amounts) == 0
            owned = sum(part.cash.sum_cash() + part.virtual for part in several.parts)
            assert owned == pytest.approx(1.0, abs=1e-9)
        assert several.sum_cash() == pytest.approx(1.0, abs=1e-9)
        paid = sum(part.paid for part in several.parts)
        booked = sum(float(part.cash.history.sum()) + part.virtual_history for part in several.parts)
        assert booked == pytest.approx(paid, abs=1e-9)  # sum H = G
        assert all(part.cash.paid <= paid + 1e-9 for part in several.parts)  # who has heard less is behind, never ahead


def test_a_name_leaves_when_its_buffer_is_full_and_cash_for_the_same_name_is_one_entry():
    several = Owners(2, lambda number, count: Owner(number, count, buffer=3, threshold=1.0, most=1.0))
    here = find_owner(VIRTUAL, 2)  # who has the virtual page: small edges stay at home
    ours = [name for name in NAMES if find_owner(name, 2) == here][:3]
    theirs = [name for name in NAMES if find_owner(name, 2) != here][:3]
    several.start([*ours, *theirs])
    several.deliver()
    several.pay(ours[0], theirs[:2])
    several.pay(ours[1], theirs[:2])
    assert not several.way
    held = float(several.parts[here].cash.get_cash(np.array([several.parts[here].rows[ours[2]]]))[0])
    several.pay(ours[2], theirs)
    transfer = several.way.popleft()
    assert (transfer.sender, transfer.to, list(transfer.amounts)) == (here, 1 - here, theirs)
    assert transfer.amounts[theirs[2]] == pytest.approx(held * 3 / 4 / 3)
    assert transfer.amounts[theirs[0]] > 2 * transfer.amounts[theirs[2]]


def test_a_buffer_leaves_when_it_holds_much_cash():
    several = Owners(2, lambda number, count: Owner(number, count, threshold=1.0, most=0.4))
    here = find_owner(VIRTUAL, 2)
    ours = [name for name in NAMES if find_owner(name, 2) == here][:3]
    theirs = next(name for name in NAMES if find_owner(name, 2) != here)
    several.start(ours)  # each has a quarter, half of which goes along the one link
    several.pay(ours[0], [theirs])
    assert not several.way
    assert several.compute_importance([theirs]).tolist() == [0.0]  # it waits, and is in no estimate
    several.pay(ours[1], [theirs])
    assert [transfer.amounts for transfer in several.way] == [{theirs: 0.25}]
    several.deliver()
    several.pay(ours[2], [theirs])
    assert not several.way
    several.flush()
    assert several.compute_importance([theirs]) == pytest.approx([0.375 / 1.75])
    assert several.sum_cash() == pytest.approx(1.0, abs=1e-12)


def test_where_there_are_many_owners_most_cash_does_not_wait_in_their_many_buffers():
    links, several = drawn(200, 9), Owners(12)
    several.start(NAMES)
    several.deliver()
    waiting = []
    for turn in range(6):
        for row in np.random.default_rng(turn).permutation(200).tolist():
            several.pay(NAMES[row], named(links[row]))
            several.deliver()
        waiting.append(several.sum_cash() - sum(part.cash.sum_cash() + part.virtual for part in several.parts))
    assert 0.0 < max(waiting) < 0.06  # MOST, and what a last payment added


def test_newcomers_of_an_owner_get_the_default_history_of_its_recent_ones():
    alone = Owners(1, lambda number, count: Owner(number, count, window=InterpolatedHistory(4.0)))
    alone.start(NAMES[:4])
    cash = Cash(small=1.0)
    one = AdaptiveOpic(cash, InterpolatedHistory(4.0))
    one.start(np.arange(4))
    for row, to in [(0, [4, 5]), (1, [6]), (4, [7, 0]), (2, [8, 9])]:
        alone.pay(NAMES[row], named(to))
        one.pay(row, np.array(to))
    assert alone.compute_importance(NAMES[:10]) == pytest.approx(one.compute_importance(np.arange(10)), rel=0.2)
    assert (alone.compute_importance(NAMES[4:10]) > 0.05).all()


def test_the_owner_of_the_virtual_page_is_told_of_newcomers_even_without_cash_to_send():
    bank = find_owner(VIRTUAL, 2)
    several = Owners(2, lambda number, count: Owner(number, count, buffer=2, threshold=1.0, most=1.0))
    ours = next(name for name in NAMES if find_owner(name, 2) == bank)
    theirs = [name for name in NAMES if find_owner(name, 2) != bank][:3]
    several.start([ours])
    several.pay(ours, theirs)
    several.arrive(several.way.popleft())
    told = several.way.popleft()
    assert (told.sender, told.to, told.amounts, told.sum_cash(), told.size) == (1 - bank, bank, {}, 0.0, 3)
    assert not several.parts[1 - bank].flush()  # nothing is told twice


def test_of_two_transfers_that_overtake_each_other_the_larger_size_and_payment_count():
    bank = find_owner(VIRTUAL, 2)
    several = Owners(2, lambda number, count: Owner(number, count, threshold=0.25, most=1.0))
    ours = [name for name in NAMES if find_owner(name, 2) == bank][:2]
    several.start([*ours, next(name for name in NAMES if find_owner(name, 2) != bank)])
    early, late = (Transfer(1 - bank, bank, {}, 0.0, paid, size) for paid, size in ((0.1, 3), (0.2, 6)))
    for transfer in (late, early):
        several.parts[bank].receive(transfer)
    assert several.parts[bank].cash.paid == pytest.approx(0.2)
    several.pay(ours[0], [])  # past the threshold: half a unit for 2 + 6 nodes
    (transfer,) = several.way
    assert (transfer.to, transfer.everybody) == (1 - bank, pytest.approx(0.5 * 6 / 8))


def test_the_virtual_page_pays_to_newcomers_of_others_when_it_was_told_of_them():
    several = Owners(3, lambda number, count: Owner(number, count, buffer=1, threshold=0.02))
    several.start(NAMES[:5])
    several.deliver()
    links = drawn(200, 12)
    for turn in range(3):
        for row in range(200):
            several.pay(NAMES[row], named(links[(row + turn) % 200]))
            several.deliver()
    assert sum(part.cash.size for part in several.parts) == 200
    bank = several.parts[find_owner(VIRTUAL, 3)]
    before = bank.virtual_history
    held = [part.cash.offset for part in several.parts]
    while bank.virtual_history == before:  # one more settlement
        several.pay(NAMES[1], named(links[1]))
        several.deliver()
    gained = [part.cash.offset - offset for part, offset in zip(several.parts, held, strict=True)]
    assert gained == pytest.approx([(bank.virtual_history - before) / 200] * 3, rel=1e-9)
