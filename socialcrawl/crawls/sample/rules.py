"""The settings of a walk, each with what the paper says of it, or that it is silent."""

import math
from dataclasses import dataclass

FOCUSES = ("none", "hard", "neighbourhood", "trial", "ancestor")


@dataclass(frozen=True, slots=True)
class WalkRules:
    """The rules of a sample (Bar-Yossef, Kanungo, Krauthgamer, sections 3.3 to 4).

    Attributes:
        walk: "max-degree", or the name of one that another package adds (walk_laws.py).
        focus: "none" goes anywhere (what is off topic is left out afterwards), "hard" on topic only, "neighbourhood"
            also up to k links from it, "trial" off topic for up to k steps before it goes back, "ancestor" on a wider
            topic that the topic is a part of (named, not tried in the paper).
        exact: hard focus as printed: all neighbours of a node are tested, d_S is known. Otherwise a neighbour is drawn
            from all and the walk stays where it is off topic: the same chain, for a fraction of the fetches.
        k: 1 for neighbourhood in the paper, which is silent about trial.
        b: B, the short walks that tell whether a node is in the neighbourhood; 10 in the paper.
        crude: neighbourhood as printed: neighbours are drawn until one is in T, a visit weighs one over d_T, estimated
            as d times the share of the short walks that met the topic. Otherwise a draw outside of T is a step on the
            spot and 1/d is exact.
        degree: D, larger than any degree; only holding times look at it.
        weights: "degree" weighs a visit 1/d, "holding" by the time it lasts, as drawn.
        corrected: trial: visits weigh 1/d; as printed all alike, which is biased to nodes of many neighbours.
        walkers: independent walks.
        burn_in: on-topic visits of each walk that do not count; 1,000 in the paper.
        samples: on-topic visits that count, of all walks together, after which the crawl is done; None: no such end.
        length: steps of each walk (free ones apart) after which it ends, 10,000 in the paper; None: no such end.
        idle: steps after which a walk ends that met nobody it had not met; so no walk goes on for ever.
        inward: whether the platform's search is asked who mentions a node, at its first visit.
        mutual: whether two nodes that link to each other are neighbours "once" or "twice".
        consistency: "symmetric" drops links that only the later visited of two nodes knew of; "printed" keeps them.
        trap: what a walk must not be caught in: the "host" (`Outcome.mark`), a "community" (the label of most of a
            node's neighbours at its first visit; a new one where fewer than two of them were read: ours), or "off".
        trap_window: L, the visits looked back on; 100 in the paper.
        trap_hosts: H, the hosts to whose last page a walk may jump; the paper is silent.
        seed: of all draws.
    """

    focus: str = "hard"
    exact: bool = False
    k: int = 1
    b: int = 10
    crude: bool = False
    degree: int = 1_000_000
    weights: str = "degree"
    corrected: bool = True
    walkers: int = 4
    burn_in: int = 50
    samples: int | None = None
    length: int | None = None
    idle: int = 100_000
    inward: bool = True
    mutual: str = "once"
    consistency: str = "symmetric"
    trap: str = "off"
    trap_window: int = 100
    trap_hosts: int = 20
    seed: int = 0
    walk: str = "max-degree"

    def compute_quota(self, walker: int) -> float:
        """Return how many on-topic visits walk number `walker` makes, those of the burn-in included.

        Inf: no such end.
        """
        if self.samples is None:
            return math.inf
        share, rest = divmod(self.samples, self.walkers)
        return self.burn_in + share + (walker < rest)
