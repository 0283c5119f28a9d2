"""What a campaign that tracks accounts knows, for people: standings, who rose and who fell, yields, freshness.

All of it follows from the stored picks and outcomes, folded by the crawl that made them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan

import numpy as np

from socialcrawl.campaign.settings import Settings, load_stored
from socialcrawl.crawls.base import remember_seeds
from socialcrawl.crawls.trace import find_account
from socialcrawl.crawls.track.crawl import Track
from socialcrawl.crawls.track.make import make_track
from socialcrawl.crawls.track.rank_changes import AccountRanks, compare, number_places
from socialcrawl.crawls.track.tracked_graph import COLUMNS, CRAWLED
from socialcrawl.engine.model import Act, Node, Outcome
from socialcrawl.engine.protocols import Batch
from socialcrawl.storage.queries.statistics import sum_spending
from socialcrawl.storage.queries.traces import AccountVisit, CampaignTraces, StoredCampaign

DAY = 86_400.0
WEEK = 7 * DAY  # what lies between then and now, where the campaign has no window
VISITS = (Act.SEED, Act.EXPAND, Act.RECRAWL)


@dataclass(frozen=True, slots=True)
class RankedAccount:
    """An account in the order of the campaign's target, now and then.

    Attributes:
        account: its name.
        weight: importance, in-degree or relevance.
        place: 1 for the most.
        before: its place then; None: it was not known.
        chance: the range of places now that 95 % of moves by chance lead to; None: it was not compared.
        id: the platform's own id of it; None: nobody knows.
        visited_at: when it was last read, Unix seconds; None: never.
        visits: how often it was read.
    """

    account: str
    weight: float
    place: int
    before: int | None
    visited_at: float | None
    visits: int
    chance: tuple[int, int] | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class VisitYield:
    """What visits of one kind brought for their requests.

    Attributes:
        act: expand or recrawl.
        visits: how many.
        requests: sent for them.
        links: new ones that they found, as `[track] parallel` counts them.
        posts: that they read.
    """

    act: str
    visits: int
    requests: int
    links: int
    posts: int


@dataclass(frozen=True, slots=True)
class TrackReport:
    """A campaign that tracks accounts, as of its latest visit.

    Attributes:
        target: what its weights are.
        seen: when somebody looked, Unix seconds; ages are as of then.
        now: when the latest visit was; then: what it is compared with.
        top: the most important accounts.
        rose, fell: of those that were among the first hundred then or are now, those that moved further than chance.
        compared, moved: how many were compared, and how many of them moved so.
        yields: of first visits and returns.
        age: mean age in seconds of what is held of an account, weighted by importance; None: nobody was read.
        plain_age: the same, each account weighing the same.
        gone: how many accounts could not be read when last asked, by why.
        posts: that each visit brought, in order.
        young: `[track] memory` and OPIC's clock, where the clock has not run so long; importance is then that of all
            history.
    """

    target: str
    seen: float
    now: float
    then: float
    top: Sequence[RankedAccount]
    rose: Sequence[RankedAccount]
    fell: Sequence[RankedAccount]
    yields: Sequence[VisitYield]
    age: float | None
    plain_age: float | None
    gone: dict[str, int] = field(default_factory=dict)
    posts: Sequence[int] = ()
    compared: int = 0
    moved: int = 0
    young: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """One decision to visit an account, and what it brought.

    Attributes:
        n: its number.
        act: seed, expand or recrawl (or resolve, a look-up).
        score: what won.
        features: what was known of the account then, by the names of `tracked_graph.COLUMNS`.
        since: the mark that it asked from; "": everything.
        at: when it was answered, ISO 8601; None: it is open.
        posts, occurrences: what was new.
        missing: why it could not be read, if so.
    """

    n: int
    act: str
    score: float
    features: dict[str, float]
    since: str
    at: str | None
    posts: int | None
    occurrences: int | None
    missing: str | None


@dataclass(frozen=True, slots=True)
class VisitHistory:
    """An account of a campaign that tracks; `place` is where it stands now, None where it has no place.

    `capture` is the capture that the campaign follows: what was held of the account when that brought it is among the
    visits, with the act `captured`. That is partial evidence, and no visit.
    """

    campaign: str
    account: str
    target: str
    place: RankedAccount | None
    visits: Sequence[Visit]
    capture: str | None = None


def explain_visits(traces: CampaignTraces, campaign: StoredCampaign, user: str) -> VisitHistory:
    """Return why and when a campaign that tracks visited `user`, a username or id.

    Raises:
        SettingsError: its settings are not understood, or it does not know the account.
    """
    whom = find_account(traces, campaign, user)
    settings = _load_settings(traces, campaign)
    crawl = rebuild_track(settings, traces, campaign)
    crawl.fold(traces.read_history(campaign, COLUMNS))
    order = crawl.rank_nodes()
    place = next((i for i, (node, _) in enumerate(order, 1) if node == whom), None)
    name = traces.read_names([whom])[whom]
    stands = None if place is None else _place_account(crawl, whom, name, (order[place - 1][1], place, None))
    return VisitHistory(
        campaign.name,
        name,
        settings.track.target,
        stands,
        [_make_visit(traces, campaign, ask) for ask in traces.read_visits(campaign.id, whom)],
        settings.seeds.capture,
    )


def _make_visit(traces: CampaignTraces, campaign: StoredCampaign, ask: AccountVisit) -> Visit:
    pick = traces.read_pick(campaign.id, ask.n, COLUMNS)
    features = dict(zip(COLUMNS, pick.x, strict=False))
    return Visit(ask.n, ask.act, ask.score, features, pick.since, ask.at, ask.posts, ask.occurrences, ask.missing)


def _place_account(crawl: Track, node: Node, name: str, stands: tuple[float, int, int | None]) -> RankedAccount:
    row = crawl.graph.row(node)
    at, visits = crawl.graph.last_at[row], int(crawl.graph.lists["visits"][row])
    return RankedAccount(name, *stands, None if isnan(at) else at, visits)


def _load_settings(traces: CampaignTraces, campaign: StoredCampaign) -> Settings:
    return load_stored(traces.read_versions(campaign)[-1].settings, f"the campaign {campaign.name!r}")


def report_track(
    traces: CampaignTraces, campaign: StoredCampaign, top: int = 15, seen: float | None = None
) -> TrackReport:
    """Return what a campaign that tracks knows.

    Args:
        traces: the database.
        campaign: the campaign.
        top: how many accounts are listed.
        seen: the present, Unix seconds; None: the latest visit.

    Raises:
        SettingsError: its settings are not understood.
    """
    settings = _load_settings(traces, campaign)
    first, now = traces.read_span(campaign)
    then = now - min(settings.track.width or WEEK, (now - first) / 2)  # a young campaign is compared with its half
    course = _FoldedVisits(rebuild_track(settings, traces, campaign), then)
    for batch, outcomes in traces.read_history(campaign, COLUMNS):
        course.go_on(batch, outcomes)
    sent = {act: requests for act, (requests, _) in sum_spending(traces.connection, campaign.name).items()}
    return _summarize(
        course, _compute_yields(course.visits, sent), (then, now, seen or now), traces, top, seed=settings.seed
    )


class _FoldedVisits:
    """A campaign folded, visit by visit; `before` is the order of all accounts at the instant `then`."""

    def __init__(self, crawl: Track, then: float) -> None:
        self.crawl, self.then = crawl, then
        self.before: AccountRanks | None = None
        self.visits: list[tuple[str, int, int]] = []  # act, posts, new links

    def go_on(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Fold a batch."""
        if self.before is None and outcomes[-1].at > self.then:
            self.before = self.rank_accounts()
        linked = [self._count_links(pick.node) for pick in batch]
        self.crawl.absorb(batch, outcomes)
        for pick, outcome, links in zip(batch, outcomes, linked, strict=True):
            if pick.act in VISITS:
                new = self._count_links(pick.node) - links if outcome.missing is None else 0.0
                self.visits.append((pick.act, outcome.posts, round(new)))

    def rank_accounts(self) -> AccountRanks:
        """Return the accounts as they are now."""
        graph = self.crawl.graph
        rows, of_rows = self.crawl.list_weights()
        weights, places = np.zeros(graph.size), np.zeros(graph.size, np.int64)
        weights[rows], places[rows] = of_rows, number_places(of_rows)
        return AccountRanks(graph.column("indegree"), weights, places)

    def _count_links(self, node: Node) -> float:
        return self.crawl.graph.at(self.crawl.graph.row(node), "outlinks")


def rebuild_track(settings: Settings, traces: CampaignTraces, campaign: StoredCampaign) -> Track:
    """Return the crawl that the settings of a campaign make, with nothing absorbed; nobody is to be asked with it."""
    names = traces.read_seeds(campaign.platform, campaign.identity["seeds"]["usernames"])
    return make_track(settings, remember_seeds(settings, names, traces.read_topics(campaign.id)))


def _summarize(
    course: _FoldedVisits,
    yields: Sequence[VisitYield],
    span: tuple[float, float, float],
    traces: CampaignTraces,
    top: int,
    *,
    seed: int,
) -> TrackReport:
    crawl, now = course.crawl, course.rank_accounts()
    before = course.before or now  # nothing happened since
    moves = compare(before, now, seed)
    ranges = dict(zip(moves.rows.tolist(), zip(moves.low.tolist(), moves.high.tolist(), strict=True), strict=True))
    first = [crawl.graph.row(node) for node, _ in crawl.rank_nodes(top)]
    rose, fell = (moves.rows[some][:top].tolist() for some in (moves.rose, moves.fell))
    shown = [crawl.graph.nodes[row] for row in (*first, *rose, *fell)]
    called, ids = traces.read_names(shown), traces.read_ids(shown)

    def make_ranked(row: int) -> RankedAccount:
        node = crawl.graph.nodes[row]
        was = int(before.places[row]) if row < len(before.places) else 0
        stands = float(now.weights[row]), int(now.places[row]), was or None
        return replace(_place_account(crawl, node, called[node], stands), chance=ranges.get(row), id=ids[node])

    best, risen, fallen = ([make_ranked(node) for node in some] for some in (first, rose, fell))
    weighted, plain = _compute_ages(crawl, span[2])
    return TrackReport(
        target=crawl.target.name,
        seen=span[2],
        now=span[1],
        then=span[0],
        top=best,
        rose=risen,
        fell=fallen,
        yields=yields,
        age=weighted,
        plain_age=plain,
        gone=dict(Counter(crawl.gone.values())),
        posts=[posts for _, posts, _ in course.visits],
        compared=len(moves.rows),
        moved=len(moves.rose) + len(moves.fell),
        young=_find_young(crawl),
    )


def _find_young(crawl: Track) -> tuple[float, float] | None:
    """Return the memory and the clock of a crawl whose clock has not run so long; None: it has, or remembers all."""
    accounts, memory = crawl.graph.accounts, crawl.target.memory
    if accounts is None or memory is None or not accounts.remembers_all:
        return None
    return memory, accounts.cash.paid


def _compute_ages(crawl: Track, now: float) -> tuple[float | None, float | None]:
    """Return the mean age of what is held of an account that was read, weighted by importance and not."""
    read = crawl.graph.rows(CRAWLED)
    if not len(read):
        return None, None
    ages = now - np.array(crawl.graph.last_at)[read]
    weights = crawl.compute_importance(read)
    weighted = float(np.average(ages, weights=weights)) if weights.sum() > 0 else None
    return weighted, float(ages.mean())


def _compute_yields(visits: Sequence[tuple[str, int, int]], sent: Mapping[str, int]) -> list[VisitYield]:
    """Return what visits brought: first ones, seeds included, and returns."""
    found = []
    for shown, acts in (("expand", ("seed", "expand")), ("recrawl", ("recrawl",))):
        some = [(posts, links) for act, posts, links in visits if act in acts]
        requests = sum(sent.get(act, 0) for act in acts)
        found.append(
            VisitYield(shown, len(some), requests, sum(links for _, links in some), sum(posts for posts, _ in some))
        )
    return found
