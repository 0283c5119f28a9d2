"""The endpoints that tell of one account, one status, the instance, or the asker."""

from collections.abc import Mapping

import numpy as np
import orjson

from socialcrawl.mock.mastodon.instance_info import RULES, render_asker, render_instance_v1, render_instance_v2
from socialcrawl.mock.mastodon.instance_world import Answer, InstanceWorld
from socialcrawl.mock.mastodon.paging import parse_whole_number
from socialcrawl.mock.mastodon.responses import BAD_TOKEN, NO_RECORD, NOT_FOUND, join_array, make_response
from socialcrawl.mock.service import Guest, MockRequest, MockResponse

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
        return self._told(self._town.there(self._town.instances.find(asked.one("acct") or "", domain)), domain)

    def account(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return an account by the id that this instance gave it."""
        return self._told(self._town.there(self._town.instances.row(asked.path["id"], domain)), domain)

    def _told(self, row: int | MockResponse, domain: str) -> MockResponse:
        return row if isinstance(row, MockResponse) else make_response(self._town.renderer.account(row, domain))

    def accounts(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return accounts by several `id[]`; those that are not there are left out."""
        given = [value for name, value in asked.query if name in ("id[]", "id")][:_MOST_ACCOUNTS]
        rows = [self._town.there(self._town.instances.row(number, domain)) for number in dict.fromkeys(given)]
        return make_response(
            join_array(self._town.renderer.account(row, domain) for row in rows if isinstance(row, int))
        )

    def verify_credentials(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return the account of the asker, which a token names."""
        if guest.kind == "public":
            return BAD_TOKEN
        return make_response(orjson.dumps(render_asker(guest.label, domain, self._town.profiles.stranger(domain))))

    def status(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return a status by the id that this instance gave it."""
        town, number, signed_in = self._town, parse_whole_number(asked.path["id"]), guest.kind != "public"
        post = town.numbers.post(number, domain)
        moment = town.changes.moment
        if post is not None and moment.place(post) >= 0 and town.open(int(town.world.author[post])):
            return make_response(town.renderer.status(post, domain, signed_in=signed_in), posts=1)
        repost = town.numbers.repost(number, domain)
        if repost is not None and moment.place(repost) >= 0:
            return make_response(town.renderer.original(repost, domain, signed_in=signed_in), posts=1)
        return NOT_FOUND

    def instance_v1(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return the instance, in the old form; with or without a slash behind, as Mastodon.py asks."""
        if asked.path.get("rest"):
            return NO_RECORD
        accounts, posts = self._sizes(domain)
        return make_response(orjson.dumps(render_instance_v1(domain, accounts, posts)))

    def rules(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return the rules of the instance."""
        return make_response(orjson.dumps(RULES))

    def instance_v2(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return the instance, in the new form."""
        if asked.path.get("rest"):
            return NO_RECORD
        return make_response(orjson.dumps(render_instance_v2(domain, self._sizes(domain)[0])))

    def _sizes(self, domain: str) -> tuple[int, int]:
        """Return how many accounts live there, and how many posts they wrote."""
        own = self._town.finding.living(domain)
        authors = self._town.world.author[: self._town.changes.moment.there]
        return int(np.count_nonzero(own)), int(np.count_nonzero(own[authors]))
