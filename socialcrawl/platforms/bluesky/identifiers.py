"""How tokens and passwords of Bluesky look. Pure, and below everything that uses it."""

import re

SESSION = re.compile(r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*")  # a JSON Web Token
APP_PASSWORD = re.compile(r"[a-z2-7]{4}(?:-[a-z2-7]{4}){3}")


def is_token(word: str, section: str) -> bool:
    """Return whether a word is a session or an app password; see `PlatformFacts.is_token`."""
    if SESSION.search(word):
        return True
    # Four words of four letters may be a keyword, but nothing that [source] wants.
    return APP_PASSWORD.fullmatch(word) is not None and (section == "source" or any(sign.isdigit() for sign in word))
