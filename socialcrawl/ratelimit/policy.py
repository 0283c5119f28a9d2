"""A platform's policy as a value: windows, page sizes and prices, read from `config/*.toml`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from socialcrawl.engine.model import MILLS_PER_DOLLAR, Request
from socialcrawl.engine.protocols import Sums

ANY = "/*"  # the endpoint that stands for all paths of no other name
LISTS = ("ids", "usernames")  # parameters that name accounts, separated by commas


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
class Pool:
    """Windows that count the requests to several endpoints of one server together, by the kind of the token."""

    name: str
    app: tuple[Rule, ...] = ()
    user: tuple[Rule, ...] = ()
    public: tuple[Rule, ...] = ()

    def get_rules(self, kind: str) -> tuple[Rule, ...]:
        """Return the rules for tokens of a kind; public: without a token."""
        return self.user if kind == "user" else self.public if kind == "public" else self.app


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The policy of one endpoint.

    `app`, `user` and `public` are the rules for tokens of apps, of users, and for nobody's, all of which hold at once,
    the longest-known first (the one that rate-limit headers speak of); those of its `pools` come before. Without any,
    such tokens are not let in. `page` is the most resources of kind `returns` that one request brings, `smallest` the
    fewest that it may be asked for (0: it cannot be asked for fewer than all), `fee` its own price in dollars.
    `advance`: it is a stream's connection, and its page is paid for posts that may come before they are asked for.
    """

    app: tuple[Rule, ...] = ()
    user: tuple[Rule, ...] = ()
    page: int = 1
    returns: str = "post"
    fee: float = 0.0
    public: tuple[Rule, ...] = ()
    pools: tuple[Pool, ...] = ()
    smallest: int = 0
    advance: bool = False

    def get_own_rules(self, kind: str) -> tuple[Rule, ...]:
        """Return the rules for tokens of a kind that are of this endpoint alone."""
        return self.user if kind == "user" else self.public if kind == "public" else self.app

    def get_rules(self, kind: str) -> tuple[Rule, ...]:
        """Return all rules for tokens of a kind: those of its pools, then its own."""
        own = self.get_own_rules(kind)
        return (*(rule for pool in self.pools for rule in pool.get_rules(kind)), *own) if self.pools else own


@dataclass(frozen=True, slots=True)
class Tariff:
    """The mills of a post and of a user where each is billed once a UTC day."""

    post: int
    user: int


@dataclass(frozen=True, slots=True)
class Policy:
    """All endpoints of a platform, and the price of a resource in dollars by kind (`post`, `user`).

    `once_a_day`: a resource is billed once a UTC day. `cap` is the most posts of a billing cycle, None for no cap.
    `page_parameter` is the parameter that says how many resources a request asks for; "": there is none.
    """

    platform: str
    base_url: str
    as_of: str
    endpoints: Mapping[str, Endpoint]
    prices: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    once_a_day: bool = False
    cap: int | None = None
    page_parameter: str = ""

    def get_endpoint(self, name: str) -> Endpoint:
        """Return the policy of an endpoint, which may be named with its host.

        "/*" stands for all paths of no other name.

        Raises:
            KeyError: there is no such endpoint.
        """
        found = self.endpoints.get(name)
        return self.endpoints[self.find_key(name)] if found is None else found

    def find_key(self, name: str) -> str:
        """Return the name by which the endpoints know an endpoint, which may be named with its host.

        Raises:
            KeyError: there is no such endpoint.
        """
        if name in self.endpoints:
            return name
        bare = parse_path(name)
        found = bare if bare in self.endpoints else ANY
        if found not in self.endpoints or "/" not in bare:
            raise KeyError(name)
        return found

    def find_endpoint(self, name: str) -> Endpoint | None:
        """Return the policy of an endpoint, None where there is none of that name."""
        try:
            return self.get_endpoint(name)
        except KeyError:
            return None

    def compute_price(self, resource: str, count: int) -> int:
        """Return the price of `count` resources, in mills of a cent."""
        return round(self.prices.get(resource, 0.0) * MILLS_PER_DOLLAR) * count

    def compute_fee(self, endpoint: str) -> int:
        """Return the price of a request itself, in mills of a cent."""
        return round(self.get_endpoint(endpoint).fee * MILLS_PER_DOLLAR)

    def compute_most(self, endpoint: str, items: int) -> int:
        """Return the dearest price of a request that returns up to `items` resources."""
        return self.compute_price(self.get_endpoint(endpoint).returns, items) + self.compute_fee(endpoint)

    def count_posts(self, sums: Sums) -> int:
        """Return the posts that a part of a ledger may have read; of an endpoint that is not known here, none."""
        endpoint = self.find_endpoint(sums.endpoint)
        return 0 if endpoint is None else sums.posts + (sums.items if endpoint.returns == "post" else 0)

    def fit_page(self, request: Request, room: Callable[[int, int, int], float]) -> Request:
        """Return a request for as many of its resources as there is room for, and not fewer than the smallest page.

        What it leaves can be asked for later: nothing, or as much as the smallest page or more. Of accounts that are
        looked up it names the first ones.

        Args:
            request: for a page, or for accounts that it names.
            room: how many resources may be asked for, by the posts and mills that each can cost, and the mills of the
                request itself.
        """
        endpoint, items = self.get_endpoint(request.endpoint), request.items
        sizing = next((name for name in (self.page_parameter, *LISTS) if name in request.params), None)
        if not endpoint.smallest or not items or sizing is None:
            return request
        fee = self.compute_fee(request.endpoint)
        each = (request.most - fee) // items
        fits = room(int(endpoint.returns == "post"), each, fee)
        size = int(max(endpoint.smallest, min(fits, items - endpoint.smallest)))
        if fits >= items or size + endpoint.smallest > items:
            return request
        named = ",".join(request.params[sizing].split(",")[:size]) if sizing in LISTS else str(size)
        return replace(request, params={**request.params, sizing: named}, items=size, most=fee + each * size)

    @property
    def is_billed(self) -> bool:
        """Whether anything costs money."""
        return any(self.prices.values()) or any(endpoint.fee for endpoint in self.endpoints.values())

    @property
    def tariff(self) -> Tariff | None:
        """The prices of resources that are billed once a day; None where every reading is billed."""
        return Tariff(self.compute_price("post", 1), self.compute_price("user", 1)) if self.once_a_day else None

    def override_limits(self, k: int | None, d: float | None) -> "Policy":
        """Return the policy with a campaign's own rule for every endpoint and pool.

        `k` and `d` together replace all rules but those with a shorter window, such as one request per second, which
        the server keeps besides. One of them alone changes the first rule and leaves the others.
        """
        if k is None and d is None:
            return self
        return replace(
            self, endpoints={name: _override_rules(endpoint, k, d) for name, endpoint in self.endpoints.items()}
        )


def parse_host(endpoint: str) -> str:
    """Return the host that an endpoint is named with; empty where it is a path alone."""
    return endpoint[: max(0, endpoint.find("/"))]


def parse_path(endpoint: str) -> str:
    """Return the path of an endpoint, without the host that it may be named with."""
    return endpoint[len(parse_host(endpoint)) :]


def _override_rules(endpoint: Endpoint, k: int | None, d: float | None) -> Endpoint:
    """Return an endpoint under a campaign's own rule; of one with pools, each of them keeps its count under that."""
    whole = k is not None and d is not None

    def keep(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return tuple(rule for rule in rules if not whole or rule.d < (d or 0.0))

    def limit(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return (*(replace(rule, k=k or rule.k, d=d or rule.d) for rule in rules[:1]), *keep(rules[1:]))

    def limit_all(given: Pool | Endpoint) -> dict[str, tuple[Rule, ...]]:
        return {"app": limit(given.app), "user": limit(given.user), "public": limit(given.public)}

    if not endpoint.pools:
        return _replace_rules(endpoint, limit_all(endpoint))
    pools = tuple(Pool(pool.name, **limit_all(pool)) for pool in endpoint.pools)
    own = {kind: endpoint.get_own_rules(kind) for kind in ("app", "user", "public")}
    if whole:  # the rule of a pool is the given one already
        pooled = {kind for kind in own if any(pool.get_rules(kind) for pool in pools)}
        own = {kind: keep(rules) if kind in pooled else limit(rules) for kind, rules in own.items()}
    return _replace_rules(replace(endpoint, pools=pools), own)


def _replace_rules(endpoint: Endpoint, rules: Mapping[str, tuple[Rule, ...]]) -> Endpoint:
    return replace(endpoint, app=rules["app"], user=rules["user"], public=rules["public"])


def count_steps(seconds: float, rule: Rule) -> int:
    """Return the budget n = k T / d: requests that a window allows in `seconds` (Gouriten et al., section 2.1)."""
    return int(rule.k * seconds / rule.d)
