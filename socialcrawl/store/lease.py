"""One process a campaign: a lock beside the database that the operating system lets go even after kill -9."""

import os
import sys
from pathlib import Path

from socialcrawl.errors import StoreError

if sys.platform != "win32":  # there, starting a campaign twice is not noticed
    import fcntl


class Lease:
    """The right to run one campaign of a database, held until `release` or the end of the process.

    Raises:
        StoreError: another process holds it, or the lock cannot be made.
    """

    def __init__(self, database: Path, campaign: str) -> None:
        self.path = database.with_name(f"{database.name}-{campaign}.lock")
        self._file = _locked(self.path, campaign)

    def release(self) -> None:
        """Let go; the lock's file goes too."""
        if self._file is not None:
            self.path.unlink(missing_ok=True)  # while it is still held: nobody has taken it meanwhile
            os.close(self._file)
            self._file = None


def _locked(path: Path, campaign: str) -> int | None:
    while sys.platform != "win32":
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(f"The lock {path} cannot be made ({error.strerror}): check the folder.") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(file)
            raise StoreError(
                f"Another process is running the campaign {campaign!r} of this database: wait for it, or stop it first."
            ) from error
        if path.exists() and path.stat().st_ino == os.fstat(file).st_ino:
            return file
        os.close(file)  # its holder removed it between our two steps
    return None
