"""Who there is, and what they say.

How much each person writes, how famous each is, where each stands, and how many each mentions: all draws are alike for
all people, so that a node's number says nothing about it. People stand on a ring: those who stand close are a
community, large communities are made of small ones, and there is no edge.

The word comes to a person like calls to a telephone: at random, at a steady rate. Time runs until the share asked for
has used it; who used it early has used it often by then. Links the same, so that shares are met exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.graph.relevance import compute_worth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_LINKS = 3_000  # people one person mentions: what a timeline of a few thousand posts can hold
_ACTIVITY_TAIL = 1.1  # of the distribution function, so that densities fall with the power 2.1
_FAME_TAIL = 1.3
_FAME_OF_ACTIVITY = 0.8  # who writes more is mentioned more: fame grows with this power of activity
_SILENT = 0.6  # the share of those who write next to nothing that mention nobody at all
_WHIM = 0.3  # log-normal: how far mentions stray from activity
_SAMPLE = 1_000_000  # people on whom the scale is sought; all people refine it


@dataclass(frozen=True, slots=True)
class NodeProfiles:
    """All people, shape (users,) each.

    Attributes:
        activity: how much a person writes, in links that it would give on average; > 0.
        fame: how often a person is mentioned, in proportion; >= 1, heavy-tailed.
        degree: how many people a person mentions; the sum is the number of links asked for.
        ring: who stands at each place of the ring.
    """

    activity: Floats
    fame: Floats
    degree: Ints
    ring: NDArray[np.int32]


def draw_profiles(users: int, links: int, rng: np.random.Generator) -> NodeProfiles:
    """Return the people of a graph of that many links; `links` is at most users * most_links(users) / 2."""
    most = count_most_links(users) - 1.0  # rounding adds up to one
    zeal = rng.pareto(_ACTIVITY_TAIL, users) + 0.01
    speaks = rng.random(users) * (1.0 + zeal) >= _SILENT
    if speaks.sum() * most < links:  # with this many links, everyone has to mention somebody
        speaks[:] = True
    words = zeal * np.exp(_WHIM * rng.standard_normal(users)) * speaks
    scale = _find_scale(words, most, links / users)
    activity = np.minimum(scale * zeal, most)
    fame = (1.0 + activity) ** _FAME_OF_ACTIVITY * (1.0 + rng.pareto(_FAME_TAIL, users))
    ring = rng.permutation(np.arange(users, dtype=np.int32))
    return NodeProfiles(activity, fame, _round_shares(np.minimum(scale * words, most), links), ring)


def count_most_links(users: int) -> int:
    """Return the largest number of people that one of `users` people can mention."""
    return min(MOST_LINKS, users - 1)


def _find_scale(words: Floats, most: float, mean: float) -> float:
    """Return the factor that gives `words`, cut at `most`, that mean: found by halving on the logarithm."""
    low, high, sample = -40.0, 50.0, words[:_SAMPLE]
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(np.exp(middle) * sample, most).mean() < mean else (low, middle)
    scale = float(np.exp(high))
    for _ in range(5 if len(words) > _SAMPLE else 0):
        scale *= mean / float(np.minimum(scale * words, most).mean())
    return scale


def _round_shares(wish: Floats, total: int) -> Ints:
    """Return whole numbers in proportion to `wish`, each next to its share, that add up to `total` exactly."""
    ladder = np.cumsum(wish)
    ladder *= total / ladder[-1]
    counts = np.rint(ladder, out=ladder).astype(np.int64)
    counts[1:] -= counts[:-1].copy()
    return counts


MOST_OCCURRENCES = 3_000  # of the word in what one person wrote: one in each post of a full timeline
_TALK = 0.95  # occurrences grow with this power of activity
_FERVOUR = 0.6  # log-normal, per level of community
_TOPIC_WHIM = 0.4  # log-normal, per person
_SMALLEST = 100  # people in the smallest communities
_LOUD = 0.65  # a person's mentions that carry the word grow with this power of its occurrences
_TIE = 2.0  # log-normal, per link: some mention each other all the time
_ANSWER = 1.0  # how much likelier a mention of someone carries the word, per unit of that one's value
_CHUNK = 1_000_000  # links looked at in one go


@dataclass(frozen=True, slots=True)
class Weights:
    """The links that carry the word: their places among all links, ascending, and how often they carry it."""

    place: Ints
    occurrences: Ints


def draw_occurrences(people: NodeProfiles, speakers: int, rng: np.random.Generator) -> Ints:
    """Return how often each person uses the word, shape (users,): more than 0 for exactly `speakers` of them."""
    users = len(people.ring)
    rate = people.activity**_TALK * np.exp(_TOPIC_WHIM * rng.standard_normal(users))
    rate[people.ring] *= _draw_fervour(users, rng)
    first = rng.standard_exponential(users) / rate
    end = np.partition(first, speakers - 1)[speakers - 1]
    who = np.flatnonzero(first <= end)
    more = np.minimum((end - first[who]) * rate[who], MOST_OCCURRENCES)
    count = np.zeros(users, np.int64)
    count[who] = np.minimum(1 + rng.poisson(more), MOST_OCCURRENCES)
    return count


def _draw_fervour(users: int, rng: np.random.Generator) -> Floats:
    """Return how much the places of the ring care, shape (users,): each community as the larger one it is part of."""
    log = np.zeros(1)
    while len(log) * _SMALLEST * 4 <= users:
        log = np.repeat(log, 4)
        log += _FERVOUR * rng.standard_normal(len(log))
    return np.asarray(np.exp(log)[np.arange(users) * len(log) // users])


def compute_worths(counts: Ints) -> Floats:
    """Return the worth of each of `counts`, same shape: f of it (see `relevance.compute_worth`)."""
    table = np.array([compute_worth(count) for count in range(int(counts.max(initial=0)) + 1)])
    return np.asarray(table[counts])


def draw_link_words(
    indptr: Ints, indices: NDArray[np.int32], count: Ints, carriers: int, rng: np.random.Generator
) -> Weights:
    """Return the `carriers` links that carry the word: of people who use it, more of them the more they do.

    A link carries it at most as often as its person uses it. There have to be that many links of people who use it.
    """
    pull = (1.0 + _ANSWER * compute_worths(count)).astype(np.float32)
    place, first, rate = np.empty(0, np.int64), np.empty(0), np.empty(0)
    end = np.inf
    for begin, rates in _compute_rates(indptr, indices, count, pull):
        at = np.flatnonzero(rates)
        speed = rates[at] * np.exp(_TIE * rng.standard_normal(len(at)))
        time = rng.standard_exponential(len(at)) / speed
        early = time <= end
        place = np.concatenate([place, begin + at[early]])
        first, rate = np.concatenate([first, time[early]]), np.concatenate([rate, speed[early]])
        if len(place) > 3 * carriers + _CHUNK:
            place, first, rate, end = _find_earliest(carriers, place, first, rate)
    place, first, rate, end = _find_earliest(carriers, place, first, rate)
    most = count[np.searchsorted(indptr, place, side="right") - 1]
    more = rng.poisson(np.minimum((end - first) * rate, MOST_OCCURRENCES))
    return Weights(place, np.minimum(1 + more, most))


def _find_earliest(keep: int, place: Ints, first: Floats, rate: Floats) -> tuple[Ints, Floats, Floats, float]:
    end = float(np.partition(first, keep - 1)[keep - 1])
    early = first <= end
    return place[early], first[early], rate[early], end


def _compute_rates(
    indptr: Ints, indices: NDArray[np.int32], count: Ints, pull: NDArray[np.float32]
) -> Iterator[tuple[int, Floats]]:
    """Yield where a stretch of links begins, and how fast the word comes to each of them.

    Stretches follow each other.
    """
    for low, high in split_rows(indptr, _CHUNK):
        begin, end = int(indptr[low]), int(indptr[high])
        degree = np.diff(indptr[low : high + 1])
        speed = np.repeat(count[low:high] ** _LOUD / np.maximum(degree, 1), degree)
        talks = np.flatnonzero(speed)
        speed[talks] *= pull[indices[begin:end][talks]]
        yield begin, speed


def split_rows(indptr: Ints, links: int) -> Iterator[tuple[int, int]]:
    """Return the first and one past the last row of stretches of about that many links, which cover all rows."""
    edges = np.searchsorted(indptr, np.arange(0, int(indptr[-1]), links))
    edges = np.unique(np.concatenate([[0], edges, [len(indptr) - 1]]))
    yield from zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
