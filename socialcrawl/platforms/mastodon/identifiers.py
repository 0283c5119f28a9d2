"""How addresses of accounts and posts look on Mastodon and its kin. Pure, and below everything that uses it."""

import re
from urllib.parse import quote, unquote, urlsplit

CLIENT = "web"  # what Mastodon's own client puts before an account
OWNER = re.compile(r"https?://([^/?#@\s]+)/(?:users/|@)([^/?#@\s]+)/[^/?#\s]", re.IGNORECASE)
STATUS = re.compile(r"(?:/web)?/(?:users/|@)([^/@]+)/(?:statuses/)?(\d+)(?:/|$)", re.IGNORECASE)
NUMBERED = re.compile(r"https://([^/?#@\s]+)/(?:ap/)?users/[^/?#\s]+/statuses/(\d{1,20})(?:/activity)?")
PEOPLE = frozenset({"users", "user", "u", "profile", "profiles", "people", "accounts", "author", "channel"})


def find_account_page(name: str | None, account_id: str | None) -> str | None:
    """Return where the server of an account shows it, by its name@domain."""
    user, at, host = (name or account_id or "").removeprefix("@").rpartition("@")
    return f"https://{quote(host, safe='.:')}/@{quote(user, safe='')}" if user and at and host else None


def find_post_page(key: str) -> str | None:
    """Return where the server of its author shows a post: its id is an address."""
    return key.removesuffix("/activity") if key.lower().startswith(("https://", "http://")) else None


def find_owners(key: str) -> set[str] | None:
    """Return name@domain in lower case of the address at which an instance shows a post; None elsewhere."""
    status = OWNER.match(key)
    return None if status is None else {f"{unquote(status[2])}@{status[1]}".lower()}


def find_holders(address: str) -> set[str] | None:
    """Return name@domain for `https://domain/@name`, `/users/name` and what other servers of the network make of it."""
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").lower()
    except ValueError:
        return None
    path = [part for part in unquote(parts.path).split("/") if part]
    if not host or not path:
        return None
    place = parts.netloc.rpartition("@")[2].lower()
    return {f"{name}@{place}" if "@" not in name else name for name in _split_names(path)}


def _split_names(path: list[str]) -> set[str]:
    first, second = path[0].lower(), path[1].lower() if len(path) > 1 else ""
    if first == CLIENT and second.startswith("@"):
        first = second
    if first.startswith(("@", "~")):
        return {first[1:]}
    if first in PEOPLE and second:
        return {second.removeprefix("@")}
    return {first} if not second else set()


def parse_post_address(address: str) -> tuple[str, str] | None:
    """Return name@domain and the number of a post from its address; None where it is none."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    status = STATUS.match(unquote(parts.path))
    return None if status is None else (f"{status[1]}@{parts.netloc}".lower(), status[2])


def find_own_number(key: str) -> tuple[str, str] | None:
    """Return the host of who wrote or boosted a post, and the post's number there, by the id of the post.

    None where the id does not tell: it is one of other software.
    """
    own = NUMBERED.fullmatch(key)
    return None if own is None else (own[1].lower(), own[2])
