"""An earlier campaign as an old dataset: the accounts that it has read, and the links that it found."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from socialcrawl.engine.model import SAME_AS, Who
from socialcrawl.errors import StoreError
from socialcrawl.storage.imports.old_graph import NumberedGraph
from socialcrawl.storage.queries.holdings import READ, select_names
from socialcrawl.storage.queries.linked import open_cursor, read_numbers
from socialcrawl.storage.schema.tables import campaign, link, outcome, pick


def read_earlier_campaign(
    connection: Connection, name: str, platform: str, site: Callable[[Who], str]
) -> NumberedGraph:
    """Return what the campaign `name` knows; called in a transaction.

    Args:
        connection: the database.
        name: the earlier campaign.
        platform: of the one that refreshes it.
        site: of an account.

    Raises:
        StoreError: there is no such campaign, it is of another platform, or it has read nobody.
    """
    number = _find_campaign(connection, name, platform)
    both = (outcome.c.campaign == pick.c.campaign) & (outcome.c.n == pick.c.n)
    read = (pick.c.campaign == number) & pick.c.act.in_(READ) & outcome.c.missing.is_(None) & (pick.c.node >= 0)
    mine = select(pick.c.node).join_from(pick, outcome, both).where(read)
    found = read_numbers(connection, mine.order_by(pick.c.n))
    nodes, first = np.unique(found, return_index=True)
    members = nodes[np.argsort(first)]
    if not len(members):
        raise StoreError(f"The campaign {name!r} has read no account yet: there is nothing to refresh.")
    linked = (link.c.campaign == pick.c.campaign) & (link.c.n == pick.c.n)
    links = select(pick.c.node, link.c.node, link.c.alpha).join_from(pick, outcome, both).join(link, linked)
    with open_cursor(connection, links.where(read).order_by(link.c.n, link.c.position)) as cursor:
        table = np.array(cursor.fetchall(), np.float64).reshape(-1, 3)  # nodes are far below 2**53
    source, target = _resolve_aliases(connection, number, table[:, :2].astype(np.int64)).T
    names = select_names(connection, members.tolist())
    there = np.array([node in names for node in members.tolist()], bool)
    members = members[there]
    return NumberedGraph(
        members, [site(names[node]) for node in members.tolist()], source, target, table[:, 2], int((~there).sum())
    )


def _find_campaign(connection: Connection, name: str, platform: str) -> int:
    held = connection.execute(select(campaign.c.id, campaign.c.platform).where(campaign.c.name == name)).one_or_none()
    if held is None:
        names = ", ".join(connection.execute(select(campaign.c.name).order_by(campaign.c.id)).scalars()) or "none yet"
        raise StoreError(f"There is no campaign {name!r} in this database; there are: {names}.")
    if held.platform != platform:
        raise StoreError(f"The campaign {name!r} is of {held.platform}, the one that refreshes it of {platform}.")
    return int(held.id)


def _resolve_aliases(connection: Connection, number: int, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the same nodes, but those that turned out to be another account by that one."""
    same = select(outcome.c.node, outcome.c.missing).where(
        outcome.c.campaign == number, outcome.c.missing.startswith(SAME_AS)
    )
    other: dict[int, int] = {}
    for node, why in connection.execute(same.order_by(outcome.c.n.desc())):  # whom it is now, by what was found later
        target = int(why.removeprefix(SAME_AS))
        other[node] = other.get(target, target)
    several, places = np.unique(nodes, return_inverse=True)
    settled = np.array([other.get(node, node) for node in several.tolist()], np.int64)
    return settled[places].reshape(nodes.shape)
