"""The campaigns of a folder: how each stands, what it spent, and starting, pausing and stopping them."""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from socialcrawl.api.argument_checks import FUNCTION, KEYWORDS, SWITCH, TEXT, ArgumentRule, check_arguments
from socialcrawl.api.campaign_control import CampaignPlace, await_release, check_start, start_campaign, stop_campaign
from socialcrawl.api.campaign_drafts import check_own_file, draft_file, load_file
from socialcrawl.api.campaign_file import VALUES, CampaignFile
from socialcrawl.api.dataset import Dataset
from socialcrawl.api.label_file import ENDING, LabelFile
from socialcrawl.api.post_search import fill_index
from socialcrawl.api.project_status import CampaignStatus, KeptStatuses, find_name, make_key
from socialcrawl.crawls.kept_crawls import KeptCrawls
from socialcrawl.daemon.campaign_status import IDLE, OUTDATED, open_upgraded
from socialcrawl.daemon.database_readings import DatabaseReadings, is_campaign_file
from socialcrawl.engine.clock import SystemClock
from socialcrawl.errors import OutdatedError, SettingsError, StoreError
from socialcrawl.storage import daemons
from socialcrawl.storage.database.address import DatabaseAddress, parse_address
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.database.filetypes import DATABASE, recognize
from socialcrawl.storage.database.health import is_missing
from socialcrawl.text.wording import parse_seconds

KEYS = ArgumentRule(
    "a list of keys of campaigns", lambda given: KEYWORDS.convert(given) if given or isinstance(given, str) else ()
)
PLACES = ArgumentRule("paths or addresses, as text or pathlib.Path", lambda given: tuple(map(os.fspath, given)))


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
        ['done']
        >>> project.update_search_index("sky")
        True
    """

    def __init__(self, places: "Sequence[str | os.PathLike[str]]") -> None:
        self._places = [str(place) for place in places]
        self._readings, self._statuses = DatabaseReadings(self._places), KeptStatuses()
        self._crawls, self._places_of_keys = KeptCrawls(), dict[str, DatabaseAddress]()
        for place in self._places:
            _check_place(place)

    def __repr__(self) -> str:
        return f"<Project {', '.join(self._places)}>"

    @check_arguments(watched=KEYS)
    def list_campaigns(self, *, watched: Collection[str] = ()) -> list[CampaignStatus]:
        """Return how all campaigns stand, those without a database too, by name.

        Args:
            watched: keys of campaigns whose changes are wanted at once. Of others, the last reading counts longer where
                many run.
        """
        return [status for status, _ in self._list(watched=watched)]

    @check_arguments(campaign=TEXT, fresh=SWITCH)
    def find(self, campaign: str, *, fresh: bool = False) -> CampaignStatus:
        """Return how one campaign stands.

        Args:
            campaign: its name or key.
            fresh: whether its database is read now; else the last reading also counts if it is some seconds old, where
                reading takes long.

        Raises:
            SettingsError: there is none, or several have this name.
        """
        return self._find(campaign, fresh=fresh)[0]

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
        return Dataset(where, self._crawls)

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
            SettingsError: there is no such campaign, its campaign file is not among the places of the project, the
                labels have other columns, or the campaign has no file and no folder.

        Example:
            >>> sc.open_project("example.toml").open_labels("sky")
            <LabelFile example-labels.csv>
        """
        status, where = self._find(campaign)
        if status.file and (file := Path(status.file)).is_file():
            check_own_file(status.file, self._readings.has_file)
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
            SettingsError: there is no such campaign, it has no campaign file among the places of the project, the file
                is wrong, or a token is missing.
            CostError: it may cost more than `confirm_above`.
            StoreError: another process runs it, its database cannot be used, or the process ended at once.

        Example:
            >>> try:
            ...     sc.open_project("example.db").start("sky")
            ... except sc.SettingsError as error:
            ...     print(error)
            The campaign 'sky' has no campaign file here: open the folder that has it.
        """
        start_campaign(self._find_place(campaign, runs=True), accept_cost=accept_cost)
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
            ...     sc.open_project("example.db").restart("sky")
            ... except sc.SettingsError as error:
            ...     print(error)
            The campaign 'sky' has no campaign file here: open the folder that has it.
        """
        place = self._find_place(campaign, runs=True)
        check_start(place, accept_cost=accept_cost)  # else it would be stopped, and not started
        if not is_missing(place.where) and self._find(campaign)[0].state != IDLE:
            stop_campaign(place)
            await_release(place)
        self.start(campaign, accept_cost=accept_cost)

    def _find_place(self, campaign: str, *, runs: bool = False) -> CampaignPlace:
        """Return what tells a campaign to those who start and stop it.

        Args:
            campaign: its name or key.
            runs: whether its file is to be run.

        Raises:
            SettingsError: there is none, several have this name, or its file is left out; or it is to be run and only
                a database names it.
            OutdatedError: an older version wrote its database.
        """
        status, where = self._find(campaign, fresh=True)
        if status.state == OUTDATED:
            raise OutdatedError(status.why)
        if isinstance(where, Path) and is_campaign_file(where):
            raise SettingsError(status.why)
        if runs and status.file is not None and Path(status.file).is_file():
            check_own_file(status.file, self._readings.has_file)
        return CampaignPlace(status.name, status.key, where, status.file)

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

    def _list(
        self, campaign: str | None = None, watched: Collection[str] = ()
    ) -> list[tuple[CampaignStatus, DatabaseAddress]]:
        """Return how campaigns stand, by name, with their databases, whose addresses may hold passwords.

        Args:
            campaign: the name or key of those that are wanted; None: all.
            watched: keys of campaigns whose changes are wanted at once.
        """
        now = SystemClock().now()
        places = {where for key in watched if (where := self._places_of_keys.get(key)) is not None}
        known = self._readings.read_all(now, places)
        found = [
            (self._statuses.make(row, reading, known.settings.get(row.file), now), row.where)
            for reading in known.readings
            for row in reading.rows
            if campaign is None or campaign in (make_key(row), find_name(row))
        ]
        if campaign is None:
            self._places_of_keys = {status.key: where for status, where in found}
        return sorted(found, key=lambda pair: (pair[0].name, pair[0].database, pair[0].file or ""))

    def _find(self, campaign: str, *, fresh: bool = False) -> tuple[CampaignStatus, DatabaseAddress]:
        """Return how one campaign stands, and its database; `fresh`: as of now.

        Raises:
            SettingsError: there is none, or several have this name.
        """
        found = self._list(campaign)
        if not found:
            names = ", ".join(dict.fromkeys(status.name for status, _ in self._list())) or "none"
            raise SettingsError(f"There is no campaign {campaign!r} here; there are: {names}.")
        if len(found) > 1:
            keys = ", ".join(f"{status.key} ({status.database})" for status, _ in found)
            raise SettingsError(f"Several campaigns are called {campaign!r}: name one by its key: {keys}.")
        if fresh:
            self._readings.forget(found[0][1])
            return self._find(campaign)
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
