"""The endpoint that searches accounts and statuses."""

from collections.abc import Mapping
from itertools import islice

from socialcrawl.mock.mastodon.instance_world import Answer, Town
from socialcrawl.mock.mastodon.paging import size, true, whole
from socialcrawl.mock.mastodon.responses import NO_QUERY, array, refused, told
from socialcrawl.mock.mastodon.timelines import MOST_STATUSES, STATUSES
from socialcrawl.mock.service import Asked, Guest, Told

_NO_PAGES = refused(401, "Search queries pagination is not supported without authentication")
_NO_RESOLVING = refused(401, "Search queries that resolve remote resources are not supported without authentication")


class Searching:
    """Answers to searches, each (request, who asks, instance) -> answer; hashtags are not searched."""

    def __init__(self, town: Town) -> None:
        self._town = town

    def answers(self) -> Mapping[str, Answer]:
        """Return the endpoints by template."""
        return {"/api/v2/search": self.search}

    def search(self, asked: Asked, guest: Guest, domain: str) -> Told:
        """Return accounts by the beginning of their names, and with a token statuses by their words, newest first."""
        query, kind, signed_in = (asked.one("q") or "").strip(), asked.one("type"), guest.kind != "public"
        if not query:
            return NO_QUERY
        if not signed_in and asked.one("offset"):
            return _NO_PAGES
        if not signed_in and true(asked, "resolve"):
            return _NO_RESOLVING
        start = abs(whole(asked.one("offset") or "0")) if kind else 0
        place = slice(start, start + size(asked, STATUSES, MOST_STATUSES))
        accounts = self._accounts(query, domain, place) if kind in (None, "accounts") else []
        statuses = self._statuses(query, domain, place) if signed_in and kind in (None, "statuses") else []
        body = b'{"accounts":' + array(accounts) + b',"statuses":' + array(statuses)
        return told(body + b',"hashtags":[],"collections":[]}', len(statuses))

    def _accounts(self, query: str, domain: str, place: slice) -> list[bytes]:
        town = self._town
        rows = islice(town.finding.accounts(query, town.listed), place.start, place.stop)
        return [town.renderer.account(row, domain) for row in rows]

    def _statuses(self, query: str, domain: str, place: slice) -> list[bytes]:
        town = self._town
        found = town.existing(town.finding.with_words(query, domain))
        posts = found[town.changes.visible[found]][::-1][place].tolist()
        return [town.renderer.status(post, domain, signed_in=True) for post in posts]
