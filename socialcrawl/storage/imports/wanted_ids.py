"""Ids of posts into the list that a capture fetches: a row for each, and a pick of act `import` for what is new.

Posts that are stored already are not fetched again; forgotten ones are left out. All of it is one transaction. Where
the campaign was stopped with an open batch, that comes first: the pick of the import follows it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select
from sqlalchemy.exc import DBAPIError

from socialcrawl.engine.model import ID_LIST, Act, format_time
from socialcrawl.engine.positions import write_positions
from socialcrawl.graph.relevance import Hits
from socialcrawl.storage.database.address import find_address
from socialcrawl.storage.database.bulk import make_insert, select_by_keys
from socialcrawl.storage.database.trouble import convert_error
from socialcrawl.storage.erasure.ownership import find_owners
from socialcrawl.storage.erasure.tombstones import find_forgotten
from socialcrawl.storage.reread import PickReadings
from socialcrawl.storage.schema.tables import campaign as table
from socialcrawl.storage.schema.tables import outcome, pick, post, wanted_post
from socialcrawl.storage.versions import find_next_pick
from socialcrawl.storage.wanted_posts import HELD, WANTED
from socialcrawl.storage.writes import OUTCOME, PICK, CampaignWriter

SOME = 10_000  # ids that are looked up or written together
COLUMNS = ("campaign", "position", "id", "post", "state")


@dataclass(frozen=True, slots=True)
class IdImportResult:
    """What an import of ids came to.

    Attributes:
        new: ids that are to be asked for.
        held: ids whose posts are stored already.
        known: ids that the campaign had before.
        forgotten: ids left out, as their posts or authors were forgotten.
    """

    new: int
    held: int
    known: int
    forgotten: int


def import_ids(
    connection: Connection, campaign: int, ids: Sequence[str], *, width: int, hits: Hits, at: float
) -> IdImportResult:
    """Return what came of adding ids to the list of a campaign.

    Args:
        connection: the database.
        campaign: campaign.id; it does not run.
        ids: as the platform is asked for them, each once.
        width: how many of them one request can name.
        hits: counts the occurrences of the campaign's topic in posts that are stored already.
        at: when, Unix seconds.

    Raises:
        StoreError: the database cannot be written.
    """
    try:
        with connection.begin():
            sorting = _IdSorting(connection, campaign)
            for begin in range(0, len(ids), SOME):
                sorting.sort(ids[begin : begin + SOME])
            _write_list(connection, campaign, sorting, width, format_time(at))
            _write_hits(connection, campaign, sorting, hits)
    except DBAPIError as error:
        raise convert_error(error, find_address(connection)) from error
    return IdImportResult(len(sorting.new), len(sorting.held), sorting.known, sorting.forgotten)


class _IdSorting:
    """Ids on their way into a list, by what is known of them; called in a transaction.

    Attributes:
        new: those to be asked for, in order.
        held: those whose posts are stored.
        known, forgotten: how many the list has, and how many were forgotten.
    """

    def __init__(self, connection: Connection, campaign: int) -> None:
        self.connection = connection
        mine = wanted_post.c.campaign == campaign
        self._listed = select(wanted_post.c.id).where(mine)
        self._stored = select(post.c.id)
        self.platform = connection.execute(select(table.c.platform).where(table.c.id == campaign)).scalar_one()
        self.new: list[str] = []
        self.held: list[str] = []
        self.known = self.forgotten = 0

    def sort(self, ids: Sequence[str]) -> None:
        """Add some ids."""
        gone = self._find_forgotten(ids)
        listed = {row.id for row in select_by_keys(self.connection, self._listed, wanted_post.c.id, ids)}
        stored = {row.id for row in select_by_keys(self.connection, self._stored, post.c.id, ids)}
        for key in ids:
            if key in gone:
                self.forgotten += 1
            elif key in listed:
                self.known += 1
            else:
                (self.held if key in stored else self.new).append(key)

    def _find_forgotten(self, ids: Sequence[str]) -> set[str]:
        owners: Mapping[str, set[str]] = {key: set(find_owners(key)) for key in ids}
        named = {name for some in owners.values() for name in some}
        lowered = {name.lower() for name in named}
        gone = find_forgotten(self.connection, self.platform, "user", named)
        gone |= find_forgotten(self.connection, self.platform, "name", lowered)
        theirs = {key for key, some in owners.items() if not gone.isdisjoint({*some, *(one.lower() for one in some)})}
        return theirs | find_forgotten(self.connection, self.platform, "post", ids)


def _write_list(connection: Connection, campaign: int, sorting: _IdSorting, width: int, now: str) -> None:
    """Write the rows of the list, those to be asked for first, and the pick that brings these."""
    last = select(func.coalesce(func.max(wanted_post.c.position), -1)).where(wanted_post.c.campaign == campaign)
    first = int(connection.execute(last).scalar_one()) + 1
    rows = [(key, None, WANTED) for key in sorting.new] + [(key, key, HELD) for key in sorting.held]
    listing = make_insert(connection, wanted_post, COLUMNS)
    for begin in range(0, len(rows), SOME):
        some = enumerate(rows[begin : begin + SOME], first + begin)
        listing.run([(campaign, position, *row) for position, row in some])
    if sorting.new:
        n, positions = find_next_pick(connection, campaign), write_positions(first, first + len(sorting.new))
        brought = dict(zip(PICK, (campaign, n, n, ID_LIST, str(Act.IMPORT), 0.0, None, positions), strict=True))
        connection.execute(insert(pick).values(brought))
        found = dict(zip(OUTCOME, (campaign, n, ID_LIST, now, 0.0, 0, 0, None, str(width)), strict=True))
        connection.execute(insert(outcome).values(found))


def _write_hits(connection: Connection, campaign: int, sorting: _IdSorting, hits: Hits) -> None:
    """Write which of the posts that are stored already match the topic of the campaign."""
    readings = PickReadings(connection, campaign, hits)
    writer = CampaignWriter(connection, campaign, sorting.platform)
    for begin in range(0, len(sorting.held), SOME):
        writer.write_hits(readings.count_hits(sorting.held[begin : begin + SOME]).items())
