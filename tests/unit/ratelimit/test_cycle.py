"""Billing cycles against the calendar, gone through day by day."""

from calendar import monthrange
from datetime import UTC, datetime, timedelta

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.ratelimit.billing_cycle import BillingCycle, find_cycle

FIRST, LAST = datetime(2023, 1, 1, tzinfo=UTC), datetime(2029, 1, 1, tzinfo=UTC)  # 2024 and 2028 are leap years
DAYS = [FIRST + timedelta(days=number) for number in range((LAST - FIRST).days)]


def begins(day, moment):
    """Whether a cycle begins on this date: on its day, or on the last one of a month that has no such day."""
    return moment.day == min(day, monthrange(moment.year, moment.month)[1])


@pytest.mark.parametrize("day", range(1, 32))
def test_every_day_of_six_years_lies_in_the_cycle_that_the_calendar_says(day):
    starts = [moment.timestamp() for moment in DAYS if begins(day, moment)]
    place = 0
    for moment in DAYS:
        at = moment.timestamp()
        if not starts[0] <= at < starts[-1]:
            continue
        while starts[place + 1] <= at:
            place += 1
        for instant in (at, at + 1.0, at + 43_200.0, at + 86_399.999):
            assert find_cycle(instant, day) == (starts[place], starts[place + 1])


def test_the_end_of_february():
    def at(*date):
        return datetime(*date, tzinfo=UTC).timestamp()

    assert find_cycle(at(2024, 2, 29), 31) == (at(2024, 2, 29), at(2024, 3, 31))
    assert find_cycle(at(2023, 2, 28), 30) == (at(2023, 2, 28), at(2023, 3, 30))
    assert find_cycle(at(2023, 2, 27), 30) == (at(2023, 1, 30), at(2023, 2, 28))
    assert find_cycle(at(2023, 12, 31), 1) == (at(2023, 12, 1), at(2024, 1, 1))


STEP = st.tuples(
    st.floats(0.0, 9 * 86_400.0),  # seconds since the last request
    st.integers(0, 100),  # posts that it may return
    st.floats(0.0, 1.0),  # share of them that it does
    st.one_of(st.floats(0.0, 60.0), st.floats(0.0, 86_400.0), st.none()),  # seconds until its reply; None: never
)


@settings(deadline=None, max_examples=many(200))
@given(st.lists(STEP, max_size=60), st.integers(0, 400), st.integers(1, 31), st.booleans())
def test_the_cap_is_kept_in_every_cycle_however_the_server_dates_what_is_in_flight(steps, cap, day, late):
    book, now, flying, billed = BillingCycle(cap, day), FIRST.timestamp(), [], {}

    def land(until):
        for done, left, most, posts in sorted(flying):
            if done <= until:
                book.settle(most, posts, done)
                flying.remove((done, left, most, posts))
                month = find_cycle(done if late else left, day)[0]
                billed[month] = billed.get(month, 0) + posts

    for gap, most, share, takes in steps:
        now += gap
        land(now)
        if book.would_exceed_cap(most, now):
            assert most > 0
            continue
        book.reserve(most, now)
        flying.append((now + (1e9 if takes is None else takes), now, most, round(most * share)))
    land(now + 1e10)
    assert all(posts <= cap for posts in billed.values())


def test_nothing_is_refused_without_a_cap_and_a_new_cycle_begins_at_nothing():
    book, now = BillingCycle(), FIRST.timestamp()
    book.reserve(10**9, now)
    assert not book.would_exceed_cap(10**9, now)
    book = BillingCycle(150)
    for _ in range(2):
        book.reserve(100, now)
        book.settle(100, 70, now)
    assert book.posts == 140
    assert book.would_exceed_cap(11, now + 86_400.0)
    assert not book.would_exceed_cap(10, now + 86_400.0)
    assert not book.would_exceed_cap(150, now + 31 * 86_400.0)
    assert book.would_exceed_cap(151, now + 31 * 86_400.0)


def test_a_page_that_is_larger_than_the_cap_is_refused_from_the_first_one_on():
    assert BillingCycle(50).would_exceed_cap(100, FIRST.timestamp())
    assert not BillingCycle(0).would_exceed_cap(0, FIRST.timestamp())
