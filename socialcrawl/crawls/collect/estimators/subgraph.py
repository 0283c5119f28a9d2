"""The estimators of Gouriten et al., section 5.3, that look beyond the neighbours: OPIC and Navigational Rank."""

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.base import Estimator, ScoreTerms, make_own_terms
from socialcrawl.errors import SettingsError
from socialcrawl.graph.graph import CrawlGraph, Rows
from socialcrawl.importance.navigational import compute_navigational_rank
from socialcrawl.importance.opic import Cash

BY = ("", "e", "n", "ne")
SMALLEST = 0.001  # the iteration takes time in proportion to 1 / d
DIGITS = 10  # decimals of the largest value to which ranks are compared: what the iteration leaves open is a tie


class Opic(Estimator):
    """The cash of a node (Estimator 5): H is 0 on the frontier, so that (H + C)/(G + 1) ranks as C does.

    A node that is fetched pays its cash to its links: equally (`by` = ""), or in proportion to the link's weight (e),
    to the value of its target (n) or to their product (ne). The value of a target that was not fetched is not known:
    the mean value of those who are known to link to it stands in for it.
    """

    def __init__(self, by: str = "") -> None:
        self.by = by
        self.accounts = Cash()

    def sow(self, graph: CrawlGraph, rows: Rows) -> None:
        """Give the seeds equal shares of a cash of 1."""
        self.accounts.start(rows)

    def note_fetched(self, graph: CrawlGraph, row: int) -> None:
        """Pay out what the fetched node holds."""
        targets, alpha = graph.list_links(row)
        self.accounts.pay(row, targets, self._compute_shares(graph, targets, alpha))

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> NDArray[np.float64]:
        """Return the cash of each of `rows`."""
        return self.accounts.get_cash(rows)

    def get_terms(self, n: int) -> ScoreTerms:
        """Return the cash, which changes where a link is added."""
        return make_own_terms(self, lambda graph, rows: self.accounts.get_cash(rows))

    def _compute_shares(
        self, graph: CrawlGraph, targets: Rows, alpha: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        if not self.by:
            return None
        if self.by == "e":
            return alpha
        known = graph.value(targets)
        value = np.where(np.isnan(known), graph.column("n_avg", targets), known)
        return value if self.by == "n" else value * alpha


class NavigationalRank(Estimator):
    """NR2 on the known graph (Estimator 4), recomputed at every step: for up to some thousand nodes."""

    def __init__(self, d: float) -> None:
        if not SMALLEST <= d <= 1:
            raise SettingsError(f"nr: d = {d} is the weight of a node's own score; give a number from {SMALLEST} to 1.")
        self.d = d

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> NDArray[np.float64]:
        """Return the rank of each of `rows`, to DIGITS decimals of the largest value known."""
        fetched = graph.list_fetched()
        links = [graph.list_links(row)[0] for row in fetched.tolist()]
        sources = np.repeat(fetched, [len(some) for some in links])
        targets = np.concatenate([np.empty(0, np.int64), *links])
        values = np.nan_to_num(graph.value(np.arange(graph.size)))
        largest = float(values.max(initial=0.0)) or 1.0
        _, rank = compute_navigational_rank(sources, targets, values / largest, self.d)
        return np.asarray(np.round(rank[rows], DIGITS) * largest)
