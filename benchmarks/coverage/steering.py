"""Steered crawls of known graphs: how often the intervals of what an estimator gains over drawn steps hold the truth.

In a known graph, what a drawn step would find is known at each moment: the mean over all accounts that it may draw.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.coverage.costs import SEEDS, Place, places
from benchmarks.coverage.table import Shown, repeat
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.collect.ranking import Ranking
from socialcrawl.crawls.collect.steering import ControlComparison, Steering, compare_arms
from socialcrawl.crawls.collect.strategies import ControlledStrategy, Greedy, Ranked, Scored, Strategy, choose_greedily
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.draws import STEERED, assign_arms
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Node
from socialcrawl.graph.known_graph import KnownGraphSource
from socialcrawl.lab.experiments.sampling.worlds import Floats
from socialcrawl.lab.instant import SequenceStore, make_parts
from socialcrawl.storage.queries.traces import StepColumns
from socialcrawl.system.garbage_collection import pause_garbage_collection

TITLE = "What steering gains"
NOTE = """Each run is three crawls from 20 drawn accounts on topic; one step in ten is drawn for comparison
(`control = 0.1`). One crawl is steered by hybrid-sum. One reads the accounts that hybrid-sum scores lowest. One
reads the least relevant accounts, which only a crawl that knows the truth can do, and is worse than chance
everywhere. The intervals are those that `report` shows: how much more a steered step found than one drawn from all
known accounts (chance), or from those nearest to the seeds (breadth-first). The true value is the mean over the
steered steps of what each found, less what a step drawn at that moment would have found on average."""

LENGTHS = (200, 500, 1_000)
CONTROL = 0.1
ESTIMATOR = "hybrid-sum"


class Lowest:
    """A strategy that picks the accounts with the lowest scores."""

    def pick(self, frontier: Ranked, size: int, n: int) -> Scored:
        """Return the `size` lowest rows, lowest first, and their scores."""
        rows, scores = frontier.list_all(n)
        chosen = choose_greedily(-scores, size)
        return rows[chosen], scores[chosen]


@dataclass
class Worst:
    """A strategy that picks the accounts that are worth least.

    Attributes:
        beta: float64[n], what each account is worth.
    """

    beta: Floats

    def pick(self, frontier: Ranked, size: int, n: int) -> Scored:
        """Return the `size` rows that are worth least, and what they are worth."""
        assert isinstance(frontier, Ranking)
        rows = frontier.graph.frontier()
        value = self.beta[frontier.graph.nodes(rows)]
        chosen = choose_greedily(-value, size)
        return rows[chosen], value[chosen]


@dataclass
class Expecting:
    """A strategy that notes before each pick what a drawn step would find.

    Attributes:
        strategy: makes the picks.
        beta: float64[n], what each account is worth.
        chance: for each pick, the mean over all accounts of the frontier; `nearest`: over those nearest to the seeds.
    """

    strategy: Strategy
    beta: Floats
    chance: list[float] = field(default_factory=list)
    nearest: list[float] = field(default_factory=list)

    def pick(self, frontier: Ranked, size: int, n: int) -> Scored:
        """Return the picks of the strategy; `size` is 1."""
        assert isinstance(frontier, Ranking)
        assert size == 1
        rows = frontier.graph.frontier()
        value, depth = self.beta[frontier.graph.nodes(rows)], frontier.get_depth(rows)
        self.chance.append(float(value.mean()))
        self.nearest.append(float(value[depth == depth.min()].mean()))
        return self.strategy.pick(frontier, size, n)


def measure(runs: int) -> list[Shown]:
    """Return what `runs` crawls of each graph by each strategy showed."""
    return repeat(places(), runs, find_gains)


def find_gains(place: Place, seed: int, lengths: Sequence[int] = LENGTHS, control: float = CONTROL) -> Iterator[Shown]:
    """Yield the gains that reports show, for each strategy, at each length."""
    rng = np.random.default_rng(seed)
    seeds = rng.choice(np.flatnonzero(place.graph.beta > 0), SEEDS, replace=False).tolist()
    steering: dict[str, Strategy] = {
        "hybrid-sum": Greedy(),
        "lowest scores of hybrid-sum": Lowest(),
        "least relevant accounts": Worst(place.graph.beta),
    }
    for name, strategy in steering.items():
        expecting, values = crawl(place, seeds, strategy, lengths[-1], seed=seed, control=control)
        who = assign_arms(seed, control, 0, len(values))
        for length in lengths:
            steered = np.flatnonzero(who[:length] == STEERED)
            if length > len(values):
                continue
            report = compare(values[:length], seed, control)
            for against, drawn, shown in (
                ("chance", expecting.chance, report.chance),
                ("breadth-first", expecting.nearest, report.breadth),
            ):
                assert shown is not None
                truth = float((values[steered] - np.array(drawn)[steered]).mean())
                yield describe(f"{name} against {against}", place, f"{length:,} steps", shown, truth)


def crawl(
    place: Place, seeds: list[int], strategy: Strategy, steps: int, *, seed: int, control: float, by: str = ESTIMATOR
) -> tuple[Expecting, Floats]:
    """Return what drawn steps would have found in each step of a crawl, and what the steps found, float64[steps]."""
    line, tape = Seeds(), SequenceStore()
    line.ready = [Node(node) for node in seeds]
    expecting = Expecting(ControlledStrategy(strategy, control, seed), place.graph.beta)
    driven = Collect(line, make_estimator(by, seed=seed), steps, strategy=expecting)
    driven.graph.reserve(place.graph.size)
    with pause_garbage_collection():
        run(make_parts(driven, KnownGraphSource(place.graph), tape))
    return expecting, np.array(tape.values[len(seeds) :], np.float64)


def compare(values: Floats, seed: int, control: float) -> Steering:
    """Return what a report says of these steps, none of which reads an account that was read before."""
    n = np.arange(len(values))
    report = compare_arms(ESTIMATOR, StepColumns(n, n, values, np.full(len(n), ""), 0), seed, control)
    assert report is not None
    return report


def describe(interval: str, place: Place, at: str, shown: ControlComparison, truth: float) -> Shown:
    """Return the interval that was shown, or withheld, beside the truth."""
    low, high = (None, None) if shown.gain is None else (shown.gain.low, shown.gain.high)
    return Shown(interval, place.title, at, low, high, truth)
