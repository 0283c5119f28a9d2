"""The spectral gap of a walk: how fast it forgets where it began. For small graphs, of which all is known.

Bar-Yossef, Kanungo, Krauthgamer, section 3.2: the gap is |lambda1| - |lambda2|, of the two eigenvalues of the
transition matrix with the largest absolute value; O(log N / gap) steps are close to the limit. Loops are steps too; as
they are free, the requests that a walk needs are its steps times the mean chance to move.
"""

from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DENSE = 600  # nodes up to which all eigenvalues are computed, which cannot miss one
ROUNDING = 1e-9  # an eigenvalue nearer to 1 is 1: there are two parts
LARGEST = 4000  # nodes of a chain that is not symmetric, and needs all of them


def make_simple_walk(links: Any) -> Any:
    """Return the transition matrix, scipy CSR, of the plain walk: a neighbour drawn by how often it is linked.

    Args:
        links: [n, n], symmetric, sparse or dense; links[u, v] is how many links join u and v. A node without any stays.
    """
    matrix, degree = _make_symmetric(links)
    from scipy.sparse import diags_array  # noqa: PLC0415  # costs 0.2 s, and only gaps pay it

    alone = (degree == 0.0).astype(np.float64)
    return (diags_array(1.0 / np.where(degree > 0.0, degree, 1.0)) @ matrix + diags_array(alone)).tocsr()


def make_regular_walk(links: Any, most: float | None = None) -> Any:
    """Return the transition matrix, scipy CSR, of WebWalker (section 3.3): loops fill all degrees up to `most`.

    Args:
        links: as of `make_simple_walk`.
        most: D; None: the largest degree, the fastest walk whose law is uniform.

    Raises:
        ValueError: a node has a larger degree.
    """
    matrix, degree = _make_symmetric(links)
    from scipy.sparse import diags_array  # noqa: PLC0415  # costs 0.2 s, and only gaps pay it

    bound = float(degree.max(initial=1.0)) if most is None else float(most)
    if degree.max(initial=0.0) > bound:
        raise ValueError(f"a node has {degree.max():g} neighbours, more than D = {bound:g}: raise D")
    return (matrix / bound + diags_array(1.0 - degree / bound)).tocsr()


def restrict_links(links: Any, rows: Any) -> Any:
    """Return the links among some nodes only: the graph of a hard focus, or of a topical neighbourhood.

    Args:
        links: as of `make_simple_walk`.
        rows: int[m], or bool[n].
    """
    from scipy.sparse import csr_array  # noqa: PLC0415  # costs 0.2 s, and only gaps pay it

    chosen = np.asarray(rows)
    chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
    return csr_array(links)[chosen][:, chosen]


def compute_gap(matrix: Any, law: Any = None) -> float:
    """Return |lambda1| - |lambda2| of a transition matrix, 0 to 1: 0 where the walk never forgets (two parts or turns).

    Args:
        matrix: [n, n], rows sum to 1, sparse or dense.
        law: float64[n], the stationary law of a reversible chain, as the degrees are of `make_simple_walk`; None:
            uniform where the matrix is symmetric, else the chain is taken as not reversible.

    Raises:
        ValueError: the matrix is not one of chances, or too large for a chain that is not reversible.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415  # costs 0.2 s, and only gaps pay it

    given = csr_array(matrix, dtype=np.float64)
    n = given.shape[0]
    if n < 2:
        return 1.0
    if np.any(given.data < 0.0) or not np.allclose(given.sum(axis=1), 1.0):
        raise ValueError("the rows of a transition matrix are chances: none below 0, and their sum is 1")
    if law is None and abs(given - given.T).max() > 1e-12:
        if n > LARGEST:
            raise ValueError(
                f"the gap of a chain that is not reversible takes all eigenvalues: {n:,} nodes are too many"
            )
        return _subtract_second(np.linalg.eigvals(given.toarray()))
    return _subtract_second(
        _compute_eigenvalues(given if law is None else _symmetrize(given, np.asarray(law, np.float64)))
    )


def estimate_mixing_time(gap: float, nodes: int) -> float:
    """Return the steps, with loops, after which a walk is near its limit: ln N / gap (section 3.2, O(.) taken as 1)."""
    return log(nodes) / gap if gap > 0.0 and nodes > 1 else inf if nodes > 1 else 0.0


def compute_relaxation(links: Any) -> float:
    """Return the steps after which a plain walk has forgotten all but 1/e of where it was; inf if it never does.

    1 / (1 - lambda2), by the second largest eigenvalue. The smallest one, of a walk that goes to and fro, is no matter:
    averages over time do not suffer from it.

    Args:
        links: as of `make_simple_walk`, of one node or more; what joins a node to itself is a loop.
    """
    degree = _make_symmetric(links)[1]
    if len(degree) < 2:
        return 1.0
    second = float(np.sort(_compute_eigenvalues(_symmetrize(make_simple_walk(links), np.maximum(degree, 1.0))))[-2])
    return 1.0 / (1.0 - second) if second < 1.0 - ROUNDING else inf


def compute_move_chance(matrix: Any) -> float:
    """Return the mean chance to leave a node, over all nodes alike: of a walk's steps, the part that is not a loop."""
    from scipy.sparse import csr_array  # noqa: PLC0415  # costs 0.2 s, and only gaps pay it

    return float(1.0 - csr_array(matrix).diagonal().mean())


def _make_symmetric(links: Any) -> tuple[Any, Floats]:
    """Return the links as a matrix, and the degrees."""
    from scipy.sparse import csr_array  # noqa: PLC0415  # costs 0.2 s, and only gaps pay it

    matrix = csr_array(links, dtype=np.float64)
    if abs(matrix - matrix.T).max() > 0.0:
        raise ValueError("the links of a walk have no direction: give u-v both ways")
    return matrix, np.asarray(matrix.sum(axis=1), np.float64)


def _symmetrize(matrix: Any, law: Floats) -> Any:
    """Return the symmetric matrix with the same eigenvalues, of a reversible chain."""
    from scipy.sparse import diags_array  # noqa: PLC0415  # costs 0.2 s, and only gaps pay it

    if len(law) != matrix.shape[0] or not np.all(law > 0.0):
        raise ValueError("the law has to give every node of the chain a share above 0")
    root = np.sqrt(law)
    turned = diags_array(root) @ matrix @ diags_array(1.0 / root)
    if abs(turned - turned.T).max() > 1e-9:
        raise ValueError("the chain is not reversible under this law: remove the law")
    return turned


def _compute_eigenvalues(matrix: Any) -> Floats:
    """Return the eigenvalues of a symmetric matrix: all of a small one, else those at both ends."""
    n = matrix.shape[0]
    if n <= DENSE:
        return np.asarray(np.linalg.eigvalsh(matrix.toarray()), np.float64)
    from scipy.sparse.linalg import eigsh  # noqa: PLC0415  # costs 0.2 s, and only large gaps pay it

    start = np.random.default_rng(0).random(n)  # the same again: results do not depend on chance
    return np.asarray(eigsh(matrix, k=4, which="BE", v0=start, return_eigenvectors=False), np.float64)


def _subtract_second(eigenvalues: Any) -> float:
    """Return 1 less the second largest absolute value."""
    sizes = np.sort(np.abs(eigenvalues))
    return float(np.clip(sizes[-1] - sizes[-2], 0.0, 1.0))
