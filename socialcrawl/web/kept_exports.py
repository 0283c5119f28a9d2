"""Exports that these pages write and keep for a while, so that whoever asked for one may leave its page.

They are files in a temporary folder, of a bounded number and size; no campaign is changed. They end with the process.
"""

import secrets
import shutil
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from socialcrawl import CampaignStatus, Project, SocialcrawlError
from socialcrawl.web.export_downloads import EXPORT, LARGEST, iterate_zip, write_export
from socialcrawl.web.work_slots import WorkSlots

KEPT_FOR = 86_400.0  # seconds after which an export is deleted
MOST = 10  # exports that are kept, of all campaigns; their sizes are at most LARGEST together, beside the newest
GONE = (
    "This export is no longer here: exports are deleted after a day, if many others follow, and when the pages are "
    "stopped. Make it again."
)


@dataclass(frozen=True, slots=True)
class KeptExport:
    """An export that is being written or kept.

    Attributes:
        id: tells it from others, and cannot be guessed.
        campaign: the key of its campaign.
        name: of its archive, without `.zip`.
        title: what is in it, for people.
        begun: when somebody asked for it (Unix seconds).
        folder: its temporary folder.
        writing: what is being written; None: it is finished or has failed.
        rows: how many rows of that are written.
        size: bytes of the archive, once that is written.
        why: why it failed; "": it did not.
    """

    id: str
    campaign: str
    name: str
    title: str
    begun: float
    folder: Path
    writing: str | None = "files"
    rows: int = 0
    size: int = 0
    why: str = ""

    @property
    def archive(self) -> Path:
        """The archive, which is there once the export is finished."""
        return self.folder / "export.zip"

    @property
    def is_ready(self) -> bool:
        """Whether its archive can be downloaded."""
        return self.writing is None and not self.why


class KeptExports:
    """Writes exports, each in a thread of its own, and keeps them; methods may be called from any thread.

    Args:
        project: the campaigns.
        slots: exports at once.
        now: the clock, Unix seconds.
    """

    def __init__(self, project: Project, slots: WorkSlots, now: Callable[[], float]) -> None:
        self._project, self._slots, self._now = project, slots, now
        self._exports: dict[str, KeptExport] = {}  # the oldest first
        self._stops: dict[str, threading.Event] = {}  # of those that are being written
        self._lock = threading.Lock()

    def start(self, status: CampaignStatus, options: Mapping[str, Any], title: str) -> KeptExport:
        """Begin to write an export of a campaign.

        Args:
            status: the campaign.
            options: arguments of `Dataset.export`.
            title: what is in it, for people.

        Raises:
            HTTPException: other exports are running.
        """
        self._slots.take()
        folder = Path(mkdtemp(prefix="socialcrawl-"))
        name = f"{status.name}-export"
        made = KeptExport(secrets.token_hex(8), status.key, name, title, self._now(), folder)
        with self._lock:
            self._exports[made.id], stop = made, self._stops.setdefault(made.id, threading.Event())
        self._delete_old()
        threading.Thread(target=self._write, args=(made, status, options, stop), name="export", daemon=True).start()
        return made

    def list_exports(self, status: CampaignStatus) -> list[KeptExport]:
        """Return the exports of a campaign that are kept, the newest first."""
        self._delete_old()
        with self._lock:
            return [one for one in reversed(self._exports.values()) if one.campaign == status.key]

    def find(self, status: CampaignStatus, number: str) -> KeptExport | None:
        """Return an export of a campaign; None: it is not kept."""
        return next((one for one in self.list_exports(status) if one.id == number), None)

    def delete(self, status: CampaignStatus, number: str) -> bool:
        """Delete an export of a campaign, or end one that is being written; return False if it was gone."""
        if self.find(status, number) is None:
            return False
        self._delete([number])
        return True

    def close(self) -> None:
        """End those that are being written, and delete all."""
        with self._lock:
            numbers = list(self._exports)
        self._delete(numbers)

    def _delete_old(self) -> None:
        """Delete the exports that are kept for long enough, and the oldest of too many."""
        with self._lock:
            finished = [one for one in self._exports.values() if one.writing is None]
            old = [one.id for one in finished if self._now() - one.begun >= KEPT_FOR]
            size, count = 0, 0
            for one in reversed(self._exports.values()):
                size, count = size + one.size, count + 1
                if one in finished and (count > MOST or (count > 1 and size > LARGEST)):
                    old.append(one.id)
        self._delete(old)

    def _delete(self, numbers: list[str]) -> None:
        for number in numbers:
            with self._lock:
                one, stop = self._exports.pop(number, None), self._stops.get(number)
            if stop is not None:
                stop.set()  # its thread deletes its folder
            elif one is not None:
                shutil.rmtree(one.folder, ignore_errors=True)

    def _write(
        self, made: KeptExport, status: CampaignStatus, options: Mapping[str, Any], stop: threading.Event
    ) -> None:
        """Write an export and its archive; what goes wrong is kept in place of it."""
        size, why = 0, "It failed. The terminal of `socialcrawl ui` says why."
        try:
            write_export(
                self._project, status, made.folder, options, stop,
                tell=lambda what, rows: self._change(made.id, writing=what, rows=rows),
            )  # fmt: skip
            with made.archive.open("wb") as file:
                file.writelines(takewhile(lambda part: not stop.is_set(), iterate_zip(made.folder, made.name)))
            size, why = made.archive.stat().st_size, ""
        except (SocialcrawlError, OSError) as error:
            why = str(error)
        finally:
            shutil.rmtree(made.folder / EXPORT if not why else made.folder, ignore_errors=True)
            self._slots.free()
            self._change(made.id, writing=None, rows=0, size=size, why=why)
            with self._lock:
                del self._stops[made.id]
                gone = made.id not in self._exports
            if gone:  # somebody has deleted it meanwhile
                shutil.rmtree(made.folder, ignore_errors=True)

    def _change(self, number: str, **changed: Any) -> None:
        with self._lock:
            if number in self._exports:
                self._exports[number] = replace(self._exports[number], **changed)
