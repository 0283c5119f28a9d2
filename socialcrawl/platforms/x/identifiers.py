"""How tokens of X and links to it look. Pure, and below everything that uses it."""

import base64
import binascii
import re
from collections.abc import Iterator
from urllib.parse import unquote_plus

BEARER = re.compile(r"A{16,}[A-Za-z0-9%+/=_-]{8,}")  # of an application
ACCESS = re.compile(r"\d{5,20}-[A-Za-z0-9]{25,}")  # an access token of OAuth 1.0a

LINK = re.compile(r"(?<![\w.-])(?:https?://)?(?:\w+\.)?(?:twitter|x)\.com/[^\s\"'<>]*[^\s\"'<>.,;:!?)]", re.IGNORECASE)
MARK, HOSTS = ".com/", ("x.com/", "twitter.com/")
OWNER = re.compile(r"\.com/(?:#!/)?@?(\w+)", re.IGNORECASE)
WORD = re.compile(r"\w++(?!=)")  # what stands before `=` is the name of a parameter
SHARED = re.compile(r"[?&]s=\d{1,3}(?=&|$)")  # by which button a link was shared: no id
WORDS = frozenset({"status", "statuses", "web", "photo", "video", "user"})  # what links say behind the owner
PLACES = ("geo", "coordinates", "place")  # what a post's JSON says of where it was written


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


def split_link(link: str) -> Iterator[str]:
    """Yield the words of a link in lower case that could be a name or an id: not the host, not X's own words."""
    plain = SHARED.sub("", unquote_plus(unquote_plus(link)))
    owner = OWNER.search(plain)
    begin = owner.end() if owner else plain.lower().find(MARK) + len(MARK)
    if owner:
        yield owner[1].lower()
    yield from (word for match in WORD.finditer(plain, begin) if (word := match[0].lower()) not in WORDS)


def find_post_address(post: str) -> str | None:
    """Return the address at which people see a post; see `PlatformFacts.find_post_address`."""
    return f"https://x.com/i/status/{post}" if post.isdecimal() else None
