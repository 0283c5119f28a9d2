"""The accounts and mentions of a campaign's network that fit into a picture, in SQL."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BindParameter, Connection, bindparam, case, select, text

from socialcrawl.storage.queries.further_pages import JOIN_LAST
from socialcrawl.storage.queries.linked import open_cursor
from socialcrawl.storage.schema.tables import link, outcome, pick

READ_ACTS = ("seed", "expand", "match", "walk", "import")
LINK_ACTS = (*READ_ACTS, "page", "recrawl", "inward")
TOGETHER = 500  # accounts whose links are read by one query
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
TRIED = """select distinct o.node from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
where o.campaign = :campaign and o.node in :nodes and p.act in :acts"""
NAMED = """select node, coalesce(username, platform_id), platform_id from account
where node in :nodes and forgotten_at is null"""


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
    links = _read_links(connection, campaign, list(found), on_topic=on_topic)
    unread = _rank_unread(connection, campaign, links, set(found))
    found |= {one.node: one for one in _read_names(connection, unread[: most - len(found)])}
    nodes = np.array(sorted(found), np.int64)
    inside = np.isin(links[:, 0], nodes) & np.isin(links[:, 1], nodes)
    linked = np.unique(links[inside][:, :2]).astype(np.int64).tolist()
    kept = set(linked)
    accounts = [one for one in found.values() if one.node in kept]
    place = np.zeros(len(linked), np.int64)
    place[np.searchsorted(linked, [one.node for one in accounts])] = np.arange(len(accounts))
    source, target = (place[np.searchsorted(linked, links[inside][:, end])] for end in (0, 1))
    return StoredMap(
        accounts, MapLinks(source, target, links[inside][:, 2]), total, len(unread), len(found) - len(accounts)
    )


def _read_links(connection: Connection, campaign: int, nodes: Sequence[int], *, on_topic: bool) -> NDArray[np.float64]:
    """Return the links of accounts that were read, float64[m, 3]: who mentions, who is mentioned, the largest alpha."""
    inward = pick.c.act == "inward"
    query = (
        select(
            case((inward, link.c.node), else_=outcome.c.node),
            case((inward, outcome.c.node), else_=link.c.node),
            link.c.alpha,
        )
        .join(pick, (pick.c.campaign == outcome.c.campaign) & (pick.c.n == outcome.c.n))
        .join(link, (link.c.campaign == outcome.c.campaign) & (link.c.n == outcome.c.n))
        .where(
            outcome.c.campaign == campaign,
            outcome.c.missing.is_(None),
            pick.c.act.in_(LINK_ACTS),
            link.c.node != outcome.c.node,
            link.c.node >= 0,
        )
    )
    rows = [np.empty((0, 3))]
    for some in _cut(nodes, TOGETHER):
        with open_cursor(connection, query.where(outcome.c.node.in_(some))) as cursor:
            rows.append(np.array(cursor.fetchall(), np.float64).reshape(-1, 3))
    every = np.concatenate(rows)
    every = every[every[:, 2] > 0] if on_topic else every
    order = np.lexsort((-every[:, 2], every[:, 1], every[:, 0]))  # of equal pairs, the heaviest first
    every = every[order]
    first = np.ones(len(every), np.bool_)
    first[1:] = (every[1:, :2] != every[:-1, :2]).any(axis=1)
    return every[first]


def _rank_unread(connection: Connection, campaign: int, links: NDArray[np.float64], read: set[int]) -> list[int]:
    """Return the accounts at the ends of links that nobody tried to read: those with most links first."""
    nodes, many = np.unique(links[:, :2].ravel().astype(np.int64), return_counts=True)
    ordered = nodes[np.argsort(-many, kind="stable")].tolist()
    others = [node for node in ordered if node not in read]
    tried: set[int] = set()
    for some in _cut(others, TOGETHER):
        tried.update(row[0] for row in _execute_among(connection, TRIED, campaign=campaign, nodes=some, acts=LINK_ACTS))
    return [node for node in others if node not in tried]


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
