"""Whom and what an address names: the profile of an account, a post, a page. Pure."""

import re
from urllib.parse import unquote, urlsplit

AT = re.compile(r"at://[^\s\"'<>\\]+")
DID = re.compile(r"did:[a-z0-9]+:[\w.%-]*[\w-]")
BSKY_APP = "bsky.app"
CLIENT = "web"  # what Mastodon's own client puts before an account
RECORD = re.compile(r"at://([^/]+)/app\.bsky\.feed\.post/([^/?#]+)")
STATUS = re.compile(r"(?:/web)?/(?:users/|@)([^/@]+)/(?:statuses/)?(\d+)(?:/|$)", re.IGNORECASE)
PEOPLE = frozenset({"users", "user", "u", "profile", "profiles", "people", "accounts", "author", "channel"})
PORTS = {"http": 80, "https": 443}


def find_holders(address: str) -> set[str]:
    """Return the ids and names (in lower case) of the accounts that an address names.

    That is the holder of `at://DID/...` and of bsky.app/profile/NAME, and name@domain for `https://domain/@name`,
    `/users/name` and what other servers of the network make of it, whatever stands behind.
    """
    if address.startswith("at://"):
        holder = unquote(address[5:].partition("/")[0])
        return {holder, holder.lower()}
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").lower()
    except ValueError:
        return set()
    path = [told for told in unquote(parts.path).split("/") if told]
    if not host or not path:
        return set()
    if host == BSKY_APP:
        return {path[1], path[1].lower()} if path[0] == "profile" and len(path) > 1 else set()
    place = host if parts.netloc.rpartition("@")[2].lower() == host else parts.netloc.rpartition("@")[2].lower()
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
    """Return what identifies a post in each of its addresses: its author and its key; None where it is no post's."""
    if (record := RECORD.match(address)) is not None:
        return record[1], record[2]
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    path = unquote(parts.path)
    if parts.netloc.lower() == BSKY_APP:
        told = path.split("/")
        return (told[2], told[4]) if len(told) > 4 and told[1::2] == ["profile", "post"] else None
    status = STATUS.match(path)
    return None if status is None else (f"{status[1]}@{parts.netloc}".lower(), status[2])


def normalize_page(address: str) -> str | None:
    """Return the address of a page in one spelling, without what stands behind `#`; None where it is none."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    if scheme not in PORTS or not parts.hostname:
        return None
    host = parts.hostname if port in (None, PORTS[scheme]) else f"{parts.hostname}:{port}"
    return f"{scheme}://{host}{unquote(parts.path or '/')}{f'?{parts.query}' if parts.query else ''}"
