"""What datasets hold of a topic, by a uniform sample of it: `socialcrawl audit` (Bar-Yossef et al., section 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from socialcrawl.campaign.plan import make_topic
from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.registry import kind_of
from socialcrawl.crawls.reporting import find_stored_kind
from socialcrawl.crawls.sample import audit as audits
from socialcrawl.crawls.sample.audit import CollectionOutlook, DatasetAudit, GroupGap
from socialcrawl.crawls.sample.communities import find_communities
from socialcrawl.crawls.sample.holdings import (
    AccountList,
    HeldAccounts,
    Ints,
    TopicJudge,
    list_search_results,
    read_campaign,
    read_list,
    unite_datasets,
)
from socialcrawl.crawls.sample.mixing import MixingVerdict
from socialcrawl.crawls.sample.report import (
    HALF,
    UNTOLD,
    FoldedSample,
    count_missing_draws,
    find_languages,
    fold_sample,
)
from socialcrawl.crawls.sample.walk_components import WalkComponent
from socialcrawl.engine.model import Node
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign
from socialcrawl.text.wording import pluralize

GROUPS = 10  # gaps that are told, the widest
NOWHERE = "elsewhere"  # the host of an account that has none
OUTSIDE = "of its on-topic accounts are in parts of the topic that the sample leaves out: they are not counted here"
BEYOND = "of its accounts are not among those that walks can come to, all of which were read: they are not counted here"


@dataclass(frozen=True, slots=True)
class AuditedDataset:
    """What the sample says of one dataset.

    Attributes:
        name: of the dataset.
        read: accounts that it has read.
        found: its share of the topic, the topic's size, gaps by host or community, and what the search covers.
        languages: the gaps by the language in which accounts write most; () where all write the same, or none is told.
        outlook: whether more budget would pay; None where nobody knows to whom the dataset links: then what the audit
            says of its reach is nothing either.
        more: how many more draws make the interval of the share held +- 5 points, about; inf: nobody can say yet.
        notes: what a reader should know, sentences.
    """

    name: str
    read: int
    found: DatasetAudit
    languages: tuple[GroupGap, ...]
    outlook: CollectionOutlook | None
    more: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What a sample says of some datasets.

    Attributes:
        sample: the name of its campaign.
        topic: what it is of, in words.
        draws: that count; `accounts`: at which they were made; `effective`: how many independent ones they are worth.
        more: how many more draws make the interval of any share +- 5 points, about; None: nobody can say yet.
        by: what gaps are told by: host or community; "" where neither is known.
        datasets: what it says of each.
        verdict: whether there is enough data; where there is not, estimates are `NOTHING`, and there are no gaps.
        parts: of the topic, in which its walks are, the largest first: all numbers are of those that count.
    """

    sample: str
    topic: str
    draws: int
    accounts: int
    effective: float
    more: float | None
    by: str
    datasets: tuple[AuditedDataset, ...]
    verdict: MixingVerdict
    parts: tuple[WalkComponent, ...] = ()


def audit_datasets(
    traces: CampaignTraces,
    settings: Settings,
    others: CampaignTraces | None = None,
    of: Sequence[str] = (),
    held: Mapping[str, AccountList] | None = None,
) -> AuditReport:
    """Return what a sample says of datasets.

    Args:
        traces: the database of the sample.
        settings: the campaign that samples.
        others: the database of the campaigns that are audited; None: the same.
        of: their names; none: all that collect or track, and all of them together.
        held: lists of accounts, by the names of their files; beside them, campaigns only if `of` or `others` is given.

    Raises:
        StoreError: there is no such campaign, or none to audit.
        SettingsError: the campaign samples nothing, has drawn nothing yet, or is of another platform.
    """
    judge = TopicJudge(traces, _fold_sample(traces, settings), settings)
    datasets: list[HeldAccounts] = []
    if of or others or not held:
        there, same = others or traces, others is None
        datasets = [
            read_campaign(judge, there, one, same=same) for one in _select_campaigns(judge, there, of, same=same)
        ]
        datasets += [unite_datasets(datasets)] if len(datasets) > 1 else []
    datasets += [read_list(judge, name, given) for name, given in (held or {}).items()]
    series, seen = judge.sample.series, judge.sample.seen
    view = _View(judge)
    return AuditReport(
        settings.name,
        _describe_sample(settings),
        series.visits,
        len(seen.places),
        series.floor[0],
        count_missing_draws(series) if seen.verdict.enough else None,
        view.by,
        tuple(view.audit(dataset) for dataset in datasets),
        seen.verdict,
        seen.parts.each,
    )


def _fold_sample(traces: CampaignTraces, settings: Settings) -> FoldedSample:
    if not kind_of(settings).sample:
        raise SettingsError(
            f'The campaign {settings.name!r} is of kind {settings.kind}: an audit rests on one of kind = "sample".'
        )
    if settings.name not in traces.list_campaigns():
        raise StoreError(f"The campaign {settings.name!r} was not begun in {settings.database}: run it first.")
    found = fold_sample(traces, settings.name)
    if found is None:
        raise SettingsError(f"The campaign {settings.name!r} of this database samples nothing: give another name.")
    if not np.any(found.seen.weight > 0.0):
        raise SettingsError(
            f"The campaign {settings.name!r} has no sample yet: it has read "
            f"{pluralize(len(found.held.node), 'account')}, {int(found.held.on_topic.sum()):,} of them on topic, and "
            f"the first {found.crawl.rules.burn_in:,} on-topic "
            "visits of each walk do not count. Continue it, or set burn_in lower."
        )
    return found


def _select_campaigns(
    judge: TopicJudge, traces: CampaignTraces, of: Sequence[str], *, same: bool
) -> list[StoredCampaign]:
    """Return the campaigns to audit, the oldest first, or as they are named."""
    platform, mine = judge.sample.whole.platform, judge.sample.whole.name
    if of:
        others = [name for name in traces.list_campaigns() if not (same and name == mine)]
        there = f"there {'are' if len(others) > 1 else 'is'} {', '.join(others) or 'no other'}"
        if same and mine in of:
            raise SettingsError(f"The campaign {mine!r} is the sample itself: name another one with --of; {there}.")
        if absent := [name for name in of if name not in others]:
            raise StoreError(f"There is no campaign {absent[0]!r} to audit in this database; {there}.")
        wanted = [traces.read_campaign(name) for name in dict.fromkeys(of)]
        for one in wanted:
            if one.platform != platform:
                raise SettingsError(f"The campaign {one.name!r} is of {one.platform}, the sample of {platform}.")
        return wanted
    every = [traces.read_campaign(name) for name in traces.list_campaigns()]
    wanted = [one for one in every if one.platform == platform and find_stored_kind(one).collection]
    if not wanted:
        raise StoreError(
            f"There is no campaign of {platform} to audit in this database: run one that collects the topic, name "
            "another database with --db, or a file of accounts with --held."
        )
    return wanted


class _View:
    """The sample as audits see it: where its accounts are, what they speak, whom its own searches found."""

    def __init__(self, judge: TopicJudge) -> None:
        sample, traces = judge.sample, judge.traces
        self.seen, self.outside = sample.seen, judge.outside
        self.rows, self.weight = self.seen.rows, self.seen.weight
        self.searched = list_search_results(traces, sample.whole, judge.aliases)
        self.by, self.group = _find_groups(traces, sample)
        nodes = sample.held.node[sample.seen.places].tolist()
        speech = find_languages(traces, nodes, sample.whole.id)
        several = len({speech.get(node, UNTOLD) for node in nodes}) > 1
        self.speech = [speech.get(node, UNTOLD) for node in self.rows.node.tolist()] if several else None

    def audit(self, dataset: HeldAccounts) -> AuditedDataset:
        """Return what the sample says of a dataset."""
        seen = self.seen
        outside = dataset.on_topic & np.isin(dataset.read, self.outside)
        left = int(np.count_nonzero(outside))
        notes = [*dataset.notes, *([f"{left:,} {OUTSIDE}"] if left else [])]
        inside = dataset.on_topic & ~outside
        if seen.verdict.whole:  # whom the sample has not read, no walk comes to
            beyond = inside & ~np.isin(dataset.read, seen.found)
            notes += [f"{np.count_nonzero(beyond):,} {BEYOND}"] if beyond.any() else []
            inside &= ~beyond
        count = int(np.count_nonzero(inside))
        if not seen.verdict.enough:
            return AuditedDataset(
                dataset.name, len(dataset.read), audits.withhold_audit(count), (), None, inf, tuple(notes)
            )
        drawn_ = self._make_sample(dataset)
        least = count_known(dataset, inside, seen.found)
        found = audits.audit(drawn_, count, least=least, groups=GROUPS, confidence=seen.confidence)
        if dataset.unjudged and not seen.verdict.whole:
            most = found.on_topic + (0 if dataset.taken else dataset.unjudged)
            found = audits.bound_audit(found, most - dataset.unjudged, most)
        spoken_ = replace(drawn_, group=self.speech)
        return AuditedDataset(
            dataset.name,
            len(dataset.read),
            found,
            () if self.speech is None else audits.find_gaps(spoken_, GROUPS, seen.confidence),
            None if dataset.linked is None else audits.judge_outlook(found, inside),
            audits.count_needed_visits(found.share, HALF) - found.share.visits,
            tuple(notes),
        )

    def _make_sample(self, dataset: HeldAccounts) -> audits.TopicSample:
        node = self.rows.node
        held = np.isin(node, dataset.read)
        searched = [one for one in (self.searched, dataset.searched) if one is not None]
        return audits.TopicSample(
            held,
            held if dataset.linked is None else np.isin(node, dataset.linked),
            self.weight,
            self.rows.walker,
            np.isin(node, np.concatenate(searched)) if searched else None,
            self.group,
        )


def count_known(dataset: HeldAccounts, inside: NDArray[np.bool_], sampled: Ints) -> int:
    """Return how many accounts are on topic for sure: those of a dataset and those of the sample, once each.

    Args:
        dataset: the dataset.
        inside: which of its accounts are on topic, and counted.
        sampled: the accounts on topic that the sample has found.
    """
    if dataset.unjudged:  # nobody can say which of its accounts are on topic
        return len(sampled)
    return len(np.union1d(dataset.read[inside], sampled))


def _find_groups(traces: CampaignTraces, sample: FoldedSample) -> tuple[str, list[str] | None]:
    """Return the kind of groups, and the label of each row: hosts where there are several, else communities."""
    if sample.crawl.rules.trap != "community" and len(set(sample.group)) > 1:
        return "host", [one or NOWHERE for one in sample.group]
    label = find_communities(sample.crawl.walks.lists, sample.seen.places)
    called = _name_communities(traces, sample, label)
    if len(set(label.tolist())) < 2:
        return "", None
    where = {place: called[one] for place, one in zip(sample.seen.places.tolist(), label.tolist(), strict=True)}
    return "community", [where.get(place, NOWHERE) for place in sample.seen.rows.place.tolist()]


def _name_communities(traces: CampaignTraces, sample: FoldedSample, label: Ints) -> dict[int, str]:
    """Return what communities are called: by the account of the sample in them that has most neighbours."""
    first: dict[int, tuple[int, int]] = {}
    for place, one in zip(sample.seen.places.tolist(), label.tolist(), strict=True):
        rank = int(sample.held.degree[place]), -place
        first[one] = max(first.get(one, rank), rank)
    nodes = {one: Node(int(sample.held.node[-rank[1]])) for one, rank in first.items()}
    names = traces.read_names(nodes.values())
    return {one: f"around {names[node]}" for one, node in nodes.items()}


def _describe_sample(settings: Settings) -> str:
    """Return what a sample is of, for people."""
    sample, topic = settings.sample, make_topic(settings)
    parts = [] if sample.tree is None else [f"what the tree {sample.tree.name} says is on topic"]
    if sample.tree is None and sample.occurrences:
        words = ", ".join([*topic.keywords, *topic.patterns])
        parts.append(f"{sample.occurrences:,} occurrences or more of {words}" if sample.occurrences > 1 else words)
    parts += [" or ".join([*sample.patterns, *sample.expressions])] if sample.by_name else []
    parts += [f"labels of {sample.labels.name}"] if sample.labels is not None else []
    return "; ".join(parts)
