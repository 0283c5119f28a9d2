"""The endpoint that searches accounts and statuses."""

from collections.abc import Mapping
from itertools import islice

from socialcrawl.mock.mastodon.instance_world import Answer, InstanceWorld
from socialcrawl.mock.mastodon.paging import is_true, parse_whole_number, read_size
from socialcrawl.mock.mastodon.responses import NO_QUERY, join_array, make_refusal, make_response
from socialcrawl.mock.mastodon.timelines import MOST_STATUSES, STATUSES
from socialcrawl.mock.service import Guest, MockRequest, MockResponse

_NO_PAGES = make_refusal(401, "Search queries pagination is not supported without authentication")
_NO_RESOLVING = make_refusal(
    401, "Search queries that resolve remote resources are not supported without authentication"
)


class SearchEndpoint:
    """Answers to searches, each (request, who asks, instance) -> answer; hashtags are not searched."""

    def __init__(self, town: InstanceWorld) -> None:
        self._town = town

    def answers(self) -> Mapping[str, Answer]:
        """Return the endpoints by template."""
        return {"/api/v2/search": self.search}

    def search(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return accounts by the beginning of their names, and with a token statuses by their words, newest first."""
        query, kind, signed_in = (asked.one("q") or "").strip(), asked.one("type"), guest.kind != "public"
        if not query:
            return NO_QUERY
        if not signed_in and asked.one("offset"):
            return _NO_PAGES
        if not signed_in and is_true(asked, "resolve"):
            return _NO_RESOLVING
        start = abs(parse_whole_number(asked.one("offset") or "0")) if kind else 0
        place = slice(start, start + read_size(asked, STATUSES, MOST_STATUSES))
        accounts = self._accounts(query, domain, place) if kind in (None, "accounts") else []
        statuses = self._statuses(query, domain, place) if signed_in and kind in (None, "statuses") else []
        body = b'{"accounts":' + join_array(accounts) + b',"statuses":' + join_array(statuses)
        return make_response(body + b',"hashtags":[],"collections":[]}', len(statuses))

    def _accounts(self, query: str, domain: str, place: slice) -> list[bytes]:
        town = self._town
        rows = islice(town.finding.accounts(query, town.listed), place.start, place.stop)
        return [town.renderer.account(row, domain) for row in rows]

    def _statuses(self, query: str, domain: str, place: slice) -> list[bytes]:
        town = self._town
        found = town.existing(town.finding.with_words(query, domain))
        posts = found[town.changes.visible[found]][::-1][place].tolist()
        return [town.renderer.status(post, domain, signed_in=True) for post in posts]
