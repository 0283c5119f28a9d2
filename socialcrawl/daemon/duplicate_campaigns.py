"""Several files of one campaign, such as a copy that was edited and not renamed: which of them it is run by."""

import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from socialcrawl.campaign.settings import Settings, describe_namesake
from socialcrawl.daemon.campaign_folder import FolderChange
from socialcrawl.daemon.campaign_runner import CampaignRunner
from socialcrawl.storage.daemons import CampaignLease
from socialcrawl.storage.versions import compare_file

Stored = Mapping[str, Any] | None
"""The settings with which a campaign was run last; None: it was not."""


def choose_file(files: Mapping[Path, Settings], known: str | None, stored: Stored) -> Path:
    """Return the file by which a campaign is run; the others are left out.

    It is the one by which a daemon runs or ran it; else one that says what the campaign was run with last; else the
    first.

    Args:
        files: all files of the campaign, with what they say.
        known: the file of its daemon, resolved; None: no daemon ran it.
        stored: the settings with which it was run last.
    """
    for file in files:
        if known is not None and str(file.resolve()) == known:
            return file
    for file, settings in files.items():
        if stored is not None and not compare_file(stored, settings.model_dump(mode="json")):
            return file
    return next(iter(files))


def describe_left_out(file: Path, first: Path, settings: Settings) -> str:
    """Return why a file is left out: `first` is that of the campaign."""
    return f"{file} is left out: {describe_namesake(first, settings)}"


class DuplicateCampaigns:
    """The files that a daemon leaves out, as another is that of their campaign.

    The first of them that is found is taken for that one, until the database of the campaign says which one is.
    """

    def __init__(self) -> None:
        self._left_out: dict[Path, Settings] = {}
        self._right: set[Path] = set()  # that are those of their campaigns, though others were found first
        self._lock = threading.Lock()

    def order(self, changes: Iterable[FolderChange]) -> list[FolderChange]:
        """Return what has changed in a folder, the files first that are known to be those of their campaigns."""
        with self._lock:
            found = sorted(changes, key=lambda one: one.file not in self._right)
            for one in found:
                self._left_out.pop(one.file, None)
        return found

    def leave_out(self, file: Path, settings: Settings, first: Path) -> str:
        """Leave out a file; return why: `first` is that of its campaign."""
        with self._lock:
            self._left_out[file] = settings
        return describe_left_out(file, first, settings)

    def find_right(self, runner: CampaignRunner, held: CampaignLease | None, stored: Callable[[], Stored]) -> Path:
        """Return the file of a campaign that is opened, which may be another than the one that was found first.

        Args:
            runner: the campaign.
            held: how it stands, as its database knows; None: it is not there.
            stored: finds the settings with which it was run last.
        """
        mine = runner.name, runner.settings.database
        with self._lock:
            others = {file: its for file, its in self._left_out.items() if (its.name, its.database) == mine}
        if not others:
            return runner.file
        files = dict(sorted({runner.file: runner.settings, **others}.items()))
        right = choose_file(files, None if held is None else held.file, stored())
        with self._lock:
            self._right.add(right)
        return right
