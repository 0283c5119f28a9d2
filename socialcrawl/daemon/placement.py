"""Which daemon runs which campaign, where several daemons share the campaigns of a database. Pure.

A campaign stays with the daemon that has it. It moves to another daemon only if that one can run it and still has less
work than the first had, both in proportion to their weights. Daemons that know the same decide the same, so nobody has
to lead. Which of several equal campaigns moves is decided by rendezvous hashing (Thaler and Ravishankar, 1998).
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

LEAST = 1e-9  # the weight of a daemon of weight 0, which gets only what no other daemon can run
MARGIN = 1e-9  # by which two loads have to differ, against rounding


@dataclass(frozen=True, slots=True)
class DaemonShare:
    """What a daemon can do: its id, its weight (0 or more), and the names of the campaigns that it can run."""

    daemon: str
    weight: float
    campaigns: frozenset[str]


def place_campaigns(
    shares: Sequence[DaemonShare], owners: Mapping[str, str], active: Collection[str]
) -> dict[str, str]:
    """Return the daemon of each campaign that any daemon can run.

    Args:
        shares: the daemons that are there.
        owners: the daemon that has each campaign, or had it last.
        active: the campaigns that cause work. The others (done, paused, stopped) count as no load and stay.
    """
    choices: dict[str, list[str]] = {}
    weights = {one.daemon: max(one.weight, LEAST) for one in sorted(shares, key=lambda one: one.daemon)}
    for one in shares:
        for campaign in one.campaigns:
            choices.setdefault(campaign, []).append(one.daemon)
    for campaign, found in choices.items():
        choices[campaign] = sorted(name for name in found if weights[name] > LEAST) or sorted(found)
    placement = _Placement(weights, choices)
    for campaign in sorted(choices):
        if owners.get(campaign) in choices[campaign]:
            placement.assign(campaign, owners[campaign], counts=campaign in active)
    for campaign in sorted(choices, key=lambda name: (len(choices[name]), name)):
        if campaign not in placement.placed:
            placement.assign(campaign, placement.choose(campaign), counts=campaign in active)
    while placement.improve():
        pass
    return placement.placed


@dataclass(slots=True)
class _Placement:
    """A placement that is made better step by step.

    Attributes:
        weights: of the daemons, in order of their ids.
        choices: the daemons that can run each campaign.
        placed: the daemon of each campaign.
        movable: the active campaigns of each daemon.
    """

    weights: dict[str, float]
    choices: dict[str, list[str]]
    placed: dict[str, str] = field(default_factory=dict)
    movable: dict[str, set[str]] = field(default_factory=dict)
    load: Counter[str] = field(default_factory=Counter)

    def assign(self, campaign: str, daemon: str, *, counts: bool = True) -> None:
        """Place a campaign; if it `counts`, it may be moved later."""
        if counts:
            if (before := self.placed.get(campaign)) is not None:
                self.movable[before].remove(campaign)
                self.load[before] -= 1
            self.movable.setdefault(daemon, set()).add(campaign)
            self.load[daemon] += 1
        self.placed[campaign] = daemon

    def choose(self, campaign: str) -> str:
        """Return the daemon that would have the least to do with one campaign more."""
        return min(
            self.choices[campaign], key=lambda name: (self._compute_load(name, 1), -compute_score(name, campaign))
        )

    def improve(self) -> bool:
        """Take work from the busiest daemon that can give some, along the shortest chain; return whether one can."""
        least = min((self._compute_load(name, 1) for name in self.weights), default=0.0)
        for source in sorted(self.weights, key=lambda name: (-self._compute_load(name), name)):
            if self._compute_load(source) <= least + MARGIN:
                return False
            if moves := self._find_moves(source):
                for campaign, target in moves:
                    self.assign(campaign, target)
                return True
        return False

    def _compute_load(self, daemon: str, more: int = 0) -> float:
        return (self.load[daemon] + more) / self.weights[daemon]

    def _find_moves(self, source: str) -> list[tuple[str, str]]:
        """Return the moves of a chain that begins at a daemon, each a campaign and its next daemon; [] if none help."""
        reached: dict[str, tuple[str, str]] = {}  # daemon: the one before it, and the campaign that moves
        level = [source]
        while level:
            edges: dict[str, tuple[str, str]] = {}
            for giver in level:
                for campaign in sorted(self.movable.get(giver, ())):
                    for taker in self.choices[campaign]:
                        known = edges.get(taker)
                        if taker == source or taker in reached:
                            continue
                        if known is None or compute_score(taker, campaign) > compute_score(taker, known[1]):
                            edges[taker] = giver, campaign
            reached |= edges
            level = sorted(edges, key=lambda name: (self._compute_load(name, 1), name))
            if level and self._compute_load(level[0], 1) < self._compute_load(source) - MARGIN:
                moves, taker = list[tuple[str, str]](), level[0]
                while taker != source:
                    giver, campaign = reached[taker]
                    moves.append((campaign, taker))
                    taker = giver
                return moves
        return []


@lru_cache(maxsize=100_000)
def compute_score(daemon: str, campaign: str) -> int:
    """Return how much a campaign prefers a daemon, from 0 to 2^64 - 1: the same number on every machine."""
    return int.from_bytes(blake2b(f"{campaign}\0{daemon}".encode(), digest_size=8).digest())
