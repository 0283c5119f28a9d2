"""Windows over the history of cash, each against a referee that keeps all measures of all nodes and reads the paper."""

import math

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.importance.history_windows import (
    FixedHistory,
    ImprovedFixedHistory,
    InterpolatedHistory,
    VariableHistory,
)


def rows(numbers):
    return np.array(numbers, np.int64)


class Everything:
    """The referee: each node's birth (G, default importance) and all (C, G) of its crawls, in order."""

    def __init__(self):
        self.born, self.crawls = {}, {}

    def join(self, row, paid, importance):
        self.born[row] = (paid, importance)

    def record_crawl(self, row, cash, paid):
        self.crawls.setdefault(row, []).append((cash, paid))

    def of(self, row):
        return self.born.get(row, (0.0, 0.0)), self.crawls.get(row, [])

    def fixed(self, row, paid, time, more=()):
        """Sum of C with g >= G - T, over T; what lies before the birth counts as the default importance."""
        (born, importance), crawls = self.of(row)
        seen = [c for c, g in [*crawls, *more] if g >= paid - time]
        return (math.fsum(seen) + importance * max(0.0, min(time, born - (paid - time)))) / time, len(seen)

    def variable(self, row, last, default, more=()):
        """Sum of the last m C over (last g - g before them); the default is the measure before the first crawl."""
        (born, importance), crawls = self.of(row)
        known = row in self.born
        first = [(0.0, born - default), (importance * default, born)] if known else [(0.0, 0.0)]
        several = [*first, *crawls, *more]
        count = min(last, len(several) - 1)
        span = several[-1][1] - several[-1 - count][1]
        return (math.fsum(c for c, _ in several[len(several) - count :]) / span if span > 0 else 0.0), count

    def improved(self, row, paid, time, least, more=()):
        """At least 3 measures; where the oldest of these is older than T, over their span."""
        wide, count = self.fixed(row, paid, time, more)
        whole = self.of(row)[0][0] >= paid - time
        return wide if count >= least or whole else self.variable(row, least, time, more)[0]

    def interpolated(self, row, time, more=()):
        """H[i] = H[i] (T-d)/T + C[i] for d < T, else C[i] T/d; then G += C, G[i] = G; X = H/T."""
        (last, importance), crawls = self.of(row)
        history = time * importance
        for c, g in [*crawls, *more]:
            d = g - last
            history = history * (time - d) / time + c if d < time else c * time / d
            last = g + c
        return history / time


@st.composite
def lives(draw):
    """What happens to a few nodes, in any order: joining, being crawled with any cash; G grows by what is paid."""
    size = draw(st.integers(1, 6))
    cash = st.sampled_from([0.0, 1e-9, 1e-3, 0.05, 0.3]) | st.floats(0, 0.5, allow_subnormal=False)
    return size, draw(st.lists(st.tuples(st.integers(0, size - 1), cash, st.booleans()), max_size=80))


def lived(window, made, scale=1):
    """The window and the referee after the same life; rows lie `scale` apart."""
    size, events = made
    everything, paid = Everything(), 0.0
    for row, cash, joins in events:
        if joins and row * scale not in everything.born and row * scale not in everything.crawls:
            for one in (window, everything):
                one.join(row * scale, paid - 1.0 if paid < 0.2 else paid, cash / 3.0)
        else:
            for one in (window, everything):
                one.record_crawl(row * scale, cash, paid)
            paid += cash
    return everything, paid, rows([row * scale for row in range(size)])


TIMES = st.sampled_from([0.01, 0.4, 1.0, 2.5, 40.0])
AFTER = st.sampled_from([0.0, 0.1, 3.0])
CLOSE = {"rel": 1e-9, "abs": 1e-13}


@settings(deadline=None, max_examples=many(60))
@given(lives(), TIMES, AFTER, st.sampled_from([1, 900]))
def test_a_fixed_window_is_the_sum_of_the_cash_in_it_over_its_time(made, time, after, scale):
    window = FixedHistory(time)
    everything, paid, everybody = lived(window, made, scale)
    now = paid + after
    held = np.linspace(0, 0.2, len(everybody))
    wanted = [everything.fixed(row, now, time) for row in everybody.tolist()]
    assert window.compute_importance(everybody, held, now) == pytest.approx([x for x, _ in wanted], **CLOSE)
    fresh = [everything.fixed(row, now, time, [(c, now)])[0] for row, c in zip(everybody.tolist(), held, strict=True)]
    assert window.compute_pending(everybody, held, now) == pytest.approx(fresh, **CLOSE)
    latest = max((g for crawls in everything.crawls.values() for _, g in crawls), default=0.0)
    counts = [everything.fixed(row, latest, time)[1] for row in everybody.tolist()]
    assert window.count_measures(everybody).tolist() == counts


@settings(deadline=None, max_examples=many(60))
@given(lives(), st.sampled_from([1, 2, 3, 4, 8, 16]), TIMES, AFTER, st.sampled_from([1, 900]))
def test_a_variable_window_is_the_last_m_cash_over_their_span(made, last, default, after, scale):
    window = VariableHistory(last, default=default)
    everything, paid, everybody = lived(window, made, scale)
    now, held = paid + after, np.linspace(0, 0.2, len(everybody))
    wanted = [everything.variable(row, last, default) for row in everybody.tolist()]
    assert window.compute_importance(everybody, held, now) == pytest.approx([x for x, _ in wanted], **CLOSE)
    assert window.count_measures(everybody).tolist() == [count for _, count in wanted]
    fresh = [
        everything.variable(row, last, default, [(c, now)])[0] for row, c in zip(everybody.tolist(), held, strict=True)
    ]
    assert window.compute_pending(everybody, held, now) == pytest.approx(fresh, **CLOSE)


@settings(deadline=None, max_examples=many(60))
@given(lives(), TIMES, st.sampled_from([1, 3, 5]), AFTER, st.sampled_from([1, 900]))
def test_an_improved_fixed_window_falls_back_on_its_last_measures_over_their_span(made, time, least, after, scale):
    window = ImprovedFixedHistory(time, least=least)
    everything, paid, everybody = lived(window, made, scale)
    now, held = paid + after, np.linspace(0, 0.2, len(everybody))
    wanted = [everything.improved(row, now, time, least) for row in everybody.tolist()]
    assert window.compute_importance(everybody, held, now) == pytest.approx(wanted, **CLOSE)
    fresh = [
        everything.improved(row, now, time, least, [(c, now)]) for row, c in zip(everybody.tolist(), held, strict=True)
    ]
    assert window.compute_pending(everybody, held, now) == pytest.approx(fresh, **CLOSE)
    latest = max((g for crawls in everything.crawls.values() for _, g in crawls), default=0.0)
    counts = [
        max(everything.fixed(row, latest, time)[1], everything.variable(row, least, time)[1])
        for row in everybody.tolist()
    ]
    assert window.count_measures(everybody).tolist() == counts


@settings(deadline=None, max_examples=many(60))
@given(lives(), TIMES, AFTER, st.sampled_from([1, 900]))
def test_interpolation_is_the_rule_of_the_paper_applied_to_every_crawl(made, time, after, scale):
    window = InterpolatedHistory(time)
    everything, paid, everybody = lived(window, made, scale)
    now, held = paid + after, np.linspace(0, 0.2, len(everybody))
    wanted = [everything.interpolated(row, time) for row in everybody.tolist()]
    assert window.compute_importance(everybody, held, now) == pytest.approx(wanted, **CLOSE)
    fresh = [everything.interpolated(row, time, [(c, now)]) for row, c in zip(everybody.tolist(), held, strict=True)]
    assert window.compute_pending(everybody, held, now) == pytest.approx(fresh, **CLOSE)
    known = {*everything.born, *everything.crawls}
    assert window.count_measures(everybody).tolist() == [int(row in known) for row in everybody.tolist()]


ALL = {
    "fixed": lambda fresh: FixedHistory(3.0, fresh=fresh),
    "variable": lambda fresh: VariableHistory(4, fresh=fresh),
    "improved": lambda fresh: ImprovedFixedHistory(3.0, fresh=fresh),
    "interpolation": lambda fresh: InterpolatedHistory(3.0, fresh=fresh),
}


@pytest.mark.parametrize("name", ALL)
def test_thousands_of_measures_are_forgotten_in_time_and_the_importance_stays_the_referees(name):
    """12,000 crawls over 60 units of G: the log is cut and grows several times, rings turn round."""
    rng, window, everything, paid = np.random.default_rng(5), ALL[name](fresh=False), Everything(), 0.0
    everybody = np.arange(1_500)
    chance = (everybody + 1.0) ** -1.0
    for row in rng.choice(1_500, 12_000, p=chance / chance.sum()).tolist():
        cash = 0.005 * (1.0 + rng.random()) if rng.random() < 0.5 else 0.0  # without cash: many at the same G
        for one in (window, everything):
            one.record_crawl(row, cash, paid)
        paid += cash
    wanted = {
        "fixed": lambda row: everything.fixed(row, paid, 3.0)[0],
        "variable": lambda row: everything.variable(row, 4, 2.0)[0],
        "improved": lambda row: everything.improved(row, paid, 3.0, 3),
        "interpolation": lambda row: everything.interpolated(row, 3.0),
    }[name]
    assert window.compute_importance(everybody, np.zeros(1_500), paid) == pytest.approx(
        list(map(wanted, range(1_500))), **CLOSE
    )
    assert paid > 40


@pytest.mark.parametrize("name", ALL)
def test_who_reads_and_when_changes_nothing(name):
    """Importance is a question: a window that was asked all the time, also for rows far beyond, has the same bits."""
    rng, paid = np.random.default_rng(7), 0.0
    asked, silent, fresh = ALL[name](fresh=False), ALL[name](fresh=False), ALL[name](fresh=True)
    for turn in range(3_000):
        row, cash = int(rng.integers(40)), float(rng.random()) * 0.01
        for window in (asked, silent, fresh):
            if turn < 40:
                window.join(turn, -1.0, 0.02)
            window.record_crawl(row, cash, paid)
        paid += cash
        if turn % 50 == 0:
            asked.compute_importance(rows([turn % 40, 5_000]), np.ones(2), paid + 2.0)
            asked.count_measures(rows([3, 6_000 + turn]))
    everybody, held = np.arange(40), rng.random(40) * 0.01
    assert (
        asked.compute_importance(everybody, held, paid).tolist()
        == silent.compute_importance(everybody, held, paid).tolist()
    )
    assert (
        fresh.compute_importance(everybody, held, paid).tolist()
        == silent.compute_pending(everybody, held, paid).tolist()
    )
    one_by_one = [silent.compute_importance(rows([row]), held[[row]], paid)[0] for row in range(40)]
    assert one_by_one == asked.compute_importance(everybody, held, paid).tolist()


@pytest.mark.parametrize("name", ["variable", "interpolation"])
def test_even_cash_is_read_exactly_from_the_first_crawl_on_by_who_joined_with_the_right_default(name):
    """A node that earns 0.3 a unit of G, crawled at uneven times: these two say 0.3, always, fresh or not."""
    stored, fresh, last = ALL[name](fresh=False), ALL[name](fresh=True), -1.0
    for window in (stored, fresh):
        window.join(2, -1.0, 0.3)
    for now in np.cumsum([0.25, 0.5, 0.25, 1.5, 0.125, 4.0, 0.5, 0.25]).tolist():
        assert fresh.compute_importance(rows([2]), np.array([0.3 * (now - last)]), now) == pytest.approx(0.3, rel=1e-12)
        for window in (stored, fresh):
            window.record_crawl(2, 0.3 * (now - last), now)
        last = now + (0.3 * (now - last) if name == "interpolation" else 0.0)  # its clock goes on by what was paid
        assert stored.compute_importance(rows([2]), np.zeros(1), now) == pytest.approx(0.3, rel=1e-12)


@pytest.mark.parametrize("name", ["fixed", "improved"])
def test_fixed_windows_read_even_cash_within_one_time_between_crawls(name):
    """Their measures enter and leave as a whole: 0.3 a unit of G, crawled every 0.4, in a window of 3.0."""
    window, seen = ALL[name](fresh=False), []
    window.join(2, 0.0, 0.3)
    for turn in range(1, 60):
        window.record_crawl(2, 0.3 * 0.4, turn * 0.4)
        seen.append(window.compute_importance(rows([2]), np.zeros(1), turn * 0.4 + 0.1).item())
    assert np.abs(np.array(seen) - 0.3).max() <= 0.3 * 0.4 / 3.0 + 1e-12
    assert seen[:5] == pytest.approx([0.3 * (3.0 - 0.1) / 3.0] * 5, rel=1e-9)  # the default fills what lies before


def test_interpolation_by_hand():
    window = InterpolatedHistory(4.0)
    window.join(0, 0.0, 0.25)  # H = 1
    window.record_crawl(0, 0.5, 1.0)  # d = 1: H = 3/4 + 1/2
    assert window.compute_importance(rows([0]), np.zeros(1), 1.5).tolist() == [1.25 / 4]
    window.record_crawl(0, 0.75, 9.5)  # d = 9.5 - 1.5 = 8: H = 0.75 * 4 / 8
    assert window.compute_importance(rows([0]), np.zeros(1), 10.25).tolist() == [0.375 / 4]


@pytest.mark.parametrize(("d", "wanted"), [(0.0, 1.5), (3.8, 0.05 + 0.5), (4.0, 0.5), (8.0, 0.25)])
def test_interpolation_at_the_edge_of_its_time_by_hand_stored_or_pending(d, wanted):
    window = InterpolatedHistory(4.0)
    window.join(5, 2.0, 0.25)  # H = 1
    assert window.compute_pending(rows([5]), np.array([0.5]), 2.0 + d) == pytest.approx([wanted / 4])
    window.record_crawl(5, 0.5, 2.0 + d)
    assert window.compute_stored(rows([5]), 2.5 + d) == pytest.approx([wanted / 4])


def test_fixed_and_variable_and_improved_by_hand():
    fixed, variable, improved = FixedHistory(4.0), VariableHistory(2), ImprovedFixedHistory(4.0)
    for window in (fixed, variable, improved):
        for cash, paid in [(0.5, 1.0), (0.25, 3.0), (0.125, 8.0), (1.0, 9.0)]:
            window.record_crawl(7, cash, paid)
    now, nothing = 10.0, np.zeros(1)
    assert fixed.compute_importance(rows([7]), nothing, now).tolist() == [1.125 / 4]  # those at 8 and 9
    assert variable.compute_importance(rows([7]), nothing, now).tolist() == [1.125 / 6]  # from 3 to 9
    assert improved.compute_importance(rows([7]), nothing, now).tolist() == [1.375 / 8]  # three, from 1 to 9
    assert [w.count_measures(rows([7])).item() for w in (fixed, variable, improved)] == [2, 2, 3]
    fixed.record_crawl(8, 0.0, 12.5)
    assert fixed.count_measures(rows([7])).item() == 1


def test_nobody_has_no_importance():
    for make in ALL.values():
        for fresh in (False, True):
            assert make(fresh).compute_importance(rows([]), np.zeros(0), 1.0).tolist() == []
            assert make(fresh).count_measures(rows([])).tolist() == []
            assert make(fresh).compute_importance(rows([3_000]), np.zeros(1), 1.0).tolist() == [0.0]


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan])
def test_windows_without_length_are_refused(wrong):
    for make in (
        FixedHistory,
        ImprovedFixedHistory,
        InterpolatedHistory,
        lambda time: VariableHistory(4, default=time),
    ):
        with pytest.raises(ValueError, match="its length in units of G must be above 0"):
            make(wrong)


def test_windows_without_measures_are_refused():
    for make in (VariableHistory, lambda least: ImprovedFixedHistory(1.0, least=least)):
        with pytest.raises(ValueError, match="a window keeps at least 1"):
            make(0)
