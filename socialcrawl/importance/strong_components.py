"""The largest strongly connected component of a graph: where crawls can come from anywhere to anywhere."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def find_largest_component(indptr: Ints, indices: Ints) -> Ints:
    """Return the rows of the largest strongly connected component, ascending.

    Of equally large ones, that of the least row.

    Args:
        indptr: int64[n + 1]; the links of node u are places `indptr[u]` to `indptr[u + 1]`.
        indices: int64[m], the targets.
    """
    label = find_components(indptr, indices)
    sizes = np.bincount(label)
    first = label[np.argmax(sizes[label] == sizes.max())]  # of the least row whose component is as large as any
    return np.flatnonzero(label == first)


def find_components(indptr: Ints, indices: Ints, connection: str = "strong") -> Ints:
    """Return a number for each node, int64[n]: the same exactly for nodes that can reach each other.

    Args:
        indptr: as of `find_largest_component`.
        indices: the same.
        connection: "strong" along the links, "weak" whichever way these lead.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415  (a tenth of a second that few commands need)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    n = len(indptr) - 1
    links = csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(n, n))
    _, label = connected_components(links, connection=connection)
    return np.asarray(label, np.int64)
