"""Before a schema is upgraded: announce it, and keep a copy of the older database beside it."""

import shutil
from itertools import count
from pathlib import Path

from socialcrawl.errors import StoreError
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.backup import back_up
from socialcrawl.text.terminal import write_error

ROOM = 2  # times the size of the database: the copy, and what the upgrade itself writes


def announce_upgrade(where: DatabaseAddress, held: str, newest: str) -> None:
    """Write to stderr that a schema is brought up to date; copy a database in a file as it is before.

    The copy is called `NAME.before-VERSION` and replaces no other. Where the disk has no room, or the copy fails, that
    is said and the upgrade goes on. Called while nobody else can write.

    Args:
        where: the database.
        held: the version of its schema.
        newest: the version that it gets.
    """
    write_error(f"{where}: updating the schema from version {held} to {newest}.")
    if not isinstance(where, Path):
        write_error(
            "No backup of a database on a server is made. To have one before an upgrade, run the older version's "
            "`socialcrawl backup DATABASE --out FILE`, or pg_dump."
        )
        return
    try:
        copy = _copy_database(where, newest)
    except (OSError, StoreError) as error:
        write_error(f"No backup was made: {error}")
    else:
        write_error(f"The database as it was is kept in {copy}; delete it when you do not need it any more.")


def _copy_database(database: Path, newest: str) -> Path:
    beside = (database, database.with_name(f"{database.name}-wal"))
    needed = ROOM * sum(path.stat().st_size for path in beside if path.exists())
    free = shutil.disk_usage(database.absolute().parent).free
    if free < needed:
        raise StoreError(
            f"that takes {_format_megabytes(needed)} beside {database}, and {_format_megabytes(free)} are free. "
            "To go back to the older version you need a backup of your own."
        )
    copy = _find_free_name(database, newest)
    back_up(database, copy)
    return copy


def _find_free_name(database: Path, newest: str) -> Path:
    plain = f"{database.name}.before-{newest}"
    names = (plain if number == 1 else f"{plain}-{number}" for number in count(1))
    return next(path for name in names if not (path := database.with_name(name)).exists())


def _format_megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
