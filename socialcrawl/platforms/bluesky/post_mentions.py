"""Whom a post of Bluesky names: in its text, by what it answers, quotes or repeats. Pure.

An account is its DID, which facets and addresses of posts hold; the name that stands in a text proves nothing, as
whoever writes may point any text at any DID.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from socialcrawl.engine.model import Who

Json = Mapping[str, Any]
Named = Sequence[tuple[Who, str]]
"""Accounts in order of appearance, each once, with the strongest kind of mention."""

MENTION = "app.bsky.richtext.facet#mention"
POSTS = "app.bsky.feed.post"
STRENGTH = {"quote": 0, "mention": 1, "repost": 2, "reply": 3}
UNTOLD = "handle.invalid"  # the handle of an account whose own does not lead back to it
LONGEST_DID, LONGEST_HANDLE = 2_048, 253  # characters
DID = re.compile(r"did:[a-z]+:[a-zA-Z0-9._:%-]*[a-zA-Z0-9._-]")
LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
HANDLE = re.compile(rf"(?:{LABEL}\.)+[a-zA-Z](?:[a-zA-Z0-9-]{{0,61}}[a-zA-Z0-9])?")
PAGE = re.compile(
    r"(?:https?://)?(?:www\.)?bsky\.app/profile/([^/?#\s]+)(?:/lists/([^/?#\s]+))?/?(?:[?#]\S*)?", re.IGNORECASE
)
NOTHING: Json = {}


def is_did(text: str) -> bool:
    """Return whether a text has the form of a DID (syntax of the AT Protocol)."""
    return len(text) <= LONGEST_DID and DID.fullmatch(text) is not None


def is_handle(text: str) -> bool:
    """Return whether a text has the form of a handle: a domain name."""
    return len(text) <= LONGEST_HANDLE and HANDLE.fullmatch(text) is not None


def parse_page_address(address: str) -> tuple[str, str | None] | None:
    """Return the account that a page of bsky.app shows, and the key of its list if it shows one.

    None for other addresses.
    """
    found = PAGE.fullmatch(address)
    return None if found is None else (unquote(found[1]), found[2])


def parse_who(profile: Json) -> Who:
    """Return the account of a profile, in whichever view.

    Raises:
        TypeError: its DID or handle is no text.
    """
    did, handle = profile["did"], profile.get("handle")
    if not isinstance(did, str) or not (handle is None or isinstance(handle, str)):
        raise TypeError("the DID or the handle of an account is not text")
    return Who(did, None if handle == UNTOLD else handle or None)


def list_mentions(
    record: Json, *, repost: Who | None = None, reply: Who | None = None, quote: Who | None = None
) -> Named:
    """Return whom a post names.

    Args:
        record: app.bsky.feed.post; of a repost, the original's.
        repost: whose post is repeated.
        reply: whose post is answered.
        quote: whose post is quoted.
    """
    pairs = [
        (repost, "repost"),
        *((one, "mention") for one in _list_in_text(record)),
        (reply, "reply"),
        (quote, "quote"),
    ]
    found: dict[str, tuple[Who, str]] = {}
    for one, kind in pairs:
        if one is None or one.id is None:
            continue
        known, before = found.get(one.id, (one, kind))
        strongest = max(before, kind, key=STRENGTH.__getitem__)
        found[one.id] = (known if known.username else one, strongest)
    return list(found.values())


def find_quoted(record: Json, view: Json) -> tuple[str | None, Who | None]:
    """Return the address of the post that a post quotes, and whose it is; feeds and lists that it shows are none.

    Args:
        record: app.bsky.feed.post.
        view: the embed as the platform shows it; deleted and blocked posts have an address all the same.
    """
    embed = record.get("embed") or NOTHING
    target, shown = (embed.get("record") or NOTHING), (view.get("record") or NOTHING)
    if "record" in target:  # recordWithMedia
        target, shown = target["record"], shown.get("record") or NOTHING
    uri = target.get("uri")
    if uri is None or _get_part(uri, 3) != POSTS:
        return None, None
    return uri, _find_owner(uri, shown)


def find_replied(uri: str | None, view: Json) -> Who | None:
    """Return whose post at `uri` is answered; `view` is that post as the platform shows it, if it does."""
    return None if uri is None else _find_owner(uri, view)


def _find_owner(uri: str, view: Json) -> Who | None:
    """Return the account that an address begins with, with its name where the view tells it."""
    did, shown = _get_part(uri, 2), view.get("author")
    who = None if shown is None else parse_who(shown)
    if not is_did(did):
        return who
    return who if who is not None and who.id == did else Who(did, None)


def _get_part(uri: str, place: int) -> str:
    """Return a part of at://did/collection/key: 2 is the DID, 3 the collection."""
    if not isinstance(uri, str):
        raise TypeError("the address of a post is not text")
    parts = uri.split("/")
    return parts[place] if len(parts) > place else ""


def _list_in_text(record: Json) -> list[Who]:
    """Return the accounts that facets name, in order of their place in the text (byteStart counts bytes of UTF-8)."""
    placed = [
        (facet["index"]["byteStart"], feature["did"])
        for facet in record.get("facets") or ()
        for feature in facet["features"]
        if feature.get("$type") == MENTION
    ]
    return [Who(did, None) for _, did in sorted(placed, key=lambda one: one[0]) if is_did(did)]
