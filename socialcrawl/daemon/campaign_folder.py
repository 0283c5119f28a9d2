"""A folder of campaign files, looked at again and again: which are new, changed, gone, or not to be understood."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import Settings, read, select_campaign_files
from socialcrawl.crawls.registry import kind_of
from socialcrawl.errors import SettingsError

Mark = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class FolderChange:
    """A campaign file that is new or has changed: its settings, or what is wrong with it; neither where it is gone."""

    file: Path
    settings: Settings | None = None
    fault: str | None = None


class CampaignFolder:
    """The campaign files (*.toml) of a folder, and the files that they name.

    A file that has changed is read when it is the same at two looks: editors may write in several pieces.

    Args:
        path: the folder, or a single campaign file.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.many = path, path.is_dir()
        self._read: dict[Path, Mark] = {}  # the state in which each was read
        self._seen: dict[Path, Mark] = {}  # the state of the last look
        self._named: dict[Path, list[Path]] = {}  # files of seeds, and policies
        self._looked = False

    def list_files(self) -> list[Path]:
        """Return the campaign files that are there, by name.

        Raises:
            SettingsError: the folder is gone, or cannot be read.
        """
        if not self.many:
            return [self.path] if self.path.exists() else []
        try:
            entries = [*self.path.iterdir()]
        except OSError as error:
            raise SettingsError(
                f"The folder {self.path} cannot be read ({error.strerror}): its campaigns go on as they were."
            ) from error
        return select_campaign_files(one for one in entries if one.name.endswith(".toml"))

    def find_changes(self, *, again: bool = False) -> list[FolderChange]:
        """Return what has changed since the last look; everything, if it is to be read `again`.

        Raises:
            SettingsError: see `files`.
        """
        files = self.list_files()
        at_once, self._looked = again or not self._looked, True
        gone = [file for file in self._read if file not in files]
        for file in gone:
            del self._read[file]
        some = [file for file in files if again or self._is_changed(file, at_once=at_once)]
        return [*(FolderChange(file) for file in gone), *(self._read_file(file) for file in some)]

    def forget(self, file: Path) -> None:
        """Read a file again soon, though it has not changed: what was wrong with it may be so no more."""
        if file in self._read:
            self._read[file] = ()

    def _is_changed(self, file: Path, *, at_once: bool) -> bool:
        mark, before = _fingerprint_files([file, *self._named.get(file, ())]), self._seen.get(file)
        self._seen[file] = mark
        return mark != self._read.get(file) and (at_once or mark == before)

    def _read_file(self, file: Path) -> FolderChange:
        mark = _fingerprint_files([file])  # before it is read: what is written meanwhile is another state
        named: list[Path] = []
        try:
            settings = read(file)
            named = [path for path in (settings.seeds.file, settings.source.policy) if path is not None]
            mark += _fingerprint_files(named)
            make_plan(settings).guard()
            kind_of(settings).check(settings)
        except SettingsError as error:
            return FolderChange(file, fault=str(error))
        finally:
            self._read[file], self._named[file] = mark, named
        return FolderChange(file, settings)


def _fingerprint_files(files: Iterable[Path]) -> Mark:
    """Return what tells two states of files apart: a file that was replaced is another one, whatever its time says."""
    marks = []
    for file in files:
        try:
            stat = file.stat()
            marks.append((str(file), stat.st_mtime_ns, stat.st_size, stat.st_ino))
        except OSError:
            marks.append((str(file), 0, 0, 0))
    return tuple(marks)
