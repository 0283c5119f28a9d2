"""The one place where the parts of a campaign are joined."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from socialcrawl.clock import SystemClock
from socialcrawl.collect.crawl import Collect
from socialcrawl.collect.estimators import Estimator, named
from socialcrawl.collect.seeds import Seeds
from socialcrawl.collect.strategies import Strategy, strategy
from socialcrawl.errors import SettingsError
from socialcrawl.limits.budget import Caps
from socialcrawl.limits.planner import WindowPlanner
from socialcrawl.limits.policy import Policy
from socialcrawl.limits.quote import ceiling
from socialcrawl.loopback import is_loopback
from socialcrawl.model import MILLS_PER_DOLLAR, Node
from socialcrawl.protocols import Watcher
from socialcrawl.relevance import Topic
from socialcrawl.run import Parts
from socialcrawl.settings import Settings, policy
from socialcrawl.sources.x.source import SEARCH, TIMELINE, XSource
from socialcrawl.sources.x.vocabulary import vocabulary
from socialcrawl.sources.x.wire import XWire, client
from socialcrawl.store.campaigns import campaign
from socialcrawl.store.database import connect
from socialcrawl.store.lease import Lease
from socialcrawl.store.sql import SqlStore

THREADS = 16  # requests in flight at most
CREDENTIAL = "main"  # the name of the one token that a campaign has


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign ready to run: its parts under their own types, and what it can cost at most.

    `billed`: the server is not on this machine; `most` is in mills of a cent, None where nothing bounds it.
    """

    settings: Settings
    parts: Parts
    crawl: Collect
    planner: WindowPlanner
    clock: SystemClock
    store: SqlStore
    lease: Lease
    billed: bool
    most: int | None

    def close(self) -> None:
        """Let go of the database; requests that were abandoned in flight are not waited for."""
        self.parts.pool.shutdown(wait=False, cancel_futures=True)
        self.store.close()
        self.lease.release()


def build(settings: Settings, watcher: Watcher) -> Campaign:
    """The campaign of `settings`, its database opened and brought up to date.

    Raises:
        SettingsError: a token is missing, the keywords are unusable, or a live host is to be asked without a budget.
        StoreError: the database cannot be used.
    """
    topic = Topic(settings.topic.keywords, settings.topic.patterns)
    table = policy(settings.source.platform)
    base = settings.source.base_url or table.base_url
    usernames = _usernames(settings)
    queries = topic.searches() if settings.seeds.search else []
    if not queries and not usernames:
        raise SettingsError("There is nothing to start from: set search = true or name usernames under [seeds].")
    billed = not is_loopback(base)
    most = _guarded(settings, table, len(queries), len(usernames)) if billed else None
    token, clock = _token(settings), SystemClock()
    estimator, choice = _chosen(settings)  # before the database keeps a choice that is none
    store, lease = _opened(settings, usernames, clock.now())
    words = vocabulary(settings.source.vocabulary)
    rules = table.limited(settings.limits.k, settings.limits.d)
    source = XSource(rules, words, queries, settings.source.pages_per_user, settings.seeds.search_pages)
    names = store.enlist(usernames, clock.now())
    seeds = Seeds([Node(-1 - i) for i in range(len(queries))], names, settings.seeds.most, look_up=not words.search)
    crawl = Collect(seeds, estimator, settings.crawl.steps, source.width, choice)
    planner = WindowPlanner(rules, [CREDENTIAL], _caps(settings), settings.limits.pause)
    clients = {CREDENTIAL: client(token, base, (min(10.0, settings.source.timeout), settings.source.timeout))}
    wire = XWire(clients, words, rules, topic.count, clock.now, settings.source.keep_original)
    pool = ThreadPoolExecutor(min(THREADS, settings.crawl.refresh_rate))
    parts = Parts(crawl, source, store, wire, planner, clock, pool, watcher)
    return Campaign(settings, parts, crawl, planner, clock, store, lease, billed, most)


def _opened(settings: Settings, usernames: list[str], now: float) -> tuple[SqlStore, Lease]:
    """The campaign's store, and the right to run it; both are let go again if it cannot be gone on with."""
    with ExitStack() as undo:
        connection = connect(settings.database)
        undo.callback(connection.engine.dispose)
        undo.callback(connection.close)
        lease = Lease(settings.database, settings.name)
        undo.callback(lease.release)
        number = campaign(connection, settings.model_dump(mode="json"), settings.identity(usernames), now)
        undo.pop_all()
    return SqlStore(connection, number, settings.source.platform), lease


def usernames_in(file: Path) -> list[str]:
    """The names in a file of seeds, one a line, without @; empty lines and those that begin with # are none.

    Raises:
        SettingsError: the file cannot be read.
    """
    try:
        lines = [line.strip().removeprefix("@") for line in file.read_text("utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"The file of seeds {file} cannot be read: {error}.") from error
    return [line for line in lines if line and not line.startswith("#")]


def _chosen(settings: Settings) -> tuple[Estimator, Strategy]:
    how = settings.crawl
    estimator = named(
        how.estimator,
        seed=settings.seed,
        switch_after=how.switch_after,
        start=how.start,
        nr_d=how.nr_d,
        features=how.features,
        options=how.regressor,
    )
    return estimator, strategy(how.strategy, seed=settings.seed, q=how.q, zeta=how.zeta)


def _caps(settings: Settings) -> Caps:
    given = settings.budget
    money = None if given.max_money is None else round(given.max_money * MILLS_PER_DOLLAR)
    return Caps(given.max_requests, given.max_posts, money)


def _guarded(settings: Settings, table: Policy, queries: int, usernames: int) -> int | None:
    """What the campaign can cost at most; a live host without a budget is refused."""
    budget = settings.budget
    page = table.price("post", table.endpoints[TIMELINE].page)
    if budget.max_posts is None and budget.max_money is None:
        window = table.endpoints[TIMELINE].k * page / MILLS_PER_DOLLAR
        raise SettingsError(
            f"This campaign would ask {settings.source.base_url or table.base_url}, which bills what it returns: "
            f"a page of 100 posts is ${page / MILLS_PER_DOLLAR:.2f}, one window of timelines up to ${window:,.0f}. "
            "Set max_money (dollars) or max_posts under [budget]."
        )
    if settings.crawl.steps is None:
        # Posts may be bounded, but accounts that are known by name only are looked up, and these are billed too.
        return _caps(settings).money
    searched = queries * settings.seeds.search_pages * table.endpoints[SEARCH].page
    found = min(searched, searched if settings.seeds.most is None else settings.seeds.most)
    asked = settings.crawl.steps + found + usernames
    posts = searched + asked * settings.source.pages_per_user * table.endpoints[TIMELINE].page
    named = searched if "expansions" in vocabulary(settings.source.vocabulary).search else 0
    return ceiling(table, _caps(settings), posts=posts, users=asked + named)


def _token(settings: Settings) -> str:
    name = settings.source.token_env
    token = os.environ.get(name, "").strip()
    if not token:
        raise SettingsError(f"No token: put the bearer token into the environment variable {name} (token_env).")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise SettingsError(f"The environment variable {name} does not hold a bearer token: copy it again.")
    return token


def _usernames(settings: Settings) -> list[str]:
    file = settings.seeds.file
    names = [*settings.seeds.usernames, *(usernames_in(file) if file is not None else ())]
    names = [name.strip().removeprefix("@") for name in names]
    wrong = [name for name in names if not name.isascii() or not name.replace("_", "a").isalnum() or len(name) > 15]
    if wrong:
        raise SettingsError(f"{wrong[0]!r} is no username of X: letters, digits and _, 15 at most (under [seeds]).")
    return names
