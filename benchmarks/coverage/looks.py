"""Crawls that steering gains nothing in: how often a report that is looked at again and again says that it does.

The steered steps are drawn like those that they are compared with, so that the difference is 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from benchmarks.coverage.costs import SEEDS, Place, places, read_topics
from benchmarks.coverage.steering import CONTROL, compare, crawl
from benchmarks.coverage.table import Shown, repeat
from benchmarks.coverage.worlds import SHARED
from socialcrawl.crawls.collect.steering import ControlComparison
from socialcrawl.crawls.collect.strategies import Ranked, Scored
from socialcrawl.engine.draws import draw_uniform

TITLE = "Repeated looks at steering that gains nothing"
OFTEN, STEPS = 100, 2_000
NOTE = f"""Each run is two crawls from 20 drawn accounts on topic, with `control = 0.1`. The steps that count as
steered are drawn too: from all known accounts, or from those nearest to the seeds. So they are neither better nor
worse than the steps for comparison. A user runs the report every {OFTEN} steps. Cells: in how many crawls no report
up to this length said "better" or "worse", of the crawls in which a report showed an interval. Wrong verdicts are
most frequent where many accounts are on topic (`ubuntu`, 38 % of them, and `the`, 58 %), because few drawn steps
suffice there."""
ENDS = (500, 1_000, STEPS)
DENSE = ("ubuntu_irc.parquet", (["ubuntu"], ["the"]))

RUNS = KEPT = 10
APART = False


@dataclass(frozen=True)
class Drawn:
    """A strategy that draws accounts, as the steps for comparison are drawn.

    Attributes:
        seed: of the draws.
        nearest: whether it draws from those nearest to the seeds only.
    """

    seed: int
    nearest: bool

    def pick(self, frontier: Ranked, size: int, n: int) -> Scored:
        """Return `size` rows that are drawn, and their scores."""
        rows, scores = frontier.list_all(n)
        depth = frontier.get_depth(rows) if self.nearest else np.zeros(len(rows))
        order = np.lexsort((draw_uniform(self.seed, f"steered {n}", 0, len(rows)), depth))[:size]
        return rows[order], scores[order]


def measure(runs: int) -> list[Shown]:
    """Return what `runs` crawls of each graph showed."""
    path = SHARED / DENSE[0]
    return repeat(chain(places(), read_topics(path, DENSE[1]) if path.exists() else ()), runs, find_verdicts)


def find_verdicts(place: Place, seed: int, ends: tuple[int, ...] = ENDS, control: float = CONTROL) -> Iterator[Shown]:
    """Yield for each length the first interval without 0 that looks up to then show; else the last one."""
    rng = np.random.default_rng(seed)
    seeds = rng.choice(np.flatnonzero(place.graph.beta > 0), SEEDS, replace=False).tolist()
    for name, nearest in (("chance", False), ("breadth-first", True)):
        values = crawl(place, seeds, Drawn(seed, nearest), ends[-1], seed=seed, control=control, by="bfs")[1]
        told: list[ControlComparison] = []
        for length in range(OFTEN, len(values) + 1, OFTEN):
            report = compare(values[:length], seed, control)
            shown = report.breadth if nearest else report.chance
            assert shown is not None
            told.append(shown)
            if length in ends:
                gains = [one.gain for one in told if one.gain is not None]
                gain = next((one for one in gains if one.sign), gains[-1] if gains else None)
                low, high = (None, None) if gain is None else (gain.low, gain.high)
                yield Shown(f"against {name}: no difference", place.title, f"{length:,} steps", low, high, 0.0)
