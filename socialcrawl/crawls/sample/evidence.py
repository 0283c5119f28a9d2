"""What statistics of a topic rest on: the visits that count, by their weights; or all accounts, where all were read."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.sample.estimates import CONFIDENCE, EXACT, Series
from socialcrawl.crawls.sample.mixing import MixingVerdict, judge
from socialcrawl.crawls.sample.visits import Visits, list_visits, make_census
from socialcrawl.crawls.sample.walk_components import WalkComponents, find_walk_components
from socialcrawl.crawls.sample.walks import Walks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What statistics of a topic rest on.

    Attributes:
        rows: visits of walks; or a row of each account, where all that walks can reach were read.
        weight: float64[m], what each row counts: 0 off topic, before the end of the burn-in, and in parts left out.
        parts: of the topic, in which walks are.
        verdict: whether estimates should be shown.
        found: int64[k], the nodes on topic that were read in the parts that count.
    """

    rows: Visits
    weight: Floats
    parts: WalkComponents
    verdict: MixingVerdict
    found: Ints

    @property
    def places(self) -> Ints:
        """The places of the accounts that count, each once, in the order in which they were read."""
        return np.unique(self.rows.place[self.weight > 0.0])

    @property
    def confidence(self) -> float:
        """That intervals have: none, and no width, where accounts are counted."""
        return EXACT if self.verdict.whole else CONFIDENCE

    def make_series(self, like: Any = None) -> Series:
        """Return the rows, ready for statistics; `like`: labels by which visits are alike."""
        return Series.of(self.weight, self.rows.walker, like, self.confidence)


def gather_evidence(walks: Walks, rows: Visits | None = None) -> Evidence:
    """Return what the walks so far tell with.

    Args:
        walks: begun or not.
        rows: what they saw, if it is at hand.
    """
    rows = list_visits(walks) if rows is None else rows
    apart = find_walk_components(walks, rows)
    verdict = judge(walks, rows, apart)
    here = np.flatnonzero(apart.counts & np.frombuffer(bytes(walks.lists.on), np.bool_))
    rows = make_census(walks, here) if verdict.whole else rows
    weight = np.where(rows.kept & rows.on_topic & apart.counts[rows.place], rows.weight, 0.0)
    return Evidence(rows, weight, apart, verdict, np.array(walks.lists.nodes, np.int64)[here])
