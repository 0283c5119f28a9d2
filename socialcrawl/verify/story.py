"""What the decisions of a campaign rest on beside its history: its settings, each time they changed, and its seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from socialcrawl.campaign.plan import make_word_topic
from socialcrawl.campaign.policies import load_policy
from socialcrawl.campaign.sections.access import READING_KEYS
from socialcrawl.campaign.settings import Settings, load_stored
from socialcrawl.crawls.base import Crawling, CrawlKind, remember_seeds
from socialcrawl.crawls.facts import DEFAULT, KINDS
from socialcrawl.crawls.registry import find_kind, kind_of
from socialcrawl.engine.model import Node
from socialcrawl.engine.protocols import NEVER
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.platforms.base import Terms
from socialcrawl.platforms.registry import platform_of
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.erasure.orders import WHY as FORGET
from socialcrawl.storage.queries.decisions import find_first_picks, find_searches, read_aliases
from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign
from socialcrawl.storage.versions import RUNNING, Version, find_next_pick

ERASING = {FORGET, "retain"}  # why epochs began after which something is not there
STEERING = {"kind", "seed", "topic", "seeds", "crawl", "source", *KINDS.built_in}
"""The sections of the settings by which a crawl decides, besides the section of an added kind."""


@dataclass(frozen=True, slots=True)
class SettingsStage:
    """A campaign while its settings stayed as they were.

    Attributes:
        first: the number of the pick from which on.
        settings: without a bound on its steps.
        names: the accounts that it named, in order; queries: its searches.
    """

    first: int
    settings: Settings
    names: Sequence[Node]
    queries: Sequence[Node]

    def make_crawl(self, topics: Sequence[int]) -> Crawling:
        """Return its crawl, with nothing absorbed."""
        seeds = remember_seeds(self.settings, self.names, topics, self.queries)
        return kind_of(self.settings).make_crawl(self.settings, seeds, mark=self._make_mark())

    def _make_mark(self) -> Callable[[float], str]:
        """Return how the platform marks an instant."""
        prices = load_policy(self.settings.source.platform)
        base = self.settings.source.base_url or prices.base_url
        terms = Terms(self.settings, make_word_topic(self.settings), prices, base)
        return platform_of(self.settings).make_source(terms, [], 0.0).mark


@dataclass(frozen=True, slots=True)
class CampaignRecord:
    """A campaign, as far as its decisions rest on it.

    Attributes:
        begun: as the database has it.
        stages: its settings, each time those changed that steer it; the oldest first.
        topics: the first pick.n under each new topic.
        erased: the first pick.n that was decided after everything that was erased.
        same: accounts that turned out to be another one.
        settings: the newest, as they are stored.
        renamed: how many names of seeds lead to nobody who was asked, as names change hands.
    """

    begun: StoredCampaign
    stages: Sequence[SettingsStage]
    topics: Sequence[int]
    erased: int
    same: Mapping[Node, Node]
    settings: Mapping[str, Any]
    renamed: int = 0

    @property
    def kind(self) -> CrawlKind:
        """The kind of the campaign."""
        return kind_of(self.stages[-1].settings)

    @property
    def since(self) -> int:
        """The first pick.n whose values are of the topic as it is now."""
        return max(self.topics, default=0)

    @property
    def columns(self) -> Sequence[str]:
        """The names of the features of its picks."""
        return self.kind.features

    def find_stage(self, n: int) -> SettingsStage:
        """Return the stage in which pick `n` was decided."""
        return [one for number, one in enumerate(self.stages) if one.first <= n or not number][-1]

    def resolve_node(self, node: Node) -> Node:
        """Return the account that `node` turned out to be."""
        seen = {node}
        while (other := self.same.get(node, node)) not in seen:
            seen.add(other)
            node = other
        return node


def read_story(connection: Opened, name: str) -> CampaignRecord:
    """Return the story of a campaign; called in a transaction.

    Raises:
        StoreError: there is no such campaign, or its settings are not understood.
    """
    traces = CampaignTraces(connection)
    begun = traces.read_campaign(name)
    same, epochs, topics = (
        read_aliases(connection, begun.id),
        traces.read_epochs(begun.id),
        traces.read_topics(begun.id),
    )
    erased = [first for _, first, _, why in epochs if ERASING & {*why.split(",")}]
    if epochs and epochs[-1][3] == RUNNING:  # what it decided since rests on what it still knew
        erased.append(find_next_pick(connection, begun.id))
    slots = (begun.identity.get("seeds") or {}).get("usernames") or []
    names = traces.read_seeds(begun.platform, slots)
    lines = _FirstPicks(names, same, find_first_picks(connection, begun.id), find_searches(connection, begun.id))
    known = traces.read_versions(begun)
    stages = _make_stages(begun, known, lines)
    lost = len(slots) - len(stages[-1].names)
    return CampaignRecord(begun, stages, topics, max(erased, default=0), same, known[-1].settings, lost)


@dataclass(frozen=True, slots=True)
class _FirstPicks:
    """Whom and what a campaign was to ask first: `names` as they are now, and the first pick of each node."""

    names: Sequence[Node]
    same: Mapping[Node, Node]
    first: Mapping[int, int]
    searched: Sequence[Node]

    def find_names(self, before: int) -> list[Node]:
        """Return the seeds that were named before pick `before`: others came later, or belong to other accounts now.

        Seeds that are named are read before an estimator chooses any account.
        """
        others: dict[Node, list[Node]] = {}
        for node, target in self.same.items():
            others.setdefault(target, []).append(node)
        return [
            one for one in self.names if min(self._find_first(node) for node in [one, *others.get(one, ())]) < before
        ]

    def find_queries(self, before: int) -> list[Node]:
        """Return the searches that were made before pick `before`."""
        return [node for node in self.searched if self._find_first(node) < before]

    def _find_first(self, node: Node) -> int:
        return self.first.get(node, NEVER)


def _make_stages(begun: StoredCampaign, versions: Sequence[Version], lines: _FirstPicks) -> list[SettingsStage]:
    kept: list[tuple[int, dict[str, Any]]] = []
    for one in versions:
        values = _select_steering(one.settings)
        if not kept or kept[-1][1] != values:
            kept.append((one.first, values))
    ends = [*(first for first, _ in kept[1:]), NEVER]
    origin = f"the settings of the campaign {begun.name!r}"
    try:
        settings = [load_stored(values, origin) for _, values in kept]
    except SettingsError as error:
        raise StoreError(f"{error} Verify it with the version of socialcrawl that ran it.") from error
    return [
        SettingsStage(first, one, lines.find_names(end), lines.find_queries(end))
        for (first, _), one, end in zip(kept, settings, ends, strict=True)
    ]


def _select_steering(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of the settings decides: no bound on steps, no batch size, no token, no file of seeds, no `follow`.

    Accounts that a file named, and forgotten ones, have a slot in the identity.
    """
    own = {"name", settings.get("kind")}
    values = {key: value for key, value in settings.items() if key in STEERING | own}
    source = settings.get("source") or {}
    kept = ("platform", "vocabulary", "base_url", *READING_KEYS, "pages_per_user")
    values["source"] = {key: source[key] for key in kept if source.get(key) is not None}
    values["seeds"] = {**(settings.get("seeds") or {}), "file": None, "usernames": []}
    kind = find_kind(settings.get("kind", DEFAULT.name))
    if kind.facts.section is not None:
        values[kind.facts.name] = kind.restore_section(settings.get(kind.facts.name) or {})
    given = settings.get("crawl") or {}
    values["crawl"] = {key: value for key, value in given.items() if key not in ("steps", "refresh_rate", "follow")}
    return values
