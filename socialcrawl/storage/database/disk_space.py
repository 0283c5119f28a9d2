"""Room for a database: how large it is, how much the disk has left, and a crawl that stops before that is full."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, text

from socialcrawl.engine.model import Outcome, Stop, StopKind, Wait
from socialcrawl.engine.protocols import Batch, Crawl, History
from socialcrawl.storage.database.address import DatabaseAddress, find_address
from socialcrawl.storage.database.connection import read_unlocked
from socialcrawl.storage.database.trouble import SAFE, convert_errors

USUAL = 200_000_000  # bytes that stay free where nobody says how many ...
PART = 50  # ... or this part of the disk (2 %), where that is less
AGAIN = 60.0  # seconds until the disk is looked at again
MARGIN = 1.1  # times what has to be free, before a campaign that stopped for it goes on


class DiskSpace(NamedTuple):
    """The disk that a file is on: bytes that are free for us, and bytes in all."""

    free: int
    total: int


Look = Callable[[Path], DiskSpace | None]
"""What looks at the disk of a database file; None: nobody can tell."""


class DatabaseSpace(NamedTuple):
    """Bytes that a database takes, and that are free for it; None: nobody can tell."""

    size: int | None
    free: int | None


UNKNOWN = DatabaseSpace(None, None)


def measure_disk(file: Path) -> DiskSpace | None:
    """Return the disk on which a file is, or would be made."""
    try:
        found = shutil.disk_usage(file.absolute().parent)
    except OSError:
        return None
    return DiskSpace(found.free, found.total)


def measure_database(connection: Connection, look: Look) -> DatabaseSpace:
    """Return the room of a database. Of a server only the size is known: its disk is its own.

    Raises:
        StoreError: the server does not say.
    """
    where = find_address(connection)
    if isinstance(where, Path):
        disk = look(where)
        files = (where, where.with_name(f"{where.name}-wal"))
        return DatabaseSpace(
            sum(file.stat().st_size for file in files if file.exists()), None if disk is None else disk.free
        )
    with convert_errors(connection), read_unlocked(connection):
        return DatabaseSpace(
            int(connection.execute(text("select pg_database_size(current_database())")).scalar_one()), None
        )


@dataclass(frozen=True, slots=True)
class DiskReserve:
    """What has to stay free on the disk of a database.

    Attributes:
        where: the database; a server has a disk of its own, at which nobody looks from here.
        least: bytes; None: USUAL, or one PART-th of the disk where that is less.
        look: what looks at the disk.
    """

    where: DatabaseAddress
    least: int | None
    look: Look = measure_disk

    def describe_shortage(self, margin: float = 1.0) -> str | None:
        """Return a sentence if fewer bytes than `margin` times the reserve are free; None: there is room."""
        disk = self.look(self.where) if isinstance(self.where, Path) else None
        if disk is None:
            return None
        least = min(USUAL, disk.total // PART) if self.least is None else self.least
        if disk.free >= margin * least:
            return None
        return (
            f"less than {_format_size(least)} are free on the disk of {self.where} (min_free_disk under [limits]): "
            f"make room, or lower it; {SAFE}"
        )


def _format_size(size: float) -> str:
    return f"{size / 1e9:,.10g} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


class DiskSpaceGuard:
    """The crawl `inner`, which stops where its database has not enough room; the same contract."""

    def __init__(self, inner: Crawl, reserve: DiskReserve) -> None:
        self.inner, self.reserve = inner, reserve

    def choose(self, size: int, now: float) -> Batch | Wait | Stop:
        """Return the next picks of the inner crawl, if there is room for what they bring."""
        choice = self.inner.choose(size, now)
        if isinstance(choice, Wait | Stop) or (why := self.reserve.describe_shortage()) is None:
            return choice
        return Stop(StopKind.ROOM, why, now + AGAIN)

    def absorb(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Let the inner crawl learn."""
        self.inner.absorb(batch, outcomes)

    def fold(self, history: History) -> None:
        """Let the inner crawl fold."""
        self.inner.fold(history)
