"""What people say: who uses the word how often, and in which mentions.

The word comes to a person like calls to a telephone: at random, at a steady rate. Time runs until the share asked for
has used it; who used it early has used it often by then. Links the same, so that shares are met exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.graph.relevance import compute_worth
from socialcrawl.lab.generators.twitterlike.people import Floats, Ints, NodeProfiles

MOST_OCCURRENCES = 3_000  # of the word in what one person wrote: one in each post of a full timeline
_TALK = 0.95  # occurrences grow with this power of activity
_FERVOUR = 0.6  # log-normal, per level of community
_WHIM = 0.4  # log-normal, per person
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
    rate = people.activity**_TALK * np.exp(_WHIM * rng.standard_normal(users))
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
