"""How tokens, ids and addresses of Bluesky look. Pure, and below everything that uses it."""

import re
from urllib.parse import unquote, urlsplit

SESSION = re.compile(r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*")  # a JSON Web Token
APP_PASSWORD = re.compile(r"[a-z2-7]{4}(?:-[a-z2-7]{4}){3}")

ADDRESS = re.compile(r"at://[^\s\"'<>\\]+")
DID = re.compile(r"did:[a-z0-9]+:[\w.%-]*[\w-]")
OWNER = re.compile(r"at://([^/\s]+)/|\brepost:(did:[a-z]+:[\w.%-]+)")
RECORD = re.compile(r"at://([^/]+)/app\.bsky\.feed\.post/([^/?#]+)")
APP = "bsky.app"


def is_token(word: str, section: str) -> bool:
    """Return whether a word is a session or an app password; see `PlatformFacts.is_token`."""
    if SESSION.search(word):
        return True
    # Four words of four letters may be a keyword, but nothing that [source] wants.
    return APP_PASSWORD.fullmatch(word) is not None and (section == "source" or any(sign.isdigit() for sign in word))


def find_ids(text: str) -> list[str]:
    """Return what could be ids in a text: DIDs and addresses of records."""
    return [*DID.findall(text), *ADDRESS.findall(text)]


def find_owners(key: str) -> set[str] | None:
    """Return the DIDs and handles that a post id names; a repost without an id of its own names two."""
    return {name for match in OWNER.finditer(key) for name in match.groups() if name} if "at://" in key else None


def find_holders(address: str) -> set[str] | None:
    """Return the holder of `at://DID/...` and of bsky.app/profile/NAME, whatever stands behind; None elsewhere."""
    if address.startswith("at://"):
        holder = unquote(address[5:].partition("/")[0])
        return {holder, holder.lower()}
    try:
        parts = urlsplit(address)
        if (parts.hostname or "").lower() != APP:
            return None
    except ValueError:
        return None
    path = [part for part in unquote(parts.path).split("/") if part]
    return {path[1], path[1].lower()} if len(path) > 1 and path[0] == "profile" else set()


def parse_post_address(address: str) -> tuple[str, str] | None:
    """Return the author and the key of a post from its address; None where it is none of Bluesky's."""
    if (record := RECORD.match(address)) is not None:
        return record[1], record[2]
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    path = unquote(parts.path).split("/")
    is_post = parts.netloc.lower() == APP and len(path) > 4 and path[1::2] == ["profile", "post"]
    return (path[2], path[4]) if is_post else None


def find_post_address(post: str) -> str | None:
    """Return the address at which people see a post, by its at-address; None for a repost, which has none."""
    record = RECORD.fullmatch(post)
    return None if record is None else f"https://{APP}/profile/{record[1]}/post/{record[2]}"
