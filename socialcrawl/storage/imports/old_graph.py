"""An old graph into the history of a campaign that refreshes it: a pick of act `import` for every node, with its links.

Whatever the campaign has of it already stays as it is: a second import adds the nodes that are new, and for a node
that was there a further pick with the links that are new. All of it is one transaction. An earlier campaign is an old
dataset, too: the accounts that it has read, and the links that it found.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from socialcrawl.engine.model import SAME_AS, Page, Reason, Who, format_time
from socialcrawl.errors import StoreError
from socialcrawl.storage.database.address import find_address
from socialcrawl.storage.database.bulk import make_insert
from socialcrawl.storage.database.trouble import convert_error
from socialcrawl.storage.erasure.page_redaction import PageRedaction
from socialcrawl.storage.imports.import_picks import ACT
from socialcrawl.storage.nodes import Nodes
from socialcrawl.storage.queries.holdings import READ, select_names
from socialcrawl.storage.queries.linked import open_cursor, read_numbers
from socialcrawl.storage.schema.tables import campaign, link, outcome, pick
from socialcrawl.storage.versions import find_next_pick
from socialcrawl.storage.writes import LINK, OUTCOME, PICK

SOME = 10_000  # accounts that are looked up or written together
FORGOTTEN = -1  # stands for the node of somebody who was forgotten


@dataclass(frozen=True, slots=True, eq=False)
class NamedGraph:
    """A graph by names, as files have it.

    Attributes:
        whos: n accounts; several may be the same one.
        sites: their sites (host of a page, instance), "" where there is none.
        member: bool[n]: which of them the dataset is about; the others are only linked to.
        source, target: int64[m], the ends of the links, as places among the accounts.
        weight: float64[m], not negative; those of a link that is there several times add up.
    """

    whos: Sequence[Who]
    sites: Sequence[str]
    member: NDArray[np.bool_]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]


class NumberedGraph(NamedTuple):
    """A graph by nodes: int64[k] `members`, each once and in order, with their `sites`; int64[m], float64[m] links.

    `forgotten` are accounts that were left out, as somebody asked for that.
    """

    members: NDArray[np.int64]
    sites: Sequence[str]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]
    forgotten: int = 0


@dataclass(frozen=True, slots=True)
class GraphImportResult:
    """What an import of a graph came to.

    Attributes:
        nodes, links: those that are new to the campaign.
        known: nodes that it had already.
        forgotten: accounts left out, as they were forgotten.
    """

    nodes: int
    links: int
    known: int
    forgotten: int


def import_graphs(
    connection: Connection, campaign: int, arrivals: Sequence[Callable[[], NumberedGraph]], at: float
) -> GraphImportResult:
    """Return what came of writing graphs into the history of a campaign, one after the other.

    Args:
        connection: the database.
        campaign: campaign.id; it does not run.
        arrivals: find the graphs; called in the transaction.
        at: when, Unix seconds.

    Raises:
        StoreError: the database cannot be written.
    """
    try:
        with connection.begin():
            entry = _GraphImport(connection, campaign, format_time(at))
            done = [GraphImportResult(0, 0, 0, 0), *(entry.of(arrives()) for arrives in arrivals)]
            return GraphImportResult(*(sum(counts) for counts in zip(*map(astuple, done), strict=True)))
    except DBAPIError as error:
        raise convert_error(error, find_address(connection)) from error


def number_accounts(connection: Connection, platform: str, data: NamedGraph, now: str) -> NumberedGraph:
    """Return a graph by the nodes of its accounts, new ones with new numbers, without the forgotten.

    Called in a transaction.
    """
    nodes, barring, whos = Nodes(connection, platform), PageRedaction(connection, platform), data.whos
    numbers = np.empty(len(whos), np.int64)
    for begin in range(0, len(whos), SOME):
        some = whos[begin : begin + SOME]
        gone = barring.find_forgotten(Page(missing=[(who, Reason.FORGOTTEN) for who in some]), now)
        left = [who for who in some if not gone.has_account(who)] if gone else some
        found: dict[Who, int] = nodes.number(left, now)
        numbers[begin : begin + SOME] = [found.get(who, FORGOTTEN) for who in some]
    there = np.flatnonzero(data.member & (numbers != FORGOTTEN))
    _, first = np.unique(numbers[there], return_index=True)
    places = there[np.sort(first)]
    source, target = numbers[data.source], numbers[data.target]
    kept = (source != FORGOTTEN) & (target != FORGOTTEN)
    return NumberedGraph(
        numbers[places],
        [data.sites[place] for place in places.tolist()],
        source[kept],
        target[kept],
        data.weight[kept],
        len({(whos[i].id, (whos[i].username or "").lower()) for i in np.flatnonzero(numbers == FORGOTTEN).tolist()}),
    )


class _WeightedLinks(NamedTuple):
    """Links, each once, in order of first appearance: int64[m] ends, float64[m] weight."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]


class _PickLinks(NamedTuple):
    """The links of k picks in their order: int64[m] `rank` of the pick, its `position`; int64[k + 1] `ends`."""

    rank: NDArray[np.int64]
    position: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]
    ends: NDArray[np.int64]


def _arrange_rows(nodes: NDArray[np.int64], links: _WeightedLinks) -> _PickLinks:
    """Return the links of some nodes, node by node."""
    order = nodes.argsort()
    rank = order[np.searchsorted(nodes[order], links.source)]
    lies = rank.argsort(kind="stable")
    ends = np.searchsorted(rank[lies], np.arange(len(nodes) + 1))
    position = np.arange(len(lies)) - ends[rank[lies]]
    return _PickLinks(rank[lies], position, links.target[lies], links.weight[lies], ends)


class _GraphImport:
    """A graph on its way into a campaign; called in a transaction, `now` is ISO 8601."""

    def __init__(self, connection: Connection, campaign: int, now: str) -> None:
        self.connection, self.campaign, self.now = connection, campaign, now

    def of(self, found: NumberedGraph) -> GraphImportResult:
        """Write what is new of it."""
        mine = (pick.c.campaign == self.campaign) & (pick.c.act == ACT)
        members = read_numbers(self.connection, select(pick.c.node).where(mine))
        both = (link.c.campaign == pick.c.campaign) & (link.c.n == pick.c.n)
        there = read_numbers(self.connection, select(pick.c.node, link.c.node).join_from(pick, link, both).where(mine))
        links = _find_new_links(found, there[0::2], there[1::2])
        new = ~np.isin(found.members, members)
        chosen = np.flatnonzero(new | np.isin(found.members, links.source))
        self._write(found, chosen, links)
        return GraphImportResult(int(new.sum()), len(links.source), int((~new).sum()), found.forgotten)

    def _write(self, found: NumberedGraph, chosen: NDArray[np.int64], links: _WeightedLinks) -> None:
        """Write picks, outcomes and links of the members at the places `chosen`, in this order."""
        campaign, now = self.campaign, self.now
        tables = (pick, PICK), (outcome, OUTCOME), (link, LINK)
        picks, outcomes, linking = (make_insert(self.connection, *one) for one in tables)
        rows = _arrange_rows(found.members[chosen], links)
        for begin in range(0, len(chosen), SOME):
            places = chosen[begin : begin + SOME].tolist()
            first = find_next_pick(self.connection, campaign)
            some = list(zip(range(first, first + len(places)), found.members[places].tolist(), places, strict=True))
            picks.run([(campaign, n, n, node, ACT, 0.0, None, None) for n, node, _ in some])
            outcomes.run([
                (campaign, n, node, now, 0.0, 0, 0, None, found.sites[place] or None) for n, node, place in some
            ])  # fmt: skip
            here = slice(rows.ends[begin], rows.ends[begin + len(places)])
            columns = first - begin + rows.rank[here], rows.position[here], rows.target[here], rows.weight[here]
            given = zip(*(column.tolist() for column in columns), strict=True)
            linking.run([(campaign, *row) for row in given])


def _find_new_links(found: NumberedGraph, source: NDArray[np.int64], target: NDArray[np.int64]) -> _WeightedLinks:
    """Return the links of a graph, each once, without self-links and the stored ones from `source` to `target`."""
    proper = found.source != found.target
    ends = found.source[proper], found.target[proper]
    everyone = np.unique(np.concatenate([*ends, source, target]))
    named = [np.searchsorted(everyone, column) for column in (*ends, source, target)]
    keys, there = named[0] * len(everyone) + named[1], named[2] * len(everyone) + named[3]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    weight = np.bincount(which, found.weight[proper], len(first)).astype(np.float64)
    kept = np.flatnonzero(~np.isin(keys[first], there))
    kept = kept[np.argsort(first[kept])]
    return _WeightedLinks(ends[0][first[kept]], ends[1][first[kept]], weight[kept])


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
