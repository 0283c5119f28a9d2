"""The numbers of a leaderboard. Nothing here knows of crawls, and nothing is drawn.

Values have the shape (graphs, estimators, sets of seeds): one number for each replay. The sets of seeds of a graph are
the same for all estimators.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from socialcrawl.forecast.intervals import CONFIDENCE, apply_holm, compute_p_value, estimate_mean
from socialcrawl.lab.measures import Floats, compute_share

FIRST = 100  # steps
ENOUGH = 5  # graphs, or sets of seeds, without which intervals and p-values are not shown

MEASURES: Mapping[str, str] = {
    "area": "the mean of the curve of the value found: who finds the same, but earlier, has more",
    "end": "the value found when the steps are used up",
    "first": f"the mean of the first {FIRST} steps of the curve, or of all steps where there are fewer",
}


@dataclass(frozen=True)
class Entrants:
    """What is compared.

    Attributes:
        graphs: their names.
        estimators: their names.
        references: those of them whose best, on each graph, counts as a share of 1.
        baseline: the one of them that each other one is compared with.
    """

    graphs: Sequence[str]
    estimators: Sequence[str]
    references: Sequence[str]
    baseline: str


@dataclass(frozen=True)
class Ratio:
    """How much an estimator found, compared with the baseline.

    Attributes:
        value: the geometric mean over graphs of its mean divided by that of the baseline; NaN without a graph.
        low, high: the interval of `value`; NaN: none.
        p: of the hypothesis that the ratio is 1, corrected for all estimators by Holm's method; NaN: none.
        graphs: how many `value` is of.
        above, below: the graphs on which it found more, or less, as far as the sets of seeds show; None: there are too
            few of these.
    """

    value: float
    low: float
    high: float
    p: float
    graphs: int
    above: int | None
    below: int | None


@dataclass(frozen=True)
class Standing:
    """How one estimator did by one measure.

    Attributes:
        estimator: its name.
        means: float64[graphs], its means over the sets of seeds.
        shares: float64[graphs], `means` divided by that of the best reference of the graph; NaN where no reference
            found anything.
        rank: the mean over graphs of its place, 1 being the best; equal ones share the mean of their places.
        against: the comparison with the baseline; None for the baseline itself.
    """

    estimator: str
    means: Floats
    shares: Floats
    rank: float
    against: Ratio | None

    @property
    def share(self) -> float:
        """The mean over graphs of the shares; NaN where there is none."""
        return float(self.known.mean()) if len(self.known) else float("nan")

    @property
    def known(self) -> Floats:
        """The shares that are numbers."""
        return np.asarray(self.shares[~np.isnan(self.shares)])

    @property
    def least(self) -> float:
        """The least share; NaN where there is none."""
        return float(self.known.min()) if len(self.known) else float("nan")

    @property
    def wins(self) -> int:
        """The number of graphs with a share of at least 1."""
        return int((self.known >= 1).sum())


def measure_curve(curve: Floats) -> dict[str, float]:
    """Return the measures of a curve, the value found after each step: float64[budget]."""
    return {"area": float(curve.mean()), "end": float(curve[-1]), "first": float(curve[:FIRST].mean())}


def rank_rows(values: Floats) -> Floats:
    """Return the place of each value in its row, the same shape: 1 for the largest; equal ones share their mean."""
    larger = (values[:, None, :] > values[:, :, None]).sum(axis=2)
    equal = (values[:, None, :] == values[:, :, None]).sum(axis=2)
    return np.asarray(larger + (equal + 1) / 2)


def make_standings(entrants: Entrants, values: Floats) -> list[Standing]:
    """Return a standing for each estimator, the largest mean share first.

    A graph on which no reference found anything counts neither for shares nor for ranks, one on which the baseline
    found nothing counts for no ratio.

    Ratios are compared by Student's t over the logarithms, a number for each graph, so that graphs are what is drawn
    and sets of seeds are part of their spread. Each interval is of 1 - 0.05 / k, for k estimators that are compared:
    all k hold at once in 95 %, and one that does not hold 1 has a `p` below 0.05. Where an estimator found nothing on
    a graph, there is no logarithm: its ratio is 0, without an interval.

    Args:
        entrants: what is compared.
        values: one measure, float64[graphs, estimators, sets of seeds].
    """
    means, base = values.mean(axis=2), entrants.estimators.index(entrants.baseline)
    best = means[:, [entrants.estimators.index(name) for name in entrants.references]].max(axis=1, keepdims=True)
    shares, ranks = compute_share(means, np.broadcast_to(best, means.shape)), rank_rows(means)
    known = best[:, 0] > 0
    others = [place for place in range(len(entrants.estimators)) if place != base]
    against = dict(zip(others, _compare(values[:, others], values[:, base]), strict=True))
    found = [
        Standing(
            name,
            means[:, place],
            shares[:, place],
            float(ranks[known, place].mean()) if known.any() else float("nan"),
            against.get(place),
        )
        for place, name in enumerate(entrants.estimators)
    ]
    return sorted(found, key=lambda one: -one.share if len(one.known) else np.inf)


def _compare(values: Floats, base: Floats) -> Iterator[Ratio]:
    """Yield the comparison of each estimator, float64[graphs, estimators, sets], with the baseline, [graphs, sets]."""
    here, counts = base.mean(axis=1) > 0, _count_differences(values - base[:, None])
    with np.errstate(divide="ignore"):
        logs = np.log(values[here].mean(axis=2)) - np.log(base[here].mean(axis=1))[:, None]
    tested = [column if len(column) >= ENOUGH and np.isfinite(column).all() else column[:0] for column in logs.T]
    p = apply_holm([compute_p_value(column) for column in tested])
    several = sum(len(column) > 0 for column in tested)
    for column, test, corrected, (above, below) in zip(logs.T, tested, p, counts, strict=True):
        found = estimate_mean(test, 1 - (1 - CONFIDENCE) / max(1, several))
        value = float(np.exp(column.mean())) if len(column) else float("nan")
        ends = float(np.exp(found.low)), float(np.exp(found.high))
        yield Ratio(value, *ends, corrected, len(column), above, below)


def _count_differences(apart: Floats) -> list[tuple[int | None, int | None]]:
    """Return on how many graphs each estimator found more, and less, than the baseline.

    A graph counts where the paired t test over its sets of seeds has a p below 0.05 after Holm's correction for all
    graphs and estimators.

    Args:
        apart: differences, float64[graphs, estimators, sets of seeds].
    """
    graphs, estimators, sets = apart.shape
    if sets < ENOUGH:
        return [(None, None)] * estimators
    p = apply_holm([compute_p_value(row) for row in apart.reshape(-1, sets)])
    shown = np.array(p).reshape(graphs, estimators) < 1 - CONFIDENCE
    middle = apart.mean(axis=2)
    above, below = ((shown & side).sum(axis=0).tolist() for side in (middle > 0, middle < 0))
    return list(zip(above, below, strict=True))
