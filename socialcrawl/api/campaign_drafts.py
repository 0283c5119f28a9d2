"""Campaign files of a project: new ones in its first folder, and those that it knows, to be edited."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from socialcrawl.api.campaign_file import CampaignFile
from socialcrawl.errors import SettingsError
from socialcrawl.storage.database.address import parse_address

NAME = re.compile(r"[^\W_][\w.-]{0,59}")
"""Names of campaigns that are file names everywhere: no hidden ones, none that a command takes for an option."""


def draft_file(folder: Path | None, values: Mapping[str, Any], known: Sequence[tuple[str, str]]) -> CampaignFile:
    """Return a new campaign file NAME.toml in a folder, which is not written yet.

    Args:
        folder: None: there is none.
        values: see `CampaignFile.create`.
        known: name and database of each campaign that is there.

    Raises:
        SettingsError: there is no folder, the name is taken or is no name of a file, or with one line for each key that
            is wrong.
    """
    if folder is None:
        raise SettingsError(
            "There is no folder for new campaign files: open a folder, such as open_project('campaigns')."
        )
    name = values.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise _refuse_name("write letters, digits and _ . - only, at most 60, with a letter or a digit first.")
    path = folder / f"{name}.toml"
    if path.exists():
        raise _refuse_name(f"there is a file {path} already: choose another name.")
    made = CampaignFile.draft(path, values)
    own = made.settings["database"]
    if any(called == name and _is_same_database(own, other) for called, other in known):
        raise _refuse_name(f"there is a campaign {name!r} in {own} already: choose another name.")
    return made


def load_file(file: str | None, digest: str | None, has_file: Callable[[Path], bool]) -> CampaignFile:
    """Return a campaign file to be edited.

    Args:
        file: its path; None: the campaign has none.
        digest: see `CampaignFile.load`.
        has_file: returns whether a file is one of the project, and not one that a database names.

    Raises:
        ConflictError: the file has another digest.
        SettingsError: there is none, or it is missing or no TOML.
    """
    if file is None:
        raise SettingsError(
            "This campaign has no campaign file here: a Python program or a file that is gone began it."
        )
    check_own_file(file, has_file)
    return CampaignFile.load(file, digest=digest)


def check_own_file(file: str, has_file: Callable[[Path], bool]) -> None:
    """Check that a campaign file is one of the project: a database may name any other file.

    Raises:
        SettingsError: only a database names it.
    """
    if not has_file(Path(file)):
        raise SettingsError(f"The file {file} of this campaign is not in a folder that is open here: open its folder.")


def _refuse_name(why: str) -> SettingsError:
    return SettingsError(f"name: {why}", [("name", why)])


def _is_same_database(one: str, other: str) -> bool:
    places = [parse_address(place) for place in (one, other)]
    first, second = (place.resolve() if isinstance(place, Path) else place for place in places)
    return first == second
