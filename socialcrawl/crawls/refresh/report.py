"""What a campaign that refreshes an old dataset knows, for people: who is active, how many are, what a test costs.

All of it follows from the stored picks and outcomes, folded by the crawl that made them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import nan

import numpy as np
from numpy.typing import NDArray

from socialcrawl.campaign.settings import Settings, load_stored
from socialcrawl.crawls.facts import REFRESH
from socialcrawl.crawls.refresh.active_estimate import ActiveEstimate, StopVerdict
from socialcrawl.crawls.refresh.cost import assign_workers
from socialcrawl.crawls.refresh.crawl import PROBE, Refresh
from socialcrawl.crawls.refresh.liveranks import DYNAMIC
from socialcrawl.crawls.refresh.make import make_refresh
from socialcrawl.crawls.refresh.row_queue import CLOSED
from socialcrawl.crawls.refresh.rules import BOUND
from socialcrawl.engine.model import Node, Stop, StopKind, Who
from socialcrawl.errors import SettingsError
from socialcrawl.storage.queries.statistics import sum_spending
from socialcrawl.storage.queries.traces import (
    CampaignTraces,
    Status,
    StoredCampaign,
    count_statuses,
    find_active,
    read_accounts,
)

SLICES = 10  # parts of the tests so far that are told one by one
EVERYBODY = 2**62


@dataclass(frozen=True, slots=True)
class TestSlice:
    """Tests `first` to `last` of a campaign, counted from 1, and how many of them found an active account."""

    first: int
    last: int
    active: int


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """A campaign that tests an old dataset, as of its latest test.

    Attributes:
        rank: the order after the training set; training: the order that this is the beginning of.
        learning: how many accounts are tested before the order begins: the training set and the random ones.
        known: what the tests say of the whole dataset: its size, those tested, active, and estimated to be.
        left: how many are still to be tested; due: how many of those before the order begins.
        statuses: what became of the accounts that were tested, most first.
        found: bool[tests], whether each found an active account, in order.
        slices: the same, some at a time.
        requests: sent to test; mills: what they cost at most.
        fraction: of the active accounts that is wanted; None: all. stop: how that is judged, BOUND or ESTIMATE.
        verdict: whether it is found; None: not known yet, or all were tested.
    """

    rank: str
    training: str
    learning: int
    known: ActiveEstimate
    left: int
    due: int
    statuses: Sequence[Status]
    found: NDArray[np.bool_]
    slices: Sequence[TestSlice]
    requests: int
    mills: int
    fraction: float | None = None
    stop: str = BOUND
    verdict: StopVerdict | None = None

    @property
    def cost(self) -> float:
        """Tests for each active account found so far (section 2.1 of the paper); NaN before the first."""
        active = int(np.count_nonzero(self.found))
        return len(self.found) / active if active else nan


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """Who is to be tested next, shared out among workers, for one round: who is learned from, or all that is left.

    Attributes:
        platform: theirs.
        nodes: in order; whos: how the platform calls them.
        worker: int64, who tests each: number i of the order is worker i mod p's, i = 1, 2, ...
        training: whether the round is those whom the order is learned from, the random ones (`check`) and the
            training set: all results have to be there before the order goes on.
        checked: how many of them are random ones.
        changing: the rank, where every answer changes it, so that the order holds as of now only; "": it does not.
        enough: why the fraction that the campaign wants is found already; "": it is not, or it wants none.
        why: what there is to say where nobody is left.
    """

    platform: str
    nodes: Sequence[Node]
    whos: Sequence[Who]
    worker: NDArray[np.int64]
    training: bool
    checked: int = 0
    changing: str = ""
    enough: str = ""
    why: str = ""


def report_refresh(traces: CampaignTraces, campaign: StoredCampaign) -> RefreshReport:
    """Return what a campaign that refreshes knows.

    Raises:
        SettingsError: its settings are not understood.
    """
    settings = load_stored(traces.read_versions(campaign)[-1].settings, f"the campaign {campaign.name!r}")
    crawl = _fold(settings, traces, campaign)
    rank, training = settings.refresh.steering(campaign.platform)
    tests = find_active(traces.connection, campaign.id)
    requests, mills = sum_spending(traces.connection, campaign.name).get(PROBE, (0, 0))
    learning = crawl.view.learning if crawl.view.size else np.empty(0, np.int64)
    return RefreshReport(
        rank,
        training,
        len(learning),
        crawl.estimate(),
        crawl.view.left,
        _count_due(crawl, learning),
        count_statuses(traces.connection, campaign.id),
        tests,
        slice_tests(tests),
        requests,
        mills,
        settings.refresh.fraction,
        settings.refresh.stop,
        crawl.verdict() if crawl.view.size else None,
    )


def slice_tests(tests: NDArray[np.bool_], parts: int = SLICES) -> list[TestSlice]:
    """Return the tests in equal parts, in order; each has at least one."""
    edges = np.unique(np.linspace(0, len(tests), min(parts, len(tests)) + 1).astype(int)).tolist()
    return [TestSlice(first + 1, last, int(np.count_nonzero(tests[first:last]))) for first, last in pairwise(edges)]


def plan_probes(traces: CampaignTraces, settings: Settings, workers: int, most: int | None = None) -> ProbePlan:
    """Return who is to be tested next by a campaign, shared out among `workers`; at most `most` of them.

    The wanted fraction bounds nothing here: `Refresh.verdict` says whether it is found.

    Raises:
        StoreError: the campaign was not begun.
        SettingsError: it refreshes nothing, or has no dataset.
    """
    if settings.kind != REFRESH.name:
        raise SettingsError(
            f"The campaign {settings.name!r} is of kind {settings.kind}: one of kind refresh has an order."
        )
    stored = traces.read_campaign(settings.name)
    alone = settings.refresh.model_copy(update={"workers": 1, "worker": 0})
    endless = settings.crawl.model_copy(update={"steps": None})
    crawl = _fold(settings.model_copy(update={"refresh": alone, "crawl": endless}), traces, stored)
    verdict = crawl.verdict() if crawl.view.old.size else None
    crawl.rules = replace(crawl.rules, fraction=None)
    chosen = crawl.choose(most or EVERYBODY, 0.0)
    if isinstance(chosen, Stop):
        if chosen.kind != StopKind.DONE:
            raise SettingsError(f"The campaign {settings.name!r} has no order: {chosen.why}.")
        return ProbePlan(stored.platform, (), (), np.empty(0, np.int64), training=False, why=chosen.why)
    nodes = [pick.node for pick in chosen]
    rank, awaits = crawl.rules.rank, crawl.view.awaits
    return ProbePlan(
        stored.platform,
        nodes,
        read_accounts(traces.connection, nodes),
        assign_workers(np.array(nodes, np.int64), workers),
        training=awaits,
        checked=int(np.isin(nodes, crawl.view.nodes[crawl.view.check]).sum()) if awaits else 0,
        changing=rank if rank in DYNAMIC and not awaits else "",
        enough=verdict.why if verdict is not None and verdict.reached else "",
    )


def _count_due(crawl: Refresh, learning: NDArray[np.int64]) -> int:
    return int(np.count_nonzero(crawl.view.state[learning] < CLOSED))


def _fold(settings: Settings, traces: CampaignTraces, campaign: StoredCampaign) -> Refresh:
    crawl = make_refresh(settings)
    crawl.fold(traces.read_history(campaign))
    return crawl
