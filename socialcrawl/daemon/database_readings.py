"""What databases say of their campaigns, read again and again by somebody who looks on: cheaply, and without locks.

A file is read when it, its write-ahead log or a lock beside it has changed, and after some seconds in any case, as
heartbeats grow old. Where reading takes long, or many campaigns run, databases are read less often, but those of
campaigns that somebody watches.
"""

import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from socialcrawl.campaign.settings import Settings, read, select_campaign_files
from socialcrawl.daemon.campaign_state import BROKEN, RUNNING
from socialcrawl.daemon.campaign_status import (
    KnownCampaign,
    StatusReading,
    open_as_it_is,
    read_status,
)
from socialcrawl.engine.clock import SteadyClock
from socialcrawl.errors import SettingsError
from socialcrawl.storage.daemons import CampaignLease
from socialcrawl.storage.database.address import DatabaseAddress, parse_address
from socialcrawl.storage.database.connection import read_inode
from socialcrawl.storage.database.filetypes import DATABASE, recognize
from socialcrawl.storage.queries.progress_figures import ProgressFigures

TOGETHER = 16  # databases that are read at the same time
AGAIN = 5.0  # seconds after which a database with running campaigns is read again though its files did not change
IDLE_AGAIN = 60.0  # likewise, where none runs
REST = 20  # times the duration of readings that pass until the next ones: they take about 5 % of a core at most
WATCHED = 10  # likewise, of one database that somebody watches
Named = Mapping[str, Mapping[Path, Settings]]
Mark = tuple[object, ...]


class KnownFile(NamedTuple):
    """A campaign file: its state, its settings or what is wrong with it, and the settings as values of JSON."""

    mark: Mark | None
    known: Settings | str
    values: Mapping[str, Any]


class DatabaseReading(NamedTuple):
    """What a database said at an instant.

    Attributes:
        rows: its campaigns, those too that have a file only.
        figures: how far each is, by name.
        mark: the state of its files before they were read; None: a server has none.
        at: when it was read, Unix seconds.
        took: how many seconds that took: of the processor for a file, of time for a server.
        watching: ids of the daemons that watch it.
    """

    rows: Sequence[KnownCampaign]
    figures: Mapping[str, ProgressFigures]
    mark: Mark | None
    at: float
    took: float = 0.0
    watching: Collection[str] = ()


class KnownDatabases(NamedTuple):
    """All databases that are looked at, and the settings of the campaign files as values of JSON, by their paths.

    A file that cannot be read is a reading of its own, with one campaign.
    """

    readings: Sequence[DatabaseReading]
    settings: Mapping[Path | None, Mapping[str, Any]]


class DatabaseReadings:
    """Reads the databases of folders, campaign files and databases; methods may be called from any thread.

    Args:
        places: folders, campaign files, SQLite files and addresses of servers.
    """

    def __init__(self, places: Sequence[str]) -> None:
        self._places = list(places)
        self._files: dict[Path, KnownFile] = {}
        self._last: dict[DatabaseAddress, DatabaseReading] = {}
        self._databases: dict[Path, object] = {}  # files that are databases, and in which state they were found so
        self._resolved: dict[Path, tuple[object, Path]] = {}
        self._clock = SteadyClock()
        self._lock = threading.Lock()

    def read_all(self, now: float, watched: Collection[DatabaseAddress] = ()) -> KnownDatabases:
        """Return what all databases say at an instant (Unix seconds); what is `watched` is read once it changed."""
        with self._lock:
            named, faulty = self._find_databases()
            marks = {where: self._mark(where, names) for where, names in named.items()}
            busy = sum(one.took for one in self._last.values() if _has_running(one, now))
            due = [
                where for where in named if self._is_due(where, marks[where], None if where in watched else busy, now)
            ]
            known = dict(self._last)
            if due:
                with ThreadPoolExecutor(min(TOGETHER, len(due))) as pool:  # one that hangs holds up no other
                    read = pool.map(lambda where: self._read(where, named[where], marks[where], now), due)
                    known |= zip(due, read, strict=True)
            self._last = {where: known[where] for where in named}
            readings = list(self._last.values())
            settings: dict[Path | None, Mapping[str, Any]] = {
                file: self._files[file].values for files in named.values() for some in files.values() for file in some
            }
        for file, why in faulty:
            row = KnownCampaign(file, CampaignLease(file.stem, None, state=BROKEN, why=why), file)
            readings.append(DatabaseReading([row], {}, None, now))
        return KnownDatabases(readings, settings)

    def forget(self, where: DatabaseAddress) -> None:
        """Read a database again though nobody else changed it."""
        with self._lock:
            self._last.pop(where, None)

    def has_file(self, file: Path) -> bool:
        """Return whether a campaign file was among the places at the last reading."""
        return file in self._files

    def _find_databases(self) -> tuple[dict[DatabaseAddress, dict[str, dict[Path, Settings]]], list[tuple[Path, str]]]:
        """Return the databases with the files of their campaigns, by name, and the files that cannot be read."""
        found: dict[DatabaseAddress, dict[str, dict[Path, Settings]]] = {}
        spelled: dict[DatabaseAddress, DatabaseAddress] = {}  # how a database was named first
        faulty: list[tuple[Path, str]] = []
        for inside in dict.fromkeys(one for place in self._places for one in self._list_inside(place)):
            known = self._read_file(inside) if isinstance(inside, Path) and is_campaign_file(inside) else None
            if isinstance(known, str):
                assert isinstance(inside, Path)
                faulty.append((inside, known))
                continue
            where = inside if known is None else known.database
            where = spelled.setdefault(self._resolve(where) if isinstance(where, Path) else where, where)
            files = found.setdefault(where, {})
            if known is not None and isinstance(inside, Path):
                files.setdefault(known.name, {})[inside] = known
        return found, faulty

    def _resolve(self, where: Path) -> Path:
        """Return a path without links; as it was before, if the same file is there."""
        inode = read_inode(where)
        kept = self._resolved.get(where)
        if kept is None or kept[0] != inode or inode is None:
            kept = self._resolved[where] = inode, where.resolve()
        return kept[1]

    def _list_inside(self, place: str) -> Iterator[DatabaseAddress]:
        """Yield the campaign files and databases of a folder, or the one that a place names."""
        where = parse_address(place)
        if not isinstance(where, Path) or not where.is_dir():
            yield where
            return
        yield from select_campaign_files(where.glob("*.toml"))
        for file in sorted(where.glob("*.db")):
            inode = read_inode(file)
            if self._databases.get(file) != inode and recognize(file) == DATABASE:
                self._databases[file] = inode
            if inode is not None and self._databases.get(file) == inode:
                yield file

    def _read_file(self, file: Path) -> Settings | str:
        """Return the settings of a campaign file, or what is wrong with it."""
        mark, found = _mark_file(file), self._files.get(file)
        if found is None or mark != found.mark or mark is None:
            try:
                settings = read(file)
                found = KnownFile(mark, settings, settings.model_dump(mode="json"))
            except SettingsError as error:
                found = KnownFile(mark, str(error), {})
            self._files[file] = found
        return found.known

    def _mark(self, where: DatabaseAddress, names: Named) -> Mark | None:
        """Return the state of a database's files; None: a server has none."""
        last = self._last.get(where)
        return _mark_database(where, names, () if last is None else last.rows)

    def _is_unchanged(self, where: DatabaseAddress, mark: Mark | None) -> bool:
        """Return whether a database's files are those of its last reading."""
        return mark is not None and where in self._last and mark == self._last[where].mark

    def _is_due(self, where: DatabaseAddress, mark: Mark | None, busy: float | None, now: float) -> bool:
        """Return whether a database is to be read again; `busy`: see `_find_rest`."""
        last, unchanged = self._last.get(where), self._is_unchanged(where, mark)
        return last is None or now - last.at >= _find_rest(last, busy, now, unchanged=unchanged)

    def _read(self, where: DatabaseAddress, names: Named, mark: Mark | None, now: float) -> DatabaseReading:
        """Return what a database says now."""
        last, unchanged = self._last.get(where), self._is_unchanged(where, mark)
        clock = time.thread_time if isinstance(where, Path) else self._clock.now
        began = clock()
        looks = StatusReading(now, open_as_it_is, all=True, figures=not unchanged)
        rows, live, figures = read_status(where, names, looks)
        if figures is None:
            figures = {} if last is None else last.figures
        return DatabaseReading(rows, figures, mark, now, clock() - began, {one.id for one in live})


def _find_rest(last: DatabaseReading, busy: float | None, now: float, *, unchanged: bool) -> float:
    """Return for how many seconds the last reading of a database is good enough.

    A process that ran a campaign may have died, which changes no file.

    Args:
        last: the reading.
        busy: seconds that the last readings of all databases with running campaigns took together; None: somebody
            watches this one.
        now: Unix seconds.
        unchanged: whether its files are those of the reading.
    """
    if unchanged:
        return AGAIN if _has_running(last, now) else IDLE_AGAIN
    return WATCHED * last.took if busy is None else REST * max(busy, last.took)


def _has_running(reading: DatabaseReading, now: float) -> bool:
    """Return whether somebody runs a campaign of a database."""
    return any(row.held.is_alive(now) or row.held.state == RUNNING for row in reading.rows)


def is_campaign_file(path: Path) -> bool:
    """Return whether a path is that of a campaign file, by its ending."""
    return path.suffix == ".toml"


def _mark_database(where: DatabaseAddress, names: Named, rows: Sequence[KnownCampaign]) -> Mark | None:
    """Return what changes when somebody writes a database, takes or leaves one of its campaigns, or edits a file."""
    if not isinstance(where, Path):
        return None
    campaigns = {*names, *(row.held.campaign for row in rows)}
    beside = ("", "-wal", *(f"-{name}.lock" for name in sorted(campaigns)))
    marks = [_mark_file(where.with_name(where.name + end)) for end in beside]
    return (*marks, *((name, *map(str, files)) for name, files in sorted(names.items())))


def _mark_file(file: Path) -> Mark | None:
    """Return what changes when a file is written; None where it is not there."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
