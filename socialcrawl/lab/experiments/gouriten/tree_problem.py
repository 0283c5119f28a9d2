"""Why no crawl can be known to be the best: the reduction of Proposition 1 (Gouriten et al., section 4.3).

LST-Graph asks whether a directed graph with weights has a subtree (its edges lead away from a root) of at most L edges
that weighs at least W; it is NP-hard. Here nodes weigh, since it is nodes that the reduction gives scores. The crawl
starts at a new node r, from which a chain of L + 1 new nodes without value leads to every node: the budget pays for
one chain and one tree, not for two chains.

The paper's budget 2L + 1 is right if L counts the nodes of the tree; if L counts its edges, it takes 2L + 2.
"""

from dataclasses import dataclass

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph

COUNTED = ("nodes", "edges")


@dataclass(frozen=True, eq=False)
class CrawlProblem:
    """An instance of the crawl problem with the objective sum: is there a sequence of at least some score?

    Attributes:
        graph: G', the old nodes first, under their numbers; then r; then the chains, one after the other.
        seeds: [r].
        budget: the length of a sequence.
    """

    graph: KnownGraph
    seeds: list[int]
    budget: int


def reduce_tree_problem(graph: KnownGraph, most: int, counted: str = "edges") -> CrawlProblem:
    """Return the crawl problem that is solved with score W exactly if `graph` has a subtree of size L that weighs W.

    Of size at most L and of weight at least W, that is. A sequence may be shorter than the budget: the paper fills it
    up with nodes of another chain, but a graph of one node has none.

    Args:
        graph: beta are the weights of its nodes; alpha plays no part.
        most: L. What is more than a tree in this graph can have is cut off, so that G' has O(|V|**2) nodes.
        counted: what L counts, the nodes or the edges of the tree.

    Raises:
        SettingsError: L is not the size of a tree (at least 1 node, 0 edges), or counts something else.
    """
    if counted not in COUNTED:
        raise SettingsError(f"L cannot count {counted!r}: write nodes or edges.")
    smallest = 1 if counted == "nodes" else 0
    if most < smallest:
        raise SettingsError(f"L = {most} is too small: a tree has at least {smallest} {counted}.")
    old = graph.size
    most = min(most, old - 1 + smallest)
    length = most + 1
    # Row r holds the heads of all chains; each node of a chain links to the next, and the last one to its old node.
    chains = old + 1 + np.arange(old * length, dtype=np.int64).reshape(old, length)
    following = np.concatenate([chains[:, 1:], np.arange(old, dtype=np.int64)[:, None]], axis=1).ravel()
    added = np.concatenate([chains[:, 0], following])
    ends = np.concatenate([[graph.links + old], graph.links + old + 1 + np.arange(old * length)])
    bigger = KnownGraph(
        np.concatenate([graph.indptr, ends]).astype(np.int64),
        np.concatenate([np.asarray(graph.indices, np.int64), added]),
        np.concatenate([graph.alpha, np.ones(len(added))]),
        np.concatenate([graph.beta, np.zeros(1 + old * length)]),
    )
    return CrawlProblem(bigger, [old], 2 * most + (1 if counted == "nodes" else 2))
