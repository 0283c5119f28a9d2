"""Lanes: which token leaves first, what headers tell of which window, and when so many requests will be done.

The referee of the forecasts sends the requests one after another, each answered at once.
"""

from copy import deepcopy
from math import floor, inf

import pytest
from example_counts import many
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from socialcrawl.engine.model import Credential, Grant, Limit, Reply, Request
from socialcrawl.ratelimit.clock_offset import ClockOffset
from socialcrawl.ratelimit.policy import Endpoint, Policy, Rule
from socialcrawl.ratelimit.window import DAY, ROUNDING
from socialcrawl.ratelimit.window_set import WindowSet, find_tightest
from socialcrawl.ratelimit.window_sets import WindowSets

BEGIN, ASKED = 1_700_000_000.0, Request((0, 0), "/e", {})
AHEAD = 123.4  # seconds that the server's clock is ahead


def lanes(rules, tokens=1):
    return WindowSets(Policy("x", "", "", {"/e": Endpoint(tuple(rules))}), [Credential(f"c{n}") for n in range(tokens)])


def send(by, now):
    """Send one request as soon as it can leave, answered at once; when that was."""
    while True:
        when, lane = by.find_first("/e", now)
        assert lane is not None
        if when <= now:
            break
        now = when
    lane.take(now)
    by.learn(Grant(ASKED, lane.credential, now), Reply("ok", now, date=float(floor(now + AHEAD))))
    return now


def told(by, at, *, left, rest, most=5):
    """Send one request, whose reply has headers."""
    (lane,) = by.find_usable("/e")
    lane.take(at)
    reply = Reply("ok", at, date=at, limits=[Limit(left, most, at + rest)])
    by.learn(Grant(ASKED, lane.credential, at), reply)


def history(by, gaps):
    now = BEGIN
    for gap in gaps:
        now = send(by, now + gap)
    return now


GAP = st.one_of(st.just(0.0), st.floats(0.0, 30.0))
GAPS = st.lists(GAP, max_size=25)
SEEN = st.lists(GAP, min_size=1, max_size=25)
FIXED = st.builds(Rule, st.integers(1, 8), st.floats(3.0, 40.0))
SLIDING = st.builds(lambda k, d: Rule(k, d, "sliding"), st.integers(1, 5), st.floats(0.5, 20.0))
ALIGNED = st.builds(lambda k, d: Rule(k, d, "aligned"), st.integers(1, 6), st.floats(3.0, 40.0))


def referee(by, count, now):
    by = deepcopy(by)
    for _ in range(count):
        now = send(by, now)
    return now


@settings(deadline=None, max_examples=many(100))
@given(FIXED, SEEN, st.floats(0.0, 50.0), st.integers(1, 60), st.integers(1, 3))
def test_the_forecast_of_fixed_windows_is_exact(rule, gaps, later, count, tokens):
    by = lanes([rule], tokens)
    now = history(by, gaps) + later
    assume(all(lane.main.length for lane in by.find_usable("/e")))  # each has been answered once
    assert by.predict_done("/e", count, now) == pytest.approx(referee(by, count, now), abs=0.01)


@settings(deadline=None, max_examples=many(100))
@given(st.one_of(SLIDING, ALIGNED), GAPS, st.floats(0.0, 50.0), st.integers(1, 60), st.integers(1, 3))
def test_the_forecast_of_other_windows_is_right_within_one_window(rule, gaps, later, count, tokens):
    by = lanes([rule], tokens)
    now = history(by, gaps) + later
    true = referee(by, count, now)
    assert abs(by.predict_done("/e", count, now) - true) <= rule.d + 0.02 * (true - now) + 0.01


@settings(deadline=None, max_examples=many(150))
@given(st.lists(st.one_of(FIXED, SLIDING, ALIGNED), min_size=2, max_size=3), SEEN, st.integers(1, 60))
def test_the_forecast_of_windows_that_hold_at_once_is_never_later_than_they_let_them_leave(rules, gaps, count):
    by = lanes(rules)
    now = history(by, gaps)
    true, told = referee(by, count, now), by.predict_done("/e", count, now)
    assert told - true <= max(rule.d for rule in rules) + 0.02 * (true - now) + 0.01


@pytest.mark.parametrize("count", [1, 299, 300, 301, 5000])
def test_the_forecast_of_three_hundred_a_quarter_of_an_hour_and_one_a_second(count):
    by = lanes([Rule(300, 900.0), Rule(1, 1.0, "sliding")])
    now = send(by, BEGIN)
    true = referee(by, count, now)
    assert abs(by.predict_done("/e", count, now) - true) <= 900.0 + 0.02 * (true - now)
    assert abs(by.predict_done("/e", count, now) - now) >= 900.0 * ((count - 299) // 300)


def test_what_can_leave_at_once_is_done_now_and_what_takes_more_than_a_year_never():
    by = lanes([Rule(5, 900.0)])
    assert by.predict_done("/e", 5, BEGIN) == BEGIN
    assert by.predict_done("/e", 10**9, BEGIN) is None
    assert WindowSets(by.policy, []).predict_done("/e", 1, BEGIN) is None


def test_nothing_is_foretold_of_windows_whose_length_no_reply_has_shown():
    by = lanes([Rule(5, 900.0)])
    assert by.predict_done("/e", 6, BEGIN) is None, "the table's 900 s are not what the server does"
    now = send(by, BEGIN)
    assert by.predict_done("/e", 5, now) == pytest.approx(BEGIN + 900.0, abs=0.01), (
        "where no header tells, the table rules"
    )
    two = lanes([Rule(5, 900.0)], tokens=2)
    send(two, BEGIN)
    assert two.predict_done("/e", 10, BEGIN) is None, "the other token's windows may be others"


def test_nothing_is_foretold_of_windows_that_somebody_else_opens_until_one_is_ours():
    by = lanes([Rule(5, 900.0)])
    told(by, BEGIN, left=1, rest=2.0)  # three of four were not ours: who knows when it began
    assert by.predict_done("/e", 6, BEGIN) == pytest.approx(BEGIN + 3.0, abs=0.01), (
        "the next window is sure, with its five"
    )
    assert by.predict_done("/e", 7, BEGIN) is None
    told(by, BEGIN + 3.0, left=4, rest=12.0)
    assert by.predict_done("/e", 10, BEGIN + 3.0) == pytest.approx(BEGIN + 3.0 + 2 * 13.0, abs=0.01)


@settings(deadline=None, max_examples=many(100))
@given(st.integers(2, 20), st.integers(2, 60), st.integers(1, 100))
def test_the_length_of_windows_is_learned_from_the_headers_of_the_first_reply(k, d, count):
    by = lanes([Rule(300, 900.0)])
    told(by, BEGIN, left=k - 1, most=k, rest=float(d))
    windows = -(-(count - (k - 1)) // k)  # after the one that is open
    assert by.predict_done("/e", count, BEGIN) == pytest.approx(BEGIN + max(0, windows) * (d + ROUNDING), abs=0.01)


@settings(deadline=None, max_examples=many(100))
@given(st.lists(st.one_of(FIXED, SLIDING, ALIGNED), min_size=1, max_size=3), GAPS, st.floats(0.0, 99.0))
def test_room_never_shrinks_with_time(rules, gaps, span):
    by = lanes(rules)
    now = history(by, gaps)
    (lane,) = by.find_usable("/e")
    rooms = [lane.count_slots(now, now + span * part / 10) for part in range(11)]
    assert rooms == sorted(rooms)
    assert (rooms[0] > 0) == (lane.find_slot(now) <= now)
    assert lane.count_slots(now, now - 1.0) == 0


@settings(deadline=None, max_examples=many(150))
@given(
    st.lists(st.one_of(FIXED, SLIDING, ALIGNED), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 3), st.floats(0.0, 20.0)), max_size=40),
)
def test_a_lane_is_free_whenever_its_windows_are_however_often_it_was_asked_before(rules, moves):
    by = lanes(rules, 3)
    now, flying = BEGIN, []
    for move, gap in moves:
        now += gap
        for one in by.find_usable("/e"):
            assert one.can_send(now) == (one.find_slot(now) <= now)
        when, one = by.find_first("/e", now)
        if move < 2 and when <= now:
            one.take(now)
            flying.append(Grant(ASKED, one.credential, now))
        elif move == 2 and flying:
            by.learn(flying.pop(0), Reply("ok", now, date=float(floor(now + AHEAD))))
        elif move == 3 and gap > 5.0:
            one.close(now + 1.0)
        elif move == 3:
            one.forget_in_flight()


def test_of_two_families_of_headers_the_smaller_remaining_wins():
    limits = [Limit(7, 10, 0.0), Limit(3, 300, 0.0), Limit(1, 25, 0.0, daily=True), Limit(9, 9, 0.0, daily=True)]
    assert find_tightest(limits, daily=False) == limits[1]
    assert find_tightest(limits, daily=True) == limits[2]
    assert find_tightest([], daily=True) is None


def lane(*rules):
    return WindowSet("a", "/e", rules, ClockOffset())


def ok(at, *limits, date=0.0):
    return Reply("ok", at, date=at + date, limits=limits)


def test_a_day_of_which_only_headers_know_is_kept_from_the_first_time_they_tell():
    one = lane(Rule(100, 900.0))
    one.take(100.0)
    one.learn(100.0, ok(100.0, Limit(99, 100, 1000.0), Limit(2, 25, 50_100.0, daily=True)))
    for _ in range(2):
        assert one.find_slot(101.0) == 101.0
        one.take(101.0)
        one.learn(101.0, ok(101.0))
    assert one.find_slot(102.0) == 50_101.0
    assert one.explain_wait(102.0) == "all 25 requests of the window are used"


def test_a_day_that_is_first_told_of_while_others_are_in_flight_counts_them_too():
    one = lane(Rule(100, 60.0, "sliding"))
    for at in (100.0, 100.0, 100.2):
        one.take(at)
    one.learn(100.0, ok(101.0, Limit(4, 5, 50_000.0, daily=True)))
    one.learn(100.0, ok(101.0))
    one.learn(100.2, ok(101.0))
    for at in (102.0, 103.0):
        assert one.find_slot(at) == at
        one.take(at)
        one.learn(at, ok(at))
    assert one.find_slot(104.0) > 49_000.0


def test_headers_of_the_day_say_nothing_of_the_main_window_even_if_that_lasts_a_day():
    one = lane(Rule(100, DAY))
    one.take(100.0)
    one.learn(100.0, ok(100.0, Limit(0, 4, 500.0)))
    assert one.find_slot(101.0) > 101.0
    one = lane(Rule(100, DAY))
    one.take(100.0)
    one.learn(100.0, ok(100.0, Limit(80, 100, 500.0), Limit(7, 8, 50_000.0, daily=True)))
    assert one.count_slots(101.0, 101.0) == 7


@pytest.mark.parametrize(("most", "resets"), [(25, 50.0), (25, 1e9), (0, 500.0)])
def test_a_day_that_is_over_or_ends_in_years_or_allows_nothing_is_none(most, resets):
    one = lane(Rule(100, 900.0))
    one.take(100.0)
    one.learn(100.0, ok(100.0, Limit(0, most, resets, daily=True)))
    assert one.find_slot(101.0) == 101.0


def test_all_windows_hold_at_once():
    one = lane(Rule(3, 900.0), Rule(1, 1.0, "sliding"), Rule(2, 60.0, "aligned"))
    left, now = [], 0.0
    while len(left) < 5:
        now = max(now, one.find_slot(now))
        if one.find_slot(now) > now:
            continue
        one.take(now)
        one.learn(now, ok(now))
        left.append(now)
    assert left == pytest.approx([0.0, 1.0, 60.0, 900.0, 901.0], abs=0.001)
    assert one.find_deadline(left[-1]) == 1800.0


def test_the_first_lane_that_is_free_is_found_among_full_ones():
    by = lanes([Rule(1, 900.0)], 3)
    found = []
    for at in (0.0, 1.0, 2.0):
        when, one = by.find_first("/e", at)
        found.append((when, one.credential))
        one.take(at)
        one.learn(at, ok(at))
    assert found == [(0.0, "c0"), (1.0, "c1"), (2.0, "c2")]
    when, one = by.find_first("/e", 3.0)
    assert (when, one.credential) == (900.0, "c0")
    assert WindowSets(by.policy, []).find_first("/e", 3.0) == (inf, None)


def test_a_credential_that_an_old_ledger_names_has_windows_too():
    by = lanes([Rule(1, 900.0)])
    assert by.get("gone", "/e").main.k == 1
    assert [one.credential for one in by.find_usable("/e")] == ["c0"]
