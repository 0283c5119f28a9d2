"""Where the nodes of a network are drawn: linked ones near each other, the same places each time."""

import numpy as np
from numpy.typing import NDArray

ROUNDS = 120
GRAVITY = 0.08  # pull to the middle, which keeps parts together that no link joins


def compute_layout(size: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return places for the nodes 0 .. size - 1, float64[size, 2] (Fruchterman and Reingold, 1991).

    All pairs push each other away, so this is for a few hundred nodes.

    Args:
        size: the number of nodes.
        source: where links begin.
        target: where they end.
    """
    turn = np.arange(size) * np.pi * (3 - 5**0.5)  # a spiral: no two at the same place, and nothing is drawn
    at = np.sqrt((np.arange(size) + 0.5) / max(1, size))[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    near = 1.0 / np.sqrt(max(1, size))
    for number in range(ROUNDS):
        apart = at[:, None] - at[None]
        force = (apart * (near**2 / ((apart**2).sum(axis=2) + 1e-9))[..., None]).sum(axis=1)
        pull = at[source] - at[target]
        pull *= (np.sqrt((pull**2).sum(axis=1)) / near)[:, None]
        np.subtract.at(force, source, pull)
        np.add.at(force, target, pull)
        force -= GRAVITY * at
        length = np.sqrt((force**2).sum(axis=1))
        step = np.minimum(length, 0.2 * (1 - number / ROUNDS))
        at = at + force * (step / np.maximum(length, 1e-12))[:, None]
    return np.asarray(np.round(at, 3))
