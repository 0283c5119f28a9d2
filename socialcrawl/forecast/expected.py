"""What a campaign will probably need, and which budget it reaches first. Pure.

The campaign is gone through in its order, searches, look-ups, seeds, steps, each in mean numbers (`TypicalNeeds`),
until it is done or the next request finds no budget left. With the highest numbers (`FULL`) the same shows how soon a
budget can be reached at all.

Of a campaign that tracks accounts a share of the steps are returns, which bring only what is new. Nobody is gone back
to before the first account asked is rested. From then on somebody always is, if there is always somebody new to ask:
those asked for the first time a rest ago or earlier are never fewer than those gone back to since.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import ceil, floor, inf

from socialcrawl.forecast.probe_requests import plan_rounds
from socialcrawl.forecast.shape import (
    Amount,
    CampaignParameters,
    CampaignProgress,
    RemainingWork,
    compute_pace,
    compute_pool_pace,
    compute_price,
    count_bursts,
    count_id_groups,
    count_look_ups,
    count_pool_bursts,
    find_counts_ahead,
    find_page_size,
    find_remaining,
    multiply,
    sum_pools,
)
from socialcrawl.forecast.spread import Spread

COUNTED, STORED, ASSUMED, SAID = "counted", "stored", "assumed", "said"  # what a number rests on; SAID: by the settings
CAP = "cap"  # what is reached where the platform's cap on posts is
ID_GROUPS = "groups of ids"  # the phase in which posts are fetched by their ids
TOKENS = "tokens"  # what is reached where no token may ask an endpoint
REPOSTED = 10  # accounts that are looked up for each page of a timeline that is asked for twice; assumed
LOOKED = 0.2  # look-ups for each account that is read, where others are looked up with it that come next; assumed


@dataclass(frozen=True, slots=True)
class TypicalNeeds:
    """Mean numbers of what a platform answers.

    Attributes:
        posts_per_page: posts on a page of a timeline.
        more: the share of accounts that have another page after page 1, 2, ...; the last one holds for all further.
        missing: the share of accounts that cannot be read: one request, no posts.
        named: the share of accounts that are known by their name only, and looked up.
        authors: authors who are new, for each post that a search finds.
        answer: seconds for an answer.
        matches: posts that each search would find; None: as many as it may read.
        returned: posts that a return to an account brings: those since it was asked last.
        return_pages: requests of a timeline for that.
        return_named: the share of returns that begin with a look-up.
        again: the share of pages of a timeline that are asked for twice, where profiles come before posts: those on
            which an account repeats posts of others.
        spreads: how much the steps of the campaign differed, by what they need: requests | posts | money.
        rests: on what a number rests, by its name: COUNTED | STORED; ASSUMED where nothing is said.
    """

    posts_per_page: float = 70.0
    more: tuple[float, ...] = (0.7,)
    missing: float = 0.05
    named: float = 0.05
    authors: float = 0.8
    answer: float = 0.5
    matches: tuple[int, ...] | None = None
    returned: float = 10.0
    return_pages: float = 1.0
    return_named: float = 0.0
    again: float = 0.5
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    rests: Mapping[str, str] = field(default_factory=dict)

    def estimate_pages(self, most: int) -> float:
        """Return the mean number of pages of an account that can be read, of which at most `most` are asked for."""
        mean, reach = 1.0, 1.0
        for page in range(most - 1):
            reach *= self.more[min(page, len(self.more) - 1)]
            mean += reach
        return mean

    def explain_basis(self, name: str) -> str:
        """Return what the number `name` rests on."""
        return self.rests.get(name, ASSUMED)


FULL = TypicalNeeds(100.0, (1.0,), 0.0, 1.0, 1.0, 0.0, again=1.0)


@dataclass(frozen=True, slots=True)
class CampaignPhase:
    """A stretch of a campaign: `turns` times the same means by endpoint (without seconds), `nodes` asked in each.

    `before` are turns of an earlier stretch of that name, whose means were others.
    """

    name: str
    turns: float
    means: Mapping[str, Amount]
    nodes: int = 0
    before: float = 0.0


@dataclass(frozen=True, slots=True)
class ReachedBudget:
    """The budget that is reached first: its name (TOKENS: nobody may ask), in which phase, after how many turns."""

    budget: str
    phase: str
    turns: float


def estimate_likely(
    shape: CampaignParameters,
    typical: TypicalNeeds,
    done: CampaignProgress | None = None,
    now: float = 0.0,
    *,
    scale: Mapping[str, float] | None = None,
) -> tuple[dict[str, Amount], Amount, ReachedBudget | None]:
    """Return what each endpoint is probably still used for; the total; and the budget that is reached first, if any.

    The seconds of an endpoint are those of its windows; those of the total also those of the answers.

    Args:
        shape: the campaign.
        typical: what answers are like.
        done: what the campaign has done.
        now: the time, in Unix seconds.
        scale: by what the means are multiplied: requests | posts | users | money.
    """
    done = done or CampaignProgress()
    course = _ExpectedCourse(shape, typical, find_remaining(shape, done, now))
    ahead = (_scale_phase(phase, scale) if scale else phase for phase in plan_phases(shape, typical, done, now))
    reached = next((end for phase in ahead if (end := course.go(phase))), None)
    spent = course.spent
    return course.used, replace(spent, seconds=max(spent.seconds, course.waited)), reached


def _scale_phase(phase: CampaignPhase, scale: Mapping[str, float]) -> CampaignPhase:
    """Return a phase whose means are multiplied."""
    means = {
        endpoint: replace(mean, **{name: getattr(mean, name) * factor for name, factor in scale.items()})
        for endpoint, mean in phase.means.items()
    }
    return replace(phase, means=means)


def plan_phases(
    shape: CampaignParameters, typical: TypicalNeeds, done: CampaignProgress, now: float = 0.0
) -> Iterator[CampaignPhase]:
    """Yield what is left of a campaign, in its order."""
    if shape.tests:
        yield from _plan_probes(shape, typical, done, now)
        return
    if shape.captures:
        if done.ids and shape.roles.posts:
            yield _plan_ids(shape, done.ids)
        for name, requests in find_counts_ahead(shape, done).items():
            yield CampaignPhase("counts", requests, {name: _make_amount(shape, name, 1, 0, 0)})
        if shape.queries:
            yield _plan_slices(shape, typical, done)
        return
    roles, most = shape.roles, find_page_size(shape, shape.roles.search)
    reads, rest = _find_posts_ahead(shape, typical, done, now)
    for posts in reads:
        asked = max(1, ceil(posts / most))
        authors = posts * typical.authors if shape.expanded else 0.0
        yield CampaignPhase("searches", 1, _compute_search(shape, roles.search, asked, posts, authors=authors))
    for name, users in ((roles.by_name, rest.names), (roles.by_id, rest.ids)):
        if users and name:
            yield CampaignPhase(
                "look-ups", 1, {name: _make_amount(shape, name, count_look_ups(shape, users), 0, users)}
            )
    yield CampaignPhase("seeds", rest.seeds, _compute_account(shape, typical, 0.0), 1)
    alone = count_unreturned(shape, typical, done, now)
    if alone:
        yield CampaignPhase(
            "steps", alone, _compute_account(shape, typical, _compute_named_share(shape, typical.named)), 1
        )
    yield CampaignPhase("steps", rest.steps - alone, _compute_step(shape, typical), 1, alone)


def _plan_ids(shape: CampaignParameters, ids: int) -> CampaignPhase:
    """Return the rest of a list of ids, a group a turn, if the posts of all are there."""
    roles, groups = shape.roles, count_id_groups(shape, ids)
    posts, twice = ids / groups, 2 if shape.heeds else 1
    means = {roles.posts: _make_amount(shape, roles.posts, twice, posts, posts if shape.expanded else 0.0)}
    if shape.heeds:
        means[roles.by_id] = _make_amount(shape, roles.by_id, 1, 0, posts)
    return CampaignPhase(ID_GROUPS, groups, means)


def _plan_slices(shape: CampaignParameters, typical: TypicalNeeds, done: CampaignProgress) -> CampaignPhase:
    """Return the rest of a capture, a page a turn: as many as it needs for the posts that match, if these were counted.

    Each slice is at least one page, and the last page of a slice is half full in the mean. Slices that are cut by
    counts are not meant to have less than a page.
    """
    endpoint = shape.roles.search
    size = find_page_size(shape, endpoint)
    turns, posts = inf, float(size)
    if typical.matches is not None:
        matches = sum(typical.matches)
        cuts = [(found, _count_slices(shape, found / size)) for found in typical.matches]
        pages = sum(slices * max(1.0, found / (slices * size) + 0.5) for found, slices in cuts)
        turns = pages * max(0.0, 1.0 - done.posts / matches) if matches else max(0.0, pages - done.steps)
        posts = matches / pages if pages else 0.0
    authors = posts * typical.authors if shape.expanded else 0.0
    return CampaignPhase("pages", turns, {endpoint: _make_amount(shape, endpoint, 1, posts, authors)})


def _count_slices(shape: CampaignParameters, pages: float) -> float:
    """Return into how many slices a query's span is cut at first, whose posts fill this number of pages."""
    return min(shape.parts, max(1.0, pages)) if shape.counts else shape.parts


def _plan_probes(
    shape: CampaignParameters, typical: TypicalNeeds, done: CampaignProgress, now: float
) -> Iterator[CampaignPhase]:
    """Yield the rest of an old dataset, an account a turn: who is learned from, then the others."""
    before = 0.0
    for users, asked in plan_rounds(shape, find_remaining(shape, done, now), done, typical.missing):
        means = {one.endpoint: _make_amount(shape, one.endpoint, one.requests, one.posts, one.users) for one in asked}
        yield CampaignPhase("tests", users, means, 1, before)
        before += users


def count_unreturned(
    shape: CampaignParameters, typical: TypicalNeeds, done: CampaignProgress, now: float = 0.0
) -> float:
    """Return how many steps to come are done before the first account is rested: all of them first visits.

    A campaign that never expands has none, however long it waits.
    """
    if not 0 < shape.back < 1:
        return 0.0
    _, rest = _find_posts_ahead(shape, typical, done, now)
    resting = max(0.0, shape.rest - (0.0 if done.began is None else now - done.began))
    return min(rest.steps, max(0, floor(resting * _compute_speed(shape, typical) - rest.seeds)))


def _find_posts_ahead(
    shape: CampaignParameters, typical: TypicalNeeds, done: CampaignProgress, now: float
) -> tuple[list[int], RemainingWork]:
    """Return the posts that each remaining search reads, and what is left to do if they bring as many authors."""
    most = shape.search_pages * find_page_size(shape, shape.roles.search)
    matches = typical.matches or (most,) * shape.queries
    ahead = find_remaining(shape, done, now).queries
    reads = [min(found, most) for found in matches[len(matches) - min(ahead, len(matches)) :]]
    rest = find_remaining(shape, done, now, authors=sum(reads) * typical.authors)
    return reads[: rest.queries], rest


def _compute_speed(shape: CampaignParameters, typical: TypicalNeeds) -> float:
    """Return the first visits per second that the windows and the answers allow; 0 if nobody may ask."""
    means = {
        name: mean.requests
        for name, mean in _compute_account(shape, typical, _compute_named_share(shape, typical.named)).items()
    }
    speeds = [compute_pace(shape, name) / requests for name, requests in means.items() if requests]
    speeds += [compute_pool_pace(shape, pool) / asked for pool, asked in sum_pools(shape, means).items() if asked]
    waited = sum(means.values()) * typical.answer / shape.flight
    return min([*speeds, *([1 / waited] if waited else [])], default=0.0)


def _compute_step(shape: CampaignParameters, typical: TypicalNeeds) -> dict[str, Amount]:
    """Return the mean of a step, with this number of steps that go back."""
    first = _compute_account(shape, typical, _compute_named_share(shape, typical.named))
    if shape.inward and shape.roles.inward:
        found = min(find_page_size(shape, shape.roles.inward), typical.posts_per_page)
        for name, asked in _compute_search(
            shape, shape.roles.inward, 1, found, authors=0, strangers=found * typical.authors
        ).items():
            first[name] = _add_amounts(first.get(name, Amount()), asked)
    if not shape.back:
        return first
    again = _compute_return(shape, typical)
    names = dict.fromkeys([*first, *again])
    return {
        name: _add_amounts(_scale_mean(first.get(name), 1.0 - shape.back), _scale_mean(again.get(name), shape.back))
        for name in names
    }


def _compute_return(shape: CampaignParameters, typical: TypicalNeeds) -> dict[str, Amount]:
    """Return the mean of a revisit: what is new, and a look-up only where the platform needs one each time."""
    roles = shape.roles
    most, pages = (
        shape.pages_per_user * find_page_size(shape, roles.timeline),
        min(typical.return_pages, shape.pages_per_user),
    )
    twice = typical.again if shape.heeds else 0.0
    asked = pages * (1.0 + twice) if typical.explain_basis("return_pages") == ASSUMED else pages
    means = {roles.timeline: _make_amount(shape, roles.timeline, asked, min(typical.returned, most), 0)}
    if (named := _compute_named_share(shape, typical.return_named)) and roles.by_name:
        look = _make_amount(shape, roles.by_name, named, 0, named)
        means[roles.by_name] = _add_amounts(means.get(roles.by_name, Amount()), look)
    return means


def _compute_named_share(shape: CampaignParameters, named: float) -> float:
    """Return the share of accounts that are looked up before they are read: `named` are those known by name only."""
    return max(named, LOOKED) if shape.heeds else named


def _compute_search(
    shape: CampaignParameters,
    endpoint: str,
    pages: float,
    posts: float,
    *,
    authors: float,
    strangers: float | None = None,
) -> dict[str, Amount]:
    """Return the mean of a search for posts; where profiles come before posts, its authors are looked up in between.

    `strangers` are the authors who have to be; None: all.
    """
    asked = _make_amount(shape, endpoint, 2 * pages if shape.heeds else pages, posts, authors)
    if not shape.heeds:
        return {endpoint: asked}
    users = authors if strangers is None else strangers
    return {
        endpoint: asked,
        shape.roles.by_id: _make_amount(shape, shape.roles.by_id, count_look_ups(shape, users), 0, users),
    }


def _scale_mean(mean: Amount | None, share: float) -> Amount:
    if mean is None:
        return Amount()
    return Amount(share * mean.requests, share * mean.posts, share * mean.users, share * mean.money)


def _compute_account(shape: CampaignParameters, typical: TypicalNeeds, named: float) -> dict[str, Amount]:
    """Return the mean of asking one account: perhaps a look-up by name, then its pages."""
    roles = shape.roles
    # Whose id nobody knows is mostly gone: the look-up finds that out, else the first page does.
    absent = 0.0 if shape.heeds else min(named, typical.missing)
    pages = (1.0 - typical.missing) * typical.estimate_pages(shape.pages_per_user)
    posts = pages * min(find_page_size(shape, roles.timeline), typical.posts_per_page)
    twice = pages * typical.again if shape.heeds else 0.0
    means = {roles.timeline: _make_amount(shape, roles.timeline, pages + twice + typical.missing - absent, posts, 0)}
    if named and roles.by_name:
        look = _make_amount(shape, roles.by_name, named, 0, named - absent)
        means[roles.by_name] = _add_amounts(means.get(roles.by_name, Amount()), look)
    if twice and roles.by_id:
        users = REPOSTED * twice
        look = _make_amount(shape, roles.by_id, twice * count_look_ups(shape, REPOSTED), 0, users)
        means[roles.by_id] = _add_amounts(means.get(roles.by_id, Amount()), look)
    return means


def _make_amount(shape: CampaignParameters, endpoint: str, requests: float, posts: float, users: float) -> Amount:
    money = compute_price(shape, posts, users) + requests * shape.policy.compute_fee(endpoint)
    return Amount(requests, posts, users, money)


class _ExpectedCourse:
    """A campaign on its way: `used` by endpoint and `spent` in all, whose seconds are those of the slowest endpoint."""

    def __init__(self, shape: CampaignParameters, typical: TypicalNeeds, rest: RemainingWork) -> None:
        self.shape, self.answer, self.rest = shape, typical.answer / shape.flight, rest
        self.used: dict[str, Amount] = {}
        self.spent = Amount()
        self.nodes = 0.0

    @property
    def waited(self) -> float:
        """Seconds until all answers so far have come."""
        return multiply(self.spent.requests, self.answer)

    def go(self, phase: CampaignPhase) -> ReachedBudget | None:
        """Go through a phase, or through as much of it as the budget allows; then the budget that was reached."""
        bounds = self._bounds(phase)
        budget = min(bounds, key=lambda name: bounds[name])
        turns = min(phase.turns, max(0.0, bounds[budget]))
        seconds = [self._use(name, mean, turns) for name, mean in phase.means.items()]
        together = sum_pools(self.shape, {name: multiply(turns, mean.requests) for name, mean in phase.means.items()})
        speeds = ((asked, compute_pool_pace(self.shape, pool)) for pool, asked in together.items())
        seconds += [asked / speed for asked, speed in speeds if speed]
        self.spent = replace(self.spent, seconds=self.spent.seconds + max(seconds))
        self.nodes += multiply(turns, phase.nodes)
        return ReachedBudget(budget, phase.name, phase.before + turns) if turns < phase.turns else None

    def _use(self, endpoint: str, mean: Amount, turns: float) -> float:
        """Count some turns of an endpoint; the seconds that its windows take for them."""
        speed = compute_pace(self.shape, endpoint)
        requests, posts, users, money = (
            multiply(turns, each) for each in (mean.requests, mean.posts, mean.users, mean.money)
        )
        part = Amount(requests, posts, users, money, requests / speed if speed else 0.0)
        self.used[endpoint] = _add_amounts(self.used.get(endpoint, Amount()), part)
        self.spent = _add_amounts(self.spent, replace(part, seconds=0.0))
        return part.seconds

    def _bounds(self, phase: CampaignPhase) -> dict[str, float]:
        """Return the turns of a phase that each budget allows."""
        rest, spent, means = self.rest, self.spent, phase.means
        requests = sum(mean.requests for mean in means.values())
        closed = any(mean.requests and not compute_pace(self.shape, name) for name, mean in means.items())
        return {
            TOKENS: 0.0 if closed else inf,
            "max_nodes": _divide(rest.nodes - self.nodes, phase.nodes),
            "max_requests": _divide(rest.requests - spent.requests, requests),
            "max_posts": self._count_payable_turns(phase, "posts", rest.posts - spent.posts),
            CAP: self._count_payable_turns(phase, "posts", rest.capped - spent.posts),
            "max_money": self._count_payable_turns(phase, "money", rest.money - spent.money),
            "max_time": min(
                _divide(rest.seconds - self.waited, requests * self.answer),
                *(self._count_turns_in_time(name, mean.requests) for name, mean in means.items()),
                *self._count_turns_in_pools({name: mean.requests for name, mean in means.items()}),
            ),
        }

    def _count_turns_in_time(self, endpoint: str, requests: float) -> float:
        used = self.used.get(endpoint, Amount()).requests
        return _divide(count_bursts(self.shape, endpoint, self.rest.seconds) - used, requests)

    def _count_turns_in_pools(self, requests: Mapping[str, float]) -> Iterator[float]:
        """Yield the turns for which each pool has room in the campaign's time."""
        used = sum_pools(self.shape, {name: amount.requests for name, amount in self.used.items()})
        for pool, each in sum_pools(self.shape, requests).items():
            yield _divide(count_pool_bursts(self.shape, pool, self.rest.seconds) - used.get(pool, 0.0), each)

    def _count_payable_turns(self, phase: CampaignPhase, what: str, amount: float) -> float:
        """Return the turns that a number of posts or mills allows: a request leaves only if its dearest can be paid."""
        each = sum(getattr(mean, what) for mean in phase.means.values())
        dearest, usual = max(
            (self._find_dearest(name, mean, what) for name, mean in phase.means.items()), default=(0, 0)
        )
        search = self.shape.policy.get_endpoint(self.shape.roles.search) if self.shape.captures else None
        if search is not None and search.smallest:  # the last pages are smaller, so that the budget is used up
            return _divide(amount, each) if amount >= dearest * search.smallest / search.page else 0.0
        return _divide(amount - dearest + usual, each) if amount >= dearest else 0.0

    def _find_dearest(self, endpoint: str, mean: Amount, what: str) -> tuple[float, float]:
        """Return the most posts or mills that one request may bring, and the mean."""
        known, roles = self.shape.policy.get_endpoint(endpoint), self.shape.roles
        usual = getattr(mean, what) / mean.requests if mean.requests else 0.0
        if known.returns != "post":
            return usual, usual  # a look-up says how many it asks for
        users = known.page if self.shape.expanded and endpoint in (roles.search, roles.posts) else 0
        money = compute_price(self.shape, known.page, users) + self.shape.policy.compute_fee(endpoint)
        return (known.page if what == "posts" else money), usual


def _add_amounts(one: Amount, other: Amount) -> Amount:
    return Amount(
        one.requests + other.requests,
        one.posts + other.posts,
        one.users + other.users,
        one.money + other.money,
        one.seconds + other.seconds,
    )


def _divide(amount: float, each: float) -> float:
    return amount / each if each else inf
