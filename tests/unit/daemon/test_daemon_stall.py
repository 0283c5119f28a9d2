"""The stall detector: who should have moved and did not, and what it waits for."""

from pathlib import Path

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.daemon.campaign_state import RUNNING, STATES, WAITING, CampaignState
from socialcrawl.daemon.overview import detect_stall

NOW, HALF_AN_HOUR = 1_800_000_000.0, 1800.0  # 2027-01-15T08:00:00Z


def standing(state, since, until=None, moved=None, why="the window is empty"):
    """A campaign by how many minutes ago each thing was; negative: it will be."""
    ago = [None if minutes is None else NOW - 60 * minutes for minutes in (since, until, moved)]
    return CampaignState(Path("forest.toml"), "forest", state, why, ago[0], ago[1], ago[2])


def minutes_ago(minutes):
    return NOW - 60 * minutes


WELL = {
    "it moved just now": (standing(RUNNING, 300, moved=1), ()),
    "it moved half an hour ago to the second": (standing(RUNNING, 300, moved=30), ()),
    "its window ends in an hour": (standing(WAITING, 300, until=-60, moved=300), ()),
    "its window ended a minute ago": (standing(WAITING, 300, until=1, moved=300), ()),
    "it goes on after a week of rest": (standing(RUNNING, 2, moved=7 * 1440), ()),
    "it never moved, but has only begun": (standing(RUNNING, 2), ()),
    "a request is old, but others have come": (standing(RUNNING, 300, moved=1), [("tweets", minutes_ago(120))]),
}


@pytest.mark.parametrize("case", WELL)
def test_all_is_well_where(case):
    assert detect_stall(*WELL[case], NOW, HALF_AN_HOUR) is None


STALLS = {
    "a reply": (
        standing(RUNNING, 300, moved=42),
        [("users/by", minutes_ago(41)), ("users/:id/tweets", minutes_ago(42))],
        (
            "Nothing has come for 42 min: it waits for a reply from users/:id/tweets, requested 42 min ago, "
            "and for 1 more."
        ),
    ),
    "its only reply, whatever the state says": (
        standing(WAITING, 31, until=31, moved=31),
        [("search", minutes_ago(31))],
        "Nothing has come for 31 min: it waits for a reply from search, requested 31 min ago.",
    ),
    "the database": (
        standing(RUNNING, 300, until=100, moved=120),
        (),
        (
            "Nothing has come for 2 h 00 min: it waits for the database, as no request is on its way: "
            "look for a lock, a full disk or a server that is away."
        ),
    ),
    "its window": (
        standing(WAITING, 75, until=60, moved=75),
        (),
        (
            "Nothing has come for 75 min: it waits for its window, which ended at 2027-01-15 07:00:00 UTC, "
            "and was not woken."
        ),
    ),
    "what it said": (
        standing(WAITING, 31, why="its share of the token main."),
        (),
        "Nothing has come for 31 min: it waits for what it said last (its share of the token main).",
    ),
}


@pytest.mark.parametrize("case", STALLS)
def test_a_stall_says_what_it_waits_for(case):
    campaign, flying, words = STALLS[case]
    assert detect_stall(campaign, flying, NOW, HALF_AN_HOUR) == words


AGES = st.floats(-10_000, 10_000)
FLYING = st.lists(st.tuples(st.sampled_from(["search", "users"]), AGES.map(minutes_ago)), max_size=3)
STANDINGS = st.builds(
    standing, st.sampled_from(sorted(STATES)), AGES, until=st.none() | AGES, moved=st.none() | AGES, why=st.text()
)


@settings(deadline=None, max_examples=many(300))
@given(STANDINGS, FLYING, st.floats(1, 100_000))
def test_only_what_runs_or_waits_stalls_and_it_does_as_soon_as_every_sign_of_life_is_older_than_the_patience(
    campaign, flying, patience
):
    signs = [instant for instant in (campaign.since, campaign.moved, campaign.until) if instant is not None]
    old = all(NOW - instant > patience for instant in signs)
    said = detect_stall(campaign, flying, NOW, patience)
    assert (said is not None) == (old and campaign.state in ("running", "waiting"))
    assert detect_stall(campaign, flying, max(signs) + patience - 0.01, patience) is None
    if campaign.state in ("running", "waiting"):
        assert "waits for" in detect_stall(campaign, flying, max(signs) + patience + 0.01, patience)
