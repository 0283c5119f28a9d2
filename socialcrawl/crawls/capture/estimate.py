"""How many posts a capture would return in all, from the parts that it has read in random order. Pure.

With order = "even" the parts of the span are read in an order drawn at random, so those that were read are a simple
random sample of all. The posts of the others are predicted by their mean, with an interval by Student's t (Cochran,
Sampling Techniques, 3rd edition, sections 2.6 and 2.13: the total of a finite population). Where a budget ends a
capture in the middle of a part, that part counts too, with its posts in proportion to the time read: without it, parts
with many posts would be missing more often. Two things make such an interval too narrow:

- Posts come in bursts, so the truth is more often far above the estimate than below: the upper end is that of an
  interval on a logarithmic scale.
- A budget in posts reads LEAST parts early only if they have few posts, and leaves REST parts late only if it read
  those with many: near both limits the interval is widened, by NEAR_LEAST and NEAR_REST.

`make coverage ONLY=captures` measures this (docs/explanation/coverage.md, "Volumes of captures"; a small version is a
test, test_captures_coverage). With 64 parts, for words of two corpora of real posts and for generated volumes, at least
91 of 100 intervals shown hold the truth at each budget of 20 to 90 % of all posts.
"""

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from socialcrawl.forecast.intervals import CONFIDENCE, find_quantile

LEAST = 16  # parts that were read, at least, for an estimate
FILLED = 8  # of them with posts
REST = 8  # parts that are left, at least: of fewer, each one matters too much
NEAR_LEAST, NEAR_REST = 0.5, 0.2  # by how much the interval is wider where LEAST parts were read, or REST are left
VAGUE = 2.0  # of an interval that reaches further, in posts that are probably left, nothing is shown


@dataclass(frozen=True, slots=True)
class VolumeEstimate:
    """How many posts a span has: those read, those of all of it (estimated) and an interval for that.

    Attributes:
        value: the estimate.
        low, high: the ends of the interval; low is at least the posts read.
    """

    value: float
    low: float
    high: float


def estimate_volume(whole: NDArray[np.float64], partial: tuple[float, float], parts: int) -> VolumeEstimate | None:
    """Return how many posts all parts have together; None where too few were read, too few are left, or all is vague.

    Args:
        whole: float64[n], the posts of the parts that were read to the end.
        partial: of the part that was begun and not read to the end, the posts and the share of its time that was read;
            (0, 0): there is none.
        parts: how many parts there are.
    """
    posts, share = partial
    counted = np.append(whole, posts / share) if share > 0 else whole
    n, left = len(counted), parts - len(counted)
    if n < LEAST or left < REST or np.count_nonzero(counted) < FILLED:
        return None
    read, known, rest = float(whole.sum()) + posts, float(counted.sum()), left * float(counted.mean())
    wider = 1.0 + NEAR_LEAST * (LEAST / n) ** 2 + NEAR_REST * (REST / left) ** 2
    spread = wider * find_quantile(n - 1, CONFIDENCE) * float(counted.std(ddof=1)) * sqrt(left * parts / n)
    if spread > VAGUE * rest:
        return None
    low, high = known + rest - spread, known + rest * exp(spread / rest)
    return VolumeEstimate(known + rest, max(read, low), high)
