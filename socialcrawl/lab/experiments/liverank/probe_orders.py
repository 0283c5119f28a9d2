"""Ways to order a world for testing, which of them each figure of the paper compares, and the order of each.

It is taken straight where answers change nothing later, else by the crawl itself.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from socialcrawl.crawls.refresh.crawl import Refresh
from socialcrawl.crawls.refresh.liveranks import DYNAMIC, STATIC, TRAININGS, LiveRanks
from socialcrawl.crawls.refresh.rules import RefreshRules
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Act, Node, Outcome, Pick, Reply, Request, Who
from socialcrawl.engine.protocols import Batch, Conversation
from socialcrawl.lab.experiments.liverank.dataset_worlds import DatasetWorld, Flags, Floats, Ints
from socialcrawl.lab.instant import SequenceStore, make_parts

LETTERS = {
    "random": "R",
    "indegree": "I",
    "pagerank": "P",
    "pa": "Pa",
    "pa+-": "Pa+/-",
    "asf": "ASF",
    "bfs": "BFS",
    "ai": "AI",
    "dpr": "DPR",
}
WEB_Z, WEB06_Z, SOCIAL_Z = 0.0054, 0.0064, 0.0024  # shares of n: 100,000 of uk-2002, 200,000 of uk-2006, Twitter's
LEAST = 100  # nodes tested first, at least: of a small graph the paper's shares are next to nothing


@dataclass(frozen=True)
class Way:
    """One LiveRank with its training set.

    Attributes:
        rank: one of `liveranks.RANKS`.
        training: how its training set is chosen: random, indegree, pagerank; of no meaning for static ranks.
        neighbours: whether the training set may hold neighbours of its own nodes.
        times: the size of the training set, as a multiple of the figure's.
        by: what its curve is called by: "rank", "training", "z", or "both" (rank and training).
    """

    rank: str
    training: str = "pagerank"
    neighbours: bool = True
    times: float = 1.0
    by: str = "rank"

    def label(self, z: int) -> str:
        """Return what figures call it, where z nodes are tested first."""
        training = self.training if self.neighbours else f"{self.training}-apart"
        names = {"rank": LETTERS[self.rank], "training": training, "z": f"z={z:,}"}
        return names.get(self.by) or f"{LETTERS[self.rank]}:{training}"

    def is_random(self) -> bool:
        """Return whether its order depends on a seed."""
        return self.rank in ("random", "asf") or (self.rank not in STATIC and self.training == "random")


@dataclass(frozen=True)
class Frame:
    """What one frame of a figure compares: a title, the ways, and z as a share of all nodes."""

    title: str
    ways: tuple[Way, ...]
    share: float

    def count_training(self, size: int, way: Way, given: int | None = None) -> int:
        """Return how many of `size` nodes a way tests first: its multiple of the share, or of the number given."""
        usual = max(LEAST, round(self.share * size)) if given is None else given
        return min(size, max(1, round(way.times * usual)))


def _list_main_ways(training: str, *more: Way) -> tuple[Way, ...]:
    return (*map(Way, STATIC), Way("pa", training), Way("pa+-", training), *more)


def _list_trained_ways(rank: str) -> tuple[Way, ...]:
    apart = tuple(Way(rank, kind, neighbours=False, by="training") for kind in TRAININGS[1:])
    return (*(Way(rank, kind, by="training") for kind in TRAININGS), *apart)


def _list_swept_ways(rank: str, training: str, times: tuple[float, ...]) -> tuple[Way, ...]:
    return tuple(Way(rank, training, times=one, by="z") for one in times)


def _list_dynamic_ways(training: str, landmark: Way) -> tuple[Way, ...]:
    return (landmark, Way("bfs", training), Way("ai", training))


def _list_dynamic_frames(landmark: Way) -> tuple[Way, ...]:
    return (landmark, *(Way(rank, kind, by="both") for rank in ("bfs", "ai") for kind in TRAININGS))


FRAMES: dict[str, tuple[Frame, ...]] = {
    "fig4": (Frame("training by PageRank", _list_main_ways("pagerank"), WEB_Z),),
    "fig5": (
        Frame("size of the training set (Pa+/-)", _list_swept_ways("pa+-", "pagerank", (0.5, 1, 2, 5)), WEB_Z),
        Frame("kind of training set (Pa+/-)", _list_trained_ways("pa+-"), WEB_Z),
    ),
    "fig6": (
        Frame("dynamic, training at random", _list_dynamic_ways("random", Way("pa+-", "random")), WEB_Z),
        Frame("kind of training set", _list_dynamic_frames(Way("pa+-", "random", by="both")), WEB_Z),
    ),
    "fig7": (Frame("training at random", _list_main_ways("random"), WEB06_Z),),
    "fig8": (Frame("training at random", (Way("random"), Way("pa+-", "random"), Way("asf", "random")), WEB_Z),),
    "fig9": (Frame("training by PageRank", _list_main_ways("pagerank"), SOCIAL_Z),),
    "fig10": (
        Frame("size of the training set (Pa)", _list_swept_ways("pa", "pagerank", (2, 4, 7, 10)), SOCIAL_Z),
        Frame("kind of training set (Pa)", _list_trained_ways("pa"), SOCIAL_Z),
    ),
    "fig11": (
        Frame("dynamic, training by PageRank", _list_dynamic_ways("pagerank", Way("pa")), SOCIAL_Z),
        Frame("kind of training set", _list_dynamic_frames(Way("pa", "pagerank", by="both")), SOCIAL_Z),
    ),
    "dpr": (
        Frame("training at random", tuple(Way(rank, "random") for rank in ("pa", "pa+-", "ai", "dpr")), WEB_Z),
        Frame("training by PageRank", tuple(map(Way, ("pa", "pa+-", "ai", "dpr"))), WEB_Z),
    ),
}
"""The figures of cost curves, frame by frame; dpr is what the paper tried and did not draw."""


class ProbedSource:
    """The source of a world in which `active` (bool[n]) is the truth: one conversation a batch, without requests."""

    def __init__(self, active: Flags) -> None:
        self._active: list[bool] = active.tolist()

    def width(self, act: Act) -> int:
        """Return one node a pick: how many are asked together is said to the run."""
        return 1

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
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
    """Return all nodes in the order in which a way tests them, int64[n]: z nodes first, except for static ranks.

    Dynamic ranks are those of the crawl, others are taken straight; they are the crawl's too (a test says so).

    Args:
        world: what is tested.
        way: how.
        terms: how many nodes it tests first, and the like.
    """
    return (probe_by_crawl if way.rank in DYNAMIC else probe_in_order)(world, way, terms)


def probe_in_order(world: DatasetWorld, way: Way, terms: ProbeTerms) -> Ints:
    """Return the order of a static or sample-based rank; arguments as of `find_probe_order`."""
    ranks = LiveRanks(world.make_old_dataset(), terms.seed)
    if way.rank in STATIC:
        return ranks.order_static(way.rank)
    tested = ranks.choose_training(way.training, terms.z, neighbours=way.neighbours)
    return np.concatenate([tested, ranks.order(way.rank, tested, world.active[tested])])


def probe_by_crawl(world: DatasetWorld, way: Way, terms: ProbeTerms) -> Ints:
    """Return the order in which the crawl of campaigns of kind "refresh" tests the world.

    Arguments are those of `find_probe_order`.

    DPR computes its PageRanks again after every z tests: that takes as long as all of a sample-based rank does.
    """
    z = 0 if way.rank in STATIC else terms.z
    how = RefreshRules(way.rank, way.training, neighbours=way.neighbours, z=z, every=max(1, z))
    tape = SequenceStore()
    crawl = Refresh(how, terms.seed, old=world.make_old_dataset())
    run(make_parts(crawl, ProbedSource(world.active), tape), size=terms.batch if way.rank in DYNAMIC else MANY)
    return np.array(tape.nodes, np.int64)


def compute_pagerank(world: DatasetWorld) -> Floats:
    """Return the PageRank of every node, zapped evenly to all, float64[n]."""
    return LiveRanks(world.make_old_dataset(), 0).pagerank
