"""A platform's policy as a value: windows, page sizes and prices, read from `config/*.toml`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from socialcrawl.model import MILLS_PER_DOLLAR


@dataclass(frozen=True, slots=True)
class Rule:
    """At most `k` requests per `d` seconds.

    `kind`: fixed (opened by its first request: X, Bluesky) | aligned (to the server's clock: Mastodon) | sliding (any d
    seconds: servers of which nothing is known, and spacing such as one a second).
    """

    k: int
    d: float
    kind: str = "fixed"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The policy of one endpoint.

    `app` and `user` are the rules for tokens of apps and of users, all of which hold at once, the longest-known first
    (the one that rate-limit headers speak of); without any, such tokens are not let in. `page` is the most resources
    of kind `returns` that one request brings, `fee` its own price in dollars.
    """

    app: tuple[Rule, ...] = ()
    user: tuple[Rule, ...] = ()
    page: int = 1
    returns: str = "post"
    fee: float = 0.0

    def rules(self, kind: str) -> tuple[Rule, ...]:
        """The rules for tokens of a kind."""
        return self.user if kind == "user" else self.app


@dataclass(frozen=True, slots=True)
class Tariff:
    """The mills of a post and of a user where each is billed once a UTC day."""

    post: int
    user: int


@dataclass(frozen=True, slots=True)
class Policy:
    """All endpoints of a platform, and the price of a resource in dollars by kind (`post`, `user`).

    `once_a_day`: a resource is billed once a UTC day. `cap` is the most posts of a billing cycle, None for no cap.
    """

    platform: str
    base_url: str
    as_of: str
    endpoints: Mapping[str, Endpoint]
    prices: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    once_a_day: bool = False
    cap: int | None = None

    def price(self, resource: str, count: int) -> int:
        """The price of `count` resources, in mills of a cent."""
        return round(self.prices.get(resource, 0.0) * MILLS_PER_DOLLAR) * count

    def fee(self, endpoint: str) -> int:
        """The price of a request itself, in mills of a cent."""
        return round(self.endpoints[endpoint].fee * MILLS_PER_DOLLAR)

    def most(self, endpoint: str, items: int) -> int:
        """The dearest price of a request that returns up to `items` resources."""
        return self.price(self.endpoints[endpoint].returns, items) + self.fee(endpoint)

    @property
    def tariff(self) -> Tariff | None:
        """The prices of resources that are billed once a day; None where every reading is billed."""
        return Tariff(self.price("post", 1), self.price("user", 1)) if self.once_a_day else None

    def limited(self, k: int | None, d: float | None) -> "Policy":
        """The same policy where the first rule of every endpoint has `k` requests and `d` seconds, where given."""
        if k is None and d is None:
            return self
        return replace(self, endpoints={name: _limited(endpoint, k, d) for name, endpoint in self.endpoints.items()})


def _limited(endpoint: Endpoint, k: int | None, d: float | None) -> Endpoint:
    def limited(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return (*(replace(rule, k=k or rule.k, d=d or rule.d) for rule in rules[:1]), *rules[1:])

    return replace(endpoint, app=limited(endpoint.app), user=limited(endpoint.user))


def steps_in(seconds: float, rule: Rule) -> int:
    """The budget n = k T / d: requests that a window allows in `seconds` (Gouriten et al., section 2.1)."""
    return int(rule.k * seconds / rule.d)
