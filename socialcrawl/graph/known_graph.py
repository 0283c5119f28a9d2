"""A graph that is known as a whole, and the source that answers from it: the laboratory's platform.

Nodes are row numbers 0 .. n-1. The crawl sees of it what a platform would show: a node's value and links, once asked.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.model import Act, Node, Outcome, Pick, Reply, Request, Who
from socialcrawl.engine.protocols import Batch, Conversation


@dataclass(frozen=True, eq=False)
class KnownGraph:
    """n nodes with their values and m weighted links, as compressed sparse rows of out-links.

    Attributes:
        indptr: int64[n + 1]; the links of node u are places `indptr[u]` to `indptr[u + 1]`.
        indices: int32 or int64[m], the targets.
        alpha: float64[m], the weights of the links: finite, not negative.
        beta: float64[n], the values of the nodes: finite, not negative.
        names: what the n nodes are called, or None.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64] | NDArray[np.int32]
    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    names: Sequence[str] | None = None

    @property
    def size(self) -> int:
        """The number of nodes, n."""
        return len(self.beta)

    @property
    def links(self) -> int:
        """The number of links, m."""
        return len(self.indices)

    def list_links(self, node: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the targets of a node's links, int64, and their weights, float64, in the order stored."""
        begin, end = self.indptr[node], self.indptr[node + 1]
        return np.asarray(self.indices[begin:end], np.int64), np.asarray(self.alpha[begin:end])


class KnownGraphSource:
    """The source of a known graph. Its answers are at hand, so that its conversations need no request."""

    def __init__(self, graph: KnownGraph) -> None:
        self.graph = graph

    def width(self, act: Act) -> int:
        """Return one node a pick."""
        return 1

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """Return a conversation a pick."""
        return [self._read_node(pick) for pick in batch]

    def mark(self, at: float) -> str:
        """Return "": nothing is written in a graph that does not change, and every visit sees all of it."""
        return ""

    def _read_node(self, pick: Pick) -> Generator[Request, Reply, Mapping[int, Outcome]]:
        yield from ()  # a conversation, though nothing has to be asked
        targets, alpha = self.graph.list_links(pick.node)
        return {pick.n: Outcome(pick.n, pick.node, 0.0, float(self.graph.beta[pick.node]), targets, alpha)}
