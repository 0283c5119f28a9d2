"""Random draws without state: each is a function of (campaign seed, purpose, n).

A draw that is lost in a crash, or asked for twice, is the same again; no generator is shared or advanced.

Decisions that are made many thousand times a second take one step of SplitMix64 (Steele, Lea, Flood: Fast Splittable
Pseudorandom Number Generators), whose stream is chosen by seed and purpose, and whose place is n. It costs under a
microsecond, where a generator costs ten.
"""

import zlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


def make_generator(seed: int, purpose: str, n: int) -> np.random.Generator:
    """Return the generator for draw number `n` of one purpose; the same arguments give the same draws."""
    return np.random.default_rng([seed, zlib.crc32(purpose.encode()), n])


def draw_uniform(seed: int, purpose: str, n: int, size: int) -> NDArray[np.float64]:
    """Return `size` numbers in [0, 1), float64, for draw number `n` of one purpose."""
    return make_generator(seed, purpose, n).random(size)


MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15  # the step between states: 2^64 over the golden ratio, odd
UNIT = 2.0**-53
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # SplitMix64's multipliers


def draw_chance(seed: int, purpose: str, n: int) -> float:
    """Return a number in [0, 1), float64, for draw number `n` of one purpose.

    The same arguments give the same number.
    """
    return (_mix(start_stream(seed, purpose) + n * GOLDEN) >> 11) * UNIT


@lru_cache(maxsize=256)
def start_stream(seed: int, purpose: str) -> int:
    """Return the state from which the draws of one purpose start."""
    return _mix(_mix(seed + GOLDEN) + zlib.crc32(purpose.encode()))


def _mix(state: int) -> int:
    z = state & MASK
    z = ((z ^ (z >> 30)) * FIRST) & MASK
    z = ((z ^ (z >> 27)) * SECOND) & MASK
    return z ^ (z >> 31)


def draw_numbers(start: int, begin: int, count: int) -> NDArray[np.float64]:
    """Return numbers in [0, 1), float64[count], of places `begin` and following in the stream that starts at `start`.

    They are those of `draw_chance`, many at a time.
    """
    places = np.arange(begin, begin + count, dtype=np.uint64)
    return (_mix_all(np.uint64(start) + places * np.uint64(GOLDEN)) >> np.uint64(11)).astype(np.float64) * UNIT


def draw_keys(seed: int, purpose: str, nodes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a number for each node, uint64, different for different nodes.

    Orders by it stay as they are when nodes join. The numbers are the draws of `draw_chance`, before they are scaled.
    """
    return _mix_all(np.uint64(start_stream(seed % 2**64, purpose)) + nodes.astype(np.uint64) * np.uint64(GOLDEN))


def shuffle(seed: int, purpose: str, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of nodes in a random order."""
    return np.argsort(draw_keys(seed, purpose, nodes), kind="stable")


def _mix_all(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND)
    return z ^ (z >> np.uint64(31))


STEERED, CHANCE, NEAREST = range(3)
"""Who chose the account of a step: the estimator; a draw from the frontier; a draw from those nearest to the seeds."""
ARM_NAMES = {CHANCE: "all", NEAREST: "nearest"}
"""What exports call the draws: from all accounts that were known and not read yet; from those nearest to the seeds."""


def assign_arms(seed: int, share: float, first: int, count: int) -> NDArray[np.int8]:
    """Return who chooses in steps `first` and following, int8[count]; `share` of them are for comparison."""
    coin = draw_numbers(start_stream(seed, "control"), first, count)
    return np.where(coin >= share, STEERED, np.where(coin < share / 2, CHANCE, NEAREST)).astype(np.int8)
