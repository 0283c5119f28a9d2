"""The folder of what this program remembers beside databases: keys, journals of tokens, the token of the web pages."""

import os
from pathlib import Path

from platformdirs import user_state_path

from socialcrawl.errors import StoreError

NAME = "socialcrawl"
REMEDY = "let XDG_STATE_HOME name a folder that can be written"


def make_state_folder() -> Path:
    """Return the folder of what this program remembers beside databases; make it, for this user only, if need be.

    It is $XDG_STATE_HOME/socialcrawl where that is set and absolute. Otherwise it is where the system keeps the state
    of programs: ~/.local/state/socialcrawl on Linux, ~/Library/Application Support/socialcrawl on macOS, socialcrawl in
    %LOCALAPPDATA% on Windows. If ~/.local/state/socialcrawl is there, it is used on every system: earlier versions made
    it.

    Raises:
        StoreError: it cannot be made.
    """
    root = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        folder = (root if root.is_absolute() else Path.home() / ".local" / "state") / NAME
        if not (root.is_absolute() or folder.is_dir()):
            folder = user_state_path(NAME, appauthor=False)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError, ValueError) as error:  # there may be no home
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"The folder for state cannot be made ({reason}): {REMEDY}.") from error
    return folder
