"""What importance really is, and how far an estimate of it is off (Abiteboul et al., section 4).

The truth is that of the off-line algorithm on the web as it is now, virtual page included.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError
from socialcrawl.importance.link_matrix import add_virtual_page, iterate, make_out_links
from socialcrawl.lab.experiments.opic.webs import GeneratedWeb

Floats = NDArray[np.float64]

TOP: Final = 10  # per cent of pages that count as important: the most important ones by the truth
DIGITS: Final = 9  # of the truth that count when pages are ordered: what differs by rounding is a tie


@dataclass(frozen=True)
class ImportanceErrors:
    """The errors of an estimate X against the truth x, over pages; 100 * |X - x| / x is a page's error, in per cent.

    Attributes:
        mean: over all pages (Figure 2).
        median: of all pages; a few that lost nearly all they had can rule the mean, not this.
        top: the mean over the top ten per cent (Figure 3).
        deviation: the standard deviation of the pages' errors (its square is the paper's variance).
        outliers: the share of pages whose error is more than twice the mean one.
        top_deviation: as `deviation`, over the top ten per cent.
        top_outliers: as `outliers`, over the top ten per cent and their mean.
        weighted: the mean weighted with x: 100 * sum |X - x| / sum x.
        relative: the mean after both are divided by their sums: the error of relative importance.
        disordered: the share of pairs of pages of unequal x that X puts in the wrong order; a tie counts half; in per
            cent, 50 is chance.
        missed: the share of the top ten per cent by x that are not in the top ten per cent by X, in per cent.
    """

    mean: float
    median: float
    top: float
    deviation: float
    outliers: float
    top_deviation: float
    top_outliers: float
    weighted: float
    relative: float
    disordered: float
    missed: float

    def measure(self) -> dict[str, float]:
        """Return the errors by name."""
        return asdict(self)


def measure_errors(estimate: Floats, truth: Floats) -> ImportanceErrors:
    """Return all errors of `estimate` against `truth`, shape (n,), all of the truth above 0."""
    off = compute_percentages(estimate, truth)
    best = find_top(truth)
    mean, high = float(off.mean()), float(off[best].mean())
    total = float(estimate.sum())
    return ImportanceErrors(
        mean=mean,
        median=float(np.median(off)),
        top=high,
        deviation=float(off.std()),
        outliers=float((off > 2 * mean).mean()),
        top_deviation=float(off[best].std()),
        top_outliers=float((off[best] > 2 * high).mean()),
        weighted=100 * float(np.abs(estimate - truth).sum() / truth.sum()),
        relative=float(compute_percentages(estimate / total, truth / truth.sum()).mean()) if total > 0 else 100.0,
        disordered=100 * compute_disorder(estimate, truth),
        missed=100 * (1 - float(np.isin(best, find_top(estimate)).mean())),
    )


def compute_percentages(estimate: Floats, truth: Floats) -> Floats:
    """Return the error of each page, 100 * |X - x| / x, shape (n,)."""
    return np.asarray(100 * np.abs(estimate - truth) / truth)


def find_top(values: Floats) -> NDArray[np.int64]:
    """Return the rows of the top ten per cent by value, at least one; ties go to the lower row."""
    count = max(1, len(values) * TOP // 100)
    return np.asarray(np.argsort(-values, kind="stable")[:count], np.int64)


def compute_disorder(estimate: Floats, truth: Floats) -> float:
    """Return the share of pairs of unequal truth that the estimate puts in the wrong order, a tie as half.

    0 without pairs.

    O(n log n): (1 - Somers' D of the estimate given the truth) / 2.
    """
    x, y = _compute_ranks(_round_values(truth)), _compute_ranks(estimate)
    order = np.lexsort((y, x))
    wrong = _count_inversions(y[order])
    pairs = _count_pairs(np.full(1, len(x))) - _count_pairs(np.bincount(x))
    both = np.bincount(np.unique(x * len(x) + y, return_inverse=True)[1])
    ties = _count_pairs(np.bincount(y)) - _count_pairs(both)
    return (wrong + ties / 2) / pairs if pairs else 0.0


def _round_values(values: Floats) -> Floats:
    powers = 10.0 ** (DIGITS - 1 - np.floor(np.log10(values)))
    return np.asarray(np.rint(values * powers) / powers)


def _compute_ranks(values: Floats) -> NDArray[np.int64]:
    return np.asarray(np.unique(values, return_inverse=True)[1], np.int64)


def _count_pairs(counts: NDArray[np.int64]) -> int:
    return int((counts * (counts - 1) // 2).sum())


def _count_inversions(ranks: NDArray[np.int64]) -> int:
    """Return how many pairs i < j have ranks[i] > ranks[j]: a radix sort, in which each bit tells its share of them."""
    found = 0
    values = ranks
    for bit in reversed(range(int(ranks.max(initial=0)).bit_length())):
        # pairs that agree above `bit` lie in one group; among them those with (1, 0) at `bit`, in this order, count
        high = values >> (bit + 1)
        order = np.argsort(high, kind="stable")
        group, ones = high[order], (values[order] >> bit) & 1
        before = np.cumsum(ones) - ones
        first = np.searchsorted(group, group)
        found += int((before - before[first])[ones == 0].sum())
    return found


NEGLIGIBLE = 1e-12  # the sum of all changes in the last iteration
MOST = 10_000  # iterations; webs of the paper's kind take about a hundred


def build_matrix(web: GeneratedWeb, small: float) -> Any:
    """Return the random walk on a web of n pages and the virtual page, the last of n + 1 rows, as OPIC pays by."""
    indptr, targets = web.get_links()
    sources = np.repeat(np.arange(web.size, dtype=np.int64), np.diff(indptr))
    return add_virtual_page(make_out_links(sources, targets, web.size), small)


def compute_truth(web: GeneratedWeb, small: float, start: Floats | None = None) -> Floats:
    """Return the importance of the pages and, last, the virtual page, float64[n + 1] of sum 1.

    Convergent iterations: a web of few links is hardly more than a star around the virtual page, whose circles have
    all two links, so that plain iterations would swing for ever.

    Args:
        web: as it is now.
        small: the weight of the small edges, an ordinary link having 1.
        start: a vector that is thought to be near, as that before the last change; None: equal shares.

    Raises:
        SettingsError: the iterations do not come to an end.
    """
    before = np.full(web.size + 1, 1.0 / (web.size + 1)) if start is None else start
    change = np.inf
    for after in islice(iterate(build_matrix(web, small), before), MOST):
        change = float(np.abs(after - before).sum())
        if change <= NEGLIGIBLE:
            return after
        before = after
    raise SettingsError(
        f"The importance of this web was not found in {MOST:,} iterations (the last one changed {change:.1e}): its "
        f"pages hardly reach each other. Give small edges more weight than {small:g} (--small), or take another web."
    )


def iterate_offline(web: GeneratedWeb, small: float, *, convergent: bool) -> Iterator[Floats]:
    """Yield the vectors after 1, 2, 3, ... iterations from equal shares, float64[n + 1]: the off-line algorithm."""
    return iterate(build_matrix(web, small), convergent=convergent)
