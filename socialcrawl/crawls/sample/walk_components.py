"""The parts of the graph in which the walks are: no link leads from one to another, as far as was read.

The visits of a walk, weighted 1/d, are uniform on the part in which it is (Bar-Yossef, Kanungo, Krauthgamer, section 3:
the graph is taken to be connected). How large parts are beside each other walks do not tell: ours is that statistics
are of the largest only, and the others are named.

Walks that have not met yet may be in one part all the same, where little of it was read. They are taken to be, until
they should have met: walks of one part come late to where others were early as often as these come back there
themselves.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.sample.neighbour_lists import UNREAD
from socialcrawl.crawls.sample.visits import Visits, list_visits
from socialcrawl.crawls.sample.walks import Walks
from socialcrawl.importance.strong_components import find_components

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

SURELY = ("none", "hard", "ancestor")  # where all that were read tell whether walks may be there
NONE = -1  # instead of a part: walks may not be there, or were not
THIRDS = 3  # the first of which is early in a walk, and the last is late
SURE = 5.0  # meetings that were to be expected, and did not happen, before walks are taken to be in different parts


@dataclass(frozen=True, slots=True)
class WalkComponent:
    """What was seen of a part.

    Attributes:
        accounts: on topic that were read in it.
        walks: in it; `draws`: of them, that count, or would.
        whole: whether all of it was read, so that there are no other accounts in it.
        counts: whether statistics are of it: the largest, and those that may turn out to be one with it.
    """

    accounts: int
    walks: int
    draws: int
    whole: bool
    counts: bool


@dataclass(frozen=True, slots=True, eq=False)
class WalkComponents:
    """The parts in which walks are.

    Attributes:
        of: int64[n], the part of each place, NONE where it is in none.
        each: what was seen of them, the largest first.
        counts: bool[n], whether statistics are of a place.
    """

    of: Ints
    each: tuple[WalkComponent, ...]
    counts: Flags

    @property
    def is_complete(self) -> bool:
        """Whether all accounts in the part that statistics are of were read."""
        return bool(self.each) and self.each[0].whole

    @property
    def out(self) -> Flags:
        """The places that are in a part that statistics leave out, bool[n]."""
        found: Flags = (self.of != NONE) & ~self.counts
        return found


def find_walk_components(walks: Walks, rows: Visits | None = None) -> WalkComponents:
    """Return the parts in which walks are, by all lists so far.

    Args:
        walks: begun or not; before, there are none.
        rows: what they saw, if it is at hand.
    """
    rows = list_visits(walks) if rows is None else rows
    lists, size = walks.lists, len(walks.lists)
    at = np.array([walker.at for walker in walks.walkers if walker.at >= 0], np.int64)
    on = np.frombuffer(bytes(lists.on), np.bool_)
    may = _find_allowed(walks, rows, at, on)
    label, is_complete = _find_connected(walks, may)
    found = np.unique(label[at])  # parts without a walk in them are of nodes that were read and not gone to
    accounts = np.bincount(label[may & on], minlength=size + 1)[found]
    draws = np.bincount(label[rows.place[rows.kept & rows.on_topic]], minlength=size + 1)[found]
    order = np.lexsort((-draws, -accounts))
    number = np.full(size + 1, NONE)
    number[found[order]] = np.arange(len(found))
    of = np.where(may, number[label], NONE)
    which, closed = of[at], is_complete[found[order]]
    counted = ~_find_apart(_Met(rows, of, len(found)), closed)
    each = tuple(
        WalkComponent(
            int(accounts[old]), int(np.count_nonzero(which == new)), int(draws[old]), bool(closed[new]), bool(one)
        )
        for (new, old), one in zip(enumerate(order.tolist()), counted.tolist(), strict=True)
    )
    return WalkComponents(of, each, (of != NONE) & np.append(counted, False)[of])  # NONE is the last one


def _find_allowed(walks: Walks, rows: Visits, at: Ints, on: Flags) -> Flags:
    """Return where walks may be, as far as is known: of nodes off topic that is known of those where they were."""
    focus = walks.rules.focus
    if focus == "none":
        return np.ones(len(on), np.bool_)
    may = np.frombuffer(bytes(walks.lists.wide), np.bool_) if focus == "ancestor" else on.copy()
    if focus not in SURELY:
        may[rows.place] = True
        may[at] = True
    return may


def _find_connected(walks: Walks, may: Flags) -> tuple[Ints, Flags]:
    """Return (the part of each place, whether all of part i was read), by links between places in `may`."""
    lists, size = walks.lists, len(walks.lists)
    whose, codes = lists.list_entries()
    there = lists.find_places(codes >> 1)
    inside = may[whose] & (there >= 0)
    inside[inside] = may[there[inside]]
    begins = np.append(0, np.cumsum(np.bincount(whose[inside], minlength=size)))
    label = find_components(begins, there[inside], "weak") if size else np.zeros(0, np.int64)
    left = there == UNREAD
    if walks.rules.focus not in SURELY:  # a node off topic that was read may still be gone to
        left |= (there >= 0) & ~inside
    return label, np.bincount(label[whose[left & may[whose]]], minlength=size + 1) == 0


class _Met:
    """Where the walks of each part were early, and where late: each node once, however often they were there."""

    def __init__(self, rows: Visits, of: Ints, count: int) -> None:
        draws = np.bincount(rows.walker)[rows.walker] if len(rows.walker) else rows.walker
        where = of[rows.place]
        early, late = THIRDS * rows.step < draws, THIRDS * rows.step >= (THIRDS - 1) * draws
        self.late, self.again = np.zeros(count), np.zeros(count)
        for part in range(count):
            lately = np.unique(rows.place[late & (where == part)])
            self.late[part] = len(lately)
            self.again[part] = np.isin(lately, rows.place[early & (where == part)]).mean() if len(lately) else 0.0


def _find_apart(met: _Met, is_complete: Any) -> Flags:
    """Return which parts are surely not one with the first: one of both was read whole, or they should have met."""
    count = len(is_complete)
    if not count:
        return np.zeros(0, np.bool_)
    expected = np.maximum(met.again * met.late[0], met.again[0] * met.late)
    found: Flags = is_complete | is_complete[0] | (expected >= SURE)
    found[0] = False
    return found
