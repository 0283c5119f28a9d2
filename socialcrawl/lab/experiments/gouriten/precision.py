"""How good each estimator's first choice is while the crawl follows another one (Gouriten et al., section 5.4)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import Estimator
from socialcrawl.crawls.collect.strategies import Ranked, Scored
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Act, Node
from socialcrawl.graph.graph import CrawlGraph
from socialcrawl.graph.known_graph import KnownGraph, KnownGraphSource
from socialcrawl.lab.experiments.gouriten.replays import CrawlPlan, ReplayOptions, make_rows
from socialcrawl.lab.experiments.gouriten.setups import Experiment, parse_variant
from socialcrawl.lab.instant import make_parts
from socialcrawl.lab.measures import Floats, choose_points, compute_rolling_mean
from socialcrawl.lab.result_tables import Table, join_tables
from socialcrawl.lab.simulation import ReplaySetup, make_named_estimator, simulate
from socialcrawl.storage.memory_store import MemoryStore

NOTHING = "nothing"


class GuidedStrategy:
    """The strategy that is led along a way, and says at each step what its own first choice would have been worth.

    Args:
        graph: what the crawl has seen.
        way: the nodes to pick after the seeds, in order.
        beta: float64[n], the true values.
    """

    def __init__(self, graph: CrawlGraph, way: NDArray[np.int64], beta: Floats) -> None:
        self.graph, self.way, self.beta = graph, way, beta

    def pick(self, frontier: Ranked, size: int, n: int) -> Scored:
        """Return the next row of the way; as its score the true value of the estimator's best of the frontier."""
        rows, _ = frontier.find_best(1, n)
        return np.array([self.graph.row(Node(int(self.way[n])))]), self.beta[self.graph.nodes(rows)]


def find_first_choices(graph: KnownGraph, seeds: list[int], estimator: Estimator, way: NDArray[np.int64]) -> Floats:
    """Return the true value of what `estimator` ranks first at each step of `way`, from which it learns.

    Shape (len(way),).

    Args:
        graph: where.
        seeds: asked first, in their order.
        estimator: fresh.
        way: a crawl sequence from the seeds.
    """
    line = Seeds()
    line.ready = [Node(node) for node in seeds]
    crawl = Collect(line, estimator, len(way))
    crawl.strategy = GuidedStrategy(crawl.graph, way, graph.beta)
    store = MemoryStore()
    run(make_parts(crawl, KnownGraphSource(graph), store))
    return np.array([batch[0].score for batch, _ in store.history() if batch[0].act == Act.EXPAND], np.float64)


def measure_precision(experiment: Experiment, plan: CrawlPlan, work: ReplayOptions, window: int) -> tuple[Table, Table]:
    """Return what each variant's first choice falls short of the reference's, along the reference's crawl.

    Both tables have the columns graph, variant, set, step, difference: the value of the reference's first choice less
    that of the variant's. The first has a row for each of `measures.choose_points`, the mean of the last `window` steps
    (of all where there were fewer); the second one for each of 10, 100, 1000, ... and the budget, the mean of the steps
    since the one before. NaN where the frontier was empty by then. The variant NOTHING chooses what is worth nothing:
    who falls as short as that has found nothing either, however small the difference.
    """
    leaders = [
        parse_variant(experiment, experiment.reference, plan.budget, work.seed + plan.first + i)
        for i in range(len(plan.sets))
    ]
    ways = _run_at_once(_find_way, [(plan, leader, number) for number, leader in enumerate(leaders)], work)
    tasks = [
        (plan, parse_variant(experiment, variant, plan.budget, work.seed + plan.first + number), number, way)
        for variant in experiment.variants
        for number, way in enumerate(ways)
    ]
    found = _run_at_once(_compute_shortfall, tasks, work)
    beta = plan.world.open().beta
    found += [np.asarray(beta[way]) for way in ways]
    names = [(variant, number) for variant in (*experiment.variants, NOTHING) for number in range(len(ways))]
    at, ends = choose_points(plan.budget), split_crawl(plan.budget)
    smooth = [
        make_rows(plan, *name, at, difference=take_values(compute_rolling_mean(some, window), at))
        for name, some in zip(names, found, strict=True)
    ]
    parts = [
        make_rows(plan, *name, ends, difference=average_between(some, ends))
        for name, some in zip(names, found, strict=True)
    ]
    return join_tables(smooth), join_tables(parts)


def split_crawl(steps: int) -> NDArray[np.int64]:
    """Return the ends of the parts of a crawl: 10, 100, 1000, ... as far as they go, and its last step."""
    return np.array([*(end for end in (10**power for power in range(1, 10)) if end < steps), steps], np.int64)


def average_between(values: Floats, ends: NDArray[np.int64]) -> Floats:
    """Return the mean of the values since the end before, up to each of `ends` (counted from 1).

    NaN where there are none.
    """
    begins = [0, *ends[:-1].tolist()]
    some = [values[begin:end] for begin, end in zip(begins, ends.tolist(), strict=True)]
    return np.array([one.mean() if len(one) else np.nan for one in some])


def take_values(values: Floats, at: NDArray[np.int64]) -> Floats:
    """Return the values at those steps, counted from 1; NaN after the last."""
    inside = at <= len(values)
    return np.where(inside, values[np.where(inside, at, 1) - 1], np.nan)


def _run_at_once(function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], work: ReplayOptions) -> list[Any]:
    from joblib import Parallel, delayed  # noqa: PLC0415

    found: list[Any] = []
    for one in Parallel(n_jobs=work.n_jobs, return_as="generator")(delayed(function)(*task) for task in tasks):
        found.append(one)
        if work.watch:
            work.watch(len(found), len(tasks))
    return found


def _find_way(plan: CrawlPlan, leader: ReplaySetup, number: int) -> NDArray[np.int64]:
    return simulate(plan.world.open(), plan.sets[number], leader).steps


def _compute_shortfall(plan: CrawlPlan, given: ReplaySetup, number: int, way: NDArray[np.int64]) -> Floats:
    graph = plan.world.open()
    return np.asarray(
        graph.beta[way] - find_first_choices(graph, plan.sets[number], make_named_estimator(graph, given), way)
    )
