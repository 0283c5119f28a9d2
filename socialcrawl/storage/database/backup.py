"""A consistent copy of a database, taken while campaigns run: nobody waits for it, and it is whole or not there."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from socialcrawl.errors import StoreError
from socialcrawl.storage.database.address import DatabaseAddress, PostgresAddress
from socialcrawl.storage.database.filetypes import require_database
from socialcrawl.storage.database.trouble import convert_error
from socialcrawl.system.files import replace_file

SIDES = ("-wal", "-shm", "-journal")  # what SQLite may leave beside a database
COPIES = (b"SQLite format 3\0", b"PGDMP")  # how an SQLite database and an archive of pg_dump begin


def back_up(
    where: DatabaseAddress, file: Path, *, force: bool = False, began: Callable[[Path], None] = lambda part: None
) -> None:
    """Copy the database at `where` into `file`: an SQLite database, or an archive for pg_restore.

    The copy is made beside `file` under another name, examined, and then renamed.

    Args:
        where: the database.
        file: the copy.
        force: whether a copy that is there is replaced: an SQLite database, an archive of pg_dump, or an empty file.
        began: told the file that grows until the copy is whole.

    Raises:
        StoreError: there is no database, it is damaged, the file is there already or cannot be written, or pg_dump is
            missing or fails.
    """
    require_database(where)
    _check_free(where, file, force=force)
    with _reserve_file(file) as part:
        began(part)
        if isinstance(where, Path):
            _copy_sqlite(where, part)
        else:
            _dump_postgres(where, part, file)


def _check_free(where: DatabaseAddress, file: Path, *, force: bool) -> None:
    if not file.absolute().parent.is_dir():
        raise StoreError(f"The folder {file.parent} does not exist: make it first.")
    if isinstance(where, Path) and file.exists() and file.samefile(where):
        raise StoreError(f"{file} is the database itself: name another file.")
    if file.exists() and not (force and file.is_file()):
        raise StoreError(
            f"{file} already exists and was not overwritten. Choose another file name, or replace it with --force."
        )
    if file.exists() and not _is_backup(file):
        raise StoreError(
            f"{file} is neither a database nor an archive of pg_dump and was not changed: choose another name."
        )
    wal = file.with_name(f"{file.name}-wal")
    if wal.exists() and wal.stat().st_size:
        # Its changes would be taken for changes of the copy.
        raise StoreError(f"{file} is in use, as {wal} shows: close what uses it, or name another file.")


def _is_backup(file: Path) -> bool:
    """Return whether a file is of those that a backup may replace, by its first bytes."""
    try:
        with file.open("rb") as opened:
            first = opened.read(len(COPIES[0]))
    except OSError as error:
        raise StoreError(f"{file} cannot be read ({error.strerror}): name another file.") from error
    return not first or first.startswith(COPIES)


@contextmanager
def _reserve_file(file: Path) -> Iterator[Path]:
    """Yield a temporary name beside `file`. It becomes `file` if the block succeeds, and is deleted otherwise."""
    part = file
    try:
        with replace_file(file) as part:
            yield part
    except OSError as error:
        raise StoreError(f"{file} cannot be written ({error.strerror or error}): name another file.") from error
    finally:
        for left in (part.with_name(part.name + end) for end in SIDES if part != file):
            with suppress(OSError):
                left.unlink(missing_ok=True)


def _copy_sqlite(database: Path, part: Path) -> None:
    mode = "rw" if os.access(database, os.W_OK) and os.access(database.absolute().parent, os.W_OK) else "ro"
    address = f"file:{quote(str(database.resolve()))}?mode={mode}"
    try:
        with closing(sqlite3.connect(address, uri=True)) as source, closing(sqlite3.connect(part)) as copy:
            # All pages in one step: one reading transaction, which in WAL mode hinders no writer. In smaller steps the
            # copy would begin anew whenever a campaign writes.
            source.backup(copy)
            copy.execute("pragma journal_mode = delete").fetchall()  # one file, whole without another beside it
            found = [row[0] for row in copy.execute("pragma quick_check(3)")]
    except sqlite3.DatabaseError as error:
        raise convert_error(error, database) from error
    if found != ["ok"]:
        raise StoreError(f"{database} is damaged ({found[0]}): no copy was made. Is there an older backup?")


def _dump_postgres(where: PostgresAddress, part: Path, file: Path) -> None:
    command = "pg_dump --format=custom --file=FILE DATABASE"
    program = shutil.which("pg_dump")
    if program is None:
        raise StoreError(f"pg_dump is not installed here; on the server's own machine, run: {command}")
    words = [program, "--format=custom", "--no-password", f"--file={part}"]
    # No shell, and nothing of ours among the words but the file; where to go and the password are in the environment.
    done = subprocess.run(words, env=_make_environment(where), capture_output=True, text=True, check=False)  # noqa: S603 (as said above)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["it says nothing"])[0].removeprefix("pg_dump: ")
        newer = " A pg_dump as new as the server has to be first on the PATH." if "version" in done.stderr else ""
        raise StoreError(f"pg_dump could not copy {where} into {file}: {why.rstrip('.')}.{newer}")


def _make_environment(where: PostgresAddress) -> dict[str, str]:
    """Return the environment of a program that speaks to the server as libpq would: argv can be read by everybody.

    Raises:
        StoreError: the URL cannot be understood. It may hold a password, so that the message does not show it.
    """
    from psycopg import pq  # noqa: PLC0415  (an optional library, which the connection needs too)

    names = {option.keyword.decode(): option.envvar for option in pq.Conninfo.get_defaults()}
    try:
        url = make_url(where.url)
        given: dict[str, Any] = {"host": url.host, "port": url.port, "user": url.username, "password": url.password}
        given |= {"dbname": url.database, **url.query}
    except (ArgumentError, ValueError):
        raise StoreError(f"The address of {where} cannot be understood: write postgresql://USER@HOST/NAME.") from None
    if not given.keys() <= names.keys():
        raise StoreError(
            f"The address of {where} has a parameter that PostgreSQL does not know: see what follows its ?."
        )
    options = {key: ",".join(value) if isinstance(value, tuple) else value for key, value in given.items()}
    known = {bare.decode(): str(options[key]) for key in options if (bare := names[key]) and options[key] is not None}
    return {**os.environ, **known}
