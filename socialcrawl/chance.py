"""Draws for decisions that are made many thousand times a second: as `draws`, keyed by (seed, purpose, n), but quick.

A number is one step of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators), whose stream is
chosen by seed and purpose, and whose place is n. It costs under a microsecond, where a generator costs ten.
"""

import zlib
from functools import lru_cache

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15  # the step between states: 2^64 over the golden ratio, odd
UNIT = 2.0**-53
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # SplitMix64's multipliers


def chance(seed: int, purpose: str, n: int) -> float:
    """A number in [0, 1), float64, for draw number `n` of one purpose; the same arguments give the same number."""
    return (_mixed(stream(seed, purpose) + n * GOLDEN) >> 11) * UNIT


@lru_cache(maxsize=256)
def stream(seed: int, purpose: str) -> int:
    """The state from which the draws of one purpose start."""
    return _mixed(_mixed(seed + GOLDEN) + zlib.crc32(purpose.encode()))


def _mixed(state: int) -> int:
    z = state & MASK
    z = ((z ^ (z >> 30)) * FIRST) & MASK
    z = ((z ^ (z >> 27)) * SECOND) & MASK
    return z ^ (z >> 31)
