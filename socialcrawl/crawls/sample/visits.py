"""What the walks saw, as columns, with the weight of each row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.crawls.sample.walker import NOTHING, STAYED, Walker
from socialcrawl.crawls.sample.walks import Walks
from socialcrawl.engine.draws import draw_numbers, start_stream

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Visits:
    """m rows of all walks, walk by walk, step by step. A row is a draw: the walk was at a node and drew a neighbour.

    Where a neighbour was drawn that the walk may not go to, it stays: the next row is of the same node and the same
    visit. Sums of `weight` over rows are therefore right for rows and for visits.

    Attributes:
        walker, step: int64[m], of which walk, and the how-manieth draw of it, from 0.
        node: int64[m]; `place`: its number in `ReadNodes`.
        on_topic: bool[m].
        visit: int64[m], number of the visit in its walk; a new one begins when the walk comes to a node.
        came: bool[m], whether the visit begins in this row; `jumped`: by a jump out of a trap.
        degree: float64[m], d: of the list, d_S, or the estimate of d_T, as the settings say.
        weight: float64[m], for statistics over nodes: 1/d, or as a walk of another package weighs, of mean 1 over rows
            kept; or the time drawn, at least 1.
        kept: bool[m], whether the walk's burn-in is over.
        proposal: int64[m], the neighbour drawn, uniform among the node's.
        proposal_on_topic: int8[m], 1, 0, or -1 where it was not or cannot be read.
        proposal_linked: bool[m], whether the node links to it, rather than it to the node only.
        jumps: int64[walks].
    """

    walker: Ints
    step: Ints
    node: Ints
    place: Ints
    on_topic: Bools
    visit: Ints
    came: Bools
    jumped: Bools
    degree: Floats
    weight: Floats
    kept: Bools
    proposal: Ints
    proposal_on_topic: NDArray[np.int8]
    proposal_linked: Bools
    jumps: Ints

    @property
    def precision(self) -> float:
        """The share of visits on topic, burn-in included (section 5.3); NaN without visits."""
        return float(self.on_topic[self.came].mean()) if self.came.any() else float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class ReadNodes:
    """The nodes that were read, in order, as columns.

    Attributes:
        node: int64[n].
        on_topic: bool[n].
        outs: int64[n], how many others it links to.
        degree: int64[n], the length of its list.
        group: int64[n], the number of its mark, or of its community; `marks`: what they are called.
    """

    node: Ints
    on_topic: Bools
    outs: Ints
    degree: Ints
    group: Ints
    marks: Sequence[str]


def list_read_nodes(walks: Walks) -> ReadNodes:
    """Return the nodes that were read for the walks, on topic or not."""
    lists = walks.lists
    return ReadNodes(
        np.array(lists.nodes, np.int64),
        np.frombuffer(bytes(lists.on), np.bool_),
        np.array(lists.outs, np.int64),
        lists.count_entries(np.arange(len(lists))),
        np.array(lists.group, np.int64),
        tuple(lists.marks),
    )


def list_visits(walks: Walks) -> Visits:
    """Return the rows of all walks so far."""
    rules, lists = walks.rules, walks.lists
    counts = np.array([walker.steps for walker in walks.walkers])
    walker = np.repeat(np.arange(len(counts)), counts)
    step = np.concatenate([np.arange(count) for count in counts])
    place = np.concatenate([np.array(one.places, np.int64) for one in walks.walkers])
    code = np.concatenate([np.array(one.codes, np.int64) for one in walks.walkers])
    came = np.concatenate([np.array(one.came, np.int8) for one in walks.walkers])
    on = np.frombuffer(bytes(lists.on), np.bool_)
    arrived = came != STAYED
    degree = _list_degrees(walks)[place]
    kept = _count_within(arrived & on[place], counts) > rules.burn_in
    return Visits(
        walker,
        step,
        np.array(lists.nodes, np.int64)[place],
        place,
        on[place],
        _count_within(arrived, counts) - 1,
        arrived,
        came > 1,
        degree,
        _compute_weights(walks, walker, degree, arrived, kept),
        kept,
        code >> 1,
        lists.find_topical(code >> 1).astype(np.int8),
        code & 1 == 0,
        np.array([0 if one.trap is None else one.trap.jumps for one in walks.walkers]),
    )


def make_census(walks: Walks, places: Ints) -> Visits:
    """Return one row of each account at `places`, all of weight 1: all there is where walks can find no more."""
    lists, size = walks.lists, len(places)
    every, no = np.arange(size), np.zeros(size, np.bool_)
    return Visits(
        walker=np.zeros(size, np.int64),
        step=every,
        node=np.array(lists.nodes, np.int64)[places],
        place=places,
        on_topic=np.frombuffer(bytes(lists.on), np.bool_)[places],
        visit=every,
        came=~no,
        jumped=no,
        degree=_list_degrees(walks)[places],
        weight=np.ones(size),
        kept=~no,
        proposal=np.full(size, NOTHING, np.int64),
        proposal_on_topic=np.full(size, -1, np.int8),
        proposal_linked=no,
        jumps=np.zeros(len(walks.walkers), np.int64),
    )


def _count_within(flags: Bools, counts: Ints) -> Ints:
    """Return how many flags are set up to each row, counted in each walk by itself."""
    running = np.cumsum(flags)
    before = np.append(0, running)[np.cumsum(counts) - counts]
    return np.asarray(running - np.repeat(before, counts), np.int64)


def _list_degrees(walks: Walks) -> Floats:
    """Return the degree of every place in the graph that the walk is on, as far as the walk knows it."""
    lists, rules = walks.lists, walks.rules
    every = np.arange(len(lists))
    if rules.exact:
        whose, codes = lists.list_entries()
        neighbours = lists.find_places(codes >> 1)
        there = neighbours >= 0
        there[there] = np.frombuffer(bytes(lists.on), np.bool_)[neighbours[there]]
        return np.bincount(whose[there], minlength=len(lists)).astype(np.float64)
    if rules.focus == "neighbourhood" and rules.crude:
        return np.array([walks.near.estimate_degree(place) for place in every.tolist()], np.float64)
    return lists.count_entries(every).astype(np.float64)


def _compute_weights(walks: Walks, walker: Ints, degree: Floats, arrived: Bools, kept: Bools) -> Floats:
    rules = walks.rules
    if rules.focus == "trial" and not rules.corrected:
        return arrived.astype(np.float64)
    if rules.weights == "holding":
        weights = _draw_times(rules, walks.walkers, degree)
    else:
        weights = 1.0 / degree if walks.law is None else walks.law.weigh_all(degree)
    if rules.focus == "neighbourhood" and rules.crude:  # neighbours were drawn until one would do: one stay a visit
        weights = np.where(arrived, weights, 0.0)
    if rules.weights != "holding" and kept.any():
        weights = weights / weights[kept].mean()
    return weights


def _draw_times(rules: WalkRules, walkers: Sequence[Walker], degree: Floats) -> Floats:
    """Return how long the walk stays for each draw, itself drawn: geometric with mean D/d, at least 1."""
    draws = np.concatenate(
        [draw_numbers(start_stream(rules.seed, f"hold {one.number}"), 0, one.steps) for one in walkers]
    )
    leaving = np.minimum(degree / rules.degree, 1.0)
    with np.errstate(divide="ignore"):  # d = D: log of 0, a time of 1
        return np.asarray(1.0 + np.floor(np.log1p(-draws) / np.log1p(-leaving)))
