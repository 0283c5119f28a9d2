"""The endpoints that tell who follows whom."""

from collections.abc import Mapping

from socialcrawl.mock.mastodon.instance_world import Answer, Town
from socialcrawl.mock.mastodon.instances import key_of
from socialcrawl.mock.mastodon.paging import cut, links, size, whole
from socialcrawl.mock.mastodon.responses import array, told
from socialcrawl.mock.service import Asked, Guest, Told

ACCOUNTS, MOST_ACCOUNTS = 40, 80


class Following:
    """Answers with follows, each (request, who asks, instance) -> answer; of hidden accounts nobody is told."""

    def __init__(self, town: Town) -> None:
        self._town = town

    def answers(self) -> Mapping[str, Answer]:
        """Return the endpoints by template."""
        return {"/api/v1/accounts/:id/following": self.following, "/api/v1/accounts/:id/followers": self.followers}

    def following(self, asked: Asked, guest: Guest, domain: str) -> Told:
        """Return whom an account follows: those whom it mentions, the first mentioned first."""
        return self._list(asked, domain, backwards=False)

    def followers(self, asked: Asked, guest: Guest, domain: str) -> Told:
        """Return who follows an account: those who mention it, the first to do so first."""
        return self._list(asked, domain, backwards=True)

    def _list(self, asked: Asked, domain: str, *, backwards: bool) -> Told:
        town, follows = self._town, self._town.follows
        row = town.there(town.instances.row(asked.path["id"], domain))
        if isinstance(row, Told):
            return row
        found = follows.of(row, town.changes.moment, backwards=backwards)[: None if town.open(row) else 0]
        # The first follow has the largest id, as lists begin with that.
        largest = 10**15 + key_of(domain) % 10**15
        given = {name: whole(value) for name in ("max_id", "min_id", "since_id") if (value := asked.one(name))}
        part = cut(
            (largest - found)[::-1],
            size(asked, ACCOUNTS, MOST_ACCOUNTS),
            below=given.get("max_id"),
            above=given.get("min_id", given.get("since_id")),
            upward="min_id" in given,
        )
        others = (follows.followers if backwards else follows.followed)[largest - part.members].tolist()
        ids = part.members.tolist()
        older, newer = (ids[-1] if part.full else None), (ids[0] if ids else None)
        body = array(town.renderer.account(other, domain) for other in others if town.listed(other))
        return told(body, headers=links(asked, ("limit",), older=older, newer=newer))
