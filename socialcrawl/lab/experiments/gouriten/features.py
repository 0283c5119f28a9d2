"""What a node's links say about its value: Tables 1, 2 and 3 of Gouriten et al."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.experiments.gouriten.experiment_graphs import StoredGraph
from socialcrawl.lab.measures import Floats, compute_correlation, compute_r_squared
from socialcrawl.lab.result_tables import Table, join_tables, make_table

OF, H = ("n", "e", "ne"), ("sum", "max")
TYPES = ("in", "out")
OVER = ("all", "linked")
CHUNK = 2**22  # links looked at at a time


class LinkSides(NamedTuple):
    """The features of all n nodes, over their links of one direction.

    Attributes:
        links: int64[n], their number.
        values: float64[6, n]: n, e, ne summed, then n, e, ne at most; 0 where there is no link.
    """

    links: NDArray[np.int64]
    values: Floats


def compute_sides(graph: KnownGraph, kind: str) -> LinkSides:
    """Return the features over the links of the whole graph, as nobody knows them during a crawl.

    Args:
        graph: where.
        kind: in, over the links (u, v) to a node v: the value of u, the weight, their product (section 5.2); out, over
            the links (v, u) from it, with the value of u likewise.
    """
    counts = np.zeros(graph.size, np.int64)
    values = np.zeros((6, graph.size))
    for source, target, alpha in _iterate_links(graph):
        node, other = (target, source) if kind == "in" else (source, target)
        far = graph.beta[other]
        counts += np.bincount(node, minlength=graph.size)
        for place, terms in enumerate((far, alpha, far * alpha)):
            np.add.at(values[place], node, terms)
            np.maximum.at(values[place + 3], node, terms)
    return LinkSides(counts, values)


def _iterate_links(graph: KnownGraph) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Floats]]:
    """Yield sources, targets and weights of all links, some at a time, in their order."""
    for begin in range(0, graph.links, CHUNK):
        place = np.arange(begin, min(begin + CHUNK, graph.links))
        source = np.searchsorted(graph.indptr, place, side="right") - 1
        yield source, np.asarray(graph.indices[place], np.int64), np.asarray(graph.alpha[place])


def count_statistics(worlds: list[StoredGraph]) -> Table:
    """Return table 1, a row for each graph: nodes, links, value_nodes, weight_links, and the shares of the last two."""
    return make_table([_count_statistics(world.name, world.open()) for world in worlds])


def _count_statistics(name: str, graph: KnownGraph) -> dict[str, str | int | float]:
    nodes, links = int(np.count_nonzero(graph.beta)), int(np.count_nonzero(graph.alpha))
    return {
        "graph": name,
        "nodes": graph.size,
        "links": graph.links,
        "value_nodes": nodes,
        "weight_links": links,
        "value_share": nodes / graph.size,
        "weight_share": links / max(graph.links, 1),
    }


def compute_correlations(worlds: list[StoredGraph]) -> Table:
    """Return table 2: Pearson's correlation of nodes' values with each feature.

    Columns: graph, type (in | out), over (all nodes, or those linked in that direction), nodes, feature, pearson.
    """
    return join_tables([make_table(_compute_fits(world, pearsons=True)) for world in worlds])


def compute_fits(worlds: list[StoredGraph]) -> Table:
    """Return table 3: R2 of the linear model with n, e and ne of one aggregation.

    Columns: graph, type (in | out), over (all nodes, or those linked in that direction), nodes, h, r2.
    """
    return join_tables([make_table(_compute_fits(world, pearsons=False)) for world in worlds])


def _compute_fits(world: StoredGraph, *, pearsons: bool) -> list[dict[str, str | int | float]]:
    graph = world.open()
    rows: list[dict[str, str | int | float]] = []
    for kind in TYPES:
        links, values = compute_sides(graph, kind)
        for over in OVER:
            chosen = slice(None) if over == "all" else links > 0
            x, y = values[:, chosen], np.asarray(graph.beta[chosen])
            head: dict[str, str | int | float] = {"graph": world.name, "type": kind, "over": over, "nodes": len(y)}
            for h, three in zip(H, (x[:3], x[3:]), strict=True):
                if pearsons:
                    each = zip(OF, three, strict=True)
                    rows += [
                        {**head, "feature": f"{of}_{h}", "pearson": compute_correlation(feature, y)}
                        for of, feature in each
                    ]
                else:
                    rows.append({**head, "h": h, "r2": compute_r_squared(three, y)})
    return rows
