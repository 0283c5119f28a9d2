"""Who there is: how much each person writes, how famous each is, where each stands, and how many each mentions.

All draws are alike for all people, so that a node's number says nothing about it. People stand on a ring: those who
stand close are a community, large communities are made of small ones, and there is no edge.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    if speaks.sum() * most < links:  # so many links that everyone has to speak
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
