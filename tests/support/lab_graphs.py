"""What the tests of grids and of `socialcrawl simulate` share: small graphs, and the world that a referee sees."""

import numpy as np
from known_worlds import World

from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.graph.relevance import compute_worth


def random_world(size: int, links: int, seed: int) -> World:
    """Every node has up to two links more or less than `links`, half of them weigh nothing."""
    draw = np.random.default_rng([seed, size])
    hits = {u: int(x) for u, x in enumerate(draw.integers(0, 6, size))}
    to = {
        u: {int(v): int(draw.integers(0, 4)) for v in draw.permutation(size)[: draw.integers(0, 2 * links)] if v != u}
        for u in range(size)
    }
    return World(hits, to)


def known(world: World) -> KnownGraph:
    """The same as a known graph: f of every number of occurrences."""
    rows = [world.links.get(u, {}) for u in range(len(world.hits))]
    return KnownGraph(
        np.cumsum([0, *map(len, rows)], dtype=np.int64),
        np.array([v for row in rows for v in row], np.int64),
        np.array([compute_worth(x) for row in rows for x in row.values()], np.float64),
        np.array([compute_worth(world.hits[u]) for u in range(len(rows))], np.float64),
    )


def saved(path, graph: KnownGraph):
    """The path of a .npz with that graph, as another program would write it."""
    np.savez(path, indptr=graph.indptr, indices=graph.indices, alpha=graph.alpha, beta=graph.beta)
    return path
