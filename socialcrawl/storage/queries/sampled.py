"""What a campaign that samples has drawn, kept in SQL for people who ask (Bar-Yossef, Kanungo, Krauthgamer, section 5).

All of it can be made again from picks and outcomes; nothing reads it back.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, select

from socialcrawl.storage.database.bulk import make_insert
from socialcrawl.storage.schema.tables import sampled

CHUNK = 10_000  # rows that are written together


class SampledRow(NamedTuple):
    """A row of table `sampled`, without its campaign."""

    node: int
    visits: int
    weight: float
    degree: int


def write_sampled(connection: Connection, campaign: int, rows: Sequence[SampledRow]) -> None:
    """Write what a campaign has drawn instead of what it had, in a transaction.

    Args:
        connection: the database.
        campaign: campaign.id.
        rows: of all accounts in its sample.
    """
    connection.execute(delete(sampled).where(sampled.c.campaign == campaign))
    add = make_insert(connection, sampled, ("campaign", *SampledRow._fields))
    for begin in range(0, len(rows), CHUNK):
        add.run([(campaign, *row) for row in rows[begin : begin + CHUNK]])


def read_sampled(connection: Connection, campaign: int) -> dict[int, SampledRow]:
    """Return what a campaign has drawn as it was last written, by node; called in a transaction."""
    columns = select(*(sampled.c[name] for name in SampledRow._fields)).where(sampled.c.campaign == campaign)
    return {row[0]: SampledRow(*row) for row in connection.execute(columns)}
