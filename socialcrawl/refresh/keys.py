"""Random orders that stay as they are when nodes join: each node has a number of its own, drawn by seed and purpose."""

import zlib

import numpy as np
from numpy.typing import NDArray

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # the step between states of SplitMix64: see chance
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def keys(seed: int, purpose: str, nodes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a number for each node, uint64, different for different nodes; the draws of `chance`, all at once."""
    start = np.array([seed % 2**64], np.uint64)  # an array: unsigned numbers wrap round in it without a warning
    stream = _mixed(_mixed(start + GOLDEN) + np.uint64(zlib.crc32(purpose.encode())))
    return _mixed(stream + nodes.astype(np.uint64) * GOLDEN)


def shuffled(seed: int, purpose: str, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of nodes in a random order."""
    return np.argsort(keys(seed, purpose, nodes), kind="stable")


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (state ^ (state >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))
