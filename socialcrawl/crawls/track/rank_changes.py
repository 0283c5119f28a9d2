"""Which accounts rose or fell further than chance alone would move them. Pure.

The model of chance: every account keeps its rate of links through the whole campaign. The links that were seen up to
then, and since, are drawn anew from these rates (Poisson), each with the mean weight of a link to the account; all are
put in order both times. A move counts that lies outside of 95 % of those that are drawn. Accounts without any link have
no rate, and nothing is said of their places.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.draws import make_generator

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DRAWS = 400
AMONG = 100  # accounts are compared that were or are among this many first
FIELD = 2_000  # accounts of most weight that are put in order: a move far below changes no place among the first
OUTSIDE = 0.05  # the share of moves by chance that lie outside of the range


@dataclass(frozen=True, slots=True)
class AccountRanks:
    """All accounts that are known at an instant, by row.

    Attributes:
        links: that were seen to each, float64.
        weights: by which they are put in order, float64.
        places: 1 for the most weight; 0 where an account has no place.
    """

    links: Floats
    weights: Floats
    places: Ints


@dataclass(frozen=True, slots=True)
class RankMoves:
    """How the places of compared accounts changed; arrays of one length.

    Attributes:
        rows: of the accounts.
        before, now: places, 1 for the most weight.
        low, high: the range of places now that 95 % of moves by chance lead to.
    """

    rows: Ints
    before: Ints
    now: Ints
    low: Ints
    high: Ints

    @property
    def rose(self) -> Ints:
        """Where in `rows` accounts are that rose further than chance, in doublings of the place, furthest first."""
        steps = np.log2(self.before / self.now)
        return np.array([at for at in np.lexsort((self.now, -steps)) if self.now[at] < self.low[at]], np.int64)

    @property
    def fell(self) -> Ints:
        """Where in `rows` accounts are that fell further than chance, furthest first."""
        steps = np.log2(self.now / self.before)
        return np.array([at for at in np.lexsort((self.now, -steps)) if self.now[at] > self.high[at]], np.int64)


def compare(before: AccountRanks, now: AccountRanks, seed: int) -> RankMoves:
    """Compare the places of accounts.

    Args:
        before: those that were known then.
        now: those that are known now; the rows of `before` come first.
        seed: of the draws.
    """
    more = len(now.links) - len(before.links)
    links, was = np.concatenate([before.links, np.zeros(more)]), np.concatenate([before.places, np.zeros(more, int)])
    first_of_both = np.where(was > 0, np.minimum(was, now.places), now.places)
    rows = np.flatnonzero((was > 0) & (now.places > 0) & (first_of_both <= AMONG) & (now.links > 0.0))
    field = np.flatnonzero((now.places > 0) & (first_of_both <= FIELD))
    at = np.searchsorted(field, rows)
    totals = now.links[field]
    rates, worth = totals / max(1.0, totals.sum()), now.weights[field] / np.maximum(1.0, totals)
    then, since = float(links[field].sum()), float(np.maximum(0.0, totals - links[field]).sum())
    draw = make_generator(seed, "places", 0)
    steps = np.empty((DRAWS, len(rows)))
    for n in range(DRAWS):
        first = draw.poisson(rates * then)
        second = first + draw.poisson(rates * since)
        drawn = [number_places(count * worth)[at] for count in (first, second)]
        steps[n] = np.log2(drawn[1] / drawn[0])
    low, high = np.quantile(steps, [OUTSIDE / 2, 1 - OUTSIDE / 2], axis=0) if len(rows) else (np.empty(0), np.empty(0))
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    return RankMoves(
        rows,
        was[rows],
        now.places[rows],
        np.maximum(1, np.floor(was[rows] * 2.0**low + 1e-9)).astype(np.int64),
        np.ceil(was[rows] * 2.0**high - 1e-9).astype(np.int64),
    )


def number_places(weights: Floats) -> Ints:
    """Return the place of each row in the order of weight, 1 for the most; of equals the one discovered first."""
    places = np.empty(len(weights), np.int64)
    places[np.argsort(-weights, kind="stable")] = np.arange(1, len(weights) + 1)
    return places
