"""The endpoints that tell of one account, one status, the instance, or the asker."""

from collections.abc import Mapping

import numpy as np
import orjson

from socialcrawl.mock.mastodon.instance_info import RULES, asker, instance_v1, instance_v2
from socialcrawl.mock.mastodon.instance_world import Answer, Town
from socialcrawl.mock.mastodon.paging import whole
from socialcrawl.mock.mastodon.responses import BAD_TOKEN, NO_RECORD, NOT_FOUND, array, told
from socialcrawl.mock.service import Asked, Guest, Told

_MOST_ACCOUNTS = 40


class Single:
    """Answers about single things, each (request, who asks, instance) -> answer."""

    def __init__(self, town: Town) -> None:
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

    def lookup(self, asked: Asked, guest: Guest, domain: str) -> Told:
        """Return an account by `name`, or `name@domain` where it lives elsewhere."""
        return self._told(self._town.there(self._town.instances.find(asked.one("acct") or "", domain)), domain)

    def account(self, asked: Asked, guest: Guest, domain: str) -> Told:
        """Return an account by the id that this instance gave it."""
        return self._told(self._town.there(self._town.instances.row(asked.path["id"], domain)), domain)

    def _told(self, row: int | Told, domain: str) -> Told:
        return row if isinstance(row, Told) else told(self._town.renderer.account(row, domain))

    def accounts(self, asked: Asked, guest: Guest, domain: str) -> Told:
        """Return accounts by several `id[]`; those that are not there are left out."""
        given = [value for name, value in asked.query if name in ("id[]", "id")][:_MOST_ACCOUNTS]
        rows = [self._town.there(self._town.instances.row(number, domain)) for number in dict.fromkeys(given)]
        return told(array(self._town.renderer.account(row, domain) for row in rows if isinstance(row, int)))

    def verify_credentials(self, asked: Asked, guest: Guest, domain: str) -> Told:
        """Return the account of the asker, which a token names."""
        if guest.kind == "public":
            return BAD_TOKEN
        return told(orjson.dumps(asker(guest.label, domain, self._town.profiles.stranger(domain))))

    def status(self, asked: Asked, guest: Guest, domain: str) -> Told:
        """Return a status by the id that this instance gave it."""
        town, number, signed_in = self._town, whole(asked.path["id"]), guest.kind != "public"
        post = town.numbers.post(number, domain)
        moment = town.changes.moment
        if post is not None and moment.place(post) >= 0 and town.open(int(town.world.author[post])):
            return told(town.renderer.status(post, domain, signed_in=signed_in), posts=1)
        repost = town.numbers.repost(number, domain)
        if repost is not None and moment.place(repost) >= 0:
            return told(town.renderer.original(repost, domain, signed_in=signed_in), posts=1)
        return NOT_FOUND

    def instance_v1(self, asked: Asked, guest: Guest, domain: str) -> Told:
        """Return the instance, in the old form; with or without a slash behind, as Mastodon.py asks."""
        if asked.path.get("rest"):
            return NO_RECORD
        accounts, posts = self._sizes(domain)
        return told(orjson.dumps(instance_v1(domain, accounts, posts)))

    def rules(self, asked: Asked, guest: Guest, domain: str) -> Told:
        """Return the rules of the instance."""
        return told(orjson.dumps(RULES))

    def instance_v2(self, asked: Asked, guest: Guest, domain: str) -> Told:
        """Return the instance, in the new form."""
        if asked.path.get("rest"):
            return NO_RECORD
        return told(orjson.dumps(instance_v2(domain, self._sizes(domain)[0])))

    def _sizes(self, domain: str) -> tuple[int, int]:
        """Return how many accounts live there, and how many posts they wrote."""
        own = self._town.finding.living(domain)
        authors = self._town.world.author[: self._town.changes.moment.there]
        return int(np.count_nonzero(own)), int(np.count_nonzero(own[authors]))
