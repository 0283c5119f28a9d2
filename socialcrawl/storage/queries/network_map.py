"""The accounts and mentions of a campaign's network that fit into a picture, in SQL."""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BindParameter, Connection, bindparam, case, select, text

from socialcrawl.storage.queries.further_pages import JOIN_LAST
from socialcrawl.storage.queries.linked import open_cursor, read_numbers
from socialcrawl.storage.schema.tables import link, outcome, pick

READ_ACTS = ("seed", "expand", "match", "walk", "import")
LINK_ACTS = (*READ_ACTS, "page", "recrawl", "inward")
TOGETHER = 500  # decisions whose links are read by one query
UNREAD = 5  # one of so many accounts of a picture is one that was not read, where there are as many
_FROM = """
from outcome o join pick p on p.campaign = o.campaign and p.n = o.n join account a on a.node = o.node"""
_WHERE = """
where o.campaign = :campaign and o.missing is null and p.act in ('seed', 'expand', 'match', 'walk', 'import')"""
COUNT = f"select count(distinct o.node){_FROM}{_WHERE}"
READ = f"""select o.node, coalesce(a.username, a.platform_id), a.platform_id, p.act,
  coalesce(s.relevance, u.value, o.value){_FROM}
left join standing s on s.campaign = o.campaign and s.node = o.node
{JOIN_LAST}{_WHERE} order by 5 desc, o.n limit :most"""
NAMED = """select node, coalesce(username, platform_id), platform_id from account
where node in :nodes and forgotten_at is null"""


class Try(IntEnum):
    """What came of a decision to read an account, or who mentions it."""

    READ = 0
    INWARD = 1
    FAILED = 2


class MapAccount(NamedTuple):
    """An account of a picture: account.node, its name and id, how it came to be read ("": it was not), relevance."""

    node: int
    name: str | None
    id: str | None
    act: str = ""
    relevance: float | None = None


class MapLinks(NamedTuple):
    """Mentions between accounts of a picture.

    Attributes:
        source: int64, places of those who mention.
        target: int64, places of those who are mentioned.
        alpha: float64, the largest link weight.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    alpha: NDArray[np.float64]


class StoredMap(NamedTuple):
    """The part of a network that fits into a picture.

    Attributes:
        accounts: those that were read, the most relevant first; then those that were not, the most mentioned first.
        links: the mentions between them.
        read: how many accounts of the campaign were read.
        unread: how many that were not read are mentioned by accounts of the picture or by those left out as alone.
        alone: accounts that were chosen, and are left out, as no mention joins them to the others.
    """

    accounts: Sequence[MapAccount]
    links: MapLinks
    read: int
    unread: int
    alone: int


def read_network_map(connection: Connection, campaign: int, most: int, *, on_topic: bool) -> StoredMap:
    """Return the accounts of a campaign that fit into a picture; called in a transaction.

    Args:
        connection: to the database.
        campaign: campaign.id.
        most: how many accounts.
        on_topic: whether only mentions in posts on topic count.
    """
    given = {"campaign": campaign, "most": most - most // UNREAD}
    total = int(connection.execute(text(COUNT), given).scalar_one())
    found: dict[int, MapAccount] = {}
    for row in connection.execute(text(READ), given):
        found.setdefault(row[0], MapAccount(*row))  # its better row, where it was read twice
    tries = _read_tries(connection, campaign)
    links = _read_links(connection, campaign, tries[np.isin(tries[:, 1], list(found))], on_topic=on_topic)
    unread = _rank_unread(links, tries[:, 1])
    chosen = [*found, *unread[: most - len(found)]]
    room = most - len(_keep_linked(links, chosen))  # what is alone makes room for more that were not read
    linked = _keep_linked(links, [*found, *unread[: len(chosen) - len(found) + room]])[:most]
    found |= {one.node: one for one in _read_names(connection, [node for node in linked if node not in found])}
    nodes = _keep_linked(links, [node for node in linked if node in found])
    inside = links[_is_inside(links, nodes)]
    order = np.argsort(nodes)
    source, target = (order[np.searchsorted(nodes, inside[:, end], sorter=order)] for end in (0, 1))
    alone = min(total, given["most"]) - sum(found[node].act != "" for node in nodes)
    return StoredMap([found[node] for node in nodes], MapLinks(source, target, inside[:, 2]), total, len(unread), alone)


def _is_inside(links: NDArray[np.float64], nodes: Sequence[int]) -> NDArray[np.bool_]:
    """Return whether both ends of each link are among some accounts."""
    return np.isin(links[:, 0], nodes) & np.isin(links[:, 1], nodes)


def _keep_linked(links: NDArray[np.float64], nodes: Sequence[int]) -> list[int]:
    """Return those accounts that a link joins to another one of them, in their order."""
    ends = links[_is_inside(links, nodes)][:, :2]
    inside = np.isin(nodes, ends).tolist()
    return [node for node, is_linked in zip(nodes, inside, strict=True) if is_linked]


def _read_tries(connection: Connection, campaign: int) -> NDArray[np.int64]:
    """Return the answers about accounts, int64[m, 3]: the decision, the account, and one of `Try`."""
    failed = outcome.c.missing.is_not(None)
    result = case((failed, Try.FAILED), (pick.c.act == "inward", Try.INWARD), else_=Try.READ)
    query = (
        select(outcome.c.n, outcome.c.node, result)
        .join(pick, (pick.c.campaign == outcome.c.campaign) & (pick.c.n == outcome.c.n))
        .where(outcome.c.campaign == campaign, pick.c.act.in_(LINK_ACTS))
    )
    return read_numbers(connection, query).reshape(-1, 3)


def _read_links(
    connection: Connection, campaign: int, tries: NDArray[np.int64], *, on_topic: bool
) -> NDArray[np.float64]:
    """Return the links of accounts that were read, float64[m, 3]: who mentions, who is mentioned, the largest alpha."""
    some = tries[tries[:, 2] != Try.FAILED]
    some = some[np.argsort(some[:, 0])]
    rows = [np.empty((0, 3))]
    for numbers in _cut(some[:, 0].tolist(), TOGETHER):
        wanted = (link.c.campaign == campaign) & link.c.n.in_(numbers) & (link.c.node >= 0)
        with open_cursor(connection, select(link.c.n, link.c.node, link.c.alpha).where(wanted)) as cursor:
            rows.append(np.array(cursor.fetchall(), np.float64).reshape(-1, 3))
    every = np.concatenate(rows)
    place = np.searchsorted(some[:, 0], every[:, 0])
    inward = some[place, 2] == Try.INWARD
    every[:, 0] = some[place, 1]
    every[inward, :2] = every[inward, 1::-1]
    every = every[(every[:, 0] != every[:, 1]) & ((every[:, 2] > 0) | (not on_topic))]
    every = every[np.lexsort((-every[:, 2], every[:, 1], every[:, 0]))]  # of equal pairs, the heaviest first
    first = np.ones(len(every), np.bool_)
    first[1:] = (every[1:, :2] != every[:-1, :2]).any(axis=1)
    return np.asarray(every[first])


def _rank_unread(links: NDArray[np.float64], tried: NDArray[np.int64]) -> list[int]:
    """Return the accounts at the ends of links that nobody tried to read: those with most links first."""
    nodes, many = np.unique(links[:, :2].ravel().astype(np.int64), return_counts=True)
    ordered = nodes[np.argsort(-many, kind="stable")]
    return [int(node) for node in ordered[~np.isin(ordered, tried)]]


def _read_names(connection: Connection, nodes: Sequence[int]) -> Iterator[MapAccount]:
    """Yield accounts that were not read, in their order; not those that were forgotten."""
    known: dict[int, MapAccount] = {}
    for some in _cut(nodes, TOGETHER):
        known |= {row[0]: MapAccount(*row) for row in _execute_among(connection, NAMED, nodes=some)}
    yield from (known[node] for node in nodes if node in known)


def _cut(nodes: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Yield `size` nodes at a time."""
    for begin in range(0, len(nodes), size):
        yield tuple(nodes[begin : begin + size])


def _execute_among(connection: Connection, sql: str, **values: Any) -> Any:
    """Return the rows of a query whose values may be lists."""
    lists: list[BindParameter[Any]] = [
        bindparam(name, expanding=True) for name, value in values.items() if isinstance(value, tuple)
    ]
    return connection.execute(text(sql).bindparams(*lists), values)
