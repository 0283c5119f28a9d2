"""`socialcrawl backup`: the copy, how far it has come, and what is said about it."""

import json
from pathlib import Path

from socialcrawl.cli.running_campaigns import give_way
from socialcrawl.render.progress import BYTES, show_progress
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.backup import back_up
from socialcrawl.text.terminal import write_json, write_line
from socialcrawl.text.wording import pluralize


def copy(place: DatabaseAddress, file: Path, *, force: bool, pause: bool, as_json: bool) -> None:
    """Copy a database into a file, and say so.

    Args:
        place: the database.
        file: the copy.
        force: whether an earlier copy is replaced.
        pause: whether campaigns that a daemon runs are paused meanwhile.
        as_json: whether one object is printed instead of a sentence.

    Raises:
        SettingsError, StoreError: see `back_up`.
    """
    parts: list[Path] = []

    def size() -> tuple[int, int | None]:
        total = _get_size(place) if isinstance(place, Path) else None
        copied = _get_size(parts[-1]) if parts else 0
        return (total or 0) if copied is None else copied, total  # it is gone when it has become `file`

    def work() -> None:
        with show_progress("copying", unit=BYTES, size=size):
            back_up(place, file, force=force, began=parts.append)

    give_way("backup", place, None, work, pause=pause)
    if as_json:
        write_json(json.dumps({"database": str(place), "copy": str(file), "bytes": file.stat().st_size}))
        return
    write_line(f"wrote {file}: {pluralize(file.stat().st_size, 'byte')}, a copy of {place}")


def _get_size(file: Path) -> int | None:
    """Return the size of a file; None where it is gone."""
    try:
        return file.stat().st_size
    except OSError:
        return None
