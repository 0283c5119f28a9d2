"""The folder of an export: made beside its place and moved there when it is whole."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.exporters.datasheet import FORMAT
from socialcrawl.exporters.partition_files import check_files, read_state
from socialcrawl.formats.documents import read_text
from socialcrawl.system.files import get_folder_mode, replace_folder

SHEETS = ("datasheet.json", "datasheet.md")


@contextmanager
def open_new_folder(folder: Path, *, force: bool = False) -> Iterator[Path]:
    """Open a new folder that replaces `folder` at the end; if the block fails, it is deleted.

    Args:
        folder: where the export is to be; it may be there if it is empty.
        force: whether an export that is there already may be replaced. Anything else never is.

    Raises:
        SettingsError: there is something in the folder, or no folder to put it in.
        StoreError: the disk is full or may not be written.
    """
    folder = folder.resolve()
    check_folder(folder, force=force)
    try:
        made = Path(mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
        made.chmod(get_folder_mode())  # of a temporary one it is 0700
        try:
            yield made
            replace_folder(made, folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise StoreError(
            f"The export {folder} could not be written ({error.strerror or error}): make room, or choose another "
            "folder. What was there before is still there."
        ) from error


def check_folder(folder: Path, *, force: bool) -> None:
    """Check that an export may be put into this folder; see `open_new_folder`.

    Raises:
        SettingsError: it may not.
    """
    if not folder.parent.is_dir():
        raise SettingsError(f"{folder}: the folder {folder.parent} does not exist; create it first.")
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file: name a folder for the export.")
    there = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if not there:
        return
    ours = list_files(folder)
    if read_state(folder) is not None:
        check_files(folder)
        ours = there
    if ours is None:
        raise SettingsError(f"{folder} is not empty and no export: name another folder. Nothing was changed.")
    if others := sorted(there - ours):
        raise SettingsError(
            f"{folder} also holds {others[0]}, which is not of the export: move it away. Nothing changed."
        )
    if not force:
        raise SettingsError(f"There is an export in {folder}: replace it with --force, or name another folder.")


def list_files(folder: Path) -> set[str] | None:
    """Return the names of the files of an export; None where there is none."""
    try:
        sheet = json.loads(read_text(folder / SHEETS[0]))
        if sheet["format"] != FORMAT:
            return None
        # Older exports have no data dictionary: a file of that name beside one is somebody else's.
        return {*SHEETS, sheet.get("dictionary", SHEETS[0]), *(file["name"] for file in sheet["files"])}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
