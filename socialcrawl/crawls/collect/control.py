"""Steps for comparison: a share of them is drawn, so that what an estimator gains can be measured.

Among accounts that an estimator chose, nothing shows what it passed over. So a coin, keyed by seed and step, gives a
share of the steps to two control groups of equal size: accounts drawn from the whole frontier (chance), and accounts
drawn from those of it that are nearest to the seeds (what a breadth-first crawl reads). As the coin knows nothing of
the accounts, the difference between the groups is what choosing them gained.
"""

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.strategies import Ranked, Scored, Strategy
from socialcrawl.engine.arms import NEAREST, STEERED, assign_arms
from socialcrawl.engine.splitmix import draw_chance


class ControlledStrategy:
    """Another strategy, but for a share of the steps, which are drawn for comparison.

    Args:
        strategy: chooses in all other steps.
        share: of the steps, above 0 and at most 1.
        seed: the campaign's.
    """

    def __init__(self, strategy: Strategy, share: float, seed: int) -> None:
        self.strategy, self.share, self.seed = strategy, share, seed

    def pick(self, frontier: Ranked, size: int, n: int) -> Scored:
        """Return the rows of the next `size` picks, in order, and their scores; each from what the others left."""
        steered = self.strategy.pick(frontier, size, n)
        who = assign_arms(self.seed, self.share, n, size)
        if not who.any():
            return steered
        rows, scores = frontier.all(n)
        left = np.ones(len(rows), np.bool_)
        wanted = iter(np.searchsorted(rows, steered[0]).tolist())
        picked: list[int] = []
        for i, arm in enumerate(who[: len(rows)].tolist()):
            if arm == STEERED:
                place = next(place for place in wanted if left[place])
            else:
                place = self._draw(frontier, rows, left, n + i, nearest=arm == NEAREST)
            left[place] = False
            picked.append(place)
        return rows[picked], scores[picked]

    def _draw(
        self, frontier: Ranked, rows: NDArray[np.int64], left: NDArray[np.bool_], n: int, *, nearest: bool
    ) -> int:
        """Return a place in `rows` that is drawn among those `left`."""
        places = np.flatnonzero(left)
        if nearest:
            depth = frontier.depth(rows[places])
            places = places[depth == depth.min()]
        return int(places[int(draw_chance(self.seed, "control account", n) * len(places))])
