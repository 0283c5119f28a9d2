"""Student's intervals of means and of differences, and Holm's correction where several are looked at. Pure.

An interval is as honest as its n: that is the number of independent values, such as sets of seeds, never of steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, or a difference of means, with its interval.

    Attributes:
        value: the mean; NaN without values.
        low, high: the interval; NaN where fewer than two values say nothing about the spread.
        n: the number of values; of a difference of two groups, of the smaller one.
    """

    value: float
    low: float
    high: float
    n: int

    @property
    def sign(self) -> int:
        """1 if all of the interval is above 0, -1 if all of it is below, else 0."""
        return int(self.low > 0) - int(self.high < 0)


def find_quantile(freedom: float, confidence: float) -> float:
    """Return Student's two-sided quantile: how many standard errors the interval reaches to each side."""
    from scipy.special import stdtrit  # noqa: PLC0415  # costs 0.1 s, and only statistics pay it

    return float(stdtrit(freedom, 0.5 + confidence / 2.0))


def estimate_mean(values: Floats, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean of independent `values`, shape (n,), with Student's interval; NaN values are left out.

    The mean of paired differences is the difference of two methods that were tried on the same n cases.
    """
    known = values[~np.isnan(values)]
    n = len(known)
    middle = float(known.mean()) if n else float("nan")
    if n < 2:
        return Interval(middle, float("nan"), float("nan"), n)
    half = find_quantile(n - 1, confidence) * float(known.std(ddof=1)) / n**0.5
    return Interval(middle, middle - half, middle + half, n)


def estimate_difference(x: Floats, y: Floats, confidence: float = CONFIDENCE) -> Interval:
    """Return mean(x) - mean(y) of two independent groups, with an interval that is rather too wide than too narrow.

    The standard error is the larger of Welch's and the pooled one, and the degrees of freedom are those of the smaller
    group: where most values are 0, a small group whose values happen to be all the same tells nothing of its spread.
    """
    n, value = min(len(x), len(y)), float(x.mean() - y.mean()) if len(x) and len(y) else float("nan")
    if n < 2:
        return Interval(value, float("nan"), float("nan"), n)
    a, b = x.var(ddof=1), y.var(ddof=1)
    pooled = ((len(x) - 1) * a + (len(y) - 1) * b) / (len(x) + len(y) - 2)
    error = max(a / len(x) + b / len(y), pooled / len(x) + pooled / len(y)) ** 0.5
    half = find_quantile(n - 1, confidence) * float(error)
    return Interval(value, value - half, value + half, n)


def compute_p_value(values: Floats) -> float:
    """Return the two-sided p-value of the t test that the mean of independent `values` is 0; NaN for fewer than two."""
    from scipy.special import stdtr  # noqa: PLC0415  # costs 0.1 s, and only statistics pay it

    known = values[~np.isnan(values)]
    if len(known) < 2:
        return float("nan")
    middle, error = float(known.mean()), float(known.std(ddof=1)) / len(known) ** 0.5
    if not error:
        return 1.0 if not middle else 0.0
    return float(2.0 * stdtr(len(known) - 1, -abs(middle / error)))


def apply_holm(p: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm's method: that any true hypothesis falls below 5 % happens in at most 5 %.

    NaN stays NaN, and is not counted.
    """
    given = np.asarray(p, np.float64)
    order = np.argsort(given, kind="stable")[: int((~np.isnan(given)).sum())]
    adjusted = np.full(len(given), np.nan)
    steps = np.maximum.accumulate(given[order] * np.arange(len(order), 0, -1))
    adjusted[order] = np.minimum(steps, 1.0)
    return [float(one) for one in adjusted]
