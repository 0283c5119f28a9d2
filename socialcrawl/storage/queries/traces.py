"""What a campaign has written down of one account, in SQL: who it is, when it was asked, who links to it.

So it has what the tests of an old dataset brought. Modules here read and change nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, exists, func, select, text

from socialcrawl.engine.draws import ARM_NAMES, STEERED, assign_arms
from socialcrawl.engine.model import (
    Act,
    Answer,
    Node,
    Pick,
    RequestPart,
    SameAs,
    Unavailable,
    Who,
    find_search,
    parse_time,
    parse_unavailable,
)
from socialcrawl.engine.protocols import History
from socialcrawl.graph.graph import COLUMNS
from socialcrawl.storage.answer_packing import unpack_answer
from socialcrawl.storage.database.address import DatabaseAddress, find_address
from socialcrawl.storage.erasure.seed_slots import SeedSlot
from socialcrawl.storage.queries import holdings, row_values
from socialcrawl.storage.queries.history import FinishedBatches
from socialcrawl.storage.queries.summary import find_campaign, list_campaigns
from socialcrawl.storage.schema.tables import outcome, pick, request, tombstone
from socialcrawl.storage.versions import Version, find_comparable_start, find_topic_starts, read_versions
from socialcrawl.storage.wanted_posts import count_states

CAMPAIGN = "select platform, settings, identity from campaign where id = :campaign"
BY_NAME = "select node, platform_id, profile_at from account where platform = :platform and handle = :handle"
BY_KEY = """
select a.node, a.platform_id, a.username, a.profile_at, a.forgotten_at,
  (select count(*) from pick p where p.campaign = :campaign and p.node = a.node) as picks
from account a where a.node in (
  select node from account where platform = :platform and handle = :handle
  union select node from account where platform = :platform and platform_id = :key)
"""
ASKS = """
select p.n, p.batch, p.act, p.score, o.at, o.value, o.occurrences, o.posts, o.missing, p.since
from pick p left join outcome o on o.campaign = p.campaign and o.n = p.n
where p.campaign = :campaign and p.node = :node order by p.n
"""
LED = """
select l.node as target, l.n, o.node, p.act, o.value, l.alpha
from link l
join outcome o on o.campaign = l.campaign and o.n = l.n
join pick p on p.campaign = l.campaign and p.n = l.n
where l.campaign = :campaign and l.node in :nodes and l.n < :before and o.node <> l.node order by l.n
"""
STEPS = """
select p.n, p.node, coalesce(o.value, 0), coalesce(o.missing, case when o.n is null then 'open' else '' end)
from pick p left join outcome o on o.campaign = p.campaign and o.n = p.n
where p.campaign = :campaign and p.act in ('expand', 'match') and coalesce(p.since, '') not like 'search:%'
order by p.n
"""
SHADOW_SCORES = """
select s.n, s.estimator, p.score, s.score from shadow s join pick p on p.campaign = s.campaign and p.n = s.n
where s.campaign = :campaign and s.n >= :since order by s.n, s.estimator
"""
SPAN_SEARCHES = """
select p.node, p.since, o.mark, o.missing, o.posts from pick p join outcome o on o.campaign = p.campaign and o.n = p.n
where p.campaign = :campaign and p.act = 'search' and p.since is not null order by p.n
"""
SPAN = "select min(at), max(at) from outcome where campaign = :campaign and at > '1971'"
ALIASES = "select node, n from outcome where campaign = :campaign and missing = :meant order by n"
NAMED = "select coalesce(username, platform_id) from account where node = :node"
EPOCHS = 'select number, "first", began_at, why from epoch where campaign = :campaign and number > 0 order by number'


@dataclass(frozen=True, slots=True)
class StoredCampaign:
    """A campaign: campaign.id, name, platform, its settings as it was begun, its identity as it is now, as JSON."""

    id: int
    name: str
    platform: str
    settings: dict[str, Any]
    identity: dict[str, Any]


@dataclass(frozen=True, slots=True)
class KnownAccount:
    """An account of the database; `picks` counts the decisions of the campaign to ask it."""

    node: Node
    platform_id: str | None
    username: str | None
    forgotten_at: str | None
    picks: int


@dataclass(frozen=True, slots=True)
class AccountVisit:
    """One decision to read an account, and what it found; `at` is None while it is open.

    `missing` and `since` are as stored.
    """

    n: int
    batch: int
    act: str
    score: float
    at: str | None
    value: float | None
    occurrences: int | None
    posts: int | None
    missing: str | None
    since: str | None = None

    @property
    def search(self) -> int | None:
        """The number of the search from which the account was read; None: it was read in another way."""
        return find_search(self.since or "")

    @property
    def reason(self) -> Unavailable | None:
        """Why the account could not be read; None where it could."""
        return None if self.missing is None else parse_unavailable(self.missing)


class SpanSearch(NamedTuple):
    """A search of a span of time: its query, span and mark as they are stored, why it failed, the posts it returned."""

    node: int
    since: str
    mark: str | None
    missing: str | None
    posts: int


class OpenSlice(NamedTuple):
    """A slice of time that a campaign is reading: what came of it so far.

    Attributes:
        pick: the decision.
        posts: how many posts were returned.
        oldest: when the oldest of them was written, Unix seconds.
    """

    pick: Pick
    posts: int
    oldest: float


@dataclass(frozen=True, slots=True)
class IncomingLink:
    """A link to an account: found by decision `n` (of kind `act`) at `source`, which is worth `value`."""

    n: int
    source: Node
    act: str
    value: float
    alpha: float


@dataclass(frozen=True, slots=True, eq=False)
class StepColumns:
    """The steps of a campaign that collects, in order, as columns of equal length.

    Attributes:
        n: int64, pick.n.
        node: int64, the account that was chosen.
        value: float64, the relevance that it turned out to have; 0 where it could not be read.
        missing: why it could not be read, "" where it could, "open" where its answer has not come yet.
        since: the first pick.n of today's topic and way to crawl.
    """

    n: NDArray[np.int64]
    node: NDArray[np.int64]
    value: NDArray[np.float64]
    missing: NDArray[np.str_]
    since: int


DELETED = (
    select(tombstone.c.kind, func.count())
    .where(tombstone.c.why.like("compliance:%"), tombstone.c.kind.in_(("post", "user")))
    .group_by(tombstone.c.kind)
)


class CampaignTraces:
    """Everything that a database can tell of single accounts.

    Args:
        connection: it is only read; in its own transaction where one has begun.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @property
    def place(self) -> DatabaseAddress:
        """Which database it is."""
        return find_address(self.connection)

    def read_campaign(self, name: str | None) -> StoredCampaign:
        """Return the campaign `name`, or the newest.

        Raises:
            StoreError: there is no such campaign; the message names those there are.
        """
        number, title = find_campaign(self.connection, name)
        (platform, settings, identity), *_ = self._read_rows(CAMPAIGN, campaign=number)
        return StoredCampaign(number, title, platform, orjson.loads(settings), orjson.loads(identity))

    def find_account(self, campaign: StoredCampaign, user: str) -> KnownAccount | None:
        """Return the account with that username or id; of several the one that was asked, has an id, was seen last."""
        names = {"handle": user.lower(), "key": user, "platform": campaign.platform, "campaign": campaign.id}
        found = self._read_rows(BY_KEY, **names)
        if not found:
            return None
        row = max(found, key=lambda r: (r.picks > 0, r.platform_id is not None, r.profile_at or "", -r.node))
        return KnownAccount(Node(row.node), row.platform_id, row.username, row.forgotten_at, row.picks)

    def read_versions(self, campaign: StoredCampaign) -> list[Version]:
        """Return the settings of a campaign, each time they changed, the oldest first."""
        with row_values.join_transaction(self.connection):
            known = read_versions(self.connection, campaign.id)
        return known or [Version(0, "", 0, campaign.settings, [])]

    def read_topics(self, campaign: int) -> list[int]:
        """Return the first pick.n under each new topic of a campaign."""
        with row_values.join_transaction(self.connection):
            return find_topic_starts(self.connection, campaign)

    def read_seeds(self, platform: str, usernames: Iterable[SeedSlot]) -> list[Node]:
        """Return the nodes of the seed slots of a campaign, as `SqlStore.enlist` gives them; no unknown ones."""
        nodes = []
        for name in usernames:
            if not isinstance(name, str):
                nodes += [] if name is None else [Node(name)]
                continue
            held = self._read_rows(BY_NAME, platform=platform, handle=name.lower())
            claims = [row.node for row in held if row.platform_id is None]
            if claims:
                nodes.append(Node(min(claims)))
            elif held:
                nodes.append(Node(max(held, key=lambda row: (row.profile_at or "", -row.node)).node))
        return nodes

    def read_visits(self, campaign: int, node: Node) -> list[AccountVisit]:
        """Return every decision to ask an account, in order."""
        return [AccountVisit(*row) for row in self._read_rows(ASKS, campaign=campaign, node=node)]

    def read_steps(self, campaign: int) -> StepColumns:
        """Return all steps of a campaign that collects, in order, but for accounts that searches of the topic found."""
        with row_values.join_transaction(self.connection):
            since = find_comparable_start(self.connection, campaign)
        rows = self._read_rows(STEPS, campaign=campaign)
        n, node, value, missing = zip(*rows, strict=True) if rows else ((), (), (), ())
        return StepColumns(
            np.array(n, np.int64),
            np.array(node, np.int64),
            np.array(value, np.float64),
            np.array(missing, np.str_),
            since,
        )

    def read_shadow_scores(self, campaign: int, since: int) -> list[tuple[int, str, float, float]]:
        """Return (pick.n, shadow, the score of the pick, the score by the shadow), in order, from pick `since` on."""
        return [tuple(row) for row in self._read_rows(SHADOW_SCORES, campaign=campaign, since=since)]

    def read_pick(self, campaign: int, n: int, columns: Sequence[str] = COLUMNS) -> Pick:
        """Return decision number `n` as it was stored, whose features are called `columns`."""
        wanted = select(pick).where(pick.c.campaign == campaign, pick.c.n == n)
        with row_values.join_transaction(self.connection):
            return row_values.parse_pick(self.connection.execute(wanted).one(), columns)

    def read_picks(self, campaign: int, since: int, columns: Sequence[str] = COLUMNS) -> list[Pick]:
        """Return the decisions from number `since` on, in order; their features are called `columns`."""
        wanted = select(pick).where(pick.c.campaign == campaign, pick.c.n >= since).order_by(pick.c.n)
        with row_values.join_transaction(self.connection):
            return [row_values.parse_pick(row, columns) for row in self.connection.execute(wanted)]

    def read_id_states(self, campaign: int) -> dict[str, int]:
        """Return how many imported ids of posts are in each state; see table `wanted_post`."""
        with row_values.join_transaction(self.connection):
            return count_states(self.connection, campaign)

    def count_deleted(self) -> dict[str, int]:
        """Return how many posts and accounts ("post", "user") the platform deleted, so that they were erased."""
        with row_values.join_transaction(self.connection):
            rows = self.connection.execute(DELETED).all()
        return {str(kind): int(number) for kind, number in rows}

    def read_span_searches(self, campaign: int) -> list[SpanSearch]:
        """Return the searches of spans of time that a collection has made, in order."""
        return [SpanSearch(*row) for row in self._read_rows(SPAN_SEARCHES, campaign=campaign)]

    def read_open_slices(self, campaign: int) -> list[OpenSlice]:
        """Return the slices of time of which some pages came, and that have no outcome yet."""
        done = exists().where(outcome.c.campaign == pick.c.campaign, outcome.c.n == pick.c.n)
        mine = select(pick).where(pick.c.campaign == campaign, pick.c.act == Act.SLICE, ~done).order_by(pick.c.n)
        pages = select(request.c.n, request.c.part, request.c.answer).where(
            request.c.campaign == campaign, request.c.answer.is_not(None)
        )
        with row_values.join_transaction(self.connection):
            picks = {row.n: row_values.parse_pick(row, ()) for row in self.connection.execute(mine)}
            answers: dict[int, dict[int, Answer]] = {}
            for n, part, packed in self.connection.execute(pages.where(request.c.n.in_(picks))) if picks else ():
                answers.setdefault(n, {})[part] = unpack_answer(packed)
        return [
            OpenSlice(picks[n], sum(one.posts for one in some.values()), min(map(parse_time, marks)))
            for n, some in answers.items()
            if (marks := _list_marks(some))
        ]

    def read_answer(self, campaign: int, n: int) -> tuple[int, str, float] | None:
        """Return what decision number `n` brought: the account, when, its relevance; None: nothing yet."""
        found = self._read_rows("select node, at, value from outcome where campaign = :campaign and n = :n",
                                campaign=campaign, n=n)  # fmt: skip
        return tuple(found[0]) if found else None

    def read_aliases(self, campaign: int, node: Node) -> list[tuple[Node, int]]:
        """Return other numbers of an account under which links to it were found, and the decision that showed each."""
        found = self._read_rows(ALIASES, campaign=campaign, meant=str(SameAs(node)))
        return [(Node(row[0]), row[1]) for row in found]

    def read_links(self, campaign: int, nodes: Sequence[Node], before: int) -> dict[Node, list[IncomingLink]]:
        """Return the links to each of `nodes` that were found by decisions before number `before`, in order."""
        query = text(LED).bindparams(bindparam("nodes", expanding=True))
        found: dict[Node, list[IncomingLink]] = {node: [] for node in nodes}
        with row_values.join_transaction(self.connection):
            given = {"campaign": campaign, "nodes": list(nodes), "before": before}
            for target, n, source, *more in self.connection.execute(query, given):
                found[Node(target)].append(IncomingLink(n, Node(source), *more))
        return found

    def read_names(self, nodes: Iterable[Node]) -> dict[Node, str]:
        """Return how accounts are called: username, else id, else `account N`."""
        found = {}
        for node in dict.fromkeys(nodes):
            rows = self._read_rows(NAMED, node=node)
            found[node] = rows[0][0] if rows and rows[0][0] else f"account {node}"
        return found

    def read_ids(self, nodes: Iterable[Node]) -> dict[Node, str | None]:
        """Return the platform's own ids of accounts; None where nobody knows."""
        nodes = list(nodes)
        with row_values.join_transaction(self.connection):
            found = holdings.select_names(self.connection, nodes)
        return {node: found[node].id if node in found else None for node in nodes}

    def read_epochs(self, campaign: int) -> list[tuple[int, int, str, str]]:
        """Return the changes of a campaign's history: (number, first pick.n, when, why)."""
        return [tuple(row) for row in self._read_rows(EPOCHS, campaign=campaign)]

    def find_tombstone(self, platform: str, user: str) -> str | None:
        """Return why somebody of that name or id was forgotten; None: nobody was."""
        from socialcrawl.storage.erasure.tombstones import read_reasons  # noqa: PLC0415

        with row_values.join_transaction(self.connection):
            found = read_reasons(self.connection, platform, "name", [user]) | read_reasons(
                self.connection, platform, "user", [user]
            )
        return found.get(user)

    def read_history(
        self, campaign: StoredCampaign, columns: Sequence[str] = COLUMNS, *, first: int = 0, end: int | None = None
    ) -> History:
        """Return what the campaign did, as its own crawl folds it.

        Args:
            campaign: the campaign.
            columns: names of its picks' features.
            first: the pick.n with which it begins.
            end: the pick.n before which it ends, with which a batch begins; None: all.
        """
        join = partial(row_values.join_transaction, self.connection)
        return FinishedBatches(self.connection, campaign.id, join, columns, first=first, end=end)

    def read_span(self, campaign: StoredCampaign) -> tuple[float, float]:
        """Return when the first and the latest answer of a campaign came, Unix seconds; zeros where none did."""
        first, last = self._read_rows(SPAN, campaign=campaign.id)[0]
        return (0.0, 0.0) if first is None else (parse_time(first), parse_time(last))

    def list_campaigns(self) -> list[str]:
        """Return the names of the campaigns, oldest first."""
        return [name for _, name in list_campaigns(self.connection)]

    def has_snapshot(self, campaign: StoredCampaign) -> bool:
        """Return whether tables `standing` or `sampled` have anything of a campaign."""
        either = "select 1 from standing where campaign = :campaign union select 1 from sampled"
        return bool(self._read_rows(f"{either} where campaign = :campaign limit 1", campaign=campaign.id))

    def _read_rows(self, sql: str, **values: Any) -> Any:
        with row_values.join_transaction(self.connection):
            return self.connection.execute(text(sql), values).all()


# Tests that said nothing, as they are asked once more or are another account's, are none.
FOUND = """
select o.value from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
where p.campaign = :campaign and p.act = 'probe' and coalesce(o.missing, '') <> 'temporary'
  and substr(coalesce(o.missing, ''), 1, 8) <> 'same-as:' order by o.n
"""
STATUSES = """
select l.status, count(*) from liveness l join campaign c on c.name = l.campaign where c.id = :campaign
group by 1 order by 2 desc, 1
"""


class Status(NamedTuple):
    """How many accounts were last found so: active, silent, or why they are not there."""

    name: str
    accounts: int


def find_active(connection: Connection, campaign: int) -> NDArray[np.bool_]:
    """Return whether each test of a campaign found an active account, in the order of the tests, bool[tests]."""
    with connection.begin():
        values = connection.execute(text(FOUND), {"campaign": campaign}).scalars()
        return np.fromiter((value > 0 for value in values), np.bool_)


def count_statuses(connection: Connection, campaign: int) -> list[Status]:
    """Return what became of the accounts that were tested, most first."""
    with connection.begin():
        return [Status(*row) for row in connection.execute(text(STATUSES), {"campaign": campaign})]


def read_accounts(connection: Connection, nodes: Sequence[Node]) -> list[Who]:
    """Return how the platform calls some accounts, in their order."""
    known = holdings.read_names(connection, nodes)
    return [known.get(node, Who(None, None)) for node in nodes]


def find_drawn(traces: CampaignTraces, campaign: str) -> dict[int, str]:
    """Return how the accounts of picks were drawn, as `draws.ARM_NAMES` calls it, by pick.n; none of the other picks.

    An account that is tried again was chosen before, so only the first pick of an account counts.
    """
    begun = traces.read_campaign(campaign)
    versions = traces.read_versions(begun)
    shares = [one.settings.get("crawl", {}).get("control", 0.0) for one in versions]
    if not any(shares):
        return {}
    steps = traces.read_steps(begun.id)
    once = np.zeros(len(steps.n), np.bool_)
    once[np.unique(steps.node, return_index=True)[1]] = True
    found: dict[int, str] = {}
    ends = [*(one.first for one in versions[1:]), np.inf]
    for one, share, end in zip(versions, shares, ends, strict=True):
        who = assign_arms(one.settings.get("seed", 0), share, 0, len(steps.n))
        ours = once & (steps.n >= one.first) & (steps.n < end) & (who != STEERED)
        found |= {n: ARM_NAMES[arm] for n, arm in zip(steps.n[ours].tolist(), who[ours].tolist(), strict=True)}
    return found


def _list_marks(answers: Mapping[int, Answer]) -> list[str]:
    """Return the marks of the pages of a slice whose posts have come, by their parts.

    A page that was asked for twice, for its authors first, is complete as far as both answers are.
    """
    before = {part - RequestPart.AUTHORS: one.mark for part, one in answers.items() if RequestPart.is_authors(part)}
    pages = {part: one.mark for part, one in answers.items() if one.mark and part < RequestPart.FAR_SECOND_LIST}
    return [max(mark, before.get(part, "")) for part, mark in pages.items()]
