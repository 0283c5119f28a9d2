"""How tokens of X look. Pure, and below everything that uses it."""

import base64
import binascii
import re

BEARER = re.compile(r"A{16,}[A-Za-z0-9%+/=_-]{8,}")  # of an application
ACCESS = re.compile(r"\d{5,20}-[A-Za-z0-9]{25,}")  # an access token of OAuth 1.0a


def is_token(word: str, section: str) -> bool:
    """Return whether a word is a token of X; see `PlatformFacts.is_token`."""
    del section
    return bool(BEARER.search(word) or ACCESS.fullmatch(word)) or _is_of_user(word)


def _is_of_user(word: str) -> bool:
    """Return whether it is a bearer token of a user (OAuth 2.0): base64 of parts that end with their kind."""
    if not 40 <= len(word) <= 400:
        return False
    try:
        inside = base64.b64decode(word + "=" * (-len(word) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return re.search(rb":\d+:\d+:(?:at|rt):\d", inside) is not None
