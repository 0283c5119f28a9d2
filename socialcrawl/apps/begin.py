"""`socialcrawl init`: a campaign file to begin with, every setting explained."""

import json
import re
from pathlib import Path

from socialcrawl.errors import SettingsError
from socialcrawl.resources import folder


def begin(path: Path, keywords: list[str]) -> None:
    """Write a campaign file to `path`, about `keywords`.

    Raises:
        SettingsError: the file exists already, or its folder does not.
    """
    if path.exists():
        raise SettingsError(f"{path} exists already and is left as it is: name another file.")
    if not path.parent.is_dir():
        raise SettingsError(f"The folder {path.parent} does not exist: make it first.")
    text = (folder("config") / "campaign.toml").read_text("utf-8")
    name = re.sub(r"[^\w.-]+", "-", path.stem).strip("-") or "campaign"
    listed = ", ".join(_quoted(word) for word in keywords)
    text = text.replace('name = "campaign"', f"name = {_quoted(name)}", 1)
    text = text.replace('database = "campaign.db"', f"database = {_quoted(name + '.db')}", 1)
    if keywords:
        text = text.replace('keywords = ["a word", "a phrase", "prefix*"]', f"keywords = [{listed}]", 1)
    try:
        path.write_text(text, "utf-8")
    except (OSError, UnicodeEncodeError) as error:
        raise SettingsError(f"{path} cannot be written ({error}): choose another file.") from error


def _quoted(word: str) -> str:
    return json.dumps(word, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML writes text as JSON does
