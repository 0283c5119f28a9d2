"""A crawl replayed on a known graph: by the loop, the crawl and the estimators that run live."""

import resource
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import Estimator, make_estimator
from socialcrawl.crawls.collect.estimators.base import ScoreTerms, make_own_terms
from socialcrawl.crawls.collect.estimators.registry import check, check_start, explain_late_switch
from socialcrawl.crawls.collect.strategies import make_strategy
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Node
from socialcrawl.errors import SettingsError
from socialcrawl.graph.graph import CrawlGraph, Rows
from socialcrawl.graph.known_graph import KnownGraph, KnownGraphSource
from socialcrawl.lab.instant import SequenceStore, make_parts
from socialcrawl.system.garbage_collection import pause_garbage_collection
from socialcrawl.text.wording import explain_unknown


class Oracle(Estimator):
    """The true values `beta`, float64[n], of the nodes 0 .. n-1."""

    def __init__(self, beta: NDArray[np.float64]) -> None:
        self.beta = beta

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> NDArray[np.float64]:
        """Return the value that each of `rows` will turn out to have."""
        return np.asarray(self.beta[graph.nodes(rows)], np.float64)

    def get_terms(self, n: int) -> ScoreTerms:
        """Return the truth, which never moves."""
        return make_own_terms(self, lambda graph, rows: self.score(graph, rows, n))


OBJECTIVES = ("sum", "count")


@dataclass(frozen=True)
class ReplaySetup:
    """What is replayed; the names and defaults of `socialcrawl simulate`."""

    estimator: str
    budget: int
    strategy: str = "greedy"
    refresh_rate: int = 1
    objective: str = "sum"
    seed: int = 1
    switch_after: int = 1000
    start: str | None = None
    q: float = 0.9
    zeta: float = 0.5
    nr_d: float = 0.5

    @property
    def late_switch(self) -> str:
        """Why a hybrid never learns, as a clause; "" if it does or is no hybrid."""
        return explain_late_switch(self.estimator, self.budget, self.switch_after, self.start)

    def __post_init__(self) -> None:
        try:
            check(self.estimator, ("oracle",))
            check_start(self.start or "bfs")
        except ValueError as error:
            raise SettingsError(str(error)) from error
        if self.objective not in OBJECTIVES:
            raise SettingsError(explain_unknown("objective", self.objective, OBJECTIVES))
        if self.budget < 1 or self.refresh_rate < 1 or self.switch_after < 0 or self.seed < 0:
            raise SettingsError("the budget and the refresh rate are at least 1, switch-after and the seed at least 0.")


@dataclass(frozen=True, eq=False)
class Replay:
    """What a replayed crawl did.

    Attributes:
        steps: int64, the nodes in order, without the seeds; fewer than the budget where the frontier was empty.
        curve: float64[budget], the score after each step, without the seeds' own; held when the frontier is empty.
        seed_score: the score of the seeds themselves.
        seconds: how long it took, without loading the graph.
        peak_rss_mb: the most memory of this process so far, in MB (2**20 bytes), the graph included.
    """

    steps: NDArray[np.int64]
    curve: NDArray[np.float64]
    seed_score: float
    seconds: float
    peak_rss_mb: float


def simulate(
    graph: KnownGraph, seeds: Sequence[int], setup: ReplaySetup, make: Callable[[], Estimator] | None = None
) -> Replay:
    """Return the crawl that `setup` describes, replayed.

    Args:
        graph: the graph.
        seeds: row numbers, asked first, in the order given.
        setup: what is replayed.
        make: makes an estimator that is used instead of the one that `setup` names.

    Raises:
        SettingsError: no seeds, a seed that is not in the graph or given twice, an unknown name, a number out of range.
    """
    _check(graph, seeds)
    began = time.perf_counter()
    line = Seeds()
    line.ready = [Node(node) for node in seeds]
    choice = make_strategy(setup.strategy, seed=setup.seed, q=setup.q, zeta=setup.zeta)
    estimator = make_named_estimator(graph, setup) if make is None else make()
    crawl = Collect(line, estimator, setup.budget, strategy=choice)
    crawl.graph.reserve(graph.size)
    tape = SequenceStore()
    with pause_garbage_collection():
        run(make_parts(crawl, KnownGraphSource(graph), tape), size=setup.refresh_rate)
    values = np.array(tape.values[len(seeds) :], np.float64)
    return Replay(
        np.array(tape.nodes[len(seeds) :], np.int64),
        _extend_curve(np.cumsum(score_values(values, setup.objective)), setup.budget),
        float(score_values(graph.beta[list(seeds)], setup.objective).sum()),
        time.perf_counter() - began,
        measure_peak_memory(),
    )


def score_values(values: NDArray[np.float64], objective: str) -> NDArray[np.float64]:
    """Return what each node adds to the score of a crawl: its value (sum), or 1 if that is positive (count)."""
    return np.asarray(values if objective == "sum" else (values > 0).astype(np.float64))


def measure_peak_memory() -> float:
    """Return the most memory that this process had so far, in MB."""
    with suppress(OSError, StopIteration):  # Linux; what getrusage says there includes the process that began this one
        lines = Path("/proc/self/status").read_text("ascii").splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 2**10
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def make_named_estimator(graph: KnownGraph, setup: ReplaySetup) -> Estimator:
    """Return the estimator that `setup` names, fresh; the oracle knows the values of `graph`.

    Raises:
        SettingsError: a number is out of range, or scikit-learn has no such regressor.
    """
    if setup.estimator == "oracle":
        return Oracle(graph.beta)
    return make_estimator(
        setup.estimator, seed=setup.seed, switch_after=setup.switch_after, start=setup.start, nr_d=setup.nr_d
    )


def _check(graph: KnownGraph, seeds: Sequence[int]) -> None:
    if not len(seeds):
        raise SettingsError("a crawl needs at least one seed.")
    if len(set(seeds)) < len(seeds):
        raise SettingsError("a seed is given twice.")
    outside = [node for node in seeds if not 0 <= node < graph.size]
    if outside:
        raise SettingsError(f"seed {outside[0]} is not in the graph, whose nodes are 0 to {graph.size - 1}.")


def _extend_curve(curve: NDArray[np.float64], budget: int) -> NDArray[np.float64]:
    """Return the curve, as long as the budget: its last score is held once nothing more can be asked."""
    last = curve[-1] if len(curve) else 0.0
    return np.concatenate([curve, np.full(budget - len(curve), last)])
