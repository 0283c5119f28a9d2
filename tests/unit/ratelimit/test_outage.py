"""A platform that is down: when it counts as such, how often it is asked, and what is said of it."""

from itertools import pairwise

import pytest
from test_planner import WIDE, answered, asked, planner, worked

from socialcrawl.engine.model import FAILED, Grant, Reply, Stop, Wait
from socialcrawl.ratelimit.retry import HOLD, PROBE

NOW = 1_000.0


def fails(by, now, seconds, kind="broken", **more):
    """Let every request fail for so many seconds, each as soon as it may leave: when they left, and what was said."""
    left, said, n, end = [], [], 0, now + seconds
    while now < end:
        may = by.take(asked(n), now)
        if isinstance(may, Wait):
            now = may.until
            continue
        left.append(now)
        said.append(by.settle(may, Reply(kind, now, why="because", **more), now))
        if said[-1] is None:
            n += 1
        if isinstance(said[-1], Stop):
            break
    return left, said


def gaps(left):
    return [later - sooner for sooner, later in pairwise(left)]


@pytest.mark.parametrize("kind", FAILED)
def test_a_platform_that_does_not_answer_is_asked_at_least_once_a_minute(kind):
    left, _ = fails(worked(planner(policy=WIDE)), NOW, 3600.0, kind)
    assert max(gaps(left)) <= PROBE
    waits = [gap for gap in gaps(left) if gap > 0.0]  # none where a request was given back
    assert waits[:5] == sorted(waits[:5]), "the interval rises"
    assert min(waits[8:]) >= PROBE / 1.5
    assert len(left) < 1.5 * 3600.0 / PROBE + 20


def test_a_longest_pause_below_a_minute_is_kept():
    left, _ = fails(worked(planner(policy=WIDE, longest=10.0)), NOW, 600.0)
    assert max(gaps(left)) <= 10.0


def test_an_outage_of_minutes_gives_one_request_back_at_most_and_one_of_an_hour_a_few():
    for seconds, most in ((45.0, 1), (HOLD - 1.0, 1), (3600.0, 6)):
        _, said = fails(worked(planner(policy=WIDE)), NOW, seconds)
        assert said.count(None) <= most


def test_two_requests_that_fail_three_times_in_a_row_are_an_outage_and_one_alone_is_none():
    by = worked(planner(policy=WIDE))
    assert by.outage is None
    for at in (NOW, NOW + 10.0, NOW + 20.0):
        answered(by, asked(1), "broken", at)
    assert by.outage is None, "it may be that account"
    answered(by, asked(2), "lost", NOW + 30.0)
    assert (by.outage.since, by.outage.why, by.outage.failures) == (NOW, "because", 4)


def test_requests_that_fail_together_are_one_failure():
    by = worked(planner(policy=WIDE))
    answered(by, asked(), "ok", NOW)
    for grant in [by.take(asked(n), NOW) for n in range(1, 9)]:
        by.settle(grant, Reply("broken", NOW + 1.0, why="because"), NOW + 1.0)
    assert by.outage is None


@pytest.mark.parametrize("kind", ["ok", "missing", "backoff", "window"])
def test_any_answer_ends_an_outage(kind):
    by = worked(planner(policy=WIDE))
    fails(by, NOW, 60.0)
    assert by.outage is not None
    answered(by, asked(50), kind, NOW + 200.0)
    assert by.outage is None


def test_a_new_run_knows_of_no_outage_and_one_that_is_set_moves_with_the_clock():
    by = worked(planner(policy=WIDE))
    fails(by, NOW, 60.0)
    by.shift(500.0)
    assert by.outage.since == NOW + 500.0
    by.fold([], NOW + 600.0)
    assert by.outage is None


@pytest.mark.parametrize("kind", ["broken", "backoff"])
def test_a_server_that_says_until_when_is_left_alone_for_so_long(kind):
    by = worked(planner(policy=WIDE))
    again = answered(by, asked(1), kind, NOW, after=300.0)
    assert again == Wait(NOW + 300.0, "because")
    assert by.take(asked(2), NOW + 299.0).until == NOW + 300.0
    assert isinstance(by.take(asked(2), NOW + 300.0), Grant)


def test_no_server_is_left_alone_for_more_than_a_day_nor_asked_again_for_ever():
    by = worked(planner(policy=WIDE))
    assert answered(by, asked(1), "broken", NOW, after=1e9) == Wait(NOW + 86_400.0, "because")
    by, now, said = worked(planner(policy=WIDE)), NOW, []
    while None not in said:
        said.append(answered(by, asked(1), "broken", now, after=1.0))
        now += 1_000.0
    assert len(said) == 3, "one that cannot be answered is given back as ever"


@pytest.mark.parametrize(("status", "free"), [(0, 5), (502, 0)])
def test_connections_that_are_refused_use_up_no_window_and_what_a_gateway_answers_does(status, free):
    by = worked(planner())  # five requests in 900 s, of which none is used by then
    left, _ = fails(by, NOW, 300.0, status=status)
    assert (len(left) > 8) == (status == 0)
    now = NOW + 400.0
    assert sum(isinstance(by.take(asked(100 + n), now), Grant) for n in range(9)) == min(free, 1)  # it flies alone
    if free:
        by.settle(Grant(asked(100), "main", now), Reply("ok", now), now)
        assert sum(isinstance(by.take(asked(200 + n), now), Grant) for n in range(9)) == free - 1
    ledger = [(Grant(asked(n), "main", at), Reply("broken", at, status=status)) for n, at in enumerate(left)]
    by.fold(ledger, now)
    assert isinstance(by.take(asked(300), now), Grant) == (status == 0), "after a restart as well"
