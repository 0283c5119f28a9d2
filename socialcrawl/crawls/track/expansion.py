"""Expansion procedures: whom of the frontier to visit next (Kumar, Lang, Marlow, Tomkins, section II)."""

from collections.abc import Callable
from typing import Protocol

from socialcrawl.crawls.track.tracked_graph import FRONTIER, TrackedGraph
from socialcrawl.engine.model import Node

Draw = Callable[[str], float]
"""A number in [0, 1) for this pick and a purpose; asked twice, the same."""

Barred = frozenset[int]
"""The nodes picked already in this batch."""


class NodePolicy(Protocol):
    """A way to choose a node. The laboratory adds omniscient ones, which may name nodes that nobody has discovered.

    Attributes:
        column: of the picture, which `Pick.score` is read from; "": the score is 1.
    """

    column: str

    def pick(self, picture: TrackedGraph, draw: Draw, barred: Barred) -> Node | None:
        """Return the node to visit, none of `barred`; None where there is nobody. Changes nothing."""


class ProportionalExpansion:
    """Crawl-AI: a draw from the frontier with probabilities proportional to a column; uniform where all have 0."""

    def __init__(self, column: str = "indegree") -> None:
        self.column = column

    def pick(self, picture: TrackedGraph, draw: Draw, barred: Barred) -> Node | None:
        """See `Policy.pick`."""
        return draw_row(picture, FRONTIER, self.column, draw("expand"), barred)


class GreedyExpansion:
    """Crawl-GAI: the node of the frontier with the most of a column; of equals the one discovered first."""

    def __init__(self, column: str = "indegree") -> None:
        self.column = column

    def pick(self, picture: TrackedGraph, draw: Draw, barred: Barred) -> Node | None:
        """See `Policy.pick`."""
        row = picture.tops(FRONTIER, self.column).best(find_rows(picture, barred))
        return None if row is None else picture.nodes[row]


def draw_row(picture: TrackedGraph, state: int, column: str, u: float, barred: Barred) -> Node | None:
    """Return the node at `u` of all in a state that may be asked, by the weights of a column.

    Uniform where all weigh 0.
    """
    out = find_rows(picture, barred)
    row = picture.urn(state, column).draw(u, out)
    if row is None and column:
        row = picture.urn(state).draw(u, out)
    return None if row is None else picture.nodes[row]


def find_rows(picture: TrackedGraph, barred: Barred) -> frozenset[int]:
    """Return the rows of some nodes, as far as they are known."""
    return frozenset(row for row in map(picture.row, barred) if row >= 0) if barred else barred


def make_expansion(name: str, column: str) -> NodePolicy:
    """Return the expansion of that name, going by `column`: ai, gai, or opic (most cash, whatever the target)."""
    if name == "ai":
        return ProportionalExpansion(column)
    return GreedyExpansion(column if name == "gai" else "cash")


EXPANSIONS = ("ai", "gai", "opic")
