"""A window against a referee of a few lines that plays X's server.

The referee: a window opens with the first request received after the last one ended, lasts exactly d, and allows k.
What is promised, and checked here with random schedules:

- No server window ever receives more than k requests, whatever the latencies, bursts, losses, restarts and clocks are;
  provided that what other processes used, and a k lower than the table's, is told by the headers of the reply that flew
  alone, and that after a restart nothing that the dead process sent is still on its way. (A process that is killed k
  times in a row before its first reply is not saved from itself: k is 1 only in the second property.)
- A request waits only while another flies alone, or because k requests were sent to this server within the
  last d + latency + 2 seconds (the two are ROUNDING, once for the reset and once for the date).
- With work at all times, every window is used up and the next one opens at most two round trips + 2 s after it ended.
"""

import heapq
from itertools import pairwise
from math import floor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.limits.window import ALONE, ROUNDING, FixedWindow
from socialcrawl.model import Limit

LONGEST = 2.0  # seconds of the longest way to the server or back
BEGIN = 1_700_000_000.0


class Referee:
    def __init__(self, k, d, offset):
        self.k, self.d, self.offset = k, d, offset
        self.windows: list[list[float]] = []  # [opened, received]

    def receive(self, now, count=1):
        if not self.windows or now >= self.windows[-1][0] + self.d:
            self.windows.append([now, 0])
        self.windows[-1][1] += count
        opened, received = self.windows[-1]
        reset = floor(opened + self.d + self.offset)
        return Limit(max(0, self.k - int(received)), self.k, float(reset)), float(floor(now + self.offset))

    def room(self, now):
        over = not self.windows or now >= self.windows[-1][0] + self.d
        return self.k if over else self.k - int(self.windows[-1][1])


class Traffic:
    """A client that obeys a window, and the way its requests take."""

    def __init__(self, window, referee):
        self.window, self.referee = window, referee
        self.now, self.count = BEGIN, 0
        self.events = []
        self.out = 0
        self.sent = []  # when each request reaches the server
        self.blocked = []  # instants at which no request flew alone and yet none might leave

    def at(self, when, what):
        self.count += 1
        heapq.heappush(self.events, (when, self.count, what))

    def advance(self, until):
        while self.events and self.events[0][0] <= until:
            self.now, _, what = heapq.heappop(self.events)
            what()
        self.now = max(self.now, until)

    def next_event(self):
        return self.events[0][0] if self.events else float("inf")

    def send(self, wish, most_in_flight):
        while True:
            self.advance(self.now)
            when = self.window.when(self.now)
            if when <= self.now and self.out < most_in_flight:
                break
            assert when <= self.now or self.events or when < float("inf")
            if when > self.now and self.out == 0:
                self.blocked.append(self.now)
            self.advance(min(self.next_event(), when if when > self.now else float("inf")))
        alone = self.window.sounding or self.window.end is None or self.now >= self.window.end
        assert not (alone and self.out), "the first request of a window flies alone"
        self.window.take(self.now)
        self.out += 1
        arrives = self.now + wish["way"]
        if wish["fate"] != "lost before":
            self.sent.append(arrives)
            self.at(arrives, lambda: self.at(arrives + wish["back"], self.reply(wish, self.referee.receive(arrives))))
        else:
            self.at(arrives + wish["back"], self.reply(wish, (None, None)))

    def reply(self, wish, answer):
        epoch = self.epoch = getattr(self, "epoch", 0)

        def land():
            if epoch != self.epoch:
                return  # the process that waited for it is gone
            self.out -= 1
            self.heard = True
            limit, date = answer
            broken = wish["fate"] != "fine"
            if broken or (wish["bare"] and (self.bare_alone or not self.window.alone)):
                limit = None
            self.window.learn(limit, None if broken or wish["undated"] else date, self.now, counted=not broken)

        return land

    bare_alone = False
    heard = True  # a reply since the last restart

    def restart(self):
        while self.events:
            self.advance(self.next_event())  # what the dead process sent arrives; nobody hears the answers
        self.out, self.heard = 0, False
        self.window.sound()


SECONDS = st.floats(0.0, LONGEST)
WISH = st.fixed_dictionaries(
    {
        "way": SECONDS,
        "back": SECONDS,
        "gap": st.one_of(st.just(0.0), st.floats(0.0, 1.0), st.floats(0.0, 60.0)),
        "fate": st.sampled_from(["fine"] * 8 + ["lost before", "lost after"]),
        "bare": st.sampled_from([False] * 5 + [True]),
        "undated": st.sampled_from([False] * 9 + [True]),
        "restart": st.sampled_from([False] * 9 + [True]),
        "others": st.sampled_from([0] * 8 + [1, 3]),
    }
)
CLEAN = {"fate": "fine", "bare": False, "undated": False, "restart": False, "others": 0, "gap": 0.0}


def play(traffic, wishes, in_flight, *, others=True):
    for wish in wishes:
        if wish["gap"]:
            traffic.advance(traffic.now + wish["gap"])
        if wish["restart"] and traffic.heard:
            traffic.epoch = getattr(traffic, "epoch", 0) + 1
            traffic.restart()
            room = traffic.referee.room(traffic.now)
            # of what others used nothing can be known before a reply is heard
            if others and room > 1 and wish["others"] and wish["fate"] == "fine":
                count = min(wish["others"], room - 1)
                traffic.referee.receive(traffic.now, count)
                traffic.sent += [traffic.now] * count
        traffic.send(wish, in_flight)
    traffic.advance(traffic.now + 3 * LONGEST)


CASE = st.fixed_dictionaries(
    {
        "wishes": st.lists(WISH, min_size=1, max_size=60),
        "k": st.integers(1, 8),
        "d": st.floats(3.0, 40.0),
        "offset": st.floats(-600.0, 600.0),
        "in_flight": st.integers(1, 5),
    }
)


@settings(deadline=None, max_examples=300)
@given(CASE, st.integers(0, 6), st.sampled_from([1.0, 1.0, 1.3, 40.0]), st.booleans())
def test_no_server_window_ever_receives_more_than_it_allows(case, too_high, too_long, bare_alone):
    wishes, k = case["wishes"], max(2, case["k"])
    # where headers never come, the table is all that is known
    table = FixedWindow(k, case["d"]) if bare_alone else FixedWindow(k + too_high, case["d"] * too_long)
    traffic = Traffic(table, Referee(k, case["d"], case["offset"]))
    traffic.bare_alone = bare_alone
    if too_high and not bare_alone:  # until headers come, the table is all that is known
        wishes = [wish | {"fate": "fine", "bare": False} for wish in wishes]
    play(traffic, wishes, case["in_flight"], others=not bare_alone)
    assert all(received <= k for _, received in traffic.referee.windows)


@settings(deadline=None, max_examples=200)
@given(CASE)
def test_nothing_waits_while_a_slot_is_certainly_free(case):
    k, d = case["k"], case["d"]
    traffic = Traffic(FixedWindow(k, d), Referee(k, d, case["offset"]))
    play(traffic, [wish | {"fate": "fine", "bare": False, "undated": False} for wish in case["wishes"]], 4)
    for instant in traffic.blocked:
        recent = [at for at in traffic.sent if instant - d - LONGEST - 2 * ROUNDING < at <= instant + LONGEST]
        assert len(recent) >= k, "a request waited though the last window cannot have been full"


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.floats(0.01, 0.5), st.floats(0.01, 0.5)), min_size=80, max_size=80), CASE)
def test_with_work_at_all_times_windows_are_full_and_follow_at_once(ways, case):
    k, d = case["k"], case["d"] + 7.0
    referee = Referee(k, d, case["offset"])
    traffic = Traffic(FixedWindow(k, d), referee)
    play(traffic, [CLEAN | {"way": way, "back": back} for way, back in ways], case["in_flight"])
    # the round trips must fit into the window, or the windows cannot be full
    if k * 1.0 < d:
        assert all(received == k for _, received in referee.windows[:-1])
        for (opened, _), (following, _) in pairwise(referee.windows):
            assert following - (opened + d) <= 2 * 1.0 + 2 * ROUNDING + ALONE


def test_a_server_whose_windows_are_shorter_than_the_table_says_is_not_waited_for_in_vain():
    referee = Referee(30, 5.0, 0.4)
    traffic = Traffic(FixedWindow(30, 900.0), referee)
    play(traffic, [CLEAN | {"way": 0.02, "back": 0.02}] * 150, 1)
    assert [received for _, received in referee.windows] == [30] * 5
    for (opened, _), (following, _) in pairwise(referee.windows):
        assert following - (opened + 5.0) <= 2 * ROUNDING + ALONE


def test_a_steady_crawl_below_the_limit_is_never_held_up():
    # Every window's end falls between two requests; the one that opens the server's next window before ours has ended
    # says so in its headers. Taking that for a longer window would add up the counts of all windows.
    referee = Referee(10, 30.0, 0.3)
    traffic = Traffic(FixedWindow(10, 30.0), referee)
    play(traffic, [CLEAN | {"way": 0.4, "back": 0.5, "gap": 4.3}] * 200, 1)
    assert len(referee.windows) > 20
    assert traffic.blocked == []


def test_fifteen_a_window_three_times_on_a_clock_moved_by_hand():
    window, now, sent = FixedWindow(15, 900.0), BEGIN, []
    for _ in range(45):
        if (when := window.when(now)) > now:
            now = when
        window.take(now)
        window.learn(None, None, now)
        sent.append(now)
    assert [sent.count(instant) for instant in dict.fromkeys(sent)] == [15, 15, 15]
    assert list(dict.fromkeys(sent)) == [BEGIN, BEGIN + 900.0, BEGIN + 1800.0]


@given(st.lists(st.sampled_from(["take", "learn", "close", "sound"]), max_size=30), st.floats(0.0, 100.0))
def test_asking_when_changes_nothing(moves, later):
    window, now = FixedWindow(3, 10.0), BEGIN
    for move in moves:
        before = dict(vars(window))
        assert window.when(now) == window.when(now)
        window.when(now + later)
        assert vars(window) == before
        now += 1.0
        if move == "take" and window.when(now) <= now:
            window.take(now)
        elif move == "learn" and window.flying:
            window.learn(Limit(1, 3, now + 5.0), now, now)
        elif move == "close":
            window.close(now + 4.0)
        elif move == "sound":
            window.sound()


def test_the_first_request_flies_alone_and_its_arrival_begins_the_window():
    window = FixedWindow(3, 10.0)
    window.take(100.0)
    assert window.when(100.5) == pytest.approx(100.5 + ALONE)
    window.learn(None, None, 102.0)
    assert window.when(102.0) == 102.0
    window.take(102.0)
    window.take(102.0)
    assert window.when(103.0) == 112.0
    assert window.when(112.0) == pytest.approx(112.0 + ALONE), "two are still in flight"
    window.learn(None, None, 112.0)
    window.learn(None, None, 112.0)
    assert window.when(112.0) == 112.0


def test_headers_without_a_date_still_tell_what_is_used():
    window = FixedWindow(15, 900.0)
    window.take(100.0)
    window.learn(Limit(0, 4, 5_000.0), None, 101.0)
    assert (window.k, window.used) == (4, 4)
    assert window.when(101.0) == 1001.0


def test_a_window_that_lasts_longer_than_the_table_says_is_believed():
    window = FixedWindow(2, 1.0)
    window.take(100.0)
    window.learn(Limit(1, 2, 900.0), 0.0, 100.5)
    window.take(100.6)
    assert window.when(101.7) == 100.5 + 900.0 + ROUNDING
