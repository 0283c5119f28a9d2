"""A fixed window against a referee of a few lines that plays X's server.

What is promised, and checked here with random schedules:

- No server window ever receives more than k requests, whatever the latencies, bursts, losses, restarts and clocks are,
  and whether headers come or not; provided that what other processes used, and a k lower than the table's, is told by
  the headers of the reply that flew alone.
- A request waits only while another flies alone, or because k requests may have been received by this server within
  the last d + 2 latencies + 2 seconds (the two are ROUNDING, once for the reset and once for the date). A request whose
  process died may have been received until LAG seconds after it left, and counts twice: the headers that the next
  process hears first may have counted it already.
- With work at all times, every window is used up and the next one opens at most two round trips + 2 s after it ended.
"""

from copy import deepcopy
from itertools import pairwise

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_referees import BEGIN, LONGEST, Fixed, Traffic

from socialcrawl.engine.model import Limit
from socialcrawl.ratelimit.fixed_window import FixedWindow
from socialcrawl.ratelimit.received_requests import LAG
from socialcrawl.ratelimit.window import ALONE, ROUNDING

SECONDS = st.floats(0.0, LONGEST)
WISH = st.fixed_dictionaries(
    {
        "way": SECONDS,
        "back": SECONDS,
        "gap": st.one_of(st.just(0.0), st.floats(0.0, 1.0), st.floats(0.0, 60.0)),
        "fate": st.sampled_from(["fine"] * 8 + ["lost before", "lost after", "unsent"]),
        "bare": st.sampled_from([False] * 5 + [True]),
        "undated": st.sampled_from([False] * 9 + [True]),
        "restart": st.sampled_from([False] * 9 + [True]),
        "others": st.sampled_from([0] * 8 + [1, 3]),
    }
)
CLEAN = {"fate": "fine", "bare": False, "undated": False, "restart": False, "others": 0, "gap": 0.0}
CASE = st.fixed_dictionaries(
    {
        "wishes": st.lists(WISH, min_size=1, max_size=60),
        "k": st.integers(1, 8),
        "d": st.floats(3.0, 40.0),
        "skew": st.floats(-600.0, 600.0),
        "in_flight": st.integers(1, 5),
    }
)


def play(traffic, wishes, in_flight, *, others=False):
    """Send the wishes; with `others`, somebody else's requests arrive before the one that flies alone after a start."""
    for wish in wishes:
        if wish["gap"]:
            traffic.advance(traffic.now + wish["gap"])
        if wish["restart"]:
            traffic.restart()
            if others:
                traffic.advance(traffic.now + 2 * LAG)
            room = traffic.referee.room(traffic.now)
            # of what others used nothing can be known before a reply is heard
            if others and room > 1 and wish["others"] and wish["fate"] == "fine" and not wish["bare"]:
                traffic.referee.receive(traffic.now, min(wish["others"], room - 1))
        traffic.send(wish, in_flight)
    traffic.advance(traffic.now + 3 * LONGEST)


@settings(deadline=None, max_examples=many(300))
@given(CASE, st.sampled_from(["all", "alone", "others", "none"]))
def test_no_server_window_ever_receives_more_than_it_allows(case, headers):
    wishes = [wish | {"bare": wish["bare"] or headers == "none"} for wish in case["wishes"]]
    traffic = Traffic(FixedWindow(case["k"], case["d"]), Fixed(case["k"], case["d"]), case["skew"])
    traffic.told = headers != "others"
    if headers == "alone":
        traffic.told_later = False
    play(traffic, wishes, case["in_flight"])
    assert traffic.referee.most <= case["k"]


@settings(deadline=None, max_examples=many(200))
@given(CASE, st.integers(0, 6), st.sampled_from([1.0, 1.3, 40.0]))
def test_headers_tell_of_others_and_of_a_window_that_is_smaller_than_the_table_says(case, too_high, too_long):
    k = max(2, case["k"])
    # until headers come, the table is all that is known
    wishes = [wish | {"fate": "fine", "bare": False} for wish in case["wishes"]] if too_high else case["wishes"]
    wishes = [wish | {"undated": False} for wish in wishes] if too_long > 1.0 else wishes
    window = FixedWindow(k + too_high, case["d"] * too_long)
    traffic = Traffic(window, Fixed(k, case["d"]), case["skew"])
    play(traffic, wishes, case["in_flight"], others=True)
    assert traffic.referee.most <= k


@settings(deadline=None, max_examples=many(200))
@given(CASE, st.booleans())
def test_nothing_waits_while_a_slot_is_certainly_free(case, bare):
    k, d = case["k"], case["d"]
    traffic = Traffic(FixedWindow(k, d), Fixed(k, d), case["skew"])
    play(traffic, [wish | {"bare": bare, "undated": False} for wish in case["wishes"]], case["in_flight"])
    for instant, recent in traffic.blocked:
        assert recent(2 * LONGEST + 2 * ROUNDING) >= k, f"waits at {instant} though the last window cannot be full"


@pytest.mark.parametrize("later", [0.0, 0.5])
def test_a_request_that_did_not_reach_the_server_leaves_its_slot_whenever_it_left(later):
    window = FixedWindow(2, 10.0)
    window.take(100.0)
    window.learn(Limit(most=2, left=1, resets=110.0), 100.0, 100.0, sent=100.0)
    window.take(100.0 + later)
    assert window.find_slot(101.0) >= 110.0
    window.give_back(100.0 + later)
    assert window.find_slot(101.0) == 101.0


def test_a_request_that_the_headers_count_already_is_not_given_back():
    window = FixedWindow(3, 10.0)
    window.take(100.0)
    window.learn(Limit(most=3, left=2, resets=110.0), 100.0, 100.0, sent=100.0)
    window.take(101.0)
    window.take(101.5)
    window.learn(Limit(most=3, left=0, resets=110.0), 102.0, 102.0, sent=101.5)
    window.give_back(101.0)
    assert window.count_used(103.0) == 3


@settings(deadline=None, max_examples=many(60))
@given(st.lists(st.tuples(st.floats(0.01, 0.5), st.floats(0.01, 0.5)), min_size=80, max_size=80), CASE, st.booleans())
def test_with_work_at_all_times_windows_are_full_and_follow_at_once(ways, case, bare):
    k, d = case["k"], case["d"] + 7.0
    referee = Fixed(k, d)
    traffic = Traffic(FixedWindow(k, d), referee, case["skew"])
    play(traffic, [CLEAN | {"way": way, "back": back, "bare": bare} for way, back in ways], case["in_flight"])
    # the round trips must fit into the window, or the windows cannot be full
    if k * 1.0 < d:
        assert all(received == k for _, received in referee.windows[:-1])
        for (opened, _), (following, _) in pairwise(referee.windows):
            assert following - (opened + d) <= 2 * 1.0 + 2 * ROUNDING + ALONE


def test_a_server_whose_windows_are_shorter_than_the_table_says_is_not_waited_for_in_vain():
    referee = Fixed(30, 5.0)
    traffic = Traffic(FixedWindow(30, 900.0), referee, 0.4)
    play(traffic, [CLEAN | {"way": 0.02, "back": 0.02}] * 150, 1)
    assert [received for _, received in referee.windows] == [30] * 5
    for (opened, _), (following, _) in pairwise(referee.windows):
        assert following - (opened + 5.0) <= 2 * ROUNDING + ALONE


@pytest.mark.parametrize("bare", [False, True])
def test_a_steady_crawl_below_the_limit_is_never_held_up(bare):
    # Every window's end falls between two requests; the one that opens the server's next window before ours has ended
    # says so in its headers. Taking that for a longer window would add up the counts of all windows.
    referee = Fixed(10, 30.0)
    traffic = Traffic(FixedWindow(10, 30.0), referee, 0.3)
    play(traffic, [CLEAN | {"way": 0.4, "back": 0.5, "gap": 4.3, "bare": bare}] * 200, 1)
    assert len(referee.windows) > 20
    assert traffic.blocked == []


def test_fifteen_a_window_three_times_on_a_clock_moved_by_hand():
    window, now, sent = FixedWindow(15, 900.0), BEGIN, []
    for _ in range(45):
        if (when := window.find_slot(now)) > now:
            now = when
        window.take(now)
        window.learn(None, None, now, sent=now)
        sent.append(now)
    assert [sent.count(instant) for instant in dict.fromkeys(sent)] == [15, 15, 15]
    assert list(dict.fromkeys(sent)) == [BEGIN, BEGIN + 900.0, BEGIN + 1800.0]


@given(st.lists(st.sampled_from(["take", "learn", "close", "sound"]), max_size=30), st.floats(0.0, 100.0))
def test_asking_when_changes_nothing(moves, later):
    window, now = FixedWindow(3, 10.0), BEGIN

    def state():
        return deepcopy({**vars(window), "received": vars(window.received)})

    for move in moves:
        before = state()
        assert window.find_slot(now) == window.find_slot(now)
        assert window.find_slot(now + later) >= now + later
        assert window.count_slots(now, now + later) >= 0
        assert window.explain_wait(now)
        assert state() == before
        now += 1.0
        if move == "take" and window.find_slot(now) <= now:
            window.take(now)
        elif move == "learn" and window.received.in_flight:
            window.learn(Limit(1, 3, now + 5.0), now, now, sent=window.received.in_flight[0])
        elif move == "close":
            window.close(now + 4.0)
        elif move == "sound":
            window.forget_in_flight()


def test_the_first_request_flies_alone_and_its_arrival_begins_the_window():
    window = FixedWindow(3, 10.0)
    window.take(100.0)
    assert window.find_slot(100.5) == pytest.approx(100.5 + ALONE)
    assert window.explain_wait(100.5) == "the first request of the window is in flight"
    window.learn(None, None, 102.0, sent=100.0)
    assert window.find_slot(102.0) == 102.0
    window.take(102.0)
    window.take(102.0)
    assert window.find_slot(103.0) == 112.0
    assert window.explain_wait(103.0) == "all 3 requests of the window are used"
    assert window.find_slot(112.0) == pytest.approx(112.0 + ALONE), "two are still in flight"
    window.learn(None, None, 112.0, sent=102.0)
    window.learn(None, None, 112.0, sent=102.0)
    assert window.find_slot(112.0) == 112.0


def test_headers_without_a_date_still_tell_what_is_used():
    window = FixedWindow(15, 900.0)
    window.take(100.0)
    window.learn(Limit(0, 4, 5_000.0), None, 101.0, sent=100.0)
    assert (window.k, window.count_used(101.0)) == (4, 4)
    assert window.find_slot(101.0) == 1001.0


def test_a_window_that_lasts_longer_than_the_table_says_is_believed():
    window = FixedWindow(2, 1.0)
    window.take(100.0)
    window.learn(Limit(1, 2, 900.0), 0.0, 100.5, sent=100.0)
    window.take(100.6)
    assert window.find_slot(101.7) == 100.5 + 900.0 + ROUNDING


def test_a_limit_that_was_told_too_small_once_is_not_believed_for_ever():
    window = FixedWindow(15, 900.0)
    for at, most, believed in ((100.0, 1, 1), (1100.0, 15, 15), (2100.0, 300, 15)):
        window.take(at)
        window.learn(Limit(most - 1, most, at + 900.0), at, at, sent=at)
        assert window.k == believed


def test_a_window_that_ended_long_ago_leaves_nothing_to_wait_for_after_a_restart():
    window = FixedWindow(3, 10.0)
    for _ in range(3):
        window.take(100.0)
        window.learn(None, None, 100.0, sent=100.0)
    window.forget_in_flight()
    window.take(100_000.0)
    window.learn(None, None, 100_000.0, sent=100_000.0)
    assert window.find_slot(100_000.0) == 100_000.0


def test_a_pause_and_a_restart_without_headers_do_not_move_the_end_of_the_window():
    window = FixedWindow(3, 86_400.0)
    window.take(100.0)
    window.learn(Limit(2, 3, 86_500.0), 100.0, 100.0, sent=100.0)
    for at in (50_000.0, 60_000.0):
        window.close(at)
        window.forget_in_flight()
        window.take(at)
        window.learn(None, None, at, sent=at)
    assert window.find_slot(60_000.0) == 100.0 + 86_400.0


@pytest.mark.parametrize("reset", [-40.0, 1e6])
def test_an_absurd_reset_is_no_end(reset):
    window = FixedWindow(2, 900.0)
    for left in (1, 0):
        window.take(100.0)
        window.learn(Limit(left, 2, 100.0 + reset), 100.0, 100.0, sent=100.0)
    assert window.find_slot(101.0) == 1000.0


def test_a_request_that_the_server_may_never_have_counted_opens_no_window():
    window = FixedWindow(2, 10.0)
    window.take(100.0)
    window.learn(None, None, 101.0, sent=100.0, counted=False)
    window.take(109.0)
    window.learn(None, None, 109.0, sent=109.0)
    assert window.find_slot(109.0) == 111.0, "the one that came to nothing may have counted until then"
    window.take(111.0)
    assert window.find_slot(112.0) == 119.0, "the window began at 109"
    assert window.count_slots(112.0, 118.9) == 0
    assert window.count_slots(112.0, 119.0) == 2
