"""Importance of sites, or of the instances of a network of servers (Abiteboul et al., sections 1 and 4).

Two notions: the sum of a site's nodes, and cash that flows along the links between sites. In the second, links inside
of a site say nothing (by default), and a node's links are those it was last seen with.
"""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from socialcrawl.importance.opic import THRESHOLD, Cash

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


def sum_by_site(sites: Rows, importance: Floats, count: int) -> Floats:
    """Return the sum of `importance` over the nodes of each of `count` sites, float64.

    `sites` has the site of each node.
    """
    return np.bincount(sites, importance, minlength=count).astype(np.float64)


class SiteFlow:
    """On-line importance of sites: a site pays when a node of it is crawled, along the known links of all its nodes.

    The paper names the notion and not the rule; here a link between two sites weighs as many links as their nodes
    have, or 1 (`once`).

    Args:
        small: the weight of a site's small edge to the virtual page, a link to one other site having 1.
        once: whether two sites are linked once, however many links there are.
        internal: whether links inside of a site count.
        threshold: see `Cash`.
    """

    def __init__(
        self,
        small: float | None = 1.0,
        *,
        once: bool = False,
        internal: bool = False,
        threshold: float = THRESHOLD,
    ) -> None:
        self.cash = Cash(small, threshold)
        self.once, self.internal = once, internal
        self._links: dict[int, Counter[int]] = {}
        self._of: dict[int, tuple[int, Counter[int]]] = {}

    def start(self, sites: Rows) -> None:
        """Give each of `sites` (distinct) the same share of a total of 1."""
        self.cash.start(sites)

    def record_crawl(self, node: int, site: int, targets: Rows) -> None:
        """Take a crawl of `node` on `site`, whose links lead to the sites `targets`, once per link; the site pays."""
        self._forget(node)
        found = Counter(target for target in targets.tolist() if self.internal or target != site)
        self._of[node] = (site, found)
        self._links.setdefault(site, Counter()).update(found)
        to, weights = self.list_links(site)
        self.cash.pay(site, to, weights)

    def list_links(self, site: int) -> tuple[Rows, Floats]:
        """Return the sites that `site` is known to link to, int64[k] ascending, and the weights, float64[k]."""
        known = sorted(self._links.get(site, {}).items())
        to = np.array([target for target, _ in known], np.int64)
        return to, np.array([1.0 if self.once else float(weight) for _, weight in known])

    def compute_importance(self, sites: Rows) -> Floats:
        """Return the importance of `sites`, (H + C) / (G + 1), float64."""
        return self.cash.estimate(sites)

    def _forget(self, node: int) -> None:
        """Take away the links that `node` was seen with before."""
        site, found = self._of.pop(node, (0, None))
        if found:
            left = self._links[site]
            left.subtract(found)
            for target in found:
                if not left[target]:
                    del left[target]
