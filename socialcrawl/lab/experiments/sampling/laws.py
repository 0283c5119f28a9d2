"""The exact law of a walk whose lists are frozen: where it is in the long run, once it has visited all it can reach.

At its first visit a page gets the list of neighbours that the walk knows of then: its own links, whoever was visited
before and links to it, and what the search shows. As printed, the list is all that there is to it: v, seen later, may
have u in its list while u lacks v, and the long run favours v's kind or u's several-fold. On lists that keep only what
both sides have, the walk is on an undirected graph, and its law is even (Bar-Yossef et al., section 4;
docs/sampling.md).
"""

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.experiments.sampling.source import InlinkSearch, find_shown
from socialcrawl.lab.experiments.sampling.worlds import Flags, Floats, Ints, PageWorld, list_sources

DOUBLINGS = 40  # of the steps that a walk is looked at: 2^40 of them are for ever in so small a world
CONSISTENCIES = ("printed", "symmetric")


def find_first_visits(nodes: Ints) -> Ints:
    """Return the different pages of a walk, in the order in which it first came to them."""
    _, first = np.unique(nodes, return_index=True)
    return np.asarray(nodes[np.sort(first)])


def make_lists(world: PageWorld, order: Ints, search: InlinkSearch, consistency: str) -> Flags:
    """Return which page is in whose list, bool[p, p], by the place in `order`; a neighbour counts once.

    Args:
        world: whose graph is walked.
        order: int64[p], the pages that the walk visited, in the order of their first visits.
        search: what it was shown of in-links.
        consistency: printed (a list as it was frozen) or symmetric (without whom one side has and the other has not).
    """
    out = _find_among(order, list_sources(world.graph), world.graph.indices, world.size)
    back = find_shown(world.graph, search)
    searched = _find_among(order, list_sources(back), back.indices, world.size)
    earlier = np.tri(len(order), k=-1, dtype=bool)  # [u, w]: w was visited before u
    known = out | searched | (out.T & earlier)
    return np.asarray(known & known.T if consistency == "symmetric" else known)


def _find_among(order: Ints, begin: Ints, end: NDArray[np.integer], size: int) -> Flags:
    place = np.full(size, -1)
    place[order] = np.arange(len(order))
    kept = (place[begin] >= 0) & (place[end] >= 0)
    found = np.zeros((len(order), len(order)), bool)
    found[place[begin[kept]], place[end[kept]]] = True
    return found


def compute_law(known: Flags, start: int = 0) -> Floats:
    """Return the share of time that a walk on these lists spends at each page in the long run, float64[p].

    Free loops make all lists equally long (D of the longest, and one), so that on lists that agree it is even over all
    that can be reached.

    Args:
        known: bool[p, p], row u is u's list.
        start: where it begins.
    """
    degree = known.sum(axis=1)
    steps = known / (degree.max(initial=0) + 1.0)
    np.fill_diagonal(steps, 1.0 - (degree - np.diag(known)) / (degree.max(initial=0) + 1.0))
    for _ in range(DOUBLINGS):
        steps = steps @ steps
        steps /= steps.sum(axis=1, keepdims=True)
    return np.asarray(steps[start])


def measure_unevenness(shares: Floats) -> dict[str, float]:
    """Return how far a law is from even: `largest` and `least` times the even share, and the share in wrong places.

    The last, `misplaced`, is the distance in total variation, 0 to 1.
    """
    even = 1.0 / len(shares)
    return {
        "largest": float(shares.max() / even),
        "least": float(shares.min() / even),
        "misplaced": float(np.abs(shares - even).sum() / 2),
    }
