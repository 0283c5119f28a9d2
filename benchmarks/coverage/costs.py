"""Crawls of known graphs: how often the ranges of a quote, and of the time to the end, hold what the rest takes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.coverage.table import Shown, repeat
from benchmarks.coverage.worlds import SHARED
from socialcrawl.forecast.spread import ENOUGH, FEW, StepNeeds
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.graph.relevance import Topic, compute_worth
from socialcrawl.lab.experiments.sampling.worlds import Ints
from socialcrawl.lab.graphs.column_files import read_parquet
from socialcrawl.lab.graphs.from_texts import build_mention_graph
from socialcrawl.lab.post_table import fold_name, read_posts
from socialcrawl.lab.simulation import ReplaySetup, simulate

TITLE = "Requests and posts that the rest of a crawl takes"
NOTE = """Each run is a crawl of 1,000 steps from 20 drawn accounts on topic. Every second one is steered by
hybrid-sum, the others are breadth-first. Accounts have at most 200 or 800 posts (2 or 8 pages) and cost one request
per page, at least one. An interval is the range for the next steps, divided by the probable number, so its width is
relative to that number. Where most accounts cannot be read (congress) ranges are withheld. The constants of the
ranges were chosen on these graphs, except mathoverflow and higgs."""

STEPS, SEEDS = 1_000, 20
CASES = ((100, 150), (100, 300), (200, 300), (200, 500), (400, 600), (400, 1_000), (700, 1_000))
PAGE = 100
MOST = {"2 pages": 200, "8 pages": 800}


@dataclass(frozen=True, eq=False)
class Place:
    """A graph that crawls are sent through, and how many posts each account has, int64[n]."""

    title: str
    graph: KnownGraph
    posts: Ints


def measure(runs: int) -> list[Shown]:
    """Return what `runs` crawls of each graph showed."""
    return repeat(places(), runs, find_ranges)


def find_ranges(place: Place, seed: int, steps: int = STEPS) -> Iterator[Shown]:
    """Yield the ranges that one crawl shows on its way, each after some steps and for some more."""
    rng = np.random.default_rng(seed)
    seeds = rng.choice(np.flatnonzero(place.graph.beta > 0), SEEDS, replace=False).tolist()
    estimator = ("hybrid-sum", "bfs")[seed % 2]
    visited = place.posts[simulate(place.graph, seeds, ReplaySetup(estimator, steps, seed=seed + 1)).steps]
    for pages, most in MOST.items():
        posts = np.minimum(visited, most)
        requests = np.maximum(1, -(-posts // PAGE))
        for what, needed, enough in (("requests", requests, FEW), ("posts", posts, ENOUGH)):
            needs = StepNeeds()
            for n, (one, brought) in enumerate(zip(needed.tolist(), posts.tolist(), strict=True), 1):
                needs.add(one, read=brought > 0)
                for done, end in CASES:
                    if n == done >= enough and end <= len(needed):
                        low, high, truth = _judged(needs.estimate_range(end - done, enough), needed[:end], done)
                        at = f"{done} done, {end - done} ahead"
                        yield Shown(f"{what}, {pages} an account", place.title, at, low, high, truth)


def _judged(ends: tuple[float, float] | None, needed: Ints, done: int) -> tuple[float | None, float | None, float]:
    """Return the ends of a range and what the next steps needed, all by the probable number."""
    probable = float(needed[done // 2 : done].mean() * (len(needed) - done)) or 1.0
    low, high = (None, None) if ends is None else (ends[0] / probable, ends[1] / probable)
    return low, high, float(needed[done:].sum()) / probable


def places() -> Iterator[Place]:
    """Yield the graphs to measure on; those whose data is not on this machine are left out."""
    topics = {
        "ubuntu_irc.parquet": (["kernel"], ["partition"], ["wifi", "wireless"]),
        "congress2015_last12m.parquet": (["climate"], ["veteran", "veterans"]),
    }
    links = {
        "raku_mentions_2005_2026.parquet": ("src", "dst"),
        "mathoverflow_activity.parquet": ("a", "b"),
        "higgs_activity.parquet": ("a", "b"),
    }
    for name in (*topics, *links):
        if not (SHARED / name).exists():
            print(f"not measured: {SHARED / name} is missing (set SOCIALCRAWL_SHARED)", flush=True)
        elif name in topics:
            yield from read_topics(SHARED / name, topics[name])
        else:
            yield _linked(SHARED / name, *links[name])


def read_topics(path: Path, topics: tuple[list[str], ...]) -> Iterator[Place]:
    """Yield the graph of a file of posts for each topic, a list of keywords."""
    posts = read_posts(path)
    for keywords in topics:
        graph = build_mention_graph(posts, Topic(keywords))
        number = {fold_name(name): node for node, name in enumerate(graph.names or ())}
        counts = np.bincount([number[fold_name(name)] for name in posts.authors], minlength=graph.size)
        yield Place(f"{path.stem}, `{keywords[0]}`", graph, counts)


def _linked(path: Path, source: str, target: str) -> Place:
    """Acts of one account on another, each a post; those of the middle tenth of the time are on topic."""
    table = read_parquet(path)
    one, other = (np.asarray(table.column(name).to_pylist()) for name in (source, target))
    at = np.asarray(table.column("ts").to_pylist(), np.int64)
    names, number = np.unique(np.concatenate([one, other]), return_inverse=True)
    size, begin, end = len(names), number[: len(one)].astype(np.int64), number[len(one) :].astype(np.int64)
    low, high = np.quantile(at, [0.45, 0.55])
    on, others = (at >= low) & (at <= high), begin != end
    pairs, which = np.unique(begin[others] * size + end[others], return_inverse=True)
    alpha = np.array([compute_worth(int(hits)) for hits in np.bincount(which, weights=on[others])])
    beta = np.array([compute_worth(int(hits)) for hits in np.bincount(begin[on & others], minlength=size)])
    indptr = np.append(0, np.cumsum(np.bincount(pairs // size, minlength=size)))
    graph = KnownGraph(indptr.astype(np.int64), pairs % size, alpha, beta)
    return Place(f"{path.stem.split('_')[0]}, the middle tenth of its time", graph, np.bincount(begin, minlength=size))
