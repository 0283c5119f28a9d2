"""What follows a run of a campaign: its state and its next run, by the reason, the schedule and the time."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import socialcrawl
from socialcrawl.campaign.schedule import Schedule, parse_cron, parse_hours
from socialcrawl.daemon.campaign_state import DONE, RESTING, STOPPED, WAITING
from socialcrawl.daemon.next_run import AGAIN, FAR, LONGEST, plan_next_run, plan_turn, remove_rerun_advice
from socialcrawl.engine.model import Stop, Wait, parse_time

NOON = parse_time("2026-03-02T12:00:00Z")
ALWAYS = Schedule()
HOURLY = Schedule(every=3600.0)
LASTING = Schedule(every=3600.0, lasting=1800.0)
NIGHTLY = Schedule(between=parse_hours("22:00-06:00"))
AT_THREE = Schedule(cron=parse_cron("0 3 * * *"))


def after(reason, schedule, now=NOON, began=None, failures=0):
    found = plan_next_run(reason, schedule, now, NOON if began is None else began, failures)
    return found.state, None if found.due is None else found.due - now, found.close, found.same


WINDOW = Wait(NOON + 840.0, "all requests of the window are used")
CASES = {
    "always, a window": (WINDOW, ALWAYS, (WAITING, 840.0, False, True)),
    "always, a wait that is over already": (Wait(NOON - 5.0, "x"), ALWAYS, (WAITING, 0.0, False, True)),
    "always, a wait of a day keeps it open": (Wait(NOON + 86_400.0, "x"), ALWAYS, (WAITING, 86_400.0, False, True)),
    "hourly, the first wait ends the turn": (WINDOW, HOURLY, (RESTING, 3600.0, True, False)),
    "lasting, a wait that it outlasts": (WINDOW, LASTING, (WAITING, 840.0, False, True)),
    "lasting, a wait that outlasts it": (Wait(NOON + 2000.0, "x"), LASTING, (RESTING, 3600.0, True, False)),
    "cron, until its time": (WINDOW, AT_THREE, (RESTING, 15 * 3600.0, True, False)),
    "done": (Stop("done", "the limit of 5 steps is reached"), ALWAYS, (DONE, None, True, False)),
    "a budget": (Stop("budget", "max_money"), ALWAYS, (STOPPED, None, True, False)),
    "a cap until the next cycle": (Stop("budget", "cap", NOON + 99.0), ALWAYS, (STOPPED, 99.0, True, False)),
    "a platform that is down": (Stop("failed", "x", NOON + 60.0), ALWAYS, (WAITING, 60.0, False, True)),
    "a failure": (Stop("failed", "401"), ALWAYS, (STOPPED, AGAIN, True, False)),
    "always, its time over": (Stop("interrupted", ""), ALWAYS, (RESTING, 0.0, False, False)),
    "hourly, its time over": (Stop("interrupted", ""), HOURLY, (RESTING, 3600.0, True, False)),
}


@pytest.mark.parametrize("case", CASES)
def test_what_follows(case):
    reason, schedule, expected = CASES[case]
    assert after(reason, schedule) == expected


def test_a_campaign_of_the_night_waits_for_its_window_as_long_as_the_night_lasts():
    late = parse_time("2026-03-03T05:50:00Z")
    assert after(Wait(late + 300.0, "x"), NIGHTLY, late) == (WAITING, 300.0, False, True)
    assert after(Wait(late + 900.0, "x"), NIGHTLY, late) == (RESTING, 600.0 + 16 * 3600.0, True, False)


def test_failures_in_a_row_are_tried_again_ever_later_up_to_an_hour():
    pauses = [after(Stop("failed", "x"), ALWAYS, failures=n)[1] for n in range(30)]
    assert pauses[:3] == [AGAIN, 2 * AGAIN, LONGEST]
    assert set(pauses[2:]) == {LONGEST}


def test_a_short_rest_keeps_the_campaign_open():
    often = Schedule(every=FAR - 1.0)
    assert after(Wait(NOON + 10.0, "x"), often) == (RESTING, FAR - 1.0, False, False)
    assert plan_turn(Schedule(every=FAR + 1.0), NOON, NOON).close


@given(
    wait=st.floats(-100.0, 1e6),
    every=st.none() | st.floats(60.0, 1e5),
    lasting=st.none() | st.floats(60.0, 1e5),
    ran=st.floats(0.0, 1e5),
)
def test_the_next_run_is_never_before_the_limiter_said_in_the_same_turn_nor_in_the_past(wait, every, lasting, ran):
    schedule = Schedule(every=every, lasting=lasting)
    found = plan_next_run(Wait(NOON + wait, "x"), schedule, NOON, NOON - ran)
    assert found.due is not None
    assert found.due >= max(NOON, NOON + wait)
    if found.same:
        assert found.due == max(NOON, NOON + wait)
        assert every is None or (lasting is not None and found.due < NOON - ran + lasting)


def written(node):
    """The text of a literal, with (1) for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(written(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return "(1)"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def advice_to_run_again():
    """Every text of the program that gives it, but for what is said on the command line only."""
    package = Path(socialcrawl.__file__).parent
    files = [
        file
        for folder in ("ratelimit", "forecast", "platforms", "storage")
        for file in (package / folder).rglob("*.py")
    ]
    texts = {written(node) for file in files for node in ast.walk(ast.parse(file.read_text("utf-8")))}
    return sorted(text for text in texts if "run again" in text.lower() and "was begun in this database" not in text)


def test_nobody_who_has_a_daemon_is_told_to_run_again():
    advice = advice_to_run_again()
    assert len(advice) > 9
    for text in advice:
        said = remove_rerun_advice(text)
        assert "again to go on" not in said.lower(), text
        assert "run again" not in said.lower(), text
        assert not {" ;", " .", ";;", ": .", "  "} & {said[i : i + 2] for i in range(len(said))}, said


def test_a_budget_is_to_be_raised_in_the_campaign_file_where_a_daemon_looks_at_it():
    why = "the budget max_posts = 10 is reached (10); raise it and run again to go on"
    found = plan_next_run(Stop("budget", why), ALWAYS, NOON, NOON)
    assert found.why == "the budget max_posts = 10 is reached (10); raise it in the campaign file to go on"


def test_what_follows_a_question_is_a_sentence_of_its_own():
    found = plan_next_run(Stop("failed", "the server is in trouble: is it X?"), ALWAYS, NOON, NOON)
    assert found.why == "the server is in trouble: is it X? It is tried again"
