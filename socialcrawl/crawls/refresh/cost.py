"""What a LiveRank costs: fetches for each active node found (Huynh, Mathieu, Viennot, section 2.1), and who fetches."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[Any]
Flags = NDArray[np.bool_]

ALPHAS: Floats = np.round(np.linspace(0.01, 1.0, 100), 2)


def compute_cost(order: Rows, active: Flags, alphas: Floats = ALPHAS) -> Floats:
    """Return the fetches of an order for each active node, by the wanted fraction of them, float64[len(alphas)].

    cost(a) = i / (a n_a) with the least i for which the first i hold a n_a active nodes. The training set is fetched
    first, so that it stands first in the order and counts. inf where the order ends before; NaN where none is active.

    Args:
        order: int[k], distinct rows, the training set first.
        active: bool[n], the truth of all rows.
        alphas: fractions above 0, up to 1.

    Raises:
        ValueError: a fraction is out of range.
    """
    return compute_found_cost(active[order], int(np.count_nonzero(active)), alphas)


def compute_found_cost(found: Flags, n_active: int, alphas: Floats = ALPHAS) -> Floats:
    """Return the cost of tests as they came: `found[i]` says whether test i met one of the `n_active` active nodes.

    Raises:
        ValueError: a fraction is out of range.
    """
    alphas = np.asarray(alphas, np.float64)
    if not ((alphas > 0) & (alphas <= 1)).all():
        raise ValueError("fractions of the active nodes lie above 0, and are at most 1")
    if n_active == 0:
        return np.asarray(np.full(len(alphas), np.nan))
    at = np.flatnonzero(found) + 1.0  # fetches until the first, second, ... active node
    # 0.07 * 100 is a little more than 7: nobody means the 8th.
    least = np.maximum(np.ceil(np.round(alphas * n_active, 9)).astype(np.int64), 1)
    fetches = np.append(at, np.inf)[np.minimum(least, len(at) + 1) - 1]
    return np.asarray(fetches / (alphas * n_active))


def assign_workers(order: Rows, workers: int) -> NDArray[np.int64]:
    """Return which of `workers` tests each node l_1, l_2, ... of an order, int64: that of l_i is i modulo their number.

    Raises:
        ValueError: fewer than one worker.
    """
    if workers < 1:
        raise ValueError(f"{workers} workers: it takes at least 1")
    return np.arange(1, len(order) + 1) % workers
