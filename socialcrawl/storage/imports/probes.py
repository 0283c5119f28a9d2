"""Tests of life that were made elsewhere, into the history of a campaign: a pick of act `probe` with its outcome each.

Each account is tested once: what the campaign knows already stays as it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, literal_column, select
from sqlalchemy.exc import DBAPIError

from socialcrawl.engine.model import Node, Outcome, Reason, Who, format_time
from socialcrawl.storage.database.address import find_address
from socialcrawl.storage.database.bulk import Lookup, make_insert, match_keys
from socialcrawl.storage.database.trouble import convert_error
from socialcrawl.storage.imports.import_picks import ACT
from socialcrawl.storage.schema.tables import account, link, outcome, pick
from socialcrawl.storage.schema.tables import campaign as table
from socialcrawl.storage.versions import find_next_pick
from socialcrawl.storage.writes import OUTCOME, PICK, describe_missing

PROBE = "probe"
SOME = 10_000  # results that are looked up and written together: they are one batch


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a test of life found.

    Attributes:
        who: the account.
        at: when it was tested, Unix seconds.
        active: whether it is alive.
        missing: why it is not there, as outcomes say it; None: it is, or is alive.
        last: when it was last seen to act, ISO 8601; "": nobody knows.
    """

    who: Who
    at: float
    active: bool
    missing: Reason | None = None
    last: str = ""


@dataclass(frozen=True, slots=True)
class ProbeImportResult:
    """What an import of results came to: new ones, those tested before, those of accounts outside of the dataset.

    `waiting` are rows of our own lists that nobody has filled in yet.
    """

    new: int
    known: int
    strange: int
    waiting: int = 0


def import_results(
    connection: Connection, campaign: int, results: Sequence[ProbeResult], *, linked: bool
) -> ProbeImportResult:
    """Return what came of writing results into the history of a campaign, all in one transaction.

    Of two the first counts.

    Args:
        connection: the database.
        campaign: campaign.id; it does not run.
        results: in order.
        linked: whether those whom the old dataset only links to belong to it.

    Raises:
        StoreError: the database cannot be written.
    """
    try:
        with connection.begin():
            nodes = _Dataset(connection, campaign, linked=linked).find_nodes([one.who for one in results])
            known = _find_tested(connection, campaign)
            fresh: dict[Node, ProbeResult] = {}
            before = 0
            for node, one in zip(nodes, results, strict=True):
                if node is not None and node not in known and node not in fresh:
                    fresh[node] = one
                else:
                    before += node is not None
            _write_probes(connection, campaign, list(fresh.items()))
    except DBAPIError as error:
        raise convert_error(error, find_address(connection)) from error
    return ProbeImportResult(len(fresh), before, len(results) - len(fresh) - before)


def _find_tested(connection: Connection, campaign: int) -> set[int]:
    """Return the nodes that were tested, or are being tested, and need no other test."""
    both = (outcome.c.campaign == pick.c.campaign) & (outcome.c.n == pick.c.n)
    mine = select(pick.c.node).join_from(pick, outcome, both, isouter=True)
    mine = mine.where(pick.c.campaign == campaign, pick.c.act == PROBE)
    return set(connection.execute(mine.where(outcome.c.missing.is_distinct_from(Reason.TEMPORARY))).scalars())


def _write_probes(connection: Connection, campaign: int, fresh: Sequence[tuple[Node, ProbeResult]]) -> None:
    picks, outcomes = make_insert(connection, pick, PICK), make_insert(connection, outcome, OUTCOME)
    for begin in range(0, len(fresh), SOME):
        first = find_next_pick(connection, campaign)
        some = list(enumerate(fresh[begin : begin + SOME], first))
        picks.run([(campaign, n, first, node, PROBE, 0.0, None, None) for n, (node, _) in some])
        found = (_make_outcome(n, node, one) for n, (node, one) in some)
        outcomes.run([(campaign, o.n, o.node, format_time(o.at), o.value, 0, 0, *describe_missing(o)) for o in found])


def _make_outcome(n: int, node: Node, one: ProbeResult) -> Outcome:
    return Outcome(n, node, one.at, float(one.active), missing=one.missing, mark=one.last)


class _Dataset:
    """The accounts that a campaign refreshes, by name; called in a transaction."""

    def __init__(self, connection: Connection, campaign: int, *, linked: bool) -> None:
        mine = (pick.c.campaign == campaign) & (pick.c.act == ACT)
        self._there = set(connection.execute(select(pick.c.node).where(mine)).scalars())
        if linked:
            both = (link.c.campaign == pick.c.campaign) & (link.c.n == pick.c.n)
            self._there |= set(
                connection.execute(select(link.c.node).join_from(pick, link, both).where(mine)).scalars()
            )
        platform = connection.execute(select(table.c.platform).where(table.c.id == campaign)).scalar_one()
        query = select(account.c.node, account.c.platform_id, account.c.handle)
        here = account.c.platform == literal_column(f"'{platform}'")  # keys are all that a Lookup is given
        ours = query.where(here, account.c.forgotten_at.is_(None))
        self._by_id = Lookup(connection, ours.where(match_keys(connection, account.c.platform_id)))
        self._by_name = Lookup(connection, ours.where(match_keys(connection, account.c.handle)))

    def find_nodes(self, whos: Sequence[Who]) -> list[Node | None]:
        """Return the node of each account; None for one that does not belong to the dataset."""
        return [node for begin in range(0, len(whos), SOME) for node in self._find_some(whos[begin : begin + SOME])]

    def _find_some(self, whos: Sequence[Who]) -> Iterator[Node | None]:
        names = {who: (who.username or "").lower() for who in whos}
        ids = {
            row[1]: row[0]
            for row in self._by_id.fetch_rows([who.id for who in whos if who.id])
            if row[0] in self._there
        }
        found = sorted(
            self._by_name.fetch_rows([n for n in dict.fromkeys(names.values()) if n]), key=lambda row: -row[0]
        )
        named = {row[2]: row[0] for row in found if row[0] in self._there}
        for who in whos:
            node = ids.get(who.id, named.get(names[who]))
            yield None if node is None else Node(node)
