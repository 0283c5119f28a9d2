"""PageRank (Page, Brin, Motwani, Winograd; Huynh, Mathieu, Viennot, section 3): Y = d Y A + (1-d) X.

A is the random walk on the links, whose rows without links are 0: they dangle. What they hold is dropped (as Huynh et
al. do: Y then sums to less than 1), or goes where the walk is zapped to (X), or to all pages. Orders differ by that.
"""

from typing import Any

import numpy as np

from socialcrawl.importance.opic import Floats
from socialcrawl.text.wording import explain_unknown

DAMPING = 0.85
TOLERANCE = 1e-10  # of the sum of all ranks: how far they may be, together, from the fixpoint
DANGLING = ("zap", "all", "drop")
SMALLEST = 1e-15  # changes, of all ranks together, that are rounding


def compute_pagerank(
    links: Any,
    *,
    damping: float = DAMPING,
    zap: Floats | None = None,
    dangling: str = "zap",
    tolerance: float = TOLERANCE,
) -> Floats:
    """Return the rank of every row, float64[n]; together they are `tolerance` from the solution, or less.

    Args:
        links: a scipy sparse array, n x n: entry [i, j] >= 0 is the weight of the link from i to j.
        damping: d, from 0 up to but not 1: how much of a rank is handed on along links.
        zap: float64[n] >= 0, X up to a factor; equal for all by default.
        dangling: "zap", "all" or "drop": where the rank of rows without links goes.
        tolerance: in the sum norm, in which every step is a contraction by d; below 1e-14 rounding is in the way.

    Raises:
        ValueError: an argument is out of range.
    """
    size = links.shape[0]
    jump = _normalize(zap, size)
    if not 0 <= damping < 1:
        raise ValueError(f"damping = {damping}: the part that is handed on must be at least 0 and less than 1")
    if dangling not in DANGLING:
        raise ValueError(explain_unknown("place for dangling rank", dangling, DANGLING))
    sums = np.asarray(links.sum(axis=1), np.float64)
    scale = np.divide(damping, sums, out=np.zeros(size), where=sums > 0)
    back = links.T.tocsr()
    silent = np.flatnonzero(sums == 0)
    refuge = {"zap": jump, "all": np.full(size, 1.0 / max(size, 1)), "drop": np.zeros(size)}[dangling]
    fixed = (1.0 - damping) * jump
    close = max(SMALLEST, tolerance * (1.0 - damping))
    rank: Floats = jump
    change = np.inf
    while change > close:
        following = fixed + back @ (rank * scale)
        if len(silent):
            following += damping * float(rank[silent].sum()) * refuge
        change = float(np.abs(following - rank).sum())
        rank = following
    return rank


def _normalize(zap: Floats | None, size: int) -> Floats:
    """Return `zap` with a sum of 1."""
    if zap is None:
        return np.full(size, 1.0 / max(size, 1))
    given = np.asarray(zap, np.float64)
    if given.shape != (size,) or not (given >= 0).all() or not 0 < given.sum() < np.inf:
        raise ValueError(f"a zap vector has {size} numbers, none below 0 and not all 0")
    return np.asarray(given / given.sum())
