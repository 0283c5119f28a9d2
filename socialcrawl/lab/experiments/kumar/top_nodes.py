"""The targets K_t: the k nodes of most in-links in each window (Kumar et al., sections II and III)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from socialcrawl.lab.experiments.kumar.timegraphs import Ints, TimeGraph


@dataclass(frozen=True, eq=False)
class Targets:
    """K_t at some instants.

    Attributes:
        at: the instants, seconds, ascending.
        nodes: int64[<= k] each, ascending.
        size: n, the nodes of the graph.
    """

    at: Sequence[float]
    nodes: Sequence[Ints]
    size: int


def find_top_nodes(degree: Ints, k: int) -> Ints:
    """Return the k nodes of highest `degree` (int64[n]), ascending; ties by their numbers (setting).

    No node of degree 0.

    Fewer than k where fewer have a link in: a node that nobody links to is not authoritative, whatever its number.
    """
    linked = np.flatnonzero(degree > 0)
    if len(linked) <= k:
        return linked
    least = np.partition(degree[linked], len(linked) - k)[len(linked) - k]  # the k-th highest degree
    above, level = linked[degree[linked] > least], linked[degree[linked] == least]
    return np.sort(np.concatenate([above, level[: k - len(above)]]))


def find_targets(graph: TimeGraph, at: Sequence[float], window: float, k: int) -> Targets:
    """Return K_t of the links from t - `window` to t, both included, each parallel one counted, at each of `at`.

    Args:
        graph: the time graph.
        at: instants, seconds, ascending.
        window: w, seconds.
        k: how many nodes are tracked.
    """
    times, heads = graph.times[graph.order], graph.targets[graph.order]
    degree = np.zeros(graph.size, np.int64)
    first = last = 0
    found = []
    for instant in at:
        low = int(np.searchsorted(times, instant - window))
        high = int(np.searchsorted(times, instant, side="right"))
        np.add.at(degree, heads[last:high], 1)
        np.subtract.at(degree, heads[first:low], 1)  # all of them were added: low <= high
        first, last = low, high
        found.append(find_top_nodes(degree, k))
    return Targets(tuple(at), tuple(found), graph.size)
