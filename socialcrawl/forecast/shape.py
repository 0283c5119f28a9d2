"""A campaign in numbers, what is left of it, and what the windows allow: what quotes are made of. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, floor, inf

from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.policy import Policy, Pool, Rule, count_steps

LOOK_UP = 100  # users of one look-up
HOUR = 3_600.0  # seconds
SHORTEST = 28 * 86_400.0  # seconds of the shortest billing cycle


@dataclass(frozen=True, slots=True)
class EndpointRoles:
    """The endpoints of a platform, by what a crawl does with them; `together` users are looked up in one request.

    `probe` tells of `probed` users at once who is there, `probe_named` of those who are known by their name only where
    that is another endpoint, `last` of one who is when it posted last, where the former does not tell that; `inward`
    finds the posts that mention a user. "": there is none. `heeds` says that posts come without what their authors say
    in their profiles, which are looked up before where that counts. `latest` says that `probe` may also bring the
    latest post, which is billed. `posts` fetches posts by their ids, `stream` reads the
    stream of new posts, `match` finds the posts of many accounts that match.
    """

    search: str
    by_name: str
    by_id: str
    timeline: str
    following: str = ""
    together: int = LOOK_UP
    probe: str = ""
    probe_named: str = ""
    probed: int = 1
    last: str = ""
    latest: bool = False
    inward: str = ""
    heeds: bool = False
    posts: str = ""
    stream: str = ""
    match: str = ""


@dataclass(frozen=True, slots=True)
class CampaignParameters:
    """A campaign in numbers; None is no limit.

    Attributes:
        policy: rules, page sizes and prices.
        roles: which endpoint does what.
        kinds: of the credentials, app | user | public.
        queries, search_pages: the searches, and the pages that each may read.
        expanded: whether searches bring the authors' profiles, which are billed; else they are looked up.
        usernames: accounts that are named.
        most_found: the most accounts that searches add to them.
        pages_per_user: the most pages of a timeline.
        steps: n, accounts to read after the seeds.
        max_nodes: the most accounts to ask, seeds included.
        caps: the rest of the budget.
        flight: requests in flight at most.
        back: p, how many of the steps go back to an account that was asked, where one is rested.
        rest: seconds that an account is left alone after it was asked.
        tests: whether steps test an old dataset for life, and ask for nobody's posts.
        learning: of tests, at least and at most how many come before the order begins, as a round of their own.
        latest: whether a test also brings the latest post, which is billed.
        inward: whether steps also ask who mentions an account.
        heeds: whether accounts are looked up before their posts are read; see `EndpointRoles`.
        captures: whether searches are read to their end, however many pages they have.
        searched: of captures, the endpoints that searches use besides that of `roles`.
        parts: of captures, into how many slices of time each query's span is cut at first.
        endless: of captures, whether they go on with new posts.
        counts: of captures, the requests at most that count posts before slices are cut, by endpoint.
        segment: of captures that read a stream, the seconds of it that a request asks for; 0: they read none.
        matches: whether accounts are read by searches for those of their posts that match, of any number of pages.
    """

    policy: Policy
    roles: EndpointRoles
    kinds: tuple[str, ...] = ("app",)
    queries: int = 0
    search_pages: int = 1
    expanded: bool = False
    usernames: int = 0
    most_found: int | None = None
    pages_per_user: int = 1
    steps: int | None = None
    max_nodes: int | None = None
    caps: Caps = field(default_factory=Caps)
    flight: int = 1
    back: float = 0.0
    rest: float = 0.0
    tests: bool = False
    learning: tuple[int, int] = (0, 0)
    latest: bool = False
    inward: bool = False
    heeds: bool = False
    captures: bool = False
    searched: tuple[str, ...] = ()
    parts: int = 1
    endless: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    segment: float = 0.0
    matches: bool = False

    @property
    def pages_searched(self) -> float:
        """The most pages of a search."""
        return inf if self.captures else self.search_pages


@dataclass(frozen=True, slots=True)
class CampaignProgress:
    """What a campaign has done and spent already; nothing, if it has not begun.

    Attributes:
        requests, posts, money: as the planner counts them, what was never settled at its dearest; money in mills.
        began: when its first request left (Unix seconds).
        queries: searches finished; `found`: the authors that they have found.
        looked_up: seeds that were looked up, `gone` those of them that cannot be asked.
        asked: accounts asked, however that ended: what max_nodes counts.
        seeds: accounts asked before the steps began, `waiting` those that are to be asked again.
        steps: accounts asked after the seeds, each as often as it was.
        known: accounts among the usernames whose ids the database knows.
        dataset: accounts of an old dataset.
        tested: those of them that need no other test.
        named: those of the others that are known by their name only; `again` of these may turn out to be accounts
            from outside of the dataset, which are then asked in their place.
        new_queries: searches of the file that are not finished, `new_names` usernames of the file that were not looked
            up: they count where accounts were read already, as those of a changed file do.
        ids: imported ids of posts that are still to be asked for.
    """

    requests: int = 0
    posts: int = 0
    money: int = 0
    began: float | None = None
    queries: int = 0
    found: int = 0
    looked_up: int = 0
    gone: int = 0
    asked: int = 0
    seeds: int = 0
    waiting: int = 0
    steps: int = 0
    known: int = 0
    dataset: int = 0
    tested: int = 0
    named: int = 0
    again: int = 0
    new_queries: int = 0
    new_names: int = 0
    ids: int = 0


@dataclass(frozen=True, slots=True)
class StoredResources:
    """What a campaign may get without paying for it: how much of it that is, is not known beforehand.

    Attributes:
        requests, posts, money: fresh answers that other campaigns of the database have stored, to questions that this
            one has not asked yet; money in mills.
        billed_posts, billed_users: those that were billed today (UTC) already.
    """

    requests: int = 0
    posts: int = 0
    money: int = 0
    billed_posts: int = 0
    billed_users: int = 0


@dataclass(frozen=True, slots=True)
class RemainingWork:
    """What is left to do at most, and of the budget; inf where nothing bounds it. `seconds` of max_time.

    `capped` is what the platform's cap allows in the billing cycles that max_time can touch.
    """

    queries: int
    found: float
    names: float
    ids: float
    seeds: float
    steps: float
    nodes: float
    requests: float
    posts: float
    money: float
    seconds: float
    capped: float


@dataclass(frozen=True, slots=True)
class Amount:
    """Requests, the posts and users that are billed for them, mills, and the seconds that the windows take for them."""

    requests: float = 0.0
    posts: float = 0.0
    users: float = 0.0
    money: float = 0.0
    seconds: float = 0.0


def count_segments(shape: CampaignParameters) -> float:
    """Return how many requests an hour read the stream of a capture; twice as many where authors come before posts."""
    return (2 if shape.heeds else 1) * HOUR / shape.segment if shape.segment else 0.0


def find_remaining(
    shape: CampaignParameters, done: CampaignProgress, now: float = 0.0, *, authors: float | None = None
) -> RemainingWork:
    """Return what is left of a campaign at `now` (Unix seconds), if the remaining searches find `authors` (None: all).

    Searches, look-ups, seeds and steps follow each other: a campaign at one of them is done with those before, except
    for searches and names that a changed file added.
    """
    caps, at_seeds = shape.caps, done.asked > 0
    begun = at_seeds or done.looked_up > 0
    queries = min(shape.queries, done.new_queries) if begun else max(0, shape.queries - done.queries)
    queries = shape.queries if shape.captures else queries
    posts = multiply(queries, shape.pages_searched * find_page_size(shape, shape.roles.search))
    more = posts if authors is None or not queries else authors
    fresh = min(_bound(shape.most_found), more)  # a new topic may find as many again
    found = done.found + fresh if begun else min(_bound(shape.most_found), done.found + more)
    names = min(shape.usernames, done.new_names) if at_seeds else max(0, shape.usernames - done.looked_up)
    ids = fresh if at_seeds else max(0, shape.usernames + found - done.looked_up - names)
    lasting = max(0.0, _bound(caps.seconds) - (0.0 if done.began is None else now - done.began))
    cycles = inf if lasting == inf else floor(lasting / SHORTEST) + 2
    seeds = done.waiting + names + fresh if done.steps else max(0, shape.usernames + found - done.gone - done.seeds)
    steps = max(0, _bound(shape.steps) - done.steps)
    return RemainingWork(
        queries=queries,
        found=found,
        names=names,
        ids=0 if shape.expanded else ids,
        seeds=seeds,
        steps=min(steps, done.dataset - done.tested) if shape.tests else steps,
        nodes=max(0, _bound(shape.max_nodes) - done.asked),
        requests=max(0, _bound(caps.requests) - done.requests),
        posts=max(0, _bound(caps.posts) - done.posts),
        money=max(0, _bound(caps.money) - done.money),
        seconds=lasting,
        capped=multiply(cycles, _bound(shape.policy.cap)),
    )


def find_counts_ahead(shape: CampaignParameters, done: CampaignProgress) -> Mapping[str, int]:
    """Return the requests at most that still count posts, by endpoint: none once a slice was read."""
    return {} if done.steps else shape.counts


def compute_price(shape: CampaignParameters, posts: float, users: float) -> float:
    """Return the price of posts and users, in mills."""
    return multiply(posts, shape.policy.compute_price("post", 1)) + multiply(
        users, shape.policy.compute_price("user", 1)
    )


def find_page_size(shape: CampaignParameters, endpoint: str) -> int:
    """Return the most resources that a request to an endpoint brings; 0 where the platform has none for that."""
    return shape.policy.get_endpoint(endpoint).page if endpoint else 0


def count_look_ups(shape: CampaignParameters, users: float) -> float:
    """Return the requests that look up this number of users."""
    return users if users == inf else ceil(users / shape.roles.together)


def sum_pools(shape: CampaignParameters, requests: Mapping[str, float]) -> dict[Pool, float]:
    """Return the requests to endpoints, by the pools that count them together."""
    found: dict[Pool, float] = {}
    for name, count in requests.items():
        for pool in shape.policy.get_endpoint(name).pools:
            found[pool] = found.get(pool, 0.0) + count
    return found


def compute_pool_pace(shape: CampaignParameters, pool: Pool) -> float:
    """Return the requests per second that the windows of a pool allow in the long run, over all credentials."""
    return sum(min(rule.k / rule.d for rule in rules) for kind in shape.kinds if (rules := pool.get_rules(kind)))


def count_pool_bursts(shape: CampaignParameters, pool: Pool, seconds: float) -> float:
    """Return the most requests that any course of the windows of a pool lets leave in `seconds`."""
    return sum(
        min(_count_burst(rule, seconds) for rule in rules) for kind in shape.kinds if (rules := pool.get_rules(kind))
    )


def compute_pace(shape: CampaignParameters, endpoint: str) -> float:
    """Return the requests per second that the windows allow in the long run: the sum of k/d over all credentials."""
    return sum(min(rule.k / rule.d for rule in rules) for rules in _list_rules(shape, endpoint))


def count_allowed(shape: CampaignParameters, endpoint: str, seconds: float) -> int:
    """Return the budget n = k T / d over all credentials (Gouriten et al., section 2.1)."""
    return sum(min(count_steps(seconds, rule) for rule in rules) for rules in _list_rules(shape, endpoint))


def count_windows(shape: CampaignParameters, endpoint: str, requests: float) -> float:
    """Return how many windows have to open for this number of requests, if all credentials are used to the full."""
    rules = _list_rules(shape, endpoint)
    if not requests or requests == inf or not rules:
        return inf if requests else 0
    longest = max(rule.d for several in rules for rule in several[:1])
    return ceil(requests / (compute_pace(shape, endpoint) * longest) - 1e-9)


def count_bursts(shape: CampaignParameters, endpoint: str, seconds: float) -> float:
    """Return the most requests that any course of the windows lets leave in `seconds`."""
    return sum(min(_count_burst(rule, seconds) for rule in rules) for rules in _list_rules(shape, endpoint))


def count_id_groups(shape: CampaignParameters, ids: int) -> int:
    """Return the groups in which this number of posts is fetched by their ids."""
    return -(-ids // max(1, find_page_size(shape, shape.roles.posts))) if shape.roles.posts else 0


def bound_id_groups(shape: CampaignParameters, rest: RemainingWork, ids: int) -> int:
    """Return the most groups in which this number of posts is fetched: near the end of a budget they are smaller.

    A group that does not fit asks for fewer posts, and of these all may be gone, so that nothing is used up. Groups are
    whole until the budget has less than a group left.
    """
    whole, endpoint = count_id_groups(shape, ids), shape.policy.find_endpoint(shape.roles.posts)
    price = shape.policy.compute_price("post", 1) + shape.policy.compute_price("user", 1) * shape.expanded
    fits = min(rest.posts, rest.capped, rest.money // price if price else inf)
    if not whole or fits >= ids or endpoint is None or not endpoint.smallest:
        return whole
    page = find_page_size(shape, shape.roles.posts)
    before = max(0, int(fits) - page + 1)  # posts that came before a group is smaller
    return -(-before // page) - (before - ids) // endpoint.smallest


def multiply(count: float, each: float) -> float:
    """Return the product; 0 times infinity is 0."""
    return count * each if count and each else 0.0


def _count_burst(rule: Rule, seconds: float) -> float:
    if seconds == inf:
        return inf
    return rule.k * (ceil(seconds / rule.d) + (rule.kind == "aligned" and seconds > 0))


def _list_rules(shape: CampaignParameters, endpoint: str) -> list[tuple[Rule, ...]]:
    """Return the rules of each credential that may ask an endpoint at all."""
    known = shape.policy.get_endpoint(endpoint)
    return [rules for kind in shape.kinds if (rules := known.get_rules(kind))]


def _bound(number: float | None) -> float:
    return inf if number is None else number
