"""`socialcrawl backup`: the copy, how far it has come, and what is said about it."""

from pathlib import Path

from socialcrawl.cli.running_campaigns import give_way
from socialcrawl.render.progress import BYTES, show_progress
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.backup import back_up
from socialcrawl.text.terminal import write_line
from socialcrawl.text.wording import pluralize


def copy(place: DatabaseAddress, file: Path, *, force: bool, pause: bool) -> None:
    """Copy a database into a file; `pause`: while campaigns that a daemon runs are paused."""
    parts: list[Path] = []

    def size() -> tuple[int, int | None]:
        total = _get_size(place) if isinstance(place, Path) else None
        copied = _get_size(parts[-1]) if parts else 0
        return (total or 0) if copied is None else copied, total  # it is gone when it has become `file`

    def work() -> None:
        with show_progress("copying", unit=BYTES, size=size):
            back_up(place, file, force=force, began=parts.append)

    give_way("backup", place, None, work, pause=pause)
    write_line(f"wrote {file}: {pluralize(file.stat().st_size, 'byte')}, a copy of {place}")


def _get_size(file: Path) -> int | None:
    """Return the size of a file; None where it is gone."""
    try:
        return file.stat().st_size
    except OSError:
        return None
