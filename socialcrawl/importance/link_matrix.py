"""Link matrices, and importance as their fixpoint: the off-line algorithm (Abiteboul, Preda, Cobena, section 1).

A matrix is scipy sparse, n x n, float64. Entry [i, j] is what i says for j. The importance is the fixpoint of
x[j] = sum over i of L[i, j] x[i], up to a factor.

Power iteration, of which the paper has three kinds:

plain       x <- L'x / |L'x|            may turn in circles where the graph is periodic
convergent  x <- (x + L'x) / |x + L'x|  has the same fixpoint and converges, strongly connected or not
patched     L + eps on all pairs in place of L: strongly connected and aperiodic; on the random walk (`normalize_rows`)
            it is Google's, whose damping factor is 1 / (1 + n eps) where every page has links

|x| is the sum norm. The reference for `Cash(small)` is the fixpoint of the same graph, virtual page included.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.importance.opic import Floats, Rows


def make_out_links(sources: Rows, targets: Rows, size: int, weights: Floats | None = None) -> Any:
    """Return L[i, j] = 1 where i links to j, however often; or the sum of the `weights` of these links.

    Args:
        sources: int64[m], from where.
        targets: int64[m], to where.
        size: n, the number of rows.
        weights: float64[m], >= 0, of each link.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415  (scipy takes long to load)

    data = np.ones(len(sources)) if weights is None else np.asarray(weights, np.float64)
    links = csr_array((data, (sources, targets)), shape=(size, size))
    links.sum_duplicates()
    if weights is None:
        links.data[:] = 1.0
    links.eliminate_zeros()
    return links


def make_in_links(links: Any) -> Any:
    """Return L[i, j] = 1 where j links to i: important is who points to the important. It reads pages by in-links."""
    return links.T.tocsr()


def link_both_ways(links: Any) -> Any:
    """Return L[i, j] = 1 where i links to j or j to i (the larger weight): links count both ways."""
    return links.maximum(links.T).tocsr()


def make_kleinberg(links: Any) -> Any:
    """Return L'L: how many pages (or what product of weights) link to both i and j. Its fixpoint is the authority.

    A page with k links brings k^2 entries: for graphs whose out-degrees are bounded.
    """
    return (links.T @ links).tocsr()


MATRICES: dict[str, Callable[[Any], Any]] = {
    "out": lambda links: links,
    "in": make_in_links,
    "both": link_both_ways,
    "kleinberg": make_kleinberg,
}


def normalize_rows(links: Any) -> Any:
    """Return the random walk on `links`: every row divided by its sum; rows without links stay empty."""
    from scipy.sparse import diags_array  # noqa: PLC0415  (scipy takes long to load)

    return (diags_array(_invert(links.sum(axis=1))) @ links).tocsr()


def add_virtual_page(links: Any, small: float = 1.0) -> Any:
    """Return the random walk on `links` and the virtual page, (n+1) x (n+1): what `Cash(small)` pays by.

    Row i with k links gives them k/(k + small) and the virtual page, the last row, the rest; it gives all the same.

    Args:
        links: as of `make_out_links`.
        small: > 0, the weight of the small edge to the virtual page, an ordinary link having 1.
    """
    from scipy.sparse import block_array, csr_array, diags_array  # noqa: PLC0415  (scipy takes long to load)

    size = links.shape[0]
    count = np.diff(links.indptr)
    part = count / (count + small)
    equal = csr_array(np.full((1, size), 1.0 / size))
    rest = csr_array((1.0 - part)[:, None])
    return block_array([[diags_array(part) @ normalize_rows(links), rest], [equal, None]], format="csr")


def _invert(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1/x, and 0 for 0."""
    return np.divide(1.0, sums, out=np.zeros(len(sums)), where=sums > 0)


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
