"""The comparison of a walk's distribution with a known one, or with another walk's: chi-square, and how far it is off.

The paper (section 5.2) tests with Pearson's chi-square (Numerical Recipes) as if visits were independent. They are not:
chi-square with the number of visits rejects walks that are right. Here it is taken with the effective size, the number
of visits over Rao and Scott's mean design effect (J. of the American Statistical Association, 1981), read off the
intervals of the shares; the paper's own is told besides.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from socialcrawl.crawls.sample.estimates import Estimate

LEAST = 5.0  # effective visits expected in a category that is tested by itself; rarer ones are tested together


@dataclass(frozen=True, slots=True)
class ChiSquareTest:
    """The outcome of a chi-square test.

    Attributes:
        statistic: chi-square with the effective size.
        freedom: its degrees of freedom; 0 where there are fewer than two categories to test.
        p: how often a sample of the same law would be as far off or further; 1 where nothing can be tested.
        effective: how many independent visits the sample is worth in this.
        together: how many categories were tested together, as too rare by themselves.
        plain, plain_p: the same as the paper has it, all visits taken as independent.
    """

    statistic: float
    freedom: int
    p: float
    effective: float
    together: int
    plain: float
    plain_p: float


def compare_with_law(found: Mapping[Any, Estimate], truth: Mapping[Any, float], least: float = LEAST) -> ChiSquareTest:
    """Return the chi-square test of a sample's distribution against the true one.

    Args:
        found: shares by category, as `estimates.estimate_distribution` has them; what it lacks was not seen.
        truth: shares, or counts, by category; what it lacks has none, and is tested with the rare ones.
        least: effective visits expected in a category that is tested by itself.

    Raises:
        ValueError: the truth is empty, or negative.
    """
    total = float(sum(truth.values()))
    if not total > 0.0 or min(truth.values()) < 0.0:
        raise ValueError("the true distribution has to have shares above 0 and none below")
    expected = {name: part / total for name, part in truth.items() if part > 0.0}
    names = [*sorted(expected, key=lambda name: (-expected[name], str(name))), *(n for n in found if n not in expected)]
    shares = [(found[name].value if name in found else 0.0, expected.get(name, 0.0)) for name in names]
    visits = max((one.visits for one in found.values()), default=0)
    if not visits:
        return ChiSquareTest(0.0, 0, 1.0, 0.0, 0, 0.0, 1.0)
    effective = visits / max(1.0, _estimate_design(found, least))
    tested, together = _pool(shares, effective, least)
    freedom = len(tested) - 1
    statistic, plain = (
        n * sum(_measure_deviation(one, part) for one, part in tested) for n in (effective, float(visits))
    )
    return ChiSquareTest(
        statistic, freedom, _compute_tail(freedom, statistic), effective, together, plain, _compute_tail(freedom, plain)
    )


def find_deviation(found: Mapping[Any, Estimate], truth: Mapping[Hashable, float]) -> tuple[Any, float]:
    """Return (the truly largest category, the part of it by which the sample is off): the paper's "within 16 %"."""
    total = float(sum(truth.values()))
    name = min(truth, key=lambda one: (-truth[one], str(one)))
    share = found[name].value if name in found else 0.0
    return name, abs(share * total / truth[name] - 1.0)


def _estimate_design(found: Mapping[Any, Estimate], least: float) -> float:
    """Return Rao and Scott's mean design effect: the variances of shares over those of independent visits.

    It is read off the effective sizes of the categories that were seen often enough to tell them, weighed by 1 - share.
    """
    usable = [one for one in found.values() if one.effective * one.value >= least] or list(found.values())
    weights = [1.0 - one.value for one in usable]
    if not sum(weights) > 0.0:
        return usable[0].visits / usable[0].effective
    return sum(w * one.visits / one.effective for w, one in zip(weights, usable, strict=True)) / sum(weights)


def _pool(shares: list[tuple[float, float]], effective: float, least: float) -> tuple[list[tuple[float, float]], int]:
    """Return the shares (found, true) to be tested, the rare ones as one at the end; and how many those were."""
    kept = [row for row in shares if row[1] * effective >= least]
    rare = [row for row in shares if row[1] * effective < least]
    if not rare:
        return kept, 0
    return [*kept, (sum(row[0] for row in rare), sum(row[1] for row in rare))], len(rare)


def _measure_deviation(found: float, true: float) -> float:
    if true > 0.0:
        return (found - true) ** 2 / true
    return float("inf") if found > 0.0 else 0.0


def _compute_tail(freedom: int, statistic: float) -> float:
    """Return how often chi-square is above `statistic`."""
    if freedom < 1:
        return 1.0
    from scipy.special import chdtrc  # noqa: PLC0415  # costs 0.1 s, and only statistics pay it

    return float(chdtrc(freedom, statistic))
