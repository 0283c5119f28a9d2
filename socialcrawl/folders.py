"""Folders that are written whole or not at all."""

import shutil
from pathlib import Path


def put(made: Path, folder: Path) -> None:
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
