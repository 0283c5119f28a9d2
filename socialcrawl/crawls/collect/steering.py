"""What an estimator gains over chance and over a breadth-first crawl: its own steps compared with drawn ones.

Without drawn steps (`[crawl] control`) the gain cannot be measured: only accounts that the estimator chose were read.
The comparison is of the relevance found by a step; a step whose account could not be read found 0.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.facts import COLLECT
from socialcrawl.engine.draws import CHANCE, NEAREST, STEERED, assign_arms
from socialcrawl.forecast.intervals import Interval, estimate_difference
from socialcrawl.storage.queries.row_values import join_transaction
from socialcrawl.storage.queries.traces import CampaignTraces, StepColumns
from socialcrawl.storage.versions import list_followed

Floats = NDArray[np.float64]

CONFIDENCE = 0.99  # of each interval: people look again and again, and one false difference is enough to mislead
LEAST = 10  # drawn steps from which on they are compared
FAR = 20.0  # times the steps so far: no campaign goes on for that long


@dataclass(frozen=True, slots=True)
class ControlComparison:
    """The steps that an estimator chose beside those that were drawn in one way.

    Attributes:
        steps: how many were drawn.
        mean: what a drawn step found.
        gain: how much more a step found that the estimator chose; None: fewer than `LEAST` were drawn, or no
            two steps of a kind differ in what they found.
        needed: about how many more steps of the campaign would tell whether there is a difference; None: it is known
            already, would take too many steps, or cannot be estimated.
    """

    steps: int
    mean: float
    gain: Interval | None
    needed: int | None


@dataclass(frozen=True, slots=True)
class FollowedShadow:
    """That a shadow took over: from pick.n `first` on, at `at` (ISO 8601), `estimator` chose instead of `before`."""

    first: int
    at: str
    estimator: str
    before: str


@dataclass(frozen=True, slots=True)
class Steering:
    """What steering gained since the topic, or the way to crawl, last changed.

    Attributes:
        estimator: its name.
        steps: how many it chose.
        mean: what each of them found; NaN where it chose none.
        control: the share of the steps that is drawn; 0: none is, and nothing is compared.
        chance: against accounts drawn from all that were known and not read yet; None without control, or where the
            estimator chose none.
        breadth: against accounts drawn from those of them that were nearest to the seeds; None likewise.
        followed: the shadows that took over, the last one last.
    """

    estimator: str
    steps: int
    mean: float
    control: float
    chance: ControlComparison | None = None
    breadth: ControlComparison | None = None
    followed: tuple[FollowedShadow, ...] = ()

    @property
    def drawn(self) -> int:
        """How many steps were drawn, of those that are compared."""
        return sum(one.steps for one in (self.chance, self.breadth) if one is not None)


def measure_steering(traces: CampaignTraces, campaign: str | None = None) -> Steering | None:
    """Return what the estimator of a campaign gained; None for one that does not collect, or has no steps yet.

    Raises:
        StoreError: there is no such campaign.
    """
    stored = traces.read_campaign(campaign)
    versions = traces.read_versions(stored)
    settings = versions[-1].settings
    crawl = settings.get("crawl", {})
    if settings.get("kind", COLLECT.name) != COLLECT.name or "estimator" not in crawl:
        return None
    found = compare_arms(
        crawl["estimator"], traces.read_steps(stored.id), settings.get("seed", 0), crawl.get("control", 0.0)
    )
    with join_transaction(traces.connection):
        switches = set(list_followed(traces.connection, stored.id))
    followed = tuple(
        FollowedShadow(new.first, new.at, new.settings["crawl"]["estimator"], old.settings["crawl"]["estimator"])
        for old, new in pairwise(versions)
        if (new.first, new.at) in switches
    )
    return found if found is None else replace(found, followed=followed)


def compare_arms(estimator: str, steps: StepColumns, seed: int, control: float) -> Steering | None:
    """Return what an estimator gained in these steps; None where it chose none of them, and is not to be compared.

    Args:
        estimator: its name.
        steps: all steps of its campaign.
        seed: the campaign's.
        control: the share of the steps that is drawn.
    """
    steered, drawn, near = (steps.value[places] for places in split_steps(steps, seed, control))
    if not len(steered):
        return Steering(estimator, 0, float("nan"), control) if control and len(steps.n) else None
    against = (
        (_compare_with(steered, drawn, control), _compare_with(steered, near, control)) if control else (None, None)
    )
    return Steering(estimator, len(steered), float(steered.mean()), control, *against)


def split_steps(steps: StepColumns, seed: int, control: float) -> list[NDArray[np.intp]]:
    """Return the places of the steps that count: those that were steered, drawn from all, drawn from the nearest."""
    who = assign_arms(seed, control, 0, len(steps.n))
    # An account that is tried again was chosen before, and a forgotten one has no value any more.
    counts = np.zeros(len(steps.n), np.bool_)
    counts[np.unique(steps.node, return_index=True)[1]] = True
    counts &= (steps.n >= steps.since) & ~np.isin(steps.missing, ("open", "forgotten"))
    return [np.flatnonzero(counts & (who == arm)) for arm in (STEERED, CHANCE, NEAREST)]


def _compare_with(steered: Floats, drawn: Floats, control: float) -> ControlComparison:
    mean = float(drawn.mean()) if len(drawn) else float("nan")
    if len(drawn) < LEAST:
        return ControlComparison(len(drawn), mean, None, ceil((LEAST - len(drawn)) * 2 / control))
    gain = estimate_difference(steered, drawn, CONFIDENCE)
    if gain.low == gain.high:  # nothing shows how far accounts differ, nor what the few drawn steps missed
        return ControlComparison(len(drawn), mean, None, None)
    done = len(drawn) * 2 / control
    # An interval becomes half as wide with four times as many steps.
    longer = ((gain.high - gain.low) / 2 / gain.value) ** 2 if gain.value else FAR
    needed = ceil(done * (longer - 1)) if not gain.sign and longer < FAR else None
    return ControlComparison(len(drawn), mean, _allow_for_missed(gain, steered, drawn), needed)


def _allow_for_missed(gain: Interval, steered: Floats, drawn: Floats) -> Interval:
    """Return the interval of a gain whose lower end allows for valuable accounts that the few drawn steps missed.

    Most accounts are worth nothing and a few much. Where steering finds these, its own steps show how far accounts
    differ. Where it does not, nothing shows it. The lower end is then also that of one more drawn step which found as
    much as the best step of all. docs/explanation/coverage.md has how often intervals hold the truth.
    """
    if gain.sign > 0:
        return gain
    missed = estimate_difference(steered, np.append(drawn, max(steered.max(), drawn.max())), CONFIDENCE)
    return replace(gain, low=min(gain.low, missed.low))
