"""When a probed account or page is active: by what was seen of it, when, and by which rule."""

from datetime import UTC, datetime

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.engine.model import Node, Pick, SameAs, format_time
from socialcrawl.errors import SettingsError
from socialcrawl.graph.liveness import Activity, parse_latest

DAY = 86_400.0
AT = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()
REASONS = ("suspended", "protected", "deleted", "unknown", "temporary", "redirected", SameAs(4), "opted-out")
PICK = Pick(7, Node(3), "probe")


@pytest.mark.parametrize("last", [None, "", "1999-01-01", "2026-11-21T11:00:00.000Z"])
def test_where_nothing_is_asked_of_activity_whoever_exists_is_active(last):
    assert Activity().is_active(last, AT, None)


def test_activity_counts_for_as_long_as_was_said_and_not_a_second_longer():
    rule = Activity(180 * DAY)
    assert rule.is_active(format_time(AT - 180 * DAY), AT, None)
    assert not rule.is_active(format_time(AT - 180 * DAY - 1), AT, None)
    assert rule.is_active(format_time(AT + 60), AT, None), "its clock is ahead of ours"


def test_a_day_alone_counts_to_its_end():
    rule = Activity(2 * DAY)  # since noon of the 19th
    assert [rule.is_active(f"2026-11-{day}", AT, None) for day in (18, 19, 20, 21)] == [False, True, True, True]


@pytest.mark.parametrize("last", [None, ""])
def test_who_was_never_seen_to_act_is_not_active_where_that_is_asked(last):
    assert not Activity(DAY).is_active(last, AT, None)


@pytest.mark.parametrize("last", [None, ""])
def test_who_is_there_and_does_not_tell_when_it_acted_is_active_on_request(last):
    rule = Activity(DAY, untold=True)
    assert rule.is_active(last, AT, None)
    assert not rule.is_active(last, AT, "deleted"), "it is not there"
    assert not rule.is_active(format_time(AT - DAY - 1), AT, None), "it does tell"


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("within", [None, DAY])
def test_who_is_missing_is_not_active_but_for_the_protected_on_request(within, reason):
    assert not Activity(within).is_active(format_time(AT), AT, reason)
    assert Activity(within, protected=True).is_active(None, AT, reason) == (reason == "protected")


@given(st.floats(0, 4e9), st.floats(0, 4e9), st.floats(1, 1e9))
@settings(deadline=None, max_examples=many(200))
def test_an_instant_is_judged_by_the_difference_of_times(last, at, within):
    told = format_time(last)
    expected = at - datetime.fromisoformat(told).timestamp() <= within
    assert Activity(within).is_active(told, at, None) == expected


@pytest.mark.parametrize(
    ("text", "then"),
    [
        ("1970-01-02", 2 * DAY),
        ("1970-01-02T00:00:00Z", DAY),
        ("1970-01-02T01:00:00+01:00", DAY),
        ("1970-01-02T00:00:00", DAY),
        ("9999-12-31", 253_402_300_800.0),
    ],
)
def test_times_without_a_zone_are_utc_whatever_this_machine_has(text, then):
    assert parse_latest(text) == then


def test_the_outcome_of_a_probe_says_who_is_active_since_when_and_why_not():
    seen = format_time(AT - 3 * DAY)
    alive = Activity(9 * DAY).make_outcome(PICK, AT, seen)
    assert (alive.n, alive.node, alive.at, alive.value, alive.mark, alive.missing) == (7, 3, AT, 1.0, seen, None)
    asleep = Activity(DAY).make_outcome(PICK, AT, seen)
    assert (asleep.value, asleep.mark, asleep.missing) == (0.0, seen, None)
    gone = Activity(DAY).make_outcome(PICK, AT, "", "deleted")
    assert (gone.value, gone.mark, gone.missing) == (0.0, "", "deleted")
    closed = Activity(DAY, protected=True).make_outcome(PICK, AT, None, "protected")
    assert (closed.value, closed.mark, closed.missing) == (1.0, "", None)


@pytest.mark.parametrize("within", [0.0, -1.0, float("inf"), float("nan")])
def test_a_span_that_is_none_is_refused(within):
    with pytest.raises(SettingsError, match="positive number of seconds"):
        Activity(within)
