"""How stored posts of Mastodon are looked up: by the number that the instance of who wrote or boosted them gave. Pure.

An instance may drop its copies of others' posts, because it keeps them for a while only or no longer talks to their
instance. So only the instance that a post is of is asked.
"""

from collections.abc import Sequence

from socialcrawl.engine.model import Request
from socialcrawl.platforms.mastodon import account_names
from socialcrawl.platforms.mastodon.identifiers import find_own_number
from socialcrawl.platforms.mastodon.source import POST
from socialcrawl.platforms.post_checks import SoughtCopy, StoredPostLookUp


def make_check(home: str, place: str, hosts: Sequence[str]) -> StoredPostLookUp:
    """Return how the posts of a campaign's own instance, and of other ones, are looked up.

    Args:
        home: the domain of the campaign's own instance.
        place: the host at which that is, as addresses of its posts may have it.
        hosts: the other instances that the campaign asks: domains, or patterns with `*`.
    """
    own, elsewhere = {home, place}, account_names.compile_pattern(hosts)

    def find_copy(post: str, repost_of: str | None) -> SoughtCopy | None:
        del repost_of  # a boost has a number of its own
        found = find_own_number(post)
        if found is None:
            return None
        host, number = found
        if host in own:
            return SoughtCopy(home, number, post)
        named = elsewhere.fullmatch(host) and account_names.is_public(host)
        return SoughtCopy(host, number, post) if named else None

    return StoredPostLookUp(1, find_copy, make_request, home)


def make_request(key: tuple[int, int], asked: Sequence[SoughtCopy]) -> Request:
    """See `StoredPostLookUp.make_request`."""
    (copy,) = asked
    return Request(key, copy.server + POST, {"id": copy.key, "wanted": copy.post})
