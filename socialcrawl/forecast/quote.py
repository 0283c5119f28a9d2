"""What a campaign needs before it ends, by endpoint: at most, and probably. Pure.

`bound_requests` bounds what a server can return that answers every request; retries come on top, within the budget.
It counts every step as a first visit, as one that goes back may return as much.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf

from socialcrawl.forecast.expected import (
    FULL,
    ReachedBudget,
    TypicalNeeds,
    count_unreturned,
    estimate_likely,
    plan_phases,
)
from socialcrawl.forecast.probe_requests import bound_probes, count_most_users
from socialcrawl.forecast.shape import (
    Amount,
    CampaignParameters,
    CampaignProgress,
    RemainingWork,
    StoredResources,
    bound_id_groups,
    compute_pace,
    compute_price,
    count_allowed,
    count_bursts,
    count_look_ups,
    find_counts_ahead,
    find_page_size,
    find_remaining,
    multiply,
)

UNKNOWN = Amount(inf, inf, inf, inf, inf)


@dataclass(frozen=True, slots=True)
class QuoteLine:
    """What is needed of one endpoint; `pace` is how many requests a second its windows allow, 0 if nobody may ask."""

    endpoint: str
    most: Amount
    likely: Amount
    pace: float


@dataclass(frozen=True, slots=True)
class Quote:
    """What a campaign still needs.

    Attributes:
        lines: by endpoint; `most` and `likely` are all of them together.
        done: what was done and spent before.
        soonest: the budget that is reached first if every page is full, every account has to be looked up, and no step
            goes back to one that was asked.
        reached: the budget that is probably reached first.
        allowed: n = k T / d, the timelines that the windows allow in the campaign's whole time; None without an end.
        typical: the numbers that `likely` rests on.
        alone: how many of the steps still to come go back to nobody, as nobody is rested; probably.
        ranges: between which numbers the probable total lies in 95 % of campaigns, see `estimate_range`.
        stored: what may be had without paying for it; of these the lower ends of `ranges` are without all.
        is_estimated: whether `likely` and `reached` are known; not where nobody counted how many posts match.
        counting: what counting them would cost at most, in mills; None where that is done or cannot be done.
    """

    lines: tuple[QuoteLine, ...]
    most: Amount
    likely: Amount
    done: CampaignProgress
    soonest: ReachedBudget | None
    reached: ReachedBudget | None
    allowed: int | None
    typical: TypicalNeeds
    alone: float = 0.0
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    stored: StoredResources = field(default_factory=StoredResources)
    is_estimated: bool = True
    counting: int | None = None


def make_quote(
    shape: CampaignParameters,
    typical: TypicalNeeds,
    done: CampaignProgress | None = None,
    now: float = 0.0,
    stored: StoredResources | None = None,
) -> Quote:
    """Return the quote for a campaign at `now` (Unix seconds), of which something may be done or `stored` already."""
    done, stored = done or CampaignProgress(), stored or StoredResources()
    most = bound_requests(shape, done, now)
    totals = bound_total(shape, most, done, now)
    if shape.matches or (shape.captures and shape.queries and typical.matches is None):
        return _quote_uncounted(shape, typical, done, now, stored)
    probably, together, reached = estimate_likely(shape, typical, done, now)
    counted_all = shape.captures and not shape.endless and reached is None  # no more posts match than were counted
    lasting = shape.caps.seconds
    return Quote(
        tuple(QuoteLine(name, most[name], probably.get(name, Amount()), compute_pace(shape, name)) for name in most),
        totals,
        together,
        done,
        None if counted_all else estimate_likely(replace(shape, back=0.0), FULL, done, now)[2],
        reached,
        None if lasting is None or shape.tests else count_allowed(shape, shape.roles.timeline, lasting),
        typical,
        count_unreturned(shape, typical, done, now),
        _clip_ranges(estimate_range(shape, typical, done, now, stored), totals),
        stored,
    )


def _quote_uncounted(
    shape: CampaignParameters, typical: TypicalNeeds, done: CampaignProgress, now: float, stored: StoredResources
) -> Quote:
    """Return the quote where nobody has counted how many posts match: only what bounds the campaign is known."""
    most = bound_requests(shape, done, now)
    lines = tuple(QuoteLine(name, most[name], UNKNOWN, compute_pace(shape, name)) for name in most)
    soonest = None if shape.matches else estimate_likely(shape, FULL, done, now)[2]
    totals = bound_total(shape, most, done, now)
    return Quote(lines, totals, UNKNOWN, done, soonest, None, None, typical, stored=stored, is_estimated=False)


def _clip_ranges(ranges: Mapping[str, tuple[float, float]], most: Amount) -> dict[str, tuple[float, float]]:
    """Return the ranges without what is above the most that can be needed; times are not bounded by it."""
    tops = {name: inf if name == "seconds" else getattr(most, name) for name in ranges}
    return {name: (min(low, tops[name]), min(high, tops[name])) for name, (low, high) in ranges.items()}


def estimate_range(
    shape: CampaignParameters,
    typical: TypicalNeeds,
    done: CampaignProgress,
    now: float = 0.0,
    stored: StoredResources | None = None,
) -> dict[str, tuple[float, float]]:
    """Return the 95 % ranges of the probable total: requests | posts | money | seconds; those that can be given.

    A range rests on the steps that were done, so there is none before them, nor while searches or seeds are to come.
    At its lower end the campaign needs all answers that are `stored`, and requests none of them again.
    """
    ahead = list(plan_phases(shape, typical, done, now))
    if not typical.spreads or any(phase.turns and phase.name not in ("steps", "tests") for phase in ahead):
        return {}
    _, _, reached = estimate_likely(shape, typical, done, now)
    turns = sum(phase.turns for phase in ahead) if reached is None else reached.turns
    known = {name: ends for name, one in typical.spreads.items() if (ends := one.compute_factors(turns)) is not None}
    if "requests" in known:
        known |= {"users": known["requests"]}
    lowest, highest = ({name: ends[place] for name, ends in known.items()} for place in (0, 1))
    low, high = (estimate_likely(shape, typical, done, now, scale=one)[1] for one in (lowest, highest))
    if stored is not None and stored.requests:
        left_over = {
            name: max(0.0, 1.0 - getattr(stored, name) / sent)
            for name in ("requests", "posts", "money")
            if (sent := getattr(low, name)) > 0.0
        }
        left_over["users"] = left_over.get("requests", 1.0)
        fewer = {name: factor * left_over.get(name, 1.0) for name, factor in lowest.items()}
        low = estimate_likely(shape, typical, done, now, scale=fewer)[1]
    named = [name for name in known if name != "users"] + ["seconds"] * ("requests" in known)
    return {name: (getattr(low, name), getattr(high, name)) for name in named}


def bound_requests(
    shape: CampaignParameters, done: CampaignProgress | None = None, now: float = 0.0
) -> dict[str, Amount]:
    """Return the most that each endpoint is still to be used for, under the budget; inf where nothing bounds it."""
    done = done or CampaignProgress()
    rest, roles = find_remaining(shape, done, now), shape.roles
    if shape.tests:
        return _bound_probes(shape, rest, done)
    searches = multiply(rest.queries, shape.pages_searched)
    steps = min(rest.steps, rest.nodes)
    accounts = min(rest.seeds + rest.steps, rest.nodes)
    # The id of a named account may be known, or become known by a search; then it is looked up by that.
    either = rest.names if shape.queries or done.known else 0
    groups = bound_id_groups(shape, rest, done.ids)
    # Every account after the seeds may be one that is known by its name only.
    pages = {roles.search: searches, roles.timeline: multiply(accounts, shape.pages_per_user), roles.posts: groups}
    if shape.inward and roles.inward:
        pages[roles.inward] = pages.get(roles.inward, 0) + steps
    twice = 2 if shape.heeds else 1  # who wrote the posts of a page, or those that it repeats, and then the posts
    asked = [
        (roles.search, twice * searches, 0.0, 0.0),
        *((name, searches, 0.0, 0.0) for name in shape.searched),
        (roles.by_name, count_look_ups(shape, rest.names) + (accounts if shape.heeds else steps), rest.names, steps),
        (roles.by_id, count_look_ups(shape, rest.ids + either), rest.ids + either, 0.0),
        (roles.timeline, twice * multiply(accounts, shape.pages_per_user), 0.0, 0.0),
        (roles.inward if shape.inward else "", twice * steps, 0.0, 0.0),
        (roles.match if shape.matches and accounts else "", inf, 0.0, 0.0),
        *((name, requests, 0.0, 0.0) for name, requests in find_counts_ahead(shape, done).items()),
        (roles.posts, twice * groups, 0.0, 0.0),
        (roles.by_id if shape.heeds else "", groups, done.ids, 0.0),
        *_bound_look_ups(shape, sum(pages.values()), accounts),
    ]
    sums: dict[str, tuple[float, float, float]] = {}  # one endpoint may do several things
    for name, requests, together, singly in asked:
        if requests and name:
            before = sums.get(name, (0.0, 0.0, 0.0))
            sums[name] = before[0] + requests, before[1] + together, before[2] + singly
    found = {
        name: _bound_endpoint(shape, rest, name, requests, pages.get(name, inf), together=together, singly=singly)
        for name, (requests, together, singly) in sums.items()
    }
    if roles.posts in found:  # the last group may be smaller
        found[roles.posts] = _bound_posts(shape, rest, found[roles.posts], done.ids)
    return found


def _bound_posts(shape: CampaignParameters, rest: RemainingWork, most: Amount, ids: int) -> Amount:
    """Return the most that fetching posts by their ids takes, of what groups of full size would."""
    posts, users = min(most.posts, ids), min(most.users, ids)
    fees = multiply(most.requests, shape.policy.compute_fee(shape.roles.posts))
    money = min(rest.money, compute_price(shape, posts, users) + fees)
    return replace(most, posts=posts, users=users, money=money)


def _bound_look_ups(shape: CampaignParameters, pages: float, accounts: float) -> list[tuple[str, float, float, float]]:
    """Return the look-ups of the authors on `pages`; those of `accounts` that are read tell of others besides."""
    if not shape.heeds:
        return []
    authors = multiply(pages, find_page_size(shape, shape.roles.search))
    together = multiply(accounts, shape.roles.together)
    return [
        (
            shape.roles.by_id,
            multiply(pages, count_look_ups(shape, find_page_size(shape, shape.roles.search))),
            authors + together,
            0.0,
        )
    ]


def _bound_probes(shape: CampaignParameters, rest: RemainingWork, done: CampaignProgress) -> dict[str, Amount]:
    """Return the most that testing the rest of an old dataset for life takes."""
    found: dict[str, Amount] = {}
    for one in bound_probes(shape, rest, done):
        most = _bound_endpoint(shape, rest, one.endpoint, one.requests, inf, together=one.users, singly=0.0)
        known = shape.policy.get_endpoint(one.endpoint)
        posts = min(one.posts, most.posts if known.returns == "post" else multiply(most.requests, known.page))
        money = min(
            rest.money,
            compute_price(shape, posts, most.users) + multiply(most.requests, shape.policy.compute_fee(one.endpoint)),
        )
        found[one.endpoint] = replace(most, posts=posts, money=money)
    return found


def bound_total(
    shape: CampaignParameters, lines: Mapping[str, Amount], done: CampaignProgress | None = None, now: float = 0.0
) -> Amount:
    """Return the most of all endpoints together: one after the other, under the budget."""
    rest = find_remaining(shape, done or CampaignProgress(), now)
    steps = count_most_users(shape, rest, done or CampaignProgress()) if shape.tests else min(rest.steps, rest.nodes)
    profiles = lines.get(shape.roles.search, Amount()).users + rest.names + rest.ids + steps
    profiles += lines.get(shape.roles.posts, Amount()).users
    if shape.heeds:  # a look-up tells of others besides, as often as there is one
        profiles = inf
    sums = {name: sum(getattr(line, name) for line in lines.values()) for name in Amount.__slots__}
    requests = min(sums["requests"], rest.requests)
    items = multiply(requests, max((shape.policy.get_endpoint(name).page for name in lines), default=0))
    bound = inf if shape.latest else min(rest.posts, rest.capped)  # posts that come with users are not counted
    posts = min(sums["posts"], items, bound, _count_payable(rest.money, shape, "post"))
    users = min(sums["users"], profiles, _count_payable(rest.money, shape, "user"))
    fees = sum(multiply(line.requests, shape.policy.compute_fee(name)) for name, line in lines.items())
    money = min(rest.money, compute_price(shape, posts, users) + fees)
    return Amount(requests, posts, users, money, min(rest.seconds, sums["seconds"]))


def _bound_endpoint(
    shape: CampaignParameters,
    rest: RemainingWork,
    endpoint: str,
    requests: float,
    pages: float,
    *,
    together: float,
    singly: float,
) -> Amount:
    """Return the most of one endpoint under what is left of the budget; users are looked up `together` or `singly`.

    `pages` is how many of the requests bring posts; inf: all may.
    """
    requests = min(requests, rest.requests, count_bursts(shape, endpoint, rest.seconds))
    known, speed = shape.policy.get_endpoint(endpoint), compute_pace(shape, endpoint)
    items = multiply(requests, known.page)
    expanded = shape.expanded and endpoint in (shape.roles.search, shape.roles.posts)
    users = items if expanded else together + min(singly, requests)
    read = min(items, multiply(pages, known.page), rest.posts, rest.capped, _count_payable(rest.money, shape, "post"))
    posts = read if known.returns == "post" else 0.0
    users = min(users, items, _count_payable(rest.money, shape, "user"))
    money = min(rest.money, compute_price(shape, posts, users) + multiply(requests, shape.policy.compute_fee(endpoint)))
    return Amount(requests, posts, users, money, min(rest.seconds, requests / speed) if speed else 0.0)


def _count_payable(money: float, shape: CampaignParameters, resource: str) -> float:
    """Return how many resources some mills pay for; inf if they are free."""
    each = shape.policy.compute_price(resource, 1)
    return money // each if each and money != inf else inf
