"""What testing the rest of an old dataset for life takes, by endpoint: at most, and in the mean. Pure.

A request tests as many accounts as the platform takes at once. It holds fewer at the end of a round, as who is learned
from is tested before the order begins, and where some of a batch are known by name and others by id, which takes a
request of each kind. An account that turns out to be one from outside of the dataset is tested as that one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, inf

from socialcrawl.forecast.shape import CampaignParameters, CampaignProgress, RemainingWork

ROUNDS = 2


@dataclass(frozen=True, slots=True)
class ProbeRequests:
    """What one endpoint is asked: how many requests, for how many users, which bring how many posts."""

    endpoint: str
    requests: float
    users: float = 0.0
    posts: float = 0.0


def bound_probes(shape: CampaignParameters, rest: RemainingWork, done: CampaignProgress) -> list[ProbeRequests]:
    """Return the most of each endpoint, regardless of the budget."""
    users = count_most_users(shape, rest, done)
    full, roles = _bound_requests(shape, users, done), shape.roles
    names = min(done.named, users) if roles.probe_named else 0
    ids = min(max(0, done.dataset - done.tested) - names + done.again, users)
    # However the two kinds are mixed, no batch takes more requests of one kind than if all of it were of that kind.
    asked = [
        ProbeRequests(name, min(some, full), some, some if shape.latest else 0.0)
        for name, some in ((roles.probe_named, names), (roles.probe, ids))
    ]
    return [one for one in (*asked, ProbeRequests(roles.last, users, 0.0, users)) if one.endpoint and one.requests]


def count_most_users(shape: CampaignParameters, rest: RemainingWork, done: CampaignProgress) -> float:
    """Return the most tests that are left."""
    bound = inf if shape.steps is None else max(0, shape.steps - done.steps)
    return min(rest.steps + done.again, bound, rest.nodes)


def plan_rounds(
    shape: CampaignParameters, rest: RemainingWork, done: CampaignProgress, gone: float
) -> Iterator[tuple[float, list[ProbeRequests]]]:
    """Return of each round how many accounts it tests, and the mean of one; `gone` is the share of missing ones."""
    users, roles = rest.steps, shape.roles
    named = done.named / (done.dataset - done.tested) if users and roles.probe_named else 0.0
    first = min(users, max(0, shape.learning[1] - done.tested))
    for size in filter(None, (first, users - first)):
        full = ceil(size / roles.probed)
        asked = [
            ProbeRequests(name, min(share * size, full) / size, share, share * (1.0 - gone) if shape.latest else 0.0)
            for name, share in ((roles.probe_named, named), (roles.probe, 1.0 - named))
        ]
        last = ProbeRequests(roles.last, 1.0 - gone, 0.0, 1.0 - gone)
        yield size, [one for one in (*asked, last) if one.endpoint and one.requests]


def _bound_requests(shape: CampaignParameters, users: float, done: CampaignProgress) -> float:
    """Return the most requests for this number of users, if all of them can be named in one.

    Each round ends with a part of one.
    """
    width, (least, most) = shape.roles.probed, shape.learning
    if users == inf:
        return inf
    if least == most and not done.steps and not done.again:
        first = min(most, users)
        return ceil(first / width) + ceil((users - first) / width)
    parts = ROUNDS if most else 1
    parts *= 2 if done.again else 1  # who is tested as somebody else comes after those of the round
    return min(users, (users + parts * (width - 1)) // width)
