"""Pauses after failures, against the rule: pause * 2^(row - 1), times 1 to 1.5, up to the longest one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialcrawl.engine.model import FAILED, Grant, Reply, Request
from socialcrawl.ratelimit.retry import FEW, GIVE_UP, JITTER, LONGEST, PROBE, TRIES, Backoff

KINDS = st.sampled_from(["broken", "lost", "backoff", "window", "day"])


def grant(n=0, at=0.0, credential="a", endpoint="/e"):
    return Grant(Request((n, 0), endpoint, {}), credential, at)


def failed(by, kind, now, n=0, **lane):
    return by.note_failure(grant(n, now, **lane), Reply(kind, now), now)


def row(by, kind, count, now=0.0):
    """The pauses of failures of so many different requests, each after the pause of the one before."""
    found = []
    for n in range(count):
        found.append(failed(by, kind, now, n))
        now += found[-1]
    return found


@pytest.mark.parametrize("kind", ["broken", "lost", "backoff", "window", "day"])
@pytest.mark.parametrize("pause", [0.5, 1.0, 7.0, 600.0, 900.0])
def test_each_pause_is_twice_the_last_one_plus_up_to_half_of_it_by_chance(kind, pause):
    longest = PROBE if kind in FAILED else LONGEST
    top = max(min(pause, longest), longest / (1 + JITTER))
    for number, waited in enumerate(row(Backoff(pause), kind, 14)):
        plain = min(top, pause * 2**number)
        assert min(longest, plain) <= waited <= min(longest, plain * (1 + JITTER))


def test_a_request_that_may_be_billed_is_not_tried_every_minute():
    by, now, found = Backoff(), 0.0, []
    for n in range(14):
        found.append(by.note_failure(grant(n, now), Reply("lost", now, cost=500), now))
        now += found[-1]
    assert max(found) > PROBE
    assert found[-1] >= LONGEST / (1 + JITTER)


def test_a_longest_pause_of_ones_own_is_kept():
    found = row(Backoff(1.0, longest=30.0), "backoff", 12)
    assert max(found) <= 30.0
    assert found[-1] >= 20.0


@given(st.lists(st.tuples(KINDS, st.integers(0, 3), st.floats(0.0, 1000.0)), max_size=30), st.integers(0, 10**9))
def test_the_same_seed_and_the_same_failures_give_the_same_pauses(failures, seed):
    told = []
    for _ in range(2):
        by, now, pauses = Backoff(seed=seed), 0.0, []
        for kind, n, gap in failures:
            now += gap
            pauses.append(failed(by, kind, now, n))
        told.append(pauses)
    assert told[0] == told[1]


def test_another_seed_gives_other_pauses():
    assert row(Backoff(seed=1), "backoff", 5) != row(Backoff(seed=2), "backoff", 5)


def test_chance_goes_on_where_it_was_after_a_restart():
    by, again = Backoff(seed=3), Backoff(seed=3)
    first = row(by, "backoff", 3)
    row(again, "backoff", 3)
    again.start_run()
    assert failed(again, "backoff", 1e6) not in first, "no jitter is drawn twice"


def test_a_request_that_stays_broken_is_given_back_after_three_tries_and_may_come_again():
    by = Backoff()
    for begin in (0.0, 1e5):
        pauses = [failed(by, "broken", begin + 1e3 * number) for number in range(TRIES)]
        assert [pause is None for pause in pauses] == [False] * (TRIES - 1) + [True]


def test_a_429_without_a_date_is_given_back_when_the_longest_pause_has_not_helped():
    by, now, pauses = Backoff(), 0.0, []
    while (pause := failed(by, "backoff", now)) is not None:
        pauses.append(pause)
        now += pause
    assert len(pauses) == 11
    assert pauses[-2] < LONGEST / (1 + JITTER) * (1 + JITTER)
    assert pauses[-1] >= LONGEST / (1 + JITTER)


def test_a_429_is_no_broken_try():
    by = Backoff()
    for number in range(5):
        assert failed(by, "backoff", 1e3 * number) is not None
    for number in range(TRIES - 1):
        assert failed(by, "broken", 1e4 + 1e3 * number) is not None
    assert failed(by, "broken", 2e4) is None


def test_rows_are_apart_by_credential_by_endpoint_and_by_kind():
    by = Backoff()
    for now in (0.0, 10.0, 20.0):
        failed(by, "broken", now, int(now))
    for lane in ({"credential": "b"}, {"endpoint": "/f"}):
        assert failed(by, "broken", 30.0, 50, **lane) <= 1.0 + JITTER
    assert failed(by, "backoff", 30.0, 51) <= 1.0 + JITTER
    assert failed(by, "broken", 30.0, 52) >= 8.0


def test_requests_that_were_in_flight_together_fail_together():
    by = Backoff()
    together = [grant(n, at=5.0) for n in range(4)]
    assert all(by.note_failure(one, Reply("broken", 9.0), 9.0 + number) < 2.0 for number, one in enumerate(together))
    assert 2.0 <= failed(by, "broken", 20.0, 9) <= 3.0


def test_a_good_answer_begins_the_rows_of_its_lane_anew():
    by = Backoff()
    row(by, "broken", 4)
    row(by, "backoff", 4, now=100.0)
    by.note_success(grant(at=200.0))
    assert failed(by, "broken", 300.0, 77) <= 1.0 + JITTER
    assert failed(by, "backoff", 300.0, 78) <= 1.0 + JITTER


def test_where_nothing_has_worked_the_fifth_failure_in_a_row_is_hopeless():
    by = Backoff()
    assert by.explain_giving_up(0.0) is None
    for number in range(FEW):
        assert by.explain_giving_up(1e3 * number) is None
        failed(by, "broken", 1e3 * number, number)
    assert by.explain_giving_up(1e4) == "5 times in a row"


def test_where_something_has_worked_an_hour_of_failures_is():
    by = Backoff()
    by.note_success(grant())
    for number in range(8):
        failed(by, "broken", 1000.0 + 100.0 * number, number)
    assert by.explain_giving_up(1000.0 + GIVE_UP - 1.0) is None
    assert by.explain_giving_up(1000.0 + GIVE_UP) == "8 times in a row, for 3600 s"
    by.note_success(grant())
    assert by.explain_giving_up(1e6) is None


def test_two_failures_with_a_day_between_them_are_no_day_of_failures():
    by = Backoff()
    by.note_success(grant())
    failed(by, "backoff", 1000.0, 1)
    failed(by, "backoff", 90_000.0, 2)
    assert by.explain_giving_up(90_000.0) is None


def test_a_new_run_has_new_patience():
    by = Backoff()
    row(by, "broken", FEW)
    by.start_run()
    assert by.explain_giving_up(1e6) is None
    assert failed(by, "broken", 1e6) <= 1.0 + JITTER
