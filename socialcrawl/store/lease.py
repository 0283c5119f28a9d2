"""One process at a time: locks that are let go even after kill -9; one for each campaign of a database.

Beside an SQLite file they are the operating system's. On a PostgreSQL server they are advisory locks of the connection
that writes: as long as it can write, it holds them.
"""

import os
import sys
import zlib
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from socialcrawl.errors import HeldError, StoreError
from socialcrawl.permissions import file_mode
from socialcrawl.store.address import of
from socialcrawl.store.database import OURS, unlocked

if sys.platform != "win32":  # there, starting a campaign twice is not noticed
    import fcntl


class Lock:
    """A file that one process has locked, until `release` or the end of the process.

    Args:
        path: the file, which is made if it is not there.
        busy: what to say if another process holds it.
        remedy: what to do if it cannot be made.

    Raises:
        HeldError: another process holds it.
        StoreError: it cannot be made.
    """

    def __init__(self, path: Path, busy: str, remedy: str = "check the folder") -> None:
        self.path = path
        self._file = _locked(path, busy, remedy)

    def release(self) -> None:
        """Let go; the file goes too."""
        if self._file is not None:
            self.path.unlink(missing_ok=True)  # while it is still held: nobody has taken it meanwhile
            os.close(self._file)
            self._file = None


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


def _lock(database: Connection | Path, campaign: str, busy: str) -> "Lock | _Advisory":
    where = database if isinstance(database, Path) else of(database)
    if isinstance(where, Path):
        return Lock(where.with_name(f"{where.name}-{campaign}.lock"), busy)
    assert isinstance(database, Connection)
    return _Advisory(database, zlib.crc32(campaign.encode()), busy)


PATIENCE = "5s"  # the server needs a moment to notice that a process was killed


class _Advisory:
    """A lock of a PostgreSQL server, held by a connection until `release` or its end."""

    def __init__(self, connection: Connection, key: int, busy: str) -> None:
        self.connection, self.key = connection, key
        try:
            # No writer waits meanwhile: the one that runs the campaign may be the next to write.
            with unlocked(connection):
                connection.execute(text(f"set local lock_timeout = '{PATIENCE}'"))
                connection.execute(text("select pg_advisory_lock(:key)"), {"key": self._whole()})
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) == "55P03":
                raise HeldError(busy) from error
            raise

    def release(self) -> None:
        """Let go; a connection that is gone has done so."""
        if self.connection.closed:
            return
        with suppress(DBAPIError), unlocked(self.connection):
            self.connection.execute(text("select pg_advisory_unlock(:key)"), {"key": self._whole()})

    def _whole(self) -> int:
        """Our number and the campaign's in the 64 bits of a lock; a writer's lock has two numbers, another space."""
        return OURS << 32 | self.key


def _locked(path: Path, busy: str, remedy: str) -> int | None:
    while sys.platform != "win32":
        file = -1
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, file_mode())
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is(path, file):
                os.ftruncate(file, 0)
                os.pwrite(file, str(os.getpid()).encode(), 0)
                return file
            os.close(file)  # its holder removed it between our two steps
        except OSError as error:
            holder = _holder(file) if isinstance(error, BlockingIOError) else ""
            if file >= 0:
                os.close(file)
            if isinstance(error, BlockingIOError):
                raise HeldError(f"{busy}{holder}") from error
            raise StoreError(f"The lock {path} cannot be made ({error.strerror}): {remedy}.") from error
    return None


def _holder(file: int) -> str:
    """Return a sentence that says which process has locked a file; the empty text where it has not said so yet."""
    said = os.pread(file, 20, 0)
    return f" It is already running, pid {said.decode()}." if said.isdigit() else ""


def _is(path: Path, file: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(file).st_ino
    except FileNotFoundError:
        return False
