"""LiveRanks: orders of the nodes of an old dataset in which active ones come early (Huynh et al., sections 2.3 to 2.5).

| rank | tests first |
|---|---|
| random | anybody (R) |
| indegree | whom most link to (I) |
| pagerank | the largest PageRank, zapped evenly to all (P) |
| pa | the largest PageRank zapped to the active of the training set (Pa, simple adaptive) |
| pa+- | the largest ratio of that to the PageRank zapped to the inactive, where zeros become the smallest other entry |
| asf | the site whose part of the training set was most active; sites without such a part last (active-site first) |
| bfs, ai, dpr | see `dynamic_liverank.py`: these change with every answer |

The paper is silent on ties. Here those of pa, pa+- and ai go by PageRank, all that are left by chance: by a number that
each node has from the seed (`engine/draws.py`), since the order of the rows may tell how old a node is. asf takes
sites of the same rate, and the nodes of a site, and all nodes of sites without a rate, by chance too; a node without
a site counts as one of such a site. Links to itself and doubled ones do not count.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.refresh.old_dataset import NOWHERE, OldDataset
from socialcrawl.engine.draws import draw_keys, shuffle
from socialcrawl.engine.model import LARGEST
from socialcrawl.importance.pagerank_batch import DAMPING, TOLERANCE, BatchPageRank
from socialcrawl.text.wording import explain_unknown

Ints = NDArray[np.int64]
Rows = NDArray[Any]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

STATIC = ("random", "indegree", "pagerank")
SAMPLED = ("pa", "pa+-", "asf")
DYNAMIC = ("bfs", "ai", "dpr")
RANKS = (*STATIC, *SAMPLED, *DYNAMIC)
TRAININGS = STATIC
NO_SITES = "active-site first (asf) needs sites, and no node of this dataset has one"
DIGITS = 12  # after the point, of a logarithm: no more than what PageRank's tolerance leaves
TRAINING, ORDER = "liverank training", "liverank order"  # purposes of draws


class LiveRanks:
    """The orders of an old dataset; what takes long is done once, when it is asked for.

    Args:
        old: the dataset.
        seed: of all draws.
        damping: d, of every PageRank.
        tolerance: where every PageRank stops: about how far each rank may be from the solution, as a share of it.

    Raises:
        ValueError: the damping is out of range.
    """

    def __init__(self, old: OldDataset, seed: int, *, damping: float = DAMPING, tolerance: float = TOLERANCE) -> None:
        if not 0 <= damping < 1:
            raise ValueError(f"damping = {damping}: the part that is handed on must be at least 0 and less than 1")
        self.old, self.seed, self.damping, self.tolerance = old, seed, damping, tolerance

    def order_static(self, rank: str, purpose: str = ORDER) -> Ints:
        """Return all rows in the order of a static rank, int64[n]; `purpose` names the draws of "random" and of ties.

        Raises:
            ValueError: there is no such static rank.
        """
        if rank == "random":
            return shuffle(self.seed, purpose, self.old.nodes)
        if rank not in STATIC:
            raise ValueError(explain_unknown("static rank", rank, STATIC))
        if rank == "pagerank" and purpose == ORDER:
            return self.by_pagerank
        return sort_descending(
            self.old.indegree if rank == "indegree" else self.pagerank, self.order_static("random", purpose)
        )

    def choose_training(self, rank: str, z: int, *, neighbours: bool = True, purpose: str = TRAINING) -> Ints:
        """Return the first z rows of a static rank, int64; all if there are no more.

        Args:
            rank: one of TRAININGS.
            z: how many.
            neighbours: False: who links to one that was taken, or is linked to by it, is left out while there are
                others; those left out come last, in their order.
            purpose: names the draws.

        Raises:
            ValueError: there is no such static rank.
        """
        order = self.order_static(rank, purpose)
        return order[:z] if neighbours else self._pick_apart(order, z)

    def compute_scores(self, rank: str, tested: Rows, active: Flags) -> Floats:
        """Return the score of every row by a static or sample-based rank, float64[n]: the larger the earlier.

        Random: 0.

        Those of pa+- are logarithms of the ratio, as it can be larger than a number can be.

        Args:
            rank: one of STATIC or SAMPLED.
            tested: int[z], the rows of the training set.
            active: bool[z], which of them are active.

        Raises:
            ValueError: there is no such rank, or asf and no node has a site.
        """
        if rank == "random":
            return np.zeros(self.old.size)
        if rank == "indegree":
            return self.old.indegree.astype(np.float64)
        if rank == "pagerank":
            return self.pagerank
        if rank == "pa":
            return self.score_adaptive(tested[active])
        if rank == "pa+-":
            return self.score_double_adaptive(tested, active)
        if rank == "asf":
            return self.compute_site_rates(tested, active)
        raise ValueError(f"{rank!r} has no scores before it is tested. Choose one of: {', '.join((*STATIC, *SAMPLED))}")

    def order(self, rank: str, tested: Rows, active: Flags) -> Ints:
        """Return all other rows in the order of a static or sample-based rank, int64[n - z]; arguments as of `scores`.

        Raises:
            ValueError: there is no such rank, or asf and no node has a site.
        """
        return self.order_by(rank, self.compute_scores(rank, tested, active), tested)

    def order_by(self, rank: str, scores: Floats, tested: Rows) -> Ints:
        """Return all other rows than the tested, by their `scores` (of this rank), int64[n - z]."""
        if rank == "asf":
            order = self._order_by_site(scores)
        elif rank in ("random", "indegree"):
            order = sort_descending(scores, self.order_static("random"))
        else:
            order = self.by_pagerank if rank == "pagerank" else sort_descending(scores, self.by_pagerank)
        others = np.ones(self.old.size, np.bool_)
        others[tested] = False
        return order[others[order]]

    def score_adaptive(self, active: Rows) -> Floats:
        """Return Pa: the PageRank of each row, zapped evenly to the `active`, float64[n]; 0 where it cannot come."""
        return self._compute_zapped(active)[0]

    def score_double_adaptive(self, tested: Rows, active: Flags) -> Floats:
        """Return Pa+/-: the logarithm of the ratio of the PageRanks zapped to active and to inactive, float64[n].

        -inf where the first is 0. Without inactive ones it is that of the first: nothing speaks against anybody.
        """
        for_it, against = self._compute_zapped(tested[active], tested[~active])
        return compute_log_ratio(for_it, against, tolerance=self.tolerance)

    def score_all_adaptive(self, tested: Rows, active: Flags) -> dict[str, Floats]:
        """Return the scores of pagerank, pa and pa+- together, which costs little more than one of them."""
        for_it, against = self._compute_zapped(tested[active], tested[~active])
        return {
            "pagerank": self.pagerank,
            "pa": for_it,
            "pa+-": compute_log_ratio(for_it, against, tolerance=self.tolerance),
        }

    def compute_site_rates(self, tested: Rows, active: Flags) -> Floats:
        """Return the share of tested rows that are active in the site of every row, float64[n].

        -1 where none was tested.

        Raises:
            ValueError: no node has a site.
        """
        sites = self.old.sites
        if sites is None or not self.old.has_sites:
            raise ValueError(NO_SITES)
        inside = sites[tested] != NOWHERE
        count = int(sites.max()) + 1
        all_tested = np.bincount(sites[tested][inside], minlength=count)
        hits = np.bincount(sites[tested][inside & active], minlength=count)
        rates = np.divide(hits, all_tested, out=np.full(count, -1.0), where=all_tested > 0)
        return np.where(sites == NOWHERE, -1.0, rates[sites])

    @cached_property
    def spread(self) -> BatchPageRank:
        """The links, made ready for PageRank."""
        return BatchPageRank(self.old.indptr, self.old.indices, self.old.inward, damping=self.damping)

    @cached_property
    def pagerank(self) -> Floats:
        """P: the PageRank of every row zapped evenly to all, float64[n]."""
        return self.spread.compute_ranks([None], tolerance=self.tolerance)[0]

    def _compute_zapped(self, *zaps: Rows) -> list[Floats]:
        """Return the PageRanks of these zaps; and that of all rows, which ties ask for: together they cost less."""
        if "pagerank" in self.__dict__:
            return self.spread.compute_ranks(zaps, tolerance=self.tolerance)
        *found, self.pagerank = self.spread.compute_ranks([*zaps, None], tolerance=self.tolerance)
        return found

    @cached_property
    def by_pagerank(self) -> Ints:
        """All rows by PageRank, ties by chance, int64[n]."""
        return sort_descending(self.pagerank, self.order_static("random"))

    def _order_by_site(self, rates: Floats) -> Ints:
        """Return all rows by the rate of their site, site by site."""
        sites = self.old.sites
        assert sites is not None
        first = np.full(int(sites.max()) + 2, LARGEST, np.int64)  # the least node of each site: numbers say nothing
        np.minimum.at(first, sites + 1, self.old.nodes)
        draw = draw_keys(self.seed, "liverank sites", np.where(rates >= 0, first[sites + 1], NOWHERE))
        own = draw_keys(self.seed, ORDER, self.old.nodes)
        return np.lexsort((own, draw, -rates))

    def _pick_apart(self, order: Ints, z: int) -> Ints:
        """Return the first z rows of an order of which none links to another, then those left out."""
        old, (begins, sources) = self.old, self.old.inward
        barred = np.zeros(old.size, np.bool_)
        taken: list[int] = []
        left_out: list[int] = []
        for row in order.tolist():
            if len(taken) >= z:
                break
            if barred[row]:
                left_out.append(row)
                continue
            taken.append(row)
            barred[old.list_targets(row)] = True
            barred[sources[begins[row] : begins[row + 1]]] = True
        return np.array([*taken, *left_out[: max(0, z - len(taken))]], np.int64)


def sort_descending(scores: NDArray[Any], ties: Ints) -> Ints:
    """Return all rows by their scores, the largest first; of equals the one that is earlier in `ties`, int64[n]."""
    return ties[np.argsort(-scores[ties], kind="stable")]


def compute_log_ratio(for_it: Floats, against: Floats, tolerance: float = TOLERANCE) -> Floats:
    """Return log(for_it / against), zeros of `against` taken for its smallest other entry; -inf where `for_it` is 0.

    What all comes through one row has the same ratio there and behind it: that it is not told apart by errors, but goes
    by the ties, it is rounded: to DIGITS, or fewer where the `tolerance` of the ranks is wider.
    """
    seen = against > 0
    least = against[seen].min() if seen.any() else 1.0
    with np.errstate(divide="ignore"):  # log(0) is -inf, as it should be
        digits = max(0, min(DIGITS, int(-np.log10(tolerance) + 1e-9)))
        return np.round(np.log(for_it) - np.log(np.where(seen, against, least)), digits)
