"""Time graphs: links that arrive at an instant (Kumar et al., section III), and what a window shows of them.

Generated ones have bursts of attention; new nodes enter, old standbys depart. Nothing is fitted: the shape is that of
blogs and mentions (heavy tails of writing and fame, posts with several links, friends who are linked to again and
again), so that what is found on real data can be tried where all is known. Nodes are numbered at random, so that a
number says nothing.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.draws import make_generator
from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.graphs.timed_links import read_timed_links

DAY = 86_400.0

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TimeGraph:
    """n nodes and m links with timestamps, parallel ones included, as compressed sparse rows of out-links.

    Attributes:
        indptr: int64[n + 1]; the links of node u are places `indptr[u]` to `indptr[u + 1]`, in order of time.
        targets: int64[m], where they go; never to the node itself.
        times: float64[m], when they arrived, in seconds.
        order: int64[m], the places of all links in order of time.
        own: how many links of nodes to themselves were given, and left out.
    """

    indptr: Ints
    targets: Ints
    times: Floats
    order: Ints
    own: int = 0

    @property
    def size(self) -> int:
        """The number of nodes, n."""
        return len(self.indptr) - 1

    @property
    def links(self) -> int:
        """The number of links, m."""
        return len(self.targets)

    @property
    def begin(self) -> float:
        """When the first link arrived."""
        return float(self.times[self.order[0]])

    @property
    def end(self) -> float:
        """When the last link arrived."""
        return float(self.times[self.order[-1]])

    def sources(self) -> Ints:
        """Return the node that each link comes from, int64[m]."""
        return np.repeat(np.arange(self.size), np.diff(self.indptr))

    def list_targets(self, node: int, begin: float, end: float) -> Ints:
        """Return the targets of the links of `node` from `begin` to `end`, both included, in order of time."""
        low, high = int(self.indptr[node]), int(self.indptr[node + 1])
        own = self.times[low:high]
        return self.targets[low + np.searchsorted(own, begin) : low + np.searchsorted(own, end, side="right")]


def build_time_graph(sources: Ints, targets: Ints, times: Floats, size: int) -> TimeGraph:
    """Return the time graph of m links among `size` nodes; links of a node to itself are left out.

    Args:
        sources: int64[m], 0 to size - 1.
        targets: int64[m], likewise.
        times: float64[m], seconds, finite.
        size: n.

    Raises:
        SettingsError: no link is left.
    """
    kept = sources != targets
    sources, targets, times = sources[kept], targets[kept], times[kept]
    if not len(sources):
        raise SettingsError("the time graph has no links between different nodes; give a file or a span that has some.")
    rows = np.lexsort((times, sources))  # stable: links of one instant stay in the order given
    indptr = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=size))]).astype(np.int64)
    sorted_times = np.asarray(times[rows], np.float64)
    order = np.argsort(sorted_times, kind="stable")
    own = int(np.count_nonzero(~kept))
    return TimeGraph(indptr, np.asarray(targets[rows], np.int64), sorted_times, order, own)


def read_times(path: Path) -> TimeGraph:
    """Return the time graph of a file of links with times, as of `timed_links.read_timed_links`.

    Raises:
        SettingsError: the file cannot be read, lacks a column, or has a row without a node or without a time.
    """
    found = read_timed_links(path)
    return build_time_graph(found.sources, found.targets, found.times, found.size)


def build_plain_graph(graph: TimeGraph) -> KnownGraph:
    """Return the fixed graph of all links ever: each link once, of weight 1; no values (Kumar et al., section II)."""
    links = np.unique(graph.sources() * graph.size + graph.targets)
    indptr = np.searchsorted(links, np.arange(graph.size + 1) * graph.size)
    return KnownGraph(indptr, links % graph.size, np.ones(len(links)), np.zeros(graph.size))


SLOT = DAY / 4  # attention stays as it is for so long
TAIL = 1.1  # of fame and writing: densities fall with the power 2.1
SHARED = 0.5  # how far who writes much is famous too: the power of writing in fame
FRIENDS = 6  # whom a node links to again and again
LOYAL = 0.35  # the share of links that go to friends
LINKS_A_POST = 1.6  # on average, geometric
FEW = 1e-3  # the share of the span's nodes that have a burst on any day
LOUD = 300.0  # how many times its fame a node has at most at the height of a burst
FADING = 1.5 * DAY  # in which a burst falls to a third
MOST_FAME = 3e-3  # the share of all attention that no node exceeds without a burst


@dataclass(frozen=True)
class BurstyGraphParameters:
    """What is generated.

    Attributes:
        nodes: n, at least 10; those that nobody names and that name nobody count too.
        links: m, at least 1, parallel ones included.
        days: the span.
        entering: the share of nodes that are not there from the beginning.
        departing: the share of nodes that are gone before the end.
        seed: of all draws.
    """

    nodes: int = 100_000
    links: int = 340_000
    days: float = 24.0
    entering: float = 0.3
    departing: float = 0.2
    seed: int = 1

    def __post_init__(self) -> None:
        if self.nodes < 10 or self.links < 1 or not self.days > 0 or self.seed < 0:
            raise SettingsError("a generated time graph has at least 10 nodes, a link, some days, a seed from 0 up.")
        if not (0 <= self.entering <= 1 and 0 <= self.departing <= 1):
            raise SettingsError("the shares of nodes that enter and depart lie between 0 and 1.")


@dataclass(frozen=True, eq=False)
class _People:
    """Float64[n] each: how much nodes write, their fame, and from when to when they are there (seconds)."""

    writing: Floats
    fame: Floats
    come: Floats
    gone: Floats


def generate_time_graph(shape: BurstyGraphParameters) -> TimeGraph:
    """Return the time graph of that shape; time 0 is where it begins, times are whole seconds."""
    rng = make_generator(shape.seed, "time graph", 0)
    people = _draw_people(shape, rng)
    posts, sources = _draw_posts(shape, people, rng)
    targets = _draw_targets(shape, people, posts, sources, rng)
    return build_time_graph(sources, targets, np.floor(posts), shape.nodes)


def _draw_people(shape: BurstyGraphParameters, rng: np.random.Generator) -> _People:
    writing = rng.pareto(TAIL, shape.nodes) + 0.05
    fame = (1.0 + writing) ** SHARED * (rng.pareto(TAIL, shape.nodes) + 0.05)
    fame = np.minimum(fame, MOST_FAME * fame.sum())
    span = shape.days * DAY
    come = np.where(rng.random(shape.nodes) < shape.entering, rng.random(shape.nodes) * span, 0.0)
    left = come + rng.random(shape.nodes) * (span - come)
    gone = np.where(rng.random(shape.nodes) < shape.departing, left, span)
    return _People(np.minimum(writing, 5e-4 * writing.sum()), fame, come, gone)


def _draw_posts(shape: BurstyGraphParameters, people: _People, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return when each link is made, ascending, float64[m], and by whom, int64[m]: those of a post have one instant."""
    sizes = rng.geometric(1.0 / LINKS_A_POST, shape.links)  # more than enough
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), shape.links)) + 1]
    rate = people.writing * (people.gone - people.come)
    writers = np.searchsorted(np.cumsum(rate), rng.random(len(sizes)) * rate.sum(), side="right")
    writers = np.minimum(writers, shape.nodes - 1)
    when = people.come[writers] + rng.random(len(sizes)) * (people.gone - people.come)[writers]
    order = np.argsort(when, kind="stable")
    return (
        np.repeat(when[order], sizes[order])[: shape.links],
        np.repeat(writers[order], sizes[order])[: shape.links].astype(np.int64),
    )


def _draw_targets(
    shape: BurstyGraphParameters, people: _People, when: Floats, sources: Ints, rng: np.random.Generator
) -> Ints:
    """Return whom each link names: a friend who is there, or anybody by the attention of the hour, int64[m]."""
    slots = (when / SLOT).astype(np.int64)
    targets = np.empty(len(when), np.int64)
    bursts = _draw_bursts(shape, rng)
    for slot in np.unique(slots).tolist():
        here = slice(int(np.searchsorted(slots, slot)), int(np.searchsorted(slots, slot, side="right")))
        middle = (slot + 0.5) * SLOT
        drawn = np.cumsum(_compute_attention(people, bursts, middle))
        places = np.searchsorted(drawn, rng.random(here.stop - here.start) * drawn[-1], side="right")
        targets[here] = np.minimum(places, shape.nodes - 1)
    friends = _draw_friends(shape, people, rng)
    chosen = friends[sources, rng.integers(0, FRIENDS, len(when))]
    loyal = (rng.random(len(when)) < LOYAL) & (people.come[chosen] <= when) & (when <= people.gone[chosen])
    targets = np.where(loyal, chosen, targets)
    return np.where(targets == sources, (sources + 1) % shape.nodes, targets)  # nobody names himself


def _draw_bursts(shape: BurstyGraphParameters, rng: np.random.Generator) -> tuple[Ints, Floats, Floats]:
    """Return the bursts: who, when (seconds), and how loud (times its fame)."""
    number = int(rng.poisson(FEW * shape.nodes * shape.days))
    who = rng.integers(0, shape.nodes, number)
    return who, rng.random(number) * shape.days * DAY, LOUD * rng.random(number)


def _compute_attention(people: _People, bursts: tuple[Ints, Floats, Floats], now: float) -> Floats:
    """Return how likely each node is named at `now`, float64[n]: its fame, louder in a burst, 0 for absent ones."""
    who, began, loud = bursts
    shown = people.fame * ((people.come <= now) & (now <= people.gone))
    on = began <= now
    extra = np.zeros(len(shown))
    np.maximum.at(extra, who[on], loud[on] * np.exp(-(now - began[on]) / FADING))
    shown = shown * (1.0 + extra)
    if not shown.sum() > 0:
        shown = people.fame.copy()  # nobody is there: a link in such an hour names anybody
    return np.asarray(np.minimum(shown, 20 * MOST_FAME * shown.sum()))


def _draw_friends(shape: BurstyGraphParameters, people: _People, rng: np.random.Generator) -> Ints:
    fame = np.cumsum(people.fame)
    drawn = np.searchsorted(fame, rng.random((shape.nodes, FRIENDS)) * fame[-1], side="right")
    return np.asarray(np.minimum(drawn, shape.nodes - 1), np.int64)
