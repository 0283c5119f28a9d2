"""The distance to a server's clock, against clocks whose true distance is known."""

from math import floor

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.ratelimit.clock_offset import DRIFT, ClockOffset

BEGIN = 1_700_000_000.0
REPLY = st.tuples(
    st.floats(0.0, 5000.0),  # seconds since the last one
    st.one_of(st.floats(0.0, 2.0), st.floats(0.0, 60.0)),  # way there
    st.one_of(st.floats(0.0, 2.0), st.floats(0.0, 60.0)),  # and back
    st.booleans(),  # whether it has a date
)


def heard(offset, sent, way, back, distance):
    """Learn from one reply of a server whose clock is `distance(instant)` ahead of ours."""
    offset.learn(sent, sent + way + back, float(floor(sent + way + distance(sent + way))))
    return sent + way + back


@settings(deadline=None, max_examples=many(300))
@given(st.lists(REPLY, max_size=30), st.floats(-600.0, 600.0), st.floats(-1e-4, 1e-4), st.floats(0.0, 1e6))
def test_the_interval_always_holds_the_true_distance_of_two_clocks_that_part(replies, begin, drift, later):
    offset, now = ClockOffset(), BEGIN

    def distance(at):
        return begin + drift * (at - BEGIN)

    for gap, way, back, dated in replies:
        now += gap
        low, high = offset.find_bounds(now)
        assert low <= distance(now) <= high
        if dated:
            now = heard(offset, now, way, back, distance)
        else:
            offset.learn(now, now + way + back, None)
            now += way + back
        low, high = offset.find_bounds(now)
        assert low <= distance(now) <= high
        assert not dated or high - low <= 1.0 + (1 + 2 * DRIFT) * (way + back) + 1e-5
    low, high = offset.find_bounds(now + later)
    assert low <= distance(now + later) <= high


@pytest.mark.parametrize("latency", [0.05, 0.5])
def test_many_replies_narrow_it_down_to_about_one_latency(latency):
    rng, offset, now = np.random.default_rng(5), ClockOffset(), BEGIN
    for _ in range(300):
        way, back = rng.uniform(0.4, 0.6, 2) * latency
        now = heard(offset, now + rng.uniform(0.1, 2.0), way, back, lambda at: 7.3)
    assert offset.high - offset.low <= latency + 0.05  # what the clocks may have parted since is on top
    assert offset.guess == pytest.approx(7.3, abs=latency)


@settings(deadline=None, max_examples=many(50))
@given(st.integers(0, 10**6), st.floats(-600.0, 600.0))
def test_a_step_of_either_clock_is_survived(seed, step):
    rng, offset, now, latency = np.random.default_rng(seed), ClockOffset(), BEGIN, 0.1
    for number in range(400):
        distance = 3.0 + (step if number >= 200 else 0.0)
        now = heard(offset, now + rng.uniform(0.1, 2.0), *rng.uniform(0.0, latency, 2), lambda at, d=distance: d)
    low, high = offset.find_bounds(now)
    # what differs by less than the latencies cannot be told from them
    assert low - 2 * latency <= 3.0 + step <= high + 2 * latency
    assert high - low <= 1.0 + 2 * latency


def test_a_large_step_is_seen_in_the_first_reply():
    offset = ClockOffset()
    heard(offset, BEGIN, 0.1, 0.1, lambda at: 0.0)
    heard(offset, BEGIN + 10.0, 0.1, 0.1, lambda at: 600.0)
    assert offset.low <= 600.0 <= offset.high <= 602.0


def test_nothing_is_known_before_a_date_was_heard_nor_from_a_clock_that_ran_backwards():
    offset = ClockOffset()
    assert (offset.is_known, offset.guess) == (False, 0.0)
    offset.learn(BEGIN, BEGIN - 1.0, BEGIN)
    offset.learn(BEGIN, BEGIN + 1.0, None)
    assert not offset.is_known
    offset.learn(BEGIN, BEGIN + 1.0, BEGIN)
    assert offset.is_known
