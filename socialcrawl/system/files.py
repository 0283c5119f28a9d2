"""Files: written whole or not at all, readable by their owner alone, and those that come with the package.

A database holds what people wrote and how a study proceeds; other users of a machine have no business with it. Files
get mode 0600 and folders 0700. A group that works together sets SOCIALCRAWL_UMASK, in octal as for the shell's
`umask`: with 027 the group may read, with 007 it may write too, which commands on a database need even to read it.
Files that exist keep their mode. The state folder, its key and the sessions of accounts are for their owner alone in
any case.

On Windows modes have no effect: there, the folder decides who may read.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from socialcrawl.errors import SettingsError

VARIABLE = "SOCIALCRAWL_UMASK"
PRIVATE = 0o077
OWNER = 0o700


def read_umask() -> int:
    """Return the permissions that new files do not get: those that SOCIALCRAWL_UMASK names, or else 077.

    Raises:
        SettingsError: the variable holds no umask, or one that keeps us from our own files.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return PRIVATE
    if not re.fullmatch(r"(0o)?0?[0-7]{1,3}", text) or int(text, 8) & OWNER:
        raise SettingsError(
            f"The environment variable {VARIABLE} is {text!r}, which is not a umask: write up to three octal digits, "
            "the first of three 0, such as 027 (the group may read) or 077 (nobody else may: the default), or unset it."
        )
    return int(text, 8)


def get_file_mode() -> int:
    """Return the mode for a new file, as `os.open` takes it; raise SettingsError as `read_umask`."""
    return 0o666 & ~read_umask()


def get_folder_mode() -> int:
    """Return the mode for a new folder, as `os.mkdir` takes it; raise SettingsError as `read_umask`."""
    return 0o777 & ~read_umask()


def restrict_new_files() -> None:
    """Set the umask of this process, for all that it creates from now on; raise SettingsError as `read_umask`."""
    os.umask(read_umask())


def find_folder(name: str) -> Path:
    """Return the folder `name` that came with the package: inside it when installed, beside it in a checkout."""
    here = Path(__file__).parents[1]
    return here / name if (here / name).is_dir() else here.parent / name


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
