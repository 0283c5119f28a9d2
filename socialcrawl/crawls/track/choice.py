"""Expand or go back: what each pick of a Track crawl does (Kumar, Lang, Marlow, Tomkins, section III)."""

from functools import partial

from socialcrawl.crawls.track.expansion import EXPANSIONS, Barred, NodePolicy, make_expansion
from socialcrawl.crawls.track.recrawl import POLICIES, RECRAWLS
from socialcrawl.crawls.track.tracked_graph import TrackedGraph
from socialcrawl.engine.model import Act, Node
from socialcrawl.engine.splitmix import draw_chance
from socialcrawl.errors import SettingsError

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
                raise SettingsError(f"{given!r} is no {what} policy: choose one of {', '.join(NAMES[what])}.")
        self.expansion, self.p, self.seed = expansion, p, seed
        self.recrawl: NodePolicy = POLICIES[recrawl] if isinstance(recrawl, str) else recrawl

    def aimed(self, column: str) -> "AimedMixture":
        """Return the same, expanding by a column of the picture.

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

    def pick(self, picture: TrackedGraph, n: int, barred: Barred) -> tuple[Act, Node, float] | None:
        """(act, node, score) of pick number n; None where there is nobody, `barred` left out. Changes nothing."""
        draw = partial(_draw, self.seed, n)
        back = draw("mix") < self.p
        for act in (Act.RECRAWL, Act.EXPAND) if back else (Act.EXPAND, Act.RECRAWL):
            policy = self.policies[act]
            if policy is not None and (node := policy.pick(picture, draw, barred)) is not None:
                return act, node, picture.at(picture.row(node), policy.column)
        return None


def _draw(seed: int, n: int, purpose: str) -> float:
    return draw_chance(seed, purpose, n)
