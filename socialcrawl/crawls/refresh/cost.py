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


def compute_running_cost(found: Flags) -> Floats:
    """Return the fetches for each active node found so far, after each test, float64; inf before the first."""
    hits, fetches = np.cumsum(found), np.arange(1.0, len(found) + 1)
    return np.asarray(np.divide(fetches, hits, out=np.full(len(found), np.inf), where=hits > 0))


def estimate_active(found: Flags, size: int) -> float:
    """Return n_a by a random sample: its share of active nodes times `size`, all nodes; NaN without a sample."""
    return float(np.mean(found)) * size if len(found) else float("nan")


def compute_found_share(found: Flags, n_active: float) -> Floats:
    """Return the share of `n_active` (an estimate, or the truth) that is found after each test, float64."""
    return np.asarray(np.cumsum(found) / n_active if n_active > 0 else np.full(len(found), np.nan))


def compute_ideal_cost(alphas: Floats = ALPHAS) -> Floats:
    """Return the cost of who knows: every fetch meets an active node. 1 for all fractions."""
    return np.asarray(np.ones(len(alphas)))


def compute_random_cost(n: int, n_active: int, alphas: Floats = ALPHAS) -> Floats:
    """Return the cost of a random order, n / n_a for all fractions; every order ends there at 1."""
    return np.asarray(np.full(len(alphas), n / n_active if n_active else np.nan))


def assign_workers(order: Rows, workers: int) -> NDArray[np.int64]:
    """Return which of `workers` tests each node l_1, l_2, ... of an order, int64: that of l_i is i modulo their number.

    Raises:
        ValueError: fewer than one worker.
    """
    if workers < 1:
        raise ValueError(f"{workers} workers: it takes at least 1")
    return np.arange(1, len(order) + 1) % workers
