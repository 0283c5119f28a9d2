"""The arithmetic of the experiments. Nothing here knows of crawls."""

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from socialcrawl.forecast.intervals import CONFIDENCE, apply_holm, compute_p_value, find_quantile

Floats = NDArray[np.float64]

FLAT = 1e-24  # a sum of squares about the mean below this share of the one about 0 is rounding: the numbers are equal


class Mean(NamedTuple):
    """A mean over `n` sets of seeds, and its standard error: NaN where fewer than two sets have a number."""

    mean: float
    error: float
    n: int

    @property
    def half(self) -> float:
        """Half of Student's 95 % interval; NaN where there is no standard error."""
        return find_quantile(self.n - 1, CONFIDENCE) * self.error if self.n > 1 else np.nan


def compute_mean(values: Floats) -> Mean:
    """Return the mean of `values`, shape (sets,), NaN left out, and the error sd / sqrt(sets), sd with sets - 1."""
    known = values[~np.isnan(values)]
    if not len(known):
        return Mean(np.nan, np.nan, 0)
    error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else np.nan
    return Mean(float(known.mean()), error, len(known))


def make_cells(name: str, found: Mean) -> dict[str, float]:
    """Return the cells of a mean in a table: `name`, its standard error, the ends of its 95 % interval (NaN: none)."""
    low, high = found.mean - found.half, found.mean + found.half
    return {name: found.mean, f"{name}_error": found.error, f"{name}_low": low, f"{name}_high": high}


def compare_groups(name: str, groups: Mapping[str, Floats]) -> dict[tuple[str, str], dict[str, float]]:
    """Return the cells of the difference of each two groups, first less second, by their names.

    Beside those of `make_cells` there are NAME_p, of the paired t test, and NAME_holm, the same corrected by Holm's
    method for all these pairs: below 0.05 a difference is shown.

    Args:
        name: what is compared.
        groups: values over the same sets, shape (sets,) each, by name.
    """
    apart = {pair: groups[pair[0]] - groups[pair[1]] for pair in combinations(groups, 2)}
    alone = [compute_p_value(values) for values in apart.values()]
    return {
        pair: {**make_cells(name, compute_mean(values)), f"{name}_p": p, f"{name}_holm": corrected}
        for (pair, values), p, corrected in zip(apart.items(), alone, apply_holm(alone), strict=True)
    }


def compute_share(curve: Floats, reference: Floats) -> Floats:
    """Return `curve` as a share of `reference`, same shape; NaN where the reference has found nothing yet."""
    return np.asarray(np.divide(curve, reference, out=np.full(curve.shape, np.nan), where=reference > 0))


def compute_rolling_mean(values: Floats, window: int) -> Floats:
    """Return the mean of the last `window` values up to each of them, of all before where there are fewer.

    The same shape.
    """
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(ends - window, 0)
    total = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray((total[ends] - total[begins]) / (ends - begins))


def compute_correlation(x: Floats, y: Floats) -> float:
    """Return the correlation of two variables, shape (n,) each; NaN where one of them does not vary."""
    dx, dy = x - x.mean(), y - y.mean()
    xx, yy = float(dx @ dx), float(dy @ dy)
    if xx <= FLAT * float(x @ x) or yy <= FLAT * float(y @ y):
        return float("nan")
    return float(dx @ dy / np.sqrt(xx * yy))


def compute_r_squared(x: Floats, y: Floats) -> float:
    """Return R2 of the least-squares fit, with intercept, of y, shape (n,), on the rows of x, shape (k, n).

    NaN where y does not vary. Minimum norm where the features are dependent, so that R2 is that of the best fit.
    """
    centred = x - x.mean(axis=1, keepdims=True)
    dy = y - y.mean()
    yy = float(dy @ dy)
    if yy <= FLAT * float(y @ y):
        return float("nan")
    size = np.sqrt((centred * centred).sum(axis=1))
    varies = size > np.sqrt(FLAT) * np.sqrt((x * x).sum(axis=1))
    scaled = centred[varies] / size[varies, None]  # so that the products are correlations, however features are scaled
    weights, *_ = np.linalg.lstsq(scaled @ scaled.T, scaled @ dy, rcond=1e-10)
    left = dy - weights @ scaled
    return 1.0 - float(left @ left) / yy


def choose_points(steps: int, most: int = 240) -> NDArray[np.int64]:
    """Return the steps 1 ..

    `steps` at which curves are kept: each for a while, then ever fewer; the last, and all rounds.

    Half of them are spread evenly, half by the logarithm, so that curves look whole on either axis.
    """
    even, log = np.linspace(1, steps, most // 2), np.geomspace(1, steps, most // 2)
    kept = np.unique(np.rint(np.concatenate([even, log, choose_round_steps(steps)])).astype(np.int64))
    return np.asarray(kept[(kept >= 1) & (kept <= steps)])


def choose_round_steps(steps: int) -> NDArray[np.int64]:
    """Return the steps at which tables are read: 10, 20, 50, 100, ... as far as they go, and the last."""
    powers = [base * 10**power for power in range(1, 10) for base in (1, 2, 5)]
    return np.array([*(step for step in powers if step < steps), steps], np.int64)
