"""The one place where the parts of a campaign are joined."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from socialcrawl.access import Access, access
from socialcrawl.clock import SystemClock
from socialcrawl.collect.crawl import Collect
from socialcrawl.collect.seeds import Seeds
from socialcrawl.limits.bounded import Bounded
from socialcrawl.limits.planner import WindowPlanner
from socialcrawl.limits.retry import Backoff
from socialcrawl.model import Node
from socialcrawl.plan import THREADS, Plan, chosen, plan
from socialcrawl.protocols import Watcher
from socialcrawl.run import Parts
from socialcrawl.settings import Settings
from socialcrawl.sources.x.source import XSource
from socialcrawl.sources.x.wire import XWire, client
from socialcrawl.store.campaigns import campaign
from socialcrawl.store.database import connect
from socialcrawl.store.erasure.sparing import Sparing
from socialcrawl.store.held import Reuse
from socialcrawl.store.lease import Lease
from socialcrawl.store.sql import SqlStore


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign ready to run: its plan, and its parts under their own types."""

    settings: Settings
    plan: Plan
    parts: Parts
    crawl: Collect
    planner: WindowPlanner
    clock: SystemClock
    store: SqlStore
    lease: Lease
    access: Access

    def close(self) -> None:
        """Let go of the database and the tokens; requests that were abandoned in flight are not waited for."""
        self.parts.pool.shutdown(wait=False, cancel_futures=True)
        self.store.close()
        self.lease.release()
        self.access.release()


def build(settings: Settings, watcher: Watcher) -> Campaign:
    """The campaign of `settings`, its database opened and brought up to date.

    Raises:
        SettingsError: a token is missing, the keywords are unusable, or a live host is to be asked without a budget.
        StoreError: the database cannot be used, or another process uses a token.
    """
    meant = plan(settings)
    meant.guard()
    estimator, choice = chosen(settings)  # before the database keeps a choice that is none
    with ExitStack() as undo:
        allowed = access(settings, meant.base)
        undo.callback(allowed.release)
        clock = SystemClock()
        store, lease = _opened(meant, allowed, clock.now())
        undo.pop_all()
    pages = settings.source.pages_per_user, settings.seeds.search_pages
    source = Sparing(XSource(meant.policy, meant.words, meant.queries, *pages))
    names = store.enlist(meant.usernames, clock.now())
    queries = [Node(-1 - i) for i in range(len(meant.queries))]
    seeds = Seeds(queries, names, settings.seeds.most, look_up=not meant.words.search)
    crawl = Collect(seeds, estimator, settings.crawl.steps, source.width, choice)
    most = settings.budget.max_nodes
    planner = _planner(meant, allowed)
    pool = ThreadPoolExecutor(min(THREADS, settings.crawl.refresh_rate))
    bounded = crawl if most is None else Bounded(crawl, most)
    wire = wired(meant, allowed, clock.now)
    parts = Parts(bounded, source, store, wire, planner, clock, pool, watcher)
    return Campaign(settings, meant, parts, crawl, planner, clock, store, lease, allowed)


def _planner(meant: Plan, allowed: Access) -> WindowPlanner:
    limits = meant.settings.limits
    backoff = Backoff(limits.pause, limits.longest_pause, limits.give_up, meant.settings.seed)
    return WindowPlanner(meant.policy, allowed.credentials, meant.caps, backoff, limits.cycle_day)


def wired(meant: Plan, allowed: Access, now: Callable[[], float]) -> XWire:
    """The wire of a campaign, with a client for each of its tokens; `now` is the clock."""
    source = meant.settings.source
    timeout = (min(10.0, source.timeout), source.timeout)
    clients = {name: client(secret, meant.base, timeout) for name, secret in allowed.secrets.items()}
    return XWire(clients, meant.words, meant.policy, meant.topic.count, now, source.keep_original, source.keep_answers)


def _opened(meant: Plan, allowed: Access, now: float) -> tuple[SqlStore, Lease]:
    """The campaign's store, and the right to run it; both are let go again if it cannot be gone on with."""
    settings = meant.settings
    with ExitStack() as undo:
        connection = connect(settings.database, durable=meant.billed)
        undo.callback(connection.engine.dispose)
        undo.callback(connection.close)
        lease = Lease(connection, settings.name)
        undo.callback(lease.release)
        whole = settings.model_dump(mode="json")
        number = campaign(connection, whole, settings.identity(meant.usernames), now)
        undo.pop_all()
    source = settings.source
    reuse = Reuse(source.reuse_hours, meant.topic.count, source.keep_original)
    return SqlStore(
        connection, number, source.platform, meant.policy.tariff, reuse=reuse, server=meant.base, marks=allowed.marks
    ), lease
