"""Speed of static OPIC on a known graph of 10 M links, and how soon each selection finds the most important pages."""

import time
from typing import Any

import numpy as np

from benchmarks.figure import Figure, sized
from socialcrawl.engine.draws import make_generator
from socialcrawl.importance.link_matrix import compute_reference, make_out_links
from socialcrawl.importance.opic import Cash, Floats
from socialcrawl.importance.static_opic import SELECTIONS, StaticGraph, make_visit_order

TITLE = "Static OPIC, 1,000,000 nodes, 10,000,000 links (in-degrees ~ k^-2.1, out-degrees Poisson), small edges of 1"
NODES, LINKS = sized(1_000_000, 1_000), sized(10_000_000, 10_000)
ROUNDS = (1, 3, 10)  # steps per node
TOP = 100


def web(nodes: int, links: int, seed: int) -> Any:
    """Return a link matrix of this size without duplicates: the tail of in-degrees follows k^-2.1."""
    draws = make_generator(seed, "web", 0)
    ends = np.cumsum(np.arange(1, nodes + 1) ** (-1 / 1.1))
    found = np.searchsorted(ends / ends[-1], draws.random(links), side="right").clip(0, nodes - 1)
    return make_out_links(draws.integers(0, nodes, links), draws.permutation(nodes)[found], nodes)


def measure() -> list[Figure]:
    """Seconds for a step per node, and the overlap with the fixpoint's top 100 after 1, 3 and 10 steps per node."""
    links = web(NODES, LINKS, 1)
    begin = time.perf_counter()
    wanted = compute_reference(links)
    figures = [Figure("fixpoint off line, virtual page included", f"{time.perf_counter() - begin:.0f} s")]
    graph = StaticGraph(links)
    for name in SELECTIONS:
        figures += _figures(name, graph, wanted)
    return figures


def _figures(name: str, graph: StaticGraph, wanted: Floats) -> list[Figure]:
    cash, begin, busy = graph.start(1.0), time.perf_counter(), time.process_time()
    order, rows = make_visit_order(name, cash, 1), np.arange(NODES)
    top, found, errors, held, before = _best(wanted[:-1]), [], [], [], 0
    for rounds in ROUNDS:
        paid = float(cash.history.sum())
        graph.run(cash, order, (rounds - before) * NODES)
        if rounds == 1:
            spent = f"{time.perf_counter() - begin:.1f} s ({time.process_time() - busy:.1f} s of them at work)"
        held.append((float(cash.history.sum()) - paid) / (rounds - before))
        estimate, before = cash.estimate(rows), rounds
        found.append(len(_best(estimate) & top))
        errors.append(100 * float(np.mean(np.abs(estimate / wanted[:-1] - 1))))
    after = ", ".join(map(str, ROUNDS))
    return [
        Figure(f"{name}: {NODES:,} steps", spent, "under 60 s" if name == "greedy" else ""),
        Figure(f"{name}: of the fixpoint's top {TOP} after {after} steps per node", ", ".join(map(str, found))),
        Figure(f"{name}: mean error of all nodes by then", ", ".join(f"{error:.1f} %" for error in errors)),
        Figure(f"{name}: n times the mean cash of a node visited till then", ", ".join(f"{x:.2f}" for x in held)),
        Figure(f"{name}: cash made or lost in all steps", f"{_leak(cash):.0e}", "under 1e-09"),
    ]


def _best(importance: Floats) -> set[int]:
    """Return the TOP rows, ties to the smaller."""
    return set(np.argsort(-importance, kind="stable")[:TOP].tolist())


def _leak(cash: Cash) -> float:
    return abs(cash.sum_cash() - 1.0)
