"""Campaign files that are changed: checked as `socialcrawl check` does, and saved only over what was read."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, time
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import Any

from socialcrawl.campaign.settings import Settings, check_settings, decode_campaign, place_settings, read_campaign_bytes
from socialcrawl.errors import ConflictError, HeldError, SettingsError, StoreError
from socialcrawl.formats.documents import DEEPEST, decode_text, hide_secret, parse_toml
from socialcrawl.system.bounds import MAX_TOML
from socialcrawl.system.files import replace_file
from socialcrawl.system.locks import Lock

SHOWN = 20  # lines of a difference
SCALARS = (str, bool, int, float, date, time)

Change = tuple[str, str, Any]
"""The section ("": above all sections), the key, and its value (None: it is removed)."""


def list_changes(values: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the changes that values name as a campaign file has them: keys, and sections as dicts of keys.

    Raises:
        SettingsError: a value is none that a campaign file can have.
    """
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from ((name, key, _make_plain(f"[{name}] {key}", one)) for key, one in value.items())
        else:
            yield "", name, _make_plain(name, value)


def apply_changes(text: str, changes: Iterable[Change], path: Path) -> str:
    """Return the text of the campaign file `path` with other values; comments and all other keys are as they were.

    Errors name lines of the text as it was, which is what people see.

    Args:
        text: it may have any ends of lines.
        changes: what differs.
        path: what errors name.

    Raises:
        SettingsError: with one line for each key that is wrong afterwards, or a change cannot be written.
    """
    from socialcrawl.formats.toml_edits import change_key  # noqa: PLC0415 - most commands change no file

    seen = _end_plainly(text)
    for section, key, value in changes:
        given = _parse(text)
        own = given.get(section, {}) if section else given
        if isinstance(own, dict) and (own.get(key), type(own.get(key))) == (value, type(value)):
            continue
        try:
            text = change_key(text, section, key, value)
            text.encode()
        except UnicodeEncodeError as error:
            raise SettingsError(f"{path}: the value of {key!r} is not valid text: type it again.") from error
        except ValueError as error:
            kept = own if isinstance(own, dict) else {}
            wanted = {section: {**kept, key: value}} if section else {key: value}
            check_settings({**given, **wanted}, str(path), seen)  # which may say what is wrong
            raise SettingsError(f"{path}: {key!r} cannot be changed where it stands: edit the file by hand.") from error
    if len(text.encode()) > MAX_TOML:
        raise SettingsError(f"{path} would be larger than {MAX_TOML / 1e6:g} MB: put seeds into a file of their own.")
    check_settings(_parse(text), str(path), seen)
    return text


def save_changes(path: Path, before: bytes, after: bytes) -> None:
    """Write a campaign file in place of what was read of it; it is never there in part, and keeps its mode.

    A link stays, and the file that it leads to is written. Of several programs that save at once, one does.

    Raises:
        ConflictError: the file is no longer as it was read, or another program is saving it.
        SettingsError: it cannot be written.
    """
    real = path.resolve()
    try:
        lock = Lock(real.with_name(f".{real.name}.lock"), "It is locked.")
    except HeldError as error:
        raise ConflictError(
            f"Another program is saving {path} at this moment: nothing was saved. Load it again, and repeat the change."
        ) from error
    except StoreError as error:
        raise _make_write_error(path, real, error.__cause__) from error
    try:
        _check_unchanged(path, before)
        _check_writable(path, real)
        with replace_file(real) as part:
            part.write_bytes(after)
            shutil.copymode(real, part)
            _keep_owner(real, part)
    except OSError as error:
        raise _make_write_error(path, real, error) from error
    finally:
        lock.release()


def check_digest(path: Path, digest: str, wanted: str | None) -> None:
    """Check that a campaign file is still the one that somebody has seen.

    Raises:
        ConflictError: it is another one.
    """
    if wanted is not None and digest != wanted:
        raise ConflictError(f"{path} was changed since you have seen it. Load it again, and repeat the change.")


def _check_unchanged(path: Path, before: bytes) -> None:
    try:
        found = read_campaign_bytes(path)
    except SettingsError as error:
        raise ConflictError(f"{error} Nothing was saved.") from error
    if found == before:
        return
    shown = tuple(_compare(before, found))
    what = (
        f"{path} was changed since it was read: nothing was saved. Load it again, and repeat the change. "
        "What differs (- as it was read, + as it is):"
    )
    raise ConflictError("\n".join([what, *shown]), shown)


def _check_writable(path: Path, real: Path) -> None:
    """Check that the file itself may be written: a new one in its place could be, whatever its mode says."""
    try:
        os.close(os.open(real, os.O_WRONLY))
    except PermissionError as error:
        raise SettingsError(f"{path} is read-only: nothing was saved. Allow writing, and save again.") from error


def _compare(before: bytes, found: bytes) -> Iterator[str]:
    """Yield the lines that differ, without what may be a secret."""
    old, new = (decode_text(data, "utf-8-sig" if _is_text(data) else "latin-1").split("\n") for data in (before, found))
    lines = [line for line in islice(unified_diff(old, new, n=0, lineterm=""), 2, None) if not line.startswith("@@")]
    yield from (line[0] + hide_secret(line[1:]) for line in lines[:SHOWN])
    if len(lines) > SHOWN:
        yield f"... and {len(lines) - SHOWN:,} more"
    if not lines:
        yield "only ends of lines or marks before the text"


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return True


def _keep_owner(real: Path, part: Path) -> None:
    """Give the new file the owner and the group of the old one, as far as that is allowed."""
    if hasattr(os, "chown"):
        found = real.stat()
        with suppress(PermissionError):
            os.chown(part, found.st_uid, found.st_gid)


def _make_write_error(path: Path, real: Path, error: BaseException | None) -> SettingsError:
    reason = getattr(error, "strerror", None) or error
    return SettingsError(
        f"{path} cannot be saved ({reason}). It is written as a new file beside the old one: allow writing in the "
        f"folder {real.parent}, and save again."
    )


def _parse(text: str) -> dict[str, Any]:
    return parse_toml(_end_plainly(text))


def _end_plainly(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _make_plain(name: str, value: Any, depth: int = 0) -> Any:
    """Return a value as TOML has it: dicts, lists, texts, numbers, True and False, dates; None at the top only.

    Raises:
        SettingsError: it is another one.
    """
    if isinstance(value, SCALARS) or (value is None and not depth):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping) and depth < DEEPEST and all(isinstance(key, str) for key in value):
        return {key: _make_plain(name, one, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple) and depth < DEEPEST:
        return [_make_plain(name, one, depth + 1) for one in value]
    raise SettingsError(
        f"{name} is a {type(value).__name__}: give a text, a number, True or False, a date, a list or a dict of these."
    )


def decode_raw(data: bytes, path: Path) -> str:
    """Return the text of a campaign file with its ends of lines, without a mark before it.

    Raises:
        SettingsError: it is not TOML.
    """
    decode_campaign(data, path)
    return data.decode("utf-8-sig")


def read_settings_text(raw: str, path: Path) -> Settings:
    """Return the settings that a text of the campaign file `path` means.

    Raises:
        SettingsError: with one line for each key that is wrong.
    """
    text, given = decode_campaign(raw.encode(), path)
    return place_settings(check_settings(given, str(path), text), path)
