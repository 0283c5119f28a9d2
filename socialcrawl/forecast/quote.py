"""What a campaign needs before it ends, by endpoint: at most, and probably. Pure.

`at_most` bounds what a server can bring that answers every request; what fails is asked again and comes on top, but
never passes the budget. For it every step is a first visit: one that goes back may bring as much.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf

from socialcrawl.forecast.expected import FULL, Reached, Typical, likely, phases, unreturned
from socialcrawl.forecast.probe_requests import most_users, tests
from socialcrawl.forecast.shape import (
    Amount,
    Done,
    Left,
    Shape,
    Stored,
    allowed,
    bursts,
    full,
    left,
    looks,
    pace,
    price,
    times,
)


@dataclass(frozen=True, slots=True)
class Line:
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
        ranges: between which numbers the probable total lies in 95 % of campaigns, see `likely_range`.
        stored: what may be had without paying for it; of these the lower ends of `ranges` are without all.
    """

    lines: tuple[Line, ...]
    most: Amount
    likely: Amount
    done: Done
    soonest: Reached | None
    reached: Reached | None
    allowed: int | None
    typical: Typical
    alone: float = 0.0
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    stored: Stored = field(default_factory=Stored)


def quote(
    shape: Shape, typical: Typical, done: Done | None = None, now: float = 0.0, stored: Stored | None = None
) -> Quote:
    """Return the quote for a campaign at `now` (Unix seconds), of which something may be done or `stored` already."""
    done, stored = done or Done(), stored or Stored()
    most = at_most(shape, done, now)
    whole = total(shape, most, done, now)
    probably, together, reached = likely(shape, typical, done, now)
    lasting = shape.caps.seconds
    return Quote(
        tuple(Line(name, most[name], probably.get(name, Amount()), pace(shape, name)) for name in most),
        whole,
        together,
        done,
        likely(replace(shape, back=0.0), FULL, done, now)[2],
        reached,
        None if lasting is None or shape.tests else allowed(shape, shape.roles.timeline, lasting),
        typical,
        unreturned(shape, typical, done, now),
        _within(likely_range(shape, typical, done, now, stored), whole),
        stored,
    )


def _within(ranges: Mapping[str, tuple[float, float]], most: Amount) -> dict[str, tuple[float, float]]:
    """Return the ranges without what is above the most that can be needed; times are not bounded by it."""
    tops = {name: inf if name == "seconds" else getattr(most, name) for name in ranges}
    return {name: (min(low, tops[name]), min(high, tops[name])) for name, (low, high) in ranges.items()}


def likely_range(
    shape: Shape, typical: Typical, done: Done, now: float = 0.0, stored: Stored | None = None
) -> dict[str, tuple[float, float]]:
    """Return the 95 % ranges of the probable total: requests | posts | money | seconds; those that can be given.

    A range rests on the steps that were done, so there is none before them, nor while searches or seeds are to come.
    At its lower end the campaign needs all answers that are `stored`, and requests none of them again.
    """
    ahead = list(phases(shape, typical, done, now))
    if not typical.spreads or any(phase.turns and phase.name not in ("steps", "tests") for phase in ahead):
        return {}
    _, _, reached = likely(shape, typical, done, now)
    turns = sum(phase.turns for phase in ahead) if reached is None else reached.turns
    known = {name: ends for name, one in typical.spreads.items() if (ends := one.factors(turns)) is not None}
    if "requests" in known:
        known |= {"users": known["requests"]}
    lowest, highest = ({name: ends[place] for name, ends in known.items()} for place in (0, 1))
    low, high = (likely(shape, typical, done, now, scale=one)[1] for one in (lowest, highest))
    if stored is not None and stored.requests:
        left_over = {
            name: max(0.0, 1.0 - getattr(stored, name) / sent)
            for name in ("requests", "posts", "money")
            if (sent := getattr(low, name)) > 0.0
        }
        left_over["users"] = left_over.get("requests", 1.0)
        fewer = {name: factor * left_over.get(name, 1.0) for name, factor in lowest.items()}
        low = likely(shape, typical, done, now, scale=fewer)[1]
    named = [name for name in known if name != "users"] + ["seconds"] * ("requests" in known)
    return {name: (getattr(low, name), getattr(high, name)) for name in named}


def at_most(shape: Shape, done: Done | None = None, now: float = 0.0) -> dict[str, Amount]:
    """Return the most that each endpoint is still to be used for, under the budget; inf where nothing bounds it."""
    done = done or Done()
    rest, roles = left(shape, done, now), shape.roles
    if shape.tests:
        return _tests(shape, rest, done)
    searches = rest.queries * shape.search_pages
    steps = min(rest.steps, rest.nodes)
    accounts = min(rest.seeds + rest.steps, rest.nodes)
    # The id of a named account may be known, or become known by a search; then it is looked up by that.
    either = rest.names if shape.queries or done.known else 0
    # Every account after the seeds may be one that is known by its name only.
    pages = {roles.search: searches, roles.timeline: accounts * shape.pages_per_user}
    if shape.inward and roles.inward:
        pages[roles.inward] = pages.get(roles.inward, 0) + steps
    twice = 2 if shape.heeds else 1  # who wrote the posts of a page, or those that it repeats, and then the posts
    asked = [
        (roles.search, twice * searches, 0.0, 0.0),
        (roles.by_name, looks(shape, rest.names) + (accounts if shape.heeds else steps), rest.names, steps),
        (roles.by_id, looks(shape, rest.ids + either), rest.ids + either, 0.0),
        (roles.timeline, twice * accounts * shape.pages_per_user, 0.0, 0.0),
        (roles.inward if shape.inward else "", twice * steps, 0.0, 0.0),
        *_heeding(shape, sum(pages.values()), accounts),
    ]
    sums: dict[str, tuple[float, float, float]] = {}  # one endpoint may do several things
    for name, requests, together, singly in asked:
        if requests and name:
            before = sums.get(name, (0.0, 0.0, 0.0))
            sums[name] = before[0] + requests, before[1] + together, before[2] + singly
    return {
        name: _cut(shape, rest, name, requests, pages.get(name, inf), together=together, singly=singly)
        for name, (requests, together, singly) in sums.items()
    }


def _heeding(shape: Shape, pages: float, accounts: float) -> list[tuple[str, float, float, float]]:
    """Return the look-ups of the authors on so many pages; those of accounts that are read tell of others besides."""
    if not shape.heeds:
        return []
    authors = times(pages, full(shape, shape.roles.search))
    together = times(accounts, shape.roles.together)
    return [(shape.roles.by_id, times(pages, looks(shape, full(shape, shape.roles.search))), authors + together, 0.0)]


def _tests(shape: Shape, rest: Left, done: Done) -> dict[str, Amount]:
    """Return the most that testing the rest of an old dataset for life takes."""
    found: dict[str, Amount] = {}
    for one in tests(shape, rest, done):
        most = _cut(shape, rest, one.endpoint, one.requests, inf, together=one.users, singly=0.0)
        known = shape.policy.get_endpoint(one.endpoint)
        posts = min(one.posts, most.posts if known.returns == "post" else times(most.requests, known.page))
        money = min(
            rest.money, price(shape, posts, most.users) + times(most.requests, shape.policy.compute_fee(one.endpoint))
        )
        found[one.endpoint] = replace(most, posts=posts, money=money)
    return found


def total(shape: Shape, lines: Mapping[str, Amount], done: Done | None = None, now: float = 0.0) -> Amount:
    """Return the most of all endpoints together: one after the other, under the budget."""
    rest = left(shape, done or Done(), now)
    steps = most_users(shape, rest, done or Done()) if shape.tests else min(rest.steps, rest.nodes)
    profiles = lines.get(shape.roles.search, Amount()).users + rest.names + rest.ids + steps
    if shape.heeds:  # a look-up tells of others besides, as often as there is one
        profiles = inf
    sums = {name: sum(getattr(line, name) for line in lines.values()) for name in Amount.__slots__}
    requests = min(sums["requests"], rest.requests)
    items = times(requests, max((shape.policy.get_endpoint(name).page for name in lines), default=0))
    bound = inf if shape.latest else min(rest.posts, rest.capped)  # posts that come with users are not counted
    posts = min(sums["posts"], items, bound, _paid(rest.money, shape, "post"))
    users = min(sums["users"], profiles, _paid(rest.money, shape, "user"))
    fees = sum(times(line.requests, shape.policy.compute_fee(name)) for name, line in lines.items())
    money = min(rest.money, price(shape, posts, users) + fees)
    return Amount(requests, posts, users, money, min(rest.seconds, sums["seconds"]))


def _cut(
    shape: Shape, rest: Left, endpoint: str, requests: float, pages: float, *, together: float, singly: float
) -> Amount:
    """Return the most of one endpoint under what is left of the budget; users are looked up `together` or `singly`.

    `pages` is how many of the requests bring posts; inf: all may.
    """
    requests = min(requests, rest.requests, bursts(shape, endpoint, rest.seconds))
    known, speed = shape.policy.get_endpoint(endpoint), pace(shape, endpoint)
    items = times(requests, known.page)
    users = items if endpoint == shape.roles.search and shape.expanded else together + min(singly, requests)
    read = min(items, times(pages, known.page), rest.posts, rest.capped, _paid(rest.money, shape, "post"))
    posts = read if known.returns == "post" else 0.0
    users = min(users, items, _paid(rest.money, shape, "user"))
    money = min(rest.money, price(shape, posts, users) + times(requests, shape.policy.compute_fee(endpoint)))
    return Amount(requests, posts, users, money, min(rest.seconds, requests / speed) if speed else 0.0)


def _paid(money: float, shape: Shape, resource: str) -> float:
    """Return how many resources some mills pay for; inf if they are free."""
    each = shape.policy.compute_price(resource, 1)
    return money // each if each and money != inf else inf
