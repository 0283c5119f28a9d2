"""Discovery in fixed graphs (Kumar et al., section II, figure 1): samplers that know all degrees, and crawls.

    crawl performance   |C & K| / |K|
    rank performance    |K_H & K| / |K|

after some nodes were crawled (C); K are the k nodes of highest in-degree, K_H the k of C of highest *apparent*
in-degree, that is, links in from C; for the samplers too, as by their true degrees both performances would be the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from socialcrawl.crawls.seeds import Seeds
from socialcrawl.crawls.track.crawl import Track
from socialcrawl.crawls.track.target import Target
from socialcrawl.engine.draws import make_generator
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Node
from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph, KnownGraphSource
from socialcrawl.importance.strong_components import find_largest_component
from socialcrawl.lab.experiments.kumar.sampling import make_policies
from socialcrawl.lab.experiments.kumar.timegraphs import Floats, Ints
from socialcrawl.lab.experiments.kumar.top_nodes import RankedSequenceStore, find_top_nodes
from socialcrawl.lab.instant import make_parts
from socialcrawl.lab.process_pool import CrawlJob, compute_fingerprint
from socialcrawl.lab.result_tables import Table, make_table
from socialcrawl.system.garbage_collection import pause_garbage_collection

EXPANSIONS = ("sample-i", "sample-io", "sample-u", "ai", "gai")
COLUMNS = ("crawl", "rank")


@dataclass(frozen=True, eq=False)
class FixedWorld:
    """A graph to discover in.

    Attributes:
        name: what tables and figures call it.
        graph: the links, each once.
        k: how many nodes are looked for.
        steps: how many nodes are crawled, at most.
        targets: K, int64[<= k], ascending.
        indegree: int64[n].
        looks: after how many nodes the crawls are looked at.
    """

    name: str
    graph: KnownGraph
    k: int
    steps: int
    targets: Ints
    indegree: Ints
    looks: Sequence[int]


def make_world(name: str, graph: KnownGraph, k: int, steps: int, points: int = 100) -> FixedWorld:
    """Return a graph with its targets; as many steps as it has nodes, where it has fewer than `steps`.

    Raises:
        SettingsError: there are no targets or steps.
    """
    if k < 1 or steps < 1 or points < 1:
        raise SettingsError("k, the steps and the points are 1 or more.")
    indegree = np.bincount(graph.indices, minlength=graph.size)
    steps = min(steps, graph.size)
    looks = sorted({*range(0, steps + 1, max(1, -(-steps // points))), steps} - {0})
    return FixedWorld(name, graph, k, steps, find_top_nodes(indegree, k), indegree, looks)


def list_jobs(there: FixedWorld, expansions: Sequence[str], seeds: Sequence[int]) -> list[CrawlJob]:
    """Return a crawl for each expansion and seed."""
    graph = there.graph
    mark = compute_fingerprint(graph.indptr, graph.indices)
    first = choose_sources(there, seeds)
    return [
        CrawlJob(
            ["static", mark, there.name, there.k, there.steps, len(there.looks), expansion, seed],
            discover_targets,
            (there, expansion, seed, first[seed]),
        )
        for seed in seeds
        for expansion in expansions
    ]


def choose_sources(there: FixedWorld, seeds: Sequence[int]) -> dict[int, int]:
    """Return the node that the crawls of each seed begin with: any of the largest strongly connected component."""
    inside = find_largest_component(there.graph.indptr, np.asarray(there.graph.indices, np.int64))
    return {seed: int(make_generator(seed, "source", 0).choice(inside)) for seed in seeds}


def discover_targets(there: FixedWorld, expansion: str, seed: int, source: int) -> Table:
    """Return one crawl, a row for each look: graph, expansion, seed, step (nodes crawled), crawl and rank.

    A crawl that has nobody left in its frontier stays as it is. Samplers begin with the source too, as any crawl here
    begins with a node that is given: one node more.

    Raises:
        SettingsError: there is no such expansion.
    """
    rows: list[dict[str, Any]] = []
    inside = np.zeros(there.graph.size, np.bool_)
    inside[there.targets] = True

    def look(progress: RankedSequenceStore) -> None:
        said = {"graph": there.name, "expansion": expansion, "seed": seed, "step": there.looks[len(rows)]}
        hit = int(progress.crawled[there.targets].sum())
        ranked = int(inside[progress.rank_nodes(there.k)].sum())
        number = max(1, len(there.targets))
        rows.append(said | {"crawl": hit / number, "rank": ranked / number, "crawled": len(progress.asked)})

    progress = RankedSequenceStore(there.graph.size, there.looks, look)
    line = Seeds()
    line.ready = [Node(source)]
    chosen = make_policies(expansion, "u", 0.0, seed, _choose_weights(there, expansion))
    crawl = Track(line, chosen, there.steps - 1, target=Target(parallel="once"))
    with pause_garbage_collection():
        run(make_parts(crawl, KnownGraphSource(there.graph), progress))
    while len(rows) < len(there.looks):
        look(progress)
    return make_table(rows)


def _choose_weights(there: FixedWorld, expansion: str) -> Floats | None:
    """Return what a sampler draws by, float64[n]: in-degree (I), in- plus out-degree (IO), 1 (U); None for a crawl."""
    if expansion == "sample-u":
        return np.ones(there.graph.size)
    if expansion in ("sample-i", "sample-io"):
        outdegree = np.diff(there.graph.indptr)
        return np.asarray(there.indegree + (outdegree if expansion == "sample-io" else 0), np.float64)
    return None
