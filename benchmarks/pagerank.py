"""Time of PageRank on a graph of 10 M links, beside scikit-network's where that is installed."""

import statistics
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.figure import Figure, sized
from benchmarks.opic import LINKS, NODES, web
from socialcrawl.importance.link_matrix import make_out_links
from socialcrawl.importance.opic import Floats
from socialcrawl.importance.pagerank import DAMPING, compute_pagerank

TITLE = "PageRank, 1,000,000 nodes, 10,000,000 links, every node with links, median of 3 runs"
TOLERANCES = (1e-6, 1e-10)
RUNS = sized(3, 1)


def measure() -> list[Figure]:
    """Seconds by tolerance, ours and scikit-network's (power iteration that stops at the same change of a step)."""
    links = _without_dangling(web(NODES, LINKS, 1))
    theirs = _scikit_network()
    figures = []
    for tolerance in TOLERANCES:
        ours, rank = _timed(partial(compute_pagerank, links, tolerance=tolerance))
        figures.append(Figure(f"tolerance {tolerance:g}", f"{ours:.2f} s"))
        if theirs:
            figures += _beside(theirs, links, tolerance, ours, rank)
    return figures if theirs else [*figures, Figure("scikit-network", "not measured: it is not installed")]


def _beside(theirs: Any, links: Any, tolerance: float, ours: float, rank: Floats) -> list[Figure]:
    stop, links = tolerance * (1.0 - DAMPING), csr_matrix(links)
    spent, other = _timed(lambda: theirs(DAMPING, n_iter=1000, tol=stop).fit_predict(links))
    apart = float(np.abs(rank - other).sum())
    default, _ = _timed(lambda: theirs(DAMPING).fit_predict(links))
    return [
        Figure(f"scikit-network, tolerance {tolerance:g}", f"{spent:.2f} s; ranks differ by {apart:.0e} in all"),
        Figure("time beside scikit-network's", f"{ours / spent:.2f}", "at most 2"),
        Figure("time beside scikit-network's 10 steps (its default)", f"{ours / default:.2f}", "at most 2"),
    ]


def _timed(work: Callable[[], Floats]) -> tuple[float, Floats]:
    spent = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        rank = work()
        spent.append(time.perf_counter() - begin)
    return statistics.median(spent), rank


def _scikit_network() -> Any:
    try:
        return import_module("sknetwork.ranking").PageRank
    except ImportError:
        return None


def _without_dangling(links: Any) -> Any:
    """Return the graph with a link from each empty row to the next: scikit-network treats those differently."""
    silent = np.flatnonzero(np.diff(links.indptr) == 0)
    return (links + make_out_links(silent, (silent + 1) % NODES, NODES)).tocsr()
