"""How the campaigns of a daemon stand: values that logs, metrics, the health page and other terminals are told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from socialcrawl.engine.model import format_time
from socialcrawl.storage.daemons import CampaignLease
from socialcrawl.storage.database.disk_space import UNKNOWN, DatabaseSpace

RUNNING, WAITING, RESTING, PAUSED, DONE = "running", "waiting", "resting", "paused", "done"
STOPPED, BROKEN, ELSEWHERE, STALLED, DOWN = "stopped", "broken", "elsewhere", "stalled", "down"
STATES = {
    RUNNING: "it fetches accounts now",
    WAITING: "a window, a pause after a failure or its share of a token is waited for",
    RESTING: "its schedule says when it goes on",
    PAUSED: "a person paused it, or a command with `--pause` until it is done",
    DONE: "it has fetched all that it was to fetch",
    STOPPED: "a budget, a cap or a failure stopped it",
    BROKEN: "its file, a token, the database or the disk cannot be used; it is tried again",
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
    """Return why a campaign is paused, as its database says."""
    if held.paused_by is None:
        at = "" if held.paused is None else f" at {format_time(held.paused)[:19].replace('T', ' ')} UTC"
        return f"paused by a person{at}: `socialcrawl resume` lets it go on"
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
