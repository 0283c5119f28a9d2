"""Sliding and aligned windows against referees of a few lines.

What is promised, and checked here with random schedules:

- No window of the server ever receives more than k requests, whatever the latencies, losses, restarts and clocks are.
- A request waits only because k requests may have been received within the last d seconds (sliding), or in the server's
  present window, as far as the replies have told where it begins (aligned).
- With work at all times, a slot is used again one round trip and d seconds later (sliding), or at once in the next
  window (aligned).
"""

from math import floor

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_referees import BEGIN, LONGEST, Aligned, Sliding, Traffic

from socialcrawl.engine.model import Limit
from socialcrawl.ratelimit.clock_offset import DRIFT, ClockOffset
from socialcrawl.ratelimit.counted_window import AlignedWindow, SlidingWindow
from socialcrawl.ratelimit.received_requests import GRAINS
from socialcrawl.ratelimit.window import ALONE

SECONDS = st.floats(0.0, LONGEST)
WISH = st.fixed_dictionaries(
    {
        "way": SECONDS,
        "back": SECONDS,
        "gap": st.one_of(st.just(0.0), st.floats(0.0, 1.0), st.floats(0.0, 60.0)),
        "fate": st.sampled_from(["fine"] * 8 + ["lost before", "lost after", "unsent"]),
        "bare": st.booleans(),
        "undated": st.sampled_from([False] * 5 + [True]),
        "restart": st.sampled_from([False] * 9 + [True]),
    }
)
CLEAN = {"fate": "fine", "bare": False, "undated": False, "restart": False, "gap": 0.0}
CASE = st.fixed_dictionaries(
    {
        "wishes": st.lists(WISH, min_size=1, max_size=60),
        "k": st.integers(1, 8),
        "d": st.floats(0.5, 40.0),
        "skew": st.floats(-600.0, 600.0),
        "in_flight": st.integers(1, 6),
    }
)
WAYS = st.lists(st.tuples(st.floats(0.01, 0.5), st.floats(0.01, 0.5)), min_size=80, max_size=80)


def play(traffic, wishes, in_flight):
    for wish in wishes:
        if wish["gap"]:
            traffic.advance(traffic.now + wish["gap"])
        if wish["restart"]:
            traffic.restart()
        traffic.send(wish, in_flight)
    traffic.advance(traffic.now + 3 * LONGEST)


def sliding(k, d, skew=0.0):
    return Traffic(SlidingWindow(k, d), Sliding(k, d), skew)


def aligned(k, d, skew=0.0):
    offset = ClockOffset()
    return Traffic(AlignedWindow(k, d, offset), Aligned(k, d, skew), skew, offset=offset)


@settings(deadline=None, max_examples=many(300))
@given(CASE, st.sampled_from([sliding, aligned]))
def test_no_window_of_the_server_ever_receives_more_than_it_allows(case, kind):
    traffic = kind(case["k"], case["d"], case["skew"])
    play(traffic, case["wishes"], case["in_flight"])
    assert traffic.referee.most <= case["k"]


@settings(deadline=None, max_examples=many(150))
@given(CASE)
def test_a_sliding_window_waits_only_while_k_requests_may_count(case):
    k, d = case["k"], case["d"]
    traffic = sliding(k, d, case["skew"])
    play(traffic, case["wishes"], case["in_flight"])
    for instant, recent in traffic.blocked:
        assert recent(d / GRAINS + 1e-5) >= k, f"waits at {instant}"


@settings(deadline=None, max_examples=many(150))
@given(CASE)
def test_an_aligned_window_waits_only_while_k_requests_may_be_in_the_present_one(case):
    k, d, skew = case["k"], case["d"], case["skew"]
    traffic = aligned(k, d, skew)
    waits, when = [], traffic.window.find_slot

    def watched(now):
        until = when(now)
        if until > now and not traffic.out:
            low, high = traffic.offset.find_bounds(now) if traffic.offset.is_known else (skew, skew + d)
            waits.append((now, high - low, [sent.gone for sent in traffic.log]))
        return until

    traffic.window.find_slot = watched
    play(traffic, case["wishes"], case["in_flight"])
    for now, width, gone in waits:
        opened = floor((now - width + skew) / d) * d - skew  # the window before, where the offset leaves that open
        counting = [at for at in gone if at > max(opened - width - DRIFT * d, now - d) - d / GRAINS - 1e-5]
        assert len(counting) >= k, f"waits at {now}"


@settings(deadline=None, max_examples=many(40))
@given(WAYS, st.integers(1, 8), st.floats(0.5, 40.0))
def test_with_work_at_all_times_every_slot_of_a_sliding_window_is_used_again_at_once(ways, k, d):
    traffic = sliding(k, d)
    play(traffic, [CLEAN | {"way": way, "back": back} for way, back in ways], 100)
    left = [sent.left for sent in traffic.log]
    longest = d * (1 + 1 / GRAINS) + 1.0 + 2 * ALONE
    assert all(again - first <= longest for first, again in zip(left, left[k:], strict=False))


@settings(deadline=None, max_examples=many(40))
@given(WAYS, st.integers(1, 8), st.floats(5.0, 40.0), st.floats(-600.0, 600.0))
def test_with_work_at_all_times_aligned_windows_are_full_and_follow_at_once(ways, k, d, skew):
    traffic = aligned(k, d, skew)
    play(traffic, [CLEAN | {"way": way, "back": back} for way, back in ways], 100)
    numbers = sorted(traffic.referee.windows)
    # the first ones meet a window that had begun before, and may land close to its end
    numbers = numbers[6:]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert all(traffic.referee.windows[number] == k for number in numbers[:-1])
    for number in numbers[:-1]:
        begin = number * d - skew
        first = min(sent.left for sent in traffic.log if sent.left >= begin)
        assert first - begin <= 2.1 + 3 * DRIFT * d


def test_one_a_second_leaves_a_second_after_the_last_reply():
    window, now = SlidingWindow(1, 1.0), BEGIN
    for _ in range(5):
        assert window.find_slot(now) == now
        window.take(now)
        assert window.find_slot(now + 0.1) == pytest.approx(now + 0.1 + ALONE)
        window.learn(None, None, now + 0.5, sent=now)
        assert window.find_slot(now + 0.6) == now + 1.5
        assert window.explain_wait(now + 0.6) == "only 1 requests are allowed in any 1 s"
        now += 1.5


def test_three_in_each_minute_of_the_servers_clock():
    offset = ClockOffset()
    for at in range(20):
        offset.learn(60.0 + at / 20, 60.0 + at / 20, float(floor(60.0 + at / 20 + 30.25)))  # it is 30.25 s ahead
    window = AlignedWindow(3, 60.0, offset)
    for _ in range(3):
        assert window.find_slot(65.0) == 65.0
        window.take(65.0)
        window.learn(None, None, 65.0, sent=65.0)
    assert window.find_slot(65.0) == pytest.approx(89.75, abs=0.1)
    assert window.find_end(65.0) == window.find_slot(65.0)
    assert window.count_slots(65.0, 89.0) == 0
    assert window.count_slots(65.0, 90.0) == 3
    assert window.count_slots(65.0, 150.0) == 6


def test_what_a_server_counts_beyond_our_own_was_somebody_elses():
    window = SlidingWindow(10, 60.0)
    window.take(100.0)
    window.learn(Limit(2, 8, 0.0), None, 100.0, sent=100.0)  # 6 of 8 are used, one of them by us
    assert (window.k, window.count_used(100.0)) == (8, 6)
    for _ in range(2):
        window.take(101.0)
        window.learn(None, None, 101.0, sent=101.0)
    assert window.find_slot(101.0) == 160.0


def test_a_limit_of_nothing_is_none():
    window = SlidingWindow(10, 60.0)
    window.take(100.0)
    window.learn(Limit(0, 0, 0.0), None, 100.0, sent=100.0)
    assert (window.k, window.count_used(100.0)) == (10, 1)


@given(st.lists(st.tuples(st.floats(0.0, 30.0), st.integers(1, 3)), max_size=60), st.integers(1, 12))
def test_requests_that_count_in_windows_of_ten_seconds_are_the_same_whether_kept_one_by_one_or_not(steps, k):
    window, alone, now = SlidingWindow(k, 10.0), [], BEGIN
    for gap, count in steps:
        now += gap
        window.received.forget(now - 20.0)
        window.received.add(now, count, now)
        alone += [now] * count
        for begin in (now - 10.0, now - 3.0, now):
            exact = sum(at >= begin for at in alone)
            rounded = sum(at >= begin - 10.0 / GRAINS for at in alone)
            assert exact <= window.received.count_since(begin) <= rounded
        oldest = window.received.find_oldest(now - 10.0, k)
        counting = [at for at in alone if at >= now - 10.0]
        assert (oldest is None) == (len(counting) < k) or abs(counting[0] - (now - 10.0)) <= 10.0 / GRAINS
        assert oldest is None or len(counting) < k or 0.0 <= oldest - counting[k - 1] <= 10.0 / GRAINS


def test_a_day_of_requests_takes_little_room():
    window = SlidingWindow(10**6, 86_400.0)
    for number in range(200_000):
        at = BEGIN + number * 0.1
        window.take(at)
        window.learn(None, None, at, sent=at)
    assert len(window.received.times) <= 20_001  # one a second at most
    assert window.count_used(BEGIN + 86_400.0) == 200_000
    assert 99_999 <= window.count_used(BEGIN + 96_400.0) <= 100_010
