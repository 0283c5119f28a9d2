"""The campaigns of a folder: how each stands, what it spent, and pausing them."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from socialcrawl.api.argument_checks import FUNCTION, TEXT, ArgumentRule, check_arguments
from socialcrawl.api.campaign_drafts import draft_file, load_file
from socialcrawl.api.campaign_file import VALUES, CampaignFile
from socialcrawl.api.dataset import Dataset
from socialcrawl.api.label_file import ENDING, LabelFile
from socialcrawl.api.post_search import fill_index
from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.facts import DEFAULT
from socialcrawl.daemon.campaign_state import BROKEN, DONE, DOWN, STALLED, STOPPED
from socialcrawl.daemon.campaign_status import IDLE, LOST, OUTDATED, UNKNOWN, KnownCampaign, open_upgraded
from socialcrawl.daemon.database_readings import DatabaseReading, DatabaseReadings, is_campaign_file
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import MILLS_PER_DOLLAR, format_time, parse_time
from socialcrawl.errors import OutdatedError, SettingsError, StoreError
from socialcrawl.storage import daemons
from socialcrawl.storage.database.address import DatabaseAddress, parse_address
from socialcrawl.storage.database.connection import Opened
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
        windows: requests in each of the latest windows of the rate limit, at most 24, of the endpoint that it requests
            most, with all its tokens; the last one ended with its latest request or later.
        window_begins: when each of them began.
        window_limit: requests that a window allows with one token; None: not known.
        window_length: seconds of a window; None likewise.

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
        >>> status.since, status.until, status.daemon
        (None, None, None)
        >>> status.windows, len(status.window_begins), status.window_limit, status.window_length
        ((6,), 1, 10000, 900.0)
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
    windows: tuple[int, ...] = ()
    window_begins: tuple[str, ...] = ()
    window_limit: int | None = None
    window_length: float | None = None


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
        >>> project.update_search_index("sky")
        True
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

    @property
    def folder(self) -> Path | None:
        """The folder for new campaign files: the first folder among its places; None where there is none."""
        places = [parse_address(place) for place in self._places]
        return next((place for place in places if isinstance(place, Path) and place.is_dir()), None)

    @check_arguments(values=VALUES)
    def draft(self, values: Mapping[str, Any]) -> CampaignFile:
        """Return a new campaign file in `folder`, called like the campaign. Nothing is written before its `save`.

        Args:
            values: see `CampaignFile.create`; `name` is needed.

        Raises:
            SettingsError: there is no folder, the name is taken, or with one line for each key that is wrong.

        Example:
            >>> project = sc.open_project(".")
            >>> file = project.draft({"name": "moon", "topic": {"keywords": ["moon"]}})
            >>> file.path == project.folder / "moon.toml", file.path.exists()
            (True, False)
        """
        known = [(status.name, status.database) for status in self.list_campaigns()]
        return draft_file(self.folder, values, known)

    @check_arguments(campaign=TEXT, digest=TEXT)
    def load_file(self, campaign: str, *, digest: str | None = None) -> CampaignFile:
        """Return the file of a campaign, to be edited. Only files of the project's places are opened.

        Args:
            campaign: its name or key.
            digest: see `CampaignFile.load`.

        Raises:
            ConflictError: the file has another digest.
            SettingsError: there is no such campaign, it has no file here, or the file is missing or no TOML.

        Example:
            >>> sc.open_project("example.toml").load_file("sky").values["crawl"]["steps"]
            4
        """
        return load_file(self.find(campaign).file, digest, self._readings.has_file)

    @check_arguments(campaign=TEXT)
    def open_labels(self, campaign: str) -> LabelFile:
        """Return the labels of a campaign: `NAME-labels.csv` beside its file NAME.toml, or else beside its database.

        Raises:
            SettingsError: there is no such campaign, the file has other columns, or the campaign has no file and no
                folder.

        Example:
            >>> sc.open_project("example.toml").open_labels("sky")
            <LabelFile example-labels.csv>
        """
        status, where = self._find(campaign)
        if status.file and (file := Path(status.file)).is_file():
            return LabelFile.load(file.with_name(f"{file.stem}-{ENDING}"))
        if not isinstance(where, Path):
            raise SettingsError(
                f"The campaign {status.name!r} has no campaign file here, and its labels lie beside one: open its file."
            )
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", status.name)
        start = name if name == where.stem else f"{where.stem}-{name}"
        return LabelFile.load(where.with_name(f"{start}-{ENDING}"))

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

    @check_arguments(campaign=TEXT, timeout=TEXT, watch=FUNCTION)
    def update_search_index(
        self, campaign: str, *, timeout: str = "10m", watch: Callable[[int], Any] | None = None
    ) -> bool:
        """Make the full-text index of a campaign's database, or update it; return whether all posts are in it.

        Searches find the same without it, but read each text. Posts are taken in 1,000 at a time, with pauses in which
        campaigns write; what was taken in stays, whenever this ends.

        Args:
            campaign: its name.
            timeout: the longest time, as "10m".
            watch: called with the number of posts so far; an error that it raises ends this.

        Raises:
            SettingsError: there is no such campaign.
            StoreError: it has not begun, or its database cannot be written.
        """
        with self._open_begun(campaign) as (connection, _, _):
            return fill_index(connection, watch or (lambda count: None), parse_seconds(timeout))

    @contextmanager
    def _open_begun(self, campaign: str) -> Iterator[tuple[Opened, str, DatabaseAddress]]:
        """Open the database of a campaign that has begun for writing; with it, the name of the campaign, and its place.

        Raises:
            SettingsError: there is no such campaign.
            StoreError: it has not begun, or its database cannot be written.
        """
        status, where = self._find(campaign)
        if status.state == OUTDATED:
            raise OutdatedError(status.why)
        with open_upgraded(where) as connection:
            if status.name not in [one.campaign for one in daemons.read_leases(connection)]:
                raise StoreError(f"The campaign {status.name!r} has not begun, so there is nothing to change.")
            yield connection, status.name, where

    def _set_paused(self, campaign: str, *, again: bool) -> bool:
        with self._open_begun(campaign) as (connection, name, where):
            if again:
                done = daemons.resume_campaigns(connection, [name])
            else:
                done = daemons.pause_campaigns(connection, [name], SystemClock().now())
        self._readings.forget(where)
        return name in done

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
        f"process {held.pid} on {held.host}" if held.daemon is not None and held.is_alive(now) else None,
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
        if figures.windows is not None:
            status = replace(
                status,
                windows=tuple(figures.windows.requests),
                window_begins=tuple(map(format_time, figures.windows.begins)),
                window_limit=figures.windows.k,
                window_length=figures.windows.d,
            )
    budget = given.get("budget") or {}
    status = replace(
        status,
        planned_steps=(given.get("crawl") or {}).get("steps"),
        max_requests=budget.get("max_requests"),
        max_dollars=budget.get("max_money"),
        ends=_find_end(budget.get("max_time"), None if figures is None else figures.began),
    )
    return replace(status, alerts=tuple(_list_alerts(status, row.where, given)))


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
