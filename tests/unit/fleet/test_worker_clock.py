"""The clock of a worker is known to half of the quickest answer."""

from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.fleet.worker_clock import DRIFT, WorkerClock

AHEAD = st.floats(-1e6, 1e6)
TRIPS = st.lists(st.tuples(st.floats(0.0, 0.5), st.floats(0.0, 0.5)), min_size=1, max_size=20)


def test_nothing_is_added_while_nothing_is_known():
    assert WorkerClock().offset == 0.0


@settings(deadline=None, max_examples=many(100))
@given(AHEAD, TRIPS)
def test_the_offset_is_wrong_by_no_more_than_half_of_the_quickest_answer_and_what_clocks_part(ahead, trips):
    clock, now, began = WorkerClock(), 1_000.0, 1_000.0
    for there, back in trips:
        clock.learn(now, now + there - ahead, now + there + back)
        now += 1.0
    quickest = min(there + back for there, back in trips)
    assert abs(clock.offset - ahead) <= quickest / 2 + DRIFT * (now - began) + 1e-6


def test_a_worker_whose_clock_was_set_is_believed_at_once():
    clock = WorkerClock()
    clock.learn(10.0, 10.01, 10.02)
    clock.learn(11.0, 3_611.01, 11.02)
    assert abs(clock.offset + 3_600.0) < 0.02


def test_a_slow_answer_takes_nothing_from_what_a_quick_one_told():
    clock = WorkerClock()
    clock.learn(10.0, 10.0005, 10.001)
    clock.learn(11.0, 12.9, 13.0)
    assert abs(clock.offset) < 0.002
