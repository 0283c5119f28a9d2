"""Adaptive OPIC, and the levers on it: windows over live cash, newcomers, discovery against refresh, topics."""

import math

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.importance.adaptive_opic import AdaptiveOpic
from socialcrawl.importance.history_windows import (
    FixedHistory,
    ImprovedFixedHistory,
    InterpolatedHistory,
    VariableHistory,
)
from socialcrawl.importance.opic import Cash
from socialcrawl.importance.opic_levers import Lean, TopicBias


def rows(numbers):
    return np.array(numbers, np.int64)


def drawn(size, seed, degree=6):
    """Out-links of each node; low numbers are linked to most."""
    rng = np.random.default_rng(seed)
    chance = (np.arange(size) + 3.0) ** -0.8
    return [rng.choice(size, degree, replace=False, p=chance / chance.sum()) for _ in range(size)]


def fixpoint(links, small=1.0):
    """The referee: where the walk with the virtual page as the last node is, by a thousand steps of a dense matrix."""
    n = len(links)
    step = np.zeros((n + 1, n + 1))
    step[n, :n] = 1.0 / n
    for i, to in enumerate(links):
        step[i, to] = 1.0 / (len(to) + small)
        step[i, n] = small / (len(to) + small)
    x = np.full(n + 1, 1.0 / (n + 1))
    for _ in range(1_000):
        x = (x + x @ step) / 2
    assert np.abs(x @ step - x).max() < 1e-15
    return x[:n]


def crawl(accounts, cash, links, steps):
    """Greedy steps."""
    for _ in range(steps):
        row = int(cash.cash[: len(links)].argmax())
        accounts.pay(row, links[row])


def error(found, wanted):
    """The mean of 100 |X - x| / x."""
    return float((100 * np.abs(found - wanted) / wanted).mean())


WINDOWS = {
    "fixed": lambda: FixedHistory(16.0),
    "variable": lambda: VariableHistory(8),
    "improved": lambda: ImprovedFixedHistory(16.0),
    "interpolation": lambda: InterpolatedHistory(16.0),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_importance_by_a_window_is_that_of_the_link_matrix_and_follows_it_when_it_changes(name):
    cash = Cash(small=1.0)
    adaptive, everybody = AdaptiveOpic(cash, WINDOWS[name]()), np.arange(100)
    adaptive.start(everybody)
    before, after = drawn(100, 1), [np.sort(99 - to) for to in drawn(100, 2)]  # those who were low are high
    crawl(adaptive, cash, before, 2_000)
    assert error(adaptive.compute_importance(everybody), fixpoint(before)) < 12
    changed = cash.paid
    crawl(adaptive, cash, after, 2_000)
    assert cash.paid > changed + 32
    assert error(adaptive.compute_importance(everybody), fixpoint(after)) < 12
    assert error(cash.estimate(everybody), fixpoint(after)) > 60  # all history: half of it is of the old graph
    assert cash.sum_cash() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("name", WINDOWS)
def test_the_window_of_a_crawl_holds_what_the_window_by_itself_is_told(name):
    """The same crawls, written down with the cash and G before each, in a second window."""
    cash, window = Cash(small=0.5), WINDOWS[name]()
    adaptive, links, everybody = AdaptiveOpic(cash, WINDOWS[name]()), drawn(60, 3), np.arange(60)
    adaptive.start(everybody)
    for row in range(60):
        window.join(row, -1.0, 1 / 61)
    for row in np.random.default_rng(4).integers(0, 60, 900).tolist():
        window.record_crawl(row, float(cash.get_cash(rows([row]))[0]), cash.paid)
        adaptive.pay(row, links[row])
    wanted = window.compute_importance(everybody, cash.get_cash(everybody), cash.paid)
    assert adaptive.compute_importance(everybody).tolist() == wanted.tolist()


def test_newcomers_get_the_mean_importance_of_the_last_newcomers():
    cash = Cash(small=1.0)
    adaptive = AdaptiveOpic(cash, InterpolatedHistory(8.0), recent=3)
    adaptive.start(rows([0, 1, 2, 3]))
    assert adaptive.compute_importance(rows([0, 3])) == pytest.approx([1 / 5] * 2)
    adaptive.pay(0, rows([10, 11]))  # the first newcomers: the mean of all
    assert adaptive.compute_importance(rows([10, 11])) == pytest.approx([1 / 5] * 2, rel=0.05)
    adaptive.pay(1, rows([12, 0]))
    adaptive.pay(2, rows([13, 10, 3]))
    recent, paid = rows([11, 12, 13]), cash.paid
    joined = {11: adaptive.window._last[11], 12: adaptive.window._last[12], 13: adaptive.window._last[13]}
    history = adaptive.compute_importance(recent) * 8.0
    # The rule of the paper on the cash they hold now: H (T-d)/T + C, over T.
    read = [
        h * (8.0 - (paid - joined[row])) / 8.0 + c
        for row, h, c in zip(recent.tolist(), history, cash.get_cash(recent), strict=True)
    ]
    adaptive.join(rows([20, 21, 0]))
    assert adaptive.compute_importance(rows([20, 21])) == pytest.approx([sum(read) / 3 / 8.0] * 2, rel=1e-12)
    assert cash.get_cash(rows([20, 21])) == pytest.approx([0.0] * 2, abs=1e-15)
    assert cash.sum_cash() == pytest.approx(1.0, abs=1e-12)


def test_who_is_known_already_does_not_join_again():
    cash = Cash(small=1.0)
    adaptive = AdaptiveOpic(cash, VariableHistory(4))
    adaptive.start(rows([0, 1]))
    adaptive.pay(0, rows([1, 2_000]))
    before = adaptive.compute_importance(rows([0, 1, 2_000])).tolist()
    adaptive.join(rows([0, 1, 2_000]))
    assert adaptive.compute_importance(rows([0, 1, 2_000])).tolist() == before
    assert cash.size == 3


def test_no_recent_newcomers_at_all_is_refused():
    with pytest.raises(ValueError, match="needs at least 1"):
        AdaptiveOpic(Cash(small=1.0), InterpolatedHistory(1.0), recent=0)


def test_before_anybody_is_known_a_newcomer_has_no_importance():
    adaptive = AdaptiveOpic(Cash(small=1.0), InterpolatedHistory(1.0))
    assert adaptive.estimate_newcomer() == 0.0
    adaptive.join(rows([4]))
    assert adaptive.compute_importance(rows([4])).tolist() == [0.0]


# -- Discovery against refresh


def reached(lean, steps=300, **options):
    """The share of steps that went to nodes not read before, greedily; 2,000 nodes, 20 known at first."""
    links, cash, pull = drawn(2_000, 5, degree=3), Cash(small=1.0, threshold=0.05), Lean(lean, **options)
    cash.start(np.arange(20))
    pull.weigh(cash)
    read = np.zeros(2_000, np.bool_)
    for step in range(steps):
        known = np.flatnonzero(cash.known)
        row = int(known[cash.get_cash(known).argmax()])
        read[row] = True
        cash.pay(row, links[row])
        if step % 5 == 0:
            pull.lend(cash, known[~read[known]], known[read[known]])
    assert cash.sum_cash() == pytest.approx(1.0, abs=1e-9)
    return read.sum() / steps


def test_leaning_to_discovery_reads_more_new_nodes_and_leaning_to_refresh_fewer_also_by_lending_alone():
    neither = reached(0.0)
    assert reached(-1.0, factor=8.0, part=0.8) + 0.02 < neither
    assert reached(-1.0, factor=1.0, part=0.8) + 0.05 < neither
    lent, both = reached(1.0, factor=1.0, part=0.8), reached(1.0, factor=8.0, part=0.8)
    assert neither + 0.05 < lent < both - 0.1  # heavier small edges give more to lend


def test_the_levers_by_hand():
    cash = Cash(small=1.0, threshold=1.0)
    cash.start(rows([0, 1, 2]))  # the virtual page has a quarter
    assert Lean(0.5, factor=4.0, part=0.5).lend(cash, rows([1, 2]), rows([0])) == pytest.approx(0.25 / 4)
    assert cash.get_cash(np.arange(3)) == pytest.approx([0.25, 0.25 + 0.25 / 8, 0.25 + 0.25 / 8])
    assert Lean(-1.0, part=1.0).lend(cash, rows([1, 2]), rows([0])) == pytest.approx(0.25 * 3 / 4)
    assert (cash.virtual, cash.get_cash(rows([0]))[0]) == pytest.approx((0.0, 0.25 * 7 / 4))
    assert Lean(0.0).lend(cash, rows([1]), rows([0])) == 0.0
    assert Lean(1.0).lend(cash, rows([]), rows([0])) == 0.0
    for lean, weight in [(1.0, 8.0), (0.5, 4.0), (0.0, 2.0), (-1.0, 0.5)]:
        Lean(lean, small=2.0).weigh(cash)
        assert cash.small == pytest.approx(weight)
    before = cash.virtual
    Lean(1.0, small=1.0, factor=4.0).weigh(cash)
    held = float(cash.get_cash(rows([1]))[0])
    cash.pay(1, rows([2]))  # one link, and a small edge that weighs four
    assert cash.virtual - before == pytest.approx(held * 4 / 5)


@pytest.mark.parametrize(
    "wrong",
    [{"lean": 1.01}, {"lean": -2.0}, {"lean": math.nan}, {"lean": 0.0, "part": 1.5}, {"lean": 0.0, "small": 0.0}],
)
def test_a_lean_out_of_range_is_refused(wrong):
    with pytest.raises(ValueError, match="lean is from -1 to 1"):
        Lean(**wrong)


# -- Topics


@st.composite
def topical_crawls(draw):
    """Payments with any links, some matching, with any shares."""
    row = st.integers(0, 11)
    targets = st.lists(row, unique=True, max_size=6)
    paid = draw(st.lists(st.tuples(row, targets, st.integers(0, 63), st.booleans()), max_size=40))
    return paid, draw(st.sampled_from([0.0, 0.5, 1.0, 3.0])), draw(st.sampled_from([0.01, 0.2, 1.0]))


@settings(deadline=None, max_examples=many(60))
@given(topical_crawls())
def test_matching_links_get_extra_cash_from_the_virtual_page_as_in_a_dictionary(made):
    paid, extra, threshold = made
    cash, topical, everybody = Cash(small=1.0, threshold=threshold), TopicBias(extra), np.arange(12)
    cash.start(everybody)
    held, virtual, history = dict.fromkeys(range(12), 1 / 13), 1 / 13, dict.fromkeys(range(12), 0.0)

    def settled(virtual):
        if virtual > threshold:
            for node in held:
                held[node] += virtual / 12
            return 0.0
        return virtual

    virtual = settled(virtual)
    for row, targets, bits, weighed in paid:
        matching = np.array([bool(bits >> i & 1) for i in range(len(targets))], np.bool_)
        shares = np.arange(1.0, len(targets) + 1) if weighed else None
        moved = topical.pay(cash, row, rows(targets), matching, shares)
        amount, held[row] = held[row], 0.0
        history[row] += amount
        weights = [i + 1.0 if weighed else 1.0 for i in range(len(targets))]
        got = {
            t: amount * len(targets) / (len(targets) + 1) * w / sum(weights)
            for t, w in zip(targets, weights, strict=True)
        }
        for target, part in got.items():
            held[target] += part
        virtual += amount - math.fsum(got.values())
        chosen = [t for t, match in zip(targets, matching, strict=True) if match]
        wanted = min(virtual, extra * math.fsum(got[t] for t in chosen)) if chosen else 0.0
        for target in chosen:
            held[target] += wanted / len(chosen)
        virtual = settled(virtual - wanted)
        assert moved == pytest.approx(wanted, abs=1e-12)
    assert cash.get_cash(everybody) == pytest.approx([held[node] for node in range(12)], abs=1e-12)
    assert cash.get_history(everybody) == pytest.approx([history[node] for node in range(12)], abs=1e-12)
    assert cash.virtual == pytest.approx(virtual, abs=1e-12)
    assert cash.sum_cash() == pytest.approx(1.0, abs=1e-9)
    assert cash.threshold == threshold


def test_a_greedy_crawl_with_a_topic_visits_what_matches_more_often():
    matching, visits = np.arange(300) % 10 == 7, {}
    for extra in (0.0, 3.0):
        links, cash, topical = drawn(300, 9), Cash(small=1.0, threshold=0.05), TopicBias(extra)
        cash.start(np.arange(300))
        count = 0
        for _ in range(3_000):
            row = int(cash.get_cash(np.arange(300)).argmax())
            count += matching[row]
            topical.pay(cash, row, links[row], matching[links[row]])
        visits[extra] = count
        assert cash.sum_cash() == pytest.approx(1.0, abs=1e-9)
    assert visits[3.0] > 1.3 * visits[0.0] > 0


def test_a_topic_on_adaptive_accounts_moves_the_same_cash_and_measures_it():
    links, matching = drawn(50, 11), np.arange(50) < 10
    plain, inside = Cash(small=1.0, threshold=0.1), Cash(small=1.0, threshold=0.1)
    adaptive, topical = AdaptiveOpic(inside, InterpolatedHistory(6.0)), TopicBias(1.0)
    plain.start(np.arange(50))
    adaptive.start(np.arange(50))
    for step in range(400):
        row = step * 7 % 50
        one = topical.pay(plain, row, links[row], matching[links[row]])
        assert topical.pay(adaptive, row, links[row], matching[links[row]]) == one
    assert plain.get_cash(np.arange(50)).tolist() == inside.get_cash(np.arange(50)).tolist()
    assert adaptive.compute_importance(np.arange(50)).sum() > 0.8


@pytest.mark.parametrize("wrong", [-0.1, math.nan, math.inf])
def test_an_extra_that_is_no_amount_is_refused(wrong):
    with pytest.raises(ValueError, match="what a matching link brings besides is 0 or more"):
        TopicBias(wrong)
