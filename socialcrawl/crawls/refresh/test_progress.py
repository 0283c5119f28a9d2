"""How far the tests have come along an order, and what of a random sample lies beyond.

Where an order was made without asking the sample, the sampled nodes that it has not reached are a random sample of all
that it has not reached. They were tested already, but have kept their places.
"""

import numpy as np

from socialcrawl.crawls.refresh.active_estimate import Stratum
from socialcrawl.crawls.refresh.test_order import ACTIVE, DEAD, LEFT, Ints, RowQueue, States


class Frontier:
    """The place in an order up to which no row is left to be tested.

    Args:
        order: distinct rows, those of the random sample at the places that they have without being tested first.
        first: the rows that are tested before the order begins, and stand in it no more.
        size: how many rows there are in all.
    """

    def __init__(self, order: Ints, first: Ints, size: int) -> None:
        self._order, self._first, self._line = order, first, RowQueue(order)
        self._place = np.full(size, -1, np.int64)
        self._place[order] = np.arange(len(order))
        self._head, self._passed = 0, np.zeros(LEFT + 1, np.int64)

    def beyond(self, state: States, sample: Ints, everything: Stratum) -> Stratum:
        """Return the stratum of rows beyond the frontier.

        Args:
            state: int8[n], of all rows.
            sample: rows that were drawn at random.
            everything: the stratum of all rows.
        """
        head = self._line.passed(state)
        self._passed += count_states(state[self._order[self._head : head]])
        self._head = head
        before = self._passed + count_states(state[self._first])
        found = count_states(state[sample[self._place[sample] >= head]])
        return Stratum(
            everything.size - int(before[ACTIVE] + before[DEAD]),
            everything.active - int(before[ACTIVE]),
            int(found[ACTIVE] + found[DEAD]),
            int(found[ACTIVE]),
        )


def count_states(states: States) -> Ints:
    """Return how many rows are in each state, int64[LEFT + 1]."""
    return np.bincount(states, minlength=LEFT + 1)
