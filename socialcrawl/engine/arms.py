"""Who chooses the account of a step: the estimator, or one of two draws for comparison. Pure."""

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.splitmix import draw_numbers, start_stream

STEERED, CHANCE, NEAREST = range(3)
"""Who chose the account of a step: the estimator; a draw from the frontier; a draw from those nearest to the seeds."""
NAMES = {CHANCE: "all", NEAREST: "nearest"}
"""What exports call the draws: from all accounts that were known and not read yet; from those nearest to the seeds."""


def assign_arms(seed: int, share: float, first: int, count: int) -> NDArray[np.int8]:
    """Return who chooses in steps `first` and following, int8[count]; `share` of them are for comparison."""
    coin = draw_numbers(start_stream(seed, "control"), first, count)
    return np.where(coin >= share, STEERED, np.where(coin < share / 2, CHANCE, NEAREST)).astype(np.int8)
