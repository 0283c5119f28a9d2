"""The one place where the parts of a campaign are joined.

Where the file says `auto`, the refresh rate is chosen once, from the latency measured, and stored.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from socialcrawl.campaign import guarded_wire
from socialcrawl.campaign.captured_seeds import CaptureFollower, CaptureSource, find_capture
from socialcrawl.campaign.credentials import CampaignAccess, open_access
from socialcrawl.campaign.other_ledgers import follow_other_processes
from socialcrawl.campaign.plan import THREADS, Plan, make_plan
from socialcrawl.campaign.prompt_wire import PromptWire
from socialcrawl.campaign.settings import Settings
from socialcrawl.campaign.siblings import Siblings, unite
from socialcrawl.campaign.snapshot_writer import SnapshotWatcher
from socialcrawl.campaign.token_locks import TokenLeases
from socialcrawl.crawls.base import Crawling, CrawlKind
from socialcrawl.crawls.node_limit import NodeLimit
from socialcrawl.crawls.registry import kind_of
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.clock import InterruptibleClock, Steady
from socialcrawl.engine.loop import Parts
from socialcrawl.engine.model import Credential, Node, Stop, Wait
from socialcrawl.engine.protocols import Crawl, Informed, Planner, Source, Watcher
from socialcrawl.errors import HeldError
from socialcrawl.fleet.fleet_executor import FleetExecutor, FleetPlanner, take_fleet
from socialcrawl.fleet.shared_fleets import SharedFleets
from socialcrawl.fleet.worker_wires import WireSpec
from socialcrawl.platforms.base import Wired
from socialcrawl.platforms.excluding import ExcludingSource
from socialcrawl.platforms.focusing import FocusedSource
from socialcrawl.platforms.look_ups import LookAhead
from socialcrawl.platforms.searched_authors import SearchedAuthorsSource
from socialcrawl.platforms.slice_reading import BY_DEFAULT
from socialcrawl.ratelimit.batch_size import choose_batch_size, find_planning_latency
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Policy, parse_host
from socialcrawl.ratelimit.received_requests import LAG
from socialcrawl.ratelimit.retry import Backoff
from socialcrawl.ratelimit.shared_windows import Membership, SharedWindows
from socialcrawl.storage.answer_reuse import AnswerReuse
from socialcrawl.storage.campaigns import (
    QueryHistory,
    TopicChange,
    ensure_campaign,
    keep_refresh_rate,
    read_latencies,
    read_query_history,
    read_refresh_rate,
)
from socialcrawl.storage.counting_rule import CountingRule
from socialcrawl.storage.database.connection import Opened, connect, identify_database
from socialcrawl.storage.database.disk_space import DiskReserve, DiskSpaceGuard, Look, measure_disk
from socialcrawl.storage.database.lease import Lease
from socialcrawl.storage.erasure.tombstones import SkipForgottenSource
from socialcrawl.storage.imports.captured_authors import CapturedAuthors
from socialcrawl.storage.sql_store import SqlStore
from socialcrawl.storage.versions import read_latest_settings


@dataclass(slots=True)
class Pace:
    """What tells r when a batch is chosen: 1 as long as there are seeds to ask, whose replies tell the latency.

    Args:
        store: of the campaign, which keeps what was chosen.
        seeds: of its crawl, which say whether it is still at them.
        policy: the windows.
        credentials: the tokens, whose windows add up.
        timeline: the endpoint that most requests go to.
    """

    store: SqlStore
    seeds: Seeds
    policy: Policy
    credentials: tuple[Credential, ...]
    timeline: str
    chosen: int | None = None

    def __call__(self) -> int:
        """Return the refresh rate r of Algorithm 1 (Gouriten et al., section 3)."""
        if self.chosen is None:
            self.chosen = read_refresh_rate(self.store.connection, self.store.campaign) or self._measure()
        return self.chosen or 1

    def _measure(self) -> int | None:
        """Return what the replies so far say, once the seeds are done; None while they say too little."""
        if self.seeds.choose_next(1, lambda _: 1)[1]:
            return None
        latency = find_planning_latency(read_latencies(self.store.connection, self.store.campaign))
        rules = [self.policy.get_endpoint(self.timeline).get_rules(credential.kind) for credential in self.credentials]
        first = [several[0] for several in rules if several]
        if latency is None or not first:
            return None
        d = min(rule.d for rule in first)
        found = choose_batch_size(latency, max(1, round(sum(rule.k * d / rule.d for rule in first))), d)
        keep_refresh_rate(self.store.connection, self.store.campaign, found)
        return found


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """What the campaigns of one process share.

    Attributes:
        time: the clock.
        shared: the windows of their tokens.
        leases: the rights to use these.
        pool: makes the executor for this many requests in flight.
        disk: what looks at the disk of a database.
        fleets: the workers that send for them.
    """

    time: Steady
    shared: SharedWindows = field(default_factory=SharedWindows)
    leases: TokenLeases = field(default_factory=TokenLeases)
    pool: Callable[[int], Executor] = ThreadPoolExecutor
    disk: Look = measure_disk
    fleets: SharedFleets = field(default_factory=SharedFleets)


@dataclass(frozen=True, slots=True)
class OpenCampaign:
    """A campaign ready to run: its plan, and its parts under their own types."""

    settings: Settings
    plan: Plan
    parts: Parts
    crawl: Crawling
    planner: WindowPlanner
    clock: InterruptibleClock
    store: SqlStore
    lease: Lease
    access: CampaignAccess
    together: Callable[[], int]
    wire: Wired
    member: Membership

    @property
    def failing(self) -> bool:
        """Whether it waits out failures of the server."""
        return self.planner.backoff.since is not None

    def describe_absence(self) -> str | None:
        """Return why no worker sends its requests, once they have waited for a while; None: all is well."""
        planner = self.parts.planner
        return planner.describe_absence() if isinstance(planner, FleetPlanner) else None

    def claim_windows(self) -> None:
        """Claim a share of the windows that others use too."""
        self.member.claim_share()

    def release_windows(self) -> None:
        """Leave the windows to the others for now."""
        self.member.drop_claim()

    def keep(self, reason: Wait | Stop) -> None:
        """Write what it knows of accounts, where it tracks them, after a run that returned for `reason`."""
        if isinstance(self.parts.watcher, SnapshotWatcher):
            self.parts.watcher.after(reason)

    def close(self) -> None:
        """Let go of the database and the tokens; requests that were abandoned in flight are not waited for."""
        with ExitStack() as ends:
            ends.callback(self.access.release)
            ends.callback(self.lease.release)
            ends.callback(self.store.close)
            ends.callback(self.member.leave)
            ends.callback(self.wire.close)
            self.parts.pool.shutdown(wait=False, cancel_futures=True)


def build(
    settings: Settings,
    watcher: Watcher,
    process: ProcessContext | None = None,
    *,
    clock: InterruptibleClock | None = None,
    change: bool = False,
) -> OpenCampaign:
    """Return the campaign of `settings`, its database opened and brought up to date.

    Args:
        settings: the campaign file.
        watcher: who looks on.
        process: what it shares with others; None: nothing.
        clock: the clock of its runs; None: that of this machine.
        change: whether settings are taken up on which its history rests, and that are others now.

    Raises:
        SettingsError: a token is missing, the keywords are unusable, or a live host is to be asked without a budget.
        StoreError: the database cannot be used, or another process uses a token.
    """
    plan = make_plan(settings)
    plan.guard()
    kind_of(settings).check(settings)  # before the database keeps a choice that is none
    clock = clock or InterruptibleClock(process.time if process else None)
    with ExitStack() as undo:
        allowed = _open_access(plan, process)
        undo.callback(allowed.release)
        shared, name = process.shared if process else SharedWindows(), identify_campaign(settings)
        member = shared.join(name, settings.limits.weight, plan.base, allowed.marks, allowed.bills)
        undo.callback(member.leave)
        planner = _make_planner(plan, allowed, member)
        undo.callback((wire := make_wire(plan, allowed, clock.now)).close)
        pool = undo.enter_context(_make_executor(plan, process, clock.now))
        store, lease, followed = _open_store(plan, allowed, clock.now(), change=change)
        undo.pop_all()
    settings = (plan := _name_estimator(plan, store)).settings
    follow_other_processes(store, _introduce(member, plan, allowed, store), member, planner, clock.now)
    store.note = allowed.make_recorder(member.ledger, planner.window_sets.find_longest_window() + LAG)
    along = read_query_history(store.connection, store.campaign, plan.queries)
    seeds = _make_seeds(plan, along, store.enlist(plan.usernames, clock.now()))
    source, ahead = _make_source(plan, along.texts, store, clock.now)
    crawl = ahead.crawl = plan.kind.make_crawl(settings, seeds, source.width, source.mark)
    watcher = _attend(watcher, plan.kind, crawl, store, clock.now)
    bounded = _bound_crawl(crawl, settings, process, followed, store)
    bounded = _follow_shadows(bounded, crawl, plan, store, now=clock.now, watcher=watcher)
    sent = _send_promptly(wire, member, clock.now)
    parts = Parts(bounded, source, store, sent, _await_workers(planner, pool, clock.now), clock, pool, watcher)
    pace = _make_pace(plan, store, seeds, allowed)
    return OpenCampaign(settings, plan, parts, crawl, planner, clock, store, lease, allowed, pace, wire, member)


def _make_executor(plan: Plan, process: ProcessContext | None, now: Callable[[], float]) -> Executor:
    """Return what sends the requests: threads, or the workers of a fleet."""
    fleets = process.fleets if process else SharedFleets()
    fleet = take_fleet(plan, fleets, now)
    if fleet is not None:
        release = partial(fleets.release, fleet)
        return FleetExecutor(fleet, identify_campaign(plan.settings), WireSpec.of(plan), release)
    pool = process.pool if process else ThreadPoolExecutor
    return pool(min(THREADS, plan.settings.crawl.together or THREADS))


def _await_workers(planner: WindowPlanner, pool: Executor, now: Callable[[], float]) -> Planner:
    """Return the planner; where workers send, one that waits while there is none."""
    return FleetPlanner(planner, pool, now) if isinstance(pool, FleetExecutor) else planner


def _make_pace(plan: Plan, store: SqlStore, seeds: Seeds, allowed: CampaignAccess) -> Callable[[], int]:
    """Return what tells the refresh rate: that of the file, or the one that is chosen (auto)."""
    together = plan.settings.crawl.together
    return (lambda: together) if together else Pace(store, seeds, plan.policy, allowed.credentials, plan.timeline)


def _name_estimator(plan: Plan, store: SqlStore) -> Plan:
    """Return the plan with the estimator that chooses now, where it has followed a shadow."""
    settings = plan.settings
    stored = read_latest_settings(store.connection, settings.name) if settings.crawl.follow else None
    if stored is None:
        return plan
    chosen = {key: stored["crawl"][key] for key in ("estimator", "shadows")}
    crawl = settings.crawl.model_copy(update=chosen)
    return replace(plan, settings=settings.model_copy(update={"crawl": crawl}))


def _follow_shadows(
    inner: Crawl, crawl: Crawling, plan: Plan, store: SqlStore, *, now: Callable[[], float], watcher: Watcher
) -> Crawl:
    """Return the crawl within its bounds, whose best shadow takes over if it may."""
    follower = plan.kind.find_follower(plan.settings)
    if follower is None:
        return inner
    tell = watcher.tell if isinstance(watcher, Informed) else None
    return follower(inner, crawl, store.connection, store.campaign, now=now, tell=tell)


def _bound_crawl(
    crawl: Crawling, settings: Settings, process: ProcessContext | None, followed: CaptureSource | None, store: SqlStore
) -> Crawl:
    """Return the crawl within its budget of accounts and the room on its disk; one that follows a capture waits."""
    most = settings.budget.max_nodes
    waiting = crawl if followed is None else CaptureFollower(crawl, followed, store.connection, settings.crawl.steps)
    bounded = waiting if most is None else NodeLimit(waiting, most)
    return DiskSpaceGuard(bounded, find_reserved_space(settings, process))


def _open_access(plan: Plan, process: ProcessContext | None) -> CampaignAccess:
    """Return the tokens of a campaign; if another process has them as it runs the same campaign, that is the error."""
    where = plan.settings.database
    try:
        return open_access(plan.settings, plan.base, among=process.leases if process else None)
    except HeldError:
        if isinstance(where, Path) and where.exists():
            Lease(where, plan.settings.name).release()
        raise


def find_reserved_space(settings: Settings, process: ProcessContext | None) -> DiskReserve:
    """Return what has to stay free on the disk of a campaign's database."""
    return DiskReserve(settings.database, settings.limits.least_free, process.disk if process else measure_disk)


def identify_campaign(settings: Settings) -> str:
    """Return what tells a campaign from all others of a machine: names are its database's own.

    A password is not shown.
    """
    where = settings.database
    return f"{settings.name!r} ({where.resolve() if isinstance(where, Path) else where})"


def _send_promptly(wire: Wired, member: Membership, now: Callable[[], float]) -> Wired:
    """Return the wire, which sends at once or not at all where other processes count its requests."""
    return wire if member.others is None else PromptWire(wire, now)


def _introduce(member: Membership, plan: Plan, allowed: CampaignAccess, store: SqlStore) -> Siblings:
    """Tell a campaign's part in shared windows how its ledger is called, and who else uses its tokens: its siblings."""
    shares = not isinstance(plan.settings.database, Path)
    others = member.shared.get_others(identify_database(store.connection)) if shares else None
    siblings = Siblings(store, allowed, plan.policy, plan.settings.limits.cycle_day, others)
    member.set_ledger(siblings.name_ledger(plan.settings.name))
    member.read_elsewhere = lambda since: unite(siblings.list_sent(since), allowed.read_journals(since))
    member.read_cycles = siblings.read_cycles
    return siblings


def _attend(watcher: Watcher, kind: CrawlKind, crawl: Crawling, store: SqlStore, now: Callable[[], float]) -> Watcher:
    """Return the watcher; of a kind of campaign that has a snapshot, one that also writes that."""
    snapshot = kind.snapshot()
    return watcher if snapshot is None else SnapshotWatcher(watcher, crawl, lambda: snapshot.write(store, crawl), now)


def _make_seeds(plan: Plan, along: QueryHistory, names: Sequence[Node]) -> Seeds:
    settings, platform = plan.settings, plan.platform
    look_up, known = not platform.has_complete_authors(settings), not platform.look_up
    return Seeds(
        along.queries,
        names,
        settings.seeds.most,
        look_up=look_up,
        topics=along.topics,
        known=known,
        advice=platform.advice,
        searches=platform.searches,
    )


def _make_source(plan: Plan, queries: list[str], store: SqlStore, now: Callable[[], float]) -> tuple[Source, LookAhead]:
    """Return the platform, as the campaign asks it: neither the forgotten nor the excluded.

    A sample judges who is read.
    """
    ahead = LookAhead(store, plan.accounts, now)
    source = plan.platform.make_source(replace(plan.terms, ahead=ahead, ids=store.wanted), queries, now())
    if plan.kind.reads_found(plan.settings):
        source = SearchedAuthorsSource(source, plan.platform.get_slice_endpoint(plan.terms.slices or BY_DEFAULT))
    if (judges := plan.kind.predicates(plan.settings)) is not None:
        source = FocusedSource(source, *judges)
    return SkipForgottenSource(ExcludingSource(source, plan.accounts)), ahead


def _make_planner(plan: Plan, allowed: CampaignAccess, member: Membership) -> WindowPlanner:
    limits = plan.settings.limits
    backoff = Backoff(limits.pause, limits.longest_pause, limits.give_up, plan.settings.seed)
    own = parse_host(plan.timeline)
    return WindowPlanner(
        plan.policy, allowed.credentials, plan.caps, backoff, limits.cycle_day, shared=member, home=own
    )


def make_wire(plan: Plan, allowed: CampaignAccess, now: Callable[[], float]) -> Wired:
    """Return the wire of a campaign, with its tokens; `now` is the clock."""
    return guarded_wire.make_wire(plan.platform, plan.terms, allowed.secrets, now)


def begin_or_change(connection: Opened, plan: Plan, now: float, *, change: bool) -> int:
    """Begin or resume the campaign of a plan in a database, and return its campaign.id; see `ensure_campaign`."""
    return ensure_campaign(
        connection,
        plan.settings.model_dump(mode="json"),
        plan.settings.identity(plan.usernames),
        now,
        change=TopicChange(plan.topic.hits, plan.queries) if change else None,
        queries=plan.queries,
        counting=CountingRule.from_topic(plan.topic),
        fixed=plan.fixed,
    )


def _open_store(
    plan: Plan, allowed: CampaignAccess, now: float, *, change: bool
) -> tuple[SqlStore, Lease, CaptureSource | None]:
    """Return the campaign's store, the right to run it, and the capture that it follows.

    The first two are let go again if it cannot be gone on with.
    """
    settings = plan.settings
    with ExitStack() as undo:
        connection = connect(settings.database, durable=plan.billed)
        undo.callback(connection.engine.dispose)
        undo.callback(connection.close)
        lease = Lease(connection, settings.name)
        undo.callback(lease.release)
        followed = find_capture(connection, settings)  # before a campaign is begun that cannot follow it
        number = begin_or_change(connection, plan, now, change=change)
        undo.pop_all()
    source = settings.source
    links = plan.terms.links
    reuse = AnswerReuse(plan.reuse_hours, plan.topic.hits, source.keep_original, links)
    store = SqlStore(
        connection,
        number,
        source.platform,
        plan.policy.tariff,
        reuse=reuse,
        server=plan.base,
        marks=allowed.marks,
        links=links,
        columns=plan.kind.features,
    )
    if followed is not None:
        capture = followed.name, followed.id
        store.captured = CapturedAuthors(connection, number, source.platform, capture, plan.topic.hits)
    return store, lease, followed
