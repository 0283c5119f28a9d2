"""Crawls beside the best of all, and why that is hard to find (Gouriten et al., section 4.3)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.experiments.gouriten.optimum import find_optimum
from socialcrawl.lab.experiments.gouriten.tree_problem import reduce_tree_problem
from socialcrawl.lab.generators.twitterlike import generate_twitter_like
from socialcrawl.lab.graphs import read
from socialcrawl.lab.grid import draw_seed_sets
from socialcrawl.lab.measures import compute_share
from socialcrawl.lab.result_tables import Table, join_tables, make_table
from socialcrawl.lab.simulation import ReplaySetup, simulate

OPTIMUM = "optimum"


@dataclass(frozen=True)
class SmallGraphs:
    """Graphs on which the optimum can be found.

    Attributes:
        graph: a folder or .npz; None: generated ones.
        users: nodes of a generated graph.
        links: its links.
        share: the share of its nodes with a value.
        seed: of the first generated graph; set i of seeds is crawled in that of `seed` + i.
    """

    graph: Path | None = None
    users: int = 90
    links: int = 200
    share: float = 0.1
    seed: int = 1

    def open(self, number: int) -> KnownGraph:
        """Return the graph of a set of seeds.

        Raises:
            SettingsError: it cannot be read, or generated.
        """
        if self.graph is not None:
            return read(self.graph)
        return generate_twitter_like(self.users, self.links, self.share, self.share / 2, self.seed + number)


@dataclass(frozen=True)
class SmallCrawls:
    """What is crawled there.

    Attributes:
        variants: the estimators.
        sets: how many sets of seeds.
        size: seeds in a set.
        steps: of each crawl.
        objective: sum or count.
        seed: of the sets, and of what estimators draw.
    """

    variants: tuple[str, ...]
    sets: int
    size: int
    steps: int
    objective: str
    seed: int


def crawl_beside_optimum(graphs: SmallGraphs, crawls: SmallCrawls) -> Table:
    """Return the curves of crawls, and of the best crawl for each number of steps, from the same sets of seeds.

    Columns: as of `replays.replay_crawls`; relative is the share of the optimum. Each number of
    steps has an optimum that is found separately, so that its curve is no crawl.

    Raises:
        SettingsError: a graph is too large or too hard, or a setting is not sound.
    """
    parts, steps = [], crawls.steps
    for number in range(crawls.sets):
        graph, seed = graphs.open(number), crawls.seed + number
        seeds = draw_seed_sets(graph, number + 1, crawls.size, crawls.seed)[number]
        best = [0.0, *(find_optimum(graph, seeds, budget, crawls.objective)[0] for budget in range(1, steps + 1))]
        found = {OPTIMUM: (np.array(best), 0.0)}
        for variant in crawls.variants:
            replay = simulate(graph, seeds, ReplaySetup(variant, steps, objective=crawls.objective, seed=seed))
            found[variant] = np.concatenate([[0.0], replay.curve]), replay.seconds
        for variant, (curve, seconds) in found.items():
            parts.append(
                {
                    "graph": np.full(steps + 1, "small"),
                    "variant": np.full(steps + 1, variant),
                    "set": np.full(steps + 1, number),
                    "step": np.arange(steps + 1),
                    "score": curve,
                    "relative": compute_share(curve, found[OPTIMUM][0]),
                    "seconds": np.full(steps + 1, seconds),
                }
            )
    return join_tables(parts)


def solve_by_crawling(graph: KnownGraph, counted: str, most: int) -> Table:
    """Return the heaviest subtree of a graph for each size up to `most`, found by the best crawl of the reduction.

    Columns: size (at most so many nodes or edges), budget, nodes and links of the graph that is crawled, weight, tree
    (its nodes, ascending, as text; a sequence may hold other old nodes without a value).

    Args:
        graph: its values are the weights of nodes.
        counted: what the size of a tree counts, `nodes` or `edges`.
        most: the largest size.

    Raises:
        SettingsError: the graph is too large, or a number is not sound.
    """
    if most < 1:
        raise SettingsError(f"--most {most}: give a size of at least 1.")
    rows = []
    for size in range(1, most + 1):
        problem = reduce_tree_problem(graph, size, counted)
        weight, sequence = find_optimum(problem.graph, problem.seeds, problem.budget, "sum")
        tree = sorted(node for node in sequence if node < graph.size)
        sizes = {"size": size, "budget": problem.budget, "nodes": problem.graph.size, "links": problem.graph.links}
        rows.append({**sizes, "weight": weight, "tree": " ".join(map(str, tree))})
    return make_table(rows)
