"""Strategies: which of the scored frontier nodes are picked (Gouriten et al., section 4)."""

import numpy as np
from numpy.typing import NDArray


def greedy(scores: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Positions of the `size` highest scores, best first (Definition 7); ties go to the smaller position.

    Positions are in order of discovery, so that of equal nodes the one discovered first is picked.
    """
    if size == 1:
        return np.array([np.argmax(scores)]) if len(scores) else np.empty(0, np.int64)
    if size < len(scores):
        worst = -np.partition(-scores, size - 1)[size - 1]
        candidates = np.flatnonzero(scores >= worst)
    else:
        candidates = np.arange(len(scores))
    return candidates[np.argsort(-scores[candidates], kind="stable")][:size]
