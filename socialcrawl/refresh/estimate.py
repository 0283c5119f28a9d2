"""How many nodes of an old dataset are active, by a random sample of it (Huynh et al., section 2.4)."""

from dataclasses import dataclass
from math import sqrt

LEVEL = 1.959963984540054  # of the normal distribution: 95 % lie within


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known of the number of active nodes.

    Attributes:
        nodes: n, of the dataset.
        tested, found: how many were tested, and are active.
        sampled, sample_active: those tested of the random sample, and how many are active; 0 where there is no sample.
        value: n_a^ = sample_active * nodes / sampled; None without a sample.
        low, high: where n_a lies in 95 of 100 samples, by Wilson's interval for a sample without replacement, within
            what the tests leave possible.
    """

    nodes: int
    tested: int
    found: int
    sampled: int
    sample_active: int
    value: float | None
    low: float
    high: float

    @property
    def share(self) -> float | None:
        """The share of the active nodes that is found, by the estimate, 1 at most; None where it says nothing."""
        return min(1.0, self.found / self.value) if self.value else None


def estimate(nodes: int, *, tested: int, found: int, left: int, sampled: int, sample_active: int) -> Estimate:
    """What a random sample, and all tests together, say of the number of active nodes.

    Args:
        nodes: n, of the dataset.
        tested: how many were.
        found: how many of them are active.
        left: how many can still be tested: no more than found + left are active.
        sampled: how many of the sample were tested.
        sample_active: how many of these are active.
    """
    value = nodes * sample_active / sampled if sampled else None
    low, high = wilson(sample_active, sampled, nodes)
    least, most = float(found), float(found + left)
    return Estimate(
        nodes,
        tested,
        found,
        sampled,
        sample_active,
        value,
        min(max(low * nodes, least), most),
        max(min(high * nodes, most), least),
    )


def wilson(hits: int, size: int, whole: int) -> tuple[float, float]:
    """The bounds between which a share lies in 95 of 100 samples of `size`, drawn from `whole` without replacement.

    A sample of nearly all varies less: by (whole - size) / (whole - 1), of which the level is the root.
    """
    if not size:
        return 0.0, 1.0
    if size >= whole:
        return hits / size, hits / size
    level = LEVEL * sqrt((whole - size) / (whole - 1))
    share, extra = hits / size, level * level / size
    middle = (share + extra / 2) / (1 + extra)
    half = level / (1 + extra) * sqrt(share * (1 - share) / size + extra / (4 * size))
    return max(0.0, middle - half), min(1.0, middle + half)
