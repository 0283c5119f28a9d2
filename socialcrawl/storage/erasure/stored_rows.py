"""What a database stores about the accounts and posts of an order, row by row: the answer to a request for access."""

from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, func, select, tuple_

from socialcrawl.storage.erasure.targets import gone_node, gone_post
from socialcrawl.storage.schema.tables import (
    account,
    follow,
    hit,
    link,
    mention,
    outcome,
    pick,
    post,
    sampled,
    shadow,
    standing,
)


class StoredTable(NamedTuple):
    """What a table stores about the accounts and posts of an order.

    Attributes:
        total: the number of its rows about them.
        columns: the names of the columns that have a value in one of these rows.
        rows: the first of the rows by primary key, without values that are NULL.
    """

    total: int
    columns: list[str]
    rows: list[dict[str, Any]]


def read_stored(connection: Connection, most: int) -> dict[str, StoredTable]:
    """Return what the tables store about the accounts and posts that the lists of keys name.

    Original responses, the ledger, charges, settings and the texts of others are not among them: an erasure counts and
    rewrites their rows.

    Args:
        connection: the database, in a transaction.
        most: the number of rows of each table that are read.
    """
    found = {}
    for table, condition in _list_conditions():
        counted = select(func.count(), *map(func.count, table.columns)).where(condition)
        count, *filled = connection.execute(counted).one()
        if count:
            query = select(table).where(condition).order_by(*table.primary_key.columns).limit(most)
            rows = [
                {name: value for name, value in row.items() if value is not None}
                for row in connection.execute(query).mappings()
            ]
            columns = [column.name for column, values in zip(table.columns, filled, strict=True) if values]
            found[table.name] = StoredTable(count, columns, rows)
    return found


def _list_conditions() -> list[tuple[Table, ColumnElement[bool]]]:
    """Return the tables that have rows about accounts or posts, each with the condition that a row is about theirs."""
    nodes, posts = select(gone_node.c.node), select(gone_post.c.id)
    picks = select(pick.c.campaign, pick.c.n).where(pick.c.node.in_(nodes))

    def picked(table: Table) -> ColumnElement[bool]:
        return tuple_(table.c.campaign, table.c.n).in_(picks)  # not correlated, so that it is looked up once

    return [
        (account, account.c.node.in_(nodes)),
        (post, post.c.id.in_(posts)),
        (mention, mention.c.post.in_(posts) | mention.c.node.in_(nodes)),
        (hit, hit.c.post.in_(posts)),
        (follow, follow.c.node.in_(nodes) | follow.c.followed.in_(nodes)),
        (pick, pick.c.node.in_(nodes)),
        (shadow, picked(shadow)),
        (outcome, outcome.c.node.in_(nodes)),
        (link, link.c.node.in_(nodes) | picked(link)),
        (standing, standing.c.node.in_(nodes)),
        (sampled, sampled.c.node.in_(nodes)),
    ]
