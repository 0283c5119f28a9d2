"""How stored posts of Bluesky are looked up: posts by their addresses, reposts by the posts that they repeat. Pure."""

from collections.abc import Sequence

from socialcrawl.engine.model import Request
from socialcrawl.platforms.bluesky.identifiers import RECORD
from socialcrawl.platforms.bluesky.opt_outs import LOOK_UP
from socialcrawl.platforms.bluesky.post_mentions import is_did
from socialcrawl.platforms.bluesky.source import POSTS, RECORD_KEY
from socialcrawl.platforms.post_checks import SoughtCopy, StoredPostLookUp


def find_copy(post: str, repost_of: str | None) -> SoughtCopy | None:
    """See `StoredPostLookUp.find`: servers tell of no reposts."""
    for address in (post, repost_of or ""):
        found = RECORD.fullmatch(address)
        if found is not None and is_did(found[1]) and RECORD_KEY.fullmatch(found[2]):
            return SoughtCopy("", address, address)
    return None


def make_request(key: tuple[int, int], asked: Sequence[SoughtCopy]) -> Request:
    """See `StoredPostLookUp.make_request`."""
    addresses = ",".join(copy.key for copy in asked)
    return Request(key, POSTS, {"wanted": addresses, "uris": addresses})


CHECK = StoredPostLookUp(LOOK_UP, find_copy, make_request)
