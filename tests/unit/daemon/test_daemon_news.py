"""Each change of a campaign is told once, and people are told of each event once, also over a restart."""

from dataclasses import replace
from pathlib import Path

import pytest

from socialcrawl.daemon.campaign_state import (
    BROKEN,
    DONE,
    GONE,
    LEFT,
    PAUSED,
    RESTING,
    RUNNING,
    STALLED,
    STOPPED,
    WAITING,
    CampaignState,
    EventFilter,
    StateChanges,
)

NOW = 1_800_000_000.0
FILE = Path("one.toml")


def standing(state, why="", moved=NOW - 60, until=None):
    return CampaignState(FILE, "one", state, why or f"it is {state}", NOW, until, moved)


class People:
    """Who is told: `changes` are all of them, `events` those that notices are sent of."""

    def __init__(self, before=None):
        self.changes, self.events = [], []
        which = EventFilter()

        def changed(now, before):
            self.changes.append(now.state)
            if which.is_one(now, before):
                self.events.append(now.state)

        self.news = StateChanges(changed)
        if before is not None:
            self.news.restore(before)

    def see(self, *standings):
        for one in standings:
            self.news.look(FILE, lambda one=one: one, NOW)
        return self


def test_a_state_is_told_when_it_begins_and_when_its_reason_is_another():
    people = People().see(standing(WAITING), standing(WAITING), standing(WAITING, "for its share"), standing(DONE))
    assert (people.changes, people.events) == ([WAITING, WAITING, DONE], [DONE])


@pytest.mark.parametrize("state", [PAUSED, DONE, STOPPED, BROKEN])
def test_what_an_earlier_daemon_has_told_is_not_told_again(state):
    """A campaign that begins finds out that it still stands as it stood."""
    people = People(standing(state)).see(standing(WAITING, "it begins"), standing(RUNNING), standing(state))
    assert (people.changes, people.events) == ([], [])


@pytest.mark.parametrize("state", [PAUSED, DONE, STOPPED, BROKEN])
def test_what_comes_after_something_moved_is_told_again(state):
    people = People(standing(state)).see(standing(RUNNING), standing(RUNNING, moved=NOW), standing(state, moved=NOW))
    assert (people.changes, people.events) == ([RUNNING, state], [state])


@pytest.mark.parametrize("state", [DONE, STOPPED])
def test_a_campaign_that_goes_on_and_ends_again_before_anybody_looks_is_told_again(state):
    people = People().see(standing(state, moved=NOW - 60), standing(state, moved=NOW - 60), standing(state, moved=NOW))
    assert (people.changes, people.events) == ([state, state], [state, state])


@pytest.mark.parametrize("state", [PAUSED, BROKEN, STALLED])
def test_a_reply_that_arrives_late_is_no_second_event(state):
    people = People().see(standing(state, moved=NOW - 60), standing(state, moved=NOW))
    assert (people.changes, people.events) == ([state], [state])


def test_a_campaign_that_was_done_and_is_paused_and_resumed_has_not_ended_twice():
    people = People(standing(DONE)).see(standing(PAUSED), standing(RUNNING), standing(DONE))
    assert (people.changes, people.events) == ([PAUSED, DONE], [PAUSED])


def test_what_is_tried_again_and_again_is_broken_once():
    tries = [standing(RUNNING, "it is opened"), standing(BROKEN)] * 9
    people = People().see(standing(BROKEN), *tries)
    assert (people.changes, people.events) == ([BROKEN], [BROKEN])


def test_a_campaign_that_goes_on_to_wait_or_rest_is_told_though_nothing_came():
    for calm in (standing(RESTING, until=NOW + 900), standing(WAITING, until=NOW + 900)):
        assert People(standing(PAUSED)).see(calm).changes == [calm.state]


@pytest.mark.parametrize("why", [LEFT, GONE])
def test_nobody_is_told_of_a_campaign_that_stops_with_its_daemon_or_file(why):
    people = People().see(standing(WAITING), standing(STOPPED, why))
    assert (people.changes, people.events) == ([WAITING, STOPPED], [])


def test_a_budget_that_is_reached_after_a_daemon_was_stopped_is_told():
    people = People().see(standing(STOPPED, "max_posts is reached"))
    assert people.events == [STOPPED]


def test_a_stall_is_told_once_until_something_moves():
    late = replace(standing(WAITING), moved=NOW)
    people = People().see(standing(STALLED), standing(WAITING), standing(STALLED), late, standing(STALLED, moved=NOW))
    assert people.events == [STALLED, STALLED]
