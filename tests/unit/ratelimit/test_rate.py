"""r where the campaign file says auto: a window is played through, reply by reply, with every r and every beginning."""

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.campaign.plan import THREADS
from socialcrawl.ratelimit.batch_size import TOGETHER, choose_batch_size, find_planning_latency


def played(r, k, latency, left):
    """Seconds from the first request of a window to the last reply, if `left` requests of the batch fall into it."""
    now, sent = 0.0, 0
    waiting = left
    while sent < k:
        together = 1 if sent == 0 else min(waiting, k - sent)  # the first flies alone
        sent += together
        waiting -= together
        now += latency
        waiting = waiting or r
    return now


def keeps_busy(r, k, d, latency):
    return all(played(r, k, latency, left) <= d for left in range(1, r + 1))


@given(st.integers(1, 400), st.integers(1, 1000), st.integers(1, 4000))
@settings(max_examples=many(300), deadline=None)
def test_r_is_the_smallest_that_keeps_a_window_busy(k, d, latency):
    latency = latency / 8  # of which sums are exact
    found = choose_batch_size(latency, k, float(d))
    most = min(k, TOGETHER)
    assert 1 <= found <= most
    if found < most:
        assert keeps_busy(found, k, d, latency)
    assert not any(keeps_busy(r, k, d, latency) for r in range(1, found))


def windows_filled(r, k, d, latency, rounds):
    """Batches of r one after the other through fixed windows: how many requests left in each of them."""
    now, begin, filled = 0.0, None, []
    for _ in range(rounds):
        left = r
        while left:
            if begin is None or now >= begin + d:
                begin, together = now, 1
                filled.append(0)
            elif filled[-1] == k:
                now = begin + d
                continue
            else:
                together = min(left, k - filled[-1])
            filled[-1] += together
            left -= together
            now += latency
    return filled[:-1]


@pytest.mark.parametrize(
    ("k", "d", "latency"), [(15, 900.0, 100.0), (300, 900.0, 9.0), (100, 60.0, 2.0), (50, 25.0, 0.75)]
)
def test_many_windows_in_a_row_are_filled_to_the_last_request(k, d, latency):
    found = choose_batch_size(latency, k, d)
    assert 1 < found < min(k, TOGETHER)
    filled = windows_filled(found, k, d, latency, 3000)
    assert len(filled) > 20
    assert set(filled) == {k}
    assert min(windows_filled(found // 2, k, d, latency, 3000)) < k


def test_a_quick_server_needs_one_at_a_time_and_a_hopeless_one_gets_all_there_are():
    assert choose_batch_size(0.3, 300, 900.0) == 1
    assert choose_batch_size(3.1, 300, 900.0) == 2
    assert choose_batch_size(0.0, 10_000, 900.0) == 1
    assert (choose_batch_size(1e6, 300, 900.0), choose_batch_size(1e6, 5, 900.0), choose_batch_size(1e6, 1, 900.0)) == (
        THREADS,
        5,
        1,
    )


@given(st.lists(st.floats(0, 1e3), max_size=200))
@settings(deadline=None)
def test_the_latency_to_plan_with_is_passed_by_at_most_one_reply_in_twenty(latencies):
    found = find_planning_latency(latencies)
    if len(latencies) < 5:
        assert found is None
    else:
        assert found in latencies
        assert 20 * sum(one > found for one in latencies) <= len(latencies)
        assert 20 * sum(one >= found for one in latencies) > len(latencies)
