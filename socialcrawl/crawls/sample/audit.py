"""What a uniform sample of a topic says of a dataset that was collected: its share, its gaps, what more would bring.

Bar-Yossef, Kanungo, Krauthgamer, section 1: a focused sample lets one estimate "the fraction of the focus pages that
are covered by the focused crawl". The share held is that of the sample already held; the topic's size is the number of
on-topic accounts held, divided by that share, and its interval is that of the share turned over. Samples that are not
held but that somebody held links to are within the collection's reach: more of the same budget finds them, while the
others need other seeds. The topic is what walks can reach: an on-topic account without links to others is in no sample.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.sample.estimates import CONFIDENCE, NOTHING, Estimate, Series, estimate_distribution

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

WORTH = 0.1  # more budget pays where a tenth of the topic at least is within reach, by the lower end of the interval
RECENT = 0.2  # of the collection's steps, the last part says what a step brings now
LEAST = 20  # steps that part has at least


@dataclass(frozen=True, slots=True, eq=False)
class TopicSample:
    """The on-topic visits of a sample campaign, after the burn-in; off-topic ones may stay, with weight 0.

    Attributes:
        held: bool[n], whether the dataset has read the account.
        linked: bool[n], whether somebody whom the dataset has read links to it; what is held counts as linked.
        searched: bool[n], whether the platform's own search found it; None: nobody searched.
        group: [n] labels: hosts, instances, communities or languages; None: none are known.
        weights: float64[n], 1/d or holding times.
        walk: int64[n].
    """

    held: Flags
    linked: Flags
    weights: Floats
    walk: NDArray[np.int64]
    searched: Flags | None = None
    group: Sequence[Hashable] | NDArray[Any] | None = None


@dataclass(frozen=True, slots=True)
class GroupGap:
    """What the dataset lacks of one group.

    Attributes:
        group: its label.
        topic: its share of the topic.
        held: the share of it that the dataset holds.
        lacking: the share of the topic that is of this group and not held: the gap, of which all gaps are the sum.
        reach: the share of the topic that is of this group, not held, and linked to from the dataset.
    """

    group: Any
    topic: Estimate
    held: Estimate
    lacking: Estimate
    reach: Estimate


@dataclass(frozen=True, slots=True)
class SearchCoverage:
    """What the platform's search covers of the topic.

    Attributes:
        found: the share of the topic that it found.
        held: the share of what the dataset holds that it found: what a dataset of searches alone would lack.
        only: the share of the topic that it found and the dataset lacks: what searching more would add.
        neither: the share of the topic that neither has.
    """

    found: Estimate
    held: Estimate
    only: Estimate
    neither: Estimate


@dataclass(frozen=True, slots=True)
class DatasetAudit:
    """What a sample says of a dataset.

    Attributes:
        share: the share of the topic that the dataset holds.
        size: how many accounts the topic has; its effective size and note are those of the share.
        on_topic: how many on-topic accounts the dataset holds.
        reach: the share of the topic that is not held, and linked to from the dataset; `near`: how many accounts.
        beyond: the share of the topic that is neither held nor linked to.
        gaps: by group, the widest first.
        search: what the platform's search covers; None where nobody searched.
    """

    share: Estimate
    size: Estimate
    on_topic: int
    reach: Estimate
    near: Estimate
    beyond: Estimate
    gaps: tuple[GroupGap, ...] = ()
    search: SearchCoverage | None = None

    @property
    def lacking(self) -> float:
        """How many on-topic accounts are not held: infinite where none of the sample is held, NaN if not known."""
        return self.size.value if isnan(self.size.value) else max(0.0, self.size.value - self.on_topic)


@dataclass(frozen=True, slots=True)
class CollectionOutlook:
    """What speaks for and against more steps of the collection.

    Attributes:
        reach: how many on-topic accounts are not held and linked to, the estimate and its interval.
        recent: how many accounts it read last, in RECENT of its steps; `rate`: the share of them that are on topic,
            counted; NaN where the collection has made no step.
        pays: whether more budget would pay; None where the sample cannot tell.
        why: the same in words.
    """

    reach: Estimate
    recent: int
    rate: float
    pays: bool | None
    why: str


def audit(
    sample: TopicSample, on_topic: int, *, least: int = 0, groups: int | None = 20, confidence: float = CONFIDENCE
) -> DatasetAudit:
    """Return what a sample says of a dataset that holds `on_topic` on-topic accounts.

    Args:
        sample: its on-topic visits.
        on_topic: how many accounts the dataset has read that are on topic by the same predicate.
        least: accounts that are known to be on topic, by the dataset or by the sample: the topic has no fewer.
        groups: how many gaps are told at most, the widest; None: all.
        confidence: that the intervals have; those of gaps have it for all groups together.
    """
    series = Series.of(sample.weights, sample.walk, sample.group, confidence)
    held, linked = np.asarray(sample.held, bool), np.asarray(sample.linked, bool) | np.asarray(sample.held, bool)
    share = _bound_share(series.estimate_share(held), on_topic, least)
    reach = series.estimate_share(linked & ~held)
    within = Series.of(np.where(linked, sample.weights, 0.0), sample.walk, sample.group, confidence)
    return DatasetAudit(
        share,
        estimate_size(share, on_topic, least),
        on_topic,
        reach,
        _estimate_near(within.estimate_share(~held), on_topic),
        _estimate_rest(series.estimate_share(~linked), share, reach),
        () if sample.group is None else find_gaps(sample, groups, confidence),
        None if sample.searched is None else _audit_search(sample, series, confidence),
    )


def estimate_size(share: Estimate, on_topic: int, least: int = 0) -> Estimate:
    """Return how many accounts a topic has of which a dataset holds `on_topic`, and by a sample `share`.

    Never fewer than are held, or than the `least` that are known; infinite where none of the sample is held.
    """
    value, low, high = (on_topic / part if part > 0.0 else inf for part in (share.value, share.high, share.low))
    if not on_topic:  # none is held, of none or of many
        value, low, high = nan, 0.0, inf
    known = float(max(on_topic, least))
    value, low, high = (one if isnan(one) else max(one, known) for one in (value, low, high))
    return Estimate(value, low, high, share.effective, share.visits, share.note)


def _estimate_near(part: Estimate, on_topic: int) -> Estimate:
    """Return how many accounts are linked to and not held, by their `part` of those that are held or linked to."""
    if not on_topic:  # of none or of many
        return replace(part, value=nan, low=0.0, high=inf)
    low, value, high = (on_topic * one / (1.0 - one) if one < 1.0 else inf for one in (part.low, part.value, part.high))
    return replace(part, low=low, value=value, high=high)


def _estimate_rest(rest: Estimate, share: Estimate, reach: Estimate) -> Estimate:
    """Return the share that is neither held nor linked to, with the interval that the two others leave.

    Accounts without links to them are rarely visited and weigh much: the interval of their visits misses too often.
    """
    low, high = (max(0.0, 1.0 - one - other) for one, other in ((share.high, reach.high), (share.low, reach.low)))
    return replace(rest, low=min(low, rest.value), high=max(high, rest.value))


def withhold_audit(on_topic: int) -> DatasetAudit:
    """Return the audit of a dataset that holds `on_topic` on-topic accounts, by a sample that tells nothing yet."""
    return DatasetAudit(NOTHING, NOTHING, on_topic, NOTHING, NOTHING, NOTHING)


def _bound_share(share: Estimate, on_topic: int, least: int) -> Estimate:
    """Return a share held of no more than those held are of the `least` accounts that the topic has for sure."""
    if not 0 < on_topic < least:
        return share
    low, value, high = (min(part, on_topic / least) for part in (share.low, share.value, share.high))
    return replace(share, low=low, value=value, high=high)


def bound_audit(found: DatasetAudit, least: int, most: int) -> DatasetAudit:
    """Return an audit of a dataset of whose accounts nobody can say more than that `least` to `most` are on topic.

    The interval of the topic's size holds for both; the size itself is told only if the audit counted them all.
    """
    low, high = estimate_size(found.share, least).low, estimate_size(found.share, most).high
    value = found.size.value if found.on_topic == most else nan
    return replace(found, size=replace(found.size, value=value, low=low, high=high))


def find_gaps(sample: TopicSample, most: int | None = 20, confidence: float = CONFIDENCE) -> tuple[GroupGap, ...]:
    """Return what the dataset lacks by group, the widest gap first, ties by name.

    The widest of many gaps looks wider than it is. The intervals of each quantity are therefore for all groups that are
    returned together (Bonferroni): `confidence` is that none of them misses.

    Args:
        sample: with groups.
        most: how many are returned; None: all.
        confidence: that the intervals have, for all groups together.

    Raises:
        ValueError: the sample has no groups.
    """
    if sample.group is None:
        raise ValueError("this sample has no groups: give hosts, communities or languages")
    held, weights = np.asarray(sample.held, bool), np.asarray(sample.weights, np.float64)
    near = np.asarray(sample.linked, bool) & ~held
    names = sample.group.tolist() if isinstance(sample.group, np.ndarray) else list(sample.group)
    seen = len({name for name, weight in zip(names, weights.tolist(), strict=True) if weight})
    if confidence:
        confidence = 1.0 - (1.0 - confidence) / max(1, seen if most is None else min(most, seen))
    series = Series.of(weights, sample.walk, sample.group, confidence)
    shares = estimate_distribution(names, weights, sample.walk, confidence=confidence)
    lack: dict[Any, float] = dict.fromkeys(shares, 0.0)
    for name, weight in zip(names, np.where(held, 0.0, weights).tolist(), strict=True):
        if weight:
            lack[name] += weight
    found = []
    for name in sorted(shares, key=lambda name: (-lack[name], str(name)))[:most]:
        ours = np.fromiter((one == name for one in names), np.bool_, len(names))
        of = Series.of(np.where(ours, weights, 0.0), sample.walk, None, confidence)
        found.append(
            GroupGap(
                name,
                shares[name],
                of.estimate_share(held),
                series.estimate_share(ours & ~held),
                series.estimate_share(ours & near),
            )
        )
    return tuple(found)


def _audit_search(sample: TopicSample, series: Series, confidence: float) -> SearchCoverage:
    held, searched = np.asarray(sample.held, bool), np.asarray(sample.searched, bool)
    of = Series.of(np.where(held, sample.weights, 0.0), sample.walk, sample.group, confidence)
    return SearchCoverage(
        series.estimate_share(searched),
        of.estimate_share(searched),
        series.estimate_share(searched & ~held),
        series.estimate_share(~searched & ~held),
    )


def judge_outlook(found: DatasetAudit, steps: Any = ()) -> CollectionOutlook:
    """Return what speaks for and against more steps of the collection.

    Args:
        found: the audit.
        steps: bool[m], of the collection's steps in order whether each found an on-topic account.
    """
    made = np.asarray(steps, np.float64)
    last = made[-max(LEAST, round(RECENT * len(made))) :]
    return CollectionOutlook(found.near, len(last), float(last.mean()) if len(last) else nan, *_judge_gain(found))


def _judge_gain(found: DatasetAudit) -> tuple[bool | None, str]:
    reach, beyond = found.reach, found.beyond
    if reach.low >= WORTH:
        return True, f"yes: {_format_interval(reach)} of the topic is not held, and linked to from what is held"
    if reach.high < WORTH:
        rest = (
            f"; {_format_interval(beyond)} of it is out of reach, and needs other seeds" if beyond.low >= WORTH else ""
        )
        return False, f"no: {_format_interval(reach)} of the topic is linked to and not held{rest}"
    return (
        None,
        f"not clear: {_format_interval(reach)} of the topic is linked to and not held; a longer sample would show it",
    )


def _format_interval(share: Estimate) -> str:
    """Return the ends of the interval of a share, in words; one number where it was counted."""
    low, high = f"{share.low:.0%}", f"{share.high:.0%}"
    return low if low == high else f"{low} to {high}"


def count_needed_visits(estimate: Estimate, half: float) -> float:
    """Return how many visits a sample needs for an interval of +- `half`, by how much this one's told.

    At least those it has.

    Args:
        estimate: a share of this sample.
        half: half the width that is wanted, as 0.05.
    """
    if not estimate.visits or half <= 0.0:
        return inf
    return estimate.visits * max(1.0, (estimate.width / 2.0 / half) ** 2)
