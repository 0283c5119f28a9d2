"""Files and folders that are written whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from socialcrawl.system.permissions import get_file_mode


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield a file beside `path` to write to, which replaces it at the end; where that fails, nothing of it is left.

    Raises:
        OSError: it cannot be written, or not be renamed.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, get_file_mode()))
        yield part
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def replace_folder(made: Path, folder: Path) -> None:
    """Rename `made` to `folder`; what was there goes when the new one stands, or comes back.

    Raises:
        OSError: it could not be renamed.
    """
    if not folder.exists():
        made.rename(folder)
        return
    old = made.with_suffix(".old")
    shutil.rmtree(old, ignore_errors=True)
    folder.rename(old)
    try:
        made.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
