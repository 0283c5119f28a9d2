"""Tracking in time graphs (Kumar et al., section III, figure 2): any expansion with any recrawl policy.

    crawl performance       |C & K| / |K|
    discovery performance   |(C + F) & K| / |K|
    lift                    (|C & K| / |C|) / (|K| / |V|): how much likelier a crawled node is a target than any node
    lift of all known       the same with C + F for C

at instants t; C_t are the nodes crawled by then, F_t those that they linked to, K_t the top k of G_t.
A fetch sees a time graph as it is at that moment, and takes time of a clock.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Generator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from socialcrawl.crawls.seeds import Seeds
from socialcrawl.crawls.track.crawl import Track
from socialcrawl.crawls.track.target import Target
from socialcrawl.engine.draws import make_generator
from socialcrawl.engine.loop import Parts, run
from socialcrawl.engine.model import Act, Node, Outcome, Pick, Reply, Request, Who
from socialcrawl.engine.protocols import Batch, Conversation
from socialcrawl.errors import SettingsError
from socialcrawl.importance.strong_components import find_largest_component
from socialcrawl.lab.experiments.kumar.sampling import make_policies
from socialcrawl.lab.experiments.kumar.timegraphs import DAY, Ints, TimeGraph
from socialcrawl.lab.experiments.kumar.top_nodes import RankedSequenceStore, Targets, find_targets
from socialcrawl.lab.instant import ImmediateExecutor, NullMonitor, NullWire, UnlimitedPlanner
from socialcrawl.lab.process_pool import CrawlJob, compute_fingerprint
from socialcrawl.lab.result_tables import Table, make_table
from socialcrawl.system.garbage_collection import pause_garbage_collection


class TickingClock:
    """A clock that moves on by `every` seconds at each fetch: fetch number i is at `begin` + i * `every`."""

    def __init__(self, begin: float, every: float) -> None:
        self.begin, self.every = begin, every
        self.fetches = 0

    def now(self) -> float:
        """Return the instant of the fetch that comes next, seconds."""
        return self.begin + self.fetches * self.every

    def tick(self) -> None:
        """Let one fetch be over."""
        self.fetches += 1

    def sleep(self, until: float) -> None:
        """Let fetches pass unused, until that instant at least."""
        while self.now() < until:
            self.fetches += 1

    def interrupted(self) -> bool:
        """Return False: Ctrl-C ends the laboratory as any other program."""
        return False


class WindowedSource:
    """The source of a time graph: a fetch of u at t0 answers out(u, t0), the links that arrived from t0 - w to t0.

    Of a pick with `since`, only those that arrived after that instant. `alpha` of an outcome is how many parallel links
    lead to the target, `mark` the instant of the fetch; values are 0, as in-degrees ask for none.
    """

    def __init__(self, graph: TimeGraph, window: float, clock: TickingClock) -> None:
        self.graph, self.window, self.clock = graph, window, clock
        # Lists, as a fetch looks at a handful of places: bisect takes a tenth of numpy's time there.
        self._indptr, self._times, self._targets = graph.indptr.tolist(), graph.times.tolist(), graph.targets.tolist()

    def width(self, act: Act) -> int:
        """Return one node a pick."""
        return 1

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """Return a conversation a pick."""
        return [self._talk(pick) for pick in batch]

    def mark(self, at: float) -> str:
        """Return the mark of an instant (seconds): the last one before it, as only what came after it is fetched."""
        return repr(math.nextafter(at, -math.inf))

    def make_outcome(self, pick: Pick, now: float) -> Outcome:
        """Return what a fetch at `now` (seconds) answers to a pick."""
        low, high = self._indptr[pick.node], self._indptr[pick.node + 1]
        first = bisect_left(self._times, now - self.window, low, high)
        if pick.since:
            first = bisect_right(self._times, float(pick.since), first, high)
        counts: dict[int, int] = {}
        for place in range(first, bisect_right(self._times, now, first, high)):
            target = self._targets[place]
            counts[target] = counts.get(target, 0) + 1
        targets = np.fromiter(counts, np.int64, len(counts))
        alpha = np.fromiter(counts.values(), np.float64, len(counts))
        return Outcome(pick.n, pick.node, now, 0.0, targets, alpha, mark=repr(now))

    def _talk(self, pick: Pick) -> Generator[Request, Reply, Mapping[int, Outcome]]:
        yield from ()  # a conversation, though nothing has to be asked
        now = self.clock.now()
        self.clock.tick()
        return {pick.n: self.make_outcome(pick, now)}


def choose_instants(begin: float, end: float, every: float, most: int) -> list[int]:
    """Return the numbers of fetches, ascending, after which a crawl is looked at, at most `most` + 1.

    Evenly spread; the last is the last fetch that is not later than `end`.
    """
    fetches = int((end - begin) / every) + 1
    step = max(1, -(-fetches // most))
    return sorted({*range(step, fetches + 1, step), fetches})


EXPANSIONS = ("sample-u", "ai", "gai")
RECRAWLS = ("u", "or", "yr", "yru", "ldu", "ydu")
MORE = ("oru",)  # not in the paper: compared where they are named
COLUMNS = ("crawl", "discovery", "lift", "lift_known")
SIZES = ("crawled", "known", "steered")
MOST = 10**8  # fetches of a crawl: they take more than an hour, and who asks for more has mistyped


@dataclass(frozen=True)
class TrackingSettings:
    """How long and how fast is crawled, and what counts; defaults are the paper's, or documented where it is silent.

    Attributes:
        window: w, seconds.
        every: seconds from one fetch to the next.
        k: how many nodes are tracked.
        p: the probability of a recrawl.
        begin: when the crawl begins, seconds after the first link.
        length: how long it takes, seconds; None: until the last link.
        per_time: whether the link score is divided by the time since the visit before, as yield is.
        any_source: whether the first node may be one that hardly writes: any of its component is as likely, instead of
            in proportion to its links.
        points: at how many instants it is looked at, at most.
    """

    window: float = 7 * DAY
    every: float = 20.0
    k: int = 500
    p: float = 0.5
    begin: float = 0.0
    length: float | None = None
    per_time: bool = False
    any_source: bool = False
    points: int = 96

    def __post_init__(self) -> None:
        if not (self.window > 0 and 0 < self.every < np.inf and self.k >= 1 and self.begin >= 0 and self.points >= 1):
            raise SettingsError("window, seconds between fetches, k and points are above 0, the beginning not below.")
        if self.length is not None and not self.length > 0:
            raise SettingsError("a crawl takes some time: give more than 0 days, or none for all there is.")
        if not 0 <= self.p <= 1:
            raise SettingsError(f"p = {self.p}: the probability of a recrawl must be between 0 and 1.")


@dataclass(frozen=True, eq=False)
class TrackedWorld:
    """A time graph to track in, with what is the same for all policies.

    Attributes:
        name: what tables and figures call it.
        graph: the links.
        setting: how it is crawled.
        looks: after how many fetches the crawls are looked at.
        targets: K_t at these instants.
    """

    name: str
    graph: TimeGraph
    setting: TrackingSettings
    looks: Sequence[int]
    targets: Targets

    @property
    def begin(self) -> float:
        """When crawls begin, in the time of the links."""
        return self.graph.begin + self.setting.begin


def make_world(name: str, graph: TimeGraph, setting: TrackingSettings) -> TrackedWorld:
    """Return a time graph with the targets of the instants at which crawls are looked at.

    Raises:
        SettingsError: the crawl would begin after the last link, or have more than `MOST` fetches.
    """
    begin = graph.begin + setting.begin
    if begin > graph.end:
        days = (graph.end - graph.begin) / DAY
        raise SettingsError(f"{name} ends after {days:.4g} days, before the crawl begins; let it begin earlier.")
    end = graph.end if setting.length is None else begin + setting.length
    if not (end - begin) / setting.every < MOST:
        raise SettingsError(
            f"{name}: a fetch every {setting.every:g} seconds for {(end - begin) / DAY:,.4g} days are more than "
            f"{MOST:,} fetches; let there be more seconds between them (--every), or fewer days (--days)."
        )
    looks = choose_instants(begin, end, setting.every, setting.points)
    at = [begin + (fetches - 1) * setting.every for fetches in looks]
    return TrackedWorld(name, graph, setting, looks, find_targets(graph, at, setting.window, setting.k))


def choose_source(world: TrackedWorld, seed: int) -> int:
    """Return the node that a crawl begins with: any of the largest strong component of what one window shows.

    The window begins with the crawl. Nodes are drawn in proportion to their links out in it (see `any_source`): before
    its source has written something a crawl sees nothing. The same for all policies.

    Raises:
        SettingsError: nothing links to anything in that window.
    """
    begin, end = world.begin, world.begin + world.setting.window
    kept = (world.graph.times >= begin) & (world.graph.times <= end)
    if not kept.any():
        raise SettingsError(f"{world.name} has no links in the first window of the crawl; let it begin elsewhere.")
    sources, heads = world.graph.sources()[kept], world.graph.targets[kept]
    order = np.argsort(sources, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=world.graph.size))])
    inside = find_largest_component(indptr, heads[order])
    written = np.diff(indptr)[inside].astype(np.float64)
    chances = None if world.setting.any_source or not written.any() else written / written.sum()
    return int(make_generator(seed, "source", 0).choice(inside, p=chances))


def list_jobs(
    world: TrackedWorld, expansions: Sequence[str], recrawls: Sequence[str], seeds: Sequence[int]
) -> list[CrawlJob]:
    """Return a crawl for each pair of policies and each seed, those of one seed together."""
    graph = world.graph
    mark = compute_fingerprint(graph.indptr, graph.targets, graph.times)
    sources = {seed: choose_source(world, seed) for seed in seeds}
    return [
        CrawlJob(
            ["dynamic", mark, world.name, *astuple(world.setting), expansion, recrawl, seed],
            track_targets,
            (world, expansion, recrawl, seed, sources[seed]),
        )
        for seed in seeds
        for expansion in expansions
        for recrawl in recrawls
    ]


def track_targets(world: TrackedWorld, expansion: str, recrawl: str, seed: int, source: int) -> Table:
    """Return one crawl, a row an instant: expansion, recrawl, seed, fetches, day, four measures, sizes of C, C + F, K.

    `day` counts from the beginning of the crawl; `recrawls` are the fetches so far that were recrawls, `steered` is the
    share of these that went to a node of positive score (yield, link score, outlinks; always under U).

    Raises:
        SettingsError: there is no such policy.
    """
    clock = TickingClock(world.begin, world.setting.every)
    rows: list[dict[str, Any]] = []

    def look(progress: RankedSequenceStore) -> None:
        nodes = world.targets.nodes[len(rows)]
        day = (clock.now() - world.setting.every - world.begin) / DAY
        said = {"graph": world.name, "expansion": expansion, "recrawl": recrawl, "seed": seed, "day": day}
        rows.append(said | measure_crawl(progress, nodes))

    progress = RankedSequenceStore(world.graph.size, world.looks, look)
    line = Seeds()
    line.ready = [Node(source)]
    weights = np.ones(world.graph.size) if expansion == "sample-u" else None
    chosen = make_policies(expansion, recrawl, world.setting.p, seed, weights)
    target = Target(parallel="each", per_time=world.setting.per_time)
    platform = WindowedSource(world.graph, world.setting.window, clock)
    crawl = Track(line, chosen, world.looks[-1] - 1, mark=platform.mark, target=target)
    parts = Parts(crawl, platform, progress, NullWire(), UnlimitedPlanner(), clock, ImmediateExecutor(), NullMonitor())
    with pause_garbage_collection():
        run(parts)
    while len(rows) < len(world.looks):  # nothing more can ever be fetched: time goes on without
        clock.fetches = world.looks[len(rows)]
        look(progress)
    return make_table(rows)


def measure_crawl(progress: RankedSequenceStore, nodes: Ints) -> dict[str, float | int]:
    """Return the four measures of a crawl against the targets `nodes` (NaN where there are none), and sizes."""
    crawled, known = int(progress.crawled.sum()), int(progress.known.sum())
    hit, seen = int(progress.crawled[nodes].sum()), int(progress.known[nodes].sum())
    size, k = len(progress.crawled), len(nodes)
    return {
        "fetches": progress.fetches,
        "crawl": hit / k if k else np.nan,
        "discovery": seen / k if k else np.nan,
        "lift": (hit / crawled) / (k / size) if k else np.nan,
        "lift_known": (seen / known) / (k / size) if k else np.nan,
        "crawled": crawled,
        "known": known,
        "targets": k,
        "recrawls": progress.recrawls,
        "steered": progress.steered / progress.recrawls if progress.recrawls else np.nan,
    }
