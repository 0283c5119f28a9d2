"""Link matrices: what importance may be defined by (Abiteboul, Preda, Cobena, section 1). Scipy sparse, n x n, float64.

Entry [i, j] is what i says for j. The importance is the fixpoint of x[j] = sum over i of L[i, j] x[i], up to a factor.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.importance.opic import Floats, Rows


def make_out_links(sources: Rows, targets: Rows, size: int, weights: Floats | None = None) -> Any:
    """L[i, j] = 1 where i links to j, however often; or the sum of the `weights` of these links.

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
    """L[i, j] = 1 where j links to i: important is who points to the important. Reads pages by their in-links."""
    return links.T.tocsr()


def link_both_ways(links: Any) -> Any:
    """L[i, j] = 1 where i links to j or j to i (the larger weight): points to, or is pointed at by, the important."""
    return links.maximum(links.T).tocsr()


def make_kleinberg(links: Any) -> Any:
    """L'L: how many pages (or what product of weights) link to both i and j. Its fixpoint is Kleinberg's authority.

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
    """1/x, and 0 for 0."""
    return np.divide(1.0, sums, out=np.zeros(len(sums)), where=sums > 0)
