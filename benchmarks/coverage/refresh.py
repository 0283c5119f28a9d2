"""Refreshes of old datasets: how often intervals hold the number of active nodes, and what is found at the stop."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage.table import Shown, repeat
from benchmarks.coverage.worlds import SHARED
from socialcrawl.crawls.refresh.active_estimate import judge
from socialcrawl.crawls.refresh.cost import compute_cost
from socialcrawl.crawls.refresh.crawl import Refresh
from socialcrawl.crawls.refresh.liveranks import LiveRanks
from socialcrawl.crawls.refresh.rules import ESTIMATE, RefreshRules
from socialcrawl.engine.model import Outcome, Stop
from socialcrawl.lab.experiments.liverank import follower_graphs, weblike
from socialcrawl.lab.experiments.liverank.dataset_worlds import DatasetWorld
from socialcrawl.lab.experiments.liverank.dated import SnapshotCut, read_dated_world

TITLE = "Refreshes of old datasets"
NOTE = """The datasets are those of [the LiveRank experiments](../../docs/explanation/liverank.md), the generated
ones smaller. Each run has its own seed and tests 100 accounts at a time in the default order of campaigns: `pa`
after training by PageRank for accounts, `pa+-` after random training for pages. Before that it tests `check = 300`
random accounts; with `check = 0` the training set has 300. The intervals are those that `report` shows: during a
run that tests everything, and where `fraction = 0.9` stops another run. [What the refreshes
found](../../docs/how-to/refresh.md#when-it-stops)."""

LATER = SnapshotCut(snapshot=0.25, present=0.5)
REAL = (
    ("mathoverflow", "mathoverflow_activity.parquet", SnapshotCut()),
    ("raku", "raku_mentions_2005_2026.parquet", LATER),
    ("ubuntu", "ubuntu_irc.parquet", LATER),
    ("congress", "congress2015_last12m.parquet", SnapshotCut()),
)
LENGTHS = (0.1, 0.25, 0.5, 0.75)
FRACTION, CHECK, WIDTH = 0.9, 300, 100
TOLERANCE = 1e-6  # of PageRanks: what they order is the same


@dataclass(frozen=True, eq=False)
class Dataset:
    """An old dataset whose truth is known, and the settings with which it is refreshed."""

    title: str
    world: DatasetWorld
    how: RefreshRules


@dataclass(frozen=True)
class End:
    """Where a run stopped: tests, as a share of the dataset, and the share of its active nodes that was found."""

    tests: float
    found: float


def measure(runs: int) -> list[Shown]:
    """Return what `runs` runs on each dataset showed, and print what they found and tested."""
    stops: list[tuple[End, End]] = []

    def run(one: Dataset, seed: int) -> Iterator[Shown]:
        yield from walk(one, seed)
        crawl, early = stop(one, seed)
        stops.append((find_end(one, crawl), early))
        yield from find_intervals(one, crawl, "at the stop")

    def describe(one: Dataset) -> str:
        bounds, estimates = zip(*stops[-runs:], strict=True)
        return f"; {describe_stops(one, bounds, estimates)}"

    return repeat(datasets(), runs, run, describe)


def datasets() -> Iterator[Dataset]:
    """Yield the datasets to measure on; those whose data is not on this machine are left out."""
    for title, name, cut in REAL:
        if (path := SHARED / name).exists():
            yield make_accounts(title, read_dated_world(path, cut))
        else:
            print(f"not measured: {path} is missing (set SOCIALCRAWL_SHARED)", flush=True)
    yield make_accounts(
        "generated accounts", follower_graphs.generate_followers("accounts", follower_graphs.FollowerParameters(20_000))
    )
    web = weblike.plant_death("web", weblike.generate_web(weblike.WebParameters(20_000)), weblike.DeathModel())
    yield make_pages("generated web", web)
    yield make_pages("generated web, check = 0", web, check=0)


def make_accounts(title: str, world: DatasetWorld) -> Dataset:
    """Return a dataset of accounts, in the order that campaigns take for them."""
    z = max(100, world.size // 200)
    how = RefreshRules("pa", "pagerank", z=z, check=CHECK, fraction=FRACTION, tolerance=TOLERANCE)
    return Dataset(f"{title}: {world.alive:,} of {world.size:,} active", world, how)


def make_pages(title: str, world: DatasetWorld, check: int = CHECK) -> Dataset:
    """Return a dataset of pages, likewise; without `check` the training set is the random sample."""
    z = max(100, world.size // 200) if check else CHECK
    how = RefreshRules("pa+-", "random", z=z, check=check, fraction=FRACTION, tolerance=TOLERANCE)
    return Dataset(f"{title}: {world.alive:,} of {world.size:,} active", world, how)


def walk(one: Dataset, seed: int) -> Iterator[Shown]:
    """Yield what a run that tests all shows on its way."""
    crawl = Refresh(replace(one.how, fraction=None), seed, old=one.world.make_old_dataset())
    for length in LENGTHS:
        crawl.steps = round(length * one.world.size)
        for _ in drive(crawl, one.world, 1_000):
            pass
        yield from find_intervals(one, crawl, f"{length:.0%} tested")


def stop(one: Dataset, seed: int) -> tuple[Refresh, End]:
    """Return a crawl that has stopped by the bound, and where the estimate would have stopped it."""
    crawl, early = Refresh(one.how, seed, old=one.world.make_old_dataset()), None
    for _ in drive(crawl, one.world, WIDTH):
        if early is None and not crawl.view.awaits and judge(crawl.estimate(), FRACTION, ESTIMATE).reached:
            early = find_end(one, crawl)
    return crawl, early or find_end(one, crawl)


def drive(crawl: Refresh, world: DatasetWorld, size: int) -> Iterator[None]:
    """Let a crawl test the nodes of a world, `size` at a time, until it stops; yield after each time."""
    nowhere = np.empty(0, np.int64), np.empty(0)
    while not isinstance(batch := crawl.choose(size, 0.0), Stop):
        crawl.absorb(batch, [Outcome(p.n, p.node, 0.0, float(world.active[p.node]), *nowhere, None) for p in batch])
        yield


def find_intervals(one: Dataset, crawl: Refresh, at: str) -> Iterator[Shown]:
    """Yield the intervals that a report shows."""
    known = crawl.estimate()
    yield Shown("active in all", one.title, at, known.low, known.high, one.world.alive)
    yield Shown("share found", one.title, at, known.share_low, known.share_high, known.found / one.world.alive)


def find_end(one: Dataset, crawl: Refresh) -> End:
    """Return where a crawl is."""
    return End(crawl.taken / one.world.size, crawl.relevance / one.world.alive)


def describe_stops(one: Dataset, bounds: Sequence[End], estimates: Sequence[End]) -> str:
    """Return what was found and tested at the stops, and what it would cost with the number of active nodes known."""
    words = []
    for name, ends in (("bound", bounds), ("estimate", estimates)):
        found, tests = [end.found for end in ends], [end.tests for end in ends]
        reached = sum(share >= FRACTION for share in found) / len(found)
        shares = f"least {min(found):.1%}, median {median(found):.1%}, tested {median(tests):.1%}"
        words.append(f"{name}: {FRACTION:.0%} found in {reached:.1%} of runs, {shares}")
    cheapest = compute_cost(order(one), one.world.active, np.array([FRACTION]))[0] * FRACTION * one.world.alive
    return "; ".join([*words, f"with the number known: tested {cheapest / one.world.size:.1%}"])


def order(one: Dataset) -> NDArray[np.int64]:
    """Return the order of a dataset without a random sample, by the first seed."""
    ranks = LiveRanks(one.world.make_old_dataset(), 0, tolerance=TOLERANCE)
    first = ranks.choose_training(one.how.training, one.how.z)
    return np.concatenate([first, ranks.order(one.how.rank, first, one.world.active[first])])
