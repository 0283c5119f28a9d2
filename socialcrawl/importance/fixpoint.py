"""The off-line algorithm: importance as the fixpoint of a link matrix (Abiteboul, Preda, Cobena, section 1).

Power iteration, of which the paper has three kinds:

plain       x <- L'x / |L'x|            may turn in circles where the graph is periodic
convergent  x <- (x + L'x) / |x + L'x|  has the same fixpoint and converges, strongly connected or not
patched     L + eps on all pairs in place of L: strongly connected and aperiodic; on the random walk (`matrix.shares`)
            it is Google's, whose damping factor is 1 / (1 + n eps) where every page has links

|x| is the sum norm. The reference for `Cash(small)` is the fixpoint of the same graph, virtual page included.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from socialcrawl.importance.link_matrix import add_virtual_page
from socialcrawl.importance.opic import Floats

TOLERANCE = 1e-13  # the sum of all changes in one step; what is left to go is some tens of it
MOST = 20_000  # steps


def iterate(matrix: Any, start: Floats | None = None, *, eps: float = 0.0, convergent: bool = True) -> Iterator[Floats]:
    """Yield the vectors x after 1, 2, 3, ... steps, without end, float64[n] each, all >= 0 and of sum 1.

    Args:
        matrix: a link matrix, n x n, entries >= 0.
        start: float64[n] of sum 1; equal shares by default.
        eps: added to all n x n entries.
        convergent: x + L'x in place of L'x.
    """
    size = matrix.shape[0]
    back = matrix.T.tocsr()
    rank = np.full(size, 1.0 / size) if start is None else np.asarray(start, np.float64)
    while True:
        following = back @ rank
        if eps:
            following += eps  # times the sum of the x, 1
        if convergent:
            following += rank
        total = following.sum()
        # Without any link (and the convergent step) nobody says anything: all stay as they are.
        rank = following / total if total > 0 else rank
        yield rank


def find_fixpoint(
    matrix: Any,
    *,
    eps: float = 0.0,
    convergent: bool = True,
    tolerance: float = TOLERANCE,
    most: int = MOST,
) -> Floats:
    """Return the importance by `matrix`, float64[n], >= 0, of sum 1, from equal shares.

    Where several fixpoints exist (the graph is not strongly connected), it is the projection of equal shares.

    Raises:
        ValueError: after `most` steps a step still changes more than `tolerance`.
    """
    size = matrix.shape[0]
    if not size:
        return np.empty(0)
    rank, change = np.full(size, 1.0 / size), np.inf
    for following in islice(iterate(matrix, eps=eps, convergent=convergent), most):
        change = float(np.abs(following - rank).sum())
        rank = following
        if change <= tolerance:
            return rank
    raise ValueError(
        f"no fixpoint after {most} steps, the last one changed {change:.1e}: take the convergent iteration or an eps, "
        f"or a tolerance above {tolerance:g}"
    )


def compute_reference(links: Any, small: float = 1.0, tolerance: float = TOLERANCE) -> Floats:
    """Return the limit of the importance by `Cash(small)` on `links`, float64[n + 1], the virtual page last."""
    return find_fixpoint(add_virtual_page(links, small), tolerance=tolerance)
