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
    text = (folder("config") / "campaign.toml").read_text("utf-8")
    name = re.sub(r"[^\w.-]+", "-", path.stem).strip("-") or "campaign"
    listed = ", ".join(_quoted(word) for word in keywords)
    text = text.replace('name = "campaign"', f"name = {_quoted(name)}", 1)
    text = text.replace('database = "campaign.db"', f"database = {_quoted(name + '.db')}", 1)
    if keywords:
        text = text.replace('keywords = ["a word", "a phrase", "prefix*"]', f"keywords = [{listed}]", 1)
    try:
        encoded = text.encode()
        with path.open("xb") as file:
            file.write(encoded)
    except FileExistsError as error:
        raise SettingsError(f"{path} exists already and is left as it is: name another file.") from error
    except FileNotFoundError as error:
        raise SettingsError(f"The folder {path.parent} does not exist: make it first.") from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be written ({error.strerror}): name another file.") from error
    except UnicodeEncodeError as error:
        raise SettingsError("A keyword is not valid text: type it again.") from error


def _quoted(word: str) -> str:
    return json.dumps(word, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML writes text as JSON does
