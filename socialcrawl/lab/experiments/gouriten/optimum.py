"""The best crawl of all, found by exact search (Gouriten et al., Definition 6). Only for small graphs: it is NP-hard.

The score of a crawl depends on the set of nodes only, so sets are searched, not sequences, and each at most once: of
a node in the frontier one asks what can be had with it, then what without it for good. A set is not looked at where

- it cannot be better than the best one found, by a bound: to come as far as distance D takes a node of each distance
  1 .. D, so that nothing is better than the best node of each and, for what is left, the best of all these;
- it leaves out a node in the frontier that nothing in reach is better than: who leaves it gains nothing.

Nodes are bits, the best first; scores are integers (all float64 are whole multiples of one power of 2), so that sums
are exact and equal scores are equal.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.simulation import ReplaySetup, score_values

NODES = 100  # the most nodes that may lie within the budget's reach
STATES = 1_000_000  # the most sets that are looked at, up to a minute


def find_optimum(graph: KnownGraph, seeds: Sequence[int], budget: int, objective: str) -> tuple[float, list[int]]:
    """Return the optimal score and an optimal crawl sequence from `seeds` (Definition 6).

    The score is exact, rounded once, and without the seeds' own, as a replay's `curve`. The sequence has as many nodes
    as the budget or, if fewer can be reached, all of these. Of the optimal sequences of that length it is the one that
    comes first when compared from the left, node number by node number.

    Args:
        graph: at most `NODES` nodes, besides the seeds, lie within `budget` links of the seeds.
        seeds: V0, row numbers.
        budget: n, at least 1.
        objective: sum or count.

    Raises:
        SettingsError: the graph is too large or too hard (more than `STATES` sets), a seed is not in the graph, the
            budget or the objective is none, or the score is more than a float64 holds.
    """
    ReplaySetup("oracle", budget, objective=objective)  # says what is wrong with these two
    nodes = _list_within(graph, seeds, budget)
    found = dict(zip(nodes, score_values(graph.beta[nodes], objective).tolist(), strict=True))
    nodes.sort(key=lambda node: (-found[node], node))
    bit = {node: 1 << place for place, node in enumerate(nodes)}
    search = _Search(
        _scale_to_integers([found[node] for node in nodes]), [_collect_links(graph, node, bit) for node in nodes]
    )
    start = 0
    for seed in seeds:
        start |= _collect_links(graph, seed, bit)
    sequence = [nodes[place] for place in search.find_sequence(start, budget, nodes)]
    try:
        return math.fsum(found[node] for node in sequence), sequence
    except OverflowError:
        raise SettingsError("the values add up to more than a float64 holds; scale them down.") from None


def _scale_to_integers(values: Sequence[float]) -> list[int]:
    """Return the values in the largest unit of which all are whole multiples."""
    ratios = [value.as_integer_ratio() for value in values]
    unit = max((below for _, below in ratios), default=1)
    return [above * (unit // below) for above, below in ratios]


@dataclass
class _Search:
    """Sets of nodes that a crawl can take, searched for the best.

    A state is (closed, frontier, left): the nodes taken or left for good, those that may be next, and how many.
    """

    values: list[int]  # falling
    links: list[int]  # of each node, the set it links to
    states: int = 0

    def find_sequence(self, start: int, budget: int, names: Sequence[int]) -> list[int]:
        """Return the places of the optimal sequence that comes first by `names`."""
        need = self._find_most(0, start, budget, 0, sum(self.values) + 1)
        closed, frontier, taken = 0, start, list[int]()
        while frontier and len(taken) < budget:
            place = min(_list_places(frontier), key=names.__getitem__)
            value, left = self.values[place], budget - len(taken) - 1
            closed |= 1 << place
            frontier &= ~closed
            beyond = (frontier | self.links[place]) & ~closed
            # Where an optimal set with this node has been ruled out, it stays closed: no later choice changes that.
            if self._find_most(closed, beyond, left, need - value - 1, need - value) >= need - value:
                taken.append(place)
                frontier, need = beyond, need - value
        return taken

    def _find_most(self, closed: int, frontier: int, left: int, floor: int, enough: int) -> int:
        """Return the most that up to `left` nodes add if that is above `floor`, else `floor`, or 0.

        `enough` is as good.
        """
        floor = max(floor, 0)
        while left and frontier and floor < enough:
            self._count()
            bound, best = self._compute_bound(closed, frontier, left)
            if bound <= floor:
                break
            place = _find_lowest(frontier)
            value = self.values[place]
            closed |= 1 << place
            frontier &= ~closed
            beyond = (frontier | self.links[place]) & ~closed
            floor = max(floor, value + self._find_most(closed, beyond, left - 1, floor - value, enough - value))
            if value >= best:
                break
        return floor

    def _compute_bound(self, closed: int, frontier: int, left: int) -> tuple[int, int]:
        """Return a score that up to `left` nodes cannot beat, and the value of the best node that they can include."""
        layer, chain, bound, best = frontier, 0, 0, 0
        seen, others = closed | frontier, 0
        for depth in range(1, left + 1):
            if not layer:
                break
            first = _find_lowest(layer)
            chain, best = chain + self.values[first], max(best, self.values[first])
            others |= layer & (layer - 1)  # all but the first
            bound = max(bound, chain + self._sum_best(others, left - depth))
            layer = self._collect_beyond(layer) & ~seen
            seen |= layer
        return bound, best

    def _sum_best(self, some: int, size: int) -> int:
        """Return the summed value of the `size` best of a set."""
        total = 0
        for _, place in zip(range(size), _list_places(some), strict=False):
            total += self.values[place]
        return total

    def _collect_beyond(self, some: int) -> int:
        """Return everything that a set links to."""
        found = 0
        for place in _list_places(some):
            found |= self.links[place]
        return found

    def _count(self) -> None:
        self.states += 1
        if self.states > STATES:
            raise SettingsError(
                f"the optimum was not found among {STATES:,} sets of nodes; take a smaller graph or budget."
            )


def _list_within(graph: KnownGraph, seeds: Sequence[int], budget: int) -> list[int]:
    """Return the nodes, other than the seeds, that lie within `budget` links of them."""
    if not len(seeds) or not all(0 <= seed < graph.size for seed in seeds):
        raise SettingsError(f"a crawl needs seeds, each a node of the graph: 0 to {graph.size - 1}.")
    known = dict.fromkeys(seeds)
    layer, start = list(known), len(known)
    for _ in range(budget):
        layer = [v for v in dict.fromkeys(v for u in layer for v in graph.list_links(u)[0].tolist()) if v not in known]
        known.update(dict.fromkeys(layer))
        if len(known) - start > NODES:
            raise SettingsError(
                f"more than {NODES} nodes lie within {budget} links of the seeds: the optimum can only be found on "
                "smaller graphs; cut a part out, or take a smaller budget."
            )
        if not layer:
            break
    return list(known)[start:]


def _collect_links(graph: KnownGraph, node: int, bit: dict[int, int]) -> int:
    """Return the set of nodes that a node links to."""
    found = 0
    for target in graph.list_links(node)[0].tolist():
        found |= bit.get(target, 0)
    return found


def _find_lowest(some: int) -> int:
    """Return the first place of a set, its best node."""
    return (some & -some).bit_length() - 1


def _list_places(some: int) -> Iterator[int]:
    """Yield the places of a set, the best first."""
    while some:
        yield _find_lowest(some)
        some &= some - 1
