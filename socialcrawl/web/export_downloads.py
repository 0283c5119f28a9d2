"""Exports as downloads: written into a temporary folder within a bound, sent as a zip archive, and deleted."""

import asyncio
import io
import shutil
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse

from socialcrawl import CampaignStatus, Project, SocialcrawlError, StoreError
from socialcrawl.system.host_names import Receive, Scope, Send
from socialcrawl.web.page_answers import name_download
from socialcrawl.web.work_slots import WorkSlots

LARGEST = 4_000_000_000  # bytes of an export
RESERVE = 500_000_000  # bytes that stay free on the disk
PART = 1 << 16
LOOK = 0.5  # seconds between two looks whether the client is still there
EXPORT = "export"  # the folder in the temporary one
PACKED = (".parquet", ".gz")  # files that no compression makes smaller


class ZipDownload(StreamingResponse):
    """A folder as a zip archive, made while it is sent; the folder goes and its slot is given back at the end.

    Args:
        folder: a temporary folder, with the export in it.
        name: of the archive, and of the folder in it.
        slots: where it holds a slot.
    """

    def __init__(self, folder: Path, name: str, slots: WorkSlots) -> None:
        super().__init__(iterate_zip(folder, name), media_type="application/zip", headers=name_download(f"{name}.zip"))
        self._folder, self._slots = folder, slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:  # also if the client has gone
            self._slots.free()
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


async def export_campaign(
    request: Request,
    project: Project,
    status: CampaignStatus,
    options: Mapping[str, Any],
    slots: WorkSlots,
    *,
    tell: Callable[[str, int], None] = lambda what, rows: None,
) -> ZipDownload:
    """Return an export of a campaign.

    Args:
        request: what it answers: if its client goes, the export ends.
        project: the campaigns.
        status: the campaign.
        options: arguments of `Dataset.export`.
        slots: exports at once.
        tell: called with what is being written, and how many of its rows were.

    Raises:
        HTTPException: other exports are running.
        SocialcrawlError: what is wanted cannot be had, or is too large.
    """
    slots.take()
    folder, stop = Path(mkdtemp(prefix="socialcrawl-")), threading.Event()
    name = f"{status.name}-export"
    writing = asyncio.create_task(asyncio.to_thread(write_export, project, status, folder, options, stop, tell=tell))
    try:
        while not (await asyncio.wait({writing}, timeout=LOOK))[0]:
            if await request.is_disconnected():
                stop.set()
        writing.result()
        return ZipDownload(folder, name, slots)
    except BaseException:
        stop.set()
        await asyncio.wait({writing})
        slots.free()
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        raise


def write_export(
    project: Project,
    status: CampaignStatus,
    folder: Path,
    options: Mapping[str, Any],
    stop: threading.Event,
    *,
    tell: Callable[[str, int], None],
) -> None:
    """Write an export of a campaign into a folder in a temporary one.

    Args:
        project: the campaigns.
        status: the campaign.
        folder: the temporary folder.
        options: arguments of `Dataset.export`.
        stop: set to end it.
        tell: called with what is being written, and how many of its rows were.

    Raises:
        SocialcrawlError: what is wanted cannot be had, is too large, or was ended.
    """

    def watch(what: str, rows: int) -> None:
        if stop.is_set():
            raise SocialcrawlError("The export was cancelled.")
        tell(what, rows)
        check_room(folder)

    with project.open(status.key) as data:
        data.export(folder / EXPORT, campaign=status.name, watch=watch, **options)
    watch("zip archive", 0)


def check_room(folder: Path, largest: int = LARGEST) -> None:
    """Check that an export that is being written takes no more room than it may.

    Raises:
        StoreError: it does.
    """
    size = sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())
    if size > largest:
        raise StoreError(
            f"The export is larger than {largest / 1e9:g} GB, which is too large for a download: use `socialcrawl "
            "export`, or fewer formats."
        )
    if shutil.disk_usage(folder).free < RESERVE:
        raise StoreError(f"The disk of {folder.parent} is nearly full: make room there, or set TMPDIR to another disk.")


def iterate_zip(folder: Path, name: str) -> Iterator[bytes]:
    """Yield the bytes of a zip archive with the export in a temporary folder, as a folder `name`."""
    sink = _ByteSink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((folder / EXPORT).iterdir()):
            entry = zipfile.ZipInfo.from_file(path, f"{name}/{path.name}")
            entry.compress_type = zipfile.ZIP_STORED if path.suffix in PACKED else zipfile.ZIP_DEFLATED
            with path.open("rb") as file, archive.open(entry, "w") as into:
                while part := file.read(PART):
                    into.write(part)
                    yield sink.take()
    yield sink.take()


class _ByteSink(io.RawIOBase):
    """A file that cannot go back: what is written is taken out again."""

    def __init__(self) -> None:
        super().__init__()
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        self._held += part
        return len(part)

    def take(self) -> bytes:
        """Return what was written since the last call."""
        taken, self._held = bytes(self._held), bytearray()
        return taken
