"""Walks on a known graph, through the loop of every crawl: steps that read a node, and steps over nodes known."""

import time

import numpy as np

from benchmarks.figure import Figure, sized
from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Node
from socialcrawl.graph.known_graph import KnownGraph, KnownGraphSource
from socialcrawl.lab.instant import SequenceStore, make_parts
from socialcrawl.system.garbage_collection import pause_garbage_collection

TITLE = "Walks through a known graph of 1,000,000 nodes and 10,000,000 links, half of it on topic"
NODES, LINKS = sized(1_000_000, 2_000), sized(10_000_000, 20_000)
MANY, FETCHES, ALONE = (
    sized(1_000, 10),
    sized(200_000, 200),
    sized(20_000, 100),
)  # walks, nodes read by them, nodes read by a walk alone


def measure() -> list[Figure]:
    """Nodes read and steps a second of processor time (it is one thread), of many walks and of one."""
    graph = _graph()
    figures: list[Figure] = []
    for name, how in (
        ("unfocused", WalkRules("none", burn_in=0, inward=False, walkers=MANY)),
        ("hard focus", WalkRules("hard", burn_in=0, inward=False, walkers=MANY)),
        ("trial and error, k = 3", WalkRules("trial", burn_in=0, inward=False, k=3, walkers=MANY)),
        ("neighbourhood, B = 10", WalkRules("neighbourhood", burn_in=0, inward=False, walkers=MANY)),
    ):
        crawl, seconds = _walked(graph, how, FETCHES)
        target = "over 50,000" if how.focus == "none" else ""
        figures.append(Figure(f"{name}, {MANY:,} walks: nodes read a second", f"{FETCHES / seconds:,.0f}", target))
        figures.append(Figure(f"{name}: steps a second", f"{_steps(crawl) / seconds:,.0f}"))
    crawl, seconds = _walked(graph, WalkRules("none", walkers=1, burn_in=0, inward=False), ALONE)
    figures.append(Figure("unfocused, one walk: nodes read a second", f"{ALONE / seconds:,.0f}"))
    crawl, seconds = _walked(
        _graph(1_000, 10_000), WalkRules("none", walkers=1, burn_in=0, inward=False, length=500_000, idle=500_000), None
    )
    figures.append(
        Figure("one walk over 1,000 nodes that are known: steps a second", f"{_steps(crawl) / seconds:,.0f}")
    )
    return figures


def _graph(nodes: int = NODES, links: int = LINKS) -> KnownGraph:
    """Nodes that link to others by chance, to those of small numbers more often."""
    draw = np.random.default_rng(1)
    sources = np.sort(draw.integers(0, nodes, links))
    indptr = np.searchsorted(sources, np.arange(nodes + 1)).astype(np.int64)
    targets = (nodes * draw.random(links) ** 1.5).astype(np.int32)
    return KnownGraph(indptr, targets, np.ones(links), (draw.random(nodes) < 0.5).astype(np.float64))


def _walked(graph: KnownGraph, how: WalkRules, steps: int | None) -> tuple[Sample, float]:
    seeds = Seeds(names=[Node(node) for node in range(min(graph.size, 4 * how.walkers))], known=True)
    crawl = Sample(seeds, how, steps)
    with pause_garbage_collection():
        begin = time.process_time()
        run(make_parts(crawl, KnownGraphSource(graph), SequenceStore()), size=how.walkers)
        return crawl, time.process_time() - begin


def _steps(crawl: Sample) -> int:
    return sum(walker.steps for walker in crawl.walks.walkers)
