"""Recrawl policies: to whom of the crawled to go back (Kumar, Lang, Marlow, Tomkins, section III).

All of them draw, or take the best, among those that may be asked now. Where nobody has a positive score yet (yields and
link scores need two visits) the draw is uniform.
"""

from socialcrawl.crawls.track.expansion import Barred, Draw, NodePolicy, draw_row, find_rows
from socialcrawl.crawls.track.tracked_graph import CRAWLED, ONES, TrackedGraph
from socialcrawl.engine.model import Node

HEADS = 0.5  # of the coin of a mixture


class WeightedDraw:
    """A draw with probabilities proportional to a column; U where it is ONES, OR (outlinks), YR (yield)."""

    def __init__(self, column: str) -> None:
        self.column = column

    def pick(self, picture: TrackedGraph, draw: Draw, barred: Barred) -> Node | None:
        """See `expansion.Policy.pick`."""
        return draw_row(picture, CRAWLED, self.column, draw("recrawl"), barred)


class BestRecrawl:
    """The node with the most of a column, of equals the one discovered first; a uniform draw where all have 0."""

    def __init__(self, column: str) -> None:
        self.column = column

    def pick(self, picture: TrackedGraph, draw: Draw, barred: Barred) -> Node | None:
        """See `expansion.Policy.pick`."""
        row = picture.tops(CRAWLED, self.column).best(find_rows(picture, barred))
        if row is not None and picture.at(row, self.column) > 0:
            return picture.nodes[row]
        return draw_row(picture, CRAWLED, ONES, draw("recrawl"), barred)


class MixedRecrawl:
    """A fair coin between a policy and U: YRU, LDU, YDU, ORU."""

    def __init__(self, policy: NodePolicy) -> None:
        self.policy, self.column = policy, policy.column

    def pick(self, picture: TrackedGraph, draw: Draw, barred: Barred) -> Node | None:
        """See `expansion.Policy.pick`."""
        if draw("coin") < HEADS:
            return self.policy.pick(picture, draw, barred)
        return draw_row(picture, CRAWLED, ONES, draw("recrawl"), barred)


POLICIES: dict[str, NodePolicy] = {
    "u": WeightedDraw(ONES),
    "or": WeightedDraw("outlinks"),
    "yr": WeightedDraw("yield"),
    "yru": MixedRecrawl(WeightedDraw("yield")),
    "ldu": MixedRecrawl(BestRecrawl("link_score")),
    "ydu": MixedRecrawl(BestRecrawl("yield")),
    "oru": MixedRecrawl(WeightedDraw("outlinks")),
    "opic": BestRecrawl("cash"),
}
"""Those of the paper; ORU, a fair coin between OR and U, which does not lock itself in as OR can (docs/kumar.md, 5);
OPIC's greedy refresh (Abiteboul, Preda, Cobena): the node with the most cash."""

RECRAWLS = tuple(POLICIES)
