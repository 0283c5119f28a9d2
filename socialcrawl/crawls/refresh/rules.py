"""The settings of a crawl that refreshes an old dataset."""

from dataclasses import dataclass

from socialcrawl.crawls.refresh.liveranks import DYNAMIC, RANKS, TRAININGS
from socialcrawl.importance.pagerank_batch import DAMPING, TOLERANCE

BOUND, ESTIMATE = STOPS = ("bound", "estimate")


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
        ValueError: a setting is out of range, or two do not go together; the message says which.
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
        _one_of("rank", self.rank, RANKS)
        _one_of("training", self.training, TRAININGS)
        _check(self.z >= 0, f"z = {self.z}: a training set has 0 nodes or more")
        _check(self.check >= 0, f"check = {self.check}: 0 nodes or more are tested to estimate how many are active")
        _check(0 <= self.damping < 1, f"damping = {self.damping}: it lies from 0 up to, but not, 1")
        _check(self.tolerance > 0, f"tolerance = {self.tolerance}: it lies above 0")
        _check(self.rounds >= 0 and self.every >= 1 and self.top > 0, "rounds >= 0, every >= 1, top > 0 is meant")
        _check(
            self.fraction is None or 0 < self.fraction <= 1,
            f"fraction = {self.fraction}: it lies above 0, and is 1 at most",
        )
        _check(
            self.fraction is None or self.samples,
            "a wanted fraction needs an estimate of how many are active: take training = random (with neighbours, "
            "z > 0), or test some nodes for it first (check = 1000)",
        )
        _check(self.stop in STOPS, f"stop = {self.stop!r}: a fraction is judged by: {', '.join(STOPS)}")
        if self.worker is not None:
            j, p = self.worker
            _check(
                p >= 1 and 0 <= j < p, f"worker {j} of {p}: workers are numbered from 0 up to, but not, their number"
            )
            _check(self.rank not in DYNAMIC, f"{self.rank} changes with every answer: it cannot be shared by workers")

    @property
    def samples(self) -> bool:
        """Whether there is a random sample, from which the number of active nodes can be estimated."""
        return self.check > 0 or (self.z > 0 and self.training == "random" and self.neighbours)

    @property
    def draws(self) -> bool:
        """Whether random nodes may be tested later than `check`: where the order does not learn from them."""
        return self.rank not in DYNAMIC and self.worker is None


def _one_of(name: str, given: str, known: tuple[str, ...]) -> None:
    _check(given in known, f"{name} = {given!r}: there is no such order; there are: {', '.join(known)}")


def _check(holds: bool, message: str) -> None:  # noqa: FBT001  (a condition, not a switch)
    if not holds:
        raise ValueError(message)
