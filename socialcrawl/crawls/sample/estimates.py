"""Statistics of a walk's sample, each with an interval that knows that the visits of a walk resemble each other.

The paper (Bar-Yossef, Kanungo, Krauthgamer, section 5.1) computes shares and distributions and gives no intervals.
Ours: a share is the ratio sum(w y) / sum(w), w the weight of a visit (1/d or its holding time). Its variance is that of
the mean of w (y - ratio) / mean(w), whose long-run variance is summed over lags up to Geyer's initial positive sequence
(Practical Markov chain Monte Carlo, 1992, section 3.3). Autocovariances of several walks are added up, all around the
common ratio. The interval of a share is Wilson's, with the effective size and Student's quantile.

That variance is too small for walks that are short beside their memory. The interval is therefore the widest of three:
by that variance; by how much the walks differ from each other (PIECES of them, at least: fewer are cut); and by how
uneven the weights are, and how alike from visit to visit. docs/explanation/coverage.md measures how often it
holds the truth.

How alike visits are cannot be read off what was seen in few independent stretches, or in all of them, or never. Then
it is read off what else is known of the visits: their weights, and the marks given as `like` (hosts, communities).
What no interval can know is what no walk has seen: mixing.py says when nothing should be shown. Nor do walks tell how
large parts are that no link connects: the visits of such do not belong into one series (walk_components.py).
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.sample.variance import compute_dot, cut_pieces, estimate_variance, estimate_variance_between
from socialcrawl.forecast.intervals import find_quantile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CONFIDENCE = 0.95
EXACT = 0.0  # confidence for what was counted and not sampled: its intervals have no width
PIECES = 8  # walks, or pieces of walks, that are compared with each other, at least
STRETCHES = 5.0  # what is seen, or not seen, in fewer independent visits does not tell how alike visits are
MARKS = 20  # how many of the largest marks in `like` are looked at
COMMON = 0.2  # a mark of such a share tells how alike visits are, however few stretches it was seen in
FEW = 10.0  # an effective size below this is said
EMPTY = "nothing was sampled"
SMALL = "the visits are worth fewer than ten independent ones: walk longer, or with more walkers in this part"
ALONE = "one visit tells nothing of the others"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic of a sample, with its interval.

    Attributes:
        value: the estimate; NaN where nothing was sampled.
        low, high: the ends of the interval; the whole range where nothing can be said.
        effective: how many independent visits would tell as much.
        visits: how many there were, those of weight 0 left out.
        note: why the sample is too small to tell it, a sentence; "" where it is not.
    """

    value: float
    low: float
    high: float
    effective: float
    visits: int
    note: str = ""

    @property
    def width(self) -> float:
        """The width of the interval."""
        return self.high - self.low

    def contains(self, truth: float) -> bool:
        """Return whether `truth` lies in the interval."""
        return self.low <= truth <= self.high


NOTHING = Estimate(float("nan"), float("nan"), float("nan"), 0.0, 0)
"""What is shown instead of an estimate, where a sample tells nothing yet."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a histogram: the share of values from `begin` up to, but without, `end`."""

    begin: float
    end: float
    share: Estimate


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """The visits of some walks, the walks one after the other, ready for statistics; made by `Series.of`.

    Attributes:
        weights: float64[n].
        order: int64[n], the places that the visits had when they were given.
        begins: int64[walks + 1], where each walk begins, and n.
        confidence: that the intervals have.
        floor: (effective size, degrees of freedom) by all else that is known of the visits.
        even: (effective size, degrees of freedom) by the weights alone.
        pieces: int64[n], the walk, or the piece of one, that a visit is in.
        marks: int64[n], which of the largest marks a visit has, 0 for all others; None: no marks are known.
    """

    weights: Floats
    order: Ints
    begins: Ints
    confidence: float = CONFIDENCE
    floor: tuple[float, float] = (np.inf, np.inf)
    even: tuple[float, float] = (np.inf, np.inf)
    pieces: Ints | None = None
    marks: Ints | None = None

    @classmethod
    def of(cls, weights: Any, walk: Any = None, like: Any = None, confidence: float = CONFIDENCE) -> "Series":
        """Return the series of some visits, given in the order in which each walk made them.

        Args:
            weights: float64[n], of each visit: 1/d or its holding time. 0 leaves a visit out (off topic, before the end
                of the burn-in) and keeps its place in time.
            walk: int64[n], which walk made it; visits of several may be mixed. None: one walk made all.
            like: [n] labels by which visits of a walk are expected to be alike (host, community); None: none are known.
            confidence: that the intervals have.

        Raises:
            ValueError: the lengths differ, or a weight is negative or not finite.
        """
        given = np.asarray(weights, np.float64)
        of = np.zeros(len(given), np.int64) if walk is None else np.asarray(walk)
        if len(of) != len(given):
            raise ValueError(f"{len(given)} weights, but the walks of {len(of)} visits")
        if not np.all(np.isfinite(given) & (given >= 0.0)):
            raise ValueError("a weight is negative or not finite: weights are holding times, or 1/d")
        order = np.argsort(of, kind="stable").astype(np.int64)
        begins = np.flatnonzero(np.append(True, of[order][1:] != of[order][:-1])[: len(of)]).astype(np.int64)
        made = cls(given[order], order, np.append(begins, len(of)), confidence)
        even = _compute_size_by_weights(made)
        made = replace(made, floor=even, even=even, pieces=cut_pieces(made.weights, made.begins, PIECES))
        return made if like is None or not made.visits else _mark(made, *_encode(like))

    @property
    def visits(self) -> int:
        """How many visits have a weight."""
        return int(np.count_nonzero(self.weights))

    def estimate_share(self, values: Any) -> Estimate:
        """Return the share of nodes, by the weights of visits, whose value is true.

        A value may be a part, from 0 to 1.
        """
        return _estimate_share(self, np.asarray(values, np.float64)[self.order])

    def estimate_mean(self, values: Any) -> Estimate:
        """Return the mean of some values over nodes; its interval is Student's, and may be infinite."""
        return _estimate_mean(self, np.asarray(values, np.float64)[self.order])


def estimate_share(
    values: Any, weights: Any, walk: Any = None, *, like: Any = None, confidence: float = CONFIDENCE
) -> Estimate:
    """Return the share of nodes whose value is true, by a walk's visits.

    Args:
        values: bool[n].
        weights: float64[n], 1/d or holding times; 0 leaves a visit out.
        walk: int64[n], which walk made it; None: all one.
        like: [n] labels by which visits of a walk are alike, as hosts or communities; None: not known.
        confidence: that the interval has.
    """
    return Series.of(weights, walk, like, confidence).estimate_share(values)


def estimate_mean(
    values: Any, weights: Any, walk: Any = None, *, like: Any = None, confidence: float = CONFIDENCE
) -> Estimate:
    """Return the mean of some values, float64[n], over nodes; other arguments as of `estimate_share`."""
    return Series.of(weights, walk, like, confidence).estimate_mean(values)


def estimate_distribution(
    categories: Sequence[Hashable] | NDArray[Any],
    weights: Any,
    walk: Any = None,
    *,
    confidence: float = CONFIDENCE,
    most: int | None = None,
) -> dict[Any, Estimate]:
    """Return the share of each category, the largest first, ties by name.

    Args:
        categories: [n] labels: domains, instances, languages. They also tell how alike visits are.
        weights: as of `estimate_share`.
        walk: as of `estimate_share`.
        confidence: that the intervals have.
        most: how many of the largest are told; None: all that any visit of weight has.
    """
    names, codes = _encode(categories)
    series = Series.of(weights, walk, codes, confidence)
    sums = np.bincount(codes, np.asarray(weights, np.float64), len(names))
    shown = [i for i in sorted(range(len(names)), key=lambda i: (-sums[i], str(names[i]))) if sums[i] > 0.0]
    return {names[i]: series.estimate_share(codes == i) for i in shown[:most]}


def make_histogram(
    values: Any, edges: Sequence[float], weights: Any, walk: Any = None, *, confidence: float = CONFIDENCE
) -> tuple[Bar, ...]:
    """Return the shares of values between neighbouring `edges`.

    A value that is NaN (no out-link, no share) is left out.

    Args:
        values: float64[n].
        edges: rising; a bar takes in its lower edge and not its upper one.
        weights: as of `estimate_share`.
        walk: as of `estimate_share`.
        confidence: that the intervals have.
    """
    given = np.asarray(values, np.float64)
    there = ~np.isnan(given)
    bars = np.where(there, np.searchsorted(edges, given, "right"), 0)
    series = Series.of(np.where(there, np.asarray(weights, np.float64), 0.0), walk, bars, confidence)
    pairs = enumerate(pairwise(edges), 1)
    return tuple(Bar(begin, end, series.estimate_share(bars == i)) for i, (begin, end) in pairs)


def list_doubling_edges(largest: float) -> list[float]:
    """Return the edges 0, 1, 2, 4, 8, ... up to above `largest`: bars for out-degrees, whose laws have long tails."""
    edges = [0.0, 1.0]
    while edges[-1] <= largest:
        edges.append(2.0 * edges[-1])
    return edges


def list_tenths() -> list[float]:
    """Return the edges of eleven bars around 0, 10, ... 100 %: for shares of on-topic links, as in Figure 4."""
    return [(i - 0.5) / 10.0 for i in range(12)]


def compute_wilson(
    value: float, effective: float, freedom: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Return Wilson's interval of a share, with Student's quantile.

    Args:
        value: the share, 0 to 1.
        effective: of how many independent visits.
        freedom: degrees of freedom of its variance.
        confidence: that the interval has.
    """
    part = find_quantile(freedom, confidence) ** 2 / effective
    middle = (value + part / 2.0) / (1.0 + part)
    half = float(np.sqrt(part * value * (1.0 - value) + part**2 / 4.0)) / (1.0 + part)
    return min(value, max(0.0, middle - half)), max(value, min(1.0, middle + half))


def _estimate_share(series: Series, y: Floats) -> Estimate:
    w, n = series.weights, series.visits
    if n < 2:
        return Estimate(float(y[w > 0.0][0]) if n else float("nan"), 0.0, 1.0, float(n), n, ALONE if n else EMPTY)
    value = compute_dot(w, y) / float(w.sum())
    seen, unseen = np.any(y[w > 0.0] > 0.0), np.any(y[w > 0.0] < 1.0)
    value = value if seen and unseen else float(seen)  # a sum of weights may be rounded
    effective, freedom = _compute_size(series, y, value) if seen and unseen else series.floor
    if effective * min(value, 1.0 - value) < STRETCHES:
        effective, freedom = min(effective, series.floor[0]), min(freedom, series.floor[1])
    effective = max(1.0, effective)
    found = [(effective, freedom), series.even]
    variance, others = estimate_variance_between(_scale(series, y, value), series.pieces, w > 0.0)
    if variance > 0.0:
        found.append((value * (1.0 - value) * len(y) / variance, others))
    low, high = _find_widest(compute_wilson(value, max(1.0, size), free, series.confidence) for size, free in found)
    return Estimate(value, low, high, effective, n, SMALL if effective < FEW else "")


def _find_widest(intervals: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return the first end and the last of some intervals of one value."""
    lows, highs = zip(*intervals, strict=True)
    return min(lows), max(highs)


def _scale(series: Series, y: Floats, value: float) -> Floats:
    """Return a series of mean 0, where `value` is the ratio of `y`; its long-run variance is that of the ratio."""
    scaled: Floats = series.weights / series.weights.mean() * (y - value)
    return scaled


def _compute_size(series: Series, y: Floats, value: float) -> tuple[float, float]:
    """Return (effective size of a share, degrees of freedom) by its own visits; never more than there are visits."""
    variance, freedom = _compute_variance(series, y, value)
    own = value * (1.0 - value) * len(y)
    return min(float(series.visits), own / variance) if variance > 0.0 else float(series.visits), freedom


def _compute_variance(series: Series, y: Floats, value: float) -> tuple[float, float]:
    """Return (long-run variance of a ratio, degrees of freedom), the larger of two.

    Where marks are known, y is also parted into its mean by mark and the rest: a walk that changes slowly between marks
    shows that in the first part, while in y as a whole it may drown in the noise of the second.
    """
    part = series.weights / series.weights.mean()
    variance = estimate_variance(_scale(series, y, value), series.begins)
    if series.marks is None:
        return variance
    sums = np.bincount(series.marks, series.weights)
    means = np.bincount(series.marks, series.weights * y) / np.where(sums > 0.0, sums, 1.0)
    marked, own = estimate_variance(part * (means[series.marks] - value), series.begins)
    rest, others = estimate_variance(part * (y - means[series.marks]), series.begins)
    if marked + rest <= variance[0]:
        return variance
    return marked + rest, (marked + rest) ** 2 / (marked**2 / own + rest**2 / others)  # Satterthwaite


def _compute_size_by_weights(series: Series) -> tuple[float, float]:
    """Return (effective size, degrees of freedom) by the weights: how uneven, and how alike from visit to visit."""
    w, n = series.weights, series.visits
    if n < 2:
        return float(n), 1.0
    even = float(w.sum()) ** 2 / compute_dot(w, w)
    variance, freedom = estimate_variance(w - w.mean(), series.begins)
    longer = max(1.0, variance / float(np.var(w))) if np.ptp(w) > 0.0 else 1.0
    effective = max(1.0, min(even / longer, float(n)))  # a quotient may be an ulp too large
    return effective, min(freedom, max(1.0, effective - 1.0)) if longer > 1.0 else max(1.0, effective - 1.0)


def _mark(series: Series, names: Sequence[Any], codes: Ints) -> Series:
    """Return the series with its marks, and the least floor that marks seen and not seen often enough allow."""
    codes = codes[series.order]
    sums = np.bincount(codes, series.weights, len(names))
    largest = np.argsort(-sums, kind="stable")[:MARKS]
    places = np.zeros(len(names), np.int64)
    places[largest] = np.arange(1, len(largest) + 1)
    found = [series.floor]
    for i in largest.tolist():
        value = float(sums[i] / sums.sum())
        if 0.0 < value < 1.0:
            effective, freedom = _compute_size(series, (codes == i).astype(np.float64), value)
            if effective * min(value, 1.0 - value) >= STRETCHES or value >= COMMON:
                found.append((effective, freedom))
    return replace(series, floor=min(found), marks=places[codes])


def _estimate_mean(series: Series, y: Floats) -> Estimate:
    w, n = series.weights, series.visits
    if n < 2:
        return Estimate(float(y[w > 0.0][0]) if n else np.nan, -np.inf, np.inf, float(n), n, ALONE if n else EMPTY)
    y = np.where(w > 0.0, y, 0.0)  # what has no weight may have no value either
    value = compute_dot(w, y) / float(w.sum())
    own = compute_dot(w, (y - value) ** 2) / float(w.sum())
    variance, freedom = _compute_variance(series, y, value)
    apart, others = estimate_variance_between(_scale(series, y, value), series.pieces, w > 0.0)
    even, free = own * len(y) / series.even[0], series.even[1]
    found = ((variance, freedom), (apart, others), (even, free))
    half = max(find_quantile(df, series.confidence) * float(np.sqrt(one / len(y))) for one, df in found)
    effective = max(1.0, min(float(n), own * len(y) / variance)) if variance > 0.0 else series.floor[0]
    return Estimate(value, value - half, value + half, effective, n, SMALL if effective < FEW else "")


def _encode(categories: Sequence[Hashable] | NDArray[Any]) -> tuple[list[Any], Ints]:
    """Return the distinct labels and, of each visit, the place of its own."""
    labels = categories.tolist() if isinstance(categories, np.ndarray) else list(categories)
    places: Mapping[Any, int] = {name: i for i, name in enumerate(dict.fromkeys(labels))}
    return list(places), np.fromiter((places[label] for label in labels), np.int64, len(labels))
