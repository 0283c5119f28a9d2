"""The settings of a crawl that refreshes an old dataset."""

from dataclasses import dataclass

from socialcrawl.crawls.refresh.liveranks import DYNAMIC
from socialcrawl.importance.pagerank_batch import DAMPING, TOLERANCE

BOUND, ESTIMATE = "bound", "estimate"


@dataclass(frozen=True, slots=True)
class RefreshRules:
    """The order of a refresh crawl, and when it ends.

    Attributes:
        rank: one of RANKS: the order after the training set.
        training: one of TRAININGS: the order that the training set is the beginning of.
        neighbours: False: who is linked with a node of the training set stays out of it while there are others.
        z: the size of the training set.
        check: random nodes that are tested before all others, only to estimate how many are active: for training sets
            that are not random.
        fraction: the crawl is done when it has found this fraction of the active nodes; None: when all are tested.
        stop: by what that is judged: "bound", the upper bound of their number, or "estimate", the estimate itself.
        linked: whether nodes count that were only linked to.
        damping: d, of every PageRank.
        tolerance: where every PageRank stops: about how far each rank may be from the solution, as a share of it.
        rounds: of dpr: how often the PageRank is zapped to the top of the one before.
        top: of dpr: how many that top has, for each active node that was found.
        every: of dpr: tests after which it is computed anew.
        worker: (j, p): this crawl tests the nodes of each round whose place (1, 2, ...) modulo p is j; None: all.

    Raises:
        ValueError: two settings do not go together; the message says which.
    """

    rank: str = "pa+-"
    training: str = "random"
    neighbours: bool = True
    z: int = 1000
    check: int = 0
    fraction: float | None = None
    stop: str = BOUND
    linked: bool = False
    damping: float = DAMPING
    tolerance: float = TOLERANCE
    rounds: int = 1
    top: float = 1.0
    every: int = 1
    worker: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        """Check that the settings go together. The range of each is checked where it is read: `RefreshSection`."""
        if self.fraction is not None and not self.samples:
            raise ValueError(
                "fraction needs an estimate of how many accounts are active, which a random sample gives: set "
                'check = 300 (accounts tested for it), or training = "random" with neighbours and z above 0'
            )
        if self.worker is None:
            return
        number, workers = self.worker
        if number >= workers:
            raise ValueError(f"worker = {number} is not one of {workers} workers: they are numbered from 0")
        if self.rank in DYNAMIC:
            raise ValueError(
                f'rank = "{self.rank}" changes with every answer, so workers cannot share it: choose another rank, '
                'such as rank = "pa", or workers = 1'
            )

    @property
    def samples(self) -> bool:
        """Whether there is a random sample, from which the number of active nodes can be estimated."""
        return self.check > 0 or (self.z > 0 and self.training == "random" and self.neighbours)

    @property
    def draws(self) -> bool:
        """Whether random nodes may be tested later than `check`: where the order does not learn from them."""
        return self.rank not in DYNAMIC and self.worker is None
