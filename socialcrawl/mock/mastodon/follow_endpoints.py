"""The endpoints that tell who follows whom."""

from collections.abc import Mapping

from socialcrawl.mock.mastodon.instance_world import Answer, InstanceWorld
from socialcrawl.mock.mastodon.instances import make_key
from socialcrawl.mock.mastodon.paging import cut_list, make_link_header, parse_whole_number, read_size
from socialcrawl.mock.mastodon.responses import join_array, make_response
from socialcrawl.mock.service import Guest, MockRequest, MockResponse

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
        row = town.there(town.instances.row(asked.path["id"], domain))
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
        body = join_array(town.renderer.account(other, domain) for other in others if town.listed(other))
        return make_response(body, headers=make_link_header(asked, ("limit",), older=older, newer=newer))
