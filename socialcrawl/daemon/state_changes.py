"""Which changes of state are news: each is reported once, whichever thread sees it first, also over a restart."""

import threading
from collections.abc import Callable
from math import inf
from pathlib import Path

from socialcrawl.daemon.campaign_state import (
    DONE,
    DOWN,
    EVENTFUL,
    GONE,
    LEFT,
    RUNNING,
    SETTLED,
    STALLED,
    STOPPED,
    WAITING,
    CampaignState,
    is_passing,
)

SAME = 1.0  # seconds by which two outages differ that are two
Changed = Callable[[CampaignState, CampaignState | None], None]
"""Told whenever a campaign comes into another state: how it stands, and how it stood before."""


class StateChanges:
    """How the campaigns stood when somebody was last told.

    Args:
        changed: called with each change.
    """

    def __init__(self, changed: Changed) -> None:
        self._changed = changed
        self._stood: dict[Path, CampaignState] = {}
        self._lock = threading.Lock()

    def restore(self, standing: CampaignState) -> None:
        """Take in how a campaign stood under an earlier daemon, which has told it."""
        with self._lock:
            self._stood[standing.file] = standing

    def look(self, file: Path, shown: Callable[[], CampaignState], now: float) -> None:
        """Tell how a campaign stands if that is news.

        Args:
            file: its campaign file.
            shown: how it stands; called once nobody else tells of it.
            now: Unix seconds.
        """
        with self._lock:
            standing, before = shown(), self._stood.get(file)
            if is_passing(standing.state, standing.why):
                return
            if before is None or _is_news(standing, before, now):
                self._stood[file] = standing
                self._changed(standing, before)


def _is_news(standing: CampaignState, before: CampaignState, now: float) -> bool:
    if standing.state == before.state:
        return (standing.why != before.why and standing.state != STALLED) or _ended_again(standing, before)
    return not _is_trial(standing, before, now)


def _is_trial(standing: CampaignState, before: CampaignState, now: float) -> bool:
    """Return whether a campaign only finds out whether it still stands as it stood: nothing has come of it yet."""
    under_way = standing.state == RUNNING or (
        standing.state == WAITING and (standing.until is None or standing.until <= now)
    )
    return before.state in SETTLED and under_way and standing.moved == before.moved


def _ended_again(standing: CampaignState, before: CampaignState) -> bool:
    """Return whether a campaign went on and ended as before, so soon that nobody saw it run."""
    return standing.state == before.state and standing.state in (DONE, STOPPED) and standing.moved != before.moved


class EventFilter:
    """Which news people are told of: no event twice while nothing came of a campaign in between, no outage twice."""

    def __init__(self) -> None:
        self._told: dict[Path, tuple[float | None, set[tuple[str, str]]]] = {}  # by when it last moved
        self._down: dict[Path, float] = {}  # since when the outage lasts of which people were last told

    def is_one(self, standing: CampaignState, before: CampaignState | None) -> bool:
        """Return whether a campaign came into a state of which people want to hear, and have not.

        Args:
            standing: how it stands.
            before: how it stood before, also under an earlier daemon.
        """
        moved, states = self._told.get(standing.file, (None, set()))
        if moved != standing.moved:
            states = set()
        if before is not None and before.moved == standing.moved:
            states.add((before.state, before.why))
        if before is not None and before.state == DOWN:
            self._down[standing.file] = before.since
        this = standing.state, standing.why
        known = this in states or (
            standing.state == DOWN and standing.since - self._down.get(standing.file, -inf) < SAME
        )
        same = before is not None and before.state == standing.state and not _ended_again(standing, before)
        states.add(this)
        self._told[standing.file] = standing.moved, states
        return standing.state in EVENTFUL and standing.why not in (LEFT, GONE) and not known and not same
