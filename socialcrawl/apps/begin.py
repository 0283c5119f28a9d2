"""`socialcrawl init`: a campaign file to begin with, every setting explained."""

import json
import re
from pathlib import Path

from socialcrawl.errors import SettingsError
from socialcrawl.resources import folder

TEMPLATES = {
    "x": "campaign.toml",
    "bluesky": "campaign-bluesky.toml",
    "mastodon": "campaign-mastodon.toml",
    "web": "campaign-web.toml",
}
NEXT = {
    "x": "edit it, export X_BEARER_TOKEN",
    "bluesky": "edit it (name seeds, or an app password: search is often closed to others)",
    "mastodon": "edit it (base_url, contact)",
    "web": "edit it (usernames, contact)",
}


def begin(path: Path, keywords: list[str], platform: str = "x") -> str:
    """What is to be done next; a campaign file is written to `path`, about `keywords`, on a platform.

    Raises:
        SettingsError: the file exists already, or its folder does not, or there is no such platform.
    """
    if platform not in TEMPLATES:
        raise SettingsError(f"There is no platform {platform!r}: give one of {', '.join(TEMPLATES)}.")
    text = (folder("config") / TEMPLATES[platform]).read_text("utf-8")
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
    return NEXT[platform]


def _quoted(word: str) -> str:
    return json.dumps(word, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML writes text as JSON does
