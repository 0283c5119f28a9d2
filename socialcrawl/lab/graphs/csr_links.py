"""Links as they are found, one by one, made into compressed sparse rows; counts made into values.

The order is kept: a node's links stand in the order in which they were first seen, because a crawl discovers nodes in
that order and gives ties to the node discovered first.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError

Scoring = Callable[[int], float]
Rows = tuple[NDArray[np.int64], NDArray[np.int64] | NDArray[np.int32], NDArray[np.float64]]


def gather_links(rows: range, size: int, source: NDArray[Any], target: NDArray[Any], weight: NDArray[Any]) -> Rows:
    """Return the links of some rows without self-links, parallel ones added up at the first one's place.

    Args:
        rows: consecutive nodes, to which all sources belong.
        size: the nodes of the graph; targets are below it, and `len(rows) * size` below 2**63.
        source: int[m]; links of one source are taken in the order given, wherever they stand.
        target: int[m].
        weight: float[m]; parallel ones are added in the order given, in float64.

    Returns:
        indptr int64[len(rows) + 1], which begins at 0; the targets, int32 where they fit; the sums, float64.
    """
    kept = source != target
    source, target, weight = source[kept].astype(np.int64) - rows.start, target[kept], weight[kept]
    _, first, group = np.unique(source * size + target, return_index=True, return_inverse=True)
    sums = np.asarray(np.bincount(group, weights=weight, minlength=len(first)), np.float64)
    order = np.lexsort((first, source[first]))
    chosen = first[order]
    indptr = compute_offsets(np.bincount(source[chosen], minlength=len(rows)))
    return indptr, shrink_indices(target[chosen], size), sums[order]


def compute_offsets(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Return the places where rows of these lengths begin, and the end of the last: int64[n + 1]."""
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


def shrink_indices(indices: NDArray[Any], size: int) -> NDArray[np.int64] | NDArray[np.int32]:
    """Return targets in the smaller of the two types that can number `size` nodes."""
    return indices.astype(np.int32) if size <= 2**31 else indices.astype(np.int64)


def score_counts(counts: NDArray[Any], scoring: Scoring) -> NDArray[np.float64]:
    """Return the values of counted occurrences, float64 of the same length; `scoring` is asked once for each count.

    Raises:
        SettingsError: the scoring gives a negative, infinite or undefined value, or one other than 0 for 0.
    """
    seen, place = np.unique(counts, return_inverse=True)
    values = np.array([float(scoring(int(count))) for count in seen], np.float64)
    good = np.isfinite(values) & (values >= 0) & ((seen != 0) | (values == 0))
    if not good.all():
        bad = int(np.argmin(good))
        raise SettingsError(
            f"The scoring gives {values[bad]} for {int(seen[bad])} occurrences; "
            "give one that is finite, never negative, and 0 for 0."
        )
    return values[place]
