"""Navigational Rank (Feng et al.; Gouriten et al., section 5.3): value that flows up to the ancestors, then down again.

    NR1(v) = d w(v)   + (1-d) avg over children u of v of NR1(u) / indegree(u)
    NR2(v) = d NR1(v) + (1-d) avg over parents u of v of NR2(u) / outdegree(u)

The average of nothing is 0. Both are contractions by 1-d in the maximum norm: after a step that moved no number by more
than x, none is further than x (1-d)/d from the fixed point.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOLERANCE = 1e-12  # of the largest value: how far a number may be from the fixed point
SMALLEST = 1e-15  # relative moves that are rounding


def compute_navigational_rank(
    sources: Ints, targets: Ints, values: Floats, d: float, tolerance: float = TOLERANCE
) -> tuple[Floats, Floats]:
    """Return (NR1, NR2) of n nodes, float64[n] each, to `tolerance` times the largest value.

    Args:
        sources: int64[m], the nodes that m distinct links come from.
        targets: int64[m], the nodes that they go to.
        values: float64[n], w: the value of a fetched node, 0 for the frontier.
        d: the weight of a node's own score, 0 < d <= 1.
        tolerance: relative to the largest of `values`.

    Raises:
        ValueError: d is out of range.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415

    if not 0 < d <= 1:
        raise ValueError(f"d = {d}: the weight of a node's own score must be above 0 and at most 1")
    n = len(values)
    out_degree = np.maximum(np.bincount(sources, minlength=n), 1).astype(np.float64)
    in_degree = np.maximum(np.bincount(targets, minlength=n), 1).astype(np.float64)
    links = csr_array((np.ones(len(sources)), (sources, targets)), shape=(n, n))
    close = tolerance * float(values.max(initial=0.0)) / 2.0  # half for each of the two
    up = _find_fixed_point(lambda rank: (links @ (rank / in_degree)) / out_degree, values, d, close)
    back = links.T.tocsr()
    return up, _find_fixed_point(lambda rank: (back @ (rank / out_degree)) / in_degree, up, d, close)


def _find_fixed_point(average: Callable[[Floats], Floats], own: Floats, d: float, close: float) -> Floats:
    """Return the fixed point of x = d own + (1-d) average(x), to `close` or to the last digits of float64."""
    rank = d * own
    while True:
        following = d * own + (1.0 - d) * average(rank)
        moved = float(np.abs(following - rank).max(initial=0.0))
        rank = following
        if moved * (1.0 - d) <= close * d or moved <= SMALLEST * rank.max():
            return np.asarray(rank)
