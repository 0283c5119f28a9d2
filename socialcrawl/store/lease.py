"""One process at a time: locks that the operating system lets go even after kill -9; one beside each campaign."""

import os
import sys
from pathlib import Path

from socialcrawl.errors import StoreError

if sys.platform != "win32":  # there, starting a campaign twice is not noticed
    import fcntl


class Lock:
    """A file that one process has locked, until `release` or the end of the process.

    Args:
        path: the file, which is made if it is not there.
        busy: what to say if another process holds it.
        remedy: what to do if it cannot be made.

    Raises:
        StoreError: another process holds it, or it cannot be made.
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


class Lease(Lock):
    """The right to run one campaign of a database, held until `release` or the end of the process.

    Raises:
        StoreError: another process holds it, or the lock cannot be made.
    """

    def __init__(self, database: Path, campaign: str) -> None:
        super().__init__(
            database.with_name(f"{database.name}-{campaign}.lock"),
            f"Another process is running the campaign {campaign!r} of this database: wait for it, or stop it first.",
        )


def _locked(path: Path, busy: str, remedy: str) -> int | None:
    while sys.platform != "win32":
        file = -1
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is(path, file):
                return file
            os.close(file)  # its holder removed it between our two steps
        except OSError as error:
            if file >= 0:
                os.close(file)
            if isinstance(error, BlockingIOError):
                raise StoreError(busy) from error
            raise StoreError(f"The lock {path} cannot be made ({error.strerror}): {remedy}.") from error
    return None


def _is(path: Path, file: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(file).st_ino
    except FileNotFoundError:
        return False
