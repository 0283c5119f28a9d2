"""Draws of a walk in blocks: the numbers of `chance`, many at a time."""

import numpy as np
from numpy.typing import NDArray

from socialcrawl.chance import FIRST, GOLDEN, SECOND, UNIT


def draws(start: int, begin: int, count: int) -> NDArray[np.float64]:
    """The numbers in [0, 1), float64[count], of places `begin` and following in the stream that starts at `start`."""
    places = np.arange(begin, begin + count, dtype=np.uint64)
    return unit(np.uint64(start) + places * np.uint64(GOLDEN))


def unit(states: NDArray[np.uint64]) -> NDArray[np.float64]:
    """One number in [0, 1), float64, a state."""
    return (_mixed(states) >> np.uint64(11)).astype(np.float64) * UNIT


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND)
    return z ^ (z >> np.uint64(31))
