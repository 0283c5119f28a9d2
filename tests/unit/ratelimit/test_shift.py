"""A clock that was set: while the program ran (all is moved), and while it was down (a ledger from the future)."""

from dataclasses import replace
from math import floor

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_referees import BEGIN, Fixed, Summed, said
from shared_tokens import Crowd, planner, policy

from socialcrawl.engine.model import Answer, Credential, Grant, Limit, Reply, Request, Stop, Wait
from socialcrawl.ratelimit.billing_cycle import BillingCycle, find_cycle
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.clock_offset import ClockOffset
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Rule
from socialcrawl.ratelimit.received_requests import LAG
from socialcrawl.ratelimit.retry import Backoff
from socialcrawl.ratelimit.shared_windows import SharedWindows
from socialcrawl.ratelimit.window import DAY

HOUR = 3600.0
GRID = 64  # instants are whole numbers of 1/64 s, so that moving them rounds nothing
CLOSE = 1e-4  # seconds: but the drift of two clocks is reckoned from them

INSTANTS = st.integers(0, 20 * GRID).map(lambda steps: steps / GRID)
DELTAS = st.one_of(
    st.sampled_from([HOUR, -HOUR, DAY, -DAY]), st.integers(-99 * GRID, 99 * GRID).map(lambda n: n / GRID)
)
RULES = st.lists(
    st.builds(Rule, st.integers(1, 5), st.integers(3, 40).map(float), st.sampled_from(["fixed", "sliding", "aligned"])),
    min_size=1,
    max_size=3,
)
KINDS = st.sampled_from(["ok", "ok", "ok", "window", "broken", "backoff", "lost", "day"])
MOVES = st.lists(st.tuples(st.integers(0, 3), INSTANTS, KINDS, st.integers(0, 6)), max_size=40)


class Pair:
    """One campaign, or two that share a token; the same moves lead to the same decisions."""

    def __init__(self, rules, *, share, seconds=None):
        self.shared = SharedWindows() if share else None
        self.planners = [planner(self.shared, name, rules, ("t", "u")) for name in ("ab" if share else "a")]
        for by in self.planners:
            by.budget.caps = Caps(seconds=seconds)
        self.flying, self.ahead = [], 0.0

    def move(self, n, now, which, kind, left):
        """Take (which > 0), or land the oldest; what was said, told as if no clock was set."""
        if which == 0 and self.flying:
            return self.land(now, kind, left)
        by = self.planners[which % len(self.planners)]
        answer = by.take(Request((n % 7, 0), "/e", {}), now + self.ahead)
        if isinstance(answer, Grant):
            self.flying.append((by, answer))
            return ("grant", answer.credential)
        return self.told(answer)

    def land(self, now, kind, left):
        by, grant = self.flying.pop(0)
        limits = [Limit(left, 6, floor(now) + 20.0), Limit(50 + left, 60, floor(now) + 5000.0, daily=True)]
        date = float(floor(now + 300.0)) if left else None
        reply = Reply(kind, now + self.ahead, Answer(), date=date, limits=limits if left else (), why="because")
        return self.told(by.settle(grant, reply, now + self.ahead))

    def told(self, answer):
        if isinstance(answer, Wait):
            return ("wait", answer.why, answer.until - self.ahead)
        return answer and ("stop", answer.why)

    def shift(self, delta):
        self.ahead += delta
        (self.shared or self.planners[0]).shift(delta)


@settings(deadline=None, max_examples=many(200))
@given(RULES, MOVES, MOVES, DELTAS, st.booleans(), st.sampled_from([None, 100.0]))
def test_after_the_clock_was_set_all_is_decided_as_if_it_had_not_been(  # noqa: PLR0917
    rules, before, after, delta, share, seconds
):
    moved, plain = (Pair(rules, share=share, seconds=seconds) for _ in "ab")
    now = BEGIN
    for n, (which, gap, kind, left) in enumerate(before):
        now += gap
        for one in (moved, plain):
            one.move(n, now, which, kind, left)
    while plain.flying:  # nothing is in flight when a clock is set
        now += 0.5
        assert moved.land(now, "ok", 3) == plain.land(now, "ok", 3)
    moved.shift(delta)
    for n, (which, gap, kind, left) in enumerate(after):
        now += gap
        same(moved.move(n, now, which, kind, left), plain.move(n, now, which, kind, left))


def same(one, other):
    assert (one is None) == (other is None), (one, other)
    if one is not None:
        assert one[:2] == other[:2]
        assert one[2:] == pytest.approx(other[2:], abs=CLOSE)


@pytest.mark.parametrize("delta", [HOUR, -HOUR])
@pytest.mark.parametrize("headers", [True, False])
@pytest.mark.parametrize("kind", ["fixed", "sliding"])
def test_windows_are_neither_longer_nor_shorter_for_a_clock_that_was_set(delta, headers, kind):
    it = Crowd((Rule(10, 300.0, kind),), lambda: Fixed(10, 300.0), headers=headers)
    for name in "ab":
        it.add(name).claim_share()
    for _ in range(6):
        it.advance(it.now + 475.0)
        assert not any(campaign.out for campaign in it.campaigns.values())
        it.set_clock(delta)
    assert [sum(counts.values()) for _, _, counts in it.full()] == [10] * len(it.full())
    it.check()
    assert len(it.referees["t"].windows) >= 9


def test_a_pause_a_budget_of_time_and_a_distance_of_clocks_move_too():
    by = WindowPlanner(policy(Rule(99, 900.0)), [Credential("t")], Caps(seconds=600.0), Backoff(pause=10.0))
    grant = by.take(Request((0, 0), "/e", {}), BEGIN)
    until = by.settle(grant, Reply("broken", BEGIN + 1.0, why="because"), BEGIN + 1.0).until
    by.shift(HOUR)
    rests = by.take(Request((0, 0), "/e", {}), BEGIN + HOUR + 2.0)
    assert rests == Wait(until + HOUR, "because; it is tried again after a pause")
    assert isinstance(by.take(Request((1, 0), "/e", {}), BEGIN + HOUR + 599.0), Grant)
    assert isinstance(by.take(Request((2, 0), "/e", {}), BEGIN + HOUR + 600.0), Stop)
    offset = ClockOffset()
    offset.learn(BEGIN, BEGIN + 0.5, BEGIN + 100.0)
    low, high = offset.find_bounds(BEGIN + 0.5)
    offset.shift(HOUR)
    assert offset.find_bounds(BEGIN + HOUR + 0.5) == (low - HOUR, high - HOUR)
    offset.forget()
    assert not offset.is_known


@settings(deadline=None)
@given(st.floats(0.0, 60 * DAY), st.floats(-2 * DAY, 2 * DAY), st.integers(0, 100))
def test_a_clock_that_is_set_never_lets_a_cycle_forget_what_was_read_in_it(later, delta, posts):
    book, now = BillingCycle(100, 5), BEGIN + later
    book.settle(0, posts, now)
    book.shift(delta)
    assert book.count_posts(now + delta) == posts
    ends = max(find_cycle(now, 5)[1], find_cycle(now, 5)[1] + delta)
    assert (book.count_posts(ends - 1.0), book.count_posts(ends)) == (posts, 0)


LEDGER = st.lists(
    st.tuples(
        st.one_of(st.floats(0.0, 2.0), st.floats(0.0, 200.0)),  # seconds since the last one
        st.floats(0.0, 5.0),  # until its reply
        st.sampled_from(["ok", "ok", "ok", "window", "never"]),
        st.integers(0, 6),
    ),
    max_size=40,
)


def ledger_of(steps, k, d):
    """What a program that obeyed its windows has written, and when it ended."""
    by, now, ledger = planner(None, "a", [Rule(k, d)]), BEGIN, []
    for n, (gap, takes, kind, left) in enumerate(steps):
        now += gap
        answer = by.take(Request((n, 0), "/e", {}), now)
        while isinstance(answer, Wait):
            now = answer.until
            answer = by.take(Request((n, 0), "/e", {}), now)
        now += takes
        limits = [Limit(left, k, now + d / 2)] if left < k else []
        limits = [Limit(0, k, now + d / 2)] if kind == "window" else limits
        reply = Reply(kind, now, Answer(), date=float(floor(now)), limits=limits, why="because")
        ledger.append((answer, None if kind == "never" else reply))
        if kind == "never":
            by.abandon(answer)
            now += 2 * LAG
        else:
            by.settle(answer, reply, now)
    return ledger, now


@settings(deadline=None, max_examples=many(150))
@given(
    LEDGER,
    st.integers(1, 6),
    st.floats(20.0, 900.0),
    st.floats(-3 * HOUR, 100.0),
    st.sampled_from(["", "sum", "share"]),
)
def test_a_ledger_from_the_future_counts_as_of_now_and_nothing_waits_longer_than_one_window(steps, k, d, later, how):
    ledger, ended = ledger_of(steps, k, d)
    now = ended + later
    by = planner(SharedWindows() if how == "share" else None, "a", [Rule(k, d)])
    by.budget.caps = Caps(seconds=DAY)
    by.fold(Summed(ledger) if how == "sum" else ledger, now)
    began = by.budget.began
    assert by.budget.requests == len(ledger)
    assert began is None if not ledger else began == min(now, ledger[0][0].at)
    when, answer = now, by.take(Request((99, 0), "/e", {}), now)
    while isinstance(answer, Wait):
        assert answer.until > when
        when = answer.until
        answer = by.take(Request((99, 0), "/e", {}), when)
    assert isinstance(answer, Grant)
    assert when <= now + d + LAG + 2.0


@settings(deadline=None, max_examples=many(80))
@given(st.integers(1, 6), st.floats(20.0, 300.0), st.floats(0.0, 400.0), st.floats(0.0, 2 * HOUR), st.booleans())
def test_no_window_is_exceeded_after_a_clock_was_set_back_while_the_program_was_down(k, d, down, ahead, headers):
    it = Crowd((Rule(k, d),), lambda: Fixed(k, d), headers=headers)
    it.add("a").claim_share()
    it.advance(BEGIN + 2.5 * d)
    campaign = it.campaigns["a"]
    campaign.drop_claim()
    it.advance(it.now + 1.0 + down)
    # The same ledger, as a clock has dated it that was ahead.
    campaign.ledger = [
        (replace(grant, at=grant.at + ahead), reply and replace(reply, at=reply.at + ahead))
        for grant, reply in campaign.ledger
    ]
    it.shared = SharedWindows()
    it.rejoin("a").claim_share()
    it.advance(it.now + 3 * (d + LAG))
    it.check()
    assert len(campaign.log) > 2 * k


def test_a_time_long_ahead_does_not_hide_what_was_sent_a_minute_ago():
    far = (Grant(Request((0, 0), "/e", {}), "a-t", BEGIN + 400 * DAY), Reply("ok", BEGIN + 400 * DAY))
    near = [(Grant(Request((n, 0), "/e", {}), "a-t", BEGIN - 60.0), Reply("ok", BEGIN - 59.0)) for n in range(1, 4)]
    by = planner(None, "a", [Rule(4, 900.0)])
    by.fold(Summed([*near, far]), BEGIN)
    answer = by.take(Request((9, 0), "/e", {}), BEGIN)
    assert isinstance(answer, Wait)
    assert BEGIN + 800.0 <= answer.until <= BEGIN + 900.0
    assert by.budget.began == BEGIN - 60.0


def test_headers_of_a_used_up_window_are_waited_out_once_however_far_ahead_they_were_heard():
    limits = [said(Fixed(5, 900.0), (5, BEGIN + HOUR + 300.0), 0.0)]
    reply = Reply("window", BEGIN + HOUR, date=BEGIN + HOUR, limits=limits, why="because")
    by = planner(None, "a", [Rule(5, 900.0)])
    by.fold([(Grant(Request((0, 0), "/e", {}), "a-t", BEGIN + HOUR), reply)], BEGIN)
    assert by.take(Request((1, 0), "/e", {}), BEGIN).until == BEGIN + 301.0


@pytest.mark.parametrize("others", [False, True])
def test_a_request_that_is_moved_into_a_window_that_was_over_counts_for_a_whole_one(others):
    """As a clock that was 11 s ahead has dated them, the last one would still fall into the window before."""
    times = (BEGIN + 11.0, BEGIN + 31.1, BEGIN + 51.2)
    ledger = [(Grant(Request((n, 0), "/e", {}), "a-t", at), Reply("ok", at + 0.1)) for n, at in enumerate(times)]
    shared, now = SharedWindows(), BEGIN + 51.0
    by = planner(shared, "a", [Rule(1, 20.0)])
    by.fold(ledger, now)
    if others:
        other = planner(shared, "b", [Rule(1, 20.0)])
        other.fold([(Grant(Request((0, 0), "/e", {}), "b-t", BEGIN - HOUR), Reply("ok", BEGIN - HOUR))], now)
    while isinstance(answer := by.take(Request((9, 0), "/e", {}), now), Wait):
        now = answer.until
    assert now >= BEGIN + 71.0
