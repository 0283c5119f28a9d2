"""The synthetic network: who there is, what they care about, how much they post and whom they know.

People are numbered by topic, then community, then interest. Topics and communities are therefore ranges of
numbers, and one running sum of fame serves every draw: inside a community, a topic, its kin, or among everyone.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_POSTS = 3_000  # of an ordinary user: below the 3,200 that a timeline on X gives
PROLIFIC_POSTS = (3_300, 5_000)  # of a prolific one: above it, so that the truncation shows
MOST_TIES = 150
NEARNESS = 0.15  # how far from one's own interest one befriends, as a share of the community's fame
ANSWERED = 0.2  # the share of ties that are returned, where the other posts at all
_DRAW_PEOPLE, _DRAW_POSTS, _DRAW_TIES = 1, 2, 3


@dataclass(frozen=True, slots=True)
class NetworkAccounts:
    """All accounts, row by row: `posts` is 0 for those who are only mentioned; `interest` lies in [0, 1]."""

    topic: Ints
    community: Ints
    interest: Floats
    fame: Floats
    posts: Ints


@dataclass(frozen=True, slots=True)
class Ties:
    """Whom each account knows: rows `first[u]` to `first[u + 1]` of `known`, the dearest first."""

    first: Ints
    known: Ints


def compute_topic_shares(topics: int) -> Floats:
    """Return the share of people in each topic, shape (topics,), falling slowly from the first to the last."""
    weight = 1.0 / (np.arange(topics) + 4.0)
    return np.asarray(weight / weight.sum())


def draw_accounts(users: int, silent: int, topics: int, seed: int) -> NetworkAccounts:
    """Return the people: `users` who will post and `silent` who will not, in `topics` topics; no posts counted yet."""
    rng = np.random.default_rng([seed, _DRAW_PEOPLE])
    total = users + silent
    topic = _split(total, compute_topic_shares(topics))
    community = _draw_communities(topic)
    # Communities differ in fervour: a crawler that finds a fervent one does well to stay.
    fervour = rng.uniform(0.5, 1.5, int(community[-1]) + 1)
    interest = np.minimum(rng.beta(0.9, 2.0, total) * fervour[community], 1.0)
    interest = interest[np.lexsort((interest, community))]
    fame = np.minimum((1.0 + rng.pareto(1.4, total)) * (0.5 + interest), 2_000.0)
    posts = np.zeros(total, dtype=np.int64)
    posts[rng.permutation(total)[:users]] = 1
    return NetworkAccounts(topic, community, interest, fame, posts)


def _split(total: int, shares: Floats) -> Ints:
    """Part numbers 0, 0, ..., 1, ... of `total` things, in proportion to `shares`."""
    bounds = np.rint(np.cumsum(shares) * total).astype(np.int64)
    return np.repeat(np.arange(len(shares)), np.diff(bounds, prepend=0))


def _draw_communities(topic: Ints) -> Ints:
    """Return community numbers: a topic of m members has about sqrt(m / 50), of unequal sizes."""
    parts: list[Ints] = []
    start = 0
    for members in np.bincount(topic).tolist():
        count = max(1, int(np.sqrt(members / 50)))
        weight = 1.0 / (np.arange(count) + 2.0)
        parts.append(start + _split(members, weight / weight.sum()))
        start += count
    return np.concatenate(parts)


def draw_post_counts(people: NetworkAccounts, mean: float, prolific: int, seed: int) -> NetworkAccounts:
    """Return the same people with posts counted: log-normal around `mean` per user, `prolific` of them above 3,200."""
    rng = np.random.default_rng([seed, _DRAW_POSTS])
    who = np.flatnonzero(people.posts)
    zeal = np.exp(1.3 * rng.standard_normal(len(who)) + 0.25 * np.log(people.fame[who]))
    scale = mean / zeal.mean()
    for _ in range(8):  # floor and cap move the mean: pull it back
        scale *= mean / np.clip(scale * zeal, 1, MOST_POSTS).mean()
    count = np.rint(np.clip(scale * zeal, 1, MOST_POSTS)).astype(np.int64)
    count[rng.permutation(len(who))[:prolific]] = rng.integers(*PROLIFIC_POSTS, min(prolific, len(who)))
    posts = np.zeros(len(people.posts), dtype=np.int64)
    posts[who] = count
    return NetworkAccounts(people.topic, people.community, people.interest, people.fame, posts)


def draw_ties(people: NetworkAccounts, homophily: float, seed: int) -> Ties:
    """Return the ties of all people: a share of `homophily` sought near in interest, the others by fame."""
    rng = np.random.default_rng([seed, _DRAW_TIES])
    size = np.minimum(1 + 1.5 * people.posts**0.6, MOST_TIES).astype(np.int64) * (people.posts > 0)
    first = np.concatenate([[0], np.cumsum(size)])
    owner = np.repeat(np.arange(len(size)), size)
    mean = min(max(homophily, 0.01), 0.99)  # the beta distribution has no 0 and no 1
    faithful = rng.beta(6 * mean, 6 * (1 - mean), len(size))  # those with little of it are the bridges
    inside = rng.random(len(owner)) < faithful[owner]
    known = np.where(inside, _draw_nearby(people, owner, rng), _draw_afar(people, owner, rng))
    known = _return_ties(known, owner, first, size, rng)
    known = np.where(known == owner, (known + 1) % len(size), known)
    return Ties(first, known)


def _return_ties(known: Ints, owner: Ints, first: Ints, size: Ints, rng: np.random.Generator) -> Ints:
    """Return the ties with some of them returned: the person known gives one of the own ties to the one who knows."""
    heard = np.flatnonzero((rng.random(len(owner)) < ANSWERED) & (size[known] > 0))
    fan, star = owner[heard], known[heard]
    answered = known.copy()
    answered[first[star] + (size[star] * rng.random(len(star))).astype(np.int64)] = fan
    return answered


def _compute_ladder(people: NetworkAccounts) -> Floats:
    """Return the running sum of fame, shape (people + 1,): a uniform draw on it falls on the famous more often."""
    return np.concatenate([[0.0], np.cumsum(people.fame)])


def _find_ranges(group: Ints, member: Ints) -> tuple[Ints, Ints]:
    """Return the first and one past the last person of each of the groups `member`."""
    edges = np.concatenate([[0], np.cumsum(np.bincount(group))])
    return edges[member], edges[member + 1]


def _draw_nearby(people: NetworkAccounts, owner: Ints, rng: np.random.Generator) -> Ints:
    ladder = _compute_ladder(people)
    low, high = _find_ranges(people.community, people.community[owner])
    own = (ladder[owner] + ladder[owner + 1]) / 2
    place = (own - ladder[low]) / (ladder[high] - ladder[low]) + NEARNESS * rng.standard_normal(len(owner))
    place = np.clip(1 - np.abs(1 - np.abs(place)), 0, 1)  # reflected at both ends
    return _find_rung(ladder, low, high, place)


def _draw_afar(people: NetworkAccounts, owner: Ints, rng: np.random.Generator) -> Ints:
    """Return someone by fame alone: of the same topic (30 %), of its kin (30 %), of everyone (40 %)."""
    topics = int(people.topic[-1]) + 1
    own = people.topic[owner]
    kin = np.minimum(own ^ 1, topics - 1)  # the last of an odd number is its own kin
    where = rng.random(len(owner))
    low, high = _find_ranges(people.topic, np.where(where < 0.3, own, kin))
    anyone = where >= 0.6
    low, high = np.where(anyone, 0, low), np.where(anyone, len(people.topic), high)
    return _find_rung(_compute_ladder(people), low, high, rng.random(len(owner)))


def _find_rung(ladder: Floats, low: Ints, high: Ints, place: Floats) -> Ints:
    """Return the person at `place` in [0, 1] of the stretch of the ladder from `low` to `high`."""
    height = ladder[low] + place * (ladder[high] - ladder[low])
    found = np.searchsorted(ladder, height, side="right") - 1
    return np.clip(found, low, high - 1)
