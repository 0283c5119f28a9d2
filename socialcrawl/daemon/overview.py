"""The state of a daemon's campaigns: opened together, watched for stalls, reported to logs, people and databases."""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from socialcrawl.campaign.build import ProcessContext
from socialcrawl.daemon.campaign_runner import CampaignRunner
from socialcrawl.daemon.campaign_state import BROKEN, RUNNING, STALLED, WAITING, CampaignState, StateChanges
from socialcrawl.daemon.daemon_records import DaemonRecords
from socialcrawl.storage.daemons import CampaignHeartbeat
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.disk_space import DatabaseSpace
from socialcrawl.text.wording import format_span

Flying = Sequence[tuple[str, float]]


def detect_stall(standing: CampaignState, flying: Flying, now: float, patience: float) -> str | None:
    """Return what a campaign waits for that should have moved, as a sentence for people; None: all is well.

    Only one that runs or waits can stall. It has when more than `patience` seconds have gone since each of: its last
    reply or step, the moment at which it was to go on, and its coming into this state (so that one which has rested
    for a week is given its time).

    Args:
        standing: the campaign.
        flying: its requests without a reply, each by its endpoint and the moment it was sent (Unix seconds).
        now: Unix seconds, by the same clock.
        patience: seconds.
    """
    if standing.state not in (RUNNING, WAITING):
        return None
    heard = max(instant for instant in (standing.since, standing.moved, standing.until) if instant is not None)
    if not now - heard > patience:
        return None
    last = standing.since if standing.moved is None else max(standing.since, standing.moved)
    return f"Nothing has come for {format_span(now - last)}: it waits for {_describe_awaited(standing, flying, now)}."


def _describe_awaited(standing: CampaignState, flying: Flying, now: float) -> str:
    if flying:
        endpoint, since = min(flying, key=lambda asked: (asked[1], asked[0]))
        others = f", and for {len(flying) - 1} more" if len(flying) > 1 else ""
        return f"a reply from {endpoint}, requested {format_span(max(0.0, now - since))} ago{others}"
    if standing.state == RUNNING:
        return "the database, as no request is on its way: look for a lock, a full disk or a server that is away"
    if standing.until is not None:
        return f"its window, which ended at {_format_moment(standing.until)}, and was not woken"
    return f"what it said last ({standing.why.strip().rstrip('.') or 'nothing'})"


def _format_moment(instant: float) -> str:
    return f"{datetime.fromtimestamp(instant, UTC):%Y-%m-%d %H:%M:%S} UTC"


PATIENCE = 5.0  # seconds for which those that are open wait for the others


class GroupOpening:
    """The campaigns that are being opened, and those that are open and wait for them."""

    def __init__(self) -> None:
        self._since: dict[CampaignRunner, float] = {}  # those being opened
        self._open: list[CampaignRunner] = []
        self._lock = threading.Lock()

    def __contains__(self, runner: CampaignRunner) -> bool:
        return runner in self._since or runner in self._open

    @property
    def busy(self) -> bool:
        """Whether some are being opened: until then nobody knows which of two files is that of its campaign."""
        return bool(self._since)

    def begin(self, runners: Iterable[CampaignRunner], now: float) -> None:
        """Take in campaigns that are opened together from `now` on (Unix seconds)."""
        with self._lock:
            self._since |= dict.fromkeys(runners, now)

    def end(self, runner: CampaignRunner) -> None:
        """Take in that a campaign is open, or failed to open."""
        with self._lock:
            self._since.pop(runner, None)
            self._open.append(runner)

    def take_ready(self, now: float) -> list[CampaignRunner]:
        """Return, once, those that may run now (Unix seconds): no other is being opened that is not late."""
        with self._lock:
            if any(now - since < PATIENCE for since in self._since.values()):
                return []
            ready, self._open = self._open, []
            return ready


BEAT = 10.0  # seconds between two heartbeats where nothing changes


@dataclass(slots=True)
class Overview:
    """How the campaigns of a daemon stand; all methods may be called from any thread.

    Attributes:
        process: what the campaigns share.
        books: the daemon's rows in their databases.
        news: called with each change.
        stall: seconds after which a campaign that should have moved counts as stalled.
        runners: the campaigns, by their files.
        faults: how files stand that are no campaign: not understood, or left out.
        opening: campaigns of which nothing can be said yet.
    """

    process: ProcessContext
    books: DaemonRecords
    news: StateChanges
    stall: float
    runners: dict[Path, CampaignRunner] = field(default_factory=dict)
    faults: dict[Path, CampaignState] = field(default_factory=dict)
    opening: GroupOpening = field(default_factory=GroupOpening)
    _rooms: dict[DatabaseAddress, DatabaseSpace] = field(default_factory=dict)
    _beaten: dict[DatabaseAddress, tuple[float, list[CampaignHeartbeat]]] = field(default_factory=dict)

    def list_states(self) -> list[CampaignState]:
        """Return how all campaigns stand, in order of their files."""
        runners = list(self.runners.items())  # at once: other threads change them
        found = {**dict(self.faults), **{file: self._describe_state(runner) for file, runner in runners}}
        return [found[file] for file in sorted(found)]

    def notice(self, file: Path) -> None:
        """Tell how the campaign of a file stands, if that is news."""
        runner, fault = self.runners.get(file), self.faults.get(file)
        if runner is not None and runner not in self.opening:
            self.news.look(file, partial(self._describe_state, runner), self.process.time.now())
        elif fault is not None and not self.opening.busy:
            self.news.look(file, lambda: fault, self.process.time.now())

    def notice_all(self) -> None:
        """Tell how all campaigns stand, as far as that is news."""
        for standing in self.list_states():
            self.notice(standing.file)

    def find_campaigns(self, where: DatabaseAddress) -> list[CampaignRunner]:
        """Return the campaigns of a database, in order of their files."""
        runners = list(self.runners.items())  # at once: other threads change them
        return [runner for _, runner in sorted(runners) if runner.settings.database == where]

    def write(self, where: DatabaseAddress) -> None:
        """Write the heartbeat into a database and how its campaigns stand, if that changed or the last one is old."""
        now, heartbeats = self.process.time.now(), self._make_heartbeats(where)
        before = self._beaten.get(where)
        if before is None or now - before[0] >= BEAT or _list_states(before[1]) != _list_states(heartbeats):
            self.books.write_states(where, heartbeats, now)
            self._beaten[where] = now, heartbeats
            self._rooms[where] = self.books.measure_space(where, now, self.process.disk)

    def leave(self, where: DatabaseAddress) -> Callable[[], None]:
        """Return what writes into a database how its campaigns stand now, and that the daemon is gone."""
        return partial(self.books.leave, where, self._make_heartbeats(where), self.process.time.now())

    def _make_heartbeats(self, where: DatabaseAddress) -> list[CampaignHeartbeat]:
        """Return what is to be written into a database."""
        shown = [(self._describe_state(runner), runner.open) for runner in self.find_campaigns(where)]
        return [
            CampaignHeartbeat(
                one.campaign, one.state, one.why, one.until, one.moved, held, one.since, str(one.file.resolve())
            )
            for one, held in shown
        ]

    def _describe_state(self, runner: CampaignRunner) -> CampaignState:
        """Return how a campaign stands; broken where its server cannot be used, stalled where it should have moved."""
        standing, now = runner.describe_state(), self.process.time.now()
        standing = replace(standing, room=self._rooms.get(runner.settings.database, standing.room))
        if standing.state in (RUNNING, WAITING) and (trouble := self.books.get_trouble(runner.settings.database)):
            return replace(standing, state=BROKEN, why=trouble)
        why = detect_stall(standing, runner.monitor.list_flying(), now, self.stall)
        return standing if why is None else replace(standing, state=STALLED, why=why)


def _list_states(heartbeats: list[CampaignHeartbeat]) -> list[tuple[object, ...]]:
    return [(one.campaign, one.state, one.why, one.until, one.held) for one in heartbeats]
