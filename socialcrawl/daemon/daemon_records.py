"""The daemon's own rows in each database of its campaigns: that it lives, what it runs, and what others ask of it.

Each database has a connection of its own beside those of the campaigns. One that cannot be used is said once, and tried
again at the next look; the campaigns wait for it on their own. It is back when what failed works again: a disk that is
full lets us read, and write now and then, so that one that could not be written has to work for a while.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from socialcrawl.campaign.plan import Plan
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.storage import daemons
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.counting_rule import CountingRule
from socialcrawl.storage.daemons import CampaignHeartbeat, CampaignLease, LiveDaemon, Pauser
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import HURRY, Opened, close_connection, connect, read_inode
from socialcrawl.storage.database.disk_space import UNKNOWN, DatabaseSpace, Look, measure_database
from socialcrawl.storage.versions import read_latest_settings

T = TypeVar("T")
DatabaseOrders = tuple[bool, Mapping[str, CampaignLease]]
"""What a database has to say: whether the daemon is to stop, and its campaigns by name."""
SOUND = 60.0  # seconds for which a database has to be written without trouble until it is back
MOMENT = 0.4  # seconds that a daemon which leaves waits for a look under way


@dataclass(slots=True)
class _OpenDatabase:
    lock: threading.Lock = field(default_factory=threading.Lock)  # a connection is used by one thread at a time
    connection: Opened | None = None
    inode: tuple[int, int] | None = None  # of the file when it was opened
    enrolled: bool = False
    trouble: str | None = None
    writing: bool = False  # whether the trouble came of writing
    since: float | None = None  # when it could be written again, for the first time since
    held: Mapping[str, CampaignLease] = field(default_factory=dict)
    living: Sequence[LiveDaemon] = ()
    ahead: float = 0.0  # seconds by which the clock of a server is ahead of the daemon's, as of the last look


class DaemonRecords:
    """The rows of one daemon in all databases.

    Args:
        name: daemon.id.
        host, pid: the machine and process that it is.
        complain: told, once each time, what is wrong with a database, and when it is well again ("").
    """

    def __init__(self, name: str, host: str, pid: int, complain: Callable[[DatabaseAddress, str], None]) -> None:
        self.name, self.host, self.pid, self.complain = name, host, pid, complain
        self._books: dict[DatabaseAddress, _OpenDatabase] = {}

    def begin(self, plan: Plan, now: float) -> None:
        """Have a campaign known to its database, so that it can be looked at and paused before it asks anything."""
        settings = plan.settings

        def begun(connection: Opened) -> None:
            if settings.name not in {one.campaign for one in daemons.read_leases(connection)}:
                values, identity = settings.model_dump(mode="json"), settings.identity(plan.usernames)
                with suppress(SettingsError):  # the campaign says so by itself
                    counting, fixed = CountingRule.from_topic(plan.topic), plan.fixed
                    ensure_campaign(
                        connection, values, identity, now, queries=plan.queries, counting=counting, fixed=fixed
                    )

        self._do(settings.database, now, begun, writes=True)

    def read_orders(self, where: DatabaseAddress, now: float) -> DatabaseOrders | None:
        """Return what a database says; None while it cannot be reached."""

        def hear(connection: Opened) -> DatabaseOrders:
            book = self._books[where]
            if not isinstance(where, Path):
                book.ahead = daemons.read_clock(connection, now) - now
                book.living = daemons.find_live_daemons(connection, now + book.ahead)
            book.held = {one.campaign: one for one in daemons.read_leases(connection)}
            return daemons.is_stop_requested(connection, self.name), book.held

        return self._do(where, now, hear)

    def write_states(self, where: DatabaseAddress, standings: Iterable[CampaignHeartbeat], now: float) -> None:
        """Write how the campaigns of a database stand."""

        def write(connection: Opened) -> None:
            daemons.write_heartbeat(connection, self.name, standings, self.read_clock(where, now))

        self._do(where, now, write, writes=True)

    def write_share(self, where: DatabaseAddress, weight: float, campaigns: Iterable[str], now: float) -> bool:
        """Write which campaigns of a server the daemon can run, and its weight; return whether that was written."""

        def write(connection: Opened) -> bool:
            daemons.write_share(connection, self.name, weight, campaigns)
            return True

        return bool(self._do(where, now, write, writes=True))

    def list_living(self, where: DatabaseAddress) -> Sequence[LiveDaemon]:
        """Return the daemons of a server as of the last look, none of a file."""
        book = self._books.get(where)
        return book.living if book else ()

    def list_held(self, where: DatabaseAddress) -> Mapping[str, CampaignLease]:
        """Return how the campaigns of a database stand, by name, as of the last look."""
        book = self._books.get(where)
        return book.held if book else {}

    def read_clock(self, where: DatabaseAddress, now: float) -> float:
        """Return the time on the clock of a server; of a file, `now`."""
        book = self._books.get(where)
        return now + book.ahead if book else now

    def end_silent_sessions(self, where: DatabaseAddress, one: CampaignLease, now: float) -> bool | None:
        """End the connections to a server of a daemon that has a campaign and gives no sign of life.

        Returns:
            True: they are ended. False: they are at work. None: there are none, or it does give signs of life.
        """
        host, pid = one.host, one.pid
        if one.released is not None or host is None or pid is None or one.is_alive(self.read_clock(where, now)):
            return None
        return self._do(where, now, lambda connection: daemons.end_silent_sessions(connection, host, pid))

    def resume(self, where: DatabaseAddress, name: str, by: Pauser, now: float) -> None:
        """Resume a campaign that a command has paused and left so."""
        self._do(where, now, lambda connection: daemons.resume_campaigns(connection, [name], by), writes=True)

    def read_settings(self, where: DatabaseAddress, name: str, now: float) -> dict[str, Any] | None:
        """Return the settings with which a campaign was run last; None: it was not, or nobody can say."""
        return self._do(where, now, lambda connection: read_latest_settings(connection, name))

    def measure_space(self, where: DatabaseAddress, now: float, look: Look) -> DatabaseSpace:
        """Return the room of a database."""
        return self._do(where, now, lambda connection: measure_database(connection, look)) or UNKNOWN

    def list_databases(self) -> list[DatabaseAddress]:
        """Return the databases that it knows."""
        return list(self._books)

    def get_trouble(self, where: DatabaseAddress) -> str | None:
        """Return why a server cannot be used, as of the last look; None: it can, or the database is a file."""
        book = self._books.get(where)
        return book.trouble if book and book.since is None and not isinstance(where, Path) else None

    def find_other(
        self, where: DatabaseAddress, campaign: str, now: float, alive: Callable[[int], bool]
    ) -> CampaignLease | None:
        """Return the other daemon that has a campaign, as of the last look; None: nobody.

        Args:
            where: the database.
            campaign: its name.
            now: Unix seconds.
            alive: whether a process of this machine still is.
        """
        book = self._books.get(where)
        one = book.held.get(campaign) if book else None
        if one is None or one.daemon == self.name or not one.is_alive(self.read_clock(where, now)):
            return None
        gone = one.host == self.host and one.pid is not None and not alive(one.pid)
        return None if gone else one

    def leave(self, where: DatabaseAddress, heartbeats: Iterable[CampaignHeartbeat], now: float) -> None:
        """Write that the daemon is gone, and how the campaigns of a database stand, if that can be done at once."""
        book = self._books.get(where)
        if book is None or book.connection is None or not book.lock.acquire(timeout=MOMENT):
            return
        with suppress(StoreError):
            at = now + book.ahead
            daemons.write_heartbeat(book.connection, self.name, heartbeats, at)
            daemons.sign_off(book.connection, self.name, at)
        close_connection(book.connection)
        book.connection = None
        book.lock.release()

    def _do(self, where: DatabaseAddress, now: float, deed: Callable[[Opened], T], *, writes: bool = False) -> T | None:
        """Return what comes of a deed with the connection to a database; None where that is lost."""
        book = self._books.setdefault(where, _OpenDatabase())
        try:
            with book.lock:
                answer = deed(self._open_connection(where, book, now, writes=writes))
        except StoreError as error:
            self._lose(where, book, error, writes=writes)
            return None
        self._note_success(where, book, now, writes=writes)
        return answer

    def _open_connection(self, where: DatabaseAddress, book: _OpenDatabase, now: float, *, writes: bool) -> Opened:
        if book.connection is not None and read_inode(where) != book.inode:
            self._close(book)
        if book.connection is None:
            if isinstance(where, Path) and book.inode is not None and read_inode(where) is None:
                raise StoreError(f"The database {where} is gone: put it back; no other is begun in its place.")
            book.connection = connect(where, busy=HURRY)
            book.inode = read_inode(where)
            book.ahead = daemons.read_clock(book.connection, now) - now
        if writes and not book.enrolled:  # who only reads waits for no writer, which may hang
            daemons.enroll_daemon(book.connection, self.name, self.host, self.pid, now + book.ahead)
            book.enrolled = True
        return book.connection

    def _close(self, book: _OpenDatabase) -> None:
        if book.connection is not None:
            close_connection(book.connection)
            book.connection, book.enrolled = None, False

    def _lose(self, where: DatabaseAddress, book: _OpenDatabase, error: StoreError, *, writes: bool) -> None:
        with book.lock:
            self._close(book)
        if book.trouble is None:
            book.writing = writes
            self.complain(where, str(error))
        book.trouble, book.since = str(error), None

    def _note_success(self, where: DatabaseAddress, book: _OpenDatabase, now: float, *, writes: bool) -> None:
        if book.trouble is None or (book.writing and not writes):
            return
        book.since = now if book.since is None else book.since
        if not book.writing or now - book.since >= SOUND:
            book.trouble = book.since = None
            self.complain(where, "")
