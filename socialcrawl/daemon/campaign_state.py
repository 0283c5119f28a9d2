"""How the campaigns of a daemon stand: values that logs, metrics, the health page and other terminals are told.

Changes of state that are news are reported once, whichever thread sees them first, also over a restart.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from socialcrawl.engine.model import format_time
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.storage import daemons
from socialcrawl.storage.daemons import CampaignLease
from socialcrawl.storage.database.disk_space import UNKNOWN, DatabaseSpace

RUNNING, WAITING, RESTING, PAUSED, DONE = "running", "waiting", "resting", "paused", "done"
STOPPED, BROKEN, ELSEWHERE, STALLED, DOWN = "stopped", "broken", daemons.ELSEWHERE, "stalled", "down"
STATES = {
    RUNNING: "it sends requests now",
    WAITING: "a window, a pause after a failure or its share of a token is waited for",
    RESTING: "its schedule says when it goes on",
    PAUSED: "a person paused it, or a command with `--pause` until it is done",
    DONE: "it has fetched all that it was to fetch",
    STOPPED: "a budget, a cap or a failure stopped it",
    BROKEN: "its file, a token, the database, the disk or its workers cannot be used; it is tried again",
    ELSEWHERE: "another process runs it",
    STALLED: "it should have moved, and did not",
    DOWN: "its platform does not answer, and is tried again at least every minute",
}
"""What each state of a campaign means."""
SETTLED = (PAUSED, DONE, STOPPED, BROKEN, DOWN)
"""States in which a campaign stays until something comes of it, also while no daemon runs."""
EVENTFUL = (*SETTLED, STALLED)
"""States of which people are told."""
LEFT, GONE = "the daemon was stopped", "its campaign file is gone"
"""Why a campaign that ran, waited or rested is stopped: it goes on when a daemon or its file is there again."""
PASSING = "paused until `socialcrawl "
"""How the reason of a pause begins that a command makes and ends."""


def describe_pause(held: CampaignLease) -> str:
    """Return why a campaign is paused or stopped, as its database says."""
    if held.paused_by is None:
        at = "" if held.paused is None else f" at {format_time(held.paused)[:19].replace('T', ' ')} UTC"
        if held.stopped:
            return f"stopped by a person{at}: start it from its page, or with `socialcrawl run` or `socialcrawl resume`"
        return f"paused by a person{at}: resume it from its page, or with `socialcrawl resume`"
    by = held.paused_by
    return f"{PASSING}{by.command}` is done (process {by.pid} on {by.host})"


def is_settled(state: str, why: str) -> bool:
    """Return whether a campaign stays as it stands when a daemon leaves, and begins so when the next one does."""
    return state in SETTLED and why not in (LEFT, GONE) and not is_passing(state, why)


def is_passing(state: str, why: str) -> bool:
    """Return whether a campaign is only paused until a command is done, which is no news."""
    return state == PAUSED and why.startswith(PASSING)


@dataclass(frozen=True, slots=True)
class WindowUse:
    """One window of a token on an endpoint: `used` of `k` requests; `ends` (Unix seconds) where one is open."""

    credential: str
    endpoint: str
    used: int
    k: int
    ends: float | None = None


@dataclass(frozen=True, slots=True)
class CampaignFigures:
    """A campaign in numbers.

    Attributes:
        steps: accounts asked after the seeds; of a sample all that were read, of a refresh all tests.
        relevance: the sum of beta over them; of a sample how many are on topic, of a refresh how many are active.
        known, frontier: accounts of its graph, and those of them that could be asked.
        requests: how many, since the daemon began, by (endpoint, kind of reply, HTTP status; 0 without an answer).
        sent, posts, money: requests, posts and mills of the whole campaign.
        windows: of its tokens.
        lag: seconds by which its last turn began late.
        caps: its budgets.
    """

    steps: int = 0
    relevance: float = 0.0
    known: int = 0
    frontier: int = 0
    requests: Mapping[tuple[str, str, int], int] = field(default_factory=dict)
    sent: int = 0
    posts: int = 0
    money: int = 0
    windows: Sequence[WindowUse] = ()
    lag: float = 0.0
    caps: Caps = field(default_factory=Caps)


@dataclass(frozen=True, slots=True)
class CampaignState:
    """How one campaign stands.

    Attributes:
        file: its campaign file.
        campaign: its name; that of the file while it cannot be read.
        state: one of STATES.
        why: a sentence for people: what it waits for, or what happened.
        since: when it came into this state (Unix seconds).
        until: when it goes on by itself; None: it runs, or nobody can say.
        moved: when the last reply or step of it came.
        figures: None while it was never opened.
        room: of its database.
    """

    file: Path
    campaign: str
    state: str
    why: str
    since: float
    until: float | None = None
    moved: float | None = None
    figures: CampaignFigures | None = None
    room: DatabaseSpace = UNKNOWN


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
