"""Samplers: omniscient expansions of the laboratory, which know nodes that nobody has linked to yet."""

import numpy as np

from socialcrawl.crawls.track.tracked_graph import TrackedGraph
from socialcrawl.crawls.track.visit_policies import Barred, Draw, PolicyMixture
from socialcrawl.engine.draws import make_generator
from socialcrawl.engine.model import Node
from socialcrawl.lab.experiments.kumar.timegraphs import Floats


class SamplingExpansion:
    """An expansion that draws any node with probability proportional to its weight, without replacement.

    With weights of 1 it is Sample-U, with in-degrees Sample-I, with in- and out-degrees together Sample-IO (Kumar et
    al., section II). All draws are made at once: nodes in ascending order of an exponential draw over their weight
    come in the order of successive draws without replacement (Efraimidis, Spirakis 2006).

    Args:
        weights: float64[n], by node; a node of weight 0 is never drawn.
        seed: of the draws.
    """

    column = ""

    def __init__(self, weights: Floats, seed: int) -> None:
        drawn = np.flatnonzero(weights > 0)
        keys = make_generator(seed, "sample", 0).exponential(size=len(weights))[drawn] / weights[drawn]
        self._order: list[int] = drawn[np.argsort(keys, kind="stable")].tolist()
        self._next = 0  # all before were crawled, and stay so

    def pick(self, picture: TrackedGraph, draw: Draw, barred: Barred) -> Node | None:
        """Return the first node of the order that was not crawled and is not barred; None when all were."""
        while self._next < len(self._order) and picture.is_crawled(self._order[self._next]):
            self._next += 1
        for place in range(self._next, len(self._order)):
            node = self._order[place]
            if node not in barred and not picture.is_crawled(node):
                return Node(node)
        return None


def make_policies(expansion: str, recrawl: str, p: float, seed: int, weights: Floats | None) -> PolicyMixture:
    """Return a mixture of policies.

    `weights` (float64[n]) are those of an expansion that samples, None for one that crawls.

    Raises:
        SettingsError: there is no such policy, or p is out of range.
    """
    return PolicyMixture(expansion if weights is None else SamplingExpansion(weights, seed), recrawl, p, seed)
