"""Whom datasets hold of a sample's topic: what campaigns have read, alone or together, or a list of accounts.

Who is on topic is judged as the sample judges: by the sample itself where it read the account; else by the same
predicate and topic, over what the campaign counted (where it counts the same topic), or over the posts that its
database has.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from socialcrawl.campaign.plan import make_topic
from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.sample.make import make_predicate
from socialcrawl.crawls.sample.report import FoldedSample
from socialcrawl.engine.model import Who
from socialcrawl.storage.queries.holdings import (
    AccountReading,
    count_searches,
    find_nodes,
    find_read_nodes,
    read_aliases,
    read_links,
    read_names,
    read_posts,
    read_visits,
)
from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign
from socialcrawl.text.wording import pluralize

TOGETHER = "all of them together"
LOUD = 2**31  # occurrences of a topic that are enough for any predicate
NOBODY = Who(None, None)
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class HeldAccounts:
    """Whom somebody has read, in the numbers of the sample's database; whom that has not, has negative ones.

    Attributes:
        name: of the campaign, or of the file.
        read: whom, each once, in order; `on_topic`: bool, whether it is, as the sample judges.
        at: when each was first read, ISO 8601; () for a file.
        linked: to whom those link; None: nobody knows, and there are no steps that could go on.
        searched: whom its own searches found; None: it made none.
        notes: what a reader should know of it, sentences.
        unjudged: of how many nobody can say whether they are on topic; `taken`: they are among `on_topic`.
    """

    name: str
    read: Ints
    on_topic: NDArray[np.bool_]
    at: Sequence[str] = ()
    linked: Ints | None = None
    searched: Ints | None = None
    notes: tuple[str, ...] = ()
    unjudged: int = 0
    taken: bool = False


@dataclass(frozen=True, slots=True)
class AccountList:
    """A list of accounts from elsewhere.

    Attributes:
        whos: the accounts.
        occurrences: of the sample's topic in the posts that the list has of them; who has no posts there is left out.
        on_topic: whether all of them are said to be on topic, except for those of whom the sample knows better.
        members: which accounts of a file these are, such as "the authors of its posts".
    """

    whos: Sequence[Who]
    occurrences: Mapping[Who, int] = field(default_factory=dict)
    on_topic: bool = False
    members: str = ""


class TopicJudge:
    """Who is on topic, as a sample judges, and by which numbers its database knows accounts.

    Args:
        traces: the sample's database.
        sample: what was drawn.
        settings: of the sample, as its file has them: they name the files of labels and trees.

    Attributes:
        outside: accounts on topic in the parts of it that the sample's statistics leave out.
    """

    def __init__(self, traces: CampaignTraces, sample: FoldedSample, settings: Settings) -> None:
        self.traces, self.sample, self.settings = traces, sample, settings
        self.predicate, self.topic = make_predicate(settings), make_topic(settings)
        self.aliases = read_aliases(traces.connection, sample.whole.id)
        self._read = dict(zip(sample.held.node.tolist(), sample.held.on_topic.tolist(), strict=True))
        self.outside = sample.held.node[sample.seen.parts.out & sample.held.on_topic]

    def has_same_topic(self, other: StoredCampaign) -> bool:
        """Return whether a campaign counts the same topic, so that its counts need not be made anew."""
        mine, theirs = (one.get("topic") for one in (self.sample.whole.identity, other.identity))
        return self.settings.sample.tree is None and mine == theirs

    def count_stored(self, traces: CampaignTraces, nodes: Iterable[int]) -> dict[int, int]:
        """Return the occurrences of the topic in the posts that a database has of accounts.

        Those without any are left out.
        """
        found: Counter[int] = Counter()
        for one in read_posts(traces.connection, nodes, self.sample.whole.platform) if self.predicate.least else ():
            found[one.author] += self.topic.hits(*one[1:])
        return dict(found)

    def judge(self, node: int, who: Who, occurrences: int | None) -> bool | None:
        """Return whether an account is on topic; None: nobody can say.

        Args:
            node: its number in the sample's database.
            who: how the platform calls it.
            occurrences: in what was read of it; None: not known.
        """
        if node in self._read:
            return bool(self._read[node])
        if occurrences is None and self.predicate.holds(who, 0) != self.predicate.holds(who, LOUD):
            return None
        return self.predicate.holds(who, occurrences or 0)

    def has_read(self, node: int) -> bool:
        """Return whether the sample itself has read an account."""
        return node in self._read

    def find_nodes(self, whos_: Sequence[Who]) -> list[int]:
        """Return the numbers of accounts in the sample's database.

        Negative ones of their own for those that it has not.
        """
        found = find_nodes(self.traces.connection, self.sample.whole.platform, whos_)
        return [-1 - i if node is None else resolve_alias(self.aliases, node) for i, node in enumerate(found)]


def read_campaign(judge: TopicJudge, traces: CampaignTraces, campaign: StoredCampaign, *, same: bool) -> HeldAccounts:
    """Return what a campaign has read, searched and linked to.

    Args:
        judge: who says what is on topic.
        traces: the campaign's database.
        campaign: the campaign.
        same: whether that is the sample's database too.
    """
    connection = traces.connection
    other = (judge.aliases if same else {}) | read_aliases(connection, campaign.id)
    every = [one._replace(node=resolve_alias(other, one.node)) for one in read_visits(connection, campaign.id)]
    ends = _map_ends(read_links(connection, campaign.id), other)
    linked, searched = np.unique(ends[1]), list_search_results(traces, campaign, other)
    found = linked if searched is None else np.concatenate([linked, searched])
    there = list(dict.fromkeys([*(one.node for one in every), *found.tolist()]))
    number = dict(zip(there, there, strict=True))
    if not same:
        calls = read_names(connection, there)
        number = dict(zip(there, judge.find_nodes([calls.get(node, NOBODY) for node in there]), strict=True))
    says, notes = _judge_read(judge, traces, campaign, every, number)
    notes += _note_apart(judge, [node for node, on in says.items() if on], _map_links(ends, number))
    first = {number[one.node]: one.at for one in reversed(every)}
    read = list(dict.fromkeys(number[one.node] for one in every))
    return HeldAccounts(
        campaign.name,
        np.array(read, np.int64),
        np.array([bool(says[node]) for node in read], np.bool_),
        [first[node] for node in read],
        _number_nodes(linked, number),
        None if searched is None else _number_nodes(searched, number),
        tuple(notes),
    )


def unite_datasets(datasets: Sequence[HeldAccounts]) -> HeldAccounts:
    """Return what some campaigns have read together, each account once, in the order in which they read them."""
    rows = sorted(
        (at, place, i, node, on)
        for place, one in enumerate(datasets)
        for i, (at, node, on) in enumerate(zip(one.at, one.read.tolist(), one.on_topic.tolist(), strict=True))
    )
    on_topic: dict[int, bool] = {}
    for _, _, _, node, on in rows:
        on_topic[node] = on_topic.get(node, False) or on
    first = {row[3]: row[0] for row in reversed(rows)}
    return HeldAccounts(
        TOGETHER,
        np.array([*on_topic], np.int64),
        np.array([*on_topic.values()], np.bool_),
        [first[node] for node in on_topic],
        _unite([one.linked for one in datasets]),
        _unite([one.searched for one in datasets]),
    )


def read_list(judge: TopicJudge, name: str, given: AccountList) -> HeldAccounts:
    """Return a list of accounts: the sample judges who is on topic, else the posts in the database or in the list.

    Of others nobody can say it. Where they are the fewer they are taken to be on topic; where they are most, not.
    """
    nodes = judge.find_nodes(given.whos)
    numbered = dict(zip(nodes, given.whos, strict=True))
    says = _judge_accounts(judge, numbered, _count_given(nodes, given))
    unjudged = sum(one is None for one in says)
    taken = given.on_topic or unjudged * 2 <= len(says)
    on_topic = np.array([taken if one is None else one for one in says], np.bool_)
    needs_note = unjudged and not judge.sample.seen.verdict.whole  # else nobody comes to them, and they are not counted
    notes = [_note_unjudged(unjudged, len(says), taken=taken, said=given.on_topic)] if needs_note else []
    if given.on_topic and (off := says.count(False)):
        notes.append(f"{off:,} of its accounts are off topic by what was read of them, and count as that")
    notes += _note_nameless(judge, given.whos)
    notes += [f"the audit counts {given.members}"] if given.members else []
    read, left = np.array([*numbered], np.int64), 0 if given.on_topic else unjudged
    return HeldAccounts(name, read, on_topic, notes=tuple(notes), unjudged=left, taken=taken)


def list_search_results(traces: CampaignTraces, campaign: StoredCampaign, other: Mapping[int, int]) -> Ints | None:
    """Return whom the searches of a campaign found; None: it made none. `other`: other names of accounts."""
    if not count_searches(traces.connection, campaign.id):
        return None
    return np.unique(_map_ends(read_links(traces.connection, campaign.id, ("search",)), other)[1])


def resolve_alias(other: Mapping[int, int], node: int) -> int:
    """Return the account itself, where a number is another name of it."""
    seen = set()
    while node in other and node not in seen:
        seen.add(node)
        node = other[node]
    return node


def _count_given(nodes: Sequence[int], given: AccountList) -> Counter[int]:
    """Return the occurrences in the posts of a list, by the numbers of its accounts."""
    found: Counter[int] = Counter()
    for node, who in zip(nodes, given.whos, strict=True):
        if who in given.occurrences:
            found[node] += given.occurrences[who]
    return found


def _judge_accounts(judge: TopicJudge, numbered: Mapping[int, Who], hits: Mapping[int, int]) -> list[bool | None]:
    """Return whether each account is on topic.

    Of one that was never read, stray posts may say that it is, never that not.
    """
    strange = [node for node in numbered if node >= 0 and not judge.has_read(node)]
    stray = judge.count_stored(judge.traces, strange)
    read = {*find_read_nodes(judge.traces.connection, strange), *hits}
    most = {node: max(stray.get(node, 0), hits.get(node, 0)) for node in read}
    return [
        judge.judge(node, who, stray.get(node)) or judge.judge(node, who, most.get(node))
        for node, who in numbered.items()
    ]


def _note_unjudged(some: int, total: int, *, taken: bool, said: bool) -> str:
    """Return what is to be said of accounts of whom nobody can tell whether they are on topic."""
    if said:
        return f"{some:,} of its accounts were never read here: they are taken to be on topic, as is said of the file"
    if taken:
        return (
            f"{some:,} of its accounts were never read here: they are taken to be on topic, and the interval of the "
            "topic's size holds without them, too"
        )
    return (
        f"{some:,} of its {total:,} accounts were never read here, so that nobody can say how many are on topic, and "
        "how large that is: if all are, say --on-topic; or give a file of their posts, by which they are judged"
    )


def _judge_read(
    judge: TopicJudge,
    traces: CampaignTraces,
    campaign: StoredCampaign,
    every: Sequence[AccountReading],
    number: Mapping[int, int],
) -> tuple[dict[int, bool | None], list[str]]:
    """Return who of those read is on topic, by the numbers of the sample's database.

    And how that is known, sentences.
    """
    strange = [one for one in every if not judge.has_read(number[one.node])]
    alike = judge.has_same_topic(campaign)
    counted = {one.node: 0 for one in strange if alike or not one.posts}
    if alike:
        for one in strange:
            counted[one.node] += one.occurrences
    else:
        counted |= judge.count_stored(traces, [one.node for one in strange])
    calls = read_names(traces.connection, [one.node for one in every])
    says = {
        number[one.node]: judge.judge(number[one.node], calls.get(one.node, NOBODY), counted.get(one.node))
        for one in every
    }
    notes = [] if alike or not judge.predicate.least else [_describe_rule(judge, campaign)]
    if lost := sum(one is None for one in says.values()):
        notes.append(f"{lost:,} of its accounts have no posts in the database any more: they count as off topic")
    return says, notes


def _describe_rule(judge: TopicJudge, campaign: StoredCampaign) -> str:
    if judge.sample.whole.identity.get("topic") == campaign.identity.get("topic"):
        return "who of it is on topic is what the sample's tree says of the posts that are stored"
    return "its topic is another: who of it is on the sample's is told by the posts that are stored"


def _note_nameless(judge: TopicJudge, some: Sequence[Who]) -> list[str]:
    """Return what is to be said of accounts of the sample that a list of names cannot name."""
    nodes = judge.sample.held.node[judge.sample.seen.places].tolist()
    there = read_names(judge.traces.connection, nodes)
    without = sum(node not in there or there[node].username is None for node in nodes)
    if not without or all(who.id for who in some):
        return []
    message = f"{without:,} of the {len(nodes):,} accounts of the sample are known by their ids only"
    return [f"{message}: a list of names cannot hold them, so give ids instead"]


def _note_apart(judge: TopicJudge, on_topic: Sequence[int], ends: tuple[Ints, Ints]) -> list[str]:
    """Return notes on on-topic accounts that walks on topic may never come to, by all links that are known."""
    sample = judge.sample
    if sample.crawl.rules.focus != "hard" or sample.seen.verdict.whole:  # then it is known whom they come to
        return []
    own = _map_ends(read_links(judge.traces.connection, sample.whole.id), judge.aliases)
    whose, whom = (np.concatenate(pair) for pair in zip(ends, own, strict=True))
    on_topic = [node for node in on_topic if node not in judge.outside]
    topical = np.union1d(np.array(on_topic, np.int64), sample.held.node[sample.held.on_topic])
    both = np.isin(whose, topical) & np.isin(whom, topical)
    lonely = len(set(on_topic).difference(whose[both].tolist(), whom[both].tolist()))
    if not lonely:
        return []
    whose_links = pluralize(lonely, "on-topic account of it has", "on-topic accounts of it have")
    message = f"{whose_links} no known link with another one: walks on topic may never come there"
    less = f", so that the topic may be up to {lonely / len(on_topic):.0%} smaller than said"
    return [message + (less if sample.seen.verdict.enough else "")]


def _map_ends(ends: tuple[Ints, Ints], other: Mapping[int, int]) -> tuple[Ints, Ints]:
    """Return the links between two accounts, by the numbers that these turned out to have."""
    whose, whom = (_name_each(column, lambda node: resolve_alias(other, node)) for column in ends) if other else ends
    return whose[whose != whom], whom[whose != whom]


def _map_links(ends: tuple[Ints, Ints], number: Mapping[int, int]) -> tuple[Ints, Ints]:
    """Return the same links between those accounts that have numbers."""
    there = np.isin(ends[0], np.array([*number], np.int64))
    return _name_each(ends[0][there], number.__getitem__), _name_each(ends[1][there], number.__getitem__)


def _number_nodes(nodes: Ints, number: Mapping[int, int]) -> Ints:
    return np.unique(_name_each(nodes, number.__getitem__))


def _name_each(nodes: Ints, called: Callable[[int], int]) -> Ints:
    values, which = np.unique(nodes, return_inverse=True)
    return np.fromiter(map(called, values.tolist()), np.int64, len(values))[which]


def _unite(parts: Sequence[Ints | None]) -> Ints | None:
    there = [one for one in parts if one is not None]
    return np.unique(np.concatenate(there)) if there else None
