"""The targets K_t: the k nodes of most in-links in each window (Kumar et al., sections II and III).

Beside the crawl it is kept who was crawled, who is known, and how often linked to, from its picks and outcomes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from socialcrawl.engine.model import Outcome
from socialcrawl.engine.protocols import Batch
from socialcrawl.lab.experiments.kumar.timegraphs import Ints, TimeGraph
from socialcrawl.lab.instant import SequenceStore


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


class RankedSequenceStore(SequenceStore):
    """The store of a laboratory crawl: C (crawled), C and F (crawled or linked to), id^ (links in from crawled nodes).

    A node that was crawled stays in C (C_t only grows), one that was linked to in F until it is crawled.

    Attributes:
        fetches: picks so far.
        crawled: bool[n], C.
        known: bool[n], C and F.
        indegree: int64[n], id^: each pair of nodes counts once, at the first visit of its source.
        asked: the nodes in order of their first visit.
        recrawls: picks of nodes that were crawled already; `steered`: those of a node whose score was above 0, where
            nothing but a uniform draw was to be had for the others.
    """

    def __init__(
        self, size: int, look_at: Sequence[int] = (), look: Callable[["RankedSequenceStore"], object] = id
    ) -> None:
        """Call `look` after the picks whose numbers `look_at` (ascending) says."""
        super().__init__()
        self.crawled, self.known = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        self.indegree: Ints = np.zeros(size, np.int64)
        self.asked: list[int] = []
        self.fetches = self.recrawls = self.steered = 0
        self._look_at, self._look = list(reversed(look_at)), look

    def finish(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Take in a batch; look, where it is time."""
        for pick, outcome in zip(batch, outcomes, strict=True):
            self.fetches += 1
            self.known[outcome.targets] = True
            if self.crawled[pick.node]:
                self.recrawls += 1
                self.steered += pick.score > 0
            else:
                self.crawled[pick.node] = self.known[pick.node] = True
                self.asked.append(pick.node)
                self.indegree[outcome.targets] += 1  # distinct
            if self._look_at and self._look_at[-1] <= self.fetches:
                self._look_at.pop()
                self._look(self)

    def rank_nodes(self, k: int) -> Ints:
        """Return K_H: the k crawled nodes of highest id^, ascending, ties by number; then nodes of id^ 0 by number.

        Fewer than k while fewer are crawled.
        """
        inside = np.flatnonzero(self.crawled)
        if len(inside) <= k:
            return inside
        return inside[find_top_nodes(self.indegree[inside] + 1, k)]
