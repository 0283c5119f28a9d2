"""A platform's policy as a value: k requests per d seconds, page sizes and prices, read from `config/*.toml`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from socialcrawl.model import MILLS_PER_DOLLAR


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The policy of one endpoint: `k` requests per `d` seconds, `page` resources a request, what it returns."""

    k: int
    d: float
    page: int = 1
    returns: str = "post"


@dataclass(frozen=True, slots=True)
class Policy:
    """All endpoints of a platform, and the price of a resource in dollars by kind (`post`, `user`)."""

    platform: str
    base_url: str
    as_of: str
    endpoints: Mapping[str, Endpoint]
    prices: Mapping[str, float]

    def price(self, resource: str, count: int) -> int:
        """The price of `count` resources, in mills of a cent."""
        return round(self.prices.get(resource, 0.0) * MILLS_PER_DOLLAR) * count

    def most(self, endpoint: str, items: int) -> int:
        """The dearest price of a request that returns up to `items` resources."""
        return self.price(self.endpoints[endpoint].returns, items)

    def limited(self, k: int | None, d: float | None) -> "Policy":
        """The same policy with every window set to `k` per `d` seconds where these are given."""
        windows = {
            name: replace(endpoint, k=k or endpoint.k, d=d or endpoint.d) for name, endpoint in self.endpoints.items()
        }
        return replace(self, endpoints=windows)


def steps_in(seconds: float, endpoint: Endpoint) -> int:
    """The budget n = k T / d: requests that the windows allow in `seconds` (Gouriten et al., section 2.1)."""
    return int(endpoint.k * seconds / endpoint.d)
