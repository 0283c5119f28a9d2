"""The order in which a way tests a world: straight where answers change nothing later, else by the crawl itself."""

from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from socialcrawl.crawls.refresh.crawl import Refresh
from socialcrawl.crawls.refresh.liveranks import DYNAMIC, STATIC, LiveRanks
from socialcrawl.crawls.refresh.rules import RefreshRules
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Act, Node, Outcome, Pick, Reply, Request, Who
from socialcrawl.engine.protocols import Batch, Conversation
from socialcrawl.lab.experiments.liverank.dataset_worlds import DatasetWorld, Flags, Floats, Ints
from socialcrawl.lab.experiments.liverank.ways import Way
from socialcrawl.lab.instant import SequenceStore, make_parts


class ProbedSource:
    """The source of a world in which `active` (bool[n]) is the truth: one conversation a batch, without requests."""

    def __init__(self, active: Flags) -> None:
        self._active: list[bool] = active.tolist()

    def width(self, act: Act) -> int:
        """Return one node a pick: how many are asked together is said to the run."""
        return 1

    def talks(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """Return one conversation."""
        return [self._talk(batch)]

    def mark(self, at: float) -> str:
        """Return None: a probe is not resumed."""
        return ""

    def _talk(self, batch: Batch) -> Generator[Request, Reply, Mapping[int, Outcome]]:
        yield from ()  # a conversation, though nothing has to be asked
        return {pick.n: self._outcome(pick) for pick in batch}

    def _outcome(self, pick: Pick) -> Outcome:
        return Outcome(pick.n, pick.node, 0.0, float(self._active[pick.node]))


class ProbeTerms(NamedTuple):
    """What else decides an order: z nodes are tested first, the draws' seed, and a dynamic rank's tests a batch."""

    z: int
    seed: int
    batch: int = 1


MANY = 10_000  # tests a batch, where nothing is learned between batches


def find_probe_order(world: DatasetWorld, way: Way, terms: ProbeTerms) -> Ints:
    """Return all nodes in the order in which a way tests them, int64[n]: z nodes first, but for static ranks.

    Dynamic ranks are those of the crawl, others are taken straight; they are the crawl's too (a test says so).

    Args:
        world: what is tested.
        way: how.
        terms: how many nodes it tests first, and the like.
    """
    return (probe_by_crawl if way.rank in DYNAMIC else probe_in_order)(world, way, terms)


def probe_in_order(world: DatasetWorld, way: Way, terms: ProbeTerms) -> Ints:
    """Return the order of a static or sample-based rank; arguments as of `find_probe_order`."""
    ranks = LiveRanks(world.old(), terms.seed)
    if way.rank in STATIC:
        return ranks.static(way.rank)
    tested = ranks.training(way.training, terms.z, neighbours=way.neighbours)
    return np.concatenate([tested, ranks.order(way.rank, tested, world.active[tested])])


def probe_by_crawl(world: DatasetWorld, way: Way, terms: ProbeTerms) -> Ints:
    """Return the order in which the crawl of campaigns of kind "refresh" tests the world.

    Arguments are those of `find_probe_order`.

    DPR computes its PageRanks again after every z tests: that takes as long as all of a sample-based rank does.
    """
    z = 0 if way.rank in STATIC else terms.z
    how = RefreshRules(way.rank, way.training, neighbours=way.neighbours, z=z, every=max(1, z))
    tape = SequenceStore()
    crawl = Refresh(how, terms.seed, old=world.old())
    run(make_parts(crawl, ProbedSource(world.active), tape), size=terms.batch if way.rank in DYNAMIC else MANY)
    return np.array(tape.nodes, np.int64)


def compute_pagerank(world: DatasetWorld) -> Floats:
    """Return the PageRank of every node, zapped evenly to all, float64[n]."""
    return LiveRanks(world.old(), 0).pagerank
