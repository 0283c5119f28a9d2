"""Random draws without state: each is a function of (campaign seed, purpose, n).

A draw that is lost in a crash, or asked for twice, is the same again; no generator is shared or advanced.
"""

import zlib

import numpy as np
from numpy.typing import NDArray


def make_generator(seed: int, purpose: str, n: int) -> np.random.Generator:
    """Return the generator for draw number `n` of one purpose; the same arguments give the same draws."""
    return np.random.default_rng([seed, zlib.crc32(purpose.encode()), n])


def draw_uniform(seed: int, purpose: str, n: int, size: int) -> NDArray[np.float64]:
    """`size` numbers in [0, 1), float64, for draw number `n` of one purpose."""
    return make_generator(seed, purpose, n).random(size)
