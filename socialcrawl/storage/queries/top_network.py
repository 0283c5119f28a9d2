"""The mentions between the most relevant accounts of a campaign, in SQL."""

# ruff: noqa: S608  (the texts are our own)

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, text

from socialcrawl.storage.queries.further_pages import JOIN_LAST

NODES = f"""
select coalesce(u.n, o.n) as n, o.node, coalesce('@' || a.username, a.platform_id) as name, a.platform_id as id,
  coalesce(u.value, o.value) as value, p.act
from outcome o join pick p on p.campaign = o.campaign and p.n = o.n join account a on a.node = o.node
{JOIN_LAST}
where o.campaign = :campaign and coalesce(u.value, o.value) > 0
  and p.act in ('seed', 'expand', 'match', 'walk', 'import') and not (p.act = 'walk' and o.value < 1)
order by 5 desc, o.n limit :most
"""
EDGES = """
select o.node, l.node, max(l.alpha) from link l join outcome o on o.campaign = l.campaign and o.n = l.n
where l.campaign = :campaign and l.n in :numbers and l.node in :nodes and l.node <> o.node
group by o.node, l.node order by 3 desc, 1, 2 limit :most
"""
LINKS = 800  # mentions that are drawn


class NetworkNode(NamedTuple):
    """An account of a network: its name (@ and username, or the id), id, relevance, and whether it is a seed."""

    name: str
    id: str | None
    value: float
    is_seed: bool


class TopNetwork(NamedTuple):
    """The most relevant accounts that were read, and who of them mentions whom.

    Attributes:
        nodes: the accounts that mention another one of them or are mentioned, the most relevant first.
        edges: (place of who mentions, place of who is mentioned, link weight).
        alone: accounts of the same relevance or more that are left out, as no mention leads to them or from them.
        cut: whether there are more mentions between the accounts, of a smaller link weight.
    """

    nodes: Sequence[NetworkNode]
    edges: Sequence[tuple[int, int, float]]
    alone: int
    cut: bool = False


def read_top_network(connection: Connection, campaign: int, most: int) -> TopNetwork:
    """Return the mentions between the `most` most relevant accounts of a campaign; called in a transaction."""
    # An account that was read twice is a seed or was found: its better row counts.
    rows = {
        row.node: row for row in reversed(connection.execute(text(NODES), {"campaign": campaign, "most": most}).all())
    }
    if not rows:
        return TopNetwork([], [], 0)
    query = text(EDGES).bindparams(bindparam("numbers", expanding=True), bindparam("nodes", expanding=True))
    among = {"numbers": [row.n for row in rows.values()], "nodes": list(rows), "campaign": campaign, "most": LINKS + 1}
    every = [tuple(row) for row in connection.execute(query, among)]
    found = every[:LINKS]
    linked = {node for edge in found for node in edge[:2]}
    kept = sorted((row for row in rows.values() if row.node in linked), key=lambda row: (-row.value, row.n))
    place = {row.node: number for number, row in enumerate(kept)}
    nodes = [NetworkNode(row.name or "?", row.id, row.value, row.act in ("seed", "import")) for row in kept]
    edges = [(place[a], place[b], alpha) for a, b, alpha in found]
    return TopNetwork(nodes, edges, len(rows) - len(kept), cut=len(every) > LINKS)
