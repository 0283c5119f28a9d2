"""Groups of endpoints of one server that have windows in common, and which of these count a request. Pure.

Endpoints that name the same pool count together, and so do those that are linked by a third one: all of them are one
group, whose windows are one window set of a credential. A request takes a slot of those that count its endpoint.
"""

from collections.abc import Iterable
from typing import NamedTuple

from socialcrawl.ratelimit.policy import Policy, Pool, Rule


class EndpointPlaces(NamedTuple):
    """The windows of a pool group that count the requests to one endpoint, by their places; headers speak of a head."""

    windows: tuple[int, ...]
    heads: tuple[int, ...]


class PoolGroup:
    """Endpoints that have windows in common.

    Attributes:
        name: distinguishes it from others of the server; no endpoint has such a name.
        endpoints: their names in the policy.
    """

    def __init__(self, policy: Policy, endpoints: Iterable[str]) -> None:
        self.policy, self.endpoints = policy, tuple(sorted(endpoints))
        named = {pool.name: pool for name in self.endpoints for pool in policy.endpoints[name].pools}
        self.pools: tuple[Pool, ...] = tuple(named[name] for name in sorted(named))
        self.name = "/ " + "+".join(sorted(named))

    def list_rules(self, kind: str) -> tuple[Rule, ...]:
        """Return the rules of all its windows for tokens of a kind: of the pools, then of single endpoints."""
        return tuple(rule for _, rule in self._list_owned_rules(kind))

    def find_heads(self, kind: str) -> tuple[int, ...]:
        """Return the places of the first windows of its pools and endpoints, for tokens of a kind."""
        owners = [owner for owner, _ in self._list_owned_rules(kind)]
        return tuple(place for place, owner in enumerate(owners) if owner not in owners[:place])

    def find_places(self, endpoint: str, kind: str) -> EndpointPlaces:
        """Return the windows of an endpoint for tokens of a kind, in the order of its rules.

        All, if it has none for them.
        """
        its = [pool.name for pool in self.policy.endpoints[endpoint].pools] + [endpoint]
        owners = [owner for owner, _ in self._list_owned_rules(kind)]
        groups = [tuple(place for place, owner in enumerate(owners) if owner == name) for name in its]
        its_own = tuple(place for group in groups for place in group)
        return EndpointPlaces(
            its_own or tuple(range(len(owners))), tuple(group[0] for group in groups if group) or (0,)
        )

    def _list_owned_rules(self, kind: str) -> list[tuple[str, Rule]]:
        pools = [(pool.name, rule) for pool in self.pools for rule in pool.get_rules(kind)]
        own = [(name, rule) for name in self.endpoints for rule in self.policy.endpoints[name].get_own_rules(kind)]
        return pools + own


def group_pools(policy: Policy) -> dict[str, PoolGroup]:
    """Return the pool groups of a policy, by the names of their endpoints; endpoints without pools are in none."""
    groups: list[tuple[set[str], set[str]]] = []  # the pools and the endpoints of each
    for name, endpoint in policy.endpoints.items():
        pools, names = {pool.name for pool in endpoint.pools}, {name}
        if not pools:
            continue
        for group in [group for group in groups if group[0] & pools]:
            groups.remove(group)
            pools, names = pools | group[0], names | group[1]
        groups.append((pools, names))
    return {name: group for _, names in groups for group in [PoolGroup(policy, names)] for name in names}
