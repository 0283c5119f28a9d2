"""Endpoints of an instance for accounts, follows, statuses and search, and for the instance itself."""

from collections.abc import Mapping
from itertools import islice

import numpy as np
import orjson

from socialcrawl.mock.mastodon.instance_info import RULES, render_asker, render_instance_v1, render_instance_v2
from socialcrawl.mock.mastodon.instance_world import Answer, InstanceWorld
from socialcrawl.mock.mastodon.instances import make_key
from socialcrawl.mock.mastodon.responses import (
    BAD_TOKEN,
    NO_QUERY,
    NO_RECORD,
    NOT_FOUND,
    cut_list,
    is_true,
    join_array,
    make_link_header,
    make_refusal,
    make_response,
    parse_whole_number,
    read_size,
)
from socialcrawl.mock.mastodon.search import DateError
from socialcrawl.mock.mastodon.timelines import MOST_STATUSES, STATUSES
from socialcrawl.mock.service import Guest, MockRequest, MockResponse
from socialcrawl.system.loopback import is_loopback_host
from socialcrawl.text.wording import format_instant

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
        query = _add_bounds(query, asked)
        accounts = self._accounts(query, domain, place) if kind in (None, "accounts") else []
        try:
            statuses = self._statuses(query, domain, place) if signed_in and kind in (None, "statuses") else []
        except DateError as error:
            return make_refusal(422, f"Invalid date {error}")
        body = b'{"accounts":' + join_array(accounts) + b',"statuses":' + join_array(statuses)
        return make_response(body + b',"hashtags":[],"collections":[]}', len(statuses))

    def _accounts(self, query: str, domain: str, place: slice) -> list[bytes]:
        town = self._town
        rows = islice(town.finding.accounts(query, town.is_listed), place.start, place.stop)
        return [town.renderer.account(row, domain) for row in rows]

    def _statuses(self, query: str, domain: str, place: slice) -> list[bytes]:
        town = self._town
        found = town.select_existing(town.finding.with_words(query, domain))
        posts = found[town.changes.visible[found]][::-1][place].tolist()
        return [town.renderer.status(post, domain, signed_in=True) for post in posts]


def _add_bounds(query: str, asked: MockRequest) -> str:
    """Return the query with the bounds that Mastodon makes of ids: the times of these, to the second."""
    for name, operator in (("min_id", "after"), ("max_id", "before")):
        if (given := asked.one(name)) is not None:
            at = (parse_whole_number(given) >> 16) // 1000
            query += f' {operator}:"{format_instant(at)}"'
    return query


ACCOUNTS, MOST_ACCOUNTS = 40, 80


class FollowEndpoints:
    """Answers with follows, each (request, who asks, instance) -> answer; of hidden accounts nobody is told."""

    def __init__(self, town: InstanceWorld) -> None:
        self._town = town

    def answers(self) -> Mapping[str, Answer]:
        """Return the endpoints by template."""
        return {"/api/v1/accounts/:id/following": self.following, "/api/v1/accounts/:id/followers": self.followers}

    def following(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return whom an account follows: those whom it mentions, the first mentioned first."""
        return self._list(asked, domain, backwards=False)

    def followers(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return who follows an account: those who mention it, the first to do so first."""
        return self._list(asked, domain, backwards=True)

    def _list(self, asked: MockRequest, domain: str, *, backwards: bool) -> MockResponse:
        town, follows = self._town, self._town.follows
        row = town.require_visible(town.instances.row(asked.path["id"], domain))
        if isinstance(row, MockResponse):
            return row
        found = follows.of(row, town.changes.moment, backwards=backwards)[: None if town.open(row) else 0]
        # The first follow has the largest id, as lists begin with that.
        largest = 10**15 + make_key(domain) % 10**15
        given = {
            name: parse_whole_number(value) for name in ("max_id", "min_id", "since_id") if (value := asked.one(name))
        }
        part = cut_list(
            (largest - found)[::-1],
            read_size(asked, ACCOUNTS, MOST_ACCOUNTS),
            below=given.get("max_id"),
            above=given.get("min_id", given.get("since_id")),
            upward="min_id" in given,
        )
        others = (follows.followers if backwards else follows.followed)[largest - part.members].tolist()
        ids = part.members.tolist()
        older, newer = (ids[-1] if part.full else None), (ids[0] if ids else None)
        body = join_array(town.renderer.account(other, domain) for other in others if town.is_listed(other))
        return make_response(body, headers=make_link_header(asked, ("limit",), older=older, newer=newer))


_MOST_ACCOUNTS = 40


class LookupEndpoints:
    """Answers about single things, each (request, who asks, instance) -> answer."""

    def __init__(self, town: InstanceWorld) -> None:
        self._town = town

    def answers(self) -> Mapping[str, Answer]:
        """Return the endpoints by template."""
        return {
            "/api/v1/accounts/lookup": self.lookup,
            "/api/v1/accounts/verify_credentials": self.verify_credentials,
            "/api/v1/accounts": self.accounts,
            "/api/v1/accounts/:id": self.account,
            "/api/v1/statuses/:id": self.status,
            "/api/v1/instance": self.instance_v1,
            "/api/v1/instance/*rest": self.instance_v1,
            "/api/v1/instance/rules": self.rules,
            "/api/v2/instance": self.instance_v2,
            "/api/v2/instance/*rest": self.instance_v2,
        }

    def lookup(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return an account by `name`, or `name@domain` where it lives elsewhere."""
        return self._render(
            self._town.require_visible(self._town.instances.find(asked.one("acct") or "", domain)), domain
        )

    def account(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return an account by the id that this instance gave it."""
        return self._render(self._town.require_visible(self._town.instances.row(asked.path["id"], domain)), domain)

    def _render(self, row: int | MockResponse, domain: str) -> MockResponse:
        return row if isinstance(row, MockResponse) else make_response(self._town.renderer.account(row, domain))

    def accounts(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return accounts by several `id[]`; those that are not there are left out."""
        given = [value for name, value in asked.query if name in ("id[]", "id")][:_MOST_ACCOUNTS]
        rows = [self._town.require_visible(self._town.instances.row(number, domain)) for number in dict.fromkeys(given)]
        return make_response(
            join_array(self._town.renderer.account(row, domain) for row in rows if isinstance(row, int))
        )

    def verify_credentials(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return the account of the asker, which a token names."""
        if guest.kind == "public":
            return BAD_TOKEN
        return make_response(orjson.dumps(render_asker(guest.label, domain, self._town.profiles.make_stranger(domain))))

    def status(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return a status by the id that this instance gave it."""
        town, number, signed_in = self._town, parse_whole_number(asked.path["id"]), guest.kind != "public"
        post = town.numbers.post(number, domain)
        if post is not None and town.changes.place(post) >= 0 and town.open(int(town.world.author[post])):
            return make_response(town.renderer.status(post, domain, signed_in=signed_in), posts=1)
        repost = town.numbers.repost(number, domain)
        if repost is not None and town.changes.place(repost) >= 0:
            return make_response(town.renderer.original(repost, domain, signed_in=signed_in), posts=1)
        return NOT_FOUND

    def instance_v1(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return the instance, in the old form; with or without a slash behind, as Mastodon.py asks."""
        if asked.path.get("rest"):
            return NO_RECORD
        accounts, posts = self._sizes(domain)
        return make_response(orjson.dumps(render_instance_v1(domain, accounts, posts, _find_streams(asked))))

    def rules(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return the rules of the instance."""
        return make_response(orjson.dumps(RULES))

    def instance_v2(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return the instance, in the new form."""
        if asked.path.get("rest"):
            return NO_RECORD
        accounts, access = self._sizes(domain)[0], self._town.hashtag_feeds
        return make_response(orjson.dumps(render_instance_v2(domain, accounts, access, _find_streams(asked))))

    def _sizes(self, domain: str) -> tuple[int, int]:
        """Return how many accounts live there, and how many posts they wrote."""
        own = self._town.finding.living(domain)
        authors = self._town.world.author[: self._town.changes.moment.there]
        return int(np.count_nonzero(own)), int(np.count_nonzero(own[authors]))


def _find_streams(asked: MockRequest) -> str | None:
    """Return where the streams of an instance are that was asked at this machine; None: at its own name."""
    return f"ws://{asked.headers['host']}" if is_loopback_host(asked.host) else None
