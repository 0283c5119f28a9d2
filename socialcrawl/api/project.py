"""The campaigns of a folder: how each stands, what it spent, and starting, pausing and stopping them."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from socialcrawl.api.argument_checks import SWITCH, TEXT, ArgumentRule, check_arguments
from socialcrawl.api.campaign_control import CampaignPlace, await_release, start_campaign, stop_campaign
from socialcrawl.api.dataset import Dataset
from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.facts import DEFAULT
from socialcrawl.daemon.campaign_state import BROKEN, DONE, DOWN, STALLED, STOPPED
from socialcrawl.daemon.campaign_status import IDLE, LOST, OUTDATED, UNKNOWN, KnownCampaign, open_upgraded
from socialcrawl.daemon.database_readings import DatabaseReading, DatabaseReadings, is_campaign_file
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import MILLS_PER_DOLLAR, format_time, parse_time
from socialcrawl.errors import OutdatedError, SettingsError, StoreError
from socialcrawl.storage import daemons
from socialcrawl.storage.daemons import CampaignLease
from socialcrawl.storage.database.address import DatabaseAddress, parse_address
from socialcrawl.storage.database.disk_space import DiskReserve
from socialcrawl.storage.database.filetypes import DATABASE, recognize
from socialcrawl.storage.database.health import is_missing
from socialcrawl.text.wording import parse_seconds, parse_size, pluralize

NEARLY = 0.8  # part of a budget from which on an alert says so
ILL = (STALLED, BROKEN, DOWN, LOST, OUTDATED)
"""States that a person should look at."""
ENDED = (DONE, STOPPED, IDLE)
"""States in which a full disk stops nothing."""
PLACES = ArgumentRule("paths or addresses, as text or pathlib.Path", lambda given: tuple(map(os.fspath, given)))


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """How a campaign stands and how far it is. Instants are ISO times in UTC; None where they are not known.

    Attributes:
        key: tells it from campaigns of other databases with the same name; stays the same.
        name: name of the campaign.
        kind: collect, track, refresh, sample, capture, or one that a package adds; "" where that cannot be read.
        platform: x, bluesky, mastodon, web, or one that a package adds; "" likewise.
        state: running, waiting, resting, paused, done, stopped, broken, elsewhere, stalled, down; idle: no daemon has
            run it; lost: its daemon is gone; outdated: an older version wrote the database.
        why: what it waits for, or why it ended.
        since: when it came into this state.
        until: when it goes on by itself.
        daemon: "process N on HOST" of the daemon that has it.
        watched: whether a daemon looks after it, also while it is paused, stopped or done: that one resumes it.
        database: the file or the address of the database.
        file: its campaign file.
        steps: finished steps.
        planned_steps: how many are planned; None: no limit.
        requests: requests sent.
        max_requests: its budget of them; None: no limit.
        dollars: their price by the price table.
        max_dollars: its budget of them; None: no limit.
        posts_on_topic: posts that match its topic.
        curve: what was found up to each of at most 49 points in time, from 0: relevance, or posts of a capture.
        ends: when its budget of time is used up.
        alerts: what a person should look at, a sentence each.

    Example:
        >>> status = sc.open_project("example.toml").list_campaigns()[0]
        >>> status.name, status.kind, status.platform, status.state, status.why
        ('sky', 'collect', 'x', 'idle', 'no daemon has run it')
        >>> status.steps, status.planned_steps, status.requests, status.posts_on_topic, status.curve[0]
        (4, 4, 7, 6, 0.0)
        >>> status.max_requests, status.max_dollars, status.ends, status.alerts
        (None, None, None, ())
        >>> status.database, status.file, f"{status.dollars:.2f}", len(status.key)
        ('example.db', 'example.toml', '0.06', 12)
        >>> status.since, status.until, status.daemon, status.watched
        (None, None, None, False)
    """

    key: str
    name: str
    kind: str
    platform: str
    state: str
    why: str
    since: str | None
    until: str | None
    daemon: str | None
    database: str
    file: str | None
    steps: int = 0
    planned_steps: int | None = None
    requests: int = 0
    max_requests: int | None = None
    dollars: float = 0.0
    max_dollars: float | None = None
    posts_on_topic: int = 0
    curve: tuple[float, ...] = ()
    ends: str | None = None
    alerts: tuple[str, ...] = ()
    watched: bool = False


@check_arguments(places=PLACES)
def open_project(*places: "str | os.PathLike[str]") -> "Project":
    """Return the campaigns of folders, campaign files and databases; nothing is opened yet.

    Args:
        places: folders (their campaign files and SQLite files), campaign files, SQLite files, or addresses
            `postgresql://USER@HOST/NAME`. None: the current folder.

    Raises:
        SettingsError: one of them is not there, or is none of these.

    Example:
        >>> project = sc.open_project("example.toml", "new.toml")
        >>> [status.name for status in project.list_campaigns()]
        ['sky', 'sky']
    """
    return Project(places or (".",))


class Project:
    """Campaigns that are looked after together: those of folders, files and databases.

    Databases are read as they are: one that an older version wrote is not upgraded, and says so. Methods may be called
    from any thread. Where a method takes a `campaign`, give its name, or its key where several have that name.

    Example:
        >>> project = sc.open_project("example.db")
        >>> project
        <Project example.db>
        >>> project.pause("sky")
        True
        >>> project.find("sky").state
        'paused'
        >>> project.resume("sky")
        True
        >>> with project.open("sky") as data:
        ...     print(data.campaigns)
        ['sky']
        >>> [status.state for status in project.list_campaigns()]
        ['idle']
    """

    def __init__(self, places: "Sequence[str | os.PathLike[str]]") -> None:
        self._places = [str(place) for place in places]
        self._readings = DatabaseReadings(self._places)
        for place in self._places:
            _check_place(place)

    def __repr__(self) -> str:
        return f"<Project {', '.join(self._places)}>"

    def list_campaigns(self) -> list[CampaignStatus]:
        """Return how all campaigns stand, those without a database too, by name."""
        return [status for status, _ in self._list()]

    @check_arguments(campaign=TEXT)
    def find(self, campaign: str) -> CampaignStatus:
        """Return how one campaign stands.

        Raises:
            SettingsError: there is none, or several have this name.
        """
        return self._find(campaign)[0]

    @check_arguments(campaign=TEXT)
    def open(self, campaign: str) -> Dataset:
        """Open the database of a campaign for reading; one of an older version is copied, see `open`.

        Raises:
            SettingsError: there is no such campaign.
            StoreError: it has not begun, or its database cannot be read.
        """
        status, where = self._find(campaign)
        if is_missing(where):
            raise StoreError(f"The campaign {status.name!r} has not begun: there is no database {where} yet.")
        return Dataset(where)

    @check_arguments(campaign=TEXT)
    def pause(self, campaign: str) -> bool:
        """Pause a campaign, as `socialcrawl pause` does; return False if it was paused.

        No daemon runs it until `resume`. A `run` in a terminal goes on.

        Raises:
            SettingsError: there is no such campaign.
            StoreError: it has not begun, or its database cannot be written.
        """
        return self._set_paused(campaign, again=False)

    @check_arguments(campaign=TEXT)
    def resume(self, campaign: str) -> bool:
        """Resume a paused campaign, as `socialcrawl resume` does; return False if it was not paused.

        Raises:
            SettingsError: there is no such campaign.
            StoreError: it has not begun, or its database cannot be written.
        """
        return self._set_paused(campaign, again=True)

    @check_arguments(campaign=TEXT, accept_cost=SWITCH)
    def start(self, campaign: str, *, accept_cost: bool = False) -> None:
        """Run a campaign in a process that outlives this one, until it is done, stopped or out of budget.

        It is a daemon of this campaign alone: it obeys its schedule, `pause` and `stop`, and takes up changes of the
        file. It inherits the environment, with the tokens. Its log is KEY.log in the state folder. A campaign that was
        paused or stopped goes on; where a daemon looks after it, that one does so, and no process is begun.

        Args:
            campaign: its name or key.
            accept_cost: start it although it may cost more than `confirm_above` under budget.

        Raises:
            SettingsError: there is no such campaign, it has no campaign file, the file is wrong, or a token is missing.
            CostError: it may cost more than `confirm_above`.
            StoreError: another process runs it, its database cannot be used, or the process ended at once.

        Example:
            >>> try:
            ...     sc.open_project("example.db").start("sky")
            ... except sc.SettingsError as error:
            ...     print(error)
            The campaign 'sky' has no campaign file here: open the folder that has it.
        """
        start_campaign(self._find_place(campaign), accept_cost=accept_cost)
        self._readings.forget(self._find(campaign)[1])

    @check_arguments(campaign=TEXT)
    def stop(self, campaign: str) -> bool:
        """Stop a campaign, whoever runs it on whatever machine; return False if it was stopped already.

        It ends within some seconds: what is in flight is waited for, and everything is stored. Unlike a pause, this
        also ends a `run` in a terminal. No daemon runs the campaign until `start`, or `resume`.

        Raises:
            SettingsError: there is no such campaign.
            StoreError: it has not begun, or its database cannot be written.

        Example:
            >>> project = sc.open_project("example.toml")
            >>> project.stop("sky"), project.stop("sky")
            (True, False)
            >>> project.find("sky").state
            'stopped'
            >>> project.resume("sky")
            True
        """
        place = self._find_place(campaign)
        if is_missing(place.where):
            raise StoreError(f"The campaign {place.name!r} has not begun, so there is nothing to stop.")
        done = stop_campaign(place)
        self._readings.forget(place.where)
        return done

    @check_arguments(campaign=TEXT, accept_cost=SWITCH)
    def restart(self, campaign: str, *, accept_cost: bool = False) -> None:
        """Stop a campaign, wait until it is let go of, and start it, so that it takes up its file.

        Raises:
            SettingsError, StoreError: see `start` and `stop`.

        Example:
            >>> try:
            ...     sc.open_project("example.db").restart("other")
            ... except sc.SettingsError as error:
            ...     print(error)
            There is no campaign 'other' here; there are: sky.
        """
        place = self._find_place(campaign)
        if not is_missing(place.where) and self._find(campaign)[0].state != IDLE:
            stop_campaign(place)
            await_release(place)
        self.start(campaign, accept_cost=accept_cost)

    def _find_place(self, campaign: str) -> CampaignPlace:
        """Return what tells a campaign to those who start and stop it.

        Raises:
            SettingsError: there is none, several have this name, or its file is left out.
            OutdatedError: an older version wrote its database.
        """
        status, where = self._find(campaign)
        if status.state == OUTDATED:
            raise OutdatedError(status.why)
        if isinstance(where, Path) and is_campaign_file(where):
            raise SettingsError(status.why)
        return CampaignPlace(status.name, status.key, where, status.file)

    def _set_paused(self, campaign: str, *, again: bool) -> bool:
        status, where = self._find(campaign)
        if status.state == OUTDATED:
            raise OutdatedError(status.why)
        with open_upgraded(where) as connection:
            if status.name not in [one.campaign for one in daemons.read_leases(connection)]:
                raise StoreError(f"The campaign {status.name!r} has not begun, so there is nothing to change.")
            if again:
                done = daemons.resume_campaigns(connection, [status.name])
            else:
                done = daemons.pause_campaigns(connection, [status.name], SystemClock().now())
        self._readings.forget(where)
        return status.name in done

    def _list(self) -> list[tuple[CampaignStatus, DatabaseAddress]]:
        """Return how all campaigns stand, by name, with their databases, whose addresses may hold passwords."""
        now = SystemClock().now()
        known = self._readings.read_all(now)
        found = [
            (_make_status(row, reading, known.settings.get(row.file), now), row.where)
            for reading in known.readings
            for row in reading.rows
        ]
        return sorted(found, key=lambda pair: (pair[0].name, pair[0].database, pair[0].file or ""))

    def _find(self, campaign: str) -> tuple[CampaignStatus, DatabaseAddress]:
        """Return how one campaign stands, and its database.

        Raises:
            SettingsError: there is none, or several have this name.
        """
        known = self._list()
        found = [pair for pair in known if campaign in (pair[0].key, pair[0].name)]
        if not found:
            names = ", ".join(dict.fromkeys(status.name for status, _ in known)) or "none"
            raise SettingsError(f"There is no campaign {campaign!r} here; there are: {names}.")
        if len(found) > 1:
            keys = ", ".join(f"{status.key} ({status.database})" for status, _ in found)
            raise SettingsError(f"Several campaigns are called {campaign!r}: name one by its key: {keys}.")
        return found[0]


def _check_place(place: str) -> None:
    """Check that a place is there.

    Raises:
        SettingsError: it is not, or is something else.
    """
    where = parse_address(place)
    if not isinstance(where, Path) or where.is_dir() or is_campaign_file(where):
        return
    if not where.exists():
        raise SettingsError(f"There is no {where}: name a folder, a campaign file or a database.")
    if recognize(where) != DATABASE:
        raise SettingsError(f"{where} is no database of socialcrawl: name a folder, a campaign file or a database.")


def _make_status(row: KnownCampaign, found: DatabaseReading, settings: Settings | None, now: float) -> CampaignStatus:
    """Return how a campaign stands: its budget is that of its file, where it has one."""
    held, figures = row.held, found.figures.get(row.held.campaign)
    given = settings.model_dump(mode="json") if settings is not None else {} if figures is None else figures.settings
    status = CampaignStatus(
        _make_key(row),
        held.campaign if held.campaign != UNKNOWN else _name_database(row.where),
        given.get("kind", DEFAULT.name) if given else "",
        (given.get("source") or {}).get("platform", "") if given else "",
        held.state or IDLE,
        held.why,
        _format(held.since),
        _format(held.until),
        f"process {held.pid} on {held.host}" if _has_daemon(held, now) else None,
        str(row.where),
        held.file if row.file is None else str(row.file),
    )
    if figures is not None:
        status = replace(
            status,
            steps=figures.steps,
            requests=figures.requests,
            dollars=figures.mills / MILLS_PER_DOLLAR,
            posts_on_topic=figures.posts_on_topic,
            curve=figures.curve,
        )
    budget = given.get("budget") or {}
    status = replace(
        status,
        planned_steps=(given.get("crawl") or {}).get("steps"),
        max_requests=budget.get("max_requests"),
        max_dollars=budget.get("max_money"),
        ends=_find_end(budget.get("max_time"), None if figures is None else figures.began),
        watched=held.daemon in found.watching,
    )
    return replace(status, alerts=tuple(_list_alerts(status, row.where, given)))


def _has_daemon(held: CampaignLease, now: float) -> bool:
    return held.daemon is not None and held.is_alive(now) and held.state != LOST


def _list_alerts(status: CampaignStatus, where: DatabaseAddress, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a person should look at, as sentences."""
    if status.state in ILL:
        yield f"{status.state.capitalize()}: {status.why}"
    if status.max_requests and status.requests >= NEARLY * status.max_requests:
        part = 100 * status.requests / status.max_requests
        yield f"{part:.0f} % of the budget of {pluralize(status.max_requests, 'request')} is spent."
    if status.max_dollars and status.dollars >= NEARLY * status.max_dollars:
        part = 100 * status.dollars / status.max_dollars
        yield f"{part:.0f} % of the budget of ${status.max_dollars:,.2f} is spent."
    least = (settings.get("limits") or {}).get("min_free_disk")
    reserve = DiskReserve(where, None if least is None else parse_size(least))
    if status.state not in ENDED and (why := reserve.describe_shortage()) is not None:
        yield f"Little room: {why}."


def _find_end(longest: str | None, began: str | None) -> str | None:
    """Return when the budget of time is used up, in ISO 8601; None where there is none, or nothing was sent."""
    if longest is None or began is None:
        return None
    return format_time(parse_time(began) + parse_seconds(longest))


def _make_key(row: KnownCampaign) -> str:
    """Return the name of a campaign and some letters that tell its database, or a file that is left out."""
    place = row.where if not isinstance(row.where, Path) else row.where.resolve()
    digest = blake2b(str(place).encode(errors="surrogateescape"), digest_size=4).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', row.held.campaign)}-{digest}"


def _name_database(where: DatabaseAddress) -> str:
    return where.stem if isinstance(where, Path) else where.name


def _format(instant: float | None) -> str | None:
    return None if instant is None else format_time(instant)
