"""A folder of campaign files, looked at again and again: which are new, changed, gone, or not to be understood."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from socialcrawl.errors import SettingsError
from socialcrawl.plan import chosen, plan
from socialcrawl.settings import Settings, read

Mark = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A campaign file that is new or has changed: its settings, or what is wrong with it; neither where it is gone."""

    file: Path
    settings: Settings | None = None
    fault: str | None = None


class Folder:
    """The campaign files (*.toml) of a folder, and the files that they name.

    Args:
        path: the folder, or a single campaign file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._marks: dict[Path, Mark] = {}
        self._named: dict[Path, list[Path]] = {}  # files of seeds, and policies

    def files(self) -> list[Path]:
        """The campaign files that are there, by name.

        Raises:
            SettingsError: the folder cannot be read.
        """
        if not self.path.is_dir():
            return [self.path] if self.path.exists() else []
        try:
            return sorted(file for file in self.path.glob("*.toml") if not file.name.startswith("."))
        except OSError as error:
            raise SettingsError(f"The folder {self.path} cannot be read ({error.strerror}).") from error

    def look(self, *, again: bool = False) -> list[Found]:
        """What has changed since the last look; everything, if it is to be read `again`."""
        files = self.files()
        gone = [file for file in self._marks if file not in files]
        for file in gone:
            del self._marks[file]
        return [*(Found(file) for file in gone), *(found for file in files if (found := self._read(file, again=again)))]

    def _read(self, file: Path, *, again: bool) -> Found | None:
        mark = _mark([file, *self._named.get(file, ())])
        if mark == self._marks.get(file) and not again:
            return None
        self._marks[file] = mark
        try:
            settings = read(file)
            self._named[file] = [path for path in (settings.seeds.file, settings.source.policy) if path is not None]
            self._marks[file] = _mark([file, *self._named[file]])
            plan(settings).guard()
            chosen(settings)
        except SettingsError as error:
            return Found(file, fault=str(error))
        return Found(file, settings)


def _mark(files: Iterable[Path]) -> Mark:
    """What tells two states of files apart: a file that was replaced is another one, whatever its time says."""
    marks = []
    for file in files:
        try:
            told = file.stat()
            marks.append((str(file), told.st_mtime_ns, told.st_size, told.st_ino))
        except OSError:
            marks.append((str(file), 0, 0, 0))
    return tuple(marks)
