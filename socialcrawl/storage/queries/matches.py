"""The posts that match the topic of a campaign, as table `hit` has them. Called in a transaction."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, literal_column, select

from socialcrawl.storage.database.bulk import Lookup, match_keys
from socialcrawl.storage.schema.tables import hit

SOME = 5_000  # rows that are read together


def read_matches(connection: Connection, campaign: int) -> Iterator[Sequence[Any]]:
    """Yield (post, occurrences) of all matches, some at a time."""
    columns = select(hit.c.post, hit.c.occurrences).where(hit.c.campaign == campaign).order_by(hit.c.post)
    last = ""
    while rows := connection.execute(columns.where(hit.c.post > last).limit(SOME)).all():
        yield rows
        last = rows[-1].post


class Matches:
    """The posts that match, by their ids.

    Args:
        connection: the database.
        campaign: campaign.id.
    """

    def __init__(self, connection: Connection, campaign: int) -> None:
        mine = hit.c.campaign == literal_column(str(int(campaign)))  # keys are all that a Lookup is given
        found = select(hit.c.post, hit.c.occurrences).where(mine, match_keys(connection, hit.c.post))
        self._found = Lookup(connection, found)

    def find_counts(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the occurrences in those of some posts that match."""
        return {row.post: row.occurrences for row in self._found.fetch_rows(ids)}
