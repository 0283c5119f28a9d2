"""What statistics of a topic truly are, computed from all its pages: what the samples are judged by.

The four statistics of the paper (section 5.1): out-degrees, domains, the fraction of links that stay on topic, and the
share of a sub-topic.
"""

from itertools import pairwise

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.importance.strong_components import find_components
from socialcrawl.lab.experiments.sampling.worlds import (
    Flags,
    Floats,
    Ints,
    PageTopic,
    PageWorld,
    link_pages,
    list_sources,
)
from socialcrawl.text.wording import explain_unknown

DEGREES = (0, 1, 2, 4, 6, 9, 13, 19, 28, 41, 60, 100)  # where bins of out-degrees begin
_RANGES = [f"{low}" if high - low == 1 else f"{low}-{high - 1}" for low, high in pairwise(DEGREES)]
DEGREE_BINS = (*_RANGES, f"{DEGREES[-1]}+")
FRACTIONS = (*(f"{tenth * 10}%" for tenth in range(11)), "no links")
FOCUSES = ("none", "hard", "neighbourhood", "trial", "ancestor")


def count_out_degrees(world: PageWorld) -> Ints:
    """Return the number of links of each page, int64[n], each counted once."""
    return np.diff(world.graph.indptr)


def find_degree_bin(degrees: Ints) -> Ints:
    """Return the places in `DEGREE_BINS` of some out-degrees, int64 of the same shape."""
    return np.searchsorted(DEGREES, degrees, side="right") - 1


def measure_staying(world: PageWorld, on: Flags) -> Floats:
    """Return the fraction of each page's links that go to pages on topic, float64[n]; NaN where it has no links.

    What was linked to and is not there is off topic.
    """
    degrees = count_out_degrees(world)
    hits = np.bincount(list_sources(world.graph), weights=(on & world.there)[world.graph.indices], minlength=world.size)
    with np.errstate(invalid="ignore"):
        return np.asarray(hits / degrees)


def find_fraction_bin(fractions: Floats) -> Ints:
    """Return the places in `FRACTIONS` of some fractions, int64 of the same shape: rounded to tenths.

    NaN has one of its own.

    Column i of the paper's figure 4 is 10 i percent.
    """
    known = np.floor(np.nan_to_num(fractions) * 10 + 0.5).astype(np.int64)
    return np.where(np.isnan(fractions), len(FRACTIONS) - 1, known)


def compute_shares(places: Ints, bins: int) -> Floats:
    """Return the share of each bin, float64[bins], of pages that count alike; they add up to 1."""
    return np.asarray(np.bincount(places, minlength=bins) / max(len(places), 1))


def find_reached(world: PageWorld, topic: PageTopic, focus: str, k: int = 1) -> Flags:
    """Return the pages of S that a walk can get to, bool[n]; arguments as of `find_walkable`."""
    return topic.on & find_walkable(world, topic, focus, k)


def find_walkable(world: PageWorld, topic: PageTopic, focus: str, k: int = 1) -> Flags:
    """Return the pages that a walk can be at, bool[n]: the component with most of S, links taken both ways.

    Args:
        world: the graph.
        topic: S.
        focus: the rule of the walk. Its graph are the pages that are there (none), S (hard), all within k links of S
            (neighbourhood), S and detours of k pages off topic, at most (trial), or the topic above S (ancestor).
        k: of neighbourhood and trial.

    Raises:
        SettingsError: there is no such focus, nobody is on topic, or no topic above it is known.
    """
    if focus not in FOCUSES:
        raise SettingsError(explain_unknown("focus", focus, FOCUSES))
    on = topic.on & world.there
    if not on.any():
        raise SettingsError(f"{world.name}: no page is on topic {topic.name}.")
    within, links = _follow_links(world, topic.above & world.there if focus == "ancestor" else on, focus, k)
    label = _label_bins(world, within, links)
    most = np.argmax(np.bincount(label[on], minlength=int(label.max()) + 1))
    return np.asarray(label == most)


def _follow_links(world: PageWorld, on: Flags, focus: str, k: int) -> tuple[Flags, Flags]:
    """Return the nodes, bool[n], and links, bool[m], of the graph that a walk is on."""
    begin, end = list_sources(world.graph), world.graph.indices
    both = world.there[begin] & world.there[end]
    if focus == "none":
        return world.there, both
    if focus in ("hard", "ancestor"):
        return on, both & on[begin] & on[end]
    distance = measure_distances(world, on)
    if focus == "neighbourhood":
        within = distance <= k
        return within, both & within[begin] & within[end]
    # A link that a detour takes from page number d(u) to the last d(v) pages of it: there are k of them, at most.
    return distance <= k, both & (distance[begin] + distance[end] <= k)


def measure_distances(world: PageWorld, on: Flags) -> Ints:
    """Return how many links each page is from S, int64[n], directions ignored; n where there is no way."""
    distance = np.where(on, 0, world.size)
    begin, end = list_sources(world.graph), world.graph.indices
    kept = world.there[begin] & world.there[end]
    begin, end = begin[kept], end[kept]
    for step in range(1, world.size):
        near = np.zeros(world.size, bool)
        near[end[distance[begin] == step - 1]] = True
        near[begin[distance[end] == step - 1]] = True
        new = near & (distance > step)
        if not new.any():
            break
        distance[new] = step
    return distance


def _label_bins(world: PageWorld, within: Flags, links: Flags) -> Ints:
    """Return a number of the component for each page, int64[n].

    Pages outside the graph have components of their own.
    """
    begin, end = list_sources(world.graph)[links], np.asarray(world.graph.indices[links], np.int64)
    graph = link_pages(np.concatenate((begin, end)), np.concatenate((end, begin)), world.size, within)
    return find_components(graph.indptr, np.asarray(graph.indices, np.int64))
