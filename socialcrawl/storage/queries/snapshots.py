"""What campaigns that track or sample know of each account, kept in SQL for people who ask.

Of a campaign that tracks (Abiteboul et al., section 2) cash lives in memory, and the history H is written here. Of one
that samples (Bar-Yossef, Kanungo, Krauthgamer, section 5) it is what was drawn. All of it can be made again from picks
and outcomes: what a run has changed is written when it returns, and nothing reads it back.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, select

from socialcrawl.storage.database.bulk import make_insert
from socialcrawl.storage.schema.tables import sampled, standing

CHUNK = 10_000  # rows that are written together


class StandingRow(NamedTuple):
    """A row of table `standing`, without its campaign; instants are ISO 8601 text."""

    node: int
    visits: int
    visited_at: str | None
    relevance: float
    occurrences: int
    indegree: float
    outlinks: float
    rate: float | None  # links a day; the column is called `yield`, which is no name in Python
    link_score: float | None
    importance: float
    history: float
    gone: str | None


NAMES = ("campaign", *(name if name != "rate" else "yield" for name in StandingRow._fields))


def write_standings(connection: Connection, campaign: int, rows: Sequence[StandingRow]) -> None:
    """Write the standings of a campaign instead of those it had, in a transaction.

    Args:
        connection: the database.
        campaign: campaign.id.
        rows: of all accounts that it knows.
    """
    connection.execute(delete(standing).where(standing.c.campaign == campaign))
    add = make_insert(connection, standing, NAMES)
    for begin in range(0, len(rows), CHUNK):
        add.run([(campaign, *row) for row in rows[begin : begin + CHUNK]])


def read_standings(connection: Connection, campaign: int) -> dict[int, StandingRow]:
    """Return the standings of a campaign as they were last written, by node; called in a transaction."""
    query = select(*(standing.c[name] for name in NAMES[1:])).where(standing.c.campaign == campaign)
    return {row[0]: StandingRow(*row) for row in connection.execute(query)}


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
    query = select(*(sampled.c[name] for name in SampledRow._fields)).where(sampled.c.campaign == campaign)
    return {row[0]: SampledRow(*row) for row in connection.execute(query)}
