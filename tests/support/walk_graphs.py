"""Small graphs for walks, and the laws of walks worked out without walking."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.sample.neighbour_lists import NeighbourLists
from socialcrawl.crawls.sample.rules import WalkRules as Rules
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Node, Outcome, Pick, Stop, Wait, Who
from socialcrawl.engine.protocols import Batch, Conversation, Source, Store
from socialcrawl.graph.known_graph import KnownGraph, KnownGraphSource
from socialcrawl.lab.instant import SequenceStore, make_parts

Floats = NDArray[np.float64]
Links = Sequence[tuple[int, int]]
WalkRules = partial(Rules, walkers=1, burn_in=0, inward=False)
"""The rules of a lone walk that counts from its first visit, and asks for out-links only."""


def known(size: int, links: Links, topic: Sequence[int]) -> KnownGraph:
    """A known graph with these links, whose topic has value 1."""
    out: list[list[int]] = [[] for _ in range(size)]
    for source, target in links:
        out[source].append(target)
    beta = np.zeros(size)
    beta[list(topic)] = 1.0
    indptr = np.cumsum([0, *map(len, out)]).astype(np.int64)
    flat = [target for row in out for target in row]
    return KnownGraph(indptr, np.array(flat, np.int64), np.ones(len(flat)), beta)


def both(links: Links) -> list[tuple[int, int]]:
    """The links, and all of them turned round: an undirected graph, as one that is crawled."""
    return [*links, *((target, source) for source, target in links)]


def tangle(size: int, links: int, seed: int) -> list[tuple[int, int]]:
    """A connected graph: a path through all nodes and some links more, some of them twice."""
    rng = np.random.default_rng(seed)
    path = rng.permutation(size).tolist()
    more = rng.integers(0, size, (links, 2)).tolist()
    return [*pairwise(path), *((a, b) for a, b in more if a != b)]


def walk(
    graph: KnownGraph,
    how: WalkRules,
    steps: int | None = None,
    *,
    seeds: Sequence[int] = (0,),
    size: int = 1,
    source: Callable[[KnownGraph], Source] | None = None,
    store: Store | None = None,
) -> tuple[Sample, Stop | Wait]:
    """A sample crawl of a known graph from these seeds, worked through the loop, and why it ended."""
    crawl = Sample(Seeds(names=[Node(seed) for seed in seeds], known=True), how, steps)
    answers = (source or (Searching if how.inward else KnownGraphSource))(graph)
    return crawl, run(make_parts(crawl, answers, store or SequenceStore()), size=size)


def rows(lists: NeighbourLists) -> dict[int, list[int]]:
    """The neighbours of each node that was read, as often as they count, in order."""
    return {
        node: sorted(code >> 1 for code in lists.codes[lists.begins[place] : lists.begins[place + 1]])
        for place, node in enumerate(lists.nodes)
    }


def moves(neighbours: dict[int, list[int]], size: int) -> Floats:
    """How often each neighbour is in each list: the weights of the links of the graph walked on, size x size."""
    weights = np.zeros((size, size))
    for node, others in neighbours.items():
        np.add.at(weights[node], others, 1.0)
    return weights


def law(chances: Floats) -> Floats:
    """The stationary law of a chain with one closed class, by linear equations: pi (P - 1) = 0, sum of pi = 1."""
    size = len(chances)
    equations = np.vstack([chances.T - np.eye(size), np.ones(size)])
    solution: Floats = np.linalg.lstsq(equations, np.append(np.zeros(size), 1.0), rcond=None)[0]
    return solution


def lazy(weights: Floats, degree: float) -> Floats:
    """The walk that takes each link with chance 1/D, and else stays: links to nobody who may be there are stays."""
    chances = weights / degree
    return chances + np.diag(1.0 - chances.sum(axis=1))


def seen(crawl: Sample, size: int) -> Floats:
    """The share of the weight of rows kept that each node has."""
    visits = crawl.list_visits()
    weights = np.bincount(visits.node[visits.kept], visits.weight[visits.kept], minlength=size)
    return np.asarray(weights / weights.sum(), np.float64)


class Searching(KnownGraphSource):
    """A known graph whose platform also finds who links to a node, the first 100 of them."""

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """A conversation a pick."""
        return [self._found(pick) if pick.act == "inward" else self._read_node(pick) for pick in batch]

    def _found(self, pick: Pick) -> Conversation:
        yield from ()
        sources = np.searchsorted(self.graph.indptr, np.flatnonzero(self.graph.indices == pick.node), "right") - 1
        return {pick.n: Outcome(pick.n, pick.node, 0.0, targets=sources[:100])}


class Metropolis:
    """The law of Metropolis and Hastings, for a uniform sample."""

    paper = "Hastings (1970)"

    def accept(self, degree: int, proposed: int) -> float:
        """The chance that makes all nodes equally likely."""
        return min(1.0, degree / proposed)

    def weigh(self, degree: int) -> float:
        """All draws count alike."""
        return 1.0


METROPOLIS = "walk_graphs:Metropolis"
