"""The communities of a sample, where no hosts part its accounts: labels spread among neighbours until they stay.

Raghavan, Albert, Kumara (Physical Review E 76, 2007): each account takes the label that most of its neighbours have,
again and again. Ours goes through the accounts in the order in which they were read, so that the same sample has the
same communities: an account keeps its label while it is among the commonest, else takes the smallest of these. A
neighbour counts once more for each neighbour that both have, else the first labels run over bridges.
"""

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.sample.neighbour_lists import NeighbourLists

Ints = NDArray[np.int64]
SWEEPS = 20  # at most: labels mostly stay after five


def find_communities(lists: NeighbourLists, places: Ints) -> Ints:
    """Return the community of each of some accounts, int64: the place of one of its members.

    Args:
        lists: the neighbours of all that were read.
        places: int64, rising, the accounts; only links between them count.
    """
    label = np.full(len(lists), -1, np.int64)
    label[places] = places
    near = {place: _list_labelled(lists, place, label) for place in places.tolist()}
    sets = {place: frozenset(others.tolist()) for place, others in near.items()}
    ties = {
        place: np.array([1.0 + len(sets[place] & sets[other]) for other in others.tolist()])
        for place, others in near.items()
    }
    for _ in range(SWEEPS):
        moved = False
        for place, others in near.items():
            if len(others) and (new := _find_commonest(label[others], ties[place], int(label[place]))) != label[place]:
                label[place], moved = new, True
        if not moved:
            break
    return label[places]


def _list_labelled(lists: NeighbourLists, place: int, label: Ints) -> Ints:
    """Return the neighbours of an account that have a label."""
    codes = np.array(lists.codes[lists.begins[place] : lists.begins[place + 1]], np.int64)
    there = lists.find_places(codes >> 1)
    there = there[there >= 0]
    found: Ints = there[label[there] >= 0]
    return found


def _find_commonest(labels: Ints, ties: NDArray[np.float64], own: int) -> int:
    values, which = np.unique(labels, return_inverse=True)
    sums = np.bincount(which, ties)
    best = values[sums == sums.max()]
    return own if own in best else int(best[0])
