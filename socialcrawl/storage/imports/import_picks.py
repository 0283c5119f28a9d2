"""What an import means to a campaign: every author of the file becomes a pick of act `import` with its outcome.

Values and links are those of a timeline that was asked: beta from all posts of the author, alpha from those that
mention each target, in order of first mention (Gouriten et al., section 2.3). Where the campaign was stopped while it
fetched accounts, the open batch comes first: the next run finishes it, then it goes on from what was imported.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, insert, select
from sqlalchemy.exc import DBAPIError

from socialcrawl.engine.model import Act, Node, Outcome
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.storage.database.address import find_address
from socialcrawl.storage.database.bulk import make_insert
from socialcrawl.storage.database.trouble import convert_error
from socialcrawl.storage.imports.temporary_tables import SOME, authors, mentions, posts
from socialcrawl.storage.schema.tables import pick
from socialcrawl.storage.writes import PICK, CampaignWriter

ACT = "import"
ASKED = (Act.SEED, Act.EXPAND, Act.MATCH, Act.RECRAWL, ACT)  # acts after which an account is not asked again


def write_import_picks(connection: Connection, campaign: int, platform: str, at: float) -> tuple[int, int]:
    """Return how many authors became picks, and how many had been asked before: all in one transaction.

    Args:
        connection: the database, with the notes of an import made for a history.
        campaign: campaign.id.
        platform: its platform.
        at: when, Unix seconds.

    Raises:
        StoreError: the database cannot be written.
    """
    writes, picks = CampaignWriter(connection, campaign, platform), make_insert(connection, pick, PICK)
    try:
        with connection.begin():
            known, all_of_them = _rank_authors(connection, campaign)
            highest = select(func.coalesce(func.max(pick.c.n), -1)).where(pick.c.campaign == campaign)
            following = int(connection.execute(highest).scalar_one()) + 1
            for some in _make_outcomes(connection, following, at):
                picks.run([(campaign, found.n, found.n, found.node, ACT, 0.0, None, None) for found in some])
                writes.write_outcomes(some)
    except DBAPIError as error:
        raise convert_error(error, find_address(connection)) from error
    return known, all_of_them - known


def _rank_authors(connection: Connection, campaign: int) -> tuple[int, int]:
    """Rank the authors that were not asked by their first post; how many there are, and how many with the others."""
    mine = select(pick.c.node).where(pick.c.campaign == campaign, pick.c.act.in_(ASKED))
    first = func.row_number().over(order_by=func.min(posts.c.place)) - 1
    found = select(first, posts.c.author, func.count(), func.sum(posts.c.hits)).group_by(posts.c.author)
    fresh = found.where(posts.c.author.not_in(mine))
    connection.execute(authors.delete())
    connection.execute(insert(authors).from_select(["rank", "node", "posts", "hits"], fresh))
    total = select(func.count(posts.c.author.distinct()))
    return int(connection.execute(select(func.count()).select_from(authors)).scalar_one()), int(
        connection.execute(total).scalar_one()
    )


def _make_outcomes(connection: Connection, following: int, at: float) -> Iterator[list[Outcome]]:
    """Yield the outcomes in the order of the authors, some at a time; the first has n = `following`."""
    begin = 0
    while True:
        some = authors.c.rank.between(begin, begin + SOME - 1)
        people = connection.execute(select(authors).where(some).order_by(authors.c.rank)).all()
        if not people:
            return
        first = func.min(mentions.c.lies)
        links = (
            select(authors.c.rank, mentions.c.node, func.sum(posts.c.hits).label("hits"), first.label("first"))
            .join(posts, posts.c.author == authors.c.node)
            .join(mentions, mentions.c.place == posts.c.place)
            .where(some)
            .group_by(authors.c.rank, mentions.c.node)
            .order_by(authors.c.rank, first)
        )
        targets: dict[int, list[tuple[int, float]]] = {}
        for row in connection.execute(links):
            targets.setdefault(row.rank, []).append((row.node, compute_worth(int(row.hits))))
        yield [_make_outcome(row, targets.get(row.rank, []), following, at) for row in people]
        begin += SOME


def _make_outcome(row: Any, links: list[tuple[int, float]], following: int, at: float) -> Outcome:
    hits = int(row.hits)
    nodes = np.array([node for node, _ in links], np.int64)
    alpha = np.array([weight for _, weight in links], np.float64)
    return Outcome(
        following + row.rank,
        Node(row.node),
        at,
        compute_worth(hits),
        nodes,
        alpha,
        posts=int(row.posts),
        occurrences=hits,
    )
