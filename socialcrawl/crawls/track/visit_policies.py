"""What each pick of a Track crawl does: expand, or go back to an account (Kumar, Lang, Marlow, Tomkins).

Expansion procedures (section II) choose of the frontier. Recrawl policies (section III) draw, or take the best, among
those of the crawled that may be asked now; where nobody has a positive score yet (yields and link scores need two
visits) the draw is uniform. A `PolicyMixture` draws which of the two a pick does.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from socialcrawl.crawls.track.tracked_graph import CRAWLED, FRONTIER, ONES, TrackedGraph
from socialcrawl.engine.draws import draw_chance
from socialcrawl.engine.model import Act, Node
from socialcrawl.errors import SettingsError
from socialcrawl.text.wording import explain_unknown

Draw = Callable[[str], float]
"""A number in [0, 1) for this pick and a purpose; asked twice, the same."""

Barred = frozenset[int]
"""The nodes picked already in this batch."""


class NodePolicy(Protocol):
    """A way to choose a node. The laboratory adds omniscient ones, which may name nodes that nobody has discovered.

    Attributes:
        column: of the graph, which `Pick.score` is read from; "": the score is 1.
    """

    column: str

    def pick(self, graph: TrackedGraph, draw: Draw, barred: Barred) -> Node | None:
        """Return the node to visit, none of `barred`; None where there is nobody. Changes nothing."""


class ProportionalExpansion:
    """Crawl-AI: a draw from the frontier with probabilities proportional to a column; uniform where all have 0."""

    def __init__(self, column: str = "indegree") -> None:
        self.column = column

    def pick(self, graph: TrackedGraph, draw: Draw, barred: Barred) -> Node | None:
        """See `NodePolicy.pick`."""
        return draw_row(graph, FRONTIER, self.column, draw("expand"), barred)


class GreedyExpansion:
    """Crawl-GAI: the node of the frontier with the most of a column; of equals the one discovered first."""

    def __init__(self, column: str = "indegree") -> None:
        self.column = column

    def pick(self, graph: TrackedGraph, draw: Draw, barred: Barred) -> Node | None:
        """See `NodePolicy.pick`."""
        row = graph.find_heaviest(FRONTIER, self.column).find_best(find_rows(graph, barred))
        return None if row is None else graph.nodes[row]


def draw_row(graph: TrackedGraph, state: int, column: str, u: float, barred: Barred) -> Node | None:
    """Return the node at `u` of all in a state that may be asked, by the weights of a column.

    Uniform where all weigh 0.
    """
    out = find_rows(graph, barred)
    row = graph.make_urn(state, column).draw(u, out)
    if row is None and column:
        row = graph.make_urn(state).draw(u, out)
    return None if row is None else graph.nodes[row]


def find_rows(graph: TrackedGraph, barred: Barred) -> frozenset[int]:
    """Return the rows of some nodes, as far as they are known."""
    return frozenset(row for row in map(graph.row, barred) if row >= 0) if barred else barred


def make_expansion(name: str, column: str) -> NodePolicy:
    """Return the expansion of that name, going by `column`: ai, gai, or opic (most cash, whatever the target)."""
    if name == "ai":
        return ProportionalExpansion(column)
    return GreedyExpansion(column if name == "gai" else "cash")


EXPANSIONS = ("ai", "gai", "opic")


HEADS = 0.5  # of the coin of a mixture


class WeightedDraw:
    """A draw with probabilities proportional to a column; U where it is ONES, OR (outlinks), YR (yield)."""

    def __init__(self, column: str) -> None:
        self.column = column

    def pick(self, graph: TrackedGraph, draw: Draw, barred: Barred) -> Node | None:
        """See `NodePolicy.pick`."""
        return draw_row(graph, CRAWLED, self.column, draw("recrawl"), barred)


class BestRecrawl:
    """The node with the most of a column, of equals the one discovered first; a uniform draw where all have 0."""

    def __init__(self, column: str) -> None:
        self.column = column

    def pick(self, graph: TrackedGraph, draw: Draw, barred: Barred) -> Node | None:
        """See `NodePolicy.pick`."""
        row = graph.find_heaviest(CRAWLED, self.column).find_best(find_rows(graph, barred))
        if row is not None and graph.at(row, self.column) > 0:
            return graph.nodes[row]
        return draw_row(graph, CRAWLED, ONES, draw("recrawl"), barred)


class MixedRecrawl:
    """A fair coin between a policy and U: YRU, LDU, YDU, ORU."""

    def __init__(self, policy: NodePolicy) -> None:
        self.policy, self.column = policy, policy.column

    def pick(self, graph: TrackedGraph, draw: Draw, barred: Barred) -> Node | None:
        """See `NodePolicy.pick`."""
        if draw("coin") < HEADS:
            return self.policy.pick(graph, draw, barred)
        return draw_row(graph, CRAWLED, ONES, draw("recrawl"), barred)


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
"""Those of the paper; ORU, a fair coin between OR and U, which does not lock itself in as OR can (5 in
docs/explanation/kumar.md); OPIC's greedy refresh (Abiteboul, Preda, Cobena): the node with the most cash."""

RECRAWLS = tuple(POLICIES)


NAMES = {"expansion": EXPANSIONS, "recrawl": RECRAWLS}
"""The names that settings know."""

P = 0.5  # of a recrawl, in the paper's experiments


class PolicyMixture:
    """A mixture of an expansion and a recrawl policy: pick n goes back if its draw is below p, and expands otherwise.

    Where the one has nobody the other is asked, unless it has no probability at all: p = 0 never goes back, p = 1
    never expands.

    Args:
        expansion: one of NAMES["expansion"], or a policy.
        recrawl: one of NAMES["recrawl"], or a policy.
        p: the probability of a recrawl.
        seed: the campaign's; draws are keyed by (seed, n of the pick).

    Raises:
        SettingsError: an unknown name, or p is out of range.
    """

    def __init__(
        self, expansion: str | NodePolicy = "gai", recrawl: str | NodePolicy = "or", p: float = P, seed: int = 0
    ) -> None:
        if not 0 <= p <= 1:
            raise SettingsError(f"p = {p}: the probability of going back to an account must be between 0 and 1.")
        for what, given in (("expansion", expansion), ("recrawl", recrawl)):
            if isinstance(given, str) and given not in NAMES[what]:
                raise SettingsError(explain_unknown(f"{what} policy", given, NAMES[what]))
        self.expansion, self.p, self.seed = expansion, p, seed
        self.recrawl: NodePolicy = POLICIES[recrawl] if isinstance(recrawl, str) else recrawl

    def aim_at(self, column: str) -> "AimedMixture":
        """Return the same, expanding by a column of the graph.

        An expansion that is a policy goes by what it goes by.
        """
        named = make_expansion(self.expansion, column) if isinstance(self.expansion, str) else self.expansion
        return AimedMixture(named if self.p < 1 else None, self.recrawl if self.p > 0 else None, self.p, self.seed)


class AimedMixture:
    """A choice whose policies are settled; None for one that is never asked."""

    def __init__(self, expansion: NodePolicy | None, recrawl: NodePolicy | None, p: float, seed: int) -> None:
        self.policies = {Act.EXPAND: expansion, Act.RECRAWL: recrawl}
        self.p, self.seed = p, seed

    @property
    def columns(self) -> set[str]:
        """The columns that policies go by."""
        return {policy.column for policy in self.policies.values() if policy is not None}

    def pick(self, graph: TrackedGraph, n: int, barred: Barred) -> tuple[Act, Node, float] | None:
        """Return (act, node, score) of pick number n, or None; `barred` are left out. Nothing changes."""
        draw = partial(_draw, self.seed, n)
        back = draw("mix") < self.p
        for act in (Act.RECRAWL, Act.EXPAND) if back else (Act.EXPAND, Act.RECRAWL):
            policy = self.policies[act]
            if policy is not None and (node := policy.pick(graph, draw, barred)) is not None:
                return act, node, graph.at(graph.row(node), policy.column)
        return None


def _draw(seed: int, n: int, purpose: str) -> float:
    return draw_chance(seed, purpose, n)
