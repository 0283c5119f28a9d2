"""When what a campaign knows of accounts is written to SQL: now and then, before long waits, and at its end.

Nothing is lost by writing seldom: all of it follows from picks and outcomes. A row of every known account is written
anew, as the importance, or the weight in a sample, of all of them moves with every visit.
"""

from collections.abc import Callable, Sequence
from math import isnan
from typing import Protocol

import numpy as np

from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.sample.evidence import gather_evidence
from socialcrawl.crawls.track.crawl import Track
from socialcrawl.crawls.track.tracked_graph import GONE
from socialcrawl.engine.model import Grant, Outcome, Reply, Stop, Wait, format_time
from socialcrawl.engine.protocols import Batch, Watcher
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.storage.queries.snapshots import SampledRow, StandingRow

DAY = 86_400.0
EVERY = 600.0  # seconds between two writings, and of a wait before which it is worth one


class PickCounter(Protocol):
    """A crawl that counts its picks."""

    picks: int


class SnapshotWatcher:
    """A watcher that hands on what it sees, and writes standings when it is time.

    Args:
        watcher: who else looks on.
        crawl: whose knowledge is written.
        put: writes it, the whole of it.
        now: the clock, Unix seconds.
    """

    def __init__(self, watcher: Watcher, crawl: PickCounter, put: Callable[[], None], now: Callable[[], float]) -> None:
        self.watcher, self.crawl, self.put, self.now = watcher, crawl, put, now
        self._written = now()
        self._picks = -1  # that were known when it was last written

    def sent(self, grant: Grant) -> None:
        """See `protocols.Watcher.sent`."""
        self.watcher.sent(grant)

    def landed(self, grant: Grant, reply: Reply) -> None:
        """See `protocols.Watcher.landed`."""
        self.watcher.landed(grant, reply)

    def learned(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """See `protocols.Watcher.learned`; write if that was long ago."""
        self.watcher.learned(batch, outcomes)
        if self.now() - self._written >= EVERY:
            self.write()

    def waits(self, wait: Wait) -> None:
        """See `protocols.Watcher.waits`; write before a long one."""
        self.watcher.waits(wait)
        self.after(wait)

    def after(self, reason: Wait | Stop) -> None:
        """Write at an end, before a long wait, or if that was long ago."""
        now = self.now()
        long = isinstance(reason, Stop) or reason.until - now >= EVERY
        if long or now - self._written >= EVERY:
            self.write()

    def write(self) -> None:
        """Write what is known, if anything was decided since."""
        if self.crawl.picks != self._picks:
            self.put()
            self._picks = self.crawl.picks
        self._written = self.now()


def collect_standings(crawl: Track) -> list[StandingRow]:
    """Return what a crawl knows of each account, as table `standing` has it, in order of discovery."""
    picture, cash = crawl.picture, crawl.picture.cash
    lists = picture.lists
    rows = np.arange(picture.size)
    importance = crawl.importance(rows).tolist()
    history = (np.zeros(picture.size) if cash is None else cash.past(rows)).tolist()
    return [
        StandingRow(
            node,
            int(lists["visits"][row]),
            None if isnan(picture.last_at[row]) else format_time(picture.last_at[row]),
            compute_worth(picture.total[row]),
            picture.total[row],
            lists["indegree"][row],
            lists["outlinks"][row],
            lists["yield"][row] * DAY if lists["visits"][row] > 1 else None,
            lists["link_score"][row] if lists["visits"][row] > 1 else None,
            importance[row],
            history[row],
            crawl.gone.get(node),
        )
        for row, node in enumerate(picture.nodes)
        if picture.state[row] != GONE or node in crawl.gone  # neither another name of somebody nor the forgotten
    ]


def collect_draws(crawl: Sample) -> list[SampledRow]:
    """Return what the walks of a crawl drew on topic after their burn-in, as table `sampled` has it, in order read.

    Draws in parts of the topic that statistics leave out are not in it (crawls/sample/walk_components.py). Where
    everything that walks can reach was read, all draws have the same weight.
    """
    held, rows = crawl.held(), crawl.visits()
    seen = gather_evidence(crawl.walks, rows)
    size = len(held.node)
    weight = np.bincount(seen.rows.place, seen.weight, minlength=size)
    visits = np.bincount(rows.place[rows.kept & rows.on_topic & rows.came], minlength=size)
    whole = float(weight.sum())
    return [
        SampledRow(int(held.node[place]), int(visits[place]), weight[place] / whole,
                int(held.degree[place]))
        for place in np.flatnonzero(weight > 0).tolist()
    ]  # fmt: skip
