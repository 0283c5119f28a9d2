"""How many nodes of an old dataset are active: those found, and what a random sample says of the others.

Huynh et al. (section 2.1) leave n_a to "an estimation based on a sampling". A sample of the whole dataset says less
the further the tests have come: most active nodes are found by then, and what counts is how many of those left are
active. So the estimate is post-stratified: those found, plus the share of active nodes in the part of the sample that
the order has not reached, times the number of nodes left. By their upper bound, or by the estimate, a wanted fraction
is found.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma

import numpy as np

from socialcrawl.crawls.refresh.rules import BOUND
from socialcrawl.text.wording import pluralize

OUTSIDE = 0.05  # of intervals miss the truth, at most


@dataclass(frozen=True, slots=True)
class Stratum:
    """Nodes of which a random sample was tested; others of them may be tested too.

    Attributes:
        size: how many they are: found active or not, or still to be tested.
        active: how many of them were found active, those of the sample included.
        sampled: how many the sample has.
        hits: how many of the sample are active.
        whole: whether it is the whole dataset.
    """

    size: int
    active: int
    sampled: int
    hits: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class ActiveEstimate:
    """What is known of the number of active nodes.

    Attributes:
        nodes: n, of the dataset.
        tested, found: how many were tested, and are active.
        sampled, sample_active: of the random sample, those that the estimate rests on, and how many of these are
            active; 0 where there is no sample.
        whole: whether it rests on a sample of the whole dataset; else of what the order has not reached.
        value: n_a^, those found and the estimate of those left; None without a sample.
        low, high: where n_a lies in 95 of 100 samples at least (Clopper and Pearson, without replacement), within what
            the tests leave possible; without a sample only that.
        share: found / value; None where nobody is active, as far as is known.
        share_low, share_high: the same of high and low, 0 and 1 where these are 0.
    """

    nodes: int
    tested: int
    found: int
    sampled: int
    sample_active: int
    whole: bool
    value: float | None
    low: float
    high: float
    share: float | None
    share_low: float
    share_high: float


def estimate(nodes: int, *, tested: int, found: int, left: int, strata: Sequence[Stratum] = ()) -> ActiveEstimate:
    """Return what a random sample, and all tests together, say of the number of active nodes.

    Args:
        nodes: n, of the dataset.
        tested: how many were.
        found: how many of them are active.
        left: how many can still be tested.
        strata: nodes among which all are that are left; that whose sample says most is taken.
    """
    nothing = (0, nodes), Stratum(nodes, found, 0, 0, whole=True)
    known = [
        ((bound_below(one.hits, one.sampled, one.size), bound_above(one.hits, one.sampled, one.size)), one)
        for one in strata
        if one.sampled
    ]
    bounds, best = min(known, key=lambda told: told[0][1] - told[0][0], default=nothing)
    low, high = (found + _count_rest(bound, best, left) for bound in bounds)
    value = found + _count_rest(best.size * best.hits / best.sampled, best, left) if best.sampled else None
    return ActiveEstimate(
        nodes,
        tested,
        found,
        best.sampled,
        best.hits,
        best.whole,
        value,
        low,
        high,
        share=found / value if value else None,
        share_low=found / high if high else 0.0,
        share_high=found / low if low else 1.0,
    )


def bound_above(hits: int, sampled: int, size: int) -> int:
    """Return the largest number of active nodes among `size` for which `hits` or fewer in a sample are not too rare.

    Not too rare: in OUTSIDE / 2 of the samples of `sampled` nodes (drawn without replacement), or more.
    """
    low, high = hits, size - (sampled - hits)
    while low < high:
        middle = (low + high + 1) // 2
        if compute_tail(hits, sampled, middle, size) >= OUTSIDE / 2:
            low = middle
        else:
            high = middle - 1
    return low


def bound_below(hits: int, sampled: int, size: int) -> int:
    """Return the smallest number of active nodes among `size` for which `hits` or more are likely (`bound_above`)."""
    return size - bound_above(sampled - hits, sampled, size)


def compute_tail(hits: int, sampled: int, active: int, size: int) -> float:
    """Return the chance of `hits` or fewer in a sample of nodes of which `active` are (hypergeometric)."""
    first = max(0, sampled - (size - active))
    if hits < first:
        return 0.0
    i = np.arange(first, hits, dtype=np.float64)
    ratios = (active - i) * (sampled - i) / ((i + 1) * (size - active - sampled + i + 1))
    logs = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
    begin = _count_ways(active, first) + _count_ways(size - active, sampled - first) - _count_ways(size, sampled)
    return float(np.exp(begin + logs).sum())


def _count_rest(active: float, stratum: Stratum, left: int) -> float:
    """Return how many of the `left` nodes of a stratum are active if `active` of the whole stratum are."""
    return min(max(active - stratum.active, 0.0), float(left))


def _count_ways(total: int, some: int) -> float:
    """Return the logarithm of the number of ways to choose some of a whole."""
    return lgamma(total + 1) - lgamma(some + 1) - lgamma(total - some + 1)


@dataclass(frozen=True, slots=True)
class StopVerdict:
    """What is known of a wanted fraction.

    Attributes:
        reached: whether it counts as found.
        doubted: whether the estimate says that it is found, and the bound does not.
        why: a sentence without its full stop.
    """

    reached: bool
    doubted: bool
    why: str


def judge(known: ActiveEstimate, fraction: float, stop: str) -> StopVerdict:
    """Return whether `fraction` of the active nodes is found; `stop` is BOUND or ESTIMATE."""
    by_estimate = known.value is not None and known.found >= fraction * known.value
    if stop != BOUND and known.value == 0:
        return StopVerdict(
            True,
            False,
            f"none of {pluralize(known.sampled, 'node')} drawn at random is active, so that at most "
            f"{known.high:,.0f} of {known.nodes:,} are: there is no fraction of them to look for",
        )
    wanted = f"{format_percent_floor(fraction)} are wanted"
    if known.value is None:
        return StopVerdict(
            False, True, f"{wanted}, and how many are active is not known yet: nodes drawn at random show it"
        )
    known_part = (
        f"{pluralize(known.found, 'active node')} found with {pluralize(known.tested, 'test')}, of about "
        f"{known.value:,.0f} ({known.low:,.0f} to {known.high:,.0f}, 95% interval) in all"
    )
    if stop != BOUND:
        share = f"about {format_percent_floor(known.share or 0.0)}"
        return StopVerdict(by_estimate, False, f"{known_part}: {share} by the estimate, and {wanted}")
    reached = known.found > 0 and known.found >= fraction * known.high
    may = known.share_high >= fraction if known.whole else by_estimate
    doubted = may and known.found > 0 and not reached
    return StopVerdict(
        reached,
        doubted,
        f"{known_part}: at least {format_percent_floor(known.share_low)} by that interval, and {wanted}",
    )


def format_percent_floor(share: float) -> str:
    """Return a share as a percentage with three digits, rounded down: what is at least so much is no less."""
    return f"{int(share * 1000 + 1e-9) / 10:g}%"
