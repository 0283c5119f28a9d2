"""How many posts a capture would return in all, from the parts that it has read in random order. Pure.

With order = "even" the parts of the span are read in an order drawn at random, so those that were read are a simple
random sample of all. The posts of the others are predicted by their mean, with an interval by Student's t (Cochran,
Sampling Techniques, 3rd edition, sections 2.6 and 2.13: the total of a finite population). Where a budget ends a
capture in the middle of a part, that part counts too, with its posts in proportion to the time read: without it, parts
with many posts would be missing more often. As posts come in bursts, intervals of t are too narrow: they are widened by
WIDER.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from socialcrawl.forecast.intervals import CONFIDENCE, find_quantile

LEAST = 16  # parts that were read, at least, for an estimate
FILLED = 8  # of them with posts
REST = 8  # parts that are left, at least: of fewer, each one matters too much
WIDER = 1.2


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
    """Return how many posts all parts have together; None where too few were read, or too few are left.

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
    read = float(whole.sum()) + posts
    value = float(counted.sum() + left * counted.mean())
    spread = WIDER * find_quantile(n - 1, CONFIDENCE) * float(counted.std(ddof=1)) * sqrt(left * parts / n)
    return VolumeEstimate(max(read, value), max(read, value - spread), value + spread)
