"""Why an account was asked, or was not: the campaign is folded up to the decision, and the estimator asked again.

Nothing is taken from memory: score, rank, features and weights come out of the stored history, as they did then. What
was stored with the decision has to be the same, bit for bit; `Decision.agrees` says whether it is.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from socialcrawl.campaign.sections.access import READING_KEYS
from socialcrawl.campaign.settings import Settings, check_settings
from socialcrawl.crawls.base import remember_seeds
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import BreadthFirst, Estimator, Hybrid, Linear, Neighbourhood
from socialcrawl.crawls.collect.estimators.adaptive import FEATURES, Adaptive
from socialcrawl.crawls.collect.estimators.added import AddedEstimator
from socialcrawl.crawls.collect.estimators.base import ScoreTerms
from socialcrawl.crawls.collect.make import make_collect
from socialcrawl.crawls.seeds import TRIES
from socialcrawl.engine.draws import STEERED, assign_arms
from socialcrawl.engine.model import FIRST_READS, Act, Node, Pick, Reason, SameAs
from socialcrawl.engine.protocols import NEVER
from socialcrawl.graph.graph import COLUMNS, NO_ROWS, Rows
from socialcrawl.platforms.facts import DEFAULT
from socialcrawl.platforms.registry import find_platform
from socialcrawl.storage.erasure.ownership import find_similar_names
from socialcrawl.storage.queries.traces import AccountVisit, CampaignTraces, IncomingLink, StoredCampaign
from socialcrawl.storage.versions import find_version

_SCORED: WeakKeyDictionary[Collect, tuple[int, Rows, NDArray[np.float64]]] = WeakKeyDictionary()
"""Of crawls that are in use: after how many decisions their frontiers were scored, the rows, and their scores."""
NO_SCORES = np.empty(0)
KEPT = ("name", "seed", "topic", "seeds", "crawl")  # the settings on which a decision rests


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One part of a score: `weight` times `value`; a score is the sum of its parts and an intercept."""

    name: str
    value: float
    weight: float

    @property
    def share(self) -> float:
        """What it adds to the score."""
        return self.weight * self.value


@dataclass(frozen=True, slots=True)
class MentionerRecord:
    """What was known of the accounts that link to an account.

    Attributes:
        relevant: how many of them had a relevance above 0, of `all`.
        all: how many they were.
        others: how many links of the relevant ones led to other accounts that had been read.
        hits: how many of `others` led to one with a relevance above 0.
    """

    relevant: int
    all: int
    others: int
    hits: int


@dataclass(frozen=True, slots=True)
class Decision:
    """The place of an account among all that could have been asked.

    Attributes:
        taken: steps done before.
        score: the estimate of the account, rescanned.
        rank: 1 for the best; of equals the one discovered first.
        frontier: how many could have been asked.
        best: the highest score, and whose it is.
        features: by name, as `graph.COLUMNS`.
        turn: the estimator that spoke.
        intercept, parts: how the score is made; no parts where the estimator is no sum.
        mentioners: those who linked to it.
        drawn: how the account was drawn for comparison (`[crawl] control`), as `draws.assign_arms`; 0: it was not.
        agrees: whether score and features are those that were stored with the pick; None: there is no pick.
        why: where they are not, what happened to the history after the decision.
    """

    taken: int
    score: float
    rank: int
    frontier: int
    best: tuple[float, Node]
    features: dict[str, float]
    turn: str
    intercept: float
    parts: list[ScorePart]
    mentioners: MentionerRecord
    drawn: int = STEERED
    agrees: bool | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that a campaign knows of one account, and why it was asked or not.

    `state` is unknown | forgotten | stranger (the database has it, the campaign never met it) | asked | seed | import |
    open (its answer is awaited) | same (it turned out to be `same`) | looked-up (as a seed, and not to be read) |
    waiting (a seed whose turn comes) | unchosen (a search found it, when there were seeds enough) | resting (it failed,
    and is offered again) | frontier | closed (linked to, but out). `rests_until` is a pick.n. `asks` are the decisions
    to ask it; `decision` is about the last one that was a choice, or about now; `links` are those known by then;
    `names` say how nodes are called; `together` is the refresh rate r. `epochs` have (number, first pick.n, when, why);
    `versions` of the settings (number, first pick.n, when, keys that changed), `version` is the one explained with.
    `platform` is that of the campaign; `alike` are accounts that an unknown name without its domain may mean. `capture`
    is the capture that the campaign follows: of an account that it brought, a decision of act `captured` says what was
    held of its posts. That is partial evidence; such an account is still in the frontier.
    """

    campaign: str
    user: str
    state: str
    estimator: str = ""
    strategy: str = ""
    together: int = 1
    steps: int | None = None
    node: Node | None = None
    asks: Sequence[AccountVisit] = ()
    decision: Decision | None = None
    links: Sequence[IncomingLink] = ()
    same: Node | None = None
    rests_until: int | None = None
    names: dict[Node, str] | None = None
    why: str | None = None
    epochs: Sequence[tuple[int, int, str, str]] = ()
    version: int = 0
    versions: Sequence[tuple[int, int, str, Sequence[str]]] = ()
    platform: str = DEFAULT.name
    alike: Sequence[str] = ()
    capture: str | None = None


def explain(
    traces: CampaignTraces,
    campaign: StoredCampaign,
    user: str,
    hold: Callable[[], AbstractContextManager[Collect]] | None = None,
) -> Explanation:
    """Return why a campaign asked `user`, a username or an id, or why it did not.

    Args:
        traces: the database.
        campaign: a campaign of it.
        user: the account.
        hold: yields its crawl, with all of its history; None: it is rebuilt.

    Raises:
        SettingsError: its settings are not understood.
    """
    user = find_platform(campaign.platform).normalize(user.strip().removeprefix("@"))
    held = traces.find_account(campaign, user)
    if held is None or held.forgotten_at is not None:
        why = traces.find_tombstone(campaign.platform, user)
        gone = held is not None or why is not None
        near = () if gone else find_similar_names(traces.connection, campaign.platform, user)
        state = "forgotten" if gone else "unknown"
        return Explanation(campaign.name, user, state, why=why, platform=campaign.platform, alike=near)
    case = _Case(traces, campaign, user, held.node)
    if hold is None or case.before != NEVER:
        return case.explain()
    with hold() as crawl:
        case.crawl, case.is_folded = crawl, True
        return case.explain()


def explain_frontier(
    traces: CampaignTraces, campaign: StoredCampaign, crawl: Collect, nodes: Sequence[Node]
) -> list[Explanation]:
    """Return why accounts of the frontier may be read next.

    Args:
        traces: the database.
        campaign: a campaign of it.
        crawl: its crawl, with all of its history.
        nodes: accounts of the frontier.
    """
    names = traces.read_names(nodes)
    links = traces.read_links(campaign.id, nodes, NEVER)  # which has to look at all links
    return [_Case(traces, campaign, names[node], node, crawl, links=links[node]).explain() for node in nodes]


def list_unread_seeds(traces: CampaignTraces, campaign: str | None = None, most: int = 10) -> list[tuple[str, str]]:
    """Return the first `most` named seeds that a campaign (the newest by default) could never read, with reasons.

    Raises:
        StoreError: there is no such campaign.
    """
    stored = traces.read_campaign(campaign)
    found: list[tuple[str, str]] = []
    for name in filter(None, map(_find_seed_name, stored.identity["seeds"]["usernames"])):
        held = traces.find_account(stored, name) if len(found) < most else None
        asks = traces.read_visits(stored.id, held.node) if held is not None else []
        tried = [ask for ask in asks if ask.act not in (Act.RESOLVE, Act.CAPTURED)]
        read = any(ask.at is not None and ask.missing is None for ask in tried)
        why = asks[-1].reason if asks and not read else None
        if isinstance(why, Reason):
            found.append((name, why))
    return found


def _find_seed_name(slot: Any) -> str | None:
    """Return the name of a seed, as it is looked up; None where it was forgotten."""
    return slot.strip().removeprefix("@") if isinstance(slot, str) else None


def rebuild_collect(settings: Settings, names: Sequence[Node], topics: Sequence[int] = ()) -> Collect:
    """Return the crawl that the settings of a campaign make, with nothing absorbed; nobody is to be asked with it.

    Args:
        settings: those of the campaign.
        names: the accounts it named.
        topics: the first pick.n under each new topic.
    """
    return make_collect(settings, remember_seeds(settings, names, topics), watched=False)


def _score_frontier(crawl: Collect) -> tuple[Rows, NDArray[np.float64]]:
    """Return the rows of the frontier in order of discovery, and their scores, computed once for each state."""
    picks, rows, scores = _SCORED.get(crawl, (-1, NO_ROWS, NO_SCORES))
    if picks != crawl.picks:
        rows = crawl.graph.frontier()
        scores = crawl.estimator.score(crawl.graph, rows, crawl.taken)
        _SCORED[crawl] = crawl.picks, rows, scores
    return rows, scores


class _Case:
    """One account of one campaign; `folded` has all of the campaign's history, where somebody folded it before.

    `links` are those to the account, where somebody read them before.
    """

    def __init__(
        self,
        traces: CampaignTraces,
        begun: StoredCampaign,
        user: str,
        node: Node,
        folded: Collect | None = None,
        *,
        links: Sequence[IncomingLink] | None = None,
    ) -> None:
        self.traces, self.begun, self.user, self.node = traces, begun, user, node
        self.asks = traces.read_visits(begun.id, node)
        self.epochs, self.versions = traces.read_epochs(begun.id), traces.read_versions(begun)
        chosen = [ask for ask in self.asks if ask.act in FIRST_READS and ask.search is None]
        made = [] if self._is_retried() else chosen
        self.n = made[-1].n if made else None
        self.before = made[-1].batch if made else NEVER
        self.version = find_version(self.versions, self.before)
        self.settings = self._find_settings(self.version.settings)
        self.is_folded = folded is not None and self.before == NEVER
        if folded is None or not self.is_folded:
            names = traces.read_seeds(begun.platform, begun.identity["seeds"]["usernames"])
            folded = rebuild_collect(self.settings, names, traces.read_topics(begun.id))
        self.crawl = folded
        self.links, self.searched = links, False

    def _find_settings(self, values: dict[str, Any]) -> Settings:
        """Return the settings on which a decision rests, of those that are stored."""
        kept = ("platform", "vocabulary", *READING_KEYS, "pages_per_user")
        source = {key: values["source"][key] for key in kept if key in values["source"]}
        given = {key: values[key] for key in KEPT} | {"source": source}
        # What a file named, and whoever was forgotten, has a slot in the identity.
        given["seeds"] = given["seeds"] | {"file": None, "usernames": []}
        return check_settings(given, f"the settings of the campaign {self.begun.name!r}")

    def explain(self) -> Explanation:
        """Return everything about it."""
        if not self.is_folded:
            self._fold(self.before)
        links = self._list_links(self.before)
        decision = self._explain_decision(self.n, links)
        last = self.asks[-1].reason if self.asks else None
        same = last.node if isinstance(last, SameAs) else None
        state = self._find_state(met=bool(links or decision))
        everybody = [self.node, *(link.source for link in links), *([] if same is None else [same])]
        return Explanation(
            self.begun.name,
            self.user,
            state,
            self.settings.crawl.estimator,
            self.settings.crawl.strategy,
            self.settings.crawl.together or 1,
            self.settings.crawl.steps,
            self.node,
            self.asks,
            decision,
            links,
            same,
            self.crawl.resting.get(self.node) if state == "resting" else None,
            self.traces.read_names(everybody + ([decision.best[1]] if decision else [])),
            None,
            self.epochs,
            self.version.number,
            [(one.number, one.first, one.at, one.changed) for one in self.versions],
            self.begun.platform,
            capture=self.settings.seeds.capture,
        )

    def _fold(self, before: int) -> None:
        """Bring the crawl to where it was when the batch `before` was chosen."""
        end = None if before == NEVER else before
        self.crawl.fold(self.traces.read_history(self.begun, end=end))

    def _find_state(self, *, met: bool) -> str:
        seeds = self.crawl.seeds
        asks = [ask for ask in self.asks if ask.act != Act.CAPTURED]
        looked_up = not asks or asks[-1].act == Act.RESOLVE
        if (looked_up or self._is_retried()) and (self.node in seeds.ready or self.node in seeds.unresolved):
            return "waiting"
        if not asks:
            return "frontier" if self._is_open() else "closed" if met else "unchosen" if self.searched else "stranger"
        last = asks[-1]
        if last.at is None:
            return "open"
        if isinstance(last.reason, SameAs):
            return "same"
        if last.act == Act.RESOLVE or self._is_retried():
            return "frontier" if self._is_open() else "resting" if self.node in self.crawl.resting else "looked-up"
        return "asked" if last.act in (*FIRST_READS, Act.PAGE) else last.act

    def _is_retried(self) -> bool:
        """Return whether its last answer was none, so that it is offered again."""
        tried = [ask.missing for ask in self.asks if ask.act in (Act.SEED, *FIRST_READS)]
        away = Reason.TEMPORARY
        return bool(tried) and tried[-1] == away == self.asks[-1].missing and tried.count(away) < TRIES

    def _is_open(self) -> bool:
        row = self._find_row()
        return row >= 0 and bool(self.crawl.graph.is_open(np.array([row]))[0])

    def _find_row(self) -> int:
        """Return the row of the account in the graph; -1 where it is not known."""
        rows = np.flatnonzero(self.crawl.graph.nodes() == self.node)
        return self.crawl.graph.row(self.node) if len(rows) else -1

    def _explain_decision(self, n: int | None, links: Sequence[IncomingLink]) -> Decision | None:
        graph, estimator, taken = self.crawl.graph, self.crawl.estimator, self.crawl.taken
        if not self._is_open():
            return None
        (rows, scores), row = _score_frontier(self.crawl), self._find_row()
        place = int(np.searchsorted(rows, row))
        score = float(scores[place])
        ahead = int((scores > score).sum()) + int((scores[:place] == score).sum())
        best = int(np.argmax(scores))
        features = dict(zip(COLUMNS, graph.features(row), strict=True))
        speaks = _find_turn(estimator, taken)
        terms = speaks.get_terms(taken)
        agrees = None if n is None else self._is_as_stored(n, score, features)
        return Decision(
            taken,
            score,
            ahead + 1,
            len(rows),
            (float(scores[best]), graph.node(int(rows[best]))),
            features,
            _find_name(speaks, estimator),
            terms.intercept if terms else 0.0,
            _split_score(speaks, terms, self.crawl, row) if terms else [],
            self._count_mentioners(row, links),
            STEERED if n is None else self._find_arm(taken + n - self.before),
            agrees,
            self._explain_changes() if agrees is False else None,
        )

    def _count_mentioners(self, row: int, links: Sequence[IncomingLink]) -> MentionerRecord:
        """Return what was known of those who link to the account."""
        graph = self.crawl.graph
        found = {graph.row(link.source) for link in links if graph.is_fetched(link.source)}
        sources = np.array(sorted(found), np.int64)
        relevant = sources[graph.value(sources) > 0]
        reached = [graph.list_links(source)[0] for source in relevant.tolist()]
        values = graph.value(np.concatenate([NO_ROWS, *(rows[rows != row] for rows in reached)]))
        values = values[~np.isnan(values)]
        return MentionerRecord(len(relevant), len(sources), len(values), int((values > 0).sum()))

    def _find_arm(self, step: int) -> int:
        return int(assign_arms(self.settings.seed, self.settings.crawl.control, step, 1)[0])

    def _is_as_stored(self, n: int, score: float, features: dict[str, float]) -> bool:
        stored = self.traces.read_pick(self.begun.id, n)
        return stored == Pick(n, self.node, stored.act, score, tuple(features.values()))

    def _explain_changes(self) -> str:
        """Return what happened to the history after the decision."""
        later = [f"epoch {number} ({why}) began with decision {first:,}" for number, first, _, why in self.epochs
                 if first > self.before]  # fmt: skip
        return f"{', '.join(later)}: the history before is another one now" if later else "the history was changed"

    def _list_links(self, before: int) -> list[IncomingLink]:
        others = [node for node, n in self.traces.read_aliases(self.begun.id, self.node) if n < before]
        if self.links is None or others or before != NEVER:
            found = self.traces.read_links(self.begun.id, [self.node, *others], before)
            known = sorted((link for some in found.values() for link in some), key=lambda link: link.n)
        else:
            known = list(self.links)
        self.searched = any(link.act == Act.SEARCH for link in known)
        return [link for link in known if link.act != Act.SEARCH]


def _find_turn(estimator: Estimator, taken: int) -> Estimator:
    if isinstance(estimator, Hybrid):
        return estimator.start if taken < estimator.switch_after else estimator.then
    return estimator


def _find_name(speaks: Estimator, combined: Estimator) -> str:
    name = type(speaks).__name__
    if isinstance(speaks, Neighbourhood):
        name = f"nh-{speaks.feature.replace('_', '-')}"
    elif isinstance(speaks, Linear):
        name = f"linear in {', '.join(speaks.features)}"
    elif isinstance(speaks, Adaptive):
        name = "adaptive"
    elif isinstance(speaks, AddedEstimator):
        name = speaks.name
    if not isinstance(combined, Hybrid):
        return name
    return f"{name} (the {'first' if speaks is combined.start else 'second'} half of the hybrid)"


def _split_score(speaks: Estimator, terms: ScoreTerms, crawl: Collect, row: int) -> list[ScorePart]:
    values = terms.values(crawl.graph, np.array([row], np.int64))[:, 0].tolist()
    names: Sequence[str] = [type(speaks).__name__.lower()]
    if isinstance(speaks, Linear):
        names = speaks.features
    elif isinstance(speaks, Neighbourhood):
        names = [speaks.feature]
    elif isinstance(speaks, BreadthFirst):
        names = ["1 / (depth + 1)"]
    elif isinstance(speaks, Adaptive):
        names = FEATURES
    return [ScorePart(name, value, weight) for name, value, weight in zip(names, values, terms.weights, strict=True)]
