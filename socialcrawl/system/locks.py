"""Files that one process locks: the lock ends with the process, also with kill -9, on Linux, macOS and Windows."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from socialcrawl.errors import HeldError, StoreError
from socialcrawl.system.files import get_file_mode

WINDOWS = os.name == "nt"  # a file that is open stays there, and nobody else reads its first byte, the one locked


class Lock:
    """A file that one process has locked, until `release` or the end of the process. It holds the process id.

    Args:
        path: the file, which is made if it is not there.
        busy: what to say if another process holds it.
        remedy: what to do if it cannot be made.
        wait: whether to wait until another process, or another thread, releases it.

    Raises:
        HeldError: another process holds it; the message names the process, if that has written its id.
        StoreError: it cannot be made.
    """

    def __init__(self, path: Path, busy: str, remedy: str = "check the folder", *, wait: bool = False) -> None:
        self.path = path
        try:
            self._file: int | None = _take(path, busy, wait=wait)
            while self._file is None:  # its holder removed it between our two steps
                self._file = _take(path, busy, wait=wait)
        except OSError as error:
            raise StoreError(f"The lock {path} cannot be made ({error.strerror}): {remedy}.") from error

    def release(self) -> None:
        """Unlock and delete the file."""
        file, self._file = self._file, None
        if file is None:
            return
        if not WINDOWS:
            self.path.unlink(missing_ok=True)  # while it is still locked: nobody has taken it meanwhile
        _unlock(file)
        if WINDOWS:
            with suppress(OSError):  # somebody else has opened it meanwhile, and keeps it
                self.path.unlink(missing_ok=True)


@contextmanager
def lock_file(path: Path) -> Iterator[FileIO]:
    """Wait until no other process has a file locked; yield it, locked, at its beginning.

    A file that is not there is made, for its owner only.

    Raises:
        OSError: it cannot be opened.
    """
    from filelock import lock_descriptor, unlock_descriptor  # noqa: PLC0415

    with FileIO(path, "r+", opener=lambda name, flags: os.open(name, flags | os.O_CREAT, 0o600)) as file:
        lock_descriptor(file.fileno())
        try:
            yield file
        finally:
            unlock_descriptor(file.fileno())


def find_holder(path: Path) -> int | None:
    """Return the id of the process that has locked a file; None: no process has, or it has not written its id yet."""
    from filelock import lock_descriptor, unlock_descriptor  # noqa: PLC0415

    try:
        file = os.open(path, os.O_RDWR)
    except OSError:  # it is not there, or others may not look at it
        return None
    try:
        pid = _read_holder(file)
        if pid is None or not is_alive(pid):
            return None
        if lock_descriptor(file, blocking=False):  # its holder was killed, and another process has that id now
            unlock_descriptor(file)
            return None
        return pid
    finally:
        os.close(file)


def is_alive(pid: int) -> bool:
    """Return whether a process of this machine still is; True where that cannot be found out."""
    if WINDOWS:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True


def _take(path: Path, busy: str, *, wait: bool) -> int | None:
    """Return the file, open and locked; None if it was removed before it was locked."""
    from filelock import lock_descriptor  # noqa: PLC0415

    file = os.open(path, os.O_RDWR | os.O_CREAT, get_file_mode())
    taken = False
    try:
        if not lock_descriptor(file, blocking=wait):
            raise HeldError(f"{busy}{_describe_holder(file)}")
        if _is_same_file(path, file):
            os.ftruncate(file, 0)
            os.lseek(file, int(WINDOWS), os.SEEK_SET)
            os.write(file, str(os.getpid()).encode())
            taken = True
    finally:
        if not taken:
            os.close(file)
    return file if taken else None


def _unlock(file: int) -> None:
    from filelock import unlock_descriptor  # noqa: PLC0415

    try:
        unlock_descriptor(file)
    finally:
        os.close(file)


def _describe_holder(file: int) -> str:
    """Return a sentence that says which process has locked a file; the empty text where it has not said so yet."""
    pid = _read_holder(file)
    return "" if pid is None else f" It is already running, pid {pid}."


def _read_holder(file: int) -> int | None:
    os.lseek(file, int(WINDOWS), os.SEEK_SET)
    said = os.read(file, 20)
    return int(said) if said.isdigit() else None


def _is_same_file(path: Path, file: int) -> bool:
    if WINDOWS:
        return True
    try:
        return path.stat().st_ino == os.fstat(file).st_ino
    except FileNotFoundError:
        return False
