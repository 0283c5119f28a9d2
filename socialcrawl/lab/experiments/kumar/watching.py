"""Who was crawled, who is known, and how often linked to: kept beside the crawl, from its picks and outcomes."""

from collections.abc import Callable, Sequence

import numpy as np

from socialcrawl.engine.model import Outcome
from socialcrawl.engine.protocols import Batch
from socialcrawl.lab.experiments.kumar.timegraphs import Ints
from socialcrawl.lab.experiments.kumar.top_nodes import find_top_nodes
from socialcrawl.lab.instant import SequenceStore


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
        """`look` is called after the picks of which `look_at` (ascending) says the number."""
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

    def ranked(self, k: int) -> Ints:
        """Return K_H: the k crawled nodes of highest id^, ascending, ties by number; then nodes of id^ 0 by number.

        Fewer than k while fewer are crawled.
        """
        inside = np.flatnonzero(self.crawled)
        if len(inside) <= k:
            return inside
        return inside[find_top_nodes(self.indegree[inside] + 1, k)]
