"""One process at a time: locks that are let go even after kill -9; one for each campaign of a database.

Beside an SQLite file they are the operating system's. On a PostgreSQL server they are advisory locks of the connection
that writes: as long as it can write, it holds them.
"""

import re
import socket
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from socialcrawl.errors import HeldError
from socialcrawl.storage.database.address import find_address
from socialcrawl.storage.database.connection import OURS, read_unlocked
from socialcrawl.storage.database.trouble import convert_error, convert_errors
from socialcrawl.system import locks

PROCESS = re.compile(r"socialcrawl ([0-9]+) on (.+)")  # as `connection.make_server_engine` names its connections
HOLDER = """
select application_name from pg_locks join pg_stat_activity using (pid) where locktype = 'advisory' and granted
and database = (select oid from pg_database where datname = current_database())
and classid::bigint = :space and objid::bigint = :key and objsubid = 1
"""


class Lease:
    """The right to run one campaign of a database, held until `release` or the end of the process or connection.

    Args:
        database: the connection that will write, or the SQLite file, which need not be there yet.
        campaign: its name.

    Raises:
        HeldError: another process holds it.
        StoreError: the lock cannot be made.
    """

    def __init__(self, database: Connection | Path, campaign: str) -> None:
        busy = (
            f"Another process is running the campaign {campaign!r} of this database: wait for it, or stop it first (a "
            "daemon lets go of it with `socialcrawl pause`)."
        )
        self._lock = _lock(database, campaign, busy)

    def release(self) -> None:
        """Let go."""
        self._lock.release()


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that has the right to run a campaign: its id, and the machine that it runs on."""

    pid: int
    host: str


def find_holder(connection: Connection, campaign: str) -> Holder | None:
    """Return the process that has the right to run a campaign of a database; None: no process has."""
    where = find_address(connection)
    if isinstance(where, Path):
        pid = locks.find_holder(_find_lock_path(where, campaign))
        return None if pid is None else Holder(pid, socket.gethostname())
    given = {"space": OURS, "key": zlib.crc32(campaign.encode())}
    with convert_errors(connection), read_unlocked(connection):
        named = connection.execute(text(HOLDER), given).scalar()
    said = PROCESS.fullmatch(named or "")
    return Holder(int(said[1]), said[2]) if said else None


def _find_lock_path(where: Path, campaign: str) -> Path:
    return where.with_name(f"{where.name}-{campaign}.lock")


def _lock(database: Connection | Path, campaign: str, busy: str) -> "locks.Lock | _Advisory":
    where = database if isinstance(database, Path) else find_address(database)
    if isinstance(where, Path):
        return locks.Lock(_find_lock_path(where, campaign), busy)
    assert isinstance(database, Connection)
    return _Advisory(database, zlib.crc32(campaign.encode()), busy)


PATIENCE = "5s"  # the server needs a moment to notice that a process was killed


class _Advisory:
    """A lock of a PostgreSQL server, held by a connection until `release` or its end."""

    def __init__(self, connection: Connection, key: int, busy: str) -> None:
        self.connection, self.key = connection, key
        try:
            # No writer waits meanwhile: the one that runs the campaign may be the next to write.
            with read_unlocked(connection):
                connection.execute(text(f"set local lock_timeout = '{PATIENCE}'"))
                connection.execute(text("select pg_advisory_lock(:key)"), {"key": self._make_key()})
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) == "55P03":
                raise HeldError(busy) from error
            raise convert_error(error, find_address(connection)) from error

    def release(self) -> None:
        """Let go; a connection that is gone has done so."""
        if self.connection.closed:
            return
        with suppress(DBAPIError), read_unlocked(self.connection):
            self.connection.execute(text("select pg_advisory_unlock(:key)"), {"key": self._make_key()})

    def _make_key(self) -> int:
        """Return the process's number and the campaign's in the 64 bits of a lock; a writer's lock has two numbers."""
        return OURS << 32 | self.key
